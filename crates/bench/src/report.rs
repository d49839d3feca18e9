//! What was found: figures per point and store, the machine they hold for, and
//! the file they go to. What they are held against is in `table`.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::load::Sample;
use crate::table::{self, Line};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Act {
    Deliver,
    Cycle,
    Poll,
    Sweep,
}

/// What Wakeful is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Peer {
    Plain,
    /// Another build of Wakeful.
    Other,
}

#[derive(Debug, Serialize)]
pub struct Report {
    pub peer: Peer,
    pub machine: Machine,
    pub began: jiff::Timestamp,
    pub took_seconds: f64,
    pub seconds_per_measurement: f64,
    pub rounds: usize,
    /// Failed requests over all measurements, warm-ups included.
    pub failures: u64,
    pub lines: Vec<Line>,
    pub measured: Vec<Measured>,
    pub started: Vec<Started>,
    /// Of the largest store.
    pub verified: Option<Verified>,
    #[serde(skip)]
    clock: Instant,
}

#[derive(Debug, Serialize)]
pub struct Machine {
    cores: usize,
    cpu: String,
    kernel: String,
    memory_kib: u64,
    load_average_before: String,
    load_average_after: String,
}

/// One point on one store.
#[derive(Debug, Serialize)]
pub struct Measured {
    pub preload: u64,
    pub act: Act,
    pub connections: usize,
    pub peer: Option<Figures>,
    pub wakeful: Option<Figures>,
    /// Inserts a second with as many rows to a commit as there are connections.
    pub raw_per_second: Option<f64>,
    pub raw_rounds: Vec<f64>,
}

/// Medians over the rounds, each of its own.
#[derive(Debug, Default, Serialize)]
pub struct Figures {
    pub per_second: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub server_cpu_us: f64,
    pub rounds: Vec<Sample>,
}

#[derive(Debug, Serialize)]
pub struct Started {
    pub preload: u64,
    pub peer: Vec<Start>,
    pub wakeful: Vec<Start>,
}

#[derive(Debug, Serialize)]
pub struct Start {
    pub start_ms: f64,
    pub idle_rss_kib: u64,
}

#[derive(Debug, Serialize)]
pub struct Verified {
    pub entries: u64,
    /// Entries a second of the log alone.
    pub log_per_second: f64,
    /// Entries a second of the command as people give it: the log, all rows beside
    /// it, and the views made anew and compared.
    pub per_second: f64,
}

impl Act {
    pub fn name(self) -> &'static str {
        match self {
            Act::Deliver => "deliver",
            Act::Cycle => "cycle",
            Act::Poll => "poll",
            Act::Sweep => "sweep",
        }
    }
}

impl Report {
    pub fn new(machine: Machine, measured: Duration, rounds: usize) -> Self {
        Report {
            peer: Peer::Plain,
            machine,
            began: jiff::Timestamp::now(),
            took_seconds: 0.0,
            seconds_per_measurement: measured.as_secs_f64(),
            rounds,
            failures: 0,
            lines: Vec::new(),
            measured: Vec::new(),
            started: Vec::new(),
            verified: None,
            clock: Instant::now(),
        }
    }

    /// Adds up failures and holds the figures against the aims.
    pub fn finish(&mut self) -> Result<()> {
        self.took_seconds = self.clock.elapsed().as_secs_f64();
        self.machine.load_average_after = read("/proc/loadavg")?;
        let sides = |point: &Measured| -> u64 {
            let figures = point.peer.iter().chain(&point.wakeful);
            figures
                .flat_map(|side| &side.rounds)
                .map(|sample| sample.failures)
                .sum()
        };
        self.failures = self.measured.iter().map(sides).sum();
        self.lines = table::lines(self);
        Ok(())
    }

    pub fn write_json(&self, path: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        fs::write(path, text).with_context(|| format!("write {}", path.display()))
    }

    pub fn print(&self, out: &mut impl std::io::Write) -> Result<()> {
        let Machine {
            cores, cpu, kernel, ..
        } = &self.machine;
        writeln!(
            out,
            "{cores} cores, {cpu}, Linux {kernel}; median of {} rounds of {} s",
            self.rounds, self.seconds_per_measurement
        )?;
        let (before, after) = (
            &self.machine.load_average_before,
            &self.machine.load_average_after,
        );
        writeln!(out, "load average {before} before, {after} after")?;
        table::print(out, self.peer, &self.lines)
    }
}

impl Machine {
    pub fn look() -> Result<Self> {
        let field = |text: &str, name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.split_once(':'))
                .map_or(String::new(), |(_, value)| value.trim().to_owned())
        };
        let memory = field(&read("/proc/meminfo")?, "MemTotal");
        Ok(Machine {
            cores: std::thread::available_parallelism()?.get(),
            cpu: field(&read("/proc/cpuinfo")?, "model name"),
            kernel: read("/proc/sys/kernel/osrelease")?,
            memory_kib: memory.trim_end_matches(" kB").parse().unwrap_or_default(),
            load_average_before: read("/proc/loadavg")?,
            load_average_after: String::new(),
        })
    }
}

impl Measured {
    pub fn new(preload: u64, act: Act, connections: usize) -> Self {
        Measured {
            preload,
            act,
            connections,
            peer: None,
            wakeful: None,
            raw_per_second: None,
            raw_rounds: Vec::new(),
        }
    }

    /// Takes the medians once all rounds are in.
    pub fn settle(&mut self) {
        for side in self.peer.iter_mut().chain(&mut self.wakeful) {
            let over = |pick: fn(&Sample) -> f64| median(side.rounds.iter().map(pick));
            (side.per_second, side.p50_us) = (over(|s| s.per_second), over(|s| s.p50_us));
            (side.p99_us, side.server_cpu_us) = (over(|s| s.p99_us), over(|s| s.server_cpu_us));
        }
        self.raw_per_second =
            (!self.raw_rounds.is_empty()).then(|| median(self.raw_rounds.iter().copied()));
    }
}

impl Started {
    pub fn new(preload: u64) -> Self {
        Started {
            preload,
            peer: Vec::new(),
            wakeful: Vec::new(),
        }
    }

    pub fn add(&mut self, name: &str, start: Duration, idle_rss_kib: u64) {
        let side = match name {
            "wakeful" => &mut self.wakeful,
            _ => &mut self.peer,
        };
        side.push(Start {
            start_ms: start.as_secs_f64() * 1e3,
            idle_rss_kib,
        });
    }
}

impl Verified {
    pub fn new(entries: u64, log_seconds: f64, seconds: f64) -> Self {
        Verified {
            entries,
            log_per_second: entries as f64 / log_seconds,
            per_second: entries as f64 / seconds,
        }
    }
}

/// The middle value, or the mean of the middle two; zero of none.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

fn read(path: &str) -> Result<String> {
    let text = fs::read_to_string(path).with_context(|| format!("read {path}"))?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_ignores_the_order_and_the_outlier() {
        assert_eq!(median([9.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 2.0].into_iter()), 3.0);
        assert_eq!(median(std::iter::empty()), 0.0);
    }
}
