//! What the trail tells of a workspace is what the state says of it, and what it
//! held when it ended stays readable (WACP §6.1).

use wacp::{
    Run,
    id::WorkspaceId,
    query::past::{Past, Received, trails},
    workspace::{Workspace, budget::Dimension},
};

use super::{Checker, Verdict, View, ensure};

#[derive(Debug, Default)]
pub struct PastIsPresent {
    /// Whose turn it is: one workspace at each look.
    turn: u32,
}

/// The workspace as the trail tells of it.
fn told(view: &View<'_>, id: WorkspaceId) -> Past {
    let trails = trails(view.run, id);
    let mut past = Past::new(view.run, id);
    for entry in view.log.iter() {
        if trails.contains(&entry.workspace) {
            past.push(entry);
        }
    }
    past
}

/// The workspace without what only the whole run tells: questions about it, and
/// what others used of its budget.
fn alone(open: &Workspace) -> Workspace {
    let mut alone = open.clone();
    (alone.gates, alone.escalations) = (Vec::new(), Vec::new());
    alone.hindrances = 0;
    alone.taken = Default::default();
    if let Some(meter) = &mut alone.meter {
        meter.used = Default::default();
        meter.reserved = Default::default();
    }
    alone
}

/// A warning of a workspace above tells what this one used by then, so its own
/// trail may tell less, and never more.
fn is_less_told(told: &mut Workspace, open: &Workspace) -> bool {
    let (Some(told), Some(known)) = (&mut told.meter, &open.meter) else {
        return told.meter.is_none() && open.meter.is_none();
    };
    for dimension in [
        Dimension::Tokens,
        Dimension::Context,
        Dimension::Cost,
        Dimension::TrailBytes,
    ] {
        let at = dimension as usize;
        if told.own[at] > known.own[at] {
            return false;
        }
        told.own[at] = known.own[at];
    }
    true
}

fn is_present(run: &Run, past: &Past, id: WorkspaceId) -> Verdict {
    let (Some(open), Some(told)) = (run.open(id), past.workspace()) else {
        return Err(format!("the trail tells nothing of {id}"));
    };
    let mut told = alone(told);
    ensure(is_less_told(&mut told, open), || {
        format!("{id} used less than its trail tells")
    })?;
    ensure(told == alone(open), || {
        format!("{id} is {open:?}, and its trail tells {told:?}")
    })?;
    let held = run.merged.iter().filter(|((by, _), _)| *by == id);
    let held = held.map(|((_, resource), merged)| (resource, merged));
    ensure(past.files().eq(held), || {
        format!("{id} holds other files than its trail tells")
    })?;
    let waiting = past.inbox().iter();
    let waiting = waiting.filter(|(_, received)| **received == Received::Waits);
    let inbox = run.inboxes.iter().filter(|((to, _), _)| *to == id);
    let delivered = inbox.filter(|(_, pending)| pending.attempts() > 0);
    let delivered = delivered.map(|((_, envelope), _)| envelope);
    ensure(waiting.map(|(envelope, _)| envelope).eq(delivered), || {
        format!("the inbox of {id} is another than its trail tells")
    })
}

impl Checker for PastIsPresent {
    fn claim(&self) -> &'static str {
        "what the trail tells of a workspace is what it is"
    }

    fn interval(&mut self, view: &View<'_>) -> Verdict {
        let count = view.run.next.workspaces;
        let mut after = (1..=count).map(|more| WorkspaceId((self.turn + more) % count));
        let Some(id) = after.find(|id| view.run.open(*id).is_some()) else {
            return Ok(());
        };
        self.turn = id.0;
        is_present(view.run, &told(view, id), id)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};

    #[test]
    fn a_workspace_that_is_not_what_its_trail_tells_is_seen() {
        let mut world = history::busy(400);
        let ids = (0..world.run.next.workspaces).map(WorkspaceId);
        let open: Vec<_> = ids.filter(|id| world.run.open(*id).is_some()).collect();
        for id in &open {
            let past = told(&history::view(&world), *id);
            assert_eq!(is_present(&world.run, &past, *id), Ok(()));
        }
        let id = open[1];
        let past = told(&history::view(&world), id);
        if let Some(wacp::state::Slot::Open(open)) = world.run.workspaces.get_mut(id.0 as usize) {
            open.timed_us += 1;
        }
        assert!(is_present(&world.run, &past, id).is_err());
    }
}
