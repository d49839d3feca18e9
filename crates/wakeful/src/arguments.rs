//! From what was typed to a [`Cli`]: what clap cannot decide alone. A command
//! refuses options that it has no use for, an option is not taken for the text
//! of the one before it, and a flag wins over the environment.

use std::ffi::OsString;

use clap::{
    ArgMatches, Command, FromArgMatches as _, Parser as _, error::ErrorKind, parser::ValueSource,
};

use crate::{
    cli::{self, Cli, Hidden, PRELOAD, Place, UNUSED},
    output::say,
};

/// Commands that read neither `WAKEFUL_DATA` nor `WAKEFUL_SERVER` to find the
/// server to talk to.
const TALK_TO_NOBODY: [&str; 4] = ["demo", "serve", "completions", "man"];

/// Commands of an agent, which find the server by `WAKE_ENDPOINT` if nothing of
/// ours names one.
const OF_AGENTS: [&str; 3] = ["deliver", "response", "responses"];

/// Reads the program's own arguments; ends the program if they make no sense.
pub fn read() -> Cli {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.get(1).is_some_and(|first| first == PRELOAD) {
        let Hidden { place, preload } = Hidden::parse_from(arguments.into_iter().skip(1));
        let command = cli::Command::Preload(preload);
        return Cli { place, command };
    }
    let mut command = cli::command();
    let matches = command.try_get_matches_from_mut(&arguments);
    let matches = matches.unwrap_or_else(|error| error.exit());
    let checked = read_matches(&command, &matches, &arguments);
    checked.unwrap_or_else(|(kind, said)| command.error(kind, said).exit())
}

type Refused = (ErrorKind, String);

fn read_matches(
    command: &Command,
    matches: &ArgMatches,
    arguments: &[OsString],
) -> Result<Cli, Refused> {
    let name = matches.subcommand_name().unwrap_or_default();
    refuse_unused(name, matches)?;
    refuse_textless(leaf(command, matches), arguments)?;
    let mut cli = Cli::from_arg_matches(matches).unwrap_or_else(|error| error.exit());
    choose_place(name, matches, &mut cli)?;
    Ok(cli)
}

fn refuse_unused(name: &str, matches: &ArgMatches) -> Result<(), Refused> {
    let unused = UNUSED.iter().find(|(command, _)| *command == name);
    for option in unused.map_or(&[][..], |(_, unused)| unused) {
        if matches.value_source(option) == Some(ValueSource::CommandLine) {
            let option = option.replace('_', "-");
            let said = format!("{name} has no use for --{option}: leave it out");
            return Err((ErrorKind::UnknownArgument, said));
        }
    }
    Ok(())
}

/// The command that was chosen, at the end of its nouns.
fn leaf<'c>(command: &'c Command, matches: &ArgMatches) -> &'c Command {
    let (mut command, mut matches) = (command, matches);
    while let Some((name, below)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name) else {
            break;
        };
        (command, matches) = (found, below);
    }
    command
}

/// Text may begin with a hyphen, and `--feedback --json` is still a slip:
/// nobody means to tell an agent "--json".
fn refuse_textless(command: &Command, arguments: &[OsString]) -> Result<(), Refused> {
    let mut rest = arguments.iter().skip(1).filter_map(|word| word.to_str());
    while let Some(word) = rest.next() {
        if word == "--" {
            break;
        }
        let named = |arg: &&clap::Arg| arg.is_allow_hyphen_values_set() && is(arg, word);
        let Some(text) = command.get_arguments().find(named) else {
            continue;
        };
        let Some(next) = rest.next() else { break };
        let option = next.split_once('=').map_or(next, |(option, _)| option);
        if command.get_arguments().any(|arg| is(arg, option)) {
            let long = text.get_long().unwrap_or_default();
            let said = format!(
                "--{long} has no text: {next} is an option; if it is the text, write --{long}={next}"
            );
            return Err((ErrorKind::InvalidValue, said));
        }
    }
    Ok(())
}

/// Whether this is how an option is written.
fn is(option: &clap::Arg, word: &str) -> bool {
    match (word.strip_prefix("--"), word.strip_prefix('-')) {
        (Some(long), _) => option.get_long() == Some(long),
        (None, Some(short)) => option.get_short().is_some_and(|c| short.chars().eq([c])),
        (None, None) => false,
    }
}

/// A server or a directory: what is on the command line wins over a variable.
fn choose_place(name: &str, matches: &ArgMatches, cli: &mut Cli) -> Result<(), Refused> {
    drop_empty(matches, &mut cli.place)?;
    if TALK_TO_NOBODY.contains(&name) {
        cli.place.server = None;
        return Ok(());
    }
    use ValueSource::{CommandLine, EnvVariable};
    let data = matches
        .value_source("data")
        .filter(|_| cli.place.data.is_some());
    let server = matches
        .value_source("server")
        .filter(|_| cli.place.server.is_some());
    match (data, server) {
        (Some(EnvVariable), Some(CommandLine)) => {
            say("WAKEFUL_DATA is not used: --server names the server.");
            cli.place.data = None;
        }
        (Some(CommandLine), Some(EnvVariable)) => {
            say("WAKEFUL_SERVER is not used: --data names the data directory.");
            cli.place.server = None;
        }
        (Some(CommandLine), Some(CommandLine)) => {
            let said = "--data and --server exclude each other: give one of them";
            return Err((ErrorKind::ArgumentConflict, said.to_owned()));
        }
        (Some(_), Some(_)) => {
            let said = "WAKEFUL_DATA and WAKEFUL_SERVER are both set: unset one of them, \
                or choose with --data or --server";
            return Err((ErrorKind::ArgumentConflict, said.to_owned()));
        }
        (None, None) if OF_AGENTS.contains(&name) => cli.place.server = endpoint(),
        _ => {}
    }
    Ok(())
}

/// The address that WAKE's own variable names, with or without `/wake/v1`.
fn endpoint() -> Option<String> {
    let named = std::env::var("WAKE_ENDPOINT").ok();
    named.filter(|endpoint| !endpoint.is_empty())
}

/// A variable that is empty is not set; an option that is empty is a slip.
fn drop_empty(matches: &ArgMatches, place: &mut Place) -> Result<(), Refused> {
    let paths = [
        ("data", &mut place.data),
        ("server_ca", &mut place.server_ca),
        ("body_key", &mut place.body_key),
    ];
    let mut emptied = Vec::new();
    for (name, path) in paths {
        if path
            .as_ref()
            .is_some_and(|path| path.as_os_str().is_empty())
        {
            *path = None;
            emptied.push(name);
        }
    }
    if place.server.as_deref() == Some("") {
        place.server = None;
        emptied.push("server");
    }
    let typed = |name: &&&str| matches.value_source(name) == Some(ValueSource::CommandLine);
    match emptied.iter().find(typed) {
        None => Ok(()),
        Some(name) => {
            let said = format!("--{} is empty", name.replace('_', "-"));
            Err((ErrorKind::InvalidValue, said))
        }
    }
}
