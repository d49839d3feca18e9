//! A run loaded from a snapshot, and what of the past stays readable.

use wacp::{
    Command, Principal, Run,
    id::WorkspaceId,
    integration::{Acceptance, Strategy},
    query::past::{Past, Received, trails},
    recovery::{rebuild, resume},
    signal::SignalType,
    snapshot,
    workspace::{NewWorkspace, lifecycle::State},
};

use crate::world::{ROOT, World, artifact};

/// A delegate that made a file, took over that of its child, and was merged.
fn merged_twice() -> (World, WorkspaceId, WorkspaceId) {
    let mut world = World::open();
    let delegate = world.create(NewWorkspace {
        delegate: true,
        ..world.worker_of(ROOT)
    });
    world.direct(delegate);
    let child = world.create(world.worker_of(delegate));
    world.direct(child);
    for (id, file) in [(delegate, "src/own"), (child, "src/child")] {
        let made = vec![artifact(file, None, "1")];
        world.checkpoint(id, made);
    }
    for id in [child, delegate] {
        world.emit(id, SignalType::Complete);
        let accept = Acceptance::of(id, Strategy::Direct);
        world.ok(Principal::Coordinator, Command::Accept(Box::new(accept)));
        assert_eq!(world.state(id), State::Closed);
    }
    (world, delegate, child)
}

fn past(world: &World, id: WorkspaceId) -> Past {
    let trails = trails(&world.run, id);
    let mut past = Past::new(&world.run, id);
    let told = world.entries.iter();
    told.filter(|entry| trails.contains(&entry.workspace))
        .for_each(|entry| past.push(entry));
    past
}

#[test]
fn what_an_ended_workspace_was_and_held_stays_readable() {
    let (world, delegate, child) = merged_twice();
    let past = past(&world, delegate);
    let open = past.workspace().unwrap();
    assert_eq!(open.state, State::Closed);
    assert_eq!(open.register.chain.len(), 1);
    assert_eq!(&*open.authority, &*world.worker_of(ROOT).authority);
    let files: Vec<_> = past
        .files()
        .map(|(file, of)| (&**file, of.source))
        .collect();
    assert_eq!(files, [("src/child", child), ("src/own", delegate)]);
    assert!(past.inbox().values().all(|it| *it == Received::Taken));
    assert_eq!(past.inbox().len(), 1);
    let own = world.entries.iter();
    let own = own.filter(|entry| entry.workspace == Some(delegate));
    assert_eq!(past.entries(), own.count() as u64);
}

#[test]
fn what_the_root_holds_is_the_result_and_stays_in_the_state() {
    let (mut world, ..) = merged_twice();
    let forced = false;
    world.ok(Principal::Runtime, Command::ShutDown { forced });
    let held = world.run.merged.keys();
    let held: Vec<_> = held.map(|(by, file)| (*by, &**file)).collect();
    assert_eq!(held, [(ROOT, "src/own")]);
}

#[test]
fn a_snapshot_and_the_entries_after_it_are_the_run_and_are_examined_alike() {
    let (world, ..) = merged_twice();
    let cut = world.entries.len() / 2;
    let (before, after) = world.entries.split_at(cut);
    let bytes = snapshot::write(&rebuild(before).unwrap().run);
    let read = || snapshot::read(&bytes, snapshot::hash(&bytes)).unwrap();
    let resumed = resume(read(), after).unwrap();
    assert!(resumed.run == world.run && resumed.quarantined.is_empty());
    assert_eq!(resumed.examined, after.len() as u64);
    assert_eq!(snapshot::write(&resumed.run), snapshot::write(&world.run));
    // An entry from before it stands there again: it is too late for it.
    let mut damaged = after.to_vec();
    damaged.insert(1, before[cut - 1].clone());
    let resumed = resume(read(), &damaged).unwrap();
    assert_eq!(resumed.quarantined, [1]);
    assert!(resumed.run == world.run);
    assert!(resume(read(), []).unwrap().run != Run::default());
}
