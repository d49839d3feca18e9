//! What the test runner says there is: the output of `cargo test … -- --list`,
//! with cargo's own lines about the program that is asked next in between.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Outcome, Trouble};

/// Names the file with the list, where `cargo xtask test` has made it.
pub const VARIABLE: &str = "WAKEFUL_TEST_LIST";

/// All tests by the program they are in.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Listing {
    programs: BTreeMap<Program, BTreeSet<String>>,
}

/// A package, and the file of it that a test program is made from.
type Program = (String, String);

impl Listing {
    /// The list that was made for all tests, or else one made now for these
    /// packages, which builds what is not built.
    pub fn find(root: &Path, packages: &BTreeSet<&str>) -> Outcome<Listing> {
        let text = match env::var_os(VARIABLE) {
            Some(path) => read(Path::new(&path))?,
            None => ask(root, packages)?,
        };
        Ok(Listing::parse(&text))
    }

    pub fn parse(text: &str) -> Listing {
        let mut listing = Listing::default();
        let mut package = String::new();
        let mut program = None;
        for line in text.lines() {
            if let Some(running) = line.trim_start().strip_prefix("Running ") {
                program = begun(running, &mut package);
            } else if line.trim_start().starts_with("Doc-tests ") {
                program = None;
            } else if let (Some(program), Some(name)) = (&program, line.strip_suffix(": test")) {
                let names = listing.programs.entry(program.clone()).or_default();
                names.insert(name.to_owned());
            }
        }
        listing
    }

    /// Whether a test that is named by its file is listed under the module that
    /// the file is: `crates/wakeful/tests/door/rates.rs::name`.
    pub fn has(&self, test: &str) -> bool {
        let Some(((package, file), name)) = place(test) else {
            return false;
        };
        let programs = self.programs.iter().filter(|((of, _), _)| of == package);
        programs.into_iter().any(|((_, main), names)| {
            let Some(module) = module(main, file) else {
                return false;
            };
            // Inside the file it may stand in further modules, such as `tests`.
            names.iter().any(|listed| {
                let Some(inner) = listed.strip_prefix(&module) else {
                    return false;
                };
                inner == name || inner.ends_with(&format!("::{name}"))
            })
        })
    }
}

/// The package of a test: `crates/PACKAGE/…`.
pub fn package(test: &str) -> Option<&str> {
    place(test).map(|((package, _), _)| package)
}

/// Package, file in it, and name of a test.
fn place(test: &str) -> Option<((&str, &str), &str)> {
    let (path, name) = test.split_once("::")?;
    let place = path.strip_prefix("crates/")?.split_once('/')?;
    Some((place, name))
}

/// The program that cargo says it runs: `unittests src/lib.rs (…/deps/wake-1f…)`.
/// Those of a library or program come first and name the package that the next
/// ones belong to.
fn begun(running: &str, package: &mut String) -> Option<Program> {
    let (what, executable) = running.trim_end_matches(')').split_once(" (")?;
    let main = what.strip_prefix("unittests ").unwrap_or(what);
    if ["src/lib.rs", "src/main.rs"].contains(&main) {
        let file = executable.rsplit('/').next()?;
        *package = file.rsplit_once('-')?.0.to_owned();
    }
    Some((package.clone(), main.to_owned()))
}

/// The module that a file is in the program made from `main`, as names begin
/// in it: `rates::`, or nothing for `main` itself.
fn module(main: &str, file: &str) -> Option<String> {
    if main == file {
        return Some(String::new());
    }
    let (directory, _) = main.rsplit_once('/')?;
    let inner = file.strip_prefix(directory)?.strip_prefix('/')?;
    let inner = inner.strip_suffix(".rs")?;
    let inner = inner.strip_suffix("/mod").unwrap_or(inner);
    Some(format!("{}::", inner.replace('/', "::")))
}

fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path)
        .map_err(|error| Trouble::Broken(format!("{}: {error}", path.display())))
}

/// Asks cargo. Both of its streams go into one file, in the order in which they
/// are written.
fn ask(root: &Path, packages: &BTreeSet<&str>) -> Outcome<String> {
    let failed = |error: io::Error| Trouble::Broken(format!("the list of tests: {error}"));
    let path = env::temp_dir().join(format!("wakeful-test-list-{}", std::process::id()));
    let file = fs::File::create(&path).map_err(failed)?;
    let cargo = env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from);
    let mut command = Command::new(cargo);
    command.args(["test", "--locked", "--tests"]);
    packages.iter().for_each(|package| {
        command.args(["-p", package]);
    });
    let status = command
        .args(["--", "--list"])
        .current_dir(root)
        // Cargo's lines are read as they are by default.
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_TERM_QUIET", "false")
        .env("CARGO_TERM_VERBOSE", "false")
        .stdout(file.try_clone().map_err(failed)?)
        .stderr(file)
        .status();
    let text = read(&path);
    let _ = fs::remove_file(&path);
    match (status.map_err(failed)?.success(), text?) {
        (true, text) => Ok(text),
        (false, text) => Err(Trouble::Broken(format!("cargo lists no tests:\n{text}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "    Finished `test` profile\n\
        \x20    Running unittests src/lib.rs (target/debug/deps/client-0a1b)\n\
        retry::tests::waits: test\n\n1 test, 0 benchmarks\n\
        \x20    Running tests/link/main.rs (target/debug/deps/link-0a1b)\n\
        admission::enters: test\n\
        \x20    Running unittests src/main.rs (target/debug/deps/wakeful-0a1b)\n\
        \x20    Running tests/link/main.rs (target/debug/deps/link-2c3d)\n\
        limits::pings: test\nbench_of_it: benchmark\n\
        \x20    Running tests/trail.rs (target/debug/deps/trail-2c3d)\n\
        verifies: test\nsqlite::keeps: test\n\
        \x20  Doc-tests client\nsrc/lib.rs - enters: test\n";

    #[test]
    fn a_test_is_looked_up_in_its_own_package_and_module() {
        let listing = Listing::parse(TEXT);
        for there in [
            "crates/client/src/retry.rs::waits",
            "crates/client/tests/link/admission.rs::enters",
            "crates/wakeful/tests/link/limits.rs::pings",
            "crates/wakeful/tests/trail.rs::verifies",
            "crates/wakeful/tests/trail.rs::keeps",
        ] {
            assert!(listing.has(there), "{there}");
        }
        for elsewhere in [
            "crates/wakeful/src/retry.rs::waits",
            "crates/wakeful/tests/link/admission.rs::enters",
            "crates/client/tests/link/limits.rs::pings",
            "crates/client/tests/link/admission.rs::enter",
            "crates/wakeful/tests/trail.rs::erifies",
            "crates/wakeful/tests/link/main.rs::bench_of_it",
            "crates/client/src/lib.rs::enters",
        ] {
            assert!(!listing.has(elsewhere), "{elsewhere}");
        }
    }

    #[test]
    fn modules_follow_the_files() {
        let cases = [
            (
                "src/lib.rs",
                "src/relay/incoming.rs",
                Some("relay::incoming::"),
            ),
            ("src/lib.rs", "src/relay/mod.rs", Some("relay::")),
            ("src/lib.rs", "src/lib.rs", Some("")),
            ("tests/door/main.rs", "tests/door/rates.rs", Some("rates::")),
            ("tests/door/main.rs", "tests/link/rates.rs", None),
        ];
        for (main, file, expected) in cases {
            assert_eq!(module(main, file).as_deref(), expected, "{main} {file}");
        }
    }
}
