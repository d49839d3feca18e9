//! Many seeds, on all cores.

use super::{broken::Rule, counts::Counts, failure::Failure, play::play};
use crate::crowd::play_seeds;

/// Steps of one seed, where many are played: what one turn costs grows with
/// what the model has to look through.
pub const STEPS_EACH: u64 = 4_000;

/// Plays seeds from the first on until together they have made so many steps.
pub fn play_many(
    first: u64,
    steps: u64,
    threads: usize,
    rule: Option<Rule>,
) -> Result<Counts, Box<Failure>> {
    let seeds = first..first + steps.div_ceil(STEPS_EACH);
    let play = |seed| play(seed, STEPS_EACH, rule);
    play_seeds(seeds, threads, play, |sum, counts| sum.sum(&counts))
}
