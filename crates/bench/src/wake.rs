//! The plan: which points are measured, on which stores, in what order.
//!
//! A point is measured on every store and every side in turn, round after round
//! with the order reversed each time, so that whatever else the machine does
//! falls on all alike; the median of the rounds is what counts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::runtime::{Builder, Runtime};

use crate::contender::{Contender, Kind};
use crate::load::{self, Sample, Window};
use crate::plain::{self, store::Row};
use crate::report::{Act, Figures, Machine, Measured, Peer, Report, Started, Verified};
use crate::wakeful::Wakeful;
use crate::work::{DELIVERY, Work};
use crate::{raw, scout};

const POINTS: [(Act, usize); 7] = [
    (Act::Deliver, 1),
    (Act::Deliver, 64),
    (Act::Deliver, 512),
    (Act::Cycle, 64),
    (Act::Poll, 64),
    (Act::Sweep, 1),
    (Act::Sweep, 16),
];

/// After this long a server that was just started has settled.
const SETTLE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct Plan {
    pub wakeful: PathBuf,
    /// Another build of it, measured in place of the plain server.
    pub beside: Option<PathBuf>,
    pub with_plain: bool,
    pub with_wakeful: bool,
    pub measured: Duration,
    pub rounds: usize,
    pub preloads: Vec<u64>,
    pub dir: PathBuf,
    pub point: String,
}

/// One size of store, filled for everyone who takes part.
struct Field {
    preload: u64,
    contenders: Vec<Contender>,
}

struct Bench<'p> {
    plan: &'p Plan,
    window: Window,
    runtime: Runtime,
    row: Row,
}

pub fn run(plan: &Plan, program: &Path) -> Result<Report> {
    let mut kinds = Vec::new();
    match &plan.beside {
        Some(other) => kinds.push(Kind::Other(build(other)?)),
        None if plan.with_plain => kinds.push(Kind::Plain(program.to_owned())),
        None => {}
    }
    if plan.with_wakeful {
        kinds.push(Kind::Wakeful(build(&plan.wakeful)?));
    }
    let bench = Bench {
        plan,
        window: Window {
            warm_up: plan.measured / 5,
            measured: plan.measured,
        },
        runtime: Builder::new_current_thread().enable_all().build()?,
        row: plain::row_of(DELIVERY)?,
    };
    let mut report = Report::new(Machine::look()?, plan.measured, plan.rounds);
    report.peer = if plan.beside.is_some() {
        Peer::Other
    } else {
        Peer::Plain
    };
    let fields = plan
        .preloads
        .iter()
        .map(|&preload| Field::prepare(&kinds, plan, preload))
        .collect::<Result<Vec<_>>>()?;
    for field in &fields {
        report.started.push(bench.starts(field)?);
    }
    for (act, connections) in POINTS {
        if format!("{} x{connections}", act.name()).contains(&plan.point) {
            report
                .measured
                .extend(bench.point(&fields, act, connections)?);
        }
    }
    report.measured.sort_by_key(|point| point.preload);
    if let Some(largest) = fields.iter().max_by_key(|field| field.preload) {
        report.verified = bench.verify(&largest.contenders)?;
    }
    report.finish()?;
    Ok(report)
}

fn build(program: &Path) -> Result<Wakeful> {
    ensure!(
        program.is_file(),
        "no server at {}: build it with `cargo build --release`, or name it with --wakeful",
        program.display()
    );
    let program = program.to_owned();
    Ok(Wakeful { program })
}

impl Field {
    fn prepare(kinds: &[Kind], plan: &Plan, preload: u64) -> Result<Self> {
        eprintln!("filling stores with {preload} deliveries");
        let contenders = kinds
            .iter()
            .map(|kind| Contender::prepare(kind.clone(), &plan.dir, preload))
            .collect::<Result<Vec<_>>>()?;
        Ok(Field {
            preload,
            contenders,
        })
    }
}

impl Bench<'_> {
    /// Start-up time and idle memory.
    fn starts(&self, field: &Field) -> Result<Started> {
        let mut started = Started::new(field.preload);
        for round in 0..self.plan.rounds {
            for contender in in_turn(&field.contenders, round) {
                let store = contender.store()?;
                let (running, _) = store.start()?;
                std::thread::sleep(SETTLE);
                let rss_kib = running.process().rss_kib()?;
                started.add(contender.name(), running.start, rss_kib);
                running.stop()?;
            }
        }
        Ok(started)
    }

    fn point(&self, fields: &[Field], act: Act, connections: usize) -> Result<Vec<Measured>> {
        let mut points: Vec<Measured> = fields
            .iter()
            .map(|field| Measured::new(field.preload, act, connections))
            .collect();
        for round in 0..self.plan.rounds {
            for (field, point) in fields.iter().zip(&mut points) {
                for contender in in_turn(&field.contenders, round) {
                    let sample = self.sample(contender, act, connections)?;
                    progress(point, contender.name(), &sample);
                    self.figures(point, contender).rounds.push(sample);
                }
                if act == Act::Deliver {
                    self.raw(field, point)?;
                }
            }
        }
        points.iter_mut().for_each(Measured::settle);
        Ok(points)
    }

    /// Bare inserts into the plain server's store, while no server runs.
    fn raw(&self, field: &Field, point: &mut Measured) -> Result<()> {
        let mut contenders = field.contenders.iter();
        if let Some(plain) = contenders.find(|one| one.name() == "plain") {
            let store = plain.store()?;
            let batch = point.connections;
            let rate = raw::inserts_per_second(store.path(), &self.row, batch, self.window)?;
            eprintln!(
                "{:>8} insert   {batch:>3} raw      {rate:>9.0}/s",
                point.preload
            );
            point.raw_rounds.push(rate);
        }
        Ok(())
    }

    fn figures<'m>(&self, point: &'m mut Measured, contender: &Contender) -> &'m mut Figures {
        let side = match contender.name() {
            "wakeful" => &mut point.wakeful,
            _ => &mut point.peer,
        };
        side.get_or_insert_default()
    }

    fn sample(&self, contender: &Contender, act: Act, connections: usize) -> Result<Sample> {
        let store = contender.store()?;
        let (running, target) = store.start()?;
        let sample = self.runtime.block_on(async {
            let work = match act {
                Act::Deliver => Work::Deliver,
                Act::Cycle => Work::Cycle,
                Act::Poll => scout::polls(&target).await?,
                Act::Sweep => scout::sweep(&target).await?,
            };
            load::run(&target, running.process(), connections, work, self.window).await
        });
        let sample = sample.with_context(|| format!("{} {}", contender.name(), act.name()))?;
        running.stop()?;
        Ok(sample)
    }

    fn verify(&self, contenders: &[Contender]) -> Result<Option<Verified>> {
        let found = contenders
            .iter()
            .find_map(|one| Some((one, one.wakeful()?)));
        let Some((contender, wakeful)) = found else {
            return Ok(None);
        };
        let store = contender.store()?;
        wakeful.verify(store.path()).map(Some)
    }
}

/// Everyone once, the order reversed in every other round.
fn in_turn(contenders: &[Contender], round: usize) -> Vec<&Contender> {
    let mut turn: Vec<_> = contenders.iter().collect();
    if round % 2 == 1 {
        turn.reverse();
    }
    turn
}

fn progress(point: &Measured, name: &str, sample: &Sample) {
    eprintln!(
        "{:>8} {:<8} {:>3} {name:<8} {:>9.0}/s  p50 {:.2} ms  p99 {:.2} ms",
        point.preload,
        point.act.name(),
        point.connections,
        sample.per_second,
        sample.p50_us / 1e3,
        sample.p99_us / 1e3,
    );
    if let Some(failure) = &sample.first_failure {
        eprintln!("         {} failures, first: {failure}", sample.failures);
    }
}
