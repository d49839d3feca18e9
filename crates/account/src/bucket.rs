//! A token bucket in whole numbers: no drift, and it survives a restart.

use serde::{Deserialize, Serialize};
use trail::Micros;

/// So much may be done at once, and it refills at so much an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    pub burst: u32,
    pub per_hour: u32,
}

impl Rate {
    /// WAKE, "Rate Limiting": the table's two rows.
    pub const TEST: Rate = Rate {
        burst: 5,
        per_hour: 20,
    };
    pub const LIVE: Rate = Rate {
        burst: 50,
        per_hour: 500,
    };

    /// Reads `PER_HOUR/BURST`, both at least one.
    pub fn parse(text: &str) -> Option<Rate> {
        let (per_hour, burst) = text.split_once('/')?;
        let rate = Rate {
            burst: burst.parse().ok()?,
            per_hour: per_hour.parse().ok()?,
        };
        rate.lets_something_through().then_some(rate)
    }

    /// With a zero in it, nothing could ever be delivered.
    pub fn lets_something_through(self) -> bool {
        self.burst > 0 && self.per_hour > 0
    }
}

trail::closed! {
    /// The two kinds of keys, as they are named in events and addresses.
    KeyKind {
        Live = "live",
        Test = "test",
    }
}

impl KeyKind {
    pub fn of(test: bool) -> KeyKind {
        if test { KeyKind::Test } else { KeyKind::Live }
    }

    /// The rate that WAKE itself gives such keys.
    pub fn rate(self) -> Rate {
        match self {
            KeyKind::Live => Rate::LIVE,
            KeyKind::Test => Rate::TEST,
        }
    }
}

/// One token in the bucket's unit: then an hour's refill is exact.
const TOKEN: i128 = 3_600_000_000;

/// What is left, and when it was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    pub level: i64,
    pub at: Micros,
}

impl Bucket {
    pub fn full(rate: Rate, now: Micros) -> Bucket {
        Bucket {
            level: full_level(rate),
            at: now,
        }
    }

    /// Takes one token, or says after how many whole seconds one will be there.
    /// A clock that went back refills nothing and takes nothing away.
    pub fn take(self, rate: Rate, now: Micros) -> Result<Bucket, u64> {
        let elapsed = i128::from(now.0.saturating_sub(self.at.0).max(0));
        let refilled = i128::from(self.level) + elapsed * i128::from(rate.per_hour);
        let level = refilled.min(i128::from(full_level(rate)));
        if level < TOKEN {
            // What a second refills, in the bucket's unit; rounded up.
            let a_second = i128::from(rate.per_hour) * i128::from(Micros::SECOND);
            let seconds = (TOKEN - level + a_second - 1).div_euclid(a_second);
            return Err(u64::try_from(seconds).unwrap_or(u64::MAX).max(1));
        }
        let level = i64::try_from(level - TOKEN).unwrap_or(i64::MAX);
        Ok(Bucket {
            level,
            at: now.max(self.at),
        })
    }
}

fn full_level(rate: Rate) -> i64 {
    i64::try_from(i128::from(rate.burst) * TOKEN).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_live_key_has_a_burst_of_50_and_then_one_every_7_2_seconds() {
        let mut bucket = Bucket::full(Rate::LIVE, Micros(0));
        for _ in 0..50 {
            bucket = bucket.take(Rate::LIVE, Micros(0)).unwrap();
        }
        assert_eq!(bucket.take(Rate::LIVE, Micros(0)), Err(8));
        assert_eq!(bucket.take(Rate::LIVE, Micros(7_199_999)), Err(1));
        assert!(bucket.take(Rate::LIVE, Micros(7_200_000)).is_ok());
    }

    #[test]
    fn a_test_key_has_a_burst_of_5_and_20_an_hour() {
        let mut bucket = Bucket::full(Rate::TEST, Micros(0));
        for _ in 0..5 {
            bucket = bucket.take(Rate::TEST, Micros(0)).unwrap();
        }
        assert_eq!(bucket.take(Rate::TEST, Micros(0)), Err(180));
        assert!(bucket.take(Rate::TEST, Micros(180_000_000)).is_ok());
    }

    #[test]
    fn a_clock_that_goes_back_gives_nothing() {
        let bucket = Bucket {
            level: 0,
            at: Micros(10_000_000_000),
        };
        assert!(bucket.take(Rate::LIVE, Micros(0)).is_err());
    }

    proptest! {
        #[test]
        fn waiting_as_long_as_told_is_enough(per_hour in 1u32..1_000_000, burst in 1u32..1000, start in 0i64..1_000_000_000_000) {
            let rate = Rate { burst, per_hour };
            let empty = Bucket { level: 0, at: Micros(start) };
            let seconds = empty.take(rate, Micros(start)).unwrap_err();
            prop_assert!(empty.take(rate, Micros(start).plus_seconds(seconds as i64)).is_ok());
        }

        #[test]
        fn never_more_than_burst_plus_refill(gaps in prop::collection::vec(0i64..60_000_000, 1..300)) {
            let mut bucket = Bucket::full(Rate::LIVE, Micros(0));
            let (mut now, mut taken) = (0, 0i64);
            for gap in gaps {
                now += gap;
                if let Ok(next) = bucket.take(Rate::LIVE, Micros(now)) {
                    bucket = next;
                    taken += 1;
                }
            }
            prop_assert!(taken <= 50 + now * 500 / 3_600_000_000 + 1);
        }
    }
}
