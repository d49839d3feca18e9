//! The engine that ships, played with fixed seeds beside its model, and with
//! each of its rules broken.

use std::{collections::BTreeSet, env, process::Command, thread};

use sim::{
    crowd::play_engine,
    house::{
        broken::{self, Rule},
        play::play,
    },
};

const STEPS: u64 = 1_000_000;
/// With `cargo xtask test --full`.
const STEPS_IN_FULL: u64 = 50_000_000;
/// Within so many steps every broken rule is found.
const STEPS_TO_FIND: u64 = 20_000;

/// What must have happened for a play to say anything.
const HAPPENED: &[&str] = &[
    "administer: already_allowed",
    "administer: done",
    "administer: key_revoked",
    "administer: last_owner",
    "administer: person_gone",
    "administer: user_exists",
    "attempt: done",
    "attempt: not_found",
    "callback: owed",
    "deliver: agent_id_mismatch",
    "deliver: done",
    "deliver: idempotency_mismatch",
    "deliver: key_gone",
    "deliver: nobody was told",
    "deliver: rate_limited",
    "deliver: repeated",
    "deliver: unavailable",
    "deliver: webhook_not_allowed",
    "erase: done",
    "erase: person_gone",
    "erase: still_open",
    "erased: by rule",
    "fault: a call fails",
    "fault: a call is done and reported as failed",
    "fault: a commit is slow",
    "fault: a process fails to start",
    "fault: a process is lost while it starts",
    "fault: another call is slow",
    "fault: the clock jumps",
    "fault: the process is lost",
    "replay: done",
    "respond: already_answered",
    "respond: done",
    "respond: held",
    "respond: held_by_another",
    "respond: held_by_you",
    "respond: nobody was told",
    "respond: person_gone",
    "respond: unavailable",
    "retain: asked",
    "see: done",
    "snooze: done",
    "timer: a delivery timed out",
    "timer: a hold became final",
    "undo: done",
    "undo: held_by_another",
    "undo: nothing_held",
];

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[test]
fn a_million_steps_of_the_engine_never_part_from_the_model() {
    let steps = match env::var_os("WAKEFUL_TEST_FULL") {
        Some(_) => STEPS_IN_FULL,
        None => STEPS,
    };
    let counts = match play_engine(1, steps, cores(), None) {
        Ok(counts) => counts,
        Err(failure) => panic!("{failure}"),
    };
    assert!(counts.steps >= steps);
    let happened: BTreeSet<String> = counts.names().collect();
    let missing: Vec<_> = HAPPENED
        .iter()
        .filter(|name| !happened.contains(**name))
        .collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
}

#[test]
fn the_same_seed_gives_the_same_play_of_the_engine() {
    let [one, other] = [(); 2].map(|()| play(7, 3_000, None).ok());
    assert!(one.is_some());
    assert_eq!(one, other);
    assert_ne!(one, play(8, 3_000, None).ok());
}

#[test]
fn every_broken_rule_is_found() {
    let hidden: Vec<_> = Rule::all()
        .filter(|rule| broken::find(*rule, STEPS_TO_FIND).is_none())
        .map(Rule::as_str)
        .collect();
    assert!(hidden.is_empty(), "broken and not found: {hidden:?}");
}

#[test]
fn a_failure_says_how_to_repeat_it() {
    let rule = Rule::named("second-answer").expect("it is one of them");
    let (_, failure) = broken::find(rule, STEPS_TO_FIND).expect("it is found");
    let (seed, steps) = (failure.seed, failure.steps);
    let command =
        format!("cargo xtask sim --engine --seed {seed} --steps {steps} --break second-answer");
    assert!(failure.to_string().contains(&command), "{failure}");
    let again = play(seed, steps, Some(rule)).expect_err("it fails again");
    assert_eq!((again.steps, again.sentence), (steps, failure.sentence));
}

#[test]
fn no_rule_of_the_shipped_program_can_be_broken() {
    let crates_with_breaks = |arguments: &[&str]| {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let tree = Command::new(cargo)
            .args(["tree", "--locked", "--offline", "--edges", "normal,build"])
            .args(["--prefix", "none", "--format", "{p}|{f}"])
            .args(arguments)
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .output()
            .expect("cargo lists what a build is made of");
        let tree = String::from_utf8(tree.stdout).expect("its list is text");
        assert!(tree.contains("engine v"), "no engine: {tree}");
        let features = |line: &str| line.split_once('|').map_or("", |found| found.1).to_owned();
        let breaks = tree.lines().map(features);
        breaks.filter(|names| names.contains("breaks")).count()
    };
    // What `cargo build --release` builds, and what the documents name.
    assert_eq!(crates_with_breaks(&[]), 0);
    assert_eq!(crates_with_breaks(&["-p", "wakeful"]), 0);
    assert_eq!(crates_with_breaks(&["-p", "wakeful", "-p", "bench"]), 0);
    assert!(crates_with_breaks(&["-p", "sim"]) > 0);
}
