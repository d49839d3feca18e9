//! Closed registries of event types, one per kind of stream.
//!
//! `registry!` writes an enum whose variants each hold a facts structure, with
//! the names under which they stand on the trail. An unknown name or facts
//! that do not read are an error: nothing is guessed on replay.

/// Why stored facts could not be read back.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("event type \"{0}\" is not registered")]
    UnknownType(String),
    #[error("facts of \"{event_type}\" do not read: {source}")]
    Facts {
        event_type: &'static str,
        source: serde_json::Error,
    },
}

/// Declares `enum $name { $variant($facts), … }` with its registered names.
#[macro_export]
macro_rules! registry {
    ($(#[$meta:meta])* $name:ident { $($variant:ident($facts:ty) = $event_type:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name { $($variant($facts),)* }

        impl $name {
            /// Every registered name.
            pub const TYPES: &'static [&'static str] = &[$($event_type),*];

            pub fn event_type(&self) -> &'static str {
                match self { $($name::$variant(_) => $event_type,)* }
            }

            /// The canonical bytes of the `facts` part.
            pub fn facts(&self) -> Vec<u8> {
                match self { $($name::$variant(facts) => $crate::canonical::to_vec(facts),)* }
            }

            pub fn read(event_type: &str, facts: &[u8]) -> Result<Self, $crate::registry::Unreadable> {
                match event_type {
                    $($event_type => serde_json::from_slice(facts)
                        .map($name::$variant)
                        .map_err(|source| $crate::registry::Unreadable::Facts {
                            event_type: $event_type, source,
                        }),)*
                    other => Err($crate::registry::Unreadable::UnknownType(other.to_owned())),
                }
            }
        }

        $(impl From<$facts> for $name {
            fn from(facts: $facts) -> Self { $name::$variant(facts) }
        })*
    };
}
