//! Whether readers find on the trail what the file says, and how two runs
//! compare.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trail::Micros;
use wacp::{
    Actor, Event, Principal,
    id::{Party, WorkspaceId, over_all_runs},
    query::{
        Filter, Fold, Reader, Visible,
        access::{self, Scope},
        figures::{GroupBy, Groups, Sum, Timeline},
        views,
    },
};

use super::{BEGINS, Player};
use crate::{
    Outcome, broken,
    expect::matches,
    file::{Table, Then, duration},
    order::{self, Args},
};

impl Player {
    pub(super) fn check_queries(&self, then: &Then) -> Outcome<()> {
        for table in &then.queries {
            self.check_query(table)?;
        }
        Ok(())
    }

    fn check_query(&self, table: &Table) -> Outcome<()> {
        let args = Args::new(table, &self.names);
        let Some(by) = args.get("by").and_then(Value::as_str) else {
            return broken("a query needs `by`");
        };
        let by = order::principal(&self.names, by)?;
        let filter = self.filter(&args)?;
        let scope = access::scope(&self.run, by);
        let reader = Reader::new(&self.run, &scope);
        let found: Vec<Visible<'_>> = reader.select(&filter, &self.entries).collect();
        let types: Vec<_> = found.iter().map(|entry| entry.event.event_type()).collect();
        let mut answers = Vec::new();
        if let Some(finds) = args.get("finds") {
            answers.push((finds, json!(types)));
        }
        if let Some(count) = args.get("count") {
            answers.push((count, json!(found.len())));
        }
        if let Some(key) = args.get("group").and_then(Value::as_str) {
            let key = match key {
                "workspace" => GroupBy::Workspace,
                "actor" => GroupBy::Actor,
                "event" => GroupBy::EventType,
                other => return broken(format!("nothing is grouped by `{other}`")),
            };
            let groups = Groups::new(&reader, key).over(found.iter().copied());
            answers.push((self.gives(&args)?, json!(groups.counts)));
        }
        if let Some(path) = args.get("sum").and_then(Value::as_str) {
            let sum = Sum::of(path).over(found.iter().copied());
            answers.push((self.gives(&args)?, json!(sum.total)));
        }
        if let Some(span) = args.get("timeline").and_then(Value::as_str) {
            let Some(span) = duration(span) else {
                return broken("`timeline` must be a length of time");
            };
            let spans = Timeline::every(span).over(found.iter().copied());
            let counts: Vec<_> = spans.counts.into_values().collect();
            answers.push((self.gives(&args)?, json!(counts)));
        }
        args.all_used()?;
        if answers.is_empty() {
            return broken("a query needs an answer");
        }
        for (expected, actual) in answers {
            if !self.is_answer(expected, &actual) {
                return broken(format!("{} gives {actual}", Value::Object(table.clone())));
            }
        }
        Ok(())
    }

    /// Groups are called by the words of the file.
    fn is_answer(&self, expected: &Value, actual: &Value) -> bool {
        let (Some(expected), Some(groups)) = (expected.as_object(), actual.as_object()) else {
            return expected == actual;
        };
        expected.len() == groups.len()
            && expected.iter().all(|(word, count)| {
                let key = self.names.get(word).filter(|id| groups.contains_key(*id));
                groups.get(key.unwrap_or(word)) == Some(count)
            })
    }

    fn gives<'a>(&self, args: &Args<'a>) -> Outcome<&'a Value> {
        args.get("gives")
            .map_or_else(|| broken("what the query `gives` is missing"), Ok)
    }

    fn filter(&self, args: &Args<'_>) -> Outcome<Filter> {
        let word = |key: &str| args.get(key).and_then(Value::as_str);
        let party = |key: &str| match word(key) {
            None => Ok(None),
            Some("system") => Ok(Some(Party::System)),
            Some(name) => Ok(Some(Party::User(order::id(&self.names, name, "u")?))),
        };
        let moment = |key: &str| -> Outcome<Option<Micros>> {
            match word(key).map(duration) {
                None => Ok(None),
                Some(Some(us)) => Ok(Some(Micros(BEGINS + us as i64))),
                Some(None) => broken(format!("`{key}` must be a length of time")),
            }
        };
        let event_type = match word("event") {
            Some(wanted) => match Event::TYPES.iter().find(|known| **known == wanted) {
                Some(known) => Some(*known),
                None => return broken(format!("no event is called `{wanted}`")),
            },
            None => None,
        };
        let setup = self.run.setup.as_deref();
        let role = |name: &str| setup.and_then(|setup| setup.started.taxonomy.role(name));
        let actor = match word("actor") {
            None => None,
            Some("system") => Some(Actor::System),
            Some("protocol") => Some(Actor::Protocol),
            Some(name) => Some(match role(name) {
                Some(role) => Actor::Role(role),
                None => match order::principal(&self.names, name)? {
                    Principal::User(user) => Actor::User(user),
                    _ => return broken(format!("no actor is called `{name}`")),
                },
            }),
        };
        let mut fields = Vec::new();
        if let Some(Value::Object(table)) = args.get("fields") {
            for (path, value) in table {
                let spelled = value.as_str().and_then(|word| self.names.get(word));
                let value = spelled.map_or_else(|| value.clone(), |id| json!(id));
                fields.push((path.clone(), value));
            }
        }
        Ok(Filter {
            workspace: args.id("workspace", "w")?,
            actor,
            event_type,
            from: moment("from")?,
            until: moment("until")?,
            owner: party("owner")?,
            originator: party("originator")?,
            role: word("role").and_then(role),
            task: args.id("task", "t")?,
            fields,
        })
    }

    /// What happened in each workspace, in its own order.
    fn local_types(&self) -> BTreeMap<WorkspaceId, Vec<&'static str>> {
        let mut locals: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for entry in &self.entries {
            if let Some(id) = entry.workspace {
                locals.entry(id).or_default().push(entry.event.event_type());
            }
        }
        locals
    }

    pub(super) fn check_comparison(&self, then: &Then) -> Outcome<()> {
        for name in &then.apart {
            let other = self.other.as_ref().and_then(|other| other.names.get(name));
            let (Some(here), Some(there)) = (self.names.get(name), other) else {
                return broken(format!("`{name}` is not called so in both runs"));
            };
            if over_all_runs("here", here) == over_all_runs("there", there) {
                return broken(format!("{name} is {here} in both runs"));
            }
        }
        let Some(expected) = &then.compared else {
            return Ok(());
        };
        let Some(other) = &self.other else {
            return broken("`compared` needs `against`");
        };
        let here = Reader::new(&self.run, &Scope::All);
        let there = Reader::new(&other.run, &Scope::All);
        let view = views::compare(
            (here, here.read(&self.entries)),
            (there, there.read(&other.entries)),
        );
        let actual = json!({
            "parted": view.parted_at.is_some(),
            "same_state": self.run == other.run,
            "same_local": self.local_types() == other.local_types(),
            "event_types": view.event_types,
            "duration_us": view.duration_us,
            "tokens": view.tokens,
            "workspaces": view.workspaces,
        });
        if matches(expected, &actual, &self.names, self.now.0) {
            Ok(())
        } else {
            broken(format!("compared: {actual}"))
        }
    }
}
