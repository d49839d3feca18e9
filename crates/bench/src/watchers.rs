//! What a delivery costs while thousands watch the trail grow, beside what it
//! costs while nobody does: a hundred deliveries a second in both cases.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::child::{self, Running};
use crate::connection::Connection;
use crate::wakeful::Wakeful;
use crate::work::{Requests, Target};

const EVERY: Duration = Duration::from_millis(10);
const WARM_UP: Duration = Duration::from_secs(3);
/// What the relay has not, others may have.
const FEW_DEVICES: &str = "[link]\nconnections = 1000\n";
/// How much slower a delivery may be.
const SLOWER: f64 = 1.2;

pub struct Plan {
    pub wakeful: PathBuf,
    pub watchers: usize,
    pub measured: Duration,
    pub dir: PathBuf,
}

/// Whether it was no slower than it may be.
pub fn run(plan: &Plan) -> Result<bool> {
    let data = tempfile::tempdir_in(&plan.dir)?;
    let wakeful = Wakeful {
        program: plan.wakeful.clone(),
    };
    let known = wakeful.create(data.path())?;
    let addr = child::free_addr()?;
    let mut serve = wakeful.serve_with(data.path(), addr, FEW_DEVICES)?;
    let running = Running::start(&mut serve, addr, &data.path().join("log"))?;
    let target = Target {
        addr,
        agent_key: known.agent_key.clone(),
        owner_token: known.owner_token.clone(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let rss = || running.process().rss_kib();
    runtime.block_on(deliver(&target, WARM_UP))?;
    let idle = rss()?;
    let (p50, p99) = runtime.block_on(deliver(&target, plan.measured))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "nobody watches: p50 {p50:.2?}, p99 {p99:.2?}")?;
    let heard = Arc::new(AtomicU64::new(0));
    let opened = Arc::new(AtomicU64::new(0));
    let (count, token) = (plan.watchers, known.owner_token);
    let counters = (Arc::clone(&heard), Arc::clone(&opened));
    // A thread of their own: they must not hold up whoever measures.
    std::thread::spawn(move || watch(addr, &token, count, &counters.0, &counters.1));
    let began = Instant::now();
    while opened.load(Ordering::Relaxed) < plan.watchers as u64 {
        ensure!(
            began.elapsed() < Duration::from_secs(60),
            "not all can watch"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    runtime.block_on(deliver(&target, WARM_UP))?;
    let cost = rss()?.saturating_sub(idle);
    let (before, began) = (heard.load(Ordering::Relaxed), Instant::now());
    let (p50_watched, p99_watched) = runtime.block_on(deliver(&target, plan.measured))?;
    let heard = heard.load(Ordering::Relaxed) - before;
    let rate = heard as f64 / began.elapsed().as_secs_f64() / f64::from(1 << 20);
    let times = p50_watched.as_secs_f64() / p50.as_secs_f64();
    writeln!(
        out,
        "{} watch: p50 {p50_watched:.2?}, p99 {p99_watched:.2?}; they read {rate:.0} MiB a second and cost {} MiB, {:.1} KiB each",
        plan.watchers,
        cost >> 10,
        cost as f64 / plan.watchers as f64
    )?;
    writeln!(
        out,
        "p50 {times:.2} times that with nobody, at most {SLOWER}"
    )?;
    Ok(times <= SLOWER)
}

/// Delivers at a steady pace; gives p50 and p99.
async fn deliver(target: &Target, time: Duration) -> Result<(Duration, Duration)> {
    let mut connection = Connection::open(target.addr).await?;
    let mut requests = Requests::new(target);
    let mut pace = tokio::time::interval(EVERY);
    let (began, mut times) = (Instant::now(), Vec::new());
    while began.elapsed() < time {
        pace.tick().await;
        let sent = Instant::now();
        requests.deliver(&mut connection).await?;
        times.push(sent.elapsed());
    }
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied();
    Ok((at(50).context("none")?, at(99).context("none")?))
}

fn watch(
    addr: SocketAddr,
    token: &str,
    count: usize,
    heard: &Arc<AtomicU64>,
    opened: &Arc<AtomicU64>,
) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    else {
        return;
    };
    // In life they are on other machines: here they have what the server leaves.
    let _ = rustix::process::nice(19);
    let request = Arc::new(format!(
        "GET /api/v1/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"
    ));
    runtime.block_on(async {
        let mut tasks = Vec::new();
        for _ in 0..count {
            let Ok(mut stream) = TcpStream::connect(addr).await else {
                return;
            };
            let (request, heard, opened) =
                (Arc::clone(&request), Arc::clone(heard), Arc::clone(opened));
            tasks.push(tokio::spawn(async move {
                let mut room = vec![0; 16 << 10];
                if stream.write_all(request.as_bytes()).await.is_err() {
                    return;
                }
                let mut first = true;
                while let Ok(read @ 1..) = stream.read(&mut room).await {
                    if first && room.starts_with(b"HTTP/1.1 200") {
                        opened.fetch_add(1, Ordering::Relaxed);
                    }
                    first = false;
                    heard.fetch_add(read as u64, Ordering::Relaxed);
                }
            }));
            tokio::task::yield_now().await;
        }
        for task in tasks {
            let _ = task.await;
        }
    });
}
