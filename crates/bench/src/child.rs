//! A server as a child process: started, waited for, looked at through /proc,
//! stopped with SIGTERM. Both servers are handled by this and by nothing else.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

const READY_WITHIN: Duration = Duration::from_secs(120);
const STOPPED_WITHIN: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// A process of which figures can be read.
#[derive(Debug, Clone, Copy)]
pub struct Process(u32);

#[derive(Debug)]
pub struct Running {
    child: Child,
    pub addr: SocketAddr,
    /// From exec to the first 200 of /readyz.
    pub start: Duration,
}

/// A loopback address nobody listens on at this moment.
pub fn free_addr() -> Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

impl Running {
    /// Runs `command`, which listens on `addr`, and waits until it is ready.
    pub fn start(command: &mut Command, addr: SocketAddr, log: &Path) -> Result<Self> {
        Running::start_until(ready, command, addr, log)
    }

    /// The same for one that speaks TLS: it is ready when it listens.
    pub fn start_listening(command: &mut Command, addr: SocketAddr, log: &Path) -> Result<Self> {
        let listens = |addr| TcpStream::connect(addr).is_ok();
        Running::start_until(listens, command, addr, log)
    }

    fn start_until(
        ready: impl Fn(SocketAddr) -> bool,
        command: &mut Command,
        addr: SocketAddr,
        log: &Path,
    ) -> Result<Self> {
        let out = File::create(log)?;
        let began = Instant::now();
        let child = command
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .spawn()
            .with_context(|| format!("start {command:?}"))?;
        let mut running = Running {
            child,
            addr,
            start: Duration::ZERO,
        };
        while !ready(addr) {
            if running.child.try_wait()?.is_some() || began.elapsed() > READY_WITHIN {
                bail!("{command:?} did not become ready:\n{}", tail(log));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        running.start = began.elapsed();
        Ok(running)
    }

    pub fn process(&self) -> Process {
        Process(self.child.id())
    }

    pub fn stop(mut self) -> Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.context("a child has a pid")?, Signal::TERM)?;
        let asked = Instant::now();
        while asked.elapsed() < STOPPED_WITHIN {
            if let Some(status) = self.child.try_wait()? {
                if !status.success() {
                    bail!("the server on {} ended with {status}", self.addr);
                }
                return Ok(());
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        bail!("the server on {} ignores SIGTERM", self.addr)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Already ended after `stop`; otherwise an error is on its way out.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    pub fn rss_kib(self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0))?;
        status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next())
            .and_then(|kib| kib.parse().ok())
            .context("VmRSS in /proc")
    }

    /// User and system time so far.
    pub fn cpu(self) -> Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0))?;
        // Fields 14 and 15; the second is a name in parentheses that may hold spaces.
        let after_name = stat.rsplit_once(')').context("a name in /proc/PID/stat")?.1;
        let ticks: u64 = after_name
            .split_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse::<u64>().ok())
            .sum();
        // Linux shows times in hundredths of a second whatever its own tick is.
        Ok(Duration::from_millis(ticks * 10))
    }
}

fn ready(addr: SocketAddr) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(addr)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        write!(
            stream,
            "GET /readyz HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n"
        )?;
        let mut status = [0; 12];
        stream.read_exact(&mut status)?;
        Ok(&status == b"HTTP/1.1 200")
    };
    ask().unwrap_or(false)
}

fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
