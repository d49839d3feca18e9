//! What relaying costs: Wakeful, with all its rules, beside the least that a
//! relay on the same library can be and the least on Node; and what it costs to
//! hold a connection.

mod bare;
mod contender;
mod load;
mod peer;
mod report;
mod road;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Runtime;

pub use bare::serve as serve_bare;
pub use road::Files;

use self::contender::{Kind, Relay};
use self::load::{Sample, Window};
use self::report::{Held, Report, Throughput};
use crate::wakeful::Wakeful;

/// Connections that are being set up at once.
const SET_UP_AT_ONCE: usize = 32;
/// Idle connections of one person.
const IDLE_PER_PERSON: usize = 1000;

#[derive(Debug)]
pub struct Plan {
    pub wakeful: PathBuf,
    /// Where Node finds `ws`; without it that relay takes no part.
    pub node: Option<PathBuf>,
    pub pairs: Vec<usize>,
    /// Frames of each pair that are on their way at once.
    pub in_flight: usize,
    pub idle: usize,
    pub measured: Duration,
    pub rounds: usize,
    pub dir: PathBuf,
    pub json: PathBuf,
}

pub fn run(plan: &Plan, program: &Path) -> Result<()> {
    raise_open_files()?;
    let kinds = contenders(plan, program);
    // One thread: what it leaves of the machine is the server's, whichever it is.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut report = Report::new(plan.in_flight);
    for &pairs in &plan.pairs {
        report.throughput.extend(at(&runtime, &kinds, pairs, plan)?);
    }
    if plan.idle > 0 {
        for (tls, kind) in [false, true]
            .into_iter()
            .flat_map(|tls| kinds.iter().map(move |kind| (tls, kind)))
        {
            // What is held is compared with what holds the least.
            let takes_part = match kind {
                Kind::Bare(_) | Kind::Wakeful(_) => true,
                Kind::BareReadingMore(_) => false,
                Kind::Node(_) => !tls,
            };
            if !takes_part {
                continue;
            }
            let held = held(&runtime, kind, tls, plan)?;
            eprintln!("{}: {:.0} bytes each", held.name(), held.bytes_each);
            report.held.push(held);
        }
    }
    std::fs::write(&plan.json, serde_json::to_vec_pretty(&report)?)?;
    report.print(&mut std::io::stdout().lock())
}

/// The first is what the others are compared with.
fn contenders(plan: &Plan, program: &Path) -> Vec<Kind> {
    let mut kinds = vec![
        Kind::Bare(program.to_owned()),
        Kind::BareReadingMore(program.to_owned()),
    ];
    match &plan.node {
        Some(packages) => kinds.push(Kind::Node(packages.clone())),
        None => eprintln!("no relay on Node: WAKEFUL_TEST_NODE does not say where ws is"),
    }
    kinds.push(Kind::Wakeful(Wakeful {
        program: plan.wakeful.clone(),
    }));
    kinds
}

/// All with so many pairs, one after the other in every round, so that what
/// else the machine does meets them alike.
fn at(runtime: &Runtime, kinds: &[Kind], pairs: usize, plan: &Plan) -> Result<Vec<Throughput>> {
    let mut samples: Vec<Vec<Sample>> = kinds.iter().map(|_| Vec::new()).collect();
    for _ in 0..plan.rounds {
        for (kind, samples) in kinds.iter().zip(&mut samples) {
            let sample = throughput(runtime, kind, pairs, plan)?;
            eprintln!("{} x{pairs}: {:.0}/s", kind.name(), sample.per_second);
            samples.push(sample);
        }
    }
    let measured = kinds.iter().zip(samples);
    let rows = measured.map(|(kind, samples)| Throughput::new(kind.name(), pairs, samples));
    rows.collect()
}

fn throughput(runtime: &Runtime, kind: &Kind, pairs: usize, plan: &Plan) -> Result<Sample> {
    let relay = Relay::start(kind, false, &plan.dir)?;
    let window = Window {
        warm_up: plan.measured / 5,
        measured: plan.measured,
        in_flight: plan.in_flight,
    };
    let process = relay.server.process();
    let sample = runtime.block_on(async {
        let pairs = relay.pairs(pairs).await?;
        load::run(pairs, process, window).await
    });
    let sample = sample.with_context(|| format!("{} with {pairs} pairs", kind.name()))?;
    stop(kind, relay)?;
    Ok(sample)
}

fn held(runtime: &Runtime, kind: &Kind, tls: bool, plan: &Plan) -> Result<Held> {
    let relay = Relay::start(kind, tls, &plan.dir)?;
    let process = relay.server.process();
    let (set_ups_per_second, grown) = runtime.block_on(async {
        // What a first connection brings with it is no connection's own.
        let mut kept = vec![
            relay
                .idle(&relay.person_without_devices(0).await?, 0)
                .await?,
        ];
        let mut people = Vec::new();
        for n in 0..plan.idle.div_ceil(IDLE_PER_PERSON) {
            people.push(relay.person_without_devices(n + 1).await?);
        }
        let before = process.rss_kib()?;
        let began = Instant::now();
        let mut n = 1;
        while n <= plan.idle {
            let last = (n + SET_UP_AT_ONCE - 1).min(plan.idle);
            let set_up = (n..=last).map(|n| relay.idle(&people[(n - 1) / IDLE_PER_PERSON], n));
            kept.extend(futures_util::future::try_join_all(set_up).await?);
            n = last + 1;
        }
        let took = began.elapsed().as_secs_f64();
        let grown = process.rss_kib()?.saturating_sub(before);
        drop(kept);
        anyhow::Ok((plan.idle as f64 / took, grown))
    })?;
    stop(kind, relay)?;
    Ok(Held {
        relay: kind.name(),
        tls,
        connections: plan.idle,
        set_ups_per_second,
        bytes_each: grown as f64 * 1024.0 / plan.idle as f64,
    })
}

/// Only Wakeful knows an orderly end.
fn stop(kind: &Kind, relay: Relay) -> Result<()> {
    match kind {
        Kind::Bare(_) | Kind::BareReadingMore(_) | Kind::Node(_) => Ok(()),
        Kind::Wakeful(_) => relay.server.stop(),
    }
}

/// Both this program and the servers need a file for each connection.
fn raise_open_files() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).context("raise the limit of open files")
}
