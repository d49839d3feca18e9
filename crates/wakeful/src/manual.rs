//! The manual page and the completions, from the one definition of the command
//! line. They name what there is, and nothing else.

use std::io::{self, Write};

use clap::{Arg, Command};
use clap_mangen::Man;

use crate::cli::{self, UNUSED};

/// One page with every command in it, as roff.
pub fn page() -> io::Result<String> {
    let whole = cli::command();
    let mut page = Vec::new();
    let man = Man::new(whole.clone().disable_help_subcommand(true));
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    writeln!(
        page,
        "Commands that have no use for one of these refuse it."
    )?;
    writeln!(page, ".SH COMMANDS")?;
    for command in whole.get_subcommands() {
        write_command(command, "wakeful", &mut page)?;
    }
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// Writes a command, or those below it, with its own options.
fn write_command(command: &Command, above: &str, page: &mut Vec<u8>) -> io::Result<()> {
    let name = format!("{above} {}", command.get_name());
    if command.has_subcommands() {
        for below in command.get_subcommands() {
            write_command(below, &name, page)?;
        }
        return Ok(());
    }
    writeln!(page, ".SS \"{}\"", name.replace('-', "\\-"))?;
    let man = Man::new(command.clone().bin_name(&name));
    write_body(page, |out| man.render_description_section(out))?;
    writeln!(page, ".PP")?;
    write_body(page, |out| man.render_synopsis_section(out))?;
    write_body(page, |out| man.render_options_section(out))?;
    if command.get_after_help().is_some() {
        writeln!(page, ".PP")?;
        write_body(page, |out| man.render_extra_section(out))?;
    }
    Ok(())
}

/// Writes what a section says, without its heading.
fn write_body(
    page: &mut Vec<u8>,
    render: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut section = Vec::new();
    render(&mut section)?;
    let section = String::from_utf8_lossy(&section);
    let heads = [".ie ", ".el ", ".SH "];
    let body = section
        .lines()
        .filter(|line| !heads.iter().any(|head| line.starts_with(head)));
    for line in body {
        writeln!(page, "{line}")?;
    }
    Ok(())
}

/// A script that completes commands and the options that each of them takes.
pub fn completions(shell: clap_complete::Shell) -> String {
    let whole = cli::whole();
    let common: Vec<Arg> = whole.get_arguments().cloned().collect();
    let mut offered = Command::new("wakeful").args(local(&common, &[]));
    for command in whole.get_subcommands() {
        let unused = UNUSED.iter().find(|(name, _)| *name == command.get_name());
        let taken = local(&common, unused.map_or(&[][..], |(_, unused)| unused));
        offered = offered.subcommand(with(command.clone(), &taken));
    }
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut offered, "wakeful", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Common options as those of one command. Left global, they would be offered
/// with every command below, also with those that refuse them.
fn local(common: &[Arg], unused: &[&str]) -> Vec<Arg> {
    let taken = common
        .iter()
        .filter(|option| !unused.contains(&option.get_id().as_str()));
    taken.map(|option| option.clone().global(false)).collect()
}

/// A command and those below it, with these options too.
fn with(command: Command, common: &[Arg]) -> Command {
    let command = command.args(common);
    command.mut_subcommands(|below| with(below, common))
}
