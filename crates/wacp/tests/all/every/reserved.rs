//! Orders that are the coordinator's or the runtime's, given by a worker and by
//! people who are not known (WACP §5.2, §11.8).

use wacp::{
    Command, Principal, Refusal,
    id::{GateId, UserId},
    right::RightKind,
    workspace::{Band, lifecycle::State},
};

use crate::{
    orders::{reparent, salvage},
    world::{ROOT, World, text},
};

#[test]
fn what_is_the_coordinators_or_the_runtimes_is_denied_to_a_worker() {
    let mut world = World::open();
    let failed = world.in_state(State::Failed);
    let parent = world.in_state(State::Active);
    let migrating = world.in_state(State::Migrating);
    let worker = world.active();
    let priority = Band::Critical;
    for command in [
        Command::RevokeRight {
            holder: worker,
            target: ROOT,
            kind: RightKind::Send,
        },
        Command::DecideGate {
            gate: GateId(9),
            proceed: true,
        },
        Command::SetPriority {
            workspace: worker,
            priority,
        },
        Command::SetGroupPriority {
            group: text("g"),
            priority,
        },
        Command::Salvage(Box::new(salvage(failed))),
        reparent(worker, parent),
        Command::AbortGroup { group: text("g") },
        Command::FailMigration {
            workspace: migrating,
            error: text("it did not start"),
        },
        Command::Tick,
    ] {
        let name = command.name();
        let refusal = world.refused(Principal::Agent(worker), command);
        assert_eq!(refusal, Refusal::PermissionDenied, "{name}");
    }
}

#[test]
fn a_person_who_is_not_known_is_told_so() {
    let mut world = World::open();
    let stranger = Principal::User(UserId(9));
    let refusal = world.refused(stranger, Command::ReadTrail { workspace: None });
    assert_eq!(refusal, Refusal::UnknownUser);
}
