//! The closed sets of the protocol, as our code has them.

use std::collections::BTreeSet;

use wacp::{
    checkpoint, compaction, envelope, escalation, gate, integration, right,
    role::{CheckpointType, EnvelopeType, Role},
    signal::SignalType,
    task,
    user::{Capability, UserState},
    workspace::{Band, budget::Dimension, lifecycle::State},
};

use crate::{Outcome, broken, file::Then, shape::words};

/// Every word of the set with this name.
fn set(name: &str) -> Option<Vec<&'static str>> {
    Some(match name {
        "signal" => words::<SignalType>(),
        "state" => words::<State>(),
        "terminal_state" => {
            let states = words::<State>().into_iter().filter(|word| {
                let state = serde_json::from_value::<State>((*word).into());
                state.is_ok_and(State::is_terminal)
            });
            states.collect()
        }
        "base_role" => Role::BASE
            .iter()
            .filter_map(|role| role.base_name())
            .collect(),
        "base_envelope_type" => {
            let types = EnvelopeType::BASE.iter();
            types.filter_map(|kind| kind.base_name()).collect()
        }
        "base_checkpoint_type" => {
            let types = CheckpointType::BASE.iter();
            types.filter_map(|kind| kind.base_name()).collect()
        }
        "checkpoint_status" => words::<checkpoint::Status>(),
        "confidence" => words::<checkpoint::Confidence>(),
        "strategy" => words::<integration::Strategy>(),
        "mode" => words::<integration::Mode>(),
        "conflict_type" => words::<integration::ConflictType>(),
        "resolution" => words::<integration::ResolutionStrategy>(),
        "tier" => words::<compaction::Tier>(),
        "gate_type" => words::<gate::GateType>(),
        "gate_answer" => words::<gate::Answer>(),
        "gate_fallback" => words::<gate::config::Fallback>(),
        "escalation_fallback" => words::<escalation::Fallback>(),
        "right" => words::<right::RightKind>(),
        "envelope_priority" => words::<envelope::Priority>(),
        "origin" => words::<envelope::Origin>(),
        "task_status" => words::<task::Status>(),
        "task_priority" => words::<task::Priority>(),
        "band" => words::<Band>(),
        "dimension" => words::<Dimension>(),
        "user_state" => words::<UserState>(),
        "capability" => words::<Capability>(),
        _ => return None,
    })
}

/// The sets have exactly the words that the file names.
pub(super) fn check_closed(then: &Then) -> Outcome<()> {
    for (name, expected) in &then.closed {
        let Some(known) = set(name) else {
            return broken(format!("no closed set is called `{name}`"));
        };
        let named: BTreeSet<_> = expected.iter().map(String::as_str).collect();
        if named.len() < expected.len() || named != known.iter().copied().collect() {
            return broken(format!("{name} is one of {known:?}"));
        }
    }
    Ok(())
}
