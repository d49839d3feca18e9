//! The play that every change must survive: fixed seeds, a million steps.

use std::thread;

use sim::{crowd::play_many, play::play};

#[test]
fn a_million_steps_go_wrong_nowhere_and_meet_everything() {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let tally = match play_many(1, 1_000_000, cores) {
        Ok(tally) => tally,
        Err(failure) => panic!("{failure}"),
    };
    assert!(tally.steps >= 1_000_000);
    let gaps = tally.gaps();
    assert!(gaps.is_empty(), "never seen: {gaps:?}");
    let accepted = tally.accepted_percent();
    assert!(
        accepted >= 40,
        "only {accepted} % of the orders were accepted"
    );
}

#[test]
fn the_same_seed_gives_the_same_play() {
    let [one, other] = [(); 2].map(|()| play(7, 6_000).map(|tally| tally.table()));
    assert_eq!(one.ok(), other.ok());
    assert_ne!(
        play(7, 6_000).ok().map(|tally| tally.table()),
        play(8, 6_000).ok().map(|tally| tally.table())
    );
}
