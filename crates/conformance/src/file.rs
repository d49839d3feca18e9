//! Reading scenario files. Unknown keys are refused, so that a slip of the pen
//! never proves anything.

use std::{collections::BTreeMap, fs, path::Path};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wacp::wire::length::Length;

use crate::{Outcome, Trouble, broken};

pub type Table = Map<String, Value>;
/// What stands for `$key`: a word, a number, or true or false.
pub type Row = BTreeMap<String, Value>;

/// One file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The file's name without its ending.
    #[serde(default)]
    pub name: String,
    pub title: String,
    /// Numbers in the register.
    pub proves: Vec<String>,
    #[serde(default)]
    pub given: Given,
    /// The orders are played from here as well, and the two runs compared.
    pub against: Option<Given>,
    /// Played once for each row, with `$key` replaced by the row's words.
    #[serde(default)]
    pub each: Vec<Row>,
    #[serde(default)]
    pub when: Vec<Table>,
    #[serde(default)]
    pub then: Then,
}

/// Where it starts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Started, the coordinator at work, ann and bob known.
    #[default]
    AtWork,
    NotStarted,
}

/// What must be so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Then {
    /// The code of the last order's refusal.
    pub refused: Option<String>,
    /// In this order; others may stand between them.
    pub events: Vec<Table>,
    /// The event types of everything that happened, in order and complete.
    pub only: Option<Vec<String>>,
    /// None of these happened.
    pub never: Vec<Table>,
    /// How often an event of a type happened.
    pub count: BTreeMap<String, usize>,
    /// Who is told what, in this order; others may be told between.
    pub tells: Vec<Table>,
    /// Nobody is told any of these.
    pub never_tells: Vec<Table>,
    pub workspaces: BTreeMap<String, Value>,
    pub tasks: BTreeMap<String, Value>,
    pub people: BTreeMap<String, Value>,
    /// Rights that are held, and that are not.
    pub holds: Vec<Table>,
    pub lacks: Vec<Table>,
    /// What an inbox holds: accepted and not yet acknowledged.
    pub inbox: BTreeMap<String, Vec<String>>,
    /// Gates that wait, oldest first.
    pub gates: Option<Vec<String>>,
    /// What a workspace consists of: exactly these components.
    pub components: BTreeMap<String, Value>,
    /// What a workspace holds: exactly these resources, with their contents.
    pub holdings: BTreeMap<String, BTreeMap<String, String>>,
    /// Where an artifact is found by its own identifier.
    pub artifacts: BTreeMap<String, Value>,
    /// Who may read what an envelope says.
    pub payloads: Vec<Table>,
    /// Deadlines that stand, and that do not.
    pub due: Vec<Table>,
    pub not_due: Vec<Table>,
    /// The soonest deadline from now, or `none`.
    pub next_due: Option<String>,
    /// What readers find on the trail of the whole run so far.
    pub queries: Vec<Table>,
    /// How the run compares with the one of `against`.
    pub compared: Option<Value>,
    /// Every entry of the run is later than the one before it.
    pub ordered: bool,
    /// Replaying every entry from nothing gives the state that is there.
    pub replays: bool,
    /// Every entry has a whole header and a body of its type.
    pub headers: bool,
    /// The local trails and the system's entries make up the global trail.
    pub projects: bool,
    /// No identifier was given out twice.
    pub unique: bool,
    /// All registered event types, by family.
    pub registry: Option<BTreeMap<String, Vec<String>>>,
    /// All words of closed sets.
    pub closed: BTreeMap<String, Vec<String>>,
    /// Entries that no reader accepts.
    pub unreadable: Vec<Table>,
    /// Entries that compaction leaves in place, and that it may move.
    pub stays: Vec<Table>,
    pub moves: Vec<Table>,
    /// How many entries were set aside in rebuilding, or why it halted.
    pub rebuilt: Option<Value>,
    /// Names that stand for different things.
    pub distinct: Vec<String>,
    /// Names that stand for different things here and in the run of `against`,
    /// by their identifiers over all runs.
    pub apart: Vec<String>,
    /// Whether the run goes on.
    pub running: Option<bool>,
}

impl Then {
    pub fn says_nothing(&self) -> bool {
        *self == Then::default()
    }
}

impl Scenario {
    pub fn read(name: &str, text: &str) -> Outcome<Scenario> {
        let mut scenario: Scenario =
            toml::from_str(text).map_err(|error| Trouble::Broken(format!("{name}: {error}")))?;
        scenario.name = name.to_owned();
        let mut words = scenario.each.iter().flat_map(Row::keys);
        match words.find(|word| !text.contains(&format!("${word}"))) {
            Some(word) => broken(format!("{name}: nobody reads `${word}`")),
            None => Ok(scenario),
        }
    }

    /// The scenario as it is played for one row of `each`.
    pub fn with(&self, row: &Row) -> Outcome<Scenario> {
        let filled = serde_json::to_value(self).and_then(|mut whole| {
            fill(&mut whole, row);
            serde_json::from_value(whole)
        });
        filled.map_err(|error| Trouble::Broken(error.to_string()))
    }

    /// Every way in which it is played: once, or once for each row.
    pub fn rows(&self) -> Outcome<Vec<Scenario>> {
        if self.each.is_empty() {
            return Ok(vec![self.clone()]);
        }
        self.each.iter().map(|row| self.with(row)).collect()
    }
}

/// An order with `times` is so many orders; `$n` counts them from 1, and `$m`
/// is the one before. A table of `repeat` and `times` is a long text or list.
pub fn repeated(order: &Table) -> Vec<Table> {
    let row = |n: u64| {
        Row::from([
            ("n".into(), n.to_string().into()),
            ("m".into(), (n - 1).to_string().into()),
        ])
    };
    let mut order = order.clone();
    let times = order.remove("times").and_then(|times| times.as_u64());
    let orders = (1..=times.unwrap_or(1)).map(|n| {
        let mut one = Value::Object(order.clone());
        if times.is_some() {
            fill(&mut one, &row(n));
        }
        lengthen(&mut one, &row);
        match one {
            Value::Object(table) => table,
            _ => Table::new(),
        }
    });
    orders.collect()
}

/// A long text or list, if that is what the table is.
fn long(value: &Value, row: &impl Fn(u64) -> Row) -> Option<Value> {
    let table = value.as_object().filter(|table| table.len() == 2)?;
    let (one, times) = (table.get("repeat")?, table.get("times")?.as_u64()?);
    Some(match one {
        Value::String(text) => Value::String(text.repeat(times as usize)),
        one => {
            let copies = (1..=times).flat_map(|n| {
                let mut copy = one.clone();
                fill(&mut copy, &row(n));
                match copy {
                    Value::Array(items) => items,
                    item => vec![item],
                }
            });
            Value::Array(copies.collect())
        }
    })
}

fn lengthen(value: &mut Value, row: &impl Fn(u64) -> Row) {
    if let Some(long) = long(value, row) {
        *value = long;
        return;
    }
    match value {
        // A long list in a list is a part of it.
        Value::Array(items) => {
            let parts =
                std::mem::take(items)
                    .into_iter()
                    .flat_map(|mut item| match long(&item, row) {
                        Some(Value::Array(items)) => items,
                        Some(text) => vec![text],
                        None => {
                            lengthen(&mut item, row);
                            vec![item]
                        }
                    });
            *items = parts.collect();
        }
        Value::Object(table) => table.values_mut().for_each(|item| lengthen(item, row)),
        _ => {}
    }
}

fn replaced(text: &str, row: &Row) -> String {
    // Longer keys first, so that `$state_after` is not taken for `$state`.
    let mut keys: Vec<_> = row.iter().collect();
    keys.sort_by_key(|(key, _)| std::cmp::Reverse(key.len()));
    keys.into_iter().fold(text.to_owned(), |text, (key, word)| {
        let word = word
            .as_str()
            .map_or_else(|| word.to_string(), str::to_owned);
        text.replace(&format!("${key}"), &word)
    })
}

fn fill(value: &mut Value, row: &Row) {
    // A number that stands alone stays one.
    let alone = value.as_str().and_then(|text| text.strip_prefix('$'));
    if let Some(other) = alone
        .and_then(|key| row.get(key))
        .filter(|it| !it.is_string())
    {
        *value = other.clone();
        return;
    }
    match value {
        Value::String(text) => *text = replaced(text, row),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, row)),
        Value::Object(table) => {
            let filled = std::mem::take(table).into_iter().map(|(key, mut item)| {
                fill(&mut item, row);
                (replaced(&key, row), item)
            });
            *table = filled.collect();
        }
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
    text.parse().ok().map(|Length(us)| us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_and_a_list_can_be_repeated() {
        let order = serde_json::json!({"times": 2, "to": "w$n", "from": "w$m",
            "list": {"repeat": {"name": "t$n"}, "times": 3}, "text": {"repeat": "ab", "times": 2},
            "words": [{"repeat": ["t", "u"], "times": 2}, "last"]});
        let Value::Object(order) = order else {
            panic!("a table");
        };
        let orders = repeated(&order);
        assert_eq!(orders.len(), 2);
        assert_eq!(
            (&orders[1]["to"], &orders[1]["from"]),
            (&"w2".into(), &"w1".into())
        );
        assert_eq!(orders[0]["list"].as_array().map(Vec::len), Some(3));
        assert_eq!(orders[0]["text"], "abab");
        assert_eq!(
            orders[0]["words"],
            serde_json::json!(["t", "u", "t", "u", "last"])
        );
    }

    #[test]
    fn a_row_fills_in_its_words() {
        let row = Row::from([
            ("state".into(), "idle".into()),
            ("s".into(), "x".into()),
            ("n".into(), 5.into()),
        ]);
        assert_eq!(replaced("$state and $s, $n", &row), "idle and x, 5");
        let mut list = serde_json::json!(["$n", "w$n"]);
        fill(&mut list, &row);
        assert_eq!(list, serde_json::json!([5, "w5"]));
    }
}
