//! Tests that the register names, looked up where they stand.

use std::{fs, path::Path};

/// Whether a test of this name stands in this file of the tree:
/// `crates/wacp/tests/all/states.rs::name`.
pub fn exists(root: &Path, test: &str) -> bool {
    let Some((file, name)) = test.split_once("::") else {
        return false;
    };
    fs::read_to_string(root.join(file)).is_ok_and(|text| stands_in(&text, name))
}

fn stands_in(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let Some(at) = lines.iter().position(|line| declares(line, name)) else {
        return false;
    };
    // Its own attribute, or a macro that makes a test of every name it lists.
    let above = lines[..at].iter().rev();
    let attributes = above.take_while(|line| line.starts_with('#') || line.starts_with("//"));
    let attributes: Vec<&str> = attributes.copied().collect();
    // What is not run proves nothing.
    if attributes.iter().any(|line| line.starts_with("#[ignore")) {
        return false;
    }
    attributes.iter().any(|line| is_test(line))
        || (lines.contains(&name) && lines.iter().any(|line| line.contains("#[tokio::test]")))
}

fn declares(line: &str, name: &str) -> bool {
    line.split_once("fn ")
        .and_then(|(_, rest)| rest.strip_prefix(name))
        .is_some_and(|rest| rest.starts_with('('))
}

fn is_test(line: &str) -> bool {
    line.starts_with("#[test]") || line.starts_with("#[tokio::test")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_run_as_a_test_counts() {
        let text = "/// Why.\n#[test]\nfn one() {\n}\n\nfn two() {}\n// #[test]\nfn three(\n";
        assert!(stands_in(text, "one"));
        assert!(!stands_in(text, "two"));
        assert!(!stands_in(text, "three"));
        assert!(!stands_in(text, "on"));
        let resting = "#[test]\n#[ignore = \"slow\"]\nfn one() {\n}\n";
        assert!(!stands_in(resting, "one"));
    }

    #[test]
    fn a_name_that_a_macro_lists_counts() {
        let text =
            "$(#[tokio::test]\nasync fn $name() {\n)*\nall! {\n    one\n}\n\nasync fn one(b: B) {";
        assert!(stands_in(text, "one"));
        assert!(!stands_in(text, "two"));
    }
}
