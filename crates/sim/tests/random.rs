//! Random orders from everyone: whatever happens, replay gives the same run,
//! and what must hold of a run holds.

use sim::{check::standing::stands, dice::Dice, player::Player, setup};
use trail::Micros;
use wacp::{Command, Entry, Order, Principal, Refusal, Run, apply, step};

fn play(seed: u64, steps: usize) -> (Run, Vec<Entry>) {
    let mut dice = Dice::new(seed);
    let (mut run, mut entries) = (Run::default(), Vec::new());
    let mut now = Micros(1_000_000_000);
    let mut begin = setup::beginning(&mut dice);
    begin.reverse();
    for at in 0..steps {
        let is_due = run.next_deadline().is_some_and(|due| due <= now);
        let order = if is_due {
            Order::new(Principal::Runtime, Command::Tick)
        } else if let Some(order) = begin.pop() {
            order
        } else {
            let (run, dice) = (&run, &mut dice);
            Player { run, dice }.order()
        };
        let (made, refusal) = step(&mut run, &order, now);
        assert_ne!(refusal, Some(Refusal::DueFirst), "seed {seed} step {at}");
        entries.extend(made);
        if let Err(wrong) = stands(&run) {
            panic!("seed {seed} step {at}: {wrong} after {order:?}");
        }
        now = Micros(now.0.max(run.clock.0) + dice.roll(4_000_000) as i64);
        if run.setup.is_some() && !run.is_running() {
            break;
        }
    }
    (run, entries)
}

#[test]
fn replay_gives_the_live_run_whatever_happens() {
    for seed in 1..=40 {
        let (run, entries) = play(seed, 1500);
        let mut replayed = Run::default();
        for entry in &entries {
            apply(&mut replayed, entry);
        }
        assert!(replayed == run, "seed {seed}");
    }
}

#[test]
fn the_same_seed_gives_the_same_trail() {
    assert_eq!(play(7, 800).1, play(7, 800).1);
}
