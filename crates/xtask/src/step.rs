//! One step of a chore: announced, timed, and the end of the chore if it fails.

use std::{
    io::{self, Read as _, Write as _},
    process::{Command, Stdio},
    time::Instant,
};

use crate::{
    failure::{Failure, Result},
    tally::Tally,
};

/// Does something under a name and says on stderr how long it took.
pub fn step<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("==> {name}");
    let began = Instant::now();
    let result = work();
    let seconds = began.elapsed().as_secs_f64();
    let end = if result.is_ok() { "done" } else { "FAILED" };
    eprintln!("    {end}: {name} ({seconds:.1} s)");
    result
}

/// Runs a program whose output goes where ours goes.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .map_err(|error| no_start(command, &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::Step(format!(
            "{} failed ({status})",
            spell(command)
        )))
    }
}

/// Runs a program in silence; what it said is in the failure.
pub fn run_quietly(command: &mut Command) -> Result<()> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| no_start(command, &error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let (spelled, status) = (spell(command), output.status);
    Err(Failure::Step(format!(
        "{spelled} failed ({status})\n{}",
        said.trim()
    )))
}

/// Runs tests, passes on what they print as it comes, and counts.
pub fn run_tests(command: &mut Command) -> (Tally, Result<()>) {
    let mut tally = Tally::default();
    let result = stream(command, &mut tally);
    if result.is_err() {
        tally.note_failure();
    }
    (tally, result)
}

fn stream(command: &mut Command, tally: &mut Tally) -> Result<()> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| no_start(command, &error))?;
    let mut output = child.stdout.take().expect("stdout was asked for as a pipe");
    let mut stdout = io::stdout().lock();
    let mut chunk = [0; 8192];
    loop {
        match output.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => {
                tally.read(&chunk[..length]);
                // Whoever listened may be gone; the tests are counted all the same.
                let _ = stdout.write_all(&chunk[..length]);
                let _ = stdout.flush();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::Step(format!("the tests' output: {error}"))),
        }
    }
    let status = child.wait().map_err(|error| no_start(command, &error))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::Step(format!(
            "{} failed ({status})",
            spell(command)
        ))),
    }
}

fn no_start(command: &Command, error: &io::Error) -> Failure {
    Failure::Step(format!("{} did not run: {error}", spell(command)))
}

/// The program's name and arguments, to be read by a person.
fn spell(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let name = program.rsplit('/').next().unwrap_or_default().to_owned();
    let arguments = command
        .get_args()
        .map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(name)
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}
