//! Many seeds, on all cores.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use super::{broken::Rule, counts::Counts, failure::Failure, play::play};

/// Steps of one seed, where many are played: what one turn costs grows with
/// what the model has to look through.
pub const STEPS_EACH: u64 = 4_000;

/// Plays seeds from the first on until together they have made so many steps.
/// Of several failures the lowest seed is told.
pub fn play_many(
    first: u64,
    steps: u64,
    threads: usize,
    rule: Option<Rule>,
) -> Result<Counts, Box<Failure>> {
    let end = first + steps.div_ceil(STEPS_EACH);
    let next = AtomicU64::new(first);
    let sum = Mutex::new((Counts::default(), None::<Box<Failure>>));
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        break;
                    }
                    let played = play(seed, STEPS_EACH, rule);
                    let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
                    match played {
                        Ok(counts) => sum.0.sum(&counts),
                        Err(failure) => {
                            next.store(end, Ordering::Relaxed);
                            let told = sum.1.get_or_insert_with(|| failure.clone());
                            if failure.seed < told.seed {
                                *told = failure;
                            }
                        }
                    }
                }
            });
        }
    });
    let (counts, failure) = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(counts), Err)
}
