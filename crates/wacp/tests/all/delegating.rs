//! Delegation and containment, and what a new workspace must satisfy.

use std::sync::Arc;

use wacp::{
    Actor, Command, Event, Principal, Refusal,
    content::Content,
    envelope::NewEnvelope,
    id::WorkspaceId,
    role::{EnvelopeType, Role},
    signal::SignalType,
    workspace::{
        NewWorkspace, Seen,
        budget::Dimension,
        lifecycle::{Reason, State},
    },
};

use crate::trees::{child, delegate, reason};
use crate::world::{ROOT, World, text};

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
        let new = world.for_free_agent(new);
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
    let command = Command::CreateWorkspace(Box::new(NewWorkspace::worker(parent, "b")));
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

/// WACP §11.3: an identity names one agent, which works in one place at a time.
#[test]
fn an_agent_is_bound_to_one_workspace_at_a_time() {
    let mut world = World::open();
    let first = world.active();
    let second = world.active();
    let taken = world.run.open(first).unwrap().agent.clone();
    let again = |agent: &str| {
        Command::CreateWorkspace(Box::new(NewWorkspace {
            owner: Some(wacp::id::UserId(0)),
            ..NewWorkspace::worker(ROOT, agent)
        }))
    };
    let migrate = |workspace, agent: &str| Command::Migrate {
        workspace,
        new_agent: text(agent),
        reason: text("better"),
    };
    let by = Principal::Coordinator;
    for agent in [&*taken, "coordinator-1"] {
        assert_eq!(world.refused(by, again(agent)), Refusal::AgentBound);
        assert_eq!(
            world.refused(by, migrate(second, agent)),
            Refusal::AgentBound
        );
    }
    // The next agent is spoken for while it is being bound, the old one is
    // free once it is replaced.
    world.ok(by, migrate(first, "next"));
    assert_eq!(world.refused(by, again("next")), Refusal::AgentBound);
    assert_eq!(world.refused(by, again(&taken)), Refusal::AgentBound);
    let bound = Command::CompleteMigration { workspace: first };
    world.ok(Principal::Runtime, bound);
    world.ok(by, again(&taken));
    // A workspace that has ended holds nobody.
    let abort = Command::Abort {
        workspace: first,
        reason: None,
    };
    world.ok(by, abort);
    world.ok(by, again("next"));
}
