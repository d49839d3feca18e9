//! What a person changes at a gate: only what may be changed there.

use crate::{
    gate::{GateType, Modification, TaskModification, WorkspaceModification},
    role::Text,
    wire::{Args, Context, Outcome, Table, kind::Word},
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
