//! Every role, envelope type, receiver and right held (WACP §5.5, §5.6).

use wacp::{
    Command, Principal, Refusal,
    content::Content,
    envelope::NewEnvelope,
    id::WorkspaceId,
    right::RightKind,
    role::{EnvelopeType, Role},
    signal::SignalType,
    workspace::NewWorkspace,
};

use super::rows;
use crate::world::{ROOT, World};

/// Who sends what, then to whom. `+` goes through with a send right and with a
/// send-once right, and never without one; `-` is denied whatever is held. A
/// delegate is a worker: `child` hangs beneath it, `below` beneath the child.
const MATRIX: &str = "
    sender      type      coordinator worker reviewer observer child below
    coordinator directive -           +      +        -        +     +
    coordinator feedback  -           +      +        -        +     +
    coordinator query     -           -      -        -        -     -
    coordinator report    -           -      -        -        -     -
    delegate    directive -           -      -        -        +     +
    delegate    feedback  -           -      -        -        +     +
    delegate    query     +           +      +        -        +     +
    delegate    report    -           -      -        -        -     -
    worker      directive -           -      -        -        -     -
    worker      feedback  -           -      -        -        -     -
    worker      query     +           +      +        -        +     +
    worker      report    -           -      -        -        -     -
    reviewer    directive -           -      -        -        -     -
    reviewer    feedback  -           -      -        -        -     -
    reviewer    query     -           -      -        -        -     -
    reviewer    report    +           +      +        -        +     +
    observer    directive -           -      -        -        -     -
    observer    feedback  -           -      -        -        -     -
    observer    query     -           -      -        -        -     -
    observer    report    -           -      -        -        -     -
";

/// What the sender holds towards the receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Held {
    Nothing,
    Send,
    SendOnce,
    /// Everyone's own, and nobody's to send with.
    ReceiveOnly,
}

struct Cast {
    world: World,
    delegate: WorkspaceId,
    child: WorkspaceId,
    below: WorkspaceId,
}

impl Cast {
    fn new() -> Cast {
        let mut world = World::open();
        let delegate = world.create(NewWorkspace {
            delegate: true,
            ..world.worker_of(ROOT)
        });
        world.direct(delegate);
        let child = world.create(world.worker_of(delegate));
        world.direct(child);
        let below = world.create(world.worker_of(child));
        world.direct(below);
        Cast {
            world,
            delegate,
            child,
            below,
        }
    }

    fn actor(&mut self, name: &str) -> WorkspaceId {
        let role = match name {
            "coordinator" => return ROOT,
            "delegate" => return self.delegate,
            "child" => return self.child,
            "below" => return self.below,
            "worker" => Role::Worker,
            "observer" => Role::Observer,
            "reviewer" => Role::Derived(0),
            other => panic!("nobody is called {other}"),
        };
        let id = self.world.create(NewWorkspace {
            role,
            ..self.world.worker_of(ROOT)
        });
        match role {
            Role::Observer => drop(self.world.emit(id, SignalType::Ready)),
            _ => drop(self.world.direct(id)),
        }
        id
    }

    /// Exactly this right, whatever creation made.
    fn hold(&mut self, holder: WorkspaceId, target: WorkspaceId, held: Held) {
        let by = Principal::Coordinator;
        let revoke = Command::RevokeRight {
            holder,
            target,
            kind: RightKind::Send,
        };
        let _ = self.world.attempt(by, revoke);
        let kind = match held {
            Held::Nothing | Held::ReceiveOnly => return,
            Held::Send => RightKind::Send,
            Held::SendOnce => RightKind::SendOnce,
        };
        let create = Command::CreateRight {
            holder,
            target,
            kind,
        };
        self.world.ok(by, create);
    }
}

#[test]
fn every_role_type_receiver_and_right_give_what_the_matrix_says() {
    let mut rows = rows(MATRIX).into_iter();
    let receivers = rows.next().unwrap();
    let mut seen = 0;
    for row in rows {
        for (receiver, cell) in receivers[2..].iter().zip(&row[2..]) {
            for held in [Held::Nothing, Held::Send, Held::SendOnce, Held::ReceiveOnly] {
                let mut cast = Cast::new();
                let from = cast.actor(row[0]);
                let to = match (held, *receiver == row[0]) {
                    // Oneself: a receive right and no other.
                    (Held::ReceiveOnly, _) => from,
                    // The coordinator has no second of its kind to write to.
                    (_, true) if row[0] == "coordinator" => continue,
                    _ => cast.actor(receiver),
                };
                cast.hold(from, to, held);
                let envelope_type = match row[1] {
                    "directive" => EnvelopeType::Directive,
                    "feedback" => EnvelopeType::Feedback,
                    "query" => EnvelopeType::Query,
                    _ => EnvelopeType::Registered(0),
                };
                let new = NewEnvelope::to(to, envelope_type, Content::markdown("hello"));
                let send = Command::Send(Box::new(new));
                let result = cast.world.attempt(Principal::Agent(from), send.clone());
                let at = format!("{} {} to {receiver}, {held:?}", row[0], row[1]);
                let expected = match (*cell, held) {
                    _ if held == Held::ReceiveOnly => {
                        assert!(result.is_err(), "{at}: nobody writes to itself");
                        seen += 1;
                        continue;
                    }
                    ("-", _) => Err(Refusal::PermissionDenied),
                    (_, Held::Nothing) => Err(Refusal::NoSendRight),
                    _ => Ok(()),
                };
                assert_eq!(result.map(|_| ()), expected, "{at}");
                if expected.is_err() {
                    assert_eq!(cast.world.last_types(1), ["envelope_rejected"], "{at}");
                } else {
                    // A lasting right lasts; the other was good for one.
                    let again = cast.world.attempt(Principal::Agent(from), send).map(|_| ());
                    let lasting = match held {
                        Held::Send => Ok(()),
                        _ => Err(Refusal::NoSendRight),
                    };
                    assert_eq!(again, lasting, "{at}, again");
                }
                seen += 1;
            }
        }
    }
    // Twenty rows, six receivers, four kinds of right, less the coordinator
    // writing to itself with each of three.
    assert_eq!(seen, 20 * 6 * 4 - 4 * 3);
}
