//! The one place where time enters.
//!
//! Everything that waits (holds, time-outs, callbacks, rates, sessions) waits
//! until a moment that was computed from the time of an entry. If the machine's
//! clock is set back by an hour, a hold of thirty seconds would last an hour and
//! thirty seconds. So our clock never goes back: it shows the machine's time,
//! and when that falls behind, goes on at the pace of the steady clock, which
//! nobody can set. Nothing ends late, and entries keep their order.
//!
//! The price: after the machine's clock was ahead and was set back, our time
//! stays ahead by as much, for the log cannot go back either. A clock that is
//! set forward is followed at once. After a restart it goes on from the last
//! entry, if the machine's clock is behind that; the time in between, which
//! nobody measured, is then not counted.
//!
//! What others compare with their own clocks takes [`Clock::wall`].

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::{Instant, SystemTime},
};

use trail::Micros;

use crate::breaks::{self, Break};

/// Further ahead of the machine's clock than this is worth a warning.
const AHEAD_SECONDS: i64 = 60;

/// Tells the time; a test may bring its own.
#[derive(Clone)]
pub struct Clock(Arc<Sources>);

struct Sources {
    wall: Source,
    steady: Source,
    /// The most that the machine's clock was ahead of the steady one. It only
    /// grows and the steady clock only rises, so their sum does too.
    ahead_of_steady: AtomicI64,
    warned: AtomicBool,
}

type Source = Box<dyn Fn() -> Micros + Send + Sync>;

impl Clock {
    pub fn system() -> Clock {
        let began = Instant::now();
        let wall = || {
            let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let micros = since_1970.map(|elapsed| elapsed.as_micros()).unwrap_or(0);
            Micros(i64::try_from(micros).unwrap_or(i64::MAX))
        };
        let steady = move || Micros(i64::try_from(began.elapsed().as_micros()).unwrap_or(i64::MAX));
        Clock::of(wall, steady)
    }

    /// A clock on which time passes only when `wall` says so.
    pub fn new(wall: impl Fn() -> Micros + Send + Sync + 'static) -> Clock {
        Clock::of(wall, || Micros(0))
    }

    /// A clock that may be set, and one that only ever rises.
    pub fn of(
        wall: impl Fn() -> Micros + Send + Sync + 'static,
        steady: impl Fn() -> Micros + Send + Sync + 'static,
    ) -> Clock {
        Clock(Arc::new(Sources {
            wall: Box::new(wall),
            steady: Box::new(steady),
            ahead_of_steady: AtomicI64::new(i64::MIN),
            warned: AtomicBool::new(false),
        }))
    }

    /// Our time. It never goes back.
    pub fn now(&self) -> Micros {
        if breaks::is_on(Break::ClockGoesBack) {
            return self.wall();
        }
        self.not_before(self.wall())
    }

    /// The machine's own time, for whoever compares it with their own.
    pub fn wall(&self) -> Micros {
        (self.0.wall)()
    }

    /// Our time, which from now on is not before `moment`.
    fn not_before(&self, moment: Micros) -> Micros {
        let steady = (self.0.steady)().0;
        let ahead = moment.0.saturating_sub(steady);
        // It seldom grows, and every request asks: what is only read, no
        // processor takes from another.
        let mut most = self.0.ahead_of_steady.load(Ordering::SeqCst);
        if ahead > most {
            let before = self.0.ahead_of_steady.fetch_max(ahead, Ordering::SeqCst);
            most = before.max(ahead);
        }
        Micros(steady.saturating_add(most))
    }

    /// Goes on from the last entry of a log, if the machine's clock is behind it.
    pub(crate) fn resume(&self, last: Micros) {
        self.not_before(last);
        self.warn_if_ahead();
    }

    /// Says once that the machine's clock was set back.
    pub(crate) fn warn_if_ahead(&self) {
        let seconds = (self.now().0 - self.wall().0) / Micros::SECOND;
        if seconds > AHEAD_SECONDS && !self.0.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                seconds,
                "the machine's clock is behind the log; entries are dated ahead of it by as much"
            );
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_wavers_does_not_make_ours_run_away() {
        let [wall, steady] = [1_000_000_000, 0].map(|at| Arc::new(AtomicI64::new(at)));
        let read = |clock: &Arc<AtomicI64>| {
            let clock = Arc::clone(clock);
            move || Micros(clock.load(Ordering::SeqCst))
        };
        let clock = Clock::of(read(&wall), read(&steady));
        let mut last = clock.now();
        for step in 0..10_000 {
            let passes = 1000;
            steady.fetch_add(passes, Ordering::SeqCst);
            let waver = if step % 2 == 0 { 700_000 } else { -700_000 };
            wall.fetch_add(passes + waver, Ordering::SeqCst);
            let now = clock.now();
            assert!(now > last, "{now:?} is not after {last:?}");
            last = now;
            assert!(now.0 - clock.wall().0 <= 700_000);
        }
    }
}
