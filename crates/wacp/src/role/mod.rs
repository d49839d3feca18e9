//! What an agent may do: base roles, derived roles, and the matrix they form.
//!
//! A role speaks about five things and no others: what is sent, received,
//! emitted, created and read. Nothing is allowed unless it is written here
//! (WACP §5.1, §5.2, §5.5).

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::signal::{SignalSet, SignalType};

pub mod delegation;
pub mod taxonomy;

pub use taxonomy::{Action, Taxonomy, Text};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BaseRole {
    Coordinator,
    Worker,
    Observer,
}

/// A role of this run; a derived one is named by its place in the taxonomy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    Coordinator,
    Worker,
    Observer,
    Derived(u16),
}

/// A kind of envelope; a registered one is named by its place in the taxonomy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EnvelopeType {
    Directive,
    Feedback,
    Query,
    Registered(u16),
}

/// A kind of checkpoint; a registered one is named by its place in the taxonomy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CheckpointType {
    Artifact,
    Observation,
    Registered(u16),
}

impl Role {
    pub const BASE: [Role; 3] = [Role::Coordinator, Role::Worker, Role::Observer];

    pub fn base_name(self) -> Option<&'static str> {
        match self {
            Role::Coordinator => Some("coordinator"),
            Role::Worker => Some("worker"),
            Role::Observer => Some("observer"),
            Role::Derived(_) => None,
        }
    }

    fn number(self) -> u16 {
        match self {
            Role::Derived(at) => at,
            _ => 0,
        }
    }
}

impl EnvelopeType {
    pub const BASE: [EnvelopeType; 3] = [
        EnvelopeType::Directive,
        EnvelopeType::Feedback,
        EnvelopeType::Query,
    ];

    pub fn base_name(self) -> Option<&'static str> {
        match self {
            EnvelopeType::Directive => Some("directive"),
            EnvelopeType::Feedback => Some("feedback"),
            EnvelopeType::Query => Some("query"),
            EnvelopeType::Registered(_) => None,
        }
    }

    fn number(self) -> u16 {
        match self {
            EnvelopeType::Registered(at) => at,
            _ => 0,
        }
    }
}

impl CheckpointType {
    pub const BASE: [CheckpointType; 2] = [CheckpointType::Artifact, CheckpointType::Observation];

    pub fn base_name(self) -> Option<&'static str> {
        match self {
            CheckpointType::Artifact => Some("artifact"),
            CheckpointType::Observation => Some("observation"),
            CheckpointType::Registered(_) => None,
        }
    }

    fn number(self) -> u16 {
        match self {
            CheckpointType::Registered(at) => at,
            _ => 0,
        }
    }
}

/// `worker`, or `taxonomy/3` for the fourth entry of the run's taxonomy.
macro_rules! spelled {
    ($name:ident, $base:expr, $other:path) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.base_name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "taxonomy/{}", self.number()),
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<'de, str>::deserialize(deserializer)?;
                let base = $base
                    .into_iter()
                    .find(|kind| kind.base_name() == Some(&*text));
                let registered = || text.strip_prefix("taxonomy/")?.parse().ok().map($other);
                base.or_else(registered)
                    .ok_or_else(|| D::Error::custom("unknown word"))
            }
        }
    };
}
spelled!(Role, Role::BASE, Role::Derived);
spelled!(EnvelopeType, EnvelopeType::BASE, EnvelopeType::Registered);
spelled!(
    CheckpointType,
    CheckpointType::BASE,
    CheckpointType::Registered
);

/// Everything one role may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permissions {
    pub base: BaseRole,
    pub create: Vec<CheckpointType>,
    pub emit: SignalSet,
    /// Reads the workspaces it was pointed at, not only its own.
    pub reads_assigned: bool,
    pub receive: Vec<EnvelopeType>,
    pub send: Vec<EnvelopeType>,
}

impl Permissions {
    /// WACP §5.2.
    pub fn of(base: BaseRole) -> Permissions {
        use EnvelopeType::{Directive, Feedback, Query};
        use SignalType as S;
        match base {
            BaseRole::Coordinator => Permissions {
                base,
                create: vec![],
                // §4.3 has the coordinator emit suspend and migrate too.
                emit: SignalSet::of(&[
                    S::Ready,
                    S::Started,
                    S::Failed,
                    S::Integrate,
                    S::Acknowledged,
                    S::Suspend,
                    S::Migrate,
                ]),
                reads_assigned: true,
                receive: vec![Query],
                send: vec![Directive, Feedback],
            },
            BaseRole::Worker => Permissions {
                base,
                create: vec![CheckpointType::Artifact],
                emit: SignalSet::of(&[
                    S::Ready,
                    S::Started,
                    S::Blocked,
                    S::Checkpoint,
                    S::Complete,
                    S::Failed,
                    S::Escalation,
                ]),
                reads_assigned: false,
                receive: vec![Directive, Feedback],
                send: vec![Query],
            },
            BaseRole::Observer => Permissions {
                base,
                create: vec![CheckpointType::Observation],
                emit: SignalSet::of(&[S::Ready, S::Started, S::Complete, S::Failed, S::Escalation]),
                reads_assigned: true,
                receive: vec![],
                send: vec![],
            },
        }
    }

    pub fn may_send(&self, kind: EnvelopeType) -> bool {
        self.send.contains(&kind)
    }

    pub fn may_receive(&self, kind: EnvelopeType) -> bool {
        self.receive.contains(&kind)
    }

    /// Whether envelopes of this type were taken from the role. What its base
    /// never lists, such as a question to a delegate, goes by the right alone.
    pub fn lost(&self, kind: EnvelopeType) -> bool {
        let is_base = match self.base {
            BaseRole::Coordinator => kind == EnvelopeType::Query,
            BaseRole::Worker => matches!(kind, EnvelopeType::Directive | EnvelopeType::Feedback),
            BaseRole::Observer => false,
        };
        is_base && !self.may_receive(kind)
    }

    pub fn may_emit(&self, signal: SignalType) -> bool {
        self.emit.contains(signal)
    }

    pub fn may_create(&self, kind: CheckpointType) -> bool {
        self.create.contains(&kind)
    }

    fn remove(&mut self, action: &Action) -> bool {
        fn take<T: PartialEq>(list: &mut Vec<T>, item: &T) -> bool {
            let before = list.len();
            list.retain(|known| known != item);
            list.len() < before
        }
        match action {
            Action::Create(kind) => take(&mut self.create, kind),
            Action::Emit(signal) => self.emit.remove(*signal),
            Action::ReadAssigned => std::mem::take(&mut self.reads_assigned),
            Action::Receive(kind) => take(&mut self.receive, kind),
            Action::Send(kind) => take(&mut self.send, kind),
        }
    }

    /// Adds, unless the base role's ceiling forbids it.
    fn add(&mut self, action: &Action) -> bool {
        if !self.is_below_ceiling(action) {
            return false;
        }
        fn put<T: PartialEq>(list: &mut Vec<T>, item: T) {
            if !list.contains(&item) {
                list.push(item);
            }
        }
        match *action {
            Action::Create(kind) => put(&mut self.create, kind),
            Action::Emit(signal) => self.emit.insert(signal),
            Action::ReadAssigned => self.reads_assigned = true,
            Action::Receive(kind) => put(&mut self.receive, kind),
            Action::Send(kind) => put(&mut self.send, kind),
        }
        true
    }

    /// The ceiling: a worker never directs and never emits what only the
    /// coordinator emits; an observer never writes to anyone, makes no
    /// artifacts and cannot block. Registered types are open to a worker.
    fn is_below_ceiling(&self, action: &Action) -> bool {
        let base = Permissions::of(self.base);
        match (self.base, action) {
            (_, Action::ReadAssigned) => true,
            (_, Action::Emit(signal)) => base.may_emit(*signal),
            (BaseRole::Worker, Action::Send(kind)) => {
                base.may_send(*kind) || matches!(kind, EnvelopeType::Registered(_))
            }
            (BaseRole::Worker, Action::Receive(_)) => true,
            (BaseRole::Worker, Action::Create(kind)) => *kind != CheckpointType::Observation,
            (BaseRole::Observer, Action::Create(kind)) => *kind != CheckpointType::Artifact,
            // An observer corresponds with nobody; no role extends the coordinator.
            (BaseRole::Observer | BaseRole::Coordinator, _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WACP §5.2 for signals: who may emit what. c = coordinator, w = worker,
    /// o = observer; `acknowledged` is the runtime's own, the coordinator may too.
    const EMITS: &[(SignalType, &str)] = &[
        (SignalType::Ready, "cwo"),
        (SignalType::Started, "cwo"),
        (SignalType::Blocked, "w"),
        (SignalType::Checkpoint, "w"),
        (SignalType::Complete, "wo"),
        (SignalType::Failed, "cwo"),
        (SignalType::Integrate, "c"),
        (SignalType::Acknowledged, "c"),
        (SignalType::Escalation, "wo"),
        (SignalType::Suspend, "c"),
        (SignalType::Migrate, "c"),
    ];

    #[test]
    fn each_base_role_emits_exactly_its_signals() {
        assert_eq!(EMITS.len(), SignalType::ALL.len());
        for (signal, who) in EMITS {
            for (base, letter) in [
                (BaseRole::Coordinator, 'c'),
                (BaseRole::Worker, 'w'),
                (BaseRole::Observer, 'o'),
            ] {
                assert_eq!(
                    Permissions::of(base).may_emit(*signal),
                    who.contains(letter),
                    "{base:?} {signal:?}"
                );
            }
        }
    }

    #[test]
    fn words_read_back_as_written() {
        for role in [Role::Worker, Role::Derived(3)] {
            let text = serde_json::to_string(&role).unwrap();
            assert_eq!(serde_json::from_str::<Role>(&text).unwrap(), role);
        }
        assert!(serde_json::from_str::<EnvelopeType>("\"rumour\"").is_err());
        assert!(serde_json::from_str::<CheckpointType>("\"taxonomy/x\"").is_err());
    }
}
