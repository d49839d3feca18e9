//! The code samples, and where in the documents they begin.

use std::{collections::BTreeSet, path::Path, sync::Mutex};

/// A piece of code in a document.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub name: &'static str,
    /// How the name of the document's file begins.
    pub document: &'static str,
    /// How its first line begins.
    pub start: &'static str,
    /// The script of ours that runs it.
    pub script: &'static str,
}

const PYTHON: &str = "from_document.py";
const NODE: &str = "from_document.mjs";

const fn sample(
    name: &'static str,
    document: &'static str,
    start: &'static str,
    script: &'static str,
) -> Sample {
    Sample {
        name,
        document,
        start,
        script,
    }
}

pub const QUICKSTART: Sample = sample("quickstart", "000", "import os, time, hmac", PYTHON);
pub const APPENDIX: Sample = sample("appendix A", "001", "import httpx, time", PYTHON);
pub const ORCHESTRATOR: Sample = sample("orchestrator", "000", "since = None", PYTHON);
pub const PATIENT: Sample = sample("429 handling", "000", "def deliver_with_retry", PYTHON);
pub const FIRST_PYTHON: Sample = sample("Python request", "000", "import os, httpx", PYTHON);
pub const FIRST_NODE: Sample = sample("Node request", "000", "const WAKE_API_KEY", NODE);
pub const FIRST_CURL: Sample = sample("curl request", "000", "curl -X POST", "sh");
pub const SPEC_VERIFIER: Sample =
    sample("Python verifier", "000", "import hmac, hashlib, os", PYTHON);
pub const PAPER_VERIFIER: Sample = sample("Python verifier", "001", "import hmac, hashlib", PYTHON);
pub const EXPRESS_VERIFIER: Sample =
    sample("Express verifier", "000", "const crypto = require", NODE);

impl Sample {
    /// The document's file.
    pub fn file(&self) -> String {
        let directory = std::env::var_os("WAKEFUL_TEST_SEEDS");
        let directory = directory.expect("run cargo xtask samples DIR");
        let directory = Path::new(&directory);
        let found = std::fs::read_dir(directory).unwrap().find_map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name()?.to_str()?;
            let fits = name.starts_with(self.document);
            fits.then(|| path.to_str().unwrap().to_owned())
        });
        found.unwrap_or_else(|| panic!("no file {}… in {}", self.document, directory.display()))
    }

    /// Prints what the sample is given, unless that was printed before.
    #[allow(clippy::print_stdout)] // It is the command's output.
    pub fn is_supplied_with(&self, what: &[&str]) {
        static PRINTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
        let (name, document) = (self.name, self.document);
        let line = format!("supplied to {name} of {document}: {}", what.join(", "));
        if PRINTED.lock().unwrap().insert(line.clone()) {
            println!("\n    {line}");
        }
    }
}
