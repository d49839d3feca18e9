//! Whether the state of the run is what the file says.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wacp::{
    Event,
    id::{ArtifactId, EnvelopeId, WorkspaceId},
    query::{
        Reader,
        access::{self, Scope},
        views,
    },
    right::{self, RightKind},
    state::Slot,
    user::Capability,
};

use super::{Player, component::components};
use crate::{
    Outcome, broken,
    expect::{has, matches},
    file::Then,
    order::{self, Args, Names},
};

impl Player {
    pub(super) fn check_state(&self, then: &Then) -> Outcome<()> {
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
            let held = Capability::ALL.into_iter().filter(|it| user.holds(*it));
            let held: Vec<_> = held.collect();
            let actual = json!({"name": user.name, "state": user.state, "capabilities": held});
            compare(name, "state", expected, &actual, &self.names, now)?;
        }
        self.check_rights(then)?;
        self.check_waiting(then)?;
        self.check_content(then)?;
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

    fn check_rights(&self, then: &Then) -> Outcome<()> {
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
        Ok(())
    }

    /// What waits: envelopes in inboxes, questions at gates.
    fn check_waiting(&self, then: &Then) -> Outcome<()> {
        let now = self.now.0;
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
        Ok(())
    }

    /// What workspaces hold, and who may read it.
    fn check_content(&self, then: &Then) -> Outcome<()> {
        let now = self.now.0;
        for (name, expected) in &then.components {
            let id: WorkspaceId = order::id(&self.names, name, "w")?;
            let Some(actual) = components(&self.run, &self.entries, id) else {
                return broken(format!("{name} has ended"));
            };
            let named = |table: &Value| {
                let table = table.as_object();
                table.map(|table| table.keys().cloned().collect::<Vec<_>>())
            };
            if named(expected) != named(&actual) {
                return broken(format!("{name} has the components {:?}", named(&actual)));
            }
            compare(name, "directive", expected, &actual, &self.names, now)?;
        }
        for (name, expected) in &then.holdings {
            let id: WorkspaceId = order::id(&self.names, name, "w")?;
            let held = self.run.merged.iter().filter(|((by, _), _)| *by == id);
            let actual: BTreeMap<_, _> = held
                .map(|((_, resource), merged)| (resource.to_string(), merged.hash))
                .collect();
            let expected = expected.iter();
            let expected: BTreeMap<_, _> = expected
                .map(|(resource, content)| (resource.clone(), order::artifact_hash(content)))
                .collect();
            if actual != expected {
                let resources: Vec<_> = actual.keys().collect();
                return broken(format!("{name} holds other contents, in {resources:?}"));
            }
        }
        for (name, expected) in &then.artifacts {
            let id: ArtifactId = order::id(&self.names, name, "a")?;
            let all = Reader::new(&self.run, &Scope::All);
            let found = |entry| views::artifact(entry, id);
            let found = all.read(&self.entries).find_map(found);
            let Some((workspace, checkpoint, artifact)) = found else {
                return broken(format!("there is no artifact {name}"));
            };
            let actual = json!({"workspace": workspace, "checkpoint": checkpoint,
                "resource": artifact.resource, "content": artifact.hash});
            compare(name, "resource", expected, &actual, &self.names, now)?;
        }
        for table in &then.payloads {
            let args = Args::new(table, &self.names);
            let id: Option<EnvelopeId> = args.id("envelope", "e")?;
            let sent = self.entries.iter().find_map(|entry| match &entry.event {
                Event::EnvelopeCreated(e) if Some(e.envelope) == id => Some((e.from, e.to)),
                _ => None,
            });
            let Some((from, to)) = sent else {
                return broken("a payload is that of an `envelope` that was sent");
            };
            for (key, open) in [("open_to", true), ("closed_to", false)] {
                for reader in args.list(key)?.iter().filter_map(Value::as_str) {
                    let principal = order::principal(&self.names, reader)?;
                    if access::may_read_payload(&self.run, principal, from, to) != open {
                        return broken(format!("{reader} reads it: {}", !open));
                    }
                }
            }
            args.all_used()?;
        }
        Ok(())
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
