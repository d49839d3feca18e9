//! The figures, as people and as programs read them.

use std::io::Write;

use anyhow::{Context, Result};
use serde::Serialize;

use super::load::Sample;

/// What another broker reached elsewhere: over plain TCP, with frames of the
/// same size, on a quiet machine of two cores. Not measured in this run.
const ELSEWHERE: [Reference; 2] = [
    Reference {
        relay: "NATS over TCP",
        pairs: 1,
        per_second: 238_000,
    },
    Reference {
        relay: "NATS over TCP",
        pairs: 500,
        per_second: 206_000,
    },
];

#[derive(Debug, Clone, Copy, Serialize)]
struct Reference {
    relay: &'static str,
    pairs: usize,
    per_second: u64,
}

#[derive(Debug, Serialize)]
pub struct Throughput {
    relay: &'static str,
    pairs: usize,
    /// The median of the rounds.
    #[serde(flatten)]
    sample: Sample,
    /// Of each round, in the order in which they were.
    rounds_per_second: Vec<f64>,
}

impl Throughput {
    pub fn new(relay: &'static str, pairs: usize, mut samples: Vec<Sample>) -> Result<Throughput> {
        let rounds_per_second = samples.iter().map(|sample| sample.per_second).collect();
        samples.sort_by(|a, b| a.per_second.total_cmp(&b.per_second));
        let sample = samples.get(samples.len() / 2).context("no round")?.clone();
        Ok(Throughput {
            relay,
            pairs,
            sample,
            rounds_per_second,
        })
    }
}

#[derive(Debug, Serialize)]
pub struct Held {
    pub relay: &'static str,
    pub tls: bool,
    pub connections: usize,
    pub set_ups_per_second: f64,
    pub bytes_each: f64,
}

impl Held {
    pub fn name(&self) -> String {
        let tls = if self.tls { ", TLS" } else { "" };
        format!("{}{tls}", self.relay)
    }
}

#[derive(Debug, Serialize)]
pub struct Report {
    in_flight: usize,
    pub throughput: Vec<Throughput>,
    pub held: Vec<Held>,
    measured_elsewhere: [Reference; 2],
}

impl Report {
    pub fn new(in_flight: usize) -> Report {
        Report {
            in_flight,
            throughput: Vec::new(),
            held: Vec::new(),
            measured_elsewhere: ELSEWHERE,
        }
    }

    pub fn print(&self, out: &mut impl Write) -> Result<()> {
        writeln!(
            out,
            "300-byte packets, {} of each pair on their way; limits raised by configuration\n\n\
             | pairs | relay | relayed/s | of bare | p50 µs | p99 µs | server CPU µs |\n\
             | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
            self.in_flight
        )?;
        for row in &self.throughput {
            let mut all = self.throughput.iter();
            let bare = all.find(|bare| bare.pairs == row.pairs).unwrap_or(row);
            writeln!(
                out,
                "| {} | {} | {:.0} | {:.2} | {:.0} | {:.0} | {:.2} |",
                row.pairs,
                row.relay,
                row.sample.per_second,
                row.sample.per_second / bare.sample.per_second,
                row.sample.p50_us,
                row.sample.p99_us,
                row.sample.server_cpu_us
            )?;
        }
        writeln!(out, "\nmeasured elsewhere, not in this run:")?;
        for Reference {
            relay,
            pairs,
            per_second,
        } in self.measured_elsewhere
        {
            writeln!(out, "{relay} x{pairs}: {per_second}/s")?;
        }
        if !self.held.is_empty() {
            writeln!(
                out,
                "\n| relay | idle connections | bytes each | set-ups/s |\n| --- | ---: | ---: | ---: |"
            )?;
        }
        for row in &self.held {
            writeln!(
                out,
                "| {} | {} | {:.0} | {:.0} |",
                row.name(),
                row.connections,
                row.bytes_each,
                row.set_ups_per_second
            )?;
        }
        Ok(())
    }
}
