//! What must hold of a run in every state, whatever led to it.

use wacp::{
    Run,
    gate::Proposal,
    id::{EnvelopeId, WorkspaceId},
    task::Status,
    workspace::{Deadline, budget::Dimension, lifecycle::State},
};

use super::{Checker, Verdict, View, ensure};

/// It is looked at after one commit in so many.
const EVERY: u32 = 8;

#[derive(Debug, Default)]
pub struct Standing {
    commits: u32,
}

impl Checker for Standing {
    fn claim(&self) -> &'static str {
        "the parts of a run agree with each other"
    }

    fn commit(&mut self, view: &View<'_>) -> Verdict {
        self.commits = self.commits.wrapping_add(1);
        if self.commits.is_multiple_of(EVERY) {
            stands(view.run)
        } else {
            Ok(())
        }
    }
}

/// All of it.
pub fn stands(run: &Run) -> Verdict {
    let open: Vec<WorkspaceId> = (0..run.next.workspaces)
        .map(WorkspaceId)
        .filter(|id| run.open(*id).is_some())
        .collect();
    ensure(open.len() == run.open_count as usize, || {
        format!("{} are open, not {}", open.len(), run.open_count)
    })?;
    for id in &open {
        workspace(run, *id)?;
        budget(run, *id)?;
    }
    inboxes(run)?;
    rights(run)?;
    questions(run)?;
    drafts(run)?;
    deadlines(run)?;
    ensure(run.owed.is_empty(), || {
        format!("announced and not made: {:?}", run.owed)
    })
}

fn workspace(run: &Run, id: WorkspaceId) -> Verdict {
    let Some(workspace) = run.open(id) else {
        return Ok(());
    };
    if let Some(parent) = workspace.parent {
        ensure(run.children.contains(&(parent, id)), || {
            format!("{id} is not among the children of {parent}")
        })?;
        // No orphans: a parent that has ended has no children at work.
        ensure(run.open(parent).is_some(), || {
            format!("{id} outlives {parent}")
        })?;
    }
    let range = (id, EnvelopeId(0))..=(id, EnvelopeId(u64::MAX));
    let hindrances = run.inboxes.range(range);
    let hindrances = hindrances.filter(|(_, pending)| pending.is_hindrance());
    ensure(hindrances.count() == workspace.hindrances as usize, || {
        format!("{id} counts {} hindrances", workspace.hindrances)
    })?;
    let migrates = workspace.state == State::Migrating;
    ensure(workspace.migration.is_some() == migrates, || {
        format!("{id} migrates from nobody to nobody")
    })?;
    // Nothing waits for an agent for ever.
    let is_bound = workspace.unbound_since.is_none();
    let waits = |deadline| run.deadlines.iter().any(|(_, other)| *other == deadline);
    let ends = match workspace.state {
        State::Active | State::Blocked | State::Migrating => waits(Deadline::Binding(id)),
        State::Idle => waits(Deadline::Timeout(id)),
        _ => workspace.state == State::Suspended,
    };
    ensure(is_bound || ends || id == WorkspaceId::ROOT, || {
        format!("{id} waits for an agent for ever")
    })?;
    ensure(!is_bound || !migrates, || {
        format!("{id} migrates and expects nobody")
    })?;
    let merges = workspace.state != State::Conflicted || run.merges.contains_key(&id);
    ensure(merges, || format!("{id} is conflicted about no merge"))
}

/// What is promised to children is what they may still use.
fn budget(run: &Run, id: WorkspaceId) -> Verdict {
    let Some(meter) = run.open(id).and_then(|open| open.meter.as_deref()) else {
        return Ok(());
    };
    let at_work =
        |open: &wacp::workspace::Workspace| matches!(open.state, State::Active | State::Blocked);
    let works = run.open(id).is_some_and(at_work);
    for dimension in Dimension::ALL {
        let used = meter.used[dimension as usize];
        let within = meter
            .limits
            .limit(dimension)
            .is_none_or(|limit| used < limit);
        ensure(within || !works || dimension == Dimension::WallTime, || {
            format!("{id} works on and has used {used} of {dimension:?}")
        })?;
        if meter.limits.limit(dimension).is_none() || !dimension.is_shared() {
            continue;
        }
        let unspent = |child: WorkspaceId| {
            let meter = run.open(child).and_then(|open| open.meter.as_deref())?;
            let limit = meter.limits.limit(dimension)?;
            Some(limit.saturating_sub(meter.used[dimension as usize]))
        };
        let promised: Option<u64> = run.open_children(id).map(unspent).sum();
        let reserved = meter.reserved[dimension as usize];
        ensure(promised == Some(reserved), || {
            format!("{id} reserves {reserved} of {dimension:?}, its children {promised:?}")
        })?;
    }
    Ok(())
}

fn inboxes(run: &Run) -> Verdict {
    for ((to, envelope), pending) in &run.inboxes {
        let reads = run
            .open(*to)
            .is_some_and(|open| !matches!(open.state, State::Integrating | State::Conflicted));
        ensure(reads, || {
            format!("{envelope} waits for {to}, which reads nothing")
        })?;
        let asks = |gate| run.gates.contains_key(&gate) || run.escalated_gates.contains_key(&gate);
        ensure(pending.gate().is_none_or(asks), || {
            format!("{envelope} waits for a gate that has answered")
        })?;
        ensure(!pending.unasked, || {
            format!("nobody was asked about {envelope}")
        })?;
    }
    Ok(())
}

fn rights(run: &Run) -> Verdict {
    for (holder, target) in run.rights.keys().chain(run.rights_once.keys()) {
        ensure(
            run.open(*holder).is_some() && run.open(*target).is_some(),
            || format!("{holder} holds a right to {target}, and one of them has ended"),
        )?;
        ensure(run.right_holders.contains(&(*target, *holder)), || {
            format!("the right of {holder} to {target} would not be found")
        })?;
    }
    Ok(())
}

fn questions(run: &Run) -> Verdict {
    for (id, gate) in &run.gates {
        if let Some(workspace) = gate.proposal.workspace() {
            // What failed can be salvaged: whether, and how its conflicts end.
            let salvage = matches!(gate.proposal, Proposal::Salvage { .. })
                && run.state_of(workspace) == Some(State::Failed)
                || run.merges.contains_key(&workspace);
            ensure(run.open(workspace).is_some() || salvage, || {
                format!("{id} asks about {workspace}, which has ended")
            })?;
        }
        let ends = gate
            .timeout_at
            .is_none_or(|at| run.deadlines.contains(&(at, Deadline::Gate(*id))));
        ensure(ends, || format!("{id} has a timeout and no deadline"))?;
    }
    for (signal, escalation) in &run.escalations {
        let workspace = escalation.workspace;
        ensure(run.open(workspace).is_some(), || {
            format!("{signal} escalates for {workspace}, which has ended")
        })?;
    }
    Ok(())
}

/// As long as the run goes on, a draft waits for somebody's word.
fn drafts(run: &Run) -> Verdict {
    if run.open(WorkspaceId::ROOT).is_none() {
        return Ok(());
    }
    for task in &run.tasks {
        let asks = |gate| run.gates.contains_key(&gate) || run.escalated_gates.contains_key(&gate);
        ensure(
            task.status != Status::Draft || task.gate.is_some_and(asks),
            || format!("nobody is asked about the draft {}", task.name),
        )?;
    }
    Ok(())
}

/// Every deadline is about something that waits.
fn deadlines(run: &Run) -> Verdict {
    for (moment, deadline) in &run.deadlines {
        let stands = match deadline {
            Deadline::Gate(id) => run
                .gates
                .get(id)
                .is_some_and(|gate| gate.timeout_at == Some(*moment)),
            Deadline::Escalation(id) => run
                .escalations
                .get(id)
                .is_some_and(|escalation| escalation.timeout_at == Some(*moment)),
            Deadline::Redelivery(to, id) => {
                let paused = run
                    .open(*to)
                    .is_none_or(|open| matches!(open.state, State::Suspended | State::Migrating));
                let pending = run.inboxes.get(&(*to, *id));
                !paused && pending.is_some_and(|pending| pending.attempts() > 0)
            }
            Deadline::Binding(id) => run
                .open(*id)
                .is_some_and(|open| open.unbound_since.is_some()),
            Deadline::Timeout(id)
            | Deadline::WallTime(id)
            | Deadline::WallTimeWarning(id)
            | Deadline::Grace(id)
            | Deadline::Liveness(id) => run.open(*id).is_some(),
        };
        ensure(stands, || format!("{deadline:?} is about nothing"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};
    use trail::Micros;

    /// Each change alone makes the run contradict itself.
    #[test]
    fn a_run_that_contradicts_itself_is_seen() {
        let changes: [fn(&mut Run); 6] = [
            |run| run.open_count += 1,
            |run| run.children.clear(),
            |run| run.right_holders.clear(),
            |run| {
                let nothing = Deadline::Timeout(WorkspaceId(u32::MAX));
                run.deadlines.insert((Micros(1), nothing));
            },
            |run| {
                let signal = wacp::signal::SignalType::Failed;
                run.owed
                    .insert(WorkspaceId(1), wacp::signal::Owed::Signal(signal));
            },
            |run| {
                let (at, right) = run.rights.pop_first().unwrap_or_default();
                run.rights.insert((at.0, WorkspaceId(u32::MAX)), right);
            },
        ];
        for change in changes {
            let mut run = history::busy(300).run;
            assert_eq!(stands(&run), Ok(()));
            change(&mut run);
            assert!(stands(&run).is_err());
        }
    }
}
