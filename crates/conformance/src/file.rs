//! Reading scenario files. Unknown keys are refused, so that a slip of the pen
//! never proves anything.

use std::{collections::BTreeMap, fs, path::Path};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{Outcome, Trouble, broken};

pub type Table = Map<String, Value>;

/// One file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The file's name without its ending.
    #[serde(skip)]
    pub name: String,
    pub title: String,
    /// Numbers in the register.
    pub proves: Vec<String>,
    #[serde(default)]
    pub given: Given,
    /// Played once for each row, with `$key` replaced by the row's words.
    #[serde(default)]
    pub each: Vec<BTreeMap<String, String>>,
    #[serde(default)]
    pub when: Vec<Table>,
    #[serde(default)]
    pub then: Then,
}

/// Where it starts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    #[serde(default)]
    pub run: Start,
    /// A preset's name, or a table that changes one.
    pub highway: Option<Value>,
    pub limits: Option<Table>,
    /// `base`, `reviewer` or a whole taxonomy.
    pub taxonomy: Option<Value>,
    /// Workers of the root in the given states.
    #[serde(default)]
    pub workspaces: BTreeMap<String, String>,
    #[serde(default)]
    pub orders: Vec<Table>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Started, the coordinator at work, ann and bob known.
    #[default]
    AtWork,
    NotStarted,
}

/// What must be so.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Then {
    /// The code of the last order's refusal.
    pub refused: Option<String>,
    /// In this order; others may stand between them.
    #[serde(default)]
    pub events: Vec<Table>,
    /// The event types of everything that happened, in order and complete.
    pub only: Option<Vec<String>>,
    /// None of these happened.
    #[serde(default)]
    pub never: Vec<Table>,
    /// How often an event of a type happened.
    #[serde(default)]
    pub count: BTreeMap<String, usize>,
    #[serde(default)]
    pub workspaces: BTreeMap<String, Value>,
    #[serde(default)]
    pub tasks: BTreeMap<String, Value>,
    #[serde(default)]
    pub people: BTreeMap<String, String>,
    /// Rights that are held, and that are not.
    #[serde(default)]
    pub holds: Vec<Table>,
    #[serde(default)]
    pub lacks: Vec<Table>,
    /// What an inbox holds: accepted and not yet acknowledged.
    #[serde(default)]
    pub inbox: BTreeMap<String, Vec<String>>,
    /// Gates that wait, oldest first.
    pub gates: Option<Vec<String>>,
    /// Deadlines that stand, and that do not.
    #[serde(default)]
    pub due: Vec<Table>,
    #[serde(default)]
    pub not_due: Vec<Table>,
    /// The soonest deadline from now, or `none`.
    pub next_due: Option<String>,
    /// What readers find on the trail of the whole run so far.
    #[serde(default)]
    pub queries: Vec<Table>,
    /// Every entry of the run is later than the one before it.
    #[serde(default)]
    pub ordered: bool,
    /// Replaying every entry from nothing gives the state that is there.
    #[serde(default)]
    pub replays: bool,
    /// Names that stand for different things.
    #[serde(default)]
    pub distinct: Vec<String>,
    /// Whether the run goes on.
    pub running: Option<bool>,
}

impl Then {
    pub fn says_nothing(&self) -> bool {
        self.refused.is_none()
            && self.events.is_empty()
            && self.only.is_none()
            && self.never.is_empty()
            && self.count.is_empty()
            && self.workspaces.is_empty()
            && self.tasks.is_empty()
            && self.people.is_empty()
            && self.holds.is_empty()
            && self.lacks.is_empty()
            && self.inbox.is_empty()
            && self.gates.is_none()
            && self.due.is_empty()
            && self.not_due.is_empty()
            && self.next_due.is_none()
            && self.queries.is_empty()
            && !self.ordered
            && !self.replays
            && self.distinct.is_empty()
            && self.running.is_none()
    }
}

impl Scenario {
    pub fn read(name: &str, text: &str) -> Outcome<Scenario> {
        let mut scenario: Scenario =
            toml::from_str(text).map_err(|error| Trouble::Broken(format!("{name}: {error}")))?;
        scenario.name = name.to_owned();
        let mut words = scenario.each.iter().flat_map(BTreeMap::keys);
        match words.find(|word| !text.contains(&format!("${word}"))) {
            Some(word) => broken(format!("{name}: nobody reads `${word}`")),
            None => Ok(scenario),
        }
    }

    /// The scenario as it is played for one row of `each`.
    pub fn with(&self, row: &BTreeMap<String, String>) -> Scenario {
        let mut scenario = self.clone();
        let table = |table: &mut Table| {
            for value in table.values_mut() {
                fill(value, row);
            }
        };
        for order in scenario.given.orders.iter_mut().chain(&mut scenario.when) {
            table(order);
        }
        if let Some(highway) = &mut scenario.given.highway {
            fill(highway, row);
        }
        for state in scenario.given.workspaces.values_mut() {
            *state = replaced(state, row);
        }
        let then = &mut scenario.then;
        if let Some(code) = &mut then.refused {
            *code = replaced(code, row);
        }
        for pattern in then
            .events
            .iter_mut()
            .chain(&mut then.never)
            .chain(&mut then.holds)
            .chain(&mut then.lacks)
            .chain(&mut then.due)
            .chain(&mut then.not_due)
            .chain(&mut then.queries)
        {
            table(pattern);
        }
        for value in then.workspaces.values_mut().chain(then.tasks.values_mut()) {
            fill(value, row);
        }
        for state in then.people.values_mut() {
            *state = replaced(state, row);
        }
        scenario
    }
}

fn replaced(text: &str, row: &BTreeMap<String, String>) -> String {
    // Longer keys first, so that `$state_after` is not taken for `$state`.
    let mut keys: Vec<_> = row.iter().collect();
    keys.sort_by_key(|(key, _)| std::cmp::Reverse(key.len()));
    keys.into_iter().fold(text.to_owned(), |text, (key, word)| {
        text.replace(&format!("${key}"), word)
    })
}

fn fill(value: &mut Value, row: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => *text = replaced(text, row),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, row)),
        Value::Object(table) => table.values_mut().for_each(|item| fill(item, row)),
        _ => {}
    }
}

/// Every scenario of a directory, in the order of their names.
pub fn all(directory: &Path) -> Outcome<Vec<Scenario>> {
    let unreadable =
        |error: std::io::Error| Trouble::Broken(format!("{}: {error}", directory.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            files.push(path);
        }
    }
    files.sort();
    let mut scenarios = Vec::new();
    for path in files {
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else {
            return broken(format!("{} has no plain name", path.display()));
        };
        let text = fs::read_to_string(&path).map_err(unreadable)?;
        scenarios.push(Scenario::read(name, &text)?);
    }
    Ok(scenarios)
}

/// A length of time, as files spell it: `250ms`, `60s`, `15m`, `2h`, in microseconds.
pub fn duration(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let unit = match unit {
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_has_a_unit() {
        assert_eq!(duration("15m"), Some(900_000_000));
        assert_eq!(duration("2ms"), Some(2_000));
        assert_eq!(duration("60"), None);
        assert_eq!(duration("s"), None);
    }

    #[test]
    fn a_row_fills_in_its_words() {
        let row = BTreeMap::from([("state".into(), "idle".into()), ("s".into(), "x".into())]);
        assert_eq!(replaced("$state and $s", &row), "idle and x");
    }
}
