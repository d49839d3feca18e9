//! Tests that a register names, looked up where they stand.

use std::{fmt, fs, path::Path};

/// Why a test that is named proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// There is no such test, or it is ignored.
    NotThere,
    /// It can end before it has checked anything.
    Returns,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unfit::NotThere => "does not exist as a test that is run",
            Unfit::Returns => "contains `return`: it may end without having checked anything",
        })
    }
}

/// Whether a test of this name stands in this file of the tree:
/// `crates/wacp/tests/all/highway.rs::name`.
pub fn exists(root: &Path, test: &str) -> bool {
    source(root, test).is_some_and(|(text, name)| stands_in(&text, name))
}

/// What is wrong with a test that is named like this, judged by its source.
pub fn unfit(root: &Path, test: &str) -> Option<Unfit> {
    match source(root, test) {
        Some((text, name)) if stands_in(&text, name) => {
            returns(&text, name).then_some(Unfit::Returns)
        }
        _ => Some(Unfit::NotThere),
    }
}

/// The text of the file and the name in it.
fn source<'a>(root: &Path, test: &'a str) -> Option<(String, &'a str)> {
    let (file, name) = test.split_once("::")?;
    Some((fs::read_to_string(root.join(file)).ok()?, name))
}

fn stands_in(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    // Its own attribute, or a macro that makes a test of every name it lists.
    match lines.iter().position(|line| declares(line, name)) {
        Some(at) => match attributes(&lines, at) {
            Attributes::Test => true,
            Attributes::Ignored => false,
            Attributes::Other => lines.contains(&name) && made_by_macro(&lines).is_some(),
        },
        None => {
            let listed = format!("{name}:");
            let is_listed = lines.iter().any(|line| line.starts_with(&listed));
            is_listed && made_by_macro(&lines).is_some()
        }
    }
}

enum Attributes {
    Test,
    /// What is not run proves nothing.
    Ignored,
    Other,
}

/// What stands above the function that is declared in this line.
fn attributes(lines: &[&str], at: usize) -> Attributes {
    let above = lines[..at].iter().rev();
    let above = above.take_while(|line| {
        line.starts_with('#') || line.starts_with("//") || line.starts_with("$(#")
    });
    let attributes: Vec<&str> = above.copied().collect();
    if attributes.iter().any(|line| line.starts_with("#[ignore")) {
        Attributes::Ignored
    } else if attributes.iter().any(|line| is_test(line)) {
        Attributes::Test
    } else {
        Attributes::Other
    }
}

/// The line of a macro that declares tests, such as `fn $name() {`.
fn made_by_macro(lines: &[&str]) -> Option<usize> {
    let declared = |line: &str| line.contains("fn $") && line.ends_with('{');
    let mut found = (0..lines.len()).filter(|&at| declared(lines[at]));
    found.find(|&at| matches!(attributes(lines, at), Attributes::Test))
}

/// Whether the test's body, or that of the macro that makes it, contains
/// `return`. A test that is named here needs none, so that nobody has to judge
/// which ones end it before it has checked anything.
fn returns(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let trimmed: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    let declared = trimmed.iter().position(|line| declares(line, name));
    let is_itself_one = |at: &usize| matches!(attributes(&trimmed, *at), Attributes::Test);
    let makes_it = match declared.filter(is_itself_one) {
        Some(_) => None,
        None => made_by_macro(&trimmed),
    };
    let bodies = [declared, makes_it].into_iter().flatten();
    bodies
        .into_iter()
        .any(|at| body(&lines, at).any(has_return))
}

/// The lines of the function that is declared in this one, as rustfmt lays them
/// out: up to the brace that stands below its beginning.
fn body<'a>(lines: &'a [&'a str], at: usize) -> impl Iterator<Item = &'a str> {
    let indent = lines[at].len() - lines[at].trim_start().len();
    let end = format!("{}}}", &lines[at][..indent]);
    let rest = lines[at..].iter().copied();
    rest.take_while(move |line| !line.starts_with(&end))
}

fn has_return(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| word == "return")
}

fn declares(line: &str, name: &str) -> bool {
    line.split_once("fn ")
        .and_then(|(_, rest)| rest.strip_prefix(name))
        .is_some_and(|rest| rest.starts_with('('))
}

fn is_test(line: &str) -> bool {
    let line = line.strip_prefix("$(").unwrap_or(line);
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
        let text = "$(\n#[test]\nfn $test() {\n}\n)*\nall! {\n    one: \"a\", 1;\n}\n";
        assert!(stands_in(text, "one"));
        assert!(!stands_in(text, "two"));
        let plain = "fn $test() {\n}\nall! {\n    one: \"a\", 1;\n}\n";
        assert!(!stands_in(plain, "one"));
    }

    #[test]
    fn a_test_that_can_end_early_is_told_from_one_that_cannot() {
        let early = [
            "let Some(place) = place() else { return };",
            "let Some(place) = place() else {\n        return;\n    };",
            "if std::env::var_os(\"X\").is_none() {\n        return;\n    }",
        ];
        for line in early {
            let text = format!("#[test]\nfn one() {{\n    {line}\n    assert!(place);\n}}\n");
            assert!(returns(&text, "one"), "{text}");
        }
        let text = "#[test]\nfn one() {\n    // They return.\n    assert_eq!(it.returned, 1);\n}\n\nfn two() {\n    return;\n}\n";
        assert!(!returns(text, "one"));
        let in_macro = "    $(#[test]\n    fn $test() {\n        return;\n    })*\n\nall! {\n    one\n}\n\nfn one(b: B) {\n}\n";
        assert!(returns(in_macro, "one"));
    }
}
