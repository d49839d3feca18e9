//! Time, as it is handed in: nanoseconds since some moment that stays the same.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

impl Moment {
    pub const SECOND: u64 = 1_000_000_000;

    pub fn plus_seconds(self, seconds: u64) -> Moment {
        Moment(self.0.saturating_add(seconds.saturating_mul(Self::SECOND)))
    }

    /// Whole seconds from an earlier moment to this one, rounded up.
    pub fn seconds_after(self, earlier: Moment) -> u64 {
        self.0.saturating_sub(earlier.0).div_ceil(Self::SECOND)
    }
}
