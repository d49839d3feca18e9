//! Each command of the core, by each principal: admitted as the table says.

use serde_json::{Value, json};
use trail::Hash;
use wacp::{
    Command, Principal, Refusal,
    command::Compaction,
    content::Content,
    escalation,
    event::Damaged,
    gate::{Answer, config::Highway},
    id::{GateId, SignalId, WorkspaceId},
    integrity::nonce,
    role::Taxonomy,
    wire::{
        Context, Defaults,
        access::{ACCESS, Access, Asker, Way},
        kind::{Kind, Thing},
        names, order, proof,
    },
    workspace::{Limits, NewRun, NewWorkspace},
};

use super::{door::Cellar, least};
use crate::world::{ROOT, World, text};

/// A delegate at work, another beneath it, and people.
fn world() -> World {
    let mut world = World::open();
    let lead = world.create(NewWorkspace {
        delegate: true,
        ..world.worker_of(ROOT)
    });
    world.direct(lead);
    world.create(world.worker_of(lead));
    world
}

fn principal(asker: Asker, world: &World) -> Principal {
    match asker {
        Asker::Coordinator => Principal::Coordinator,
        Asker::Agent => Principal::Agent(WorkspaceId(1)),
        Asker::Person => Principal::User(world.bob),
        Asker::Meter => Principal::Meter,
        Asker::Operator => Principal::Operator,
        Asker::Runtime => Principal::Runtime,
    }
}

/// The order as whoever sends it spells it, about what is theirs.
fn sent(name: &str, by: Principal, world: &World) -> Command {
    let keys = order::keys(name);
    let mut sent = least(&keys);
    for key in &keys {
        if key.required && key.kind == Kind::Id(Thing::Workspace) {
            sent.insert(key.name.to_owned(), json!("w2"));
        }
    }
    let context = Context {
        run: &world.run,
        by,
        names: &names::Door {
            run: &world.run,
            made: &Default::default(),
        },
        shelf: &Cellar::default(),
        defaults: Defaults::default(),
    };
    let more = match name {
        "acknowledge" if context.own().is_none() => ("workspace", json!("w2")),
        "change_user" => ("change", json!("deactivate")),
        _ => ("do", json!(name)),
    };
    sent.insert(more.0.to_owned(), more.1);
    sent.insert("do".into(), json!(name));
    let mut order = Value::Object(sent).as_object().cloned().unwrap();
    let contents = wacp::wire::content::prepare(&mut order, by).unwrap();
    let mut cellar = Cellar::default();
    cellar.keep(contents);
    let context = Context {
        shelf: &cellar,
        ..context
    };
    let mut command =
        order::command(&context, &order).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    let from = context.own().unwrap_or_default();
    proof::prove(&mut command, from, &[7; 32], nonce(b"once"));
    command
}

/// The command that reaches the core by another way.
fn other(name: &str, by: Principal) -> Command {
    let workspace = match by {
        Principal::Agent(id) => id,
        _ => WorkspaceId(2),
    };
    let hash = Hash::ZERO;
    let words = || text("words");
    let user = wacp::id::UserId(0);
    match name {
        "start_run" => Command::StartRun(Box::new(NewRun {
            agent: words(),
            directive: Content::markdown("x"),
            highway: Highway::default(),
            limits: Limits::default(),
            taxonomy: Taxonomy::base(),
        })),
        "tick" => Command::Tick,
        "complete_migration" => Command::CompleteMigration { workspace },
        "fail_migration" => Command::FailMigration {
            workspace,
            error: words(),
        },
        "fail_creation" => Command::FailCreation { workspace },
        "report_violation" => Command::ReportViolation {
            workspace,
            subject: Damaged::NewEnvelope,
        },
        "recover" => Command::Recover {
            downtime_us: 0,
            examined: 0,
            quarantined: 0,
        },
        "report_degradation" => Command::ReportDegradation {
            reason: words(),
            coordinator_action: None,
            affected: [].into(),
        },
        "compact" => Command::Compact(Compaction {
            workspace,
            archived: 0,
            preserved: 0,
            from: 0,
            to: 0,
            hash,
        }),
        "record_snapshot" => Command::RecordSnapshot { state_hash: hash },
        "record_authentication_failure" => Command::RecordAuthenticationFailure {
            entity: words(),
            context: words(),
            reason: words(),
            source: words(),
        },
        "record_authentication" => Command::RecordAuthentication {
            user,
            method: words(),
        },
        "read" => Command::Read {
            workspace,
            resource: None,
        },
        "read_trail" => Command::ReadTrail {
            workspace: Some(workspace),
        },
        "resolve_gate" => Command::ResolveGate {
            gate: GateId(9),
            answer: Answer::Approve,
            modification: None,
        },
        "answer_escalation" => Command::AnswerEscalation {
            signal: SignalId(9),
            answer: escalation::Answer::Delegate,
        },
        "create_user" => Command::CreateUser { name: words() },
        other => panic!("{other} is sent, or not known here"),
    }
}

#[test]
fn each_command_is_reachable_by_exactly_the_principals_that_may_give_it() {
    for access in ACCESS {
        for asker in Asker::ALL {
            let mut world = world();
            let by = principal(asker, &world);
            let command = match access.way {
                Way::Order => sent(access.name, by, &world),
                _ => other(access.name, by),
            };
            assert_eq!(command.name(), access.name);
            let refused = world.attempt(by, command).err();
            // Who has every capability and lacks one is asked for none there is.
            let is_denied = matches!(
                refused,
                Some(Refusal::PermissionDenied | Refusal::MissingCapability | Refusal::OutOfScope)
            );
            assert_eq!(
                access.admits(asker),
                !is_denied,
                "{} by {}: {refused:?}",
                access.name,
                asker.as_str()
            );
        }
    }
}

#[test]
fn no_order_is_the_runtimes_alone_and_people_answer_in_the_inbox_alone() {
    for access in ACCESS {
        let others = access.by.iter().any(|asker| *asker != Asker::Runtime);
        match access.way {
            Way::Order => assert!(others, "{}", access.name),
            Way::Inbox => assert_eq!(access.by, [Asker::Person], "{}", access.name),
            Way::Read => assert!(access.admits(Asker::Person), "{}", access.name),
            Way::Server => assert!(access.admits(Asker::Runtime), "{}", access.name),
        }
    }
    let way = |name| Access::of(name).map(|access| access.way);
    assert_eq!(way("resolve_gate"), Some(Way::Inbox));
    assert_eq!(way("recover"), Some(Way::Server));
}
