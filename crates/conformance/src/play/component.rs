//! The nine components of a workspace (WACP §6.1), read off its state.

use serde_json::{Value, json};
use wacp::{
    Entry, Run,
    id::WorkspaceId,
    state::Slot,
    workspace::{Workspace, budget::Dimension},
};

/// Each component by its name. Every field of the state is named here, so a new
/// one must be given its component before this compiles.
pub fn components(run: &Run, entries: &[Entry], id: WorkspaceId) -> Option<Value> {
    let Some(Slot::Open(open)) = run.workspace(id) else {
        return None;
    };
    let Workspace {
        // 1, 3: what the work is.
        directive,
        context,
        task: _,
        // 5: what was produced.
        register,
        // 6: what was used, against which limits, by which clocks.
        meter,
        metered: _,
        since: _,
        timed_us,
        wall_us,
        timeout_us,
        liveness_us: _,
        heard: _,
        grace: _,
        // 8, 9: what it may read and change, and with which tools.
        visibility,
        authority,
        mounts,
        // Identity and lifecycle, which the other sections describe.
        state: _,
        before: _,
        role: _,
        delegate: _,
        may_grant_delegation: _,
        priority: _,
        parent: _,
        owner: _,
        originator: _,
        agent: _,
        unbound_since: _,
        group: _,
        migration: _,
        // 2: what holds its inbox up, and what is asked about it.
        gates: _,
        escalations: _,
        hindrances: _,
        taken: _,
    } = &**open;
    let inbox: Vec<_> = run
        .inboxes
        .keys()
        .filter(|(to, _)| *to == id)
        .map(|(_, envelope)| envelope)
        .collect();
    let checkpoints: Vec<_> = register.chain.iter().map(|made| made.id).collect();
    let local = entries.iter().filter(|entry| entry.workspace == Some(id));
    Some(json!({
        "directive": directive,
        "inbox": inbox,
        "context": context,
        // The agent's own: the protocol knows of it what the last checkpoint says.
        "working_memory": register.chain.last().map(|made| &made.artifacts),
        "checkpoint_register": checkpoints,
        "resource_meter": {
            "timeout_us": timeout_us,
            "timed_us": timed_us,
            "wall_us": wall_us,
            "limits": by_measure(|measure| meter.as_ref()?.limits.limit(measure)),
            "used": by_measure(|measure| Some(meter.as_ref()?.own[measure as usize])),
        },
        "local_trail": local.count(),
        "visibility_set": { "may_read": visibility, "tools": mounts },
        "authority_set": authority,
    }))
}

/// An amount of each measure, by the measure's word.
fn by_measure(amount: impl Fn(Dimension) -> Option<u64>) -> Value {
    let words = Dimension::ALL.map(|measure| json!(measure).as_str().map(str::to_owned));
    let amounts = words.into_iter().zip(Dimension::ALL.map(amount));
    let named = amounts.filter_map(|(word, amount)| Some((word?, json!(amount))));
    Value::Object(named.collect())
}
