//! The tree: ownership, origin, containment, delegation, and who survives whom.

use std::sync::Arc;

use wacp::{
    Actor, Command, Event, Principal, Refusal,
    content::Content,
    envelope::NewEnvelope,
    id::{EnvelopeId, Party, WorkspaceId},
    role::{EnvelopeType, Role},
    signal::SignalType,
    state::Slot,
    workspace::{
        NewWorkspace, Seen,
        budget::{Budget, Dimension},
        lifecycle::{Reason, State},
    },
};

use crate::world::{ROOT, World, text};

fn delegate(world: &mut World) -> WorkspaceId {
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

fn tokens(limit: u64) -> Budget {
    Budget {
        token_limit: Some(limit),
        ..Budget::default()
    }
}

fn child(parent: WorkspaceId, limit: u64) -> NewWorkspace {
    NewWorkspace {
        budget: tokens(limit),
        ..NewWorkspace::worker(parent, "child")
    }
}

fn reason(world: &World, id: WorkspaceId) -> Option<Reason> {
    match world.run.workspace(id) {
        Some(Slot::Ended(ended)) => ended.reason,
        _ => None,
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
    fn direct_right(&mut self, to: WorkspaceId) {
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
    assert_eq!(meter.remaining(Dimension::Tokens), Some(60));
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
        ..NewWorkspace::worker(ROOT, "a")
    };
    let refused = world.refused(
        Principal::Coordinator,
        Command::CreateWorkspace(Box::new(fake)),
    );
    assert_eq!(refused, Refusal::UnknownCause);
}

#[test]
fn a_delegate_creates_directs_and_integrates_its_children_and_nothing_more() {
    let mut world = World::open();
    let top = delegate(&mut world);
    let agent = Principal::Agent(top);
    let id = WorkspaceId(world.run.next.workspaces);
    world.ok(agent, Command::CreateWorkspace(Box::new(child(top, 60))));
    let directive = NewEnvelope::to(id, EnvelopeType::Directive, Content::markdown("do"));
    world.ok(agent, Command::Send(Box::new(directive)));
    assert_eq!(world.state(id), State::Active);
    let query = NewEnvelope::to(top, EnvelopeType::Query, Content::markdown("how?"));
    world.ok(Principal::Agent(id), Command::Send(Box::new(query)));
    world.checkpoint(id, vec![]);
    world.emit(id, SignalType::Complete);
    let accept = wacp::integration::Acceptance::of(id, wacp::integration::Strategy::Direct);
    let entries = world.ok(agent, Command::Accept(Box::new(accept)));
    assert!(
        entries
            .iter()
            .any(|entry| entry.actor == Actor::Role(Role::Worker))
    );
    assert_eq!(world.state(id), State::Closed);

    let other = world.active();
    let group = text("g");
    let denied = [
        Command::Abort {
            workspace: other,
            reason: None,
        },
        Command::Suspend {
            workspace: other,
            reason: text("r"),
        },
        Command::Resume { workspace: other },
        Command::Migrate {
            workspace: other,
            new_agent: text("b"),
            reason: text("r"),
        },
        Command::SetPriority {
            workspace: other,
            priority: wacp::workspace::Band::Critical,
        },
        Command::SetGroupPriority {
            group: group.clone(),
            priority: wacp::workspace::Band::Critical,
        },
        Command::AbortGroup { group },
        Command::RaiseBudget {
            workspace: other,
            dimension: Dimension::Tokens,
            limit: 9,
        },
        Command::TransferOwnership {
            workspace: other,
            to: world.bob,
            reason: None,
        },
        Command::Reparent {
            workspace: other,
            parent: top,
            reason: text("r"),
        },
        Command::CreateRight {
            holder: top,
            target: other,
            kind: wacp::right::RightKind::Send,
        },
        Command::RevokeRight {
            holder: ROOT,
            target: other,
            kind: wacp::right::RightKind::Send,
        },
        Command::GrantVisibility {
            workspace: other,
            targets: Arc::from([]),
            reason: None,
        },
        Command::GrantAuthority {
            workspace: other,
            resources: Arc::from([]),
        },
        Command::ApproveDelegation { delegate: top },
        Command::CreateWorkspace(Box::new(world.worker_of(ROOT))),
        Command::Revise { workspace: other },
        Command::SubmitGraph(wacp::task::NewGraph {
            root: 0,
            tasks: vec![],
        }),
        Command::ShutDown { forced: true },
        Command::Tick,
    ];
    for command in denied {
        let name = command.name();
        let before = world.count("capability_denied");
        assert_eq!(
            world.refused(agent, command),
            Refusal::PermissionDenied,
            "{name}"
        );
        assert_eq!(
            world.count("capability_denied"),
            before + 1,
            "{name} is recorded"
        );
    }
}

#[test]
fn a_child_is_contained_in_visibility_authority_and_budget() {
    let mut world = World::open();
    let top = delegate(&mut world);
    let stranger = world.idle();
    let sibling = world.create(child(top, 10));
    let create = |new: NewWorkspace| Command::CreateWorkspace(Box::new(new));
    let agent = Principal::Agent(top);
    let see = |seen: Seen| NewWorkspace {
        visibility: Arc::from([seen]),
        ..child(top, 1)
    };
    let own = |resource: &str| NewWorkspace {
        authority: Arc::from([text(resource)]),
        ..child(top, 1)
    };
    let cases = [
        (
            see(Seen::Workspace(stranger)),
            Some(Refusal::VisibilityNotContained),
        ),
        (see(Seen::Workspace(sibling)), None),
        (see(Seen::Workspace(top)), None),
        (see(Seen::Resource(text("docs/a"))), None),
        (
            see(Seen::Resource(text("secret"))),
            Some(Refusal::VisibilityNotContained),
        ),
        (own("src/a"), None),
        (own("etc/"), Some(Refusal::AuthorityNotContained)),
        (
            child(top, 1000),
            Some(Refusal::BudgetNotContained(Dimension::Tokens)),
        ),
        (
            NewWorkspace::worker(top, "a"),
            Some(Refusal::BudgetNotContained(Dimension::Tokens)),
        ),
        (
            NewWorkspace {
                delegate: true,
                ..child(top, 1)
            },
            Some(Refusal::DelegationNotApproved),
        ),
    ];
    for (new, expected) in cases {
        let shown = format!("{new:?}");
        let before = world.count("workspace_rejected");
        match (world.attempt(agent, create(new)), expected) {
            (Ok(_), None) => {}
            (Err(found), Some(expected)) => {
                assert_eq!(found, expected, "{shown}");
                assert_eq!(world.count("workspace_rejected"), before + 1);
            }
            (result, _) => panic!("{shown}: {result:?}"),
        }
    }
    // With the root coordinator's approval a delegate makes delegates.
    world.ok(
        Principal::Coordinator,
        Command::ApproveDelegation { delegate: top },
    );
    world.ok(
        agent,
        create(NewWorkspace {
            delegate: true,
            ..child(top, 1)
        }),
    );
}

#[test]
fn a_new_workspace_must_make_sense() {
    let mut world = World::open();
    let closed = world.in_state(State::Closed);
    let good = world.worker_of(ROOT);
    let cases = [
        (
            NewWorkspace {
                role: Role::Coordinator,
                ..good.clone()
            },
            Refusal::UnknownRole,
        ),
        (
            NewWorkspace {
                role: Role::Derived(7),
                ..good.clone()
            },
            Refusal::UnknownRole,
        ),
        (
            NewWorkspace {
                timeout_us: 0,
                ..good.clone()
            },
            Refusal::TimeoutRequired,
        ),
        (
            NewWorkspace {
                agent: text(""),
                ..good.clone()
            },
            Refusal::AgentRequired,
        ),
        (
            NewWorkspace {
                agent: text(&"a".repeat(2000)),
                ..good.clone()
            },
            Refusal::TooLong,
        ),
        (
            NewWorkspace {
                parent: WorkspaceId(77),
                ..good.clone()
            },
            Refusal::TargetNotFound,
        ),
        (
            NewWorkspace {
                parent: closed,
                ..good.clone()
            },
            Refusal::TargetTerminal,
        ),
        (
            NewWorkspace {
                owner: Some(wacp::id::UserId(9)),
                ..good.clone()
            },
            Refusal::UnknownUser,
        ),
        (
            NewWorkspace {
                task: Some(wacp::id::TaskId(9)),
                ..good.clone()
            },
            Refusal::UnknownTask,
        ),
    ];
    for (new, expected) in cases {
        let command = Command::CreateWorkspace(Box::new(new));
        assert_eq!(world.refused(Principal::Coordinator, command), expected);
        assert_eq!(world.last_types(1), ["workspace_rejected"]);
    }
    let ann = world.ann;
    world.ok(
        Principal::Operator,
        Command::ChangeUser {
            user: ann,
            change: wacp::user::UserChange::Suspend,
            reason: None,
        },
    );
    let command = Command::CreateWorkspace(Box::new(good));
    assert_eq!(
        world.refused(Principal::Coordinator, command),
        Refusal::UserNotActive
    );
}

#[test]
fn capacity_and_depth_have_an_end() {
    let limits = wacp::workspace::Limits {
        max_open_workspaces: 3,
        ..Default::default()
    };
    let mut world = World::started(
        wacp::gate::config::Highway::open(),
        limits,
        wacp::role::Taxonomy::base(),
    );
    world.idle();
    world.idle();
    let command = Command::CreateWorkspace(Box::new(world.worker_of(ROOT)));
    assert_eq!(
        world.refused(Principal::Coordinator, command),
        Refusal::CapacityExhausted
    );

    let mut world = World::open();
    let mut parent = ROOT;
    for _ in 0..wacp::workspace::MAX_DEPTH {
        let id = world.create(NewWorkspace {
            owner: Some(world.ann),
            ..NewWorkspace::worker(parent, "a")
        });
        world.direct_right(id);
        parent = id;
    }
    let command = Command::CreateWorkspace(Box::new(NewWorkspace::worker(parent, "a")));
    assert_eq!(
        world.refused(Principal::Coordinator, command),
        Refusal::TreeTooDeep
    );
}

#[test]
fn reading_follows_visibility_and_a_denial_is_recorded() {
    let mut world = World::open();
    let top = delegate(&mut world);
    let below = world.create(child(top, 5));
    let stranger = world.active();
    let read = |workspace| Command::Read {
        workspace,
        resource: None,
    };
    let cases = [
        (top, below, true),
        (top, top, true),
        (below, top, false),
        (stranger, top, false),
        (top, stranger, false),
    ];
    for (viewer, target, may) in cases {
        let before = world.entries.len();
        let result = world.attempt(Principal::Agent(viewer), read(target));
        assert_eq!(result.is_ok(), may, "{viewer} reads {target}");
        assert_eq!(
            world.entries.len() - before,
            usize::from(!may),
            "seeing leaves no trace"
        );
    }
    let grant = Command::GrantVisibility {
        workspace: stranger,
        targets: Arc::from([Seen::Workspace(top)]),
        reason: Some(text("needs it")),
    };
    world.ok(Principal::Coordinator, grant);
    world.ok(Principal::Agent(stranger), read(top));
}

#[test]
fn groups_are_aborted_and_moved_together_and_ended_members_are_skipped() {
    let mut world = World::open();
    let make = |world: &mut World| {
        let id = world.create(NewWorkspace {
            group: Some(text("g")),
            ..world.worker_of(ROOT)
        });
        world.direct(id);
        id
    };
    let (a, b, c) = (make(&mut world), make(&mut world), make(&mut world));
    world.ok(
        Principal::Coordinator,
        Command::Abort {
            workspace: a,
            reason: None,
        },
    );
    let priority = wacp::workspace::Band::Critical;
    let entries = world.ok(
        Principal::Coordinator,
        Command::SetGroupPriority {
            group: text("g"),
            priority,
        },
    );
    assert!(
        matches!(&entries[0].event, Event::BatchPriorityChanged(e) if e.affected.len() == 2 && e.skipped == 1)
    );
    assert_eq!(world.run.open(b).unwrap().priority, priority);
    let entries = world.ok(
        Principal::Coordinator,
        Command::AbortGroup { group: text("g") },
    );
    assert!(
        matches!(&entries[0].event, Event::BatchAbort(e) if *e.affected == [b, c] && e.skipped == 1)
    );
    assert_eq!(reason(&world, b), Some(Reason::BatchAbort));
    let unknown = Command::AbortGroup { group: text("h") };
    assert_eq!(
        world.refused(Principal::Coordinator, unknown),
        Refusal::UnknownGroup
    );
}
