//! What a run starts with: its highway, its limits and its taxonomy.

use serde_json::Value;

use super::{
    Args, Outcome,
    fault::Why,
    kind::{Key, Kind},
    length::Length,
    read::{At, Read},
    words::{Word, words},
};
use crate::{
    escalation,
    gate::{GateType, config::Highway},
    role::{Taxonomy, Text, taxonomy::Permission, taxonomy::RoleDefinition},
    workspace::Limits,
};

trail::closed! {
    /// A highway to start from.
    Preset {
        Autonomous = "autonomous",
        Supervised = "supervised",
        Gated = "gated",
    }
}

impl Preset {
    pub fn highway(self) -> Highway {
        match self {
            Preset::Autonomous => Highway::autonomous(),
            Preset::Supervised => Highway::supervised(),
            Preset::Gated => Highway::gated(),
        }
    }
}

/// A preset's name, or a table of what differs from one; supervised where
/// nothing is named.
pub fn highway(args: &Args<'_>, key: &'static str) -> Outcome<Highway> {
    let highway = args.word_or_inner(key, Preset::highway, table)?;
    Ok(highway.unwrap_or_default())
}

/// A gate that the table names is enabled unless it says otherwise.
fn table(args: &Args<'_>) -> Outcome<Highway> {
    let mut highway = args.word_or("preset", Preset::Supervised)?.highway();
    highway.injection = args.or("injection", highway.injection)?;
    highway.visibility = args.or("visibility", highway.visibility)?;
    let before = highway.escalation;
    let escalation = args.inner("escalation", |args| {
        let mut setting = before;
        setting.enabled = args.or("enabled", setting.enabled)?;
        setting.timeout_us = timeout(args, setting.timeout_us)?;
        let Unanswered(fallback) = args.or("fallback", Unanswered(setting.fallback))?;
        setting.fallback = fallback;
        Ok(setting)
    })?;
    highway.escalation = escalation.unwrap_or(before);
    for (kind, name) in GATES {
        let before = *highway.gate(kind);
        let gate = args.inner(name, |args| {
            let mut setting = before;
            setting.enabled = args.or("enabled", true)?;
            setting.timeout_us = timeout(args, setting.timeout_us)?;
            setting.fallback = args.word_or("fallback", setting.fallback)?;
            Ok(setting)
        })?;
        *highway.gate_mut(kind) = gate.unwrap_or(before);
    }
    Ok(highway)
}

/// The gates by the keys that configure them.
const GATES: [(GateType, &str); 6] = [
    (GateType::TaskApproval, "task_approval"),
    (GateType::WorkspaceCreate, "workspace_create"),
    (GateType::EnvelopeDelivery, "envelope_delivery"),
    (GateType::Integration, "integration"),
    (GateType::ConflictResolution, "conflict_resolution"),
    (GateType::WorkspaceAbort, "workspace_abort"),
];

/// Null waits without end.
fn timeout(args: &Args<'_>, before: Option<u64>) -> Outcome<Option<u64>> {
    let given: Option<Option<Length>> = args.given("timeout")?;
    Ok(given.map_or(before, |length| length.map(|Length(us)| us)))
}

/// What an unanswered escalation does; `delegate` is short for its last word.
#[derive(Clone, Copy)]
struct Unanswered(escalation::Fallback);

const DELEGATE: &str = "delegate";

impl Read for Unanswered {
    fn kind() -> Kind {
        Kind::Word(&["approve", "reject", DELEGATE, "delegate_to_coordinator"])
    }
    fn read(value: &Value, at: &At<'_>) -> Outcome<Unanswered> {
        if value.as_str() == Some(DELEGATE) {
            return Ok(Unanswered(escalation::Fallback::DelegateToCoordinator));
        }
        Word::read(value, at).map(|Word(fallback)| Unanswered(fallback))
    }
    fn sample() -> Unanswered {
        Unanswered(escalation::Fallback::Reject)
    }
}

pub fn limits(args: &Args<'_>, key: &'static str) -> Outcome<Limits> {
    let before = args.context.defaults.limits;
    let read = args.inner(key, |args| {
        let length = |key, before| args.or(key, Length(before)).map(|Length(us)| us);
        let percent: u64 = args.or(
            "budget_warning_percent",
            u64::from(before.budget_warning_percent),
        )?;
        let open: u64 = args.or("max_open_workspaces", u64::from(before.max_open_workspaces))?;
        // What no field holds is no valid limit either.
        Ok(Limits {
            budget_warning_percent: u8::try_from(percent).unwrap_or(u8::MAX),
            idle_timeout_us: length("idle_timeout", before.idle_timeout_us)?,
            max_open_workspaces: u32::try_from(open).unwrap_or(0),
            redelivery_base_us: length("redelivery_base", before.redelivery_base_us)?,
        })
    })?;
    Ok(read.unwrap_or(before))
}

/// What differs from the base words.
pub fn taxonomy(args: &Args<'_>, key: &'static str) -> Outcome<Taxonomy> {
    let base = Taxonomy::base();
    let read = args.inner(key, |args| {
        let names = |key| args.or::<Vec<Text>>(key, Vec::new());
        let roles = args.tables("roles", false, |args| {
            let changes = |key| args.or::<Vec<Permission>>(key, Vec::new());
            Ok(RoleDefinition {
                add: changes("add")?,
                extends: args.need("extends")?,
                name: args.need("name")?,
                remove: changes("remove")?,
            })
        })?;
        Ok(Taxonomy {
            checkpoint_types: names("checkpoint_types")?.into(),
            envelope_types: names("envelope_types")?.into(),
            id: args.or("id", base.id.clone())?,
            protocol_version: args.or("protocol_version", base.protocol_version.clone())?,
            roles: roles.unwrap_or_default().into(),
            version: args.or("version", base.version.clone())?,
        })
    })?;
    Ok(read.unwrap_or(base))
}

/// `"read_assigned"`, or one of `{"send": "report"}`, `receive`, `create`, `emit`.
impl Read for Permission {
    fn kind() -> Kind {
        let one = |name, kind| Key {
            name,
            kind,
            required: false,
        };
        Kind::Table(vec![
            one("create", Kind::Text),
            one("emit", Kind::Word(words::<crate::signal::SignalType>())),
            one("receive", Kind::Text),
            one("send", Kind::Text),
        ])
    }
    fn read(value: &Value, at: &At<'_>) -> Outcome<Permission> {
        use serde::Deserialize;
        let read = Permission::deserialize(value);
        read.map_err(|_| at.fault(Why::UnknownWord(words::<Permission>())))
    }
    fn sample() -> Permission {
        Permission::ReadAssigned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gate_is_configured_under_its_own_word() {
        let words = GateType::ALL.map(|kind| serde_json::json!(kind));
        let keys = GATES.map(|(kind, name)| {
            assert_eq!(serde_json::json!(kind), serde_json::json!(name));
            serde_json::json!(name)
        });
        assert_eq!(keys, words);
    }
}
