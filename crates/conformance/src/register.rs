//! The numbered statements of the specification, and our deviations from it.

use serde::Deserialize;

use crate::{Outcome, Trouble};

#[derive(Clone, Debug, Deserialize)]
pub struct Register {
    pub statement: Vec<Statement>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    pub id: String,
    pub section: String,
    pub level: u8,
    pub owner: String,
    pub kind: String,
    pub says: String,
    pub reason: Option<String>,
    /// Why no order could even say otherwise.
    pub by_construction: Option<String>,
    pub ruling: Option<String>,
    /// Tests that prove it, each as `path/of/file.rs::name`.
    #[serde(default)]
    pub proven_by: Vec<String>,
}

/// Where we do something else than a source says, and why.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    pub about: String,
    pub source: String,
    pub ours: String,
    pub why: String,
    #[serde(default)]
    pub statements: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deviations {
    #[serde(default)]
    pub deviation: Vec<Deviation>,
}

impl Register {
    pub fn read(text: &str) -> Outcome<Register> {
        toml::from_str(text).map_err(|error| Trouble::Broken(format!("register.toml: {error}")))
    }

    pub fn find(&self, id: &str) -> Option<&Statement> {
        self.statement.iter().find(|statement| statement.id == id)
    }
}

impl Deviations {
    pub fn read(text: &str) -> Outcome<Deviations> {
        toml::from_str(text).map_err(|error| Trouble::Broken(format!("deviations.toml: {error}")))
    }
}
