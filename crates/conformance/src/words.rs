//! Whether an expectation is spelt in words that exist. What must not happen
//! never does if it is misspelt, so that is an error of the file.

use std::{collections::BTreeMap, sync::OnceLock};

use serde_json::{Value, json};
use wacp::{
    Effect, Event,
    content::Content,
    effect::Notice,
    envelope::Intent,
    escalation::Response,
    event::Resolver,
    gate::{Answer, GateType},
    id::{EnvelopeId, GateId, SignalId, UserId, WorkspaceId},
    workspace::deadline::Deadline,
};

use crate::{
    Outcome, broken,
    expect::is_id,
    file::{Table, Then, duration},
    order::{Names, artifact_hash},
    shape::{fields, reads, words},
};

/// Every word of what must not be found, and every key of what must be.
pub fn check(then: &Then, names: &Names) -> Outcome<()> {
    for pattern in then.events.iter().chain(&then.stays).chain(&then.moves) {
        event_type(pattern)?;
    }
    for pattern in &then.never {
        check_never(pattern, names)?;
    }
    for pattern in then.tells.iter().chain(&then.never_tells) {
        check_effect(pattern, names)?;
    }
    for pattern in then.due.iter().chain(&then.not_due) {
        check_deadline(pattern, names)?;
    }
    Ok(())
}

/// The type of the event that a pattern describes with the keys of that type.
pub fn event_type(pattern: &Table) -> Outcome<&str> {
    let Some(kind) = pattern.get("event").and_then(Value::as_str) else {
        return broken("an expected event needs its type as `event`");
    };
    let Some((_, facts)) = facts_of(kind) else {
        return broken(format!("no event is called `{kind}`"));
    };
    let is_fact = |key: &&String| is_header(key) || facts.iter().any(|fact| is_named(fact, key));
    match pattern.keys().find(|key| !is_fact(key)) {
        Some(key) => broken(format!("{kind} has no `{key}`")),
        None => Ok(kind),
    }
}

/// The place of an event type, and the fields of its body.
fn facts_of(kind: &str) -> Option<(u32, &'static [&'static str])> {
    static FACTS: OnceLock<BTreeMap<&str, (u32, Vec<&str>)>> = OnceLock::new();
    let facts = FACTS.get_or_init(|| {
        let types = Event::TYPES.iter().copied().zip(0..);
        types
            .map(|(kind, at)| (kind, (at, fields::<Event>(at))))
            .collect()
    });
    facts.get(kind).map(|(at, facts)| (*at, facts.as_slice()))
}

fn is_header(key: &str) -> bool {
    matches!(key, "event" | "actor" | "on" | "at")
}

/// Lengths of time stand under their key with `_us`.
fn is_named(fact: &str, key: &str) -> bool {
    fact == key || fact.strip_suffix("_us") == Some(key)
}

fn check_never(pattern: &Table, names: &Names) -> Outcome<()> {
    let kind = event_type(pattern)?;
    let Some((place, facts)) = facts_of(kind) else {
        return Ok(());
    };
    for (key, value) in pattern.iter().filter(|(key, _)| !is_header(key)) {
        let fact = facts.iter().find(|fact| is_named(fact, key));
        let (Some(fact), Some(word)) = (fact, value.as_str()) else {
            continue;
        };
        let mut readings = readings(word, names);
        if !readings.any(|reading| reads::<Event>(place, fact, &reading)) {
            return broken(format!("{kind} never has {key} = `{word}`"));
        }
    }
    Ok(())
}

/// What a word of a file may stand for in the body of an event.
fn readings(word: &str, names: &Names) -> impl Iterator<Item = Value> {
    let empty = matches!(word, "none" | "some");
    // An identifier's spelling is no name.
    let plain = match names.get(word) {
        Some(spelled) => Some(json!(spelled)),
        None => (!is_id(word)).then(|| json!(word)),
    };
    let hashed = [
        json!(artifact_hash(word)),
        json!(Content::markdown(word)),
        json!(duration(word)),
    ];
    let hashed = hashed.into_iter().filter(|reading| !reading.is_null());
    let any = [json!(null), json!(0), json!([])];
    plain
        .into_iter()
        .chain(names.get(word).map(|_| json!(word)))
        .chain(hashed)
        .chain(any.into_iter().filter(move |_| empty))
}

/// One of each effect, for its word and its keys.
fn effects() -> &'static [Value] {
    static EFFECTS: OnceLock<Vec<Value>> = OnceLock::new();
    let (workspace, envelope, signal) = (WorkspaceId(0), EnvelopeId(0), SignalId(0));
    let (gate, user, to, from) = (GateId(0), UserId(0), workspace, workspace);
    EFFECTS.get_or_init(|| {
        let (answer, response) = (Answer::Approve, Response::Rejected);
        let agent = "".into();
        let caused = Vec::new();
        let told = [
            Notice::BudgetLow { workspace },
            Notice::Silent { workspace },
            Notice::Orphaned { workspace },
            Notice::GateHandedOver { gate },
            Notice::EscalationHandedOver { signal },
            Notice::OwnerGone { workspace },
            Notice::UserChanged { user, caused },
            Notice::Degraded,
            Notice::CreationRejected,
            Notice::DeliveryExhausted { envelope },
        ];
        let effects = [
            Effect::TakeSnapshot { workspace },
            Effect::BindAgent { workspace, agent },
            Effect::UnbindAgent { workspace },
            Effect::Deliver {
                to,
                envelope,
                intent: None,
                grace_us: None,
            },
            Effect::RequestFinish {
                to,
                intent: Intent::GracefulTermination,
                grace_us: 0,
                reason: "".into(),
            },
            Effect::DeliverSignal { to, signal },
            Effect::ReportUndeliverable { from, envelope },
            Effect::ReportAnswer {
                to,
                gate,
                gate_type: GateType::TaskApproval,
                answer,
                by: Resolver::Protocol,
                task: None,
                workspace: None,
                envelope: None,
            },
            Effect::ReportEscalation {
                to,
                signal,
                response,
            },
            Effect::ShowGate { gate },
            Effect::HideGate { gate },
            Effect::ShowEscalation { user, signal },
            Effect::HideEscalation { signal },
        ];
        let told = told.map(Effect::TellCoordinator);
        effects.iter().chain(&told).map(|it| json!(it)).collect()
    })
}

/// Whether the list has an effect of this shape.
pub fn is_effect(effect: &Value) -> bool {
    let shape = |effect: &Value| {
        let keys = effect.as_object().into_iter().flatten();
        let words = ["what", "notice"].map(|key| effect.get(key).cloned());
        (keys.map(|(key, _)| key.clone()).collect::<Vec<_>>(), words)
    };
    effects().iter().any(|known| shape(known) == shape(effect))
}

fn check_effect(pattern: &Table, names: &Names) -> Outcome<()> {
    let fits = |effect: &&Value| {
        pattern.iter().all(|(key, value)| match key.as_str() {
            "what" | "notice" => effect.get(key) == Some(value),
            // A length of time stands under the key with `_us`.
            _ => effect.get(key).is_some() || effect.get(format!("{key}_us")).is_some(),
        })
    };
    if !effects().iter().any(|effect| fits(&effect)) {
        return broken(format!("nobody is ever told {}", json!(pattern)));
    }
    let is_word = |word: &str| {
        names.contains_key(word)
            || matches!(word, "none" | "some")
            || duration(word).is_some()
            || words::<Answer>().contains(&word)
            || words::<GateType>().contains(&word)
            || words::<Intent>().contains(&word)
            || words::<Resolver>().contains(&word)
            || words::<Response>().contains(&word)
    };
    // An agent is called as whoever binds it likes, and a reason is anyone's words.
    let others = pattern
        .iter()
        .filter(|(key, _)| !matches!(key.as_str(), "what" | "notice" | "agent" | "reason"));
    let mut texts = others.filter_map(|(_, value)| value.as_str());
    match texts.find(|word| !is_word(word)) {
        Some(word) => broken(format!("nothing is called `{word}`")),
        None => Ok(()),
    }
}

fn check_deadline(pattern: &Table, names: &Names) -> Outcome<()> {
    for (key, value) in pattern {
        let known = match (key.as_str(), value) {
            ("what", Value::String(word)) => words::<Deadline>().contains(&word.as_str()),
            ("of", Value::String(name)) => names.contains_key(name),
            ("of", Value::Array(of)) => of
                .iter()
                .all(|name| name.as_str().is_some_and(|name| names.contains_key(name))),
            ("in", Value::String(text)) => duration(text).is_some(),
            _ => false,
        };
        if !known {
            return broken(format!("nothing is ever due with {key} = {value}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn then(key: &str, pattern: Value) -> Outcome<()> {
        let then: Then = serde_json::from_value(json!({ key: [pattern] })).expect("it reads");
        check(&then, &Names::from([("w1".into(), "w1".into())]))
    }

    #[test]
    fn a_misspelt_word_is_an_error_where_nothing_must_be_found() {
        let changed = |key: &str, value: &str| {
            let mut pattern = json!({"event": "workspace_state_changed", "workspace": "w1"});
            pattern[key] = json!(value);
            then("never", pattern)
        };
        assert_eq!(changed("to_state", "failed"), Ok(()));
        assert!(changed("to_state", "fialed").is_err());
        assert!(changed("to_stat", "failed").is_err());
        assert!(changed("workspace", "w2").is_err());
        assert!(changed("event", "workspace_changed_state").is_err());

        let told = |key: &str, value: &str| {
            let mut pattern = json!({"what": "deliver", "to": "w1"});
            pattern[key] = json!(value);
            then("never_tells", pattern)
        };
        assert_eq!(told("to", "w1"), Ok(()));
        assert!(told("what", "delivers").is_err());
        assert!(told("notice", "silent").is_err());
        assert!(told("workspace", "w1").is_err());
        assert!(told("to", "w2").is_err());

        let due = |key: &str, value: &str| {
            let mut pattern = json!({"what": "grace", "of": "w1"});
            pattern[key] = json!(value);
            then("not_due", pattern)
        };
        assert_eq!(due("in", "60s"), Ok(()));
        assert!(due("what", "graze").is_err());
        assert!(due("off", "w1").is_err());
        assert!(due("of", "w2").is_err());
    }
}
