//! How fast the machine decides and replays, what a workspace weighs, and how
//! that grows with the run: `cargo xtask bench wacp`.
//!
//! Time is the thread's own, since others compute on the same machine; what
//! passed on the wall stands beside it. Beside each figure stands what the
//! least imaginable work costs in the same process: a map that is asked and
//! changed once per command, and the spelling and hashing of the same entries.

mod clock;
mod measure;
mod report;
mod weight;
mod work;

use std::{
    env,
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use report::Report;
use weight::Kind;

/// The program's own allocator, so that the figures are the program's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "usage: pace [--workspaces N,N…] [--rounds N] [--json FILE]

  --workspaces N,N…  open in the run, one line for each (10,10000,1000000)
  --rounds N         how often each figure is taken; the median counts (3)
  --json FILE        where the figures go (bench-wacp.json beside the program)";

#[derive(Debug)]
struct Asked {
    workspaces: Vec<u32>,
    rounds: usize,
    json: PathBuf,
}

fn asked() -> Result<Asked, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    // In the target directory, around the one of the profile.
    let target = program.ancestors().nth(2).unwrap_or(&program).to_owned();
    let mut asked = Asked {
        workspaces: vec![10, 10_000, 1_000_000],
        rounds: 3,
        json: target.join("bench-wacp.json"),
    };
    let mut arguments = env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or(format!("{name} needs a value"))?;
        let number = |text: &str| text.parse().map_err(|_| format!("{text} is not a number"));
        match name.as_str() {
            "--workspaces" => {
                let counts: Result<Vec<u32>, String> = value.split(',').map(number).collect();
                asked.workspaces = counts?;
            }
            "--rounds" => asked.rounds = number(&value)?.max(1) as usize,
            "--json" => asked.json = value.into(),
            _ => return Err(format!("there is no option {name}")),
        }
    }
    if asked.workspaces.contains(&0) {
        return Err("a run without workspaces does nothing".to_owned());
    }
    Ok(asked)
}

/// `--weigh open|closed N`, for the process that only weighs.
fn weighing() -> Option<u64> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [flag, kind, count] = &arguments[..] else {
        return None;
    };
    let kind = Kind::ALL.into_iter().find(|known| known.word() == kind)?;
    let count = count.parse().ok()?;
    (flag == "--weigh").then(|| weight::grow(kind, count))
}

fn main() -> ExitCode {
    if let Some(grown) = weighing() {
        let _ = writeln!(io::stdout(), "{grown}");
        return ExitCode::SUCCESS;
    }
    let asked = match asked() {
        Ok(asked) => asked,
        Err(wrong) => {
            eprintln!("pace: {wrong}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut report = Report::default();
    for count in &asked.workspaces {
        eprintln!("{count} workspaces");
        report.lines.push(measure::line(*count, asked.rounds));
    }
    if let Err(error) = report.write(&asked.json) {
        eprintln!("pace: {error}");
        return ExitCode::FAILURE;
    }
    eprintln!("figures in {}", asked.json.display());
    ExitCode::SUCCESS
}
