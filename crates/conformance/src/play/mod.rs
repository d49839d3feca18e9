//! Playing a scenario: a run, a clock, and the names of what arises in it.

use serde_json::Value;
use trail::Micros;
use wacp::{
    Command, Effect, Entry, Event, Measured, Order, Principal, Refusal, Run, effects, step,
};

use crate::{
    Outcome, Trouble, broken,
    expect::facts,
    file::{Given, Scenario, Table, Then, duration, repeated},
    order::{self, Args, Names},
};

mod begin;
mod check;
mod closed;
mod component;
mod crash;
mod query;
mod state;
mod time;
mod trail_is;

/// When every run begins.
pub const BEGINS: i64 = 1_000_000_000;
/// The refusal of an order with a word outside a closed set.
const MALFORMED: &str = "malformed";

/// What a scenario did: for whoever counts.
#[derive(Debug, Default)]
pub struct Played {
    pub entries: Vec<Entry>,
}

/// Plays a scenario, once or for every row; the first trouble ends it.
pub fn play(scenario: &Scenario) -> Outcome<Played> {
    let mut played = Played::default();
    if scenario.each.is_empty() {
        Player::default().play(scenario, &mut played)?;
        return Ok(played);
    }
    for row in &scenario.each {
        Player::default()
            .play(&scenario.with(row)?, &mut played)
            .map_err(|trouble| Trouble::Broken(format!("with {row:?}: {trouble}")))?;
    }
    Ok(played)
}

#[derive(Default)]
struct Player {
    run: Run,
    measured: Measured,
    now: Micros,
    entries: Vec<Entry>,
    /// What the world was told, and after which entry.
    told: Vec<(usize, Effect)>,
    names: Names,
    /// How the last order was refused.
    refused: Option<String>,
    /// How the last rebuilding went.
    rebuilt: Option<crash::Rebuilt>,
    /// The same orders, played with what `against` gives.
    other: Option<Box<Player>>,
}

/// A place in what happens.
#[derive(Clone, Copy)]
struct Mark {
    entries: usize,
    told: usize,
}

impl Player {
    fn play(mut self, scenario: &Scenario, played: &mut Played) -> Outcome<()> {
        if let Some(against) = &scenario.against {
            let mut other = Player::default();
            other
                .orders(scenario, against)
                .map_err(|trouble| Trouble::Broken(format!("against: {trouble}")))?;
            other.check_replay()?;
            played.entries.extend(other.entries.iter().cloned());
            self.other = Some(Box::new(other));
        }
        let mark = self.orders(scenario, &scenario.given)?;
        self.check(&scenario.then, mark)
            .map_err(|trouble| Trouble::Broken(format!("then: {trouble}")))?;
        // Whether or not the scenario speaks of it.
        self.check_replay()?;
        played.entries.append(&mut self.entries);
        Ok(())
    }

    /// Plays what is given and then every order.
    fn orders(&mut self, scenario: &Scenario, given: &Given) -> Outcome<Mark> {
        let at =
            |place: String| move |trouble: Trouble| Trouble::Broken(format!("{place}: {trouble}"));
        self.begin(given).map_err(at("given".into()))?;
        for (name, state) in &given.workspaces {
            self.workspace(name, state)
                .map_err(at(format!("given {name}")))?;
        }
        for (number, table) in given.orders.iter().enumerate() {
            self.order(table, true)
                .map_err(at(format!("given order {}", number + 1)))?;
        }
        let mark = self.mark();
        let last = scenario.when.len().saturating_sub(1);
        for (number, table) in scenario.when.iter().enumerate() {
            let may_fail = number == last && scenario.then.refused.is_some();
            self.order(table, !may_fail)
                .map_err(at(format!("when {}", number + 1)))?;
        }
        Ok(mark)
    }

    fn mark(&self) -> Mark {
        Mark {
            entries: self.entries.len(),
            told: self.told.len(),
        }
    }

    fn must(&mut self, principal: Principal, command: Command) -> Outcome<Vec<Entry>> {
        let name = command.name();
        match self.attempt(principal, command) {
            (entries, None) => Ok(entries),
            (_, Some(refusal)) => broken(format!("{name} is refused: {}", refusal.code())),
        }
    }

    fn attempt(&mut self, principal: Principal, command: Command) -> (Vec<Entry>, Option<Refusal>) {
        let order = Order::new(principal, command);
        let (entries, refusal) = step(&mut self.run, &mut self.measured, &order, self.now);
        for entry in &entries {
            self.entries.push(entry.clone());
            let told = effects(&self.run, std::slice::from_ref(entry));
            let after = self.entries.len();
            self.told
                .extend(told.into_iter().map(|effect| (after, effect)));
        }
        (entries, refusal)
    }

    /// Time passes; whatever becomes due happens on the way.
    fn pass(&mut self, us: u64, quietly: bool) -> Outcome<()> {
        let until = Micros(self.now.0 + us as i64);
        let due = |run: &Run| run.next_deadline().filter(|at| !quietly && *at <= until);
        while let Some(at) = due(&self.run) {
            self.now = self.now.max(at);
            self.must(Principal::Runtime, Command::Tick)?;
        }
        self.now = until;
        Ok(())
    }

    fn order(&mut self, table: &Table, must: bool) -> Outcome<()> {
        for one in repeated(table) {
            match one.get("orders").and_then(Value::as_array) {
                None => self.one_order(&one, must)?,
                Some(orders) => {
                    if let Some(key) = one.keys().find(|key| *key != "orders") {
                        return broken(format!("nobody reads `{key}` beside `orders`"));
                    }
                    for inner in orders.iter().filter_map(Value::as_object) {
                        self.order(inner, must)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn one_order(&mut self, table: &Table, must: bool) -> Outcome<()> {
        let names = self.names.clone();
        let args = Args::new(table, &names);
        let mark = self.mark();
        if let Some(after) = args.get("after") {
            let text = after.as_str().unwrap_or_default();
            let back = text.strip_prefix('-');
            let Some(us) = duration(back.unwrap_or(text)) else {
                return broken("`after` must be a length of time");
            };
            let quietly = args.get("unticked") == Some(&Value::Bool(true));
            match back {
                // A clock that is set back: nothing becomes due by that.
                Some(_) => self.now = Micros(self.now.0 - us as i64),
                None => self.pass(us, quietly)?,
            }
        }
        let by = args.get("by").and_then(Value::as_str);
        let name = args.get("do").and_then(Value::as_str);
        let wanted = args.get("names").cloned();
        // Fields that are the runtime's to fill: no order of ours has a place for
        // what an asker claims of them.
        args.get("claims");
        let expected = args.get("then").cloned();
        let expected: Then = match expected {
            Some(then) => serde_json::from_value(then)
                .map_err(|error| Trouble::Broken(format!("then: {error}")))?,
            None => Then::default(),
        };
        self.refused = None;
        match (by, name) {
            (None, None) => {
                let crash = args.get("crash").cloned();
                args.all_used()?;
                if let Some(crash) = crash {
                    self.crash(crash)?;
                }
            }
            (Some(by), Some(name)) => {
                let by = order::principal(&names, by)?;
                match order::command(&self.run, by, name, &args.rest(), &names) {
                    Ok(command) => {
                        let (_, refusal) = self.attempt(by, command);
                        self.refused = refusal.map(|refusal| refusal.code().to_owned());
                    }
                    Err(Trouble::Malformed(text)) if must && expected.refused.is_none() => {
                        return Err(Trouble::Malformed(text));
                    }
                    Err(Trouble::Malformed(_)) => self.refused = Some(MALFORMED.into()),
                    Err(trouble) => return Err(trouble),
                }
            }
            _ => return broken("an order needs `by` and `do`"),
        }
        if let (true, None, Some(code)) = (must, &expected.refused, &self.refused) {
            return broken(format!("refused: {code}"));
        }
        self.name(mark.entries, wanted.as_ref())?;
        if must || expected.refused.is_some() {
            self.check(&expected, mark)?;
        }
        Ok(())
    }

    /// Names what arose: tasks by their own names, the rest as asked.
    fn name(&mut self, from: usize, wanted: Option<&Value>) -> Outcome<()> {
        let arose = self.entries.get(from..).unwrap_or_default();
        for entry in arose {
            match &entry.event {
                Event::TaskCreated(e) => {
                    self.names.insert(e.name.to_string(), e.task.to_string());
                }
                Event::UserCreated(e) => {
                    self.names.insert(e.name.to_string(), e.user.to_string());
                }
                _ => {}
            }
        }
        let Some(wanted) = wanted else {
            return Ok(());
        };
        let Some(wanted) = wanted.as_object() else {
            return broken("`names` must be a table");
        };
        for (kind, names) in wanted {
            let mut found = identifiers(arose, kind)?.into_iter();
            let names = match names {
                Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
                other => Vec::from_iter(other.as_str()),
            };
            for name in names {
                let Some(id) = found.next() else {
                    return broken(format!("no {kind} arose that could be called `{name}`"));
                };
                self.names.insert(name.to_owned(), id);
            }
        }
        Ok(())
    }
}

/// What is made with an identifier, and the event that makes it.
const MADE: [(&str, &str); 11] = [
    ("workspace", "workspace_created"),
    ("envelope", "envelope_created"),
    ("signal", "signal_emitted"),
    ("checkpoint", "checkpoint_created"),
    ("artifact", "checkpoint_created"),
    ("gate", "gate_triggered"),
    ("conflict", "conflict_detected"),
    ("graph", "graph_created"),
    ("right", "port_right_created"),
    ("task", "task_created"),
    ("user", "user_created"),
];

/// The identifiers of one kind that these entries gave out, in order.
fn identifiers(entries: &[Entry], kind: &str) -> Outcome<Vec<String>> {
    let Some((_, event)) = MADE.iter().find(|(known, _)| *known == kind) else {
        return broken(format!("nothing of kind `{kind}` is named"));
    };
    let made = entries
        .iter()
        .filter(|entry| entry.event.event_type() == *event);
    Ok(made
        .flat_map(|entry| match &entry.event {
            Event::CheckpointCreated(e) if kind == "artifact" => {
                let first = e.first_artifact.0;
                let artifacts = first..first + e.artifacts.len() as u64;
                artifacts
                    .map(|number| wacp::id::ArtifactId(number).to_string())
                    .collect()
            }
            event => {
                let id = facts(event)
                    .get(kind)
                    .and_then(Value::as_str)
                    .map(str::to_owned);
                Vec::from_iter(id)
            }
        })
        .collect())
}
