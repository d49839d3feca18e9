//! Many seeds, on as many cores as there are.

use std::{
    ops::Range,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use crate::{
    failure::Failure,
    house::{self, broken::Rule, counts::Counts},
    play::play,
    tally::Tally,
};

/// Steps of one seed, where many are played.
pub const STEPS_EACH: u64 = 20_000;

/// Plays seeds from the first on, each for [`STEPS_EACH`], until together they
/// have made so many steps.
pub fn play_many(first: u64, steps: u64, threads: usize) -> Result<Tally, Box<Failure>> {
    let seeds = first..first + steps.div_ceil(STEPS_EACH);
    let play = |seed| play(seed, STEPS_EACH);
    play_seeds(seeds, threads, play, |sum, tally| sum.add(&tally))
}

/// The same with the engine, each seed for [`house::STEPS_EACH`].
pub fn play_engine(
    first: u64,
    steps: u64,
    threads: usize,
    rule: Option<Rule>,
) -> Result<Counts, Box<house::failure::Failure>> {
    let seeds = first..first + steps.div_ceil(house::STEPS_EACH);
    let play = |seed| house::play::play(seed, house::STEPS_EACH, rule);
    play_seeds(seeds, threads, play, |sum, counts| sum.sum(&counts))
}

/// Plays each seed once and sums up. Of several failures that of the lowest seed
/// is returned.
fn play_seeds<T: Default + Send, E: Send>(
    seeds: Range<u64>,
    threads: usize,
    play: impl Fn(u64) -> Result<T, E> + Sync,
    add: impl Fn(&mut T, T) + Sync,
) -> Result<T, E> {
    let next = AtomicU64::new(seeds.start);
    let sum = Mutex::new((T::default(), None::<(u64, E)>));
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        break;
                    }
                    let played = play(seed);
                    let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
                    match played {
                        Ok(one) => add(&mut sum.0, one),
                        Err(failure) => {
                            // Seeds already begun are played to their end.
                            next.store(seeds.end, Ordering::Relaxed);
                            if sum.1.as_ref().is_none_or(|(lowest, _)| seed < *lowest) {
                                sum.1 = Some((seed, failure));
                            }
                        }
                    }
                }
            });
        }
    });
    let (sum, failure) = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(sum), |(_, failure)| Err(failure))
}
