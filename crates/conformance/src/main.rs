//! Prints the conformance reports of a workspace; with `--write` writes both
//! into its `docs` as well.
//!
//! Exit codes: 0 every `core` statement is proven, every refusal shown and every
//! statement of WAKE and WakeLink has its tests or a reason, 1 some do not, 2
//! asked wrongly or unreadable.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use conformance::{Trouble, evidence::Evidence, statements, table};

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let (root, write) = match arguments.as_slice() {
        [root] => (PathBuf::from(root), false),
        [root, flag] if flag == "--write" => (PathBuf::from(root), true),
        _ => {
            eprintln!("usage: conformance WORKSPACE [--write]");
            return ExitCode::from(2);
        }
    };
    match report(&root, write) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(trouble) => {
            eprintln!("{trouble}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether everything is proven that must be.
fn report(root: &Path, write: bool) -> Result<bool, Trouble> {
    let evidence = Evidence::gather(&root.join("crates/wacp/conformance"))?;
    let documents = statements::read(&root.join("crates/conformance/statements"))?;
    let mut text = evidence.plain();
    text.push_str("\n# Conformance with WAKE and WakeLink\n\n");
    table::sums(&mut text, &documents);
    // A closed pipe is the reader's wish, not a failure.
    let _ = std::io::stdout().write_all(text.as_bytes());
    if write {
        for (name, text) in [
            ("conformance-wacp.md", evidence.markdown()),
            ("conformance-wake.md", table::markdown(&documents)),
        ] {
            let file = root.join("docs").join(name);
            fs::write(&file, text)
                .map_err(|error| Trouble::Broken(format!("{}: {error}", file.display())))?;
        }
    }
    let mut wrong = statements::faults(root, &documents);
    if !evidence.core_is_proven() {
        wrong.push("not every core statement is proven".to_owned());
    }
    if !evidence.refusals_are_shown() {
        wrong.push("not every refusal has a scenario".to_owned());
    }
    for line in &wrong {
        eprintln!("{line}");
    }
    Ok(wrong.is_empty())
}
