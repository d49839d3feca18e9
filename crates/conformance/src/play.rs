//! Playing a scenario: a run, a clock, and the names of what arises in it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trail::Micros;
use wacp::{
    Command, Entry, Event, Order, Principal, Refusal, Run, apply, decide, effects,
    id::{EnvelopeId, Party, WorkspaceId},
    query::{Filter, access, select},
    right::{self, RightKind},
    state::Slot,
    user::Capability,
    workspace::NewRun,
};

use crate::{
    Outcome, Trouble, broken,
    expect::{facts, has, is_like, matches},
    file::{Scenario, Start, Table, Then, duration},
    order::{self, Args, Names},
};

const BEGINS: i64 = 1_000_000_000;
/// The refusal of an order with a word outside a closed set.
const MALFORMED: &str = "malformed";

/// Plays a scenario, once or for every row; the first trouble ends it.
pub fn play(scenario: &Scenario) -> Outcome<()> {
    if scenario.each.is_empty() {
        return Player::default().play(scenario);
    }
    for row in &scenario.each {
        Player::default()
            .play(&scenario.with(row))
            .map_err(|trouble| Trouble::Broken(format!("with {row:?}: {trouble}")))?;
    }
    Ok(())
}

#[derive(Default)]
struct Player {
    run: Run,
    now: Micros,
    entries: Vec<Entry>,
    names: Names,
    /// How the last order was refused.
    refused: Option<String>,
}

impl Player {
    fn play(mut self, scenario: &Scenario) -> Outcome<()> {
        let at =
            |place: String| move |trouble: Trouble| Trouble::Broken(format!("{place}: {trouble}"));
        self.begin(scenario).map_err(at("given".into()))?;
        for (name, state) in &scenario.given.workspaces {
            self.workspace(name, state)
                .map_err(at(format!("given {name}")))?;
        }
        for (number, table) in scenario.given.orders.iter().enumerate() {
            self.order(table, true)
                .map_err(at(format!("given order {}", number + 1)))?;
        }
        let from = self.entries.len();
        let last = scenario.when.len().saturating_sub(1);
        for (number, table) in scenario.when.iter().enumerate() {
            let may_fail = number == last && scenario.then.refused.is_some();
            self.order(table, !may_fail)
                .map_err(at(format!("when {}", number + 1)))?;
        }
        self.check(&scenario.then, from)
            .map_err(at("then".into()))?;
        // Whether or not the scenario speaks of it.
        self.check_replay()
    }

    fn check_replay(&self) -> Outcome<()> {
        let mut replayed = Run::default();
        for entry in &self.entries {
            // Through its spelling, as a trail would keep it.
            let event = Event::read(entry.event.event_type(), &entry.event.facts())
                .map_err(|error| Trouble::Broken(format!("an entry does not read: {error}")))?;
            let entry = Entry {
                event,
                ..entry.clone()
            };
            apply(&mut replayed, &entry);
        }
        if replayed == self.run {
            Ok(())
        } else {
            broken("replaying the entries gives another state")
        }
    }

    fn begin(&mut self, scenario: &Scenario) -> Outcome<()> {
        self.now = Micros(BEGINS);
        self.names.insert("root".into(), "w0".into());
        let given = &scenario.given;
        let taxonomy = order::taxonomy(given.taxonomy.as_ref())?;
        let registered = |names: &mut Names, list: Vec<&str>| {
            for (at, name) in list.into_iter().enumerate() {
                names.insert(name.to_owned(), format!("taxonomy/{at}"));
            }
        };
        registered(
            &mut self.names,
            taxonomy.roles.iter().map(|role| &*role.name).collect(),
        );
        registered(
            &mut self.names,
            taxonomy.envelope_types.iter().map(|name| &**name).collect(),
        );
        registered(
            &mut self.names,
            taxonomy
                .checkpoint_types
                .iter()
                .map(|name| &**name)
                .collect(),
        );
        if given.run == Start::NotStarted {
            return Ok(());
        }
        let new = NewRun {
            agent: "coordinator-1".into(),
            directive: wacp::content::Content::markdown("the goal"),
            highway: order::highway(given.highway.as_ref(), &self.names)?,
            limits: order::limits(given.limits.as_ref(), &self.names)?,
            taxonomy,
        };
        self.must(Principal::Runtime, Command::StartRun(Box::new(new)))?;
        for (at, name) in ["ann", "bob"].into_iter().enumerate() {
            self.must(
                Principal::Operator,
                Command::CreateUser { name: name.into() },
            )?;
            self.names.insert(name.into(), format!("u{at}"));
        }
        for capability in Capability::ALL {
            let user = wacp::id::UserId(1);
            self.must(
                Principal::Operator,
                Command::GrantCapability { user, capability },
            )?;
        }
        self.table(json!({"by": "root", "do": "emit", "signal": "ready"}))?;
        self.must(
            Principal::Runtime,
            Command::Acknowledge {
                workspace: WorkspaceId::ROOT,
                envelope: EnvelopeId(0),
            },
        )?;
        Ok(())
    }

    fn table(&mut self, order: Value) -> Outcome<()> {
        match order {
            Value::Object(table) => self.order(&table, true),
            _ => broken("an order is a table"),
        }
    }

    /// Brings a new worker of the root into a state.
    fn workspace(&mut self, name: &str, state: &str) -> Outcome<()> {
        let done = json!([{"resource": format!("src/{name}"), "content": "1"}]);
        let complete = |player: &mut Player| {
            player.table(
                json!({"by": name, "do": "create_checkpoint", "artifacts": done,
                "names": {"checkpoint": format!("{name}.checkpoint")}}),
            )?;
            player.table(json!({"by": name, "do": "emit", "signal": "complete"}))
        };
        self.table(json!({"by": "coordinator", "do": "create_workspace",
            "names": {"workspace": name}}))?;
        if state == "idle" {
            return Ok(());
        }
        let directive = format!("{name}.directive");
        self.table(json!({"by": "coordinator", "do": "send", "to": name,
            "names": {"envelope": directive}}))?;
        self.table(
            json!({"by": "runtime", "do": "acknowledge", "workspace": name,
            "envelope": directive}),
        )?;
        match state {
            "active" => Ok(()),
            "blocked" => self
                .table(json!({"by": name, "do": "emit", "signal": "blocked", "reason": "waiting"})),
            "suspended" => {
                self.table(json!({"by": "coordinator", "do": "suspend", "workspace": name}))
            }
            "migrating" => {
                self.table(json!({"by": "coordinator", "do": "migrate", "workspace": name}))
            }
            "integrating" => complete(self),
            "conflicted" => {
                complete(self)?;
                self.table(
                    json!({"by": "coordinator", "do": "accept", "workspace": name,
                    "strategy": "evaluated", "conflicts": [{"type": "semantic_contradiction"}],
                    "names": {"conflict": format!("{name}.conflict")}}),
                )
            }
            "closed" => {
                complete(self)?;
                self.table(json!({"by": "coordinator", "do": "accept", "workspace": name}))
            }
            "failed" => self
                .table(json!({"by": name, "do": "emit", "signal": "failed", "reason": "it broke"})),
            other => broken(format!("no state is called `{other}`")),
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
        let (entries, refusal) = match decide(&self.run, &order, self.now) {
            Ok(entries) => (entries, None),
            Err(rejection) => (rejection.record, Some(rejection.refusal)),
        };
        for entry in &entries {
            apply(&mut self.run, entry);
        }
        // They must be readable off every entry.
        effects(&self.run, &entries);
        self.entries.extend(entries.iter().cloned());
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
        let names = self.names.clone();
        let args = Args::new(table, &names);
        let from = self.entries.len();
        if let Some(after) = args.get("after") {
            let Some(us) = after.as_str().and_then(duration) else {
                return broken("`after` must be a length of time");
            };
            let quietly = args.get("unticked") == Some(&Value::Bool(true));
            self.pass(us, quietly)?;
        }
        let by = args.get("by").and_then(Value::as_str);
        let name = args.get("do").and_then(Value::as_str);
        let wanted = args.get("names").cloned();
        let expected = args.get("then").cloned();
        let expected: Then = match expected {
            Some(then) => serde_json::from_value(then)
                .map_err(|error| Trouble::Broken(format!("then: {error}")))?,
            None => Then::default(),
        };
        self.refused = None;
        match (by, name) {
            (None, None) => args.all_used()?,
            (Some(by), Some(name)) => {
                let by = order::principal(&names, by)?;
                match order::command(&self.run, by, name, &args) {
                    Ok(command) => {
                        args.all_used()?;
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
        self.name(from, wanted.as_ref())?;
        if let (true, None, Some(code)) = (must, &expected.refused, &self.refused) {
            return broken(format!("refused: {code}"));
        }
        if must || expected.refused.is_some() {
            self.check(&expected, from)?;
        }
        Ok(())
    }

    /// Names what arose: tasks by their own names, the rest as asked.
    fn name(&mut self, from: usize, wanted: Option<&Value>) -> Outcome<()> {
        for entry in &self.entries[from..] {
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
            let event = match kind.as_str() {
                "workspace" => "workspace_created",
                "envelope" => "envelope_created",
                "signal" => "signal_emitted",
                "checkpoint" => "checkpoint_created",
                "gate" => "gate_triggered",
                "conflict" => "conflict_detected",
                "graph" => "graph_created",
                "right" => "port_right_created",
                _ => return broken(format!("nothing of kind `{kind}` is named")),
            };
            let mut found = self.entries[from..]
                .iter()
                .filter(|entry| entry.event.event_type() == event)
                .filter_map(|entry| facts(&entry.event).get(kind)?.as_str().map(str::to_owned));
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

    fn check(&self, then: &Then, from: usize) -> Outcome<()> {
        let entries = &self.entries[from..];
        if then.refused.is_some() && self.refused != then.refused {
            return broken(format!(
                "expected the refusal {:?}, got {:?}",
                then.refused.as_deref().unwrap_or_default(),
                self.refused.as_deref().unwrap_or("none")
            ));
        }
        let mut rest = entries.iter();
        for pattern in &then.events {
            let mut found = false;
            for entry in rest.by_ref() {
                if is_like(pattern, entry, &self.run, &self.names)? {
                    found = true;
                    break;
                }
            }
            if !found {
                return broken(format!(
                    "missing {}\nhappened:\n{}",
                    Value::Object(pattern.clone()),
                    self.told(entries)
                ));
            }
        }
        if let Some(only) = &then.only {
            let types: Vec<_> = entries.iter().map(|e| e.event.event_type()).collect();
            if types != *only {
                return broken(format!("expected only {only:?}, got {types:?}"));
            }
        }
        for pattern in &then.never {
            for entry in entries {
                if is_like(pattern, entry, &self.run, &self.names)? {
                    return broken(format!(
                        "must not happen: {}",
                        Value::Object(pattern.clone())
                    ));
                }
            }
        }
        for (kind, count) in &then.count {
            if !Event::TYPES.contains(&kind.as_str()) {
                return broken(format!("no event is called `{kind}`"));
            }
            let of_kind = entries.iter().filter(|e| e.event.event_type() == kind);
            let happened = of_kind.count();
            if happened != *count {
                return broken(format!("{kind} happened {happened} times, not {count}"));
            }
        }
        self.check_state(then)
    }

    fn check_state(&self, then: &Then) -> Outcome<()> {
        let now = self.now.0;
        for (name, expected) in &then.workspaces {
            let id: WorkspaceId = order::id(&self.names, name, "w")?;
            let slot = self.run.workspace(id);
            let mut actual = match slot {
                Some(Slot::Open(open)) => json!(open),
                Some(Slot::Ended(ended)) => json!(ended),
                None => return broken(format!("there is no {name}")),
            };
            if let (Some(Slot::Ended(_)), Some(table)) = (slot, actual.as_object_mut()) {
                table.insert("ended".into(), Value::Bool(true));
            }
            compare(name, "state", expected, &actual, &self.names, now)?;
        }
        for (name, expected) in &then.tasks {
            let id = order::id(&self.names, name, "t")?;
            let Some(task) = self.run.task(id) else {
                return broken(format!("there is no task {name}"));
            };
            compare(name, "status", expected, &json!(task), &self.names, now)?;
        }
        for (name, expected) in &then.people {
            let id = order::id(&self.names, name, "u")?;
            let Some(user) = self.run.user(id) else {
                return broken(format!("there is no {name}"));
            };
            compare(
                name,
                "state",
                &json!(expected),
                &json!(user),
                &self.names,
                now,
            )?;
        }
        for (rights, held) in [(&then.holds, true), (&then.lacks, false)] {
            for table in rights {
                let args = Args::new(table, &self.names);
                let holder = args.id("holder", "w")?.unwrap_or(WorkspaceId::ROOT);
                let target = args.id("target", "w")?.unwrap_or(WorkspaceId::ROOT);
                let kind = match args.get("kind").and_then(Value::as_str) {
                    Some("send_once") => RightKind::SendOnce,
                    Some("send") | None => RightKind::Send,
                    _ => return broken("only send and send_once rights are listed"),
                };
                args.all_used()?;
                if right::holds(&self.run, holder, target, kind) != held {
                    let word = if held { "lacks" } else { "holds" };
                    return broken(format!("{word} {}", Value::Object(table.clone())));
                }
            }
        }
        for (name, expected) in &then.inbox {
            let id: WorkspaceId = order::id(&self.names, name, "w")?;
            let actual: Vec<_> = self
                .run
                .inboxes
                .keys()
                .filter(|(to, _)| *to == id)
                .map(|(_, envelope)| envelope.to_string())
                .collect();
            if !matches(&json!(expected), &json!(actual), &self.names, now) {
                return broken(format!("the inbox of {name} holds {actual:?}"));
            }
        }
        if let Some(expected) = &then.gates {
            let actual: Vec<_> = self.run.gates.keys().map(ToString::to_string).collect();
            if !matches(&json!(expected), &json!(actual), &self.names, now) {
                return broken(format!("the gates {actual:?} wait"));
            }
        }
        self.check_time(then)?;
        self.check_trail(then)?;
        let mut known = BTreeMap::new();
        for name in &then.distinct {
            let Some(id) = self.names.get(name) else {
                return broken(format!("nothing is called `{name}`"));
            };
            if let Some(other) = known.insert(id, name) {
                return broken(format!("{name} and {other} are the same"));
            }
        }
        if then
            .running
            .is_some_and(|running| running != self.run.is_running())
        {
            return broken(format!("the run is running: {}", self.run.is_running()));
        }
        Ok(())
    }

    fn check_time(&self, then: &Then) -> Outcome<()> {
        let standing: Vec<BTreeMap<String, Value>> = self
            .run
            .deadlines
            .iter()
            .map(|(at, what)| {
                let mut deadline = BTreeMap::from([("in_us".to_owned(), json!(at.0 - self.now.0))]);
                if let Some((kind, of)) = json!(what).as_object().and_then(|o| o.iter().next()) {
                    deadline.insert("what".into(), json!(kind));
                    deadline.insert("of".into(), of.clone());
                }
                deadline
            })
            .collect();
        for (patterns, wanted) in [(&then.due, true), (&then.not_due, false)] {
            for pattern in patterns {
                let found = standing.iter().any(|deadline| {
                    pattern
                        .iter()
                        .all(|(key, value)| has(key, value, &json!(deadline), &self.names, 0))
                });
                if found != wanted {
                    return broken(format!(
                        "due {wanted}: {}; standing: {}",
                        Value::Object(pattern.clone()),
                        json!(standing)
                    ));
                }
            }
        }
        if let Some(expected) = &then.next_due {
            let next = self
                .run
                .next_deadline()
                .map(|at| (at.0 - self.now.0) as u64);
            if next != duration(expected) || (expected != "none" && next.is_none()) {
                return broken(format!("the next thing is due in {next:?} µs"));
            }
        }
        Ok(())
    }

    fn check_trail(&self, then: &Then) -> Outcome<()> {
        let later = |pair: &[Entry]| matches!(pair, [a, b] if a.time < b.time);
        if then.ordered && !self.entries.windows(2).all(later) {
            return broken("two entries are not in the order of their times");
        }
        if then.replays {
            self.check_replay()?;
        }
        for table in &then.queries {
            let args = Args::new(table, &self.names);
            let Some(by) = args.get("by").and_then(Value::as_str) else {
                return broken("a query needs `by`");
            };
            let by = order::principal(&self.names, by)?;
            let party = |key: &str| match args.get(key).and_then(Value::as_str) {
                None => Ok(None),
                Some("system") => Ok(Some(Party::System)),
                Some(name) => Ok(Some(Party::User(order::id(&self.names, name, "u")?))),
            };
            let word = |key: &str| args.get(key).and_then(Value::as_str);
            let event_type = match word("event") {
                Some(wanted) => match Event::TYPES.iter().find(|known| **known == wanted) {
                    Some(known) => Some(*known),
                    None => return broken(format!("no event is called `{wanted}`")),
                },
                None => None,
            };
            let moment = |key: &str| -> Outcome<Option<Micros>> {
                match word(key).map(duration) {
                    None => Ok(None),
                    Some(Some(us)) => Ok(Some(Micros(BEGINS + us as i64))),
                    Some(None) => broken(format!("`{key}` must be a length of time")),
                }
            };
            let setup = self.run.setup.as_deref();
            let filter = Filter {
                workspace: args.id("workspace", "w")?,
                event_type,
                from: moment("from")?,
                until: moment("until")?,
                owner: party("owner")?,
                originator: party("originator")?,
                role: word("role")
                    .and_then(|role| setup.and_then(|setup| setup.started.taxonomy.role(role))),
                task: args.id("task", "t")?,
                ..Filter::default()
            };
            let scope = access::scope(&self.run, by);
            let found: Vec<_> = select(&self.run, &self.entries, &filter, &scope)
                .map(|entry| entry.event.event_type())
                .collect();
            let finds = args.get("finds").cloned();
            let count = args.get("count").and_then(Value::as_u64);
            args.all_used()?;
            if finds.is_none() && count.is_none() {
                return broken("a query needs `finds` or `count`");
            }
            if finds.is_some_and(|finds| finds != json!(found))
                || count.is_some_and(|count| count != found.len() as u64)
            {
                return broken(format!("{} finds {found:?}", Value::Object(table.clone())));
            }
        }
        Ok(())
    }

    fn told(&self, entries: &[Entry]) -> String {
        let lines = entries.iter().map(|entry| {
            let (actor, kind) = (self.run.actor_name(entry.actor), entry.event.event_type());
            format!("  {kind} by {actor} {}", facts(&entry.event))
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// A plain word is the state; a table is part of the whole.
fn compare(
    name: &str,
    plain: &str,
    expected: &Value,
    actual: &Value,
    names: &Names,
    now: i64,
) -> Outcome<()> {
    let fits = match expected {
        Value::String(_) => has(plain, expected, actual, names, now),
        _ => matches(expected, actual, names, now),
    };
    if fits {
        Ok(())
    } else {
        broken(format!("{name} is {actual}, not {expected}"))
    }
}
