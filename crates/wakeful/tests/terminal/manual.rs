//! Help, completions and the manual: they name what there is, and only that.

use std::{
    io::Write as _,
    process::{Command, Output},
};

use crate::{harness::WAKEFUL, scene::text};

fn run(arguments: &[&str]) -> Output {
    Command::new(WAKEFUL).args(arguments).output().unwrap()
}

#[test]
fn hidden_commands_stay_hidden() {
    for arguments in [
        &["--help"][..],
        &["-h"],
        &["help"],
        &["man"],
        &["completions", "bash"],
        &["completions", "zsh"],
        &["completions", "fish"],
        &["completions", "elvish"],
        &["completions", "powershell"],
        // A slip of the pen is answered with what it may have meant.
        &["preload"],
        &["__prel"],
        &["__preloa", "--agent", "a"],
        &["help", "__prel"],
        &["help", "preload"],
    ] {
        let output = run(arguments);
        let both = text(output.stdout) + &text(output.stderr);
        assert!(!both.contains("__preload"), "{arguments:?}: {both}");
    }
    let output = run(&["help", "__preload"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(!text(output.stdout).contains("benchmark"));
}

#[test]
fn what_help_says_of_a_group_names_every_command_in_it() {
    let help = text(run(&["--help"]).stdout);
    let mut groups = 0;
    for command in listed(&help) {
        let below = listed(&text(run(&[&command, "--help"]).stdout));
        if below.is_empty() {
            continue;
        }
        groups += 1;
        let named = format!(": {}", below.join(", "));
        let (_, rest) = help.split_once(&format!("\n  {command} ")).unwrap();
        let (first, wrapped) = rest.split_once('\n').unwrap();
        let wrapped = wrapped.lines().take_while(|line| line.starts_with("   "));
        let said: Vec<&str> = first
            .split_whitespace()
            .chain(wrapped.flat_map(str::split_whitespace))
            .collect();
        let said = said.join(" ");
        assert!(
            said.ends_with(&named),
            "{command}: {said:?} lacks {named:?}"
        );
    }
    assert!(groups >= 7, "{groups} groups in {help}");
}

/// The commands that a help text lists, but for `help` itself.
fn listed(help: &str) -> Vec<String> {
    let Some((_, commands)) = help.split_once("\nCommands:\n") else {
        return Vec::new();
    };
    let lines = commands.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names = names.filter(|name| !name.is_empty() && *name != "help");
    names.map(str::to_owned).collect()
}

#[test]
fn completions_offer_only_what_a_command_takes() {
    let offered = |line: &str| {
        let script = r#"source "$1"
            COMP_WORDS=($2 -) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _wakeful wakeful - "${COMP_WORDS[COMP_CWORD-1]}"; printf '%s\n' "${COMPREPLY[@]}""#;
        let mut completions = tempfile::NamedTempFile::new().unwrap();
        let written = run(&["completions", "bash"]).stdout;
        completions.write_all(&written).unwrap();
        let output = Command::new("bash")
            .args(["-c", script, "bash"])
            .arg(completions.path())
            .arg(line)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        text(output.stdout)
    };
    for line in ["wakeful demo", "wakeful man", "wakeful completions"] {
        let offered = offered(line);
        assert!(offered.contains("--help"), "{line}: {offered}");
        for option in ["--data", "--server", "--json"] {
            assert!(!offered.contains(option), "{line}: {offered}");
        }
    }
    for line in ["wakeful inbox", "wakeful user list", "wakeful trail show"] {
        let offered = offered(line);
        for option in ["--data", "--server", "--json", "--body-key"] {
            assert!(offered.contains(option), "{line}: {offered}");
        }
    }
}

#[test]
fn the_manual_names_only_pages_that_it_prints_and_every_command_is_in_it() {
    let output = run(&["man"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let page = text(output.stdout).replace("\\-", "-");
    let titles = page.lines().filter(|line| line.starts_with(".TH "));
    assert_eq!(titles.count(), 1);
    let named = page.matches("(1)").count();
    assert_eq!(named, page.matches("wakeful(1)").count(), "{page}");
    for needed in [
        "wakeful user create",
        "wakeful user sign-in-link",
        "wakeful key rotate",
        "wakeful deliver",
        "wakeful trail rotate-key",
        "wakeful link pair",
        "--idempotency-key",
        "--details-format",
        "--with-keys",
        "--token-file",
    ] {
        assert!(page.contains(needed), "{needed} in {page}");
    }
    // What has no use for an option does not list it.
    let (_, demo) = page.split_once(".SS \"wakeful demo\"").unwrap();
    let (demo, _) = demo.split_once(".SS ").unwrap();
    assert!(
        demo.contains("--listen") && !demo.contains("--data"),
        "{demo}"
    );
}
