//! How much a workspace may use, in seven measures, and how much it has used.
//!
//! A child's limits are carved out of its parent's: what is promised to a child
//! is not the parent's to spend (WACP §5.4, §6.5). `used` counts the whole
//! subtree, `reserved` what living children may still use.

use serde::{Deserialize, Serialize};

use super::LARGEST;
use crate::{command::Principal, rejection::Refusal};

trail::closed! {
    /// What is limited (WACP §6.6).
    Dimension {
        Tokens,
        WallTime,
        Context,
        CheckpointBytes,
        TrailBytes,
        NetworkBytes,
        Cost,
    }
}

impl Dimension {
    /// Whether consumption adds up over a subtree. A context window and the
    /// clock on the wall are each workspace's own.
    pub fn is_shared(self) -> bool {
        !matches!(self, Dimension::Context | Dimension::WallTime)
    }
}

/// One number per dimension.
pub type Amounts = [u64; 7];

/// Limits; `None` is no limit. Wall time is in microseconds, cost in
/// millionths of the deployment's unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    pub bandwidth_limit: Option<u64>,
    pub checkpoint_limit: Option<u64>,
    pub compute_timeout_us: Option<u64>,
    pub context_limit: Option<u64>,
    pub cost_limit_micros: Option<u64>,
    pub token_limit: Option<u64>,
    pub trail_limit: Option<u64>,
}

impl Budget {
    pub fn limit(&self, dimension: Dimension) -> Option<u64> {
        match dimension {
            Dimension::Tokens => self.token_limit,
            Dimension::WallTime => self.compute_timeout_us,
            Dimension::Context => self.context_limit,
            Dimension::CheckpointBytes => self.checkpoint_limit,
            Dimension::TrailBytes => self.trail_limit,
            Dimension::NetworkBytes => self.bandwidth_limit,
            Dimension::Cost => self.cost_limit_micros,
        }
    }

    pub fn limit_mut(&mut self, dimension: Dimension) -> &mut Option<u64> {
        match dimension {
            Dimension::Tokens => &mut self.token_limit,
            Dimension::WallTime => &mut self.compute_timeout_us,
            Dimension::Context => &mut self.context_limit,
            Dimension::CheckpointBytes => &mut self.checkpoint_limit,
            Dimension::TrailBytes => &mut self.trail_limit,
            Dimension::NetworkBytes => &mut self.bandwidth_limit,
            Dimension::Cost => &mut self.cost_limit_micros,
        }
    }

    /// Whether every limit can be written.
    pub fn is_valid(&self) -> bool {
        let limits = Dimension::ALL.map(|dimension| self.limit(dimension));
        limits.into_iter().flatten().all(|limit| limit <= LARGEST)
    }

    pub fn is_unlimited(&self) -> bool {
        *self == Budget::default()
    }
}

/// What is said to have been consumed: by an agent or a meter what only they
/// know, by the runtime what it has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub context: u64,
    pub cost_micros: u64,
    pub tokens: u64,
    /// Bytes on the trail, which the runtime writes and so counts.
    pub trail_bytes: u64,
    /// As an agent tells it with a checkpoint; the runtime has its own clock.
    pub wall_time_us: u64,
}

impl Usage {
    /// Whether it names only what its teller can know of totals.
    pub fn is_known_to(&self, teller: Principal) -> bool {
        self.is_valid()
            && self.wall_time_us == 0
            && (self.trail_bytes == 0 || teller == Principal::Runtime)
    }

    /// Whether every amount can be written.
    pub fn is_valid(&self) -> bool {
        let Usage {
            context,
            cost_micros,
            tokens,
            trail_bytes,
            wall_time_us,
        } = *self;
        let amounts = [context, cost_micros, tokens, trail_bytes, wall_time_us];
        amounts.into_iter().all(|amount| amount <= LARGEST)
    }

    pub fn amount(&self, dimension: Dimension) -> u64 {
        match dimension {
            Dimension::Tokens => self.tokens,
            Dimension::Context => self.context,
            Dimension::Cost => self.cost_micros,
            Dimension::TrailBytes => self.trail_bytes,
            _ => 0,
        }
    }

    /// The larger of each: totals only grow.
    pub fn max(self, other: Usage) -> Usage {
        Usage {
            context: self.context.max(other.context),
            cost_micros: self.cost_micros.max(other.cost_micros),
            tokens: self.tokens.max(other.tokens),
            trail_bytes: self.trail_bytes.max(other.trail_bytes),
            wall_time_us: self.wall_time_us.max(other.wall_time_us),
        }
    }
}

/// Consumption against the limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meter {
    pub limits: Budget,
    /// By this workspace itself.
    pub own: Amounts,
    /// By it and everything beneath it.
    pub used: Amounts,
    /// Promised to living children and not yet used by them.
    pub reserved: Amounts,
    /// A bit for each dimension that has had its warning.
    pub warned: u8,
}

impl Meter {
    pub fn new(limits: Budget) -> Meter {
        Meter {
            limits,
            ..Meter::default()
        }
    }

    /// What was measured of this workspace itself and not written yet.
    pub fn unwritten(&self, dimension: Dimension, measured: &Usage) -> u64 {
        let measured = measured.amount(dimension);
        measured.saturating_sub(self.own[dimension as usize])
    }

    /// What is left to give away, with what was measured and not written yet.
    pub fn remaining(&self, dimension: Dimension, measured: &Usage) -> Option<u64> {
        let at = dimension as usize;
        let limit = self.limits.limit(dimension)?;
        let used = self.used[at].saturating_add(self.unwritten(dimension, measured));
        Some(limit.saturating_sub(used.saturating_add(self.reserved[at])))
    }

    pub fn is_warned(&self, dimension: Dimension) -> bool {
        self.warned & (1 << dimension as u8) != 0
    }

    /// Whether all of the limit is used.
    pub fn is_used_up(&self, dimension: Dimension) -> bool {
        let used = self.used[dimension as usize];
        let limit = self.limits.limit(dimension);
        limit.is_some_and(|limit| used >= limit)
    }

    /// Whether `more` of its own reaches the limit, or what is promised to
    /// children.
    pub fn is_exceeded(&self, dimension: Dimension, more: u64) -> bool {
        let at = dimension as usize;
        let used = self.used[at].saturating_add(more);
        self.limits
            .limit(dimension)
            .is_some_and(|limit| used >= limit || used.saturating_add(self.reserved[at]) > limit)
    }

    /// Whether `used` after `more` passes the warning threshold for the first time.
    pub fn is_near(&self, dimension: Dimension, more: u64, percent: u8) -> bool {
        let used = self.used[dimension as usize].saturating_add(more);
        let near = |limit: u64| u128::from(used) * 100 >= u128::from(limit) * u128::from(percent);
        !self.is_warned(dimension) && self.limits.limit(dimension).is_some_and(near)
    }

    /// Whether a child with these limits fits into what is left (§5.4) after
    /// `wall_us` on the clock.
    pub fn admits(&self, child: &Budget, wall_us: u64, measured: &Usage) -> Result<(), Refusal> {
        for dimension in Dimension::ALL {
            let Some(own) = self.limits.limit(dimension) else {
                continue;
            };
            let room = match dimension {
                Dimension::WallTime => own.saturating_sub(wall_us),
                Dimension::Context => own,
                _ => self.remaining(dimension, measured).unwrap_or(own),
            };
            match child.limit(dimension) {
                Some(wanted) if wanted <= room => {}
                _ => return Err(Refusal::BudgetNotContained(dimension)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(limit: u64) -> Meter {
        Meter::new(Budget {
            token_limit: Some(limit),
            ..Budget::default()
        })
    }

    #[test]
    fn the_warning_comes_at_the_threshold_and_the_stop_at_the_limit() {
        let meter = tokens(100);
        for (more, near, stop) in [
            (0, false, false),
            (79, false, false),
            (80, true, false),
            (99, true, false),
            (100, true, true),
            (101, true, true),
        ] {
            assert_eq!(meter.is_near(Dimension::Tokens, more, 80), near, "{more}");
            assert_eq!(meter.is_exceeded(Dimension::Tokens, more), stop, "{more}");
        }
        assert!(!meter.is_exceeded(Dimension::Cost, u64::MAX));
    }

    #[test]
    fn a_child_gets_no_more_than_is_left_and_never_no_limit() {
        let mut meter = tokens(100);
        meter.used[0] = 30;
        meter.reserved[0] = 30;
        let child = |limit| Budget {
            token_limit: limit,
            ..Budget::default()
        };
        let admits = |meter: &Meter, limit| meter.admits(&child(limit), 0, &Usage::default());
        assert_eq!(admits(&meter, Some(40)), Ok(()));
        assert!(admits(&meter, Some(41)).is_err());
        assert!(admits(&meter, None).is_err());
        assert_eq!(admits(&Meter::default(), None), Ok(()));
    }
}
