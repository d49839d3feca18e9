//! How long to wait before the next attempt to connect: longer each time, and
//! never all at once, so that a server that comes back is not run over.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    /// The most that the next wait may be.
    ceiling: Duration,
}

impl Backoff {
    pub fn new(first: Duration, longest: Duration) -> Backoff {
        Backoff {
            first,
            longest,
            ceiling: first,
        }
    }

    /// The next wait: between a quarter of the ceiling and the whole of it.
    pub fn next(&mut self, random: u32) -> Duration {
        let quarter = self.ceiling / 4;
        let share = f64::from(random) / f64::from(u32::MAX);
        let wait = quarter + (self.ceiling - quarter).mul_f64(share);
        self.ceiling = (self.ceiling * 2).min(self.longest);
        wait
    }

    /// After a connection that was good.
    pub fn reset(&mut self) {
        self.ceiling = self.first;
    }
}

/// From one second to one minute.
impl Default for Backoff {
    fn default() -> Backoff {
        Backoff::new(Duration::from_secs(1), Duration::from_secs(60))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_limit_and_are_spread() {
        let seconds = |random| {
            let mut backoff = Backoff::default();
            let waits = std::iter::repeat_with(move || backoff.next(random));
            waits.take(8).map(|wait| wait.as_secs_f64())
        };
        let longest: Vec<f64> = seconds(u32::MAX).collect();
        assert_eq!(longest, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]);
        let shortest: Vec<f64> = seconds(0).collect();
        assert_eq!(shortest, [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0]);
    }

    #[test]
    fn a_good_connection_starts_it_over() {
        let mut backoff = Backoff::default();
        for _ in 0..20 {
            backoff.next(7);
        }
        backoff.reset();
        assert_eq!(backoff, Backoff::default());
    }
}
