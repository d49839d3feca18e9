//! What is proven, what is open, where we deviate, and what may be claimed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
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
    fn word(self) -> &'static str {
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

    fn where_proven(&self, statement: &Statement) -> String {
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

    /// The report as Markdown; it reads as well in a terminal.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        self.summary(&mut out);
        self.deviated(&mut out);
        self.refused(&mut out);
        self.listed(&mut out);
        out
    }

    /// The report for a terminal: the list, then the deviations, then the sums.
    pub fn plain(&self) -> String {
        let mut out = String::new();
        self.listed(&mut out);
        self.refused(&mut out);
        self.deviated(&mut out);
        self.summary(&mut out);
        for test in &self.missing {
            let _ = writeln!(out, "MISSING {test}");
        }
        for (scenario, trouble) in self.results.iter().chain(&self.disputed) {
            if let Some(trouble) = trouble {
                let _ = writeln!(out, "FAIL {}: {trouble}", scenario.name);
            }
        }
        out
    }

    fn summary(&self, out: &mut String) {
        let passing = self.results.iter().filter(|(_, t)| t.is_none()).count();
        let _ = writeln!(
            out,
            "# Conformance with WACP v0.1\n\n\
             Made by `cargo xtask conformance --write` from the register and the scenarios in\n\
             `crates/wacp/conformance`. A statement passes when a scenario cites it and every\n\
             scenario that cites it passes. A level is claimed only when none of its statements\n\
             is open, whoever owns them.\n\n\
             {passing} of {} scenarios pass; {} more say what the specification says and we do\n\
             not do, and count against us.\n",
            self.results.len(),
            self.disputed.len()
        );
        for level in 1..=3 {
            let word = match self.may_claim(level) {
                true => "claimed",
                false => "not claimed",
            };
            let _ = writeln!(out, "- Level {level}: {word}");
        }
        out.push_str("\n| level | owner | scenario | test | fail | open |\n");
        out.push_str("| --- | --- | --- | --- | --- | --- |\n");
        for ((level, owner), [pass, fail, test, open]) in self.totals() {
            let _ = writeln!(
                out,
                "| {level} | {owner} | {pass} | {test} | {fail} | {open} |"
            );
        }
        let shown = self.refusals.values().filter(|them| !them.is_empty());
        let _ = writeln!(
            out,
            "\n{} of {} refusals have a scenario.",
            shown.count(),
            self.refusals.len()
        );
        out.push('\n');
    }

    fn deviated(&self, out: &mut String) {
        out.push_str("## Deviations\n\nWhere we do something else than a source says.\n\n");
        out.push_str("| about | the source | we | why | statements |\n");
        out.push_str("| --- | --- | --- | --- | --- |\n");
        for deviation in &self.deviations.deviation {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} |",
                deviation.about,
                deviation.source,
                deviation.ours,
                deviation.why,
                deviation.statements.join(", ")
            );
        }
        out.push_str("\n## Disputed\n\nScenarios that do not pass.\n\n");
        out.push_str("| scenario | it says | statements |\n| --- | --- | --- |\n");
        for (scenario, _) in &self.disputed {
            let _ = writeln!(
                out,
                "| {} | {} | {} |",
                scenario.name,
                scenario.title,
                scenario.proves.join(", ")
            );
        }
        out.push_str("\n## Rulings\n\nStatements that a ruling of ours settles or bends.\n\n");
        out.push_str("| ruling | statements |\n| --- | --- |\n");
        let mut rulings: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for statement in &self.register.statement {
            if let Some(ruling) = &statement.ruling {
                rulings.entry(ruling).or_default().push(&statement.id);
            }
        }
        for (ruling, statements) in rulings {
            let _ = writeln!(out, "| {ruling} | {} |", statements.join(", "));
        }
        out.push('\n');
    }

    fn refused(&self, out: &mut String) {
        out.push_str("## Refusals\n\nWhy an order is refused, and where that is shown.\n\n");
        out.push_str("| code | scenarios | which |\n| --- | --- | --- |\n");
        for (code, scenarios) in &self.refusals {
            let names: Vec<_> = scenarios.iter().map(String::as_str).collect();
            let _ = writeln!(out, "| {code} | {} | {} |", names.len(), names.join(", "));
        }
        out.push('\n');
    }

    fn listed(&self, out: &mut String) {
        out.push_str(
            "## Statements\n\n| number | section | level | owner | proven by | result |\n",
        );
        out.push_str("| --- | --- | --- | --- | --- | --- |\n");
        for statement in &self.register.statement {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} |",
                statement.id,
                statement.section,
                statement.level,
                statement.owner,
                self.where_proven(statement),
                self.standing(statement).word()
            );
        }
        out.push('\n');
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
