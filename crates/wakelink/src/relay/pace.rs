//! How fast one may speak. What comes faster is not refused: it is read later,
//! and so the one who sends it has to wait.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::relay::Moment;

/// So much at once, and then so much a second.
#[derive(Clone, Copy, Debug)]
struct Rate {
    /// Nanoseconds that one costs.
    each: u64,
    /// Nanoseconds that may be owed.
    at_once: u64,
}

impl Rate {
    fn new(per_second: u32, at_once: u32) -> Rate {
        let each = Moment::SECOND / u64::from(per_second.max(1));
        Rate {
            each,
            at_once: each.saturating_mul(u64::from(at_once.max(1))),
        }
    }

    /// Until when everything is paid, with one more.
    fn one_more(self, paid_at: u64, now: Moment) -> u64 {
        paid_at.max(now.0).saturating_add(self.each)
    }

    /// When to go on, if not now.
    fn wait(self, paid_at: u64, now: Moment) -> Option<Moment> {
        let from = Moment(paid_at.saturating_sub(self.at_once));
        (from > now).then_some(from)
    }
}

/// Of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    rate: Rate,
    paid_at: u64,
}

impl Pace {
    pub fn new(per_second: u32, at_once: u32) -> Pace {
        Pace {
            rate: Rate::new(per_second, at_once),
            paid_at: 0,
        }
    }

    /// Counts one; gives the moment to go on at, if that is not now.
    pub fn note(&mut self, now: Moment) -> Option<Moment> {
        self.paid_at = self.rate.one_more(self.paid_at, now);
        self.rate.wait(self.paid_at, now)
    }
}

/// Of many connections together, without a lock.
#[derive(Debug)]
pub struct SharedPace {
    rate: Rate,
    paid_at: AtomicU64,
}

impl SharedPace {
    pub fn new(per_second: u32, at_once: u32) -> SharedPace {
        SharedPace {
            rate: Rate::new(per_second, at_once),
            paid_at: AtomicU64::new(0),
        }
    }

    pub fn note(&self, now: Moment) -> Option<Moment> {
        let more = |paid_at| Some(self.rate.one_more(paid_at, now));
        let before = self
            .paid_at
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        let (Ok(before) | Err(before)) = before;
        self.rate.wait(self.rate.one_more(before, now), now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Moment = Moment(7 * Moment::SECOND);

    #[test]
    fn so_many_pass_at_once_and_then_one_at_a_time() {
        let mut pace = Pace::new(10, 3);
        for _ in 0..3 {
            assert_eq!(pace.note(START), None);
        }
        let tenth = Moment::SECOND / 10;
        assert_eq!(pace.note(START), Some(Moment(START.0 + tenth)));
        assert_eq!(
            pace.note(Moment(START.0 + tenth)),
            Some(Moment(START.0 + 2 * tenth))
        );
        // A second without a word, and all of it is there again.
        let later = START.plus_seconds(2);
        assert_eq!(pace.note(later), None);
    }

    #[test]
    fn together_they_have_what_one_would_have() {
        let (mut alone, together) = (Pace::new(100, 5), SharedPace::new(100, 5));
        for n in 0..200 {
            let now = Moment(START.0 + n * 3_000_000);
            assert_eq!(together.note(now), alone.note(now));
        }
    }
}
