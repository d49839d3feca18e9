//! What is proven, by what, and what may be claimed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use wacp::Refusal;

use crate::{
    Outcome, Trouble,
    file::{self, Scenario},
    play::play,
    proof,
    register::{Deviations, Register, Statement},
    shape,
};

/// Everything a report is made of.
#[derive(Debug)]
pub struct Evidence {
    pub register: Register,
    pub deviations: Deviations,
    /// Each scenario and why it does not pass, if it does not.
    pub results: Vec<(Scenario, Option<Trouble>)>,
    /// What the specification says and we do not do: known not to pass.
    pub disputed: Vec<(Scenario, Option<Trouble>)>,
    /// Tests that the register names and that do not exist.
    pub missing: BTreeSet<String>,
    /// Every refusal, and the scenarios that pass and expect it.
    pub refusals: BTreeMap<&'static str, BTreeSet<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Proven,
    Failing,
    Elsewhere,
    Open,
}

impl Standing {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Standing::Proven => "pass",
            Standing::Failing => "FAIL",
            Standing::Elsewhere => "pass (test)",
            Standing::Open => "open",
        }
    }
}

impl Evidence {
    /// Reads the conformance directory and plays every scenario.
    pub fn gather(directory: &Path) -> Outcome<Evidence> {
        let read = |name: &str| {
            let path = directory.join(name);
            fs::read_to_string(&path)
                .map_err(|error| Trouble::Broken(format!("{}: {error}", path.display())))
        };
        let played = |name: &str| -> Outcome<Vec<_>> {
            let scenarios = file::all(&directory.join(name))?.into_iter();
            Ok(scenarios
                .map(|scenario| {
                    let trouble = play(&scenario).err();
                    (scenario, trouble)
                })
                .collect())
        };
        let register = Register::read(&read("register.toml")?)?;
        // The directory lies in `crates/wacp`.
        let root = directory.join("../../..");
        let named = register.statement.iter().flat_map(|it| &it.proven_by);
        let missing = named.filter(|test| !proof::exists(&root, test)).cloned();
        let results = played("scenarios")?;
        Ok(Evidence {
            missing: missing.collect(),
            refusals: refusals(&results)?,
            deviations: Deviations::read(&read("deviations.toml")?)?,
            // Nothing may be disputed.
            disputed: match directory.join("disputed").is_dir() {
                true => played("disputed")?,
                false => Vec::new(),
            },
            register,
            results,
        })
    }

    /// Whether every refusal has a scenario that passes.
    pub fn refusals_are_shown(&self) -> bool {
        self.refusals
            .values()
            .all(|scenarios| !scenarios.is_empty())
    }

    /// The scenarios that cite a statement.
    fn citing<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a (Scenario, Option<Trouble>)> {
        self.results
            .iter()
            .chain(&self.disputed)
            .filter(move |(scenario, _)| scenario.proves.iter().any(|cited| cited == id))
    }

    /// A statement is proven when scenarios cite it and all of them pass.
    pub fn standing(&self, statement: &Statement) -> Standing {
        let mut cited = false;
        for (_, trouble) in self.citing(&statement.id) {
            cited = true;
            if trouble.is_some() {
                return Standing::Failing;
            }
        }
        let tests = &statement.proven_by;
        if tests.iter().any(|test| self.missing.contains(test)) {
            return Standing::Failing;
        }
        match (cited, tests.is_empty()) {
            (true, _) => Standing::Proven,
            (false, false) => Standing::Elsewhere,
            (false, true) => Standing::Open,
        }
    }

    pub(crate) fn where_proven(&self, statement: &Statement) -> String {
        let scenarios = self
            .citing(&statement.id)
            .map(|(scenario, _)| scenario.name.as_str());
        let tests = statement.proven_by.iter().map(String::as_str);
        scenarios.chain(tests).collect::<Vec<_>>().join(", ")
    }

    /// Whether every statement of `core` has a passing scenario, or a test
    /// where it speaks of everything that must not be.
    pub fn core_is_proven(&self) -> bool {
        self.register
            .statement
            .iter()
            .filter(|statement| statement.owner == "core")
            .all(|statement| self.is_proven(statement))
    }

    fn is_proven(&self, statement: &Statement) -> bool {
        let standing = self.standing(statement);
        matches!(standing, Standing::Proven | Standing::Elsewhere)
    }

    /// A level includes the ones below it, and every owner's statements.
    pub fn may_claim(&self, level: u8) -> bool {
        self.register
            .statement
            .iter()
            .filter(|statement| statement.level <= level)
            .all(|statement| self.is_proven(statement))
    }

    /// What nothing proves yet.
    pub fn open(&self) -> Vec<&Statement> {
        let statements = self.register.statement.iter();
        statements
            .filter(|statement| self.standing(statement) == Standing::Open)
            .collect()
    }

    /// (level, owner) → proven, failing, elsewhere, open.
    pub fn totals(&self) -> BTreeMap<(u8, &str), [usize; 4]> {
        let mut totals: BTreeMap<_, [usize; 4]> = BTreeMap::new();
        for statement in &self.register.statement {
            let count = totals
                .entry((statement.level, statement.owner.as_str()))
                .or_default();
            count[self.standing(statement) as usize] += 1;
        }
        totals
    }
}

/// Which scenarios expect which refusal.
fn refusals(
    results: &[(Scenario, Option<Trouble>)],
) -> Outcome<BTreeMap<&'static str, BTreeSet<String>>> {
    let codes = shape::words::<Refusal>();
    let mut refusals: BTreeMap<_, BTreeSet<String>> = codes
        .into_iter()
        .map(|code| (code, BTreeSet::new()))
        .collect();
    let passing = results.iter().filter(|(_, trouble)| trouble.is_none());
    for (scenario, _) in passing {
        for row in scenario.rows()? {
            let orders = row.given.orders.iter().chain(&row.when);
            let within = orders.filter_map(|order| order.get("then")?.get("refused")?.as_str());
            // Some reasons are found only in the entry that records them.
            let events = row
                .then
                .events
                .iter()
                .filter_map(|event| event.get("reason")?.as_str());
            let codes = within.chain(row.then.refused.as_deref()).chain(events);
            for code in codes {
                if let Some(scenarios) = refusals.get_mut(code) {
                    scenarios.insert(scenario.name.clone());
                }
            }
        }
    }
    Ok(refusals)
}
