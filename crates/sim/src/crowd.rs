//! Many seeds, on as many cores as there are.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use crate::{failure::Failure, play::play, tally::Tally};

/// Steps of one seed, where many are played.
pub const STEPS_EACH: u64 = 20_000;

/// Plays seeds from the first on, each for [`STEPS_EACH`], until together they
/// have made so many steps. Of several failures the lowest seed is told.
pub fn play_many(first: u64, steps: u64, threads: usize) -> Result<Tally, Box<Failure>> {
    let end = first + steps.div_ceil(STEPS_EACH);
    let next = AtomicU64::new(first);
    let sum = Mutex::new((Tally::default(), None::<Box<Failure>>));
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        break;
                    }
                    let played = play(seed, STEPS_EACH);
                    let mut sum = sum.lock().unwrap_or_else(|broken| broken.into_inner());
                    match played {
                        Ok(tally) => sum.0.add(&tally),
                        Err(failure) => {
                            // Seeds already begun are played to their end.
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
    let (tally, failure) = sum
        .into_inner()
        .unwrap_or_else(|broken| broken.into_inner());
    failure.map_or(Ok(tally), Err)
}
