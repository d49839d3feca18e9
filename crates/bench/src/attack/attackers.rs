//! Those who want to keep others out: each kind as fast as it is let, up to a
//! number at once and a pace, so that their one processor is shared by all.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;

use super::Known;
use super::socket::{Socket, request};

/// What was done so far, by kind.
#[derive(Default)]
pub struct Tally {
    promises: AtomicU64,
    silent: AtomicU64,
    searches: AtomicU64,
    searches_refused: AtomicU64,
    streams: AtomicU64,
    trickled: AtomicU64,
    stalled: AtomicU64,
    passwords: AtomicU64,
}

impl Tally {
    pub fn all(&self) -> Vec<(&'static str, u64)> {
        let named = [
            ("strangers' bodies begun (264 at once)", &self.promises),
            (
                "strangers' silent sockets opened (1000 at once)",
                &self.silent,
            ),
            ("one viewer's searches (50 at once)", &self.searches),
            ("  of these refused", &self.searches_refused),
            ("one viewer's streams opened (200 at once)", &self.streams),
            ("one key's 1 MiB bodies begun (50 at once)", &self.trickled),
            (
                "sockets that read nothing, opened (300 at once)",
                &self.stalled,
            ),
            ("wrong passwords, from 1000 addresses", &self.passwords),
        ];
        let all = named.iter();
        all.map(|(name, count)| (*name, count.load(Ordering::Relaxed)))
            .collect()
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Repeats something for as long as the attack lasts, with a pause.
macro_rules! crowd {
    ($tasks:ident, $stop:ident, $number:expr, $pause:expr, |$n:ident| $act:expr) => {
        for $n in 0_usize..$number {
            let stop = Arc::clone($stop);
            let act = $act;
            $tasks.push(tokio::spawn(async move {
                // They do not all begin in the same moment.
                tokio::time::sleep(Duration::from_millis($n as u64 * 7 % 3_000)).await;
                while !stop.load(Ordering::Relaxed) {
                    act().await;
                    tokio::time::sleep($pause).await;
                }
            }));
        }
    };
}

/// Starts all kinds but those that are named.
pub fn start(
    known: &Known,
    addr: SocketAddr,
    tally: &Arc<Tally>,
    stop: &Arc<AtomicBool>,
    without: &[String],
) -> Vec<JoinHandle<()>> {
    let mut tasks = Vec::new();
    let so_many = |kind: &str, number: usize| match without.iter().any(|name| name == kind) {
        true => 0,
        false => number,
    };
    const FORM: &str = "content-type: application/x-www-form-urlencoded\r\n";
    let draft = Arc::new(promise("/items/x/answer", FORM, 256 << 10));
    let form = Arc::new(promise("/sign-in", FORM, 8 << 10));
    let key = &known.slow_key;
    let headers = format!("authorization: Bearer {key}\r\ncontent-type: application/json\r\n");
    let large = Arc::new(promise("/wake/v1/deliver", &headers, 1 << 20) + "{");
    let stream = Arc::new(request("GET", "/api/v1/events", &known.viewer, ""));
    let greedy = Arc::new("GET /sign-in HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(100));
    let pause = Duration::from_millis(500);
    let slow = Duration::from_secs(5);

    crowd!(tasks, stop, so_many("bodies", 264), pause, |n| {
        let (tally, text) = (
            Arc::clone(tally),
            Arc::clone(if n < 64 { &draft } else { &form }),
        );
        move || {
            let (tally, text) = (Arc::clone(&tally), Arc::clone(&text));
            async move {
                count(&tally.promises);
                drip(addr, &text, 1).await;
            }
        }
    });
    crowd!(tasks, stop, so_many("sockets", 1_000), pause, |n| {
        let tally = Arc::clone(tally);
        move || {
            let tally = Arc::clone(&tally);
            async move {
                count(&tally.silent);
                if let Ok(mut socket) = Socket::open(addr).await {
                    let _ = socket.stream.read_u8().await;
                }
            }
        }
    });
    crowd!(tasks, stop, so_many("searches", 50), pause, |n| {
        let (tally, viewer) = (Arc::clone(tally), known.viewer.clone());
        move || {
            let tally = Arc::clone(&tally);
            let path = format!("/api/v1/trail?q=nowhere{n}");
            let search = request("GET", &path, &viewer, "");
            async move {
                let Ok(mut socket) = Socket::open(addr).await else {
                    return;
                };
                count(&tally.searches);
                if !matches!(socket.ask(&search).await, Ok((200, _))) {
                    count(&tally.searches_refused);
                }
            }
        }
    });
    crowd!(tasks, stop, so_many("streams", 200), slow, |n| {
        let (tally, stream) = (Arc::clone(tally), Arc::clone(&stream));
        move || {
            let (tally, stream) = (Arc::clone(&tally), Arc::clone(&stream));
            async move {
                count(&tally.streams);
                hear(addr, &stream).await;
            }
        }
    });
    crowd!(tasks, stop, so_many("key", 50), pause, |n| {
        let (tally, large) = (Arc::clone(tally), Arc::clone(&large));
        move || {
            let (tally, large) = (Arc::clone(&tally), Arc::clone(&large));
            async move {
                count(&tally.trickled);
                drip(addr, &large, 1_024).await;
            }
        }
    });
    crowd!(tasks, stop, so_many("readers", 300), slow, |n| {
        let (tally, greedy) = (Arc::clone(tally), Arc::clone(&greedy));
        move || {
            let (tally, greedy) = (Arc::clone(&tally), Arc::clone(&greedy));
            async move {
                count(&tally.stalled);
                stall(addr, &greedy).await;
            }
        }
    });
    if so_many("passwords", 1) > 0 {
        tasks.push(tokio::spawn(guess(addr, Arc::clone(tally))));
    }
    tasks
}

fn promise(path: &str, headers: &str, bytes: usize) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {bytes}\r\n\r\n")
}

/// Sends the head, then so many bytes of the body a second, until it is cut off.
async fn drip(addr: SocketAddr, head: &str, bytes: usize) {
    let Ok(mut socket) = Socket::open(addr).await else {
        return;
    };
    if socket.stream.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    let (part, mut room) = (vec![b'x'; bytes], [0; 1024]);
    loop {
        tokio::select! {
            read = socket.stream.read(&mut room) => if !matches!(read, Ok(1..)) { return },
            () = tokio::time::sleep(Duration::from_secs(1)) => {
                if socket.stream.write_all(&part).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Reads a stream until it ends.
async fn hear(addr: SocketAddr, request: &[u8]) {
    let Ok(mut socket) = Socket::open(addr).await else {
        return;
    };
    let mut room = vec![0; 64 << 10];
    if socket.stream.write_all(request).await.is_ok() {
        while let Ok(1..) = socket.stream.read(&mut room).await {
            if room.starts_with(b"HTTP/1.1 4") {
                return;
            }
        }
    }
}

/// Asks for much and reads nothing of it.
async fn stall(addr: SocketAddr, requests: &str) {
    let Ok(mut socket) = Socket::open(addr).await else {
        return;
    };
    // Ends when the other end has closed, which a write notices.
    while socket.stream.write_all(requests.as_bytes()).await.is_ok() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// 180 wrong passwords a second, each from the next of a thousand addresses.
async fn guess(addr: SocketAddr, tally: Arc<Tally>) {
    let mut pace = tokio::time::interval(Duration::from_micros(5_555));
    let form = "name=ann&password=wrong";
    let guess = Arc::new(format!(
        "POST /sign-in HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}",
        form.len()
    ));
    for n in 0_u64.. {
        pace.tick().await;
        let (tally, guess) = (Arc::clone(&tally), Arc::clone(&guess));
        tokio::spawn(async move {
            let place = n % 1_000;
            let from = Ipv4Addr::new(127, 1, (place / 250) as u8, (place % 250 + 1) as u8);
            if let Ok(mut socket) = Socket::open_from(from, addr).await {
                let _ = socket.ask(guess.as_bytes()).await;
                count(&tally.passwords);
            }
        });
    }
}
