//! The report: what is proven, what is open, where we deviate, and what is
//! claimed.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::evidence::Evidence;

impl Evidence {
    /// The report as Markdown; it reads as well in a terminal.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        self.summary(&mut out);
        self.deviated(&mut out);
        self.still_open(&mut out);
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
        self.still_open(&mut out);
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
        let disputed = match self.disputed.len() {
            0 => "none is disputed".to_owned(),
            more => format!(
                "{more} more say what the specification says and we do not do, and count\nagainst us"
            ),
        };
        let _ = writeln!(
            out,
            "# Conformance with WACP v0.1\n\n\
             Made by `cargo xtask conformance --write` from the register and the scenarios in\n\
             `crates/wacp/conformance`. A statement passes when a scenario cites it and every\n\
             scenario that cites it passes, or, where no scenario can show it, when the tests\n\
             that the register names exist. What is so by construction no order could even say\n\
             otherwise; what the coordinator owes its agent decides, and a scenario shows that it\n\
             is possible. A level is claimed only when none of its statements\n\
             is open, whoever owns them.\n\n\
             {passing} of {} scenarios pass; {disputed}.\n",
            self.results.len()
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

    fn still_open(&self, out: &mut String) {
        out.push_str("## Open\n\nStatements that nothing proves yet, and why.\n\n");
        out.push_str("| number | level | owner | it says | why it is open |\n");
        out.push_str("| --- | --- | --- | --- | --- |\n");
        for statement in self.open() {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} |",
                statement.id,
                statement.level,
                statement.owner,
                statement.says,
                statement.reason.as_deref().unwrap_or_default()
            );
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
            let how = match statement.by_construction {
                Some(_) => ", by construction",
                None => "",
            };
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {}{how} |",
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
