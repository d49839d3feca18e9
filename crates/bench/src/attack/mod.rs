//! Every resource attack at once, against one server, while people answer and
//! agents deliver: how long these take, before and meanwhile, and how much
//! memory the server needs.
//!
//! The same load runs first without the attackers. All attackers share one thread,
//! which runs only when neither the one that measures nor the server wants the
//! processor: that they use one here is not what they do to the server. The report
//! says how fast they were. `cargo xtask soak attack` pins both to one processor
//! and the server to none.

mod attackers;
mod load;
mod socket;

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

use crate::child::{self, Process, Running};
use crate::wakeful::Wakeful;
use attackers::Tally;
use load::{Figures, Latencies};

/// What must hold while the attack lasts.
const ANSWER_P99: Duration = Duration::from_millis(200);
const SLOWER: f64 = 1.5;
const MEMORY_KIB: u64 = 256 << 10;
/// Deliveries that are there from the start: what searches go through.
const PRELOAD: u64 = 20_000;
/// For connections to open and caches to fill, before anything is measured.
const WARM_UP: Duration = Duration::from_secs(5);

pub struct Plan {
    pub wakeful: PathBuf,
    pub attack: Duration,
    pub before: Duration,
    pub dir: PathBuf,
    /// The processors that the server may use, such as "0-1".
    pub processors: Option<String>,
    /// Attacks that are left out, to see what the others do.
    pub without: Vec<String>,
}

/// Whom the server knows.
#[derive(Clone)]
pub struct Known {
    pub people: Vec<String>,
    pub agents: Vec<(String, String)>,
    pub viewer: String,
    pub slow_key: String,
}

/// Whether all of it held.
pub fn run(plan: &Plan) -> Result<bool> {
    let data = tempfile::tempdir_in(&plan.dir)?;
    let wakeful = Wakeful {
        program: plan.wakeful.clone(),
    };
    let known = prepare(&wakeful, data.path())?;
    let addr = child::free_addr()?;
    let mut serve = wakeful.serve_limited(data.path(), addr);
    if let Some(processors) = &plan.processors {
        serve = unpinned(&serve, processors);
    }
    let running = Running::start(&mut serve, addr, &data.path().join("log"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let held = runtime.block_on(measure(plan, &known, addr, running.process()))?;
    runtime.shutdown_background();
    running.stop()?;
    let entries = wakeful.verify(data.path())?.entries;
    writeln!(std::io::stdout(), "the trail of {entries} entries verifies")?;
    Ok(held)
}

/// The same command, on all of these processors.
fn unpinned(serve: &Command, processors: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", processors]).arg(serve.get_program());
    command.args(serve.get_args());
    command
}

fn prepare(wakeful: &Wakeful, data: &Path) -> Result<Known> {
    let credentials = wakeful.create(data)?;
    eprintln!("filling a store with {PRELOAD} deliveries");
    wakeful.preload(data, &credentials.owner_token, PRELOAD)?;
    let people = ["ann", "bea"].map(|name| wakeful.person(data, name, "reviewer"));
    let names = ["one", "two", "three", "four"];
    let agents = names.map(|name| Ok((name.to_owned(), wakeful.key(data, name)?)));
    Ok(Known {
        people: people.into_iter().collect::<Result<_>>()?,
        agents: agents.into_iter().collect::<Result<_>>()?,
        viewer: wakeful.person(data, "vic", "viewer")?,
        slow_key: credentials.agent_key,
    })
}

async fn measure(plan: &Plan, known: &Known, addr: SocketAddr, process: Process) -> Result<bool> {
    let latencies = Arc::new(Latencies::default());
    let load = load::start(known, addr, &latencies);
    tokio::time::sleep(WARM_UP).await;
    latencies.take();
    eprintln!("{} s of ordinary load", plan.before.as_secs());
    let (before, _) = observe(plan.before, &latencies, process).await?;
    eprintln!("{} s of attack", plan.attack.as_secs());
    let tally = Arc::new(Tally::default());
    let stop = Arc::new(AtomicBool::new(false));
    let attack = {
        let (known, tally, stop) = (known.clone(), Arc::clone(&tally), Arc::clone(&stop));
        let without = plan.without.clone();
        std::thread::spawn(move || attack(&known, addr, &tally, &stop, &without))
    };
    let (during, memory_kib) = observe(plan.attack, &latencies, process).await?;
    stop.store(true, Ordering::Relaxed);
    let _ = attack.join();
    load.iter().for_each(tokio::task::JoinHandle::abort);
    report(plan, &before, &during, memory_kib, &tally)
}

/// Attacks until it is told to stop, on this thread.
fn attack(
    known: &Known,
    addr: SocketAddr,
    tally: &Arc<Tally>,
    stop: &Arc<AtomicBool>,
    without: &[String],
) {
    let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        let attackers = attackers::start(known, addr, tally, stop, without);
        while !stop.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        attackers.iter().for_each(tokio::task::JoinHandle::abort);
    });
    runtime.shutdown_background();
}

/// Lets time pass; gives what was measured in it, and the most memory.
async fn observe(
    time: Duration,
    latencies: &Latencies,
    process: Process,
) -> Result<(Figures, u64)> {
    let (began, mut most) = (Instant::now(), 0);
    while began.elapsed() < time {
        tokio::time::sleep(Duration::from_millis(500)).await;
        most = most.max(process.rss_kib().context("the server is gone")?);
    }
    Ok((latencies.take(), most))
}

fn report(
    plan: &Plan,
    before: &Figures,
    during: &Figures,
    memory_kib: u64,
    tally: &Tally,
) -> Result<bool> {
    ensure!(
        before.deliveries.count > 0 && before.answers.count > 0,
        "nothing was measured before the attack"
    );
    let mut out = std::io::stdout().lock();
    let seconds = plan.attack.as_secs_f64();
    writeln!(out, "attackers, a second:")?;
    for (name, count) in tally.all() {
        writeln!(out, "  {name:<44} {:>10.1}", count as f64 / seconds)?;
    }
    writeln!(
        out,
        "{:<22} | {:>28} | {:>28}",
        "", "before", "under attack"
    )?;
    for (name, one, two) in [
        ("answers of people", before.answers, during.answers),
        ("deliveries of agents", before.deliveries, during.deliveries),
    ] {
        writeln!(out, "{name:<22} | {one:>28} | {two:>28}")?;
    }
    writeln!(
        out,
        "failed: {} before, {} under attack",
        before.failed, during.failed
    )?;
    let ratio = |one: Duration, two: Duration| two.as_secs_f64() / one.as_secs_f64();
    let p50 = ratio(before.deliveries.p50, during.deliveries.p50);
    let p99 = ratio(before.deliveries.p99, during.deliveries.p99);
    let mut held = true;
    for (what, holds) in [
        (
            format!("answers within {} ms at p99", ANSWER_P99.as_millis()),
            during.answers.p99 <= ANSWER_P99 && during.answers.count > 0,
        ),
        (
            format!(
                "deliveries {p50:.2} times p50 and {p99:.2} times p99 of before, at most {SLOWER}"
            ),
            p50 <= SLOWER && p99 <= SLOWER,
        ),
        (
            format!(
                "memory {} MiB, under {} MiB",
                memory_kib >> 10,
                MEMORY_KIB >> 10
            ),
            memory_kib < MEMORY_KIB,
        ),
        ("no request of theirs failed".to_owned(), during.failed == 0),
    ] {
        writeln!(out, "{}: {what}", if holds { "yes" } else { "NO" })?;
        held &= holds;
    }
    Ok(held)
}
