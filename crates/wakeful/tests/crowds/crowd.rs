//! Many sockets on which every byte is said by the test.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    time::{Duration, Instant},
};

use crate::harness::{House, way::Socket};

/// Nothing takes longer, unless the server hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// A socket on which this was said.
pub fn saying(house: &House, text: &str) -> Socket {
    let mut socket = house.socket();
    socket.tcp.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(text.as_bytes()).unwrap();
    socket
}

/// So many of them.
pub fn crowd(house: &House, count: usize, text: &str) -> Vec<Socket> {
    (0..count).map(|_| saying(house, text)).collect()
}

/// The head of a request with a body of so many bytes, and nothing of the body.
pub fn promise(path: &str, headers: &str, bytes: usize) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {bytes}\r\n\r\n")
}

/// Whether the other end has closed it; what it said before does not matter.
pub fn is_closed(socket: &mut Socket) -> bool {
    socket.tcp.set_nonblocking(true).unwrap();
    let mut room = [0; 4096];
    loop {
        match socket.read(&mut room) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != ErrorKind::WouldBlock,
        }
    }
}

/// What a new connection is answered to this, and how long that took.
pub fn ask(house: &House, request: &str) -> (String, Duration) {
    let started = Instant::now();
    let mut socket = saying(house, request);
    let mut status = [0; 12];
    let said = match socket.read_exact(&mut status) {
        Ok(()) => String::from_utf8_lossy(&status).into_owned(),
        Err(error) => error.to_string(),
    };
    (said, started.elapsed())
}

/// Kilobytes that a process has in memory.
pub fn resident_kib(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:"));
    let value = line.unwrap().split_whitespace().nth(1);
    value.unwrap().parse().unwrap()
}

/// A server that was told this in its configuration file.
pub async fn configured(settings: &str) -> (House, String) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), settings).unwrap();
    House::start_with(&["--config", file.path().to_str().unwrap()]).await
}
