//! The table people read: one line per point with both servers, their ratio,
//! the aim and whether it is met. The aims are stated here and nowhere else.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::report::{Figures, Measured, Peer, Report, Start, Started, median};

/// Wakeful's share of the plain server's throughput, from 64 connections on.
const SHARE_MIN: f64 = 0.8;
/// Wakeful's median latency over the plain server's, at one connection.
const P50_MAX: f64 = 1.3;
/// What an operation costs on the largest store over what it costs on the smallest.
const GROWTH_MAX: f64 = 1.2;
/// Throughput over that of another build.
const OTHER_MIN: f64 = 0.97;
const RSS_MAX_MIB: f64 = 40.0;
const START_MAX_MS: f64 = 1000.0;
/// Entries of the log a second, from memory.
const VERIFY_MIN: f64 = 500_000.0;
/// Fewer entries show what starting the program costs, and are not judged.
const VERIFY_ENTRIES: u64 = 100_000;

#[derive(Debug, Serialize)]
pub struct Line {
    pub point: String,
    pub peer: String,
    pub raw: String,
    pub wakeful: String,
    pub ratio: Option<f64>,
    pub aim: String,
    pub met: Option<bool>,
}

pub fn lines(report: &Report) -> Vec<Line> {
    let mut lines: Vec<Line> = {
        let points = report.measured.iter();
        points.map(|point| measured(point, report.peer)).collect()
    };
    lines.extend(growth(&report.measured));
    for started in &report.started {
        lines.push(memory(started));
        lines.push(start(started));
    }
    if let Some(verified) = &report.verified {
        let entries = grouped(verified.entries as f64);
        let is_quick = verified.log_per_second >= VERIFY_MIN;
        lines.push(Line {
            wakeful: format!("{}/s", grouped(verified.log_per_second)),
            aim: format!(">= {}/s", grouped(VERIFY_MIN)),
            met: (verified.entries >= VERIFY_ENTRIES).then_some(is_quick),
            ..Line::of(format!("verify the log, {entries} entries"))
        });
        lines.push(Line {
            wakeful: format!("{}/s", grouped(verified.per_second)),
            ..Line::of(format!("verify everything, {entries} entries"))
        });
    }
    lines
}

fn measured(point: &Measured, peer: Peer) -> Line {
    let store = grouped(point.preload as f64);
    let name = format!(
        "{} x{}, {store} stored",
        point.act.name(),
        point.connections
    );
    let both = point.peer.as_ref().zip(point.wakeful.as_ref());
    let share = both.map(|(peer, wakeful)| wakeful.per_second / peer.per_second);
    let p50 = both.map(|(peer, wakeful)| wakeful.p50_us / peer.p50_us);
    let (ratio, aim, met) = match point.connections {
        _ if peer == Peer::Other => {
            let aim = format!(">= {OTHER_MIN}");
            (share, aim, share.map(|ratio| ratio >= OTHER_MIN))
        }
        1 => {
            let aim = format!("p50 <= {P50_MAX}");
            (p50, aim, p50.map(|ratio| ratio <= P50_MAX))
        }
        64.. => {
            let aim = format!(">= {SHARE_MIN}");
            (share, aim, share.map(|ratio| ratio >= SHARE_MIN))
        }
        _ => (share, String::new(), None),
    };
    Line {
        ratio,
        aim,
        met,
        ..sides(point, name)
    }
}

fn sides(point: &Measured, name: String) -> Line {
    let cell = |side: &Option<Figures>| {
        side.as_ref().map_or(String::new(), |side| {
            let ms = |us: f64| format!("{:.*}", if us < 9950.0 { 2 } else { 1 }, us / 1e3);
            let rate = grouped(side.per_second);
            format!("{rate}/s {} {} ms", ms(side.p50_us), ms(side.p99_us))
        })
    };
    Line {
        peer: cell(&point.peer),
        raw: point
            .raw_per_second
            .map_or(String::new(), |rate| format!("{}/s", grouped(rate))),
        wakeful: cell(&point.wakeful),
        ..Line::of(name)
    }
}

/// What each point costs on the largest store, over its cost on the smallest.
fn growth(measured: &[Measured]) -> Vec<Line> {
    let smallest = measured.iter().map(|point| point.preload).min();
    let largest = measured.iter().map(|point| point.preload).max();
    let (Some(smallest), Some(largest)) = (smallest, largest) else {
        return Vec::new();
    };
    let large = measured.iter().filter(|point| point.preload == largest);
    let pairs = large.filter_map(|large| {
        let small = measured.iter().find(|small| {
            small.preload == smallest
                && small.act == large.act
                && small.connections == large.connections
        })?;
        Some((small, large))
    });
    let line = |(small, large): (&Measured, &Measured)| {
        let alone = large.connections == 1;
        let grown = |small: Option<&Figures>, large: Option<&Figures>| {
            Some(cost(large?, alone) / cost(small?, alone))
        };
        let peer = grown(small.peer.as_ref(), large.peer.as_ref());
        let wakeful = grown(small.wakeful.as_ref(), large.wakeful.as_ref());
        let cell = |times: Option<f64>| times.map_or(String::new(), |times| format!("{times:.2}"));
        Line {
            peer: cell(peer),
            wakeful: cell(wakeful),
            ratio: wakeful,
            aim: format!("<= {GROWTH_MAX}"),
            met: wakeful.map(|times| times <= GROWTH_MAX),
            ..Line::of(format!(
                "{} x{}, cost at {} over {}",
                large.act.name(),
                large.connections,
                grouped(largest as f64),
                grouped(smallest as f64)
            ))
        }
    };
    if smallest == largest {
        return Vec::new();
    }
    pairs.map(line).collect()
}

fn cost(side: &Figures, alone: bool) -> f64 {
    if alone {
        side.p50_us
    } else {
        1.0 / side.per_second
    }
}

fn memory(started: &Started) -> Line {
    let mib = |starts: &[Start]| median(starts.iter().map(|one| one.idle_rss_kib as f64 / 1024.0));
    let name = format!("idle memory, {} stored", grouped(started.preload as f64));
    beside(started, name, "MiB", mib, RSS_MAX_MIB)
}

fn start(started: &Started) -> Line {
    let ms = |starts: &[Start]| median(starts.iter().map(|one| one.start_ms));
    let name = format!("start, {} stored", grouped(started.preload as f64));
    beside(started, name, "ms", ms, START_MAX_MS)
}

fn beside(
    started: &Started,
    name: String,
    unit: &str,
    of: impl Fn(&[Start]) -> f64,
    max: f64,
) -> Line {
    let value = |starts: &[Start]| (!starts.is_empty()).then(|| of(starts));
    let (peer, wakeful) = (value(&started.peer), value(&started.wakeful));
    let cell =
        |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.1} {unit}"));
    Line {
        peer: cell(peer),
        wakeful: cell(wakeful),
        ratio: peer.zip(wakeful).map(|(peer, wakeful)| wakeful / peer),
        aim: format!("< {max} {unit}"),
        met: wakeful.map(|value| value < max),
        ..Line::of(name)
    }
}

impl Line {
    fn of(point: String) -> Self {
        Line {
            point,
            peer: String::new(),
            raw: String::new(),
            wakeful: String::new(),
            ratio: None,
            aim: String::new(),
            met: None,
        }
    }

    fn cells(&self) -> [String; 7] {
        [
            self.point.clone(),
            self.peer.clone(),
            self.raw.clone(),
            self.wakeful.clone(),
            self.ratio
                .map_or(String::new(), |ratio| format!("{ratio:.2}")),
            self.aim.clone(),
            match self.met {
                Some(true) => "yes".into(),
                Some(false) => "NO".into(),
                None => String::new(),
            },
        ]
    }
}

/// Rates are followed by p50 and p99.
pub fn print(out: &mut impl Write, peer: Peer, lines: &[Line]) -> Result<()> {
    let peer = match peer {
        Peer::Plain => "plain",
        Peer::Other => "other",
    };
    let header = ["point", peer, "raw", "wakeful", "ratio", "aim", "met?"].map(String::from);
    let rows: Vec<_> = std::iter::once(header)
        .chain(lines.iter().map(Line::cells))
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    for row in &rows {
        let cells = row.iter().zip(widths).enumerate();
        let padded = cells.map(|(column, (cell, width))| match column {
            1..=4 => format!("{cell:>width$}"),
            _ => format!("{cell:<width$}"),
        });
        let line = padded.collect::<Vec<_>>().join(" | ");
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// A whole number with its thousands set apart.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(grouped(0.4), "0");
        assert_eq!(grouped(999.0), "999");
        assert_eq!(grouped(1_000_000.0), "1,000,000");
    }
}
