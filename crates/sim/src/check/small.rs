//! What has ended takes little room: a few words, and the checkpoints of what
//! failed, for salvage.

use wacp::{Run, id::WorkspaceId, integration::Mode, state::Slot, workspace::lifecycle::State};

use super::{Checker, Verdict, View, ensure};

/// An ended workspace, spelled, without its checkpoints.
const MOST_BYTES: usize = 320;

#[derive(Debug, Default)]
pub struct Small;

fn slots(run: &Run) -> Verdict {
    for (id, slot) in (0u32..).map(WorkspaceId).zip(&run.workspaces) {
        let Slot::Ended(ended) = slot else {
            continue;
        };
        let keeps = ended.register.is_some();
        ensure(!keeps || ended.state == State::Failed, || {
            format!("{id} has closed and keeps its checkpoints")
        })?;
        if !keeps {
            let text = serde_json::to_string(ended).map_err(|error| error.to_string())?;
            ensure(text.len() <= MOST_BYTES, || {
                format!("{id} has ended and takes {} bytes", text.len())
            })?;
        }
    }
    Ok(())
}

/// Nothing that is kept speaks of a workspace that has ended.
fn mentions(run: &Run) -> Verdict {
    let open = |id: &WorkspaceId| run.open(*id).is_some();
    let gone = |what: &str, id: &WorkspaceId| format!("{what} speaks of {id}, which has ended");
    for (parent, child) in &run.children {
        ensure(open(child) && open(parent), || gone("the tree", child))?;
    }
    for (_, id) in &run.groups {
        ensure(open(id), || gone("a group", id))?;
    }
    for (parent, _) in run.queued_signals.keys() {
        ensure(open(parent), || gone("a signal", parent))?;
    }
    for id in run.owed.keys() {
        ensure(open(id), || gone("an announcement", id))?;
    }
    for (target, _) in run.merged.keys() {
        let stays = *target == WorkspaceId::ROOT;
        ensure(stays || open(target), || gone("a merge", target))?;
    }
    for (source, merge) in &run.merges {
        let stands = open(source) || merge.mode == Mode::Salvage;
        ensure(stands && open(&merge.target), || gone("a merge", source))?;
    }
    Ok(())
}

impl Checker for Small {
    fn claim(&self) -> &'static str {
        "what has ended takes little room"
    }

    fn interval(&mut self, view: &View<'_>) -> Verdict {
        slots(view.run)?;
        mentions(view.run)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};
    use wacp::{checkpoint::Register, role::Text};

    #[test]
    fn what_is_kept_without_need_is_seen() {
        let mut world = history::such(600, |world| {
            let mut slots = world.run.workspaces.iter();
            slots.any(|slot| matches!(slot, Slot::Ended(_)))
        });
        assert_eq!(Small.interval(&history::view(&world)), Ok(()));
        let slots = (0u32..).map(WorkspaceId).zip(&mut world.run.workspaces);
        let ended = slots.filter_map(|(id, slot)| match slot {
            Slot::Ended(ended) => Some((id, ended)),
            Slot::Open(_) => None,
        });
        let (id, ended) = ended.last().unwrap();
        let before = ended.clone();
        ended.state = State::Closed;
        ended.register = Some(Box::<Register>::default());
        assert!(Small.interval(&history::view(&world)).is_err());
        world.run.workspaces[id.0 as usize] = Slot::Ended(before);
        assert_eq!(Small.interval(&history::view(&world)), Ok(()));
        world.run.groups.insert((Text::from("g"), id));
        assert!(Small.interval(&history::view(&world)).is_err());
    }
}
