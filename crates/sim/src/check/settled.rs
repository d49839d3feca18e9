//! When a run has ended, nothing is left open in it.

use wacp::{Run, id::WorkspaceId};

use super::{Checker, Verdict, View, ensure};

#[derive(Debug, Default)]
pub struct Settled;

fn left(run: &Run) -> Vec<(&'static str, usize)> {
    let all = [
        ("workspaces", run.open_count as usize),
        ("gates", run.gates.len()),
        ("questions", run.gate_subjects.len()),
        ("handed over", run.escalated_gates.len()),
        ("guards", run.guard.len()),
        ("escalations", run.escalations.len()),
        ("envelopes", run.inboxes.len()),
        ("deadlines", run.deadlines.len()),
        ("rights", run.rights.len()),
        ("rights to use once", run.rights_once.len()),
        ("right holders", run.right_holders.len()),
        ("children", run.children.len()),
        ("group members", run.groups.len()),
        ("signals", run.queued_signals.len()),
        ("merges", run.merges.len()),
        ("merge targets", run.merge_targets.len()),
        // What the root holds is the result.
        (
            "merged",
            run.merged
                .keys()
                .filter(|(id, _)| *id != WorkspaceId::ROOT)
                .count(),
        ),
        ("announcements", run.owed.len()),
    ];
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

impl Checker for Settled {
    fn claim(&self) -> &'static str {
        "the end of a run leaves nothing open"
    }

    fn end(&mut self, view: &View<'_>) -> Verdict {
        let left = left(view.run);
        ensure(left.is_empty(), || format!("{left:?} are left"))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};

    #[test]
    fn a_run_at_work_is_not_settled() {
        let world = history::busy(200);
        assert!(Settled.end(&history::view(&world)).is_err());
    }
}
