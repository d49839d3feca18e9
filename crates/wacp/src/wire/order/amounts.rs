//! What is used, may be used and is expected to be used.

use crate::{
    task::Estimate,
    wire::{Args, Outcome, length::Length},
    workspace::budget::{Budget, Usage},
};

fn length(args: &Args<'_>, key: &'static str) -> Outcome<Option<u64>> {
    Ok(args.maybe(key)?.map(|Length(us)| us))
}

/// Totals so far; what is not named is nothing.
pub fn usage(args: &Args<'_>) -> Outcome<Usage> {
    Ok(Usage {
        context: args.or("context", 0)?,
        cost_micros: args.or("cost", 0)?,
        tokens: args.or("tokens", 0)?,
        trail_bytes: args.or("trail_bytes", 0)?,
        wall_time_us: length(args, "wall_time")?.unwrap_or(0),
    })
}

/// Limits; what is not named has none.
pub fn budget(args: &Args<'_>) -> Outcome<Budget> {
    Ok(Budget {
        bandwidth_limit: args.maybe("network_bytes")?,
        checkpoint_limit: args.maybe("checkpoint_bytes")?,
        compute_timeout_us: length(args, "wall_time")?,
        context_limit: args.maybe("context")?,
        cost_limit_micros: args.maybe("cost")?,
        token_limit: args.maybe("tokens")?,
        trail_limit: args.maybe("trail_bytes")?,
    })
}

pub fn estimate(args: &Args<'_>) -> Outcome<Estimate> {
    Ok(Estimate {
        cost_micros: args.maybe("cost")?,
        tokens: args.maybe("tokens")?,
        wall_time_us: length(args, "wall_time")?,
    })
}
