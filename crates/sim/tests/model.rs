//! The rules that are most easily got wrong, implemented twice: the real
//! machine and an obviously correct model take the same orders and must stand
//! alike after every one of them.

use sim::model::play::play;

/// Runs of one thread, and steps of each.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=4;
const STEPS: usize = 52_000;

#[test]
fn the_model_and_the_real_one_never_part() {
    let threads: Vec<_> = SEEDS
        .map(|seed| std::thread::spawn(move || play(seed, STEPS)))
        .collect();
    for thread in threads {
        match thread.join().expect("nothing panics") {
            // Orders are neither all nonsense nor all apt.
            Ok(accepted) => assert!(accepted > STEPS / 4 && accepted < STEPS, "{accepted}"),
            Err(parted) => panic!("{parted}"),
        }
    }
}
