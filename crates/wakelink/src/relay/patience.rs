//! What one connection may get wrong, and for how long: pings that it does not
//! answer, frames that are none.

use crate::relay::{Ending, Limits, Moment};

#[derive(Clone, Copy, Debug)]
pub struct Patience {
    bad: u32,
    missed: u32,
    asked: bool,
    next_ping: Moment,
}

/// What to do when the time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    Nothing,
    Ping,
    End(Ending),
}

impl Patience {
    pub fn new(limits: &Limits, now: Moment) -> Patience {
        Patience {
            bad: 0,
            missed: 0,
            asked: false,
            next_ping: now.plus_seconds(limits.ping_seconds),
        }
    }

    /// When to ask what to do.
    pub fn next(&self) -> Moment {
        self.next_ping
    }

    pub fn tick(&mut self, limits: &Limits, now: Moment) -> Tick {
        if now < self.next_ping {
            return Tick::Nothing;
        }
        if self.asked {
            self.missed += 1;
            if self.missed >= limits.missed_pings {
                return Tick::End(Ending::MissedPings);
            }
        }
        self.asked = true;
        self.next_ping = now.plus_seconds(limits.ping_seconds);
        Tick::Ping
    }

    pub fn pong(&mut self) {
        self.asked = false;
        self.missed = 0;
        self.bad = 0;
    }

    /// A frame that could be taken.
    pub fn good(&mut self) {
        self.bad = 0;
    }

    /// One that could not.
    pub fn bad(&mut self, limits: &Limits) -> Option<Ending> {
        self.bad += 1;
        (self.bad >= limits.bad_frames).then_some(Ending::BadFrames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::default().plus_seconds(seconds)
    }

    #[test]
    fn two_pings_in_a_row_without_a_pong_end_it() {
        let limits = Limits::default();
        let mut patience = Patience::new(&limits, at(0));
        assert_eq!(patience.tick(&limits, at(29)), Tick::Nothing);
        assert_eq!(patience.tick(&limits, at(30)), Tick::Ping);
        assert_eq!(patience.tick(&limits, at(60)), Tick::Ping);
        patience.pong();
        assert_eq!(patience.tick(&limits, at(90)), Tick::Ping);
        assert_eq!(patience.tick(&limits, at(120)), Tick::Ping);
        let end = Tick::End(Ending::MissedPings);
        assert_eq!(patience.tick(&limits, at(150)), end);
    }

    #[test]
    fn ten_malformed_frames_in_a_row_end_it_and_a_good_one_starts_anew() {
        let limits = Limits::default();
        let mut patience = Patience::new(&limits, at(0));
        for round in [Patience::good, Patience::pong] {
            for _ in 0..9 {
                assert_eq!(patience.bad(&limits), None);
            }
            round(&mut patience);
        }
        for _ in 0..9 {
            assert_eq!(patience.bad(&limits), None);
        }
        assert_eq!(patience.bad(&limits), Some(Ending::BadFrames));
    }
}
