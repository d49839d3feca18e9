//! What is used, may be used and is expected to be used.

use wacp::{
    task::Estimate,
    workspace::budget::{Budget, Usage},
};

use super::args::Args;
use crate::Outcome;

impl Args<'_> {
    pub(crate) fn usage(&self) -> Outcome<Usage> {
        Ok(Usage {
            context: self.number("context")?.unwrap_or(0),
            cost_micros: self.number("cost")?.unwrap_or(0),
            tokens: self.number("tokens")?.unwrap_or(0),
            trail_bytes: self.number("trail_bytes")?.unwrap_or(0),
            wall_time_us: self.length("wall_time")?.unwrap_or(0),
        })
    }

    pub(crate) fn budget(&self) -> Outcome<Budget> {
        let Some(args) = self.inner("budget")? else {
            return Ok(Budget::default());
        };
        let budget = Budget {
            bandwidth_limit: args.number("network_bytes")?,
            checkpoint_limit: args.number("checkpoint_bytes")?,
            compute_timeout_us: args.length("wall_time")?,
            context_limit: args.number("context")?,
            cost_limit_micros: args.number("cost")?,
            token_limit: args.number("tokens")?,
            trail_limit: args.number("trail_bytes")?,
        };
        args.all_used()?;
        Ok(budget)
    }

    pub(crate) fn estimate(&self) -> Outcome<Option<Estimate>> {
        let Some(args) = self.inner("resource_estimate")? else {
            return Ok(None);
        };
        let estimate = Estimate {
            cost_micros: args.number("cost")?,
            tokens: args.number("tokens")?,
            wall_time_us: args.length("wall_time")?,
        };
        args.all_used()?;
        Ok(Some(estimate))
    }
}
