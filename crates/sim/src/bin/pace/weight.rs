//! What a workspace weighs: a process of its own makes so many of them and
//! says how much it has grown, so that nothing measured before is in the way.

use std::{env, process::Command};

use wacp::gate::config::Highway;

use crate::{clock::resident, work::Work};

/// Fewer weigh less than the pages they are in.
const WEIGHABLE: u32 = 1_000;

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Open,
    Closed,
}

impl Kind {
    pub const ALL: [Kind; 2] = [Kind::Open, Kind::Closed];

    pub fn word(self) -> &'static str {
        match self {
            Kind::Open => "open",
            Kind::Closed => "closed",
        }
    }
}

/// Bytes of each, if they can be weighed.
pub fn of(kind: Kind, count: u32) -> Option<u64> {
    if count < WEIGHABLE {
        return None;
    }
    let mut child = Command::new(env::current_exe().ok()?);
    child.args(["--weigh", kind.word(), &count.to_string()]);
    let said = child.output().ok()?.stdout;
    let grown: u64 = String::from_utf8(said).ok()?.trim().parse().ok()?;
    Some(grown / u64::from(count))
}

/// In the process of its own: by how much it grew.
pub fn grow(kind: Kind, count: u32) -> u64 {
    let mut work = Work::begin(Highway::open());
    let before = resident();
    for _ in 0..count {
        match kind {
            Kind::Open => {
                work.create();
            }
            Kind::Closed => work.live(),
        }
    }
    resident().saturating_sub(before)
}
