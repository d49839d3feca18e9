//! The ordinary load: agents that deliver and people who answer, each at a
//! steady pace on a connection of their own.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Known;
use super::socket::{Socket, find, request};

/// Each agent delivers ten times a second, each person answers eight times.
const DELIVER_EVERY: Duration = Duration::from_millis(100);
const ANSWER_EVERY: Duration = Duration::from_millis(125);

#[derive(Default)]
pub struct Latencies(Mutex<Taken>);

#[derive(Default)]
struct Taken {
    answers: Vec<Duration>,
    deliveries: Vec<Duration>,
    failed: u64,
}

pub struct Figures {
    pub answers: Spread,
    pub deliveries: Spread,
    pub failed: u64,
}

#[derive(Clone, Copy, Default)]
pub struct Spread {
    pub count: usize,
    pub p50: Duration,
    pub p99: Duration,
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let text = format!(
            "{} in p50 {:.2}, p99 {:.2} ms",
            self.count,
            millis(self.p50),
            millis(self.p99)
        );
        f.pad(&text)
    }
}

fn spread(mut times: Vec<Duration>) -> Spread {
    times.sort_unstable();
    let at = |share: f64| {
        let place = (times.len() as f64 * share) as usize;
        times.get(place.min(times.len().saturating_sub(1)))
    };
    Spread {
        count: times.len(),
        p50: at(0.5).copied().unwrap_or_default(),
        p99: at(0.99).copied().unwrap_or_default(),
    }
}

impl Latencies {
    fn add(&self, add: impl FnOnce(&mut Taken)) {
        add(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// What was measured since the last time.
    pub fn take(&self) -> Figures {
        let taken = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Figures {
            answers: spread(taken.answers),
            deliveries: spread(taken.deliveries),
            failed: taken.failed,
        }
    }
}

pub fn start(known: &Known, addr: SocketAddr, latencies: &Arc<Latencies>) -> Vec<JoinHandle<()>> {
    // People answer less than is delivered; the rest waits, as it does in life.
    let (delivered, waiting) = mpsc::channel(64);
    let waiting = Arc::new(tokio::sync::Mutex::new(waiting));
    let mut tasks = Vec::new();
    for (agent, key) in known.agents.clone() {
        let (latencies, delivered) = (Arc::clone(latencies), delivered.clone());
        tasks.push(tokio::spawn(deliver(
            agent, key, addr, latencies, delivered,
        )));
    }
    for token in known.people.clone() {
        let (latencies, waiting) = (Arc::clone(latencies), Arc::clone(&waiting));
        tasks.push(tokio::spawn(answer(token, addr, latencies, waiting)));
    }
    tasks
}

async fn deliver(
    agent: String,
    key: String,
    addr: SocketAddr,
    latencies: Arc<Latencies>,
    delivered: mpsc::Sender<String>,
) {
    let body = format!(
        r#"{{"agent_id":"{agent}","provider":"claude","type":"output","headline":"Report ready","summary":"All ten were compared.","details":"{}"}}"#,
        "x".repeat(1_000)
    );
    let deliver = request("POST", "/wake/v1/deliver", &key, &body);
    let mut pace = tokio::time::interval(DELIVER_EVERY);
    let mut socket = None;
    loop {
        pace.tick().await;
        match timed(&mut socket, addr, &deliver).await {
            Some((201, body, took)) => {
                latencies.add(|taken| taken.deliveries.push(took));
                let id =
                    find(&body, b"\"delivery_id\":\"").and_then(|at| body.get(at + 15..at + 51));
                if let Some(id) = id.and_then(|id| std::str::from_utf8(id).ok()) {
                    // Who has enough to answer gets no more.
                    let _ = delivered.try_send(id.to_owned());
                }
            }
            failed => fail(&latencies, "a delivery", failed.map(|(status, ..)| status)),
        }
    }
}

async fn answer(
    token: String,
    addr: SocketAddr,
    latencies: Arc<Latencies>,
    waiting: Arc<tokio::sync::Mutex<mpsc::Receiver<String>>>,
) {
    let mut pace = tokio::time::interval(ANSWER_EVERY);
    let mut socket = None;
    loop {
        pace.tick().await;
        let next = waiting.lock().await.recv().await;
        let Some(id) = next else { return };
        let path = format!("/api/v1/inbox/{id}/respond");
        let respond = request("POST", &path, &token, r#"{"status":"approved"}"#);
        match timed(&mut socket, addr, &respond).await {
            Some((200, _, took)) => latencies.add(|taken| taken.answers.push(took)),
            failed => fail(&latencies, "an answer", failed.map(|(status, ..)| status)),
        }
    }
}

fn fail(latencies: &Latencies, what: &str, status: Option<u16>) {
    eprintln!("{what} failed: {status:?}");
    latencies.add(|taken| taken.failed += 1);
}

/// One request on the connection that is open, or on a new one.
async fn timed(
    socket: &mut Option<Socket>,
    addr: SocketAddr,
    request: &[u8],
) -> Option<(u16, Vec<u8>, Duration)> {
    let began = Instant::now();
    if socket.is_none() {
        *socket = Socket::open(addr).await.ok();
    }
    let answer = match socket {
        Some(open) => open.ask(request).await.ok(),
        None => None,
    };
    if answer.is_none() {
        *socket = None;
    }
    let (status, body) = answer?;
    Some((status, body, began.elapsed()))
}
