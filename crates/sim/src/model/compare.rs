//! Whether the real one stands where the model says.

use std::collections::BTreeMap;

use wacp::{
    Run,
    gate::{Gate, GateType, Subject, config::Fallback},
    id::{GateId, WorkspaceId},
    right::RightKind,
    workspace::Deadline,
};

use super::{Model, Question};

/// Compares everything that the model predicts.
pub fn compare(model: &Model, run: &Run) -> Result<(), String> {
    workspaces(model, run)?;
    rights(model, run)?;
    inboxes(model, run)?;
    gates(model, run)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, model: T, real: T) -> Result<(), String> {
    match model == real {
        true => Ok(()),
        false => Err(format!("{what}: the model says {model:?}, it is {real:?}")),
    }
}

fn workspaces(model: &Model, run: &Run) -> Result<(), String> {
    same("workspaces", model.spaces.len(), run.workspaces.len())?;
    let mut timeouts: Vec<_> = Vec::new();
    for (id, (space, slot)) in model.ids().zip(model.spaces.iter().zip(&run.workspaces)) {
        same(&format!("state of {id}"), space.state, slot.state())?;
        same(&format!("parent of {id}"), space.parent, slot.parent())?;
        same(&format!("owner of {id}"), space.owner, slot.owner())?;
        let originator = slot.originator();
        same(&format!("originator of {id}"), space.originator, originator)?;
        timeouts.extend(model.timeout(id).map(|at| (at, Deadline::Timeout(id))));
        timeouts.extend(model.binding(id).map(|at| (at, Deadline::Binding(id))));
        timeouts.extend(model.grace(id).map(|at| (at, Deadline::Grace(id))));
    }
    timeouts.sort_unstable();
    let due = run.deadlines.iter().copied().filter(|(_, deadline)| {
        matches!(
            deadline,
            Deadline::Timeout(_) | Deadline::Binding(_) | Deadline::Grace(_)
        )
    });
    same("timeouts", timeouts, due.collect())
}

fn rights(model: &Model, run: &Run) -> Result<(), String> {
    type Held = BTreeMap<(WorkspaceId, WorkspaceId), usize>;
    let of = |kind: RightKind| -> Held {
        let mut held = Held::new();
        for right in model.rights.iter().filter(|right| right.kind == kind) {
            *held.entry((right.holder, right.target)).or_default() += 1;
        }
        held
    };
    let lasting = run.rights.keys().map(|pair| (*pair, 1)).collect();
    same("send rights", of(RightKind::Send), lasting)?;
    let once = run.rights_once.iter();
    let once = once.map(|(pair, held)| (*pair, held.len())).collect();
    same("send-once rights", of(RightKind::SendOnce), once)
}

/// What lies in each inbox, how often it was delivered, and what it says.
fn inboxes(model: &Model, run: &Run) -> Result<(), String> {
    let mut letters: Vec<_> = Vec::new();
    for letter in &model.letters {
        let real = run.inboxes.get(&(letter.to, letter.id));
        let says = letter.payload.or(real.map(|pending| pending.payload));
        letters.push((letter.to, letter.id, letter.deliveries, says));
    }
    letters.sort_unstable_by_key(|(to, id, ..)| (*to, *id));
    let real = run
        .inboxes
        .iter()
        .map(|((to, id), pending)| (*to, *id, pending.attempts(), Some(pending.payload)));
    same("inboxes", letters, real.collect())
}

type Shown = (GateId, GateType, Subject, Fallback, Option<trail::Micros>);

fn gates(model: &Model, run: &Run) -> Result<(), String> {
    let asked = |question: &Question| {
        let Question {
            id,
            gate_type,
            subject,
            fallback,
            due,
            ..
        } = question;
        (*id, *gate_type, *subject, *fallback, *due)
    };
    let waits = |(id, gate): (&GateId, &Gate)| {
        let Gate {
            gate_type,
            subject,
            fallback,
            timeout_at,
            ..
        } = gate;
        (*id, *gate_type, *subject, *fallback, *timeout_at)
    };
    let pending: Vec<Shown> = model.gates.iter().map(asked).collect();
    same("gates", pending, run.gates.iter().map(waits).collect())?;
    let mut handed: Vec<Shown> = model.handed.iter().map(asked).collect();
    handed.sort_unstable();
    let real = run.escalated_gates.iter().map(waits).collect();
    same("handed over", handed, real)?;
    let mut settled: Vec<_> = model.settled.clone();
    settled.sort_unstable();
    let guard = run.guard.iter();
    let guard = guard.map(|((kind, subject), fallback)| (*kind, *subject, *fallback));
    same("not asked again", settled, guard.collect())
}
