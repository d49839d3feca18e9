//! The names of things in a run: dense numbers inside, opaque words outside.
//!
//! Every number is handed out once by a counter in the state and never again,
//! so an identifier is unique in its run for ever (WACP §4.7). With the run's
//! own name in front of it, it is unique everywhere.

use std::{borrow::Cow, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// The text is not an identifier of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an identifier of this kind")]
pub struct Malformed;

fn read<T: FromStr + fmt::Display>(text: &str, prefix: &str) -> Result<T, Malformed> {
    let digits = text.strip_prefix(prefix).ok_or(Malformed)?;
    let number: T = digits.parse().map_err(|_| Malformed)?;
    // "w01" and "w+1" would be second names for the same thing.
    if number.to_string() == digits {
        Ok(number)
    } else {
        Err(Malformed)
    }
}

macro_rules! id {
    ($(#[$meta:meta])* $name:ident($number:ty), $prefix:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
        pub struct $name(pub $number);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = Malformed;
            fn from_str(text: &str) -> Result<Self, Malformed> {
                read(text, $prefix).map($name)
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
                text.parse().map_err(D::Error::custom)
            }
        }
    };
}

id!(
    /// A workspace; number 0 is the root.
    WorkspaceId(u32), "w"
);
id!(
    /// A person; the number stands for the `user_id` that `user_created` names.
    UserId(u32), "u"
);
id!(
    /// A message.
    EnvelopeId(u64), "e"
);
id!(
    /// A notification.
    SignalId(u64), "s"
);
id!(
    /// A snapshot of work.
    CheckpointId(u64), "c"
);
id!(
    /// One resource inside a checkpoint.
    ArtifactId(u64), "a"
);
id!(
    /// A unit of work.
    TaskId(u32), "t"
);
id!(
    /// A plan of tasks.
    GraphId(u32), "p"
);
id!(
    /// A pause for a person's answer.
    GateId(u32), "g"
);
id!(
    /// A port right.
    RightId(u64), "r"
);
id!(
    /// A conflict found while merging.
    ConflictId(u32), "k"
);

impl WorkspaceId {
    /// The coordinator's own workspace.
    pub const ROOT: WorkspaceId = WorkspaceId(0);
}

/// An identifier over all runs: the name of the stream that holds the run's
/// trail, and the number in the run (WACP §4.6, §4.7). Numbers contain no `/`,
/// so two of them are alike only if both parts are.
pub fn over_all_runs(stream: &str, id: impl fmt::Display) -> String {
    format!("{stream}/{id}")
}

/// The system, or a person: who caused a workspace, and who answers for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Party {
    System,
    User(UserId),
}

impl Party {
    pub fn user(self) -> Option<UserId> {
        match self {
            Party::System => None,
            Party::User(user) => Some(user),
        }
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Party::System => f.write_str("system"),
            Party::User(user) => user.fmt(f),
        }
    }
}

impl Serialize for Party {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Party {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        match &*text {
            "system" => Ok(Party::System),
            other => other.parse().map(Party::User).map_err(D::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_has_one_spelling() {
        assert_eq!(WorkspaceId(12).to_string(), "w12");
        assert_eq!("w12".parse(), Ok(WorkspaceId(12)));
        for text in ["", "w", "12", "w012", "w+1", "W1", "w-1", "w4294967296"] {
            assert_eq!(text.parse::<WorkspaceId>(), Err(Malformed), "{text}");
        }
    }

    #[test]
    fn over_all_runs_an_identifier_is_its_runs_and_its_own() {
        let pairs = [
            ("run/a", TaskId(1)),
            ("run/a", TaskId(2)),
            ("run/b", TaskId(1)),
            ("run/a/t1", TaskId(1)),
            ("run/a/t", TaskId(11)),
        ];
        let spelled: std::collections::BTreeSet<_> = pairs
            .iter()
            .map(|(stream, id)| over_all_runs(stream, id))
            .collect();
        assert_eq!(spelled.len(), pairs.len());
        assert_eq!(over_all_runs("run/a", TaskId(1)), "run/a/t1");
    }

    #[test]
    fn a_party_is_the_system_or_a_user() {
        let read = |text: &str| serde_json::from_str::<Party>(text).ok();
        assert_eq!(read("\"system\""), Some(Party::System));
        assert_eq!(read("\"u3\""), Some(Party::User(UserId(3))));
        assert_eq!(read("\"alice\""), None);
    }
}
