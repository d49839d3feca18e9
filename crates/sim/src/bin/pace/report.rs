//! The table that is printed and the file that is kept.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use serde::Serialize;

/// How often in a second.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pace {
    /// Of the thread's own time.
    pub per_second: f64,
    /// Of the time that passed.
    pub per_second_wall: f64,
}

#[derive(Debug, Serialize)]
pub struct Line {
    pub workspaces: u32,
    /// Orders decided and applied.
    pub decided: Pace,
    /// Entries applied.
    pub replayed: Pace,
    /// Orders decided and applied, of whole lives under supervision.
    pub governed: Pace,
    /// A peer: a map asked and changed once per order.
    pub mapped: Pace,
    /// A peer: the same entries spelled and hashed.
    pub sealed: Pace,
    /// `None` where the run is too small to be weighed.
    pub open_bytes: Option<u64>,
    pub closed_bytes: Option<u64>,
}

#[derive(Debug, Default, Serialize)]
pub struct Report {
    pub lines: Vec<Line>,
}

/// What is aimed at, a second on one core.
const AIM: (f64, f64) = (1_000_000.0, 5_000_000.0);

impl Report {
    pub fn write(&self, path: &Path) -> io::Result<()> {
        fs::write(path, serde_json::to_vec_pretty(self)?)?;
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "in millions a second of one core's own time (of the wall's)\n"
        )?;
        let titles = [
            "workspaces",
            "decided",
            "replayed",
            "governed",
            "map",
            "sealed",
        ];
        let titles = titles.map(|title| format!("{title:>16}"));
        writeln!(out, "{}{:>12}{:>12}", titles.join(""), "B/open", "B/closed")?;
        for line in &self.lines {
            let paces = [
                line.decided,
                line.replayed,
                line.governed,
                line.mapped,
                line.sealed,
            ];
            let cells = paces.map(|pace| {
                let millions = |count: f64| count / 1e6;
                let own = millions(pace.per_second);
                let text = format!("{own:.2} ({:.2})", millions(pace.per_second_wall));
                format!("{text:>16}")
            });
            let bytes = [line.open_bytes, line.closed_bytes].map(|bytes| {
                let text = bytes.map_or("-".to_owned(), |bytes| bytes.to_string());
                format!("{text:>12}")
            });
            let (count, cells, bytes) = (line.workspaces, cells.join(""), bytes.join(""));
            writeln!(out, "{count:>16}{cells}{bytes}")?;
        }
        let (decided, replayed) = AIM;
        writeln!(
            out,
            "{:>16}{:>16.2}{:>16.2}",
            "aim",
            decided / 1e6,
            replayed / 1e6
        )?;
        self.growth(&mut out)
    }

    /// How much dearer the largest run is than the smallest, beside a map,
    /// which grows with the logarithm and with the caches it falls out of.
    fn growth(&self, out: &mut impl io::Write) -> io::Result<()> {
        let (Some(small), Some(large)) = (self.lines.first(), self.lines.last()) else {
            return Ok(());
        };
        let dearer = |pace: fn(&Line) -> Pace| pace(small).per_second / pace(large).per_second;
        writeln!(
            out,
            "\nfrom {} to {} workspaces an order costs {:.1} times as much, an entry {:.1}, an order of a governed life {:.1}, a map {:.1}",
            small.workspaces,
            large.workspaces,
            dearer(|line| line.decided),
            dearer(|line| line.replayed),
            dearer(|line| line.governed),
            dearer(|line| line.mapped),
        )
    }
}
