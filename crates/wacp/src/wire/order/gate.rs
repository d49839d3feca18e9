//! What a person changes at a gate: only what may be changed there.

use crate::{
    gate::{GateType, Modification, TaskModification, WorkspaceModification},
    role::Text,
    wire::{Args, Context, Outcome, Table, words::Word},
    workspace::Seen,
};

use super::amounts::{budget, estimate};

/// Reads what a person changes; `None` where nothing may be changed.
pub fn modification(
    context: &Context<'_>,
    gate: GateType,
    changes: &Table,
) -> Outcome<Option<Modification>> {
    let args = Args::new(changes, context, "");
    let modification = read(&args, gate)?;
    args.all_used()?;
    Ok(modification)
}

/// The same of an object that holds more.
pub fn read(args: &Args<'_>, gate: GateType) -> Outcome<Option<Modification>> {
    Ok(Some(match gate {
        GateType::TaskApproval => Modification::Task(TaskModification {
            description: args.maybe("description")?,
            name: args.maybe::<Text>("name")?,
            priority: args.maybe("priority")?.map(|Word(word)| word),
            resource_estimate: args.inner("resource_estimate", estimate)?,
        }),
        GateType::WorkspaceCreate => Modification::Workspace(WorkspaceModification {
            budget: args.inner("budget", budget)?,
            priority: args.maybe("priority")?.map(|Word(word)| word),
            visibility: args.maybe::<Vec<Seen>>("visibility")?.map(Into::into),
        }),
        GateType::EnvelopeDelivery => Modification::Payload(args.need("payload")?),
        GateType::ConflictResolution => Modification::Resolution(args.need("resolution")?),
        GateType::Integration | GateType::WorkspaceAbort => return Ok(None),
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        Principal, Run,
        wire::{Defaults, content::Taken, names::Anything},
    };

    fn changed(gate: GateType, changes: Value) -> Result<Option<Modification>, &'static str> {
        let context = Context {
            run: &Run::default(),
            by: Principal::Runtime,
            names: &Anything,
            shelf: &Taken::default(),
            defaults: Defaults::default(),
        };
        let changes = changes.as_object().cloned().unwrap_or_default();
        modification(&context, gate, &changes).map_err(|fault| fault.code())
    }

    #[test]
    fn each_gate_reads_what_may_be_changed_there_and_nothing_else() {
        use GateType as G;
        let all = [
            (
                G::TaskApproval,
                json!({"name": "a", "priority": "urgent", "description": "b",
                "resource_estimate": {"tokens": 1}}),
            ),
            (
                G::WorkspaceCreate,
                json!({"budget": {"tokens": 1}, "priority": "critical",
                "visibility": ["w1", "docs/"]}),
            ),
            (G::EnvelopeDelivery, json!({"payload": "a"})),
            (G::ConflictResolution, json!({"resolution": "a"})),
            (G::Integration, json!({})),
            (G::WorkspaceAbort, json!({})),
        ];
        for (gate, own) in &all {
            assert!(changed(*gate, own.clone()).is_ok(), "{gate:?}");
            for (other, changes) in &all {
                if changes != own && changes != &json!({}) {
                    let read = changed(*gate, changes.clone());
                    assert!(read.is_err(), "{gate:?} takes what is {other:?}'s");
                }
            }
        }
        assert_eq!(changed(G::Integration, json!({})), Ok(None));
        assert_eq!(changed(G::EnvelopeDelivery, json!({})), Err("missing_key"));
        assert_eq!(
            changed(G::TaskApproval, json!({"owner": "bob"})),
            Err("unknown_key")
        );
        // The two priorities are words of different sets.
        let urgent = json!({"priority": "urgent"});
        assert_eq!(changed(G::WorkspaceCreate, urgent), Err("unknown_word"));
    }
}
