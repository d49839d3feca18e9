//! Every signal, in every state, from every kind of agent (WACP §4.3, §5.2,
//! §6.3).

use wacp::{
    Command, Principal, Refusal,
    checkpoint::NewCheckpoint,
    gate::config::Highway,
    id::WorkspaceId,
    role::{CheckpointType, Role, Taxonomy},
    signal::SignalType,
    workspace::{Limits, NewWorkspace, lifecycle::State},
};

use super::{rows, word};
use crate::world::{ROOT, World, emission, text};

/// One row per signal, one column per state. `.` recorded without effect, `x`
/// has no meaning there and is denied, `p` the role may not emit it, otherwise
/// the state it leads to.
const WORKER: &str = "
    -            idle   active      blocked suspended migrating integrating conflicted closed failed
    ready        .      .           .       x         x         .           .          .      .
    started      x      .           active  x         x         .           .          .      .
    blocked      x      blocked     .       x         x         x           x          .      .
    checkpoint   x      .           x       x         x         x           x          .      .
    complete     x      integrating x       x         x         .           .          .      .
    failed       failed failed      x       x         x         x           x          .      .
    integrate    p      p           p       p         p         p           p          p      p
    acknowledged p      p           p       p         p         p           p          p      p
    escalation   x      .           .       x         x         x           x          .      .
    suspend      p      p           p       p         p         p           p          p      p
    migrate      p      p           p       p         p         p           p          p      p
";

/// An observer cannot say that it is blocked, so it never is.
const OBSERVER: &str = "
    -            idle   active      suspended migrating integrating conflicted closed failed
    ready        active .           x         x         .           .          .      .
    started      x      .           x         x         .           .          .      .
    blocked      p      p           p         p         p           p          p      p
    checkpoint   p      p           p         p         p           p          p      p
    complete     x      integrating x         x         .           .          .      .
    failed       failed failed      x         x         x           x          .      .
    integrate    p      p           p         p         p           p          p      p
    acknowledged p      p           p         p         p           p          p      p
    escalation   x      .           x         x         x           x          .      .
    suspend      p      p           p         p         p           p          p      p
    migrate      p      p           p         p         p           p          p      p
";

/// The coordinator is idle or at work; when it ends, the run has ended.
const COORDINATOR: &str = "
    -            idle   active
    ready        active .
    started      x      .
    blocked      p      p
    checkpoint   p      p
    complete     p      p
    failed       failed failed
    integrate    .      .
    acknowledged .      .
    escalation   p      p
    suspend      .      .
    migrate      .      .
";

/// An observer in the given state.
fn observer(world: &mut World, state: State) -> WorkspaceId {
    let id = world.create(NewWorkspace {
        role: Role::Observer,
        ..world.worker_of(ROOT)
    });
    if state == State::Idle {
        return id;
    }
    world.emit(id, SignalType::Ready);
    let by = Principal::Coordinator;
    match state {
        State::Suspended => {
            let reason = text("wait");
            let workspace = id;
            world.ok(by, Command::Suspend { workspace, reason });
        }
        State::Migrating => {
            let migrate = Command::Migrate {
                workspace: id,
                new_agent: text("next"),
                reason: text("better"),
            };
            world.ok(by, migrate);
        }
        State::Integrating | State::Conflicted | State::Closed => {
            let new = NewCheckpoint {
                checkpoint_type: CheckpointType::Observation,
                ..NewCheckpoint::last(None, vec![])
            };
            let command = Command::CreateCheckpoint(Box::new(new));
            world.ok(Principal::Agent(id), command);
            world.emit(id, SignalType::Complete);
            if state == State::Conflicted {
                world.conflict(id);
            }
            if state == State::Closed {
                world.accept(id);
            }
        }
        State::Failed => {
            let reason = None;
            let workspace = id;
            world.ok(by, Command::Abort { workspace, reason });
        }
        State::Idle | State::Active | State::Blocked => {}
    }
    assert_eq!(world.state(id), state);
    id
}

fn coordinator(state: State) -> (World, WorkspaceId) {
    let (highway, limits) = (Highway::open(), Limits::default());
    let world = match state {
        State::Idle => World::idling(highway, limits, Taxonomy::base()),
        _ => World::started(highway, limits, Taxonomy::base()),
    };
    (world, ROOT)
}

/// Plays a whole table; gives how many cells it had.
fn play(table: &'static str, make: impl Fn(State) -> (World, WorkspaceId)) -> usize {
    let mut rows = rows(table).into_iter();
    let states = rows.next().unwrap();
    let mut seen = 0;
    for (signal, row) in SignalType::ALL.into_iter().zip(rows) {
        assert_eq!(row[0], word(signal));
        for (name, cell) in states[1..].iter().zip(&row[1..]) {
            let state = State::ALL.into_iter().find(|s| word(*s) == *name).unwrap();
            let (mut world, id) = make(state);
            let before = world.entries.len();
            let result = world.attempt(Principal::Agent(id), emission(signal));
            let at = format!("{signal:?} in {state:?}");
            let found = match result {
                Ok(_) if world.state(id) == state => ".".to_owned(),
                Ok(_) => word(world.state(id)),
                Err(Refusal::SignalNotAllowed) => "x".to_owned(),
                Err(Refusal::PermissionDenied) => "p".to_owned(),
                Err(other) => panic!("{at}: {other:?}"),
            };
            assert_eq!(found, *cell, "{at}");
            // Whatever the answer, the trail knows of it.
            let recorded = match *cell {
                "x" | "p" => "capability_denied",
                _ => "signal_emitted",
            };
            assert_eq!(world.entries[before].event.event_type(), recorded, "{at}");
            seen += 1;
        }
    }
    seen
}

#[test]
fn a_workers_signal_does_in_each_state_what_the_table_says() {
    let make = |state| {
        let mut world = World::open();
        let id = world.in_state(state);
        (world, id)
    };
    assert_eq!(play(WORKER, make), 11 * 9);
}

#[test]
fn an_observers_signal_does_in_each_state_what_the_table_says() {
    let make = |state| {
        let mut world = World::open();
        let id = observer(&mut world, state);
        (world, id)
    };
    assert_eq!(play(OBSERVER, make), 11 * 8);
}

#[test]
fn the_coordinators_signal_does_in_each_state_what_the_table_says() {
    assert_eq!(play(COORDINATOR, coordinator), 11 * 2);
}
