//! Of a request whose end can be read in two ways nobody gets two: not from the
//! server itself, and not from it behind nginx or HAProxy, one of which reads the
//! request first.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use crate::{
    framings::{FRAMINGS, Framing, SECOND, Taken},
    harness::{
        House,
        front::{Front, HIDDEN, Kind},
        way::certificate,
    },
};

/// The bytes of a framing, in a request for this path.
fn bytes(framing: &Framing, method: &str, path: &str) -> Vec<u8> {
    let (_, _, head, body) = framing;
    let second = format!("GET {HIDDEN} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let body = body.replace("SIZE", &format!("{:x}", second.len()));
    let body = body.replace(SECOND, &second);
    let head = head.replace("ALL", &body.len().to_string());
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{form}{head}\r\n{body}").into_bytes()
}

/// What comes back: one answer, and whatever else comes soon after it.
fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let connection = TcpStream::connect(address).unwrap();
    let patience = |time| connection.set_read_timeout(Some(time)).unwrap();
    patience(Duration::from_secs(5));
    let mut writing = &connection;
    // It may close before all is written.
    let _ = writing.write_all(request);
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(read) = (&connection).read(&mut piece) {
        answer.extend(&piece[..read]);
        if read == 0 {
            break;
        }
        if is_whole(&String::from_utf8_lossy(&answer)) {
            patience(Duration::from_millis(200));
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Whether an answer is there to its end.
fn is_whole(answer: &str) -> bool {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        return false;
    };
    let head = head.to_ascii_lowercase();
    let length = head.split_once("content-length: ");
    let length = length.and_then(|(_, rest)| rest.lines().next()?.parse::<usize>().ok());
    length.is_none_or(|length| body.len() >= length)
}

/// Sends every framing to each of the paths, many at once; gives what came back.
fn send_all(address: SocketAddr) -> Vec<(&'static Framing, (&'static str, &'static str), String)> {
    let all: Vec<_> = FRAMINGS
        .iter()
        .flat_map(|framing| TARGETS.map(|target| (framing, target)))
        .collect();
    let at_once = 24;
    let share = all.len().div_ceil(at_once);
    std::thread::scope(|scope| {
        let threads: Vec<_> = all
            .chunks(share)
            .map(|share| {
                scope.spawn(move || {
                    let send =
                        |(framing, target): &(&'static Framing, (&'static str, &'static str))| {
                            let request = bytes(framing, target.0, target.1);
                            (*framing, *target, exchange(address, &request))
                        };
                    share.iter().map(send).collect::<Vec<_>>()
                })
            })
            .collect();
        let joined = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap());
        joined.collect()
    })
}

/// How many requests for the hidden path have reached the server.
async fn reached(house: &House, behind: bool) -> usize {
    let said: &[_] = match behind {
        true => &[("x-forwarded-proto", "https")],
        false => &[],
    };
    let metrics = house.raw("GET", "/metrics", said, "").await;
    let of_it = format!("wakeful_requests_total{{route=\"{HIDDEN}\"");
    let lines = metrics.text().lines();
    let lines = lines.filter(|line| line.starts_with(&of_it));
    lines
        .map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap())
        .sum()
}

fn ask(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").into_bytes()
}

/// Paths whose handlers read the body, and do not.
const TARGETS: [(&str, &str); 3] = [
    ("POST", "/sign-in"),
    ("GET", "/healthz"),
    ("POST", "/healthz"),
];

#[tokio::test]
async fn no_framing_yields_a_second_request() {
    let (house, _) = House::start().await;
    let address = house.address().rsplit('/').next().unwrap().parse().unwrap();
    let answers = send_all(address);
    assert_eq!(reached(&house, false).await, 0);
    for ((name, taken, ..), (method, path), said) in answers {
        let count = said.matches("HTTP/1.1 ").count();
        assert!(count <= 1, "{name}, {method} {path}: {said}");
        let refused = said.is_empty() || said.starts_with("HTTP/1.1 400");
        match taken {
            Taken::Once => assert!(!refused, "{name}, {method} {path} is refused: {said}"),
            // What does not read the body may have answered before it ends badly.
            Taken::Refused if path == "/sign-in" => {
                assert!(refused, "{name}, {method} {path} is taken: {said}");
            }
            Taken::Refused => {}
        }
    }
    // The count would have shown it.
    exchange(address, &ask(HIDDEN));
    assert_eq!(reached(&house, false).await, 1);
}

#[tokio::test]
async fn no_framing_yields_a_second_request_behind_nginx_or_haproxy() {
    let (certificate, key) = certificate();
    for kind in Kind::ALL {
        let (house, _) = House::start_behind(&["127.0.0.1/32"]).await;
        let front = Front::start(kind, &house.address(), &certificate, &key).await;
        // The way is open, the hidden path is not, and the count would show it.
        let said = exchange(front.bare, &ask("/healthz"));
        assert!(said.starts_with("HTTP/1.1 200"), "{kind:?}: {said}");
        let said = exchange(front.bare, &ask(HIDDEN));
        assert!(said.starts_with("HTTP/1.1 404"), "{kind:?}: {said}");
        assert_eq!(reached(&house, true).await, 0);
        let direct = house.address().rsplit('/').next().unwrap().parse().unwrap();
        exchange(direct, &ask(HIDDEN));
        assert_eq!(reached(&house, true).await, 1);

        let answers = send_all(front.bare);
        let reached = reached(&house, true).await;
        assert_eq!(reached, 1, "{kind:?}: {answers:#?}");
        // What comes next over the same connections gets its own answer, and not
        // one that was left there.
        for _ in 0..20 {
            let said = exchange(front.bare, &ask("/readyz"));
            let ready = said.starts_with("HTTP/1.1 200") && said.ends_with("ready\n");
            assert!(ready, "{kind:?}: {said}");
        }
    }
}
