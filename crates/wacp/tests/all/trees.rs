//! The tree: ownership, origin, containment, delegation, and who survives whom.

use std::sync::Arc;

use wacp::{
    Command, Principal, Refusal,
    content::Content,
    envelope::NewEnvelope,
    id::{EnvelopeId, Party, WorkspaceId},
    role::EnvelopeType,
    signal::SignalType,
    state::Slot,
    workspace::{
        NewWorkspace, Seen,
        budget::{Budget, Dimension},
        lifecycle::{Reason, State},
    },
};

use crate::world::{ROOT, World, text};

pub fn delegate(world: &mut World) -> WorkspaceId {
    let new = NewWorkspace {
        delegate: true,
        budget: Budget {
            token_limit: Some(100),
            ..Budget::default()
        },
        visibility: Arc::from([Seen::Resource(text("docs/"))]),
        ..world.worker_of(ROOT)
    };
    let id = world.create(new);
    world.direct(id);
    id
}

pub fn tokens(limit: u64) -> Budget {
    Budget {
        token_limit: Some(limit),
        ..Budget::default()
    }
}

pub fn child(parent: WorkspaceId, limit: u64) -> NewWorkspace {
    NewWorkspace {
        budget: tokens(limit),
        ..NewWorkspace::worker(parent, "child")
    }
}

pub fn reason(world: &World, id: WorkspaceId) -> Option<Reason> {
    match world.run.workspace(id) {
        Some(Slot::Ended(ended)) => ended.reason,
        _ => None,
    }
}

#[test]
fn who_sees_a_workspace_through_its_parent_loses_it_when_it_moves_away() {
    let mut world = World::open();
    let bob = world.bob;
    let top = world.create(world.worker_of(ROOT));
    world.direct(top);
    let middle = world.create(world.worker_of(top));
    world.direct(middle);
    let moved = world.create(NewWorkspace {
        owner: Some(bob),
        ..world.worker_of(middle)
    });
    let reader = world.create(NewWorkspace {
        visibility: Arc::from([Seen::Workspace(moved)]),
        ..world.worker_of(top)
    });
    let read = Command::Read {
        workspace: moved,
        resource: None,
    };
    world.ok(Principal::Agent(top), read.clone());
    world.ok(Principal::Agent(reader), read.clone());
    world.ok(
        Principal::Coordinator,
        Command::Abort {
            workspace: middle,
            reason: None,
        },
    );
    assert_eq!(world.run.open(moved).unwrap().parent, Some(ROOT));
    for id in [top, reader] {
        let refusal = world.refused(Principal::Agent(id), read.clone());
        assert_eq!(refusal, Refusal::PermissionDenied);
    }
}

#[test]
fn a_parents_failure_takes_its_own_children_and_hands_others_to_the_root() {
    let mut world = World::open();
    let bob = world.bob;
    let top = delegate(&mut world);
    let make = |world: &mut World, parent, owner| {
        let limit = if parent == top { 30 } else { 10 };
        let id = world.create(NewWorkspace {
            owner,
            ..child(parent, limit)
        });
        world.direct_right(id);
        id
    };
    let same = make(&mut world, top, None);
    let other = make(&mut world, top, Some(bob));
    let under_same = make(&mut world, same, None);
    let other_under_same = make(&mut world, same, Some(bob));
    let under_other = make(&mut world, other, None);
    world.ok(
        Principal::Coordinator,
        Command::Abort {
            workspace: top,
            reason: None,
        },
    );
    assert_eq!(reason(&world, top), Some(Reason::AbortedByCoordinator));
    for id in [same, under_same] {
        assert_eq!(reason(&world, id), Some(Reason::ParentFailed));
    }
    for id in [other, other_under_same] {
        let open = world.run.open(id).expect("survives");
        assert_eq!(open.parent, Some(ROOT));
        assert_eq!(open.owner, Party::User(bob));
        assert_eq!(open.state, State::Active);
    }
    assert_eq!(world.run.open(under_other).unwrap().parent, Some(other));
    assert_eq!(world.count("workspace_reparented"), 2);
}

impl World {
    /// A directive from the root, with a right made for it.
    pub fn direct_right(&mut self, to: WorkspaceId) {
        let command = Command::CreateRight {
            holder: ROOT,
            target: to,
            kind: wacp::right::RightKind::Send,
        };
        self.ok(Principal::Coordinator, command);
        self.direct(to);
    }
}

#[test]
fn the_roots_failure_fails_everyone_whoever_owns_them() {
    let mut world = World::open();
    let bob = world.bob;
    let top = delegate(&mut world);
    let other = world.create(NewWorkspace {
        owner: Some(bob),
        ..child(top, 10)
    });
    let deep = world.idle();
    world.emit(ROOT, SignalType::Failed);
    for id in [top, other, deep] {
        assert_eq!(reason(&world, id), Some(Reason::ParentFailed));
    }
    assert_eq!(world.run.open_count, 0);
    assert!(
        world.run.deadlines.is_empty()
            && world.run.rights.is_empty()
            && world.run.inboxes.is_empty()
    );
}

#[test]
fn complete_is_refused_over_ones_own_children_and_hands_others_over() {
    let mut world = World::open();
    let bob = world.bob;
    let top = delegate(&mut world);
    let own = world.create(child(top, 10));
    let other = world.create(NewWorkspace {
        owner: Some(bob),
        ..child(top, 10)
    });
    let complete = crate::world::emission(SignalType::Complete);
    assert_eq!(
        world.refused(Principal::Agent(top), complete.clone()),
        Refusal::ChildrenOpen
    );
    world.ok(
        Principal::Coordinator,
        Command::Abort {
            workspace: own,
            reason: None,
        },
    );
    world.ok(Principal::Agent(top), complete);
    assert_eq!(world.state(top), State::Integrating);
    assert_eq!(world.run.open(other).unwrap().parent, Some(ROOT));
}

#[test]
fn the_coordinator_gives_an_orphan_a_new_parent_and_nothing_else_moves() {
    let mut world = World::open();
    let top = delegate(&mut world);
    let orphan = world.create(NewWorkspace {
        authority: Arc::from([text("src/x")]),
        ..world_child(&world)
    });
    let reparent = |workspace, parent| Command::Reparent {
        workspace,
        parent,
        reason: text("r"),
    };
    world.ok(Principal::Coordinator, reparent(orphan, top));
    let open = world.run.open(orphan).unwrap();
    assert_eq!(
        (open.parent, open.owner, open.originator),
        (Some(top), Party::User(world.ann), Party::System)
    );
    // Its budget is now carved out of the new parent's.
    let meter = world.run.open(top).unwrap().meter.as_deref().unwrap();
    assert_eq!(
        meter.remaining(Dimension::Tokens, &Default::default()),
        Some(60)
    );
    let coordinator = Principal::Coordinator;
    assert_eq!(
        world.refused(coordinator, reparent(orphan, ROOT)),
        Refusal::InvalidState
    );
    assert_eq!(
        world.refused(coordinator, reparent(top, orphan)),
        Refusal::ParentCycle
    );
    assert_eq!(
        world.refused(coordinator, reparent(ROOT, top)),
        Refusal::RootIsFixed
    );
    assert_eq!(
        world.refused(coordinator, reparent(WorkspaceId(99), top)),
        Refusal::TargetNotFound
    );
    let loose = world.idle();
    assert_eq!(
        world.refused(coordinator, reparent(loose, top)),
        Refusal::BudgetNotContained(Dimension::Tokens)
    );
}

fn world_child(world: &World) -> NewWorkspace {
    NewWorkspace {
        owner: Some(world.ann),
        ..child(ROOT, 40)
    }
}

#[test]
fn owners_are_named_or_inherited_and_a_transfer_moves_one_workspace_alone() {
    let mut world = World::open();
    let (ann, bob) = (world.ann, world.bob);
    let nobody = NewWorkspace::worker(ROOT, "a");
    let create = |new: NewWorkspace| Command::CreateWorkspace(Box::new(new));
    assert_eq!(
        world.refused(Principal::Coordinator, create(nobody)),
        Refusal::OwnerRequired
    );
    let top = delegate(&mut world);
    let inherited = world.create(child(top, 10));
    assert_eq!(world.run.open(inherited).unwrap().owner, Party::User(ann));
    let transfer = Command::TransferOwnership {
        workspace: top,
        to: bob,
        reason: None,
    };
    world.ok(Principal::Coordinator, transfer);
    assert_eq!(world.run.open(top).unwrap().owner, Party::User(bob));
    assert_eq!(world.run.open(top).unwrap().originator, Party::System);
    assert_eq!(world.run.open(inherited).unwrap().owner, Party::User(ann));
    let root = Command::TransferOwnership {
        workspace: ROOT,
        to: bob,
        reason: None,
    };
    assert_eq!(
        world.refused(Principal::Coordinator, root),
        Refusal::RootIsFixed
    );
}

#[test]
fn an_injection_makes_a_causal_root_and_everything_below_inherits_it() {
    let mut world = World::open();
    let bob = world.bob;
    let wish = NewEnvelope::to(ROOT, EnvelopeType::Directive, Content::markdown("please"));
    let cause = EnvelopeId(world.run.next.envelopes);
    world.ok(Principal::User(bob), Command::Inject(Box::new(wish)));
    let new = NewWorkspace {
        cause: Some(cause),
        delegate: true,
        ..NewWorkspace::worker(ROOT, "a")
    };
    let top = world.create(new);
    world.direct(top);
    let open = world.run.open(top).unwrap();
    assert_eq!(
        (open.originator, open.owner),
        (Party::User(bob), Party::User(bob))
    );
    let ann = world.ann;
    let below = world.create(NewWorkspace {
        owner: Some(ann),
        ..NewWorkspace::worker(top, "b")
    });
    assert_eq!(world.run.open(below).unwrap().originator, Party::User(bob));
    let fake = NewWorkspace {
        cause: Some(EnvelopeId(0)),
        ..NewWorkspace::worker(ROOT, "c")
    };
    let refused = world.refused(
        Principal::Coordinator,
        Command::CreateWorkspace(Box::new(fake)),
    );
    assert_eq!(refused, Refusal::UnknownCause);
}
