//! The plan: which points are measured, on which stores, in what order.
//!
//! A point is measured on all sides in turn, round after round with the order
//! reversed each time, so that whatever else the machine does falls on all
//! alike; the median of the rounds is what counts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::runtime::{Builder, Runtime};

use crate::contender::{Contender, Kind};
use crate::load::{self, Sample, Window};
use crate::plain::{self, store::Row};
use crate::report::{Act, Figures, Machine, Measured, Report, Started, Verified};
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
    pub with_plain: bool,
    pub with_wakeful: bool,
    pub measured: Duration,
    pub rounds: usize,
    pub preloads: Vec<u64>,
    pub dir: PathBuf,
    pub point: String,
}

struct Bench<'p> {
    plan: &'p Plan,
    window: Window,
    runtime: Runtime,
    row: Row,
}

pub fn run(plan: &Plan, program: &Path) -> Result<Report> {
    let mut kinds = Vec::new();
    if plan.with_plain {
        kinds.push(Kind::Plain(program.to_owned()));
    }
    if plan.with_wakeful {
        let program = plan.wakeful.clone();
        ensure!(
            program.is_file(),
            "no server at {}: build it with `cargo build --release`, or name it with --wakeful",
            program.display()
        );
        kinds.push(Kind::Wakeful(Wakeful { program }));
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
    for &preload in &plan.preloads {
        eprintln!("filling stores with {preload} deliveries");
        let contenders = kinds
            .iter()
            .map(|kind| Contender::prepare(kind.clone(), &plan.dir, preload))
            .collect::<Result<Vec<_>>>()?;
        bench.store(&contenders, preload, &mut report)?;
        report.verified = bench.verify(&contenders)?;
    }
    report.finish()?;
    Ok(report)
}

impl Bench<'_> {
    fn store(&self, contenders: &[Contender], preload: u64, report: &mut Report) -> Result<()> {
        report.started.push(self.starts(contenders, preload)?);
        for (act, connections) in POINTS {
            if !act.name().contains(&self.plan.point) {
                continue;
            }
            let point = self.point(contenders, preload, act, connections)?;
            report.measured.push(point);
        }
        Ok(())
    }

    /// Start-up time and idle memory.
    fn starts(&self, contenders: &[Contender], preload: u64) -> Result<Started> {
        let mut started = Started::new(preload);
        for round in 0..self.plan.rounds {
            for contender in in_turn(contenders, round) {
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

    fn point(
        &self,
        contenders: &[Contender],
        preload: u64,
        act: Act,
        connections: usize,
    ) -> Result<Measured> {
        let mut point = Measured::new(preload, act, connections);
        for round in 0..self.plan.rounds {
            for contender in in_turn(contenders, round) {
                let sample = self.sample(contender, act, connections)?;
                eprintln!(
                    "{preload:>8} {:<8} {connections:>3} {:<8} {:>9.0}/s  p50 {:.2} ms  p99 {:.2} ms",
                    act.name(),
                    contender.name(),
                    sample.per_second,
                    sample.p50_us / 1e3,
                    sample.p99_us / 1e3,
                );
                if let Some(failure) = &sample.first_failure {
                    eprintln!("         {} failures, first: {failure}", sample.failures);
                }
                self.figures(&mut point, contender).rounds.push(sample);
            }
            let plain = contenders.iter().find(|one| one.name() == "plain");
            if let (Act::Deliver, Some(plain)) = (act, plain) {
                let store = plain.store()?;
                let batch = connections;
                let rate = raw::inserts_per_second(store.path(), &self.row, batch, self.window)?;
                eprintln!("{preload:>8} insert   {batch:>3} raw      {rate:>9.0}/s");
                point.raw_rounds.push(rate);
            }
        }
        point.settle();
        Ok(point)
    }

    fn figures<'m>(&self, point: &'m mut Measured, contender: &Contender) -> &'m mut Figures {
        let side = match contender.name() {
            "plain" => &mut point.plain,
            _ => &mut point.wakeful,
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
        let (entries, took) = wakeful.verify(store.path())?;
        Ok(Some(Verified::new(entries, took)))
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
