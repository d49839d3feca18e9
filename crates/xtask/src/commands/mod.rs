//! The switchboard: each command is a file, and one line in the list.

mod bench;
mod conformance;
mod deny;
mod frameworks;
mod help;
mod samples;
mod sim;
mod soak;
mod test;

use std::ffi::OsString;

use crate::failure::{Failure, Result};

pub struct Command {
    name: &'static str,
    /// Its arguments, as help shows them.
    usage: &'static str,
    about: &'static str,
    run: fn(&[OsString]) -> Result<()>,
}

const ALL: &[Command] = &[
    test::COMMAND,
    bench::COMMAND,
    conformance::COMMAND,
    deny::COMMAND,
    samples::COMMAND,
    frameworks::COMMAND,
    sim::COMMAND,
    soak::COMMAND,
    help::COMMAND,
];

pub fn run(arguments: &[OsString]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first() else {
        return (help::COMMAND.run)(&[]);
    };
    let name = match name.to_str() {
        Some("-h" | "--help") => "help",
        Some(name) => name,
        None => "",
    };
    match ALL.iter().find(|command| command.name == name) {
        Some(command) => (command.run)(rest),
        None => Err(Failure::Usage(format!(
            "there is no command \"{name}\"; `cargo xtask help` lists them"
        ))),
    }
}

/// A command's own usage, for one that was asked wrongly.
fn misused(command: &Command, why: &str) -> Failure {
    let Command { name, usage, .. } = command;
    Failure::Usage(format!("{why}\nusage: cargo xtask {name} {usage}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_command_is_asked_wrongly() {
        let failure = run(&["tset".into()]).unwrap_err();
        assert!(matches!(failure, Failure::Usage(text) if text.contains("\"tset\"")));
    }

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<_> = ALL.iter().map(|command| command.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}
