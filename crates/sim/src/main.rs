//! `sim [--seed N] [--steps M]`: plays one seed, or many until they have made
//! so many steps, and prints what happened how often. With `--model` the real
//! machine is held against the model of it instead, with `--engine` the engine
//! that ships is played, and with `--break` one of its rules is broken first.

use std::{
    env,
    fmt::Display,
    io::{self, Write as _},
    process::ExitCode,
    thread,
    time::Instant,
};

use sim::{
    crowd::{self, play_many},
    house::{
        self,
        broken::{self, Rule},
    },
    model,
    play::play,
};

const USAGE: &str =
    "usage: sim [--model | --engine] [--break NAME] [--seed N] [--steps M] [--from N] [--threads T]

  --model      hold the machine against the model of it, order by order
  --engine     play the engine that ships, with WAKE, inbox and accounts
  --break NAME break this rule of the engine and find that out; without --seed, within M steps
  --seed N     play this seed alone
  --steps M    so many orders in all (1000000)
  --from N     the first of many seeds (1)
  --threads T  how many at once (one for each core)";

#[derive(Debug)]
struct Asked {
    model: bool,
    engine: bool,
    rule: Option<Rule>,
    seed: Option<u64>,
    steps: u64,
    from: u64,
    threads: usize,
}

fn asked() -> Result<Asked, String> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut asked = Asked {
        model: false,
        engine: false,
        rule: None,
        seed: None,
        steps: 1_000_000,
        from: 1,
        threads: cores,
    };
    let mut arguments = env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--model" {
            asked.model = true;
            continue;
        }
        if name == "--engine" {
            asked.engine = true;
            continue;
        }
        let value = arguments.next().ok_or(format!("{name} needs a value"))?;
        if name == "--break" {
            asked.rule = Some(Rule::named(&value).ok_or_else(|| no_such_rule(&value))?);
            continue;
        }
        let number: u64 = value
            .parse()
            .map_err(|_| format!("{value} is not a number"))?;
        match name.as_str() {
            "--seed" => asked.seed = Some(number),
            "--steps" => asked.steps = number,
            "--from" => asked.from = number,
            "--threads" => asked.threads = usize::try_from(number).unwrap_or(1),
            _ => return Err(format!("there is no option {name}")),
        }
    }
    Ok(asked)
}

fn no_such_rule(name: &str) -> String {
    let rules: Vec<_> = Rule::all().map(Rule::as_str).collect();
    format!("there is no rule {name}; there are {}", rules.join(", "))
}

fn main() -> ExitCode {
    let asked = match asked() {
        Ok(asked) => asked,
        Err(wrong) => {
            eprintln!("sim: {wrong}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if asked.model {
        return beside_the_model(&asked);
    }
    match (asked.rule, asked.seed) {
        (Some(rule), None) => return find_break(rule, asked.steps),
        _ if asked.engine || asked.rule.is_some() => return play_engine(&asked),
        _ => {}
    }
    let played = || match asked.seed {
        Some(seed) => play(seed, asked.steps),
        None => play_many(asked.from, asked.steps, asked.threads),
    };
    report(played, |tally| (tally.steps, tally.table()))
}

/// The engine, with one seed or with many.
fn play_engine(asked: &Asked) -> ExitCode {
    let played = || match asked.seed {
        Some(seed) => house::play::play(seed, asked.steps, asked.rule),
        None => crowd::play_engine(asked.from, asked.steps, asked.threads, asked.rule),
    };
    report(played, |counts| (counts.steps, format!("{counts}\n")))
}

/// Plays, and prints what happened and at which pace, or how it failed.
fn report<T, E: Display>(
    play: impl FnOnce() -> Result<T, E>,
    told: impl FnOnce(T) -> (u64, String),
) -> ExitCode {
    let began = Instant::now();
    match play() {
        Ok(played) => {
            let seconds = began.elapsed().as_secs_f64();
            let (steps, text) = told(played);
            let pace = steps as f64 / seconds;
            // Nothing is lost if nobody reads it.
            let _ = writeln!(
                io::stdout(),
                "{text}{seconds:.1} s, {pace:.0} steps a second"
            );
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Success means that the broken rule was noticed.
fn find_break(rule: Rule, steps: u64) -> ExitCode {
    match broken::find(rule, steps) {
        Some((after, failure)) => {
            let name = rule.as_str();
            let _ = writeln!(
                io::stdout(),
                "{failure}\n{name} was found after {after} steps"
            );
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("{} was not found in {steps} steps", rule.as_str());
            ExitCode::FAILURE
        }
    }
}

/// One seed, or one after the other until they have made so many steps.
fn beside_the_model(asked: &Asked) -> ExitCode {
    const EACH: u64 = 100_000;
    let began = Instant::now();
    let seeds = match asked.seed {
        Some(seed) => seed..seed + 1,
        None => asked.from..asked.from + asked.steps.div_ceil(EACH),
    };
    let each = match asked.seed {
        Some(_) => asked.steps,
        None => asked.steps.min(EACH),
    };
    let (mut steps, mut accepted) = (0, 0);
    for seed in seeds {
        match model::play::play(seed, usize::try_from(each).unwrap_or(usize::MAX)) {
            Ok(agreed) => {
                steps += each;
                accepted += agreed.accepted;
            }
            Err(parted) => {
                eprintln!("{parted}");
                return ExitCode::FAILURE;
            }
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    // Nothing is lost if nobody reads it.
    let _ = writeln!(
        io::stdout(),
        "{steps} orders, {accepted} of them accepted, in {seconds:.1} s: the two agree"
    );
    ExitCode::SUCCESS
}
