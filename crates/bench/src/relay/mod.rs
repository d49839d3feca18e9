//! What relaying costs: Wakeful, with all its rules, beside the least that a
//! relay on the same library can be; and what it costs to hold a connection.

mod bare;
mod contender;
mod load;
mod peer;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;
use tokio::runtime::Runtime;

pub use bare::serve as serve_bare;

use self::contender::{Kind, Relay};
use self::load::{Sample, Window};
use crate::wakeful::Wakeful;

/// Connections that are being set up at once.
const SET_UP_AT_ONCE: usize = 32;
/// Idle connections of one person.
const IDLE_PER_PERSON: usize = 1000;

#[derive(Debug)]
pub struct Plan {
    pub wakeful: PathBuf,
    pub pairs: Vec<usize>,
    /// Frames of each pair that are on their way at once.
    pub in_flight: usize,
    pub idle: usize,
    pub measured: Duration,
    pub rounds: usize,
    pub dir: PathBuf,
    pub json: PathBuf,
}

#[derive(Debug, Serialize)]
struct Throughput {
    relay: &'static str,
    pairs: usize,
    #[serde(flatten)]
    sample: Sample,
}

#[derive(Debug, Serialize)]
struct Held {
    relay: &'static str,
    connections: usize,
    set_ups_per_second: f64,
    bytes_each: f64,
}

#[derive(Debug, Serialize)]
struct Report {
    in_flight: usize,
    throughput: Vec<Throughput>,
    held: Vec<Held>,
}

pub fn run(plan: &Plan, program: &Path) -> Result<()> {
    raise_open_files()?;
    let wakeful = Wakeful {
        program: plan.wakeful.clone(),
    };
    let kinds = [Kind::Bare(program.to_owned()), Kind::Wakeful(wakeful)];
    // One thread: what it leaves of the machine is the server's, whichever it is.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut report = Report {
        in_flight: plan.in_flight,
        throughput: Vec::new(),
        held: Vec::new(),
    };
    for &pairs in &plan.pairs {
        for kind in &kinds {
            let mut samples = Vec::new();
            for _ in 0..plan.rounds {
                samples.push(throughput(&runtime, kind, pairs, plan)?);
            }
            samples.sort_by(|a, b| a.per_second.total_cmp(&b.per_second));
            let sample = samples.swap_remove(samples.len() / 2);
            eprintln!("{} x{pairs}: {:.0}/s", kind.name(), sample.per_second);
            report.throughput.push(Throughput {
                relay: kind.name(),
                pairs,
                sample,
            });
        }
    }
    if plan.idle > 0 {
        for kind in &kinds {
            report.held.push(held(&runtime, kind, plan)?);
        }
    }
    std::fs::write(&plan.json, serde_json::to_vec_pretty(&report)?)?;
    print(&report, &mut std::io::stdout().lock())
}

fn throughput(runtime: &Runtime, kind: &Kind, pairs: usize, plan: &Plan) -> Result<Sample> {
    let relay = Relay::start(kind, &plan.dir)?;
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

fn held(runtime: &Runtime, kind: &Kind, plan: &Plan) -> Result<Held> {
    let relay = Relay::start(kind, &plan.dir)?;
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
        connections: plan.idle,
        set_ups_per_second,
        bytes_each: grown as f64 * 1024.0 / plan.idle as f64,
    })
}

/// The bare relay knows no orderly end.
fn stop(kind: &Kind, relay: Relay) -> Result<()> {
    match kind {
        Kind::Bare(_) => Ok(()),
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

fn print(report: &Report, out: &mut impl Write) -> Result<()> {
    writeln!(
        out,
        "300-byte packets, {} of each pair on their way; limits raised by configuration\n\n\
         | pairs | relay | relayed/s | of bare | p50 µs | p99 µs | server CPU µs |\n\
         | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
        report.in_flight
    )?;
    for row in &report.throughput {
        let bare = report
            .throughput
            .iter()
            .find(|other| other.pairs == row.pairs)
            .map_or(row.sample.per_second, |bare| bare.sample.per_second);
        writeln!(
            out,
            "| {} | {} | {:.0} | {:.2} | {:.0} | {:.0} | {:.2} |",
            row.pairs,
            row.relay,
            row.sample.per_second,
            row.sample.per_second / bare,
            row.sample.p50_us,
            row.sample.p99_us,
            row.sample.server_cpu_us
        )?;
    }
    if !report.held.is_empty() {
        writeln!(
            out,
            "\n| relay | idle connections | bytes each | set-ups/s |\n| --- | ---: | ---: | ---: |"
        )?;
    }
    for row in &report.held {
        writeln!(
            out,
            "| {} | {} | {:.0} | {:.0} |",
            row.relay, row.connections, row.bytes_each, row.set_ups_per_second
        )?;
    }
    Ok(())
}
