//! Prints the conformance report; with `--write FILE` writes it as well.
//!
//! Exit codes: 0 every `core` statement is proven and every refusal shown, 1
//! some are not, 2 asked
//! wrongly or unreadable.

use std::{env, fs, io::Write as _, path::PathBuf, process::ExitCode};

use conformance::evidence::Evidence;

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let Some(directory) = arguments.next().map(PathBuf::from) else {
        eprintln!("usage: conformance DIRECTORY [--write FILE]");
        return ExitCode::from(2);
    };
    let file = match (arguments.next(), arguments.next()) {
        (None, _) => None,
        (Some(flag), Some(file)) if flag == "--write" => Some(PathBuf::from(file)),
        _ => {
            eprintln!("usage: conformance DIRECTORY [--write FILE]");
            return ExitCode::from(2);
        }
    };
    let evidence = match Evidence::gather(&directory) {
        Ok(evidence) => evidence,
        Err(trouble) => {
            eprintln!("{trouble}");
            return ExitCode::from(2);
        }
    };
    // A closed pipe is the reader's wish, not a failure.
    let _ = std::io::stdout().write_all(evidence.plain().as_bytes());
    if let Some(file) = file
        && let Err(error) = fs::write(&file, evidence.markdown())
    {
        eprintln!("{}: {error}", file.display());
        return ExitCode::from(2);
    }
    let mut proven = ExitCode::SUCCESS;
    if !evidence.core_is_proven() {
        eprintln!("not every core statement is proven");
        proven = ExitCode::FAILURE;
    }
    if !evidence.refusals_are_shown() {
        eprintln!("not every refusal has a scenario");
        proven = ExitCode::FAILURE;
    }
    proven
}
