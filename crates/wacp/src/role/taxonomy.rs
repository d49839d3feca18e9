//! What a run may talk about beyond the base words: its taxonomy.
//!
//! A taxonomy is checked whole before a run starts and never changes in it.
//! It adds roles, envelope types and checkpoint types; it cannot add signals.

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{BaseRole, CheckpointType, EnvelopeType, Permissions, Role};
use crate::signal::SignalType;

pub type Text = Arc<str>;

/// More than any plan needs; it keeps every lookup a short walk.
pub const MAX_ENTRIES: usize = 256;
pub const MAX_NAME: usize = 64;

/// The version of the protocol a taxonomy must be written for.
pub const PROTOCOL_VERSION: &str = "0.1";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taxonomy {
    pub checkpoint_types: Arc<[Text]>,
    pub envelope_types: Arc<[Text]>,
    pub id: Text,
    pub protocol_version: Text,
    pub roles: Arc<[RoleDefinition]>,
    pub version: Text,
}

/// A role made from a base role: removals first, then additions (WACP §5.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleDefinition {
    pub add: Vec<Permission>,
    pub extends: Text,
    pub name: Text,
    pub remove: Vec<Permission>,
}

/// One thing a role may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Create checkpoints of this type.
    Create(Text),
    /// Emit this signal.
    Emit(SignalType),
    /// Read the workspaces it was made to look at.
    ReadAssigned,
    /// Receive envelopes of this type.
    Receive(Text),
    /// Send envelopes of this type.
    Send(Text),
}

/// Why a taxonomy is refused; nothing of it is used then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    #[error("the taxonomy is written for protocol {0}, this is 0.1")]
    ProtocolVersion(Text),
    #[error("a name is empty, too long or already taken: \"{0}\"")]
    Name(Text),
    #[error("the taxonomy has more than {MAX_ENTRIES} entries of one kind")]
    TooMany,
    #[error(
        "role \"{role}\" extends \"{extends}\"; only worker and observer can be extended, once"
    )]
    Extends { role: Text, extends: Text },
    #[error("role \"{role}\" names the unregistered type \"{name}\"")]
    Unregistered { role: Text, name: Text },
    #[error("role \"{role}\" removes what its base does not have")]
    NothingToRemove { role: Text },
    #[error("role \"{role}\" adds what its base may never have")]
    AboveCeiling { role: Text },
}

impl Taxonomy {
    /// Only the base words.
    pub fn base() -> Taxonomy {
        Taxonomy {
            checkpoint_types: Arc::from([]),
            envelope_types: Arc::from([]),
            id: Arc::from("base"),
            protocol_version: Arc::from(PROTOCOL_VERSION),
            roles: Arc::from([]),
            version: Arc::from("1"),
        }
    }

    /// The usual example: a worker that reviews.
    pub fn with_reviewer() -> Taxonomy {
        let text = |text: &str| Text::from(text);
        Taxonomy {
            checkpoint_types: Arc::from([text("review")]),
            envelope_types: Arc::from([text("report")]),
            id: text("review"),
            roles: Arc::from([RoleDefinition {
                add: vec![
                    Permission::Send(text("report")),
                    Permission::ReadAssigned,
                    Permission::Create(text("review")),
                ],
                extends: text("worker"),
                name: text("reviewer"),
                remove: vec![
                    Permission::Send(text("query")),
                    Permission::Create(text("artifact")),
                ],
            }]),
            ..Taxonomy::base()
        }
    }

    pub fn envelope_type(&self, name: &str) -> Option<EnvelopeType> {
        let base = EnvelopeType::BASE
            .into_iter()
            .find(|t| t.base_name() == Some(name));
        base.or_else(|| position(&self.envelope_types, name).map(EnvelopeType::Registered))
    }

    pub fn checkpoint_type(&self, name: &str) -> Option<CheckpointType> {
        let base = CheckpointType::BASE
            .into_iter()
            .find(|t| t.base_name() == Some(name));
        base.or_else(|| position(&self.checkpoint_types, name).map(CheckpointType::Registered))
    }

    pub fn role(&self, name: &str) -> Option<Role> {
        let base = Role::BASE
            .into_iter()
            .find(|role| role.base_name() == Some(name));
        let derived = || self.roles.iter().position(|role| &*role.name == name);
        base.or_else(|| derived().map(|at| Role::Derived(at as u16)))
    }

    pub fn role_name(&self, role: Role) -> &str {
        match role {
            Role::Derived(at) => self.roles.get(at as usize).map_or("?", |role| &role.name),
            base => base.base_name().unwrap_or("?"),
        }
    }

    pub fn envelope_type_name(&self, kind: EnvelopeType) -> &str {
        match kind {
            EnvelopeType::Registered(at) => self
                .envelope_types
                .get(at as usize)
                .map_or("?", |name| name),
            base => base.base_name().unwrap_or("?"),
        }
    }

    pub fn has_envelope_type(&self, kind: EnvelopeType) -> bool {
        match kind {
            EnvelopeType::Registered(at) => (at as usize) < self.envelope_types.len(),
            _ => true,
        }
    }

    pub fn has_checkpoint_type(&self, kind: CheckpointType) -> bool {
        match kind {
            CheckpointType::Registered(at) => (at as usize) < self.checkpoint_types.len(),
            _ => true,
        }
    }

    /// Checks everything and resolves each role; one fault refuses the whole.
    pub fn resolve(&self) -> Result<Vec<Permissions>, Invalid> {
        if &*self.protocol_version != PROTOCOL_VERSION {
            return Err(Invalid::ProtocolVersion(self.protocol_version.clone()));
        }
        let kinds = [
            self.envelope_types.len(),
            self.checkpoint_types.len(),
            self.roles.len(),
        ];
        if kinds.into_iter().any(|count| count > MAX_ENTRIES) {
            return Err(Invalid::TooMany);
        }
        let role_names: Vec<Text> = self.roles.iter().map(|role| role.name.clone()).collect();
        unique(&self.envelope_types, &["directive", "feedback", "query"])?;
        unique(&self.checkpoint_types, &["artifact", "observation"])?;
        unique(
            &role_names,
            &[
                "coordinator",
                "worker",
                "observer",
                "system",
                "protocol",
                "fallback",
                "human",
            ],
        )?;
        self.roles
            .iter()
            .map(|role| self.resolve_role(role))
            .collect()
    }

    fn resolve_role(&self, role: &RoleDefinition) -> Result<Permissions, Invalid> {
        let base = match &*role.extends {
            "worker" => BaseRole::Worker,
            "observer" => BaseRole::Observer,
            _ => {
                return Err(Invalid::Extends {
                    role: role.name.clone(),
                    extends: role.extends.clone(),
                });
            }
        };
        let mut permissions = Permissions::of(base);
        for removal in &role.remove {
            if !permissions.remove(&self.read(role, removal)?) {
                return Err(Invalid::NothingToRemove {
                    role: role.name.clone(),
                });
            }
        }
        for addition in &role.add {
            if !permissions.add(&self.read(role, addition)?) {
                return Err(Invalid::AboveCeiling {
                    role: role.name.clone(),
                });
            }
        }
        Ok(permissions)
    }

    fn read(&self, role: &RoleDefinition, permission: &Permission) -> Result<Action, Invalid> {
        let unregistered = |name: &Text| Invalid::Unregistered {
            role: role.name.clone(),
            name: name.clone(),
        };
        Ok(match permission {
            Permission::Create(name) => Action::Create(
                self.checkpoint_type(name)
                    .ok_or_else(|| unregistered(name))?,
            ),
            Permission::Emit(signal) => Action::Emit(*signal),
            Permission::ReadAssigned => Action::ReadAssigned,
            Permission::Receive(name) => {
                Action::Receive(self.envelope_type(name).ok_or_else(|| unregistered(name))?)
            }
            Permission::Send(name) => {
                Action::Send(self.envelope_type(name).ok_or_else(|| unregistered(name))?)
            }
        })
    }
}

/// A permission whose names are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Create(CheckpointType),
    Emit(SignalType),
    ReadAssigned,
    Receive(EnvelopeType),
    Send(EnvelopeType),
}

fn position(names: &[Text], name: &str) -> Option<u16> {
    names
        .iter()
        .position(|known| &**known == name)
        .map(|at| at as u16)
}

fn unique(names: &[Text], taken: &[&str]) -> Result<(), Invalid> {
    let mut seen: BTreeSet<&str> = taken.iter().copied().collect();
    for name in names {
        if name.is_empty() || name.chars().count() > MAX_NAME || !seen.insert(name) {
            return Err(Invalid::Name(name.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(extends: &str, add: Vec<Permission>, remove: Vec<Permission>) -> Taxonomy {
        Taxonomy {
            roles: Arc::from([RoleDefinition {
                add,
                extends: Text::from(extends),
                name: Text::from("special"),
                remove,
            }]),
            ..Taxonomy::with_reviewer()
        }
    }

    #[test]
    fn the_reviewer_reports_and_reviews_and_no_longer_asks_or_makes_artifacts() {
        let resolved = Taxonomy::with_reviewer().resolve().unwrap();
        let reviewer = &resolved[0];
        assert!(reviewer.may_send(EnvelopeType::Registered(0)));
        assert!(!reviewer.may_send(EnvelopeType::Query));
        assert!(reviewer.may_create(CheckpointType::Registered(0)));
        assert!(!reviewer.may_create(CheckpointType::Artifact));
        assert!(reviewer.reads_assigned);
        assert!(reviewer.may_emit(SignalType::Complete));
    }

    #[test]
    fn a_role_never_gets_above_its_base() {
        let cases = [
            ("worker", Permission::Send(Text::from("directive"))),
            ("worker", Permission::Send(Text::from("feedback"))),
            ("worker", Permission::Emit(SignalType::Integrate)),
            ("worker", Permission::Emit(SignalType::Suspend)),
            ("worker", Permission::Emit(SignalType::Migrate)),
            ("worker", Permission::Emit(SignalType::Acknowledged)),
            ("observer", Permission::Send(Text::from("query"))),
            ("observer", Permission::Receive(Text::from("directive"))),
            ("observer", Permission::Emit(SignalType::Blocked)),
            ("observer", Permission::Create(Text::from("artifact"))),
        ];
        for (base, addition) in cases {
            assert!(
                matches!(
                    role(base, vec![addition.clone()], vec![]).resolve(),
                    Err(Invalid::AboveCeiling { .. })
                ),
                "{base} + {addition:?}"
            );
        }
    }

    #[test]
    fn one_fault_refuses_the_whole_taxonomy() {
        let named = |name: &str| Taxonomy {
            envelope_types: Arc::from([Text::from(name)]),
            ..Taxonomy::base()
        };
        assert!(matches!(
            named("directive").resolve(),
            Err(Invalid::Name(_))
        ));
        assert!(matches!(named("").resolve(), Err(Invalid::Name(_))));
        assert!(matches!(
            named(&"x".repeat(65)).resolve(),
            Err(Invalid::Name(_))
        ));
        for base in ["coordinator", "reviewer", "special", ""] {
            assert!(matches!(
                role(base, vec![], vec![]).resolve(),
                Err(Invalid::Extends { .. })
            ));
        }
        assert!(matches!(
            role(
                "worker",
                vec![Permission::Send(Text::from("rumour"))],
                vec![]
            )
            .resolve(),
            Err(Invalid::Unregistered { .. })
        ));
        assert!(matches!(
            role(
                "worker",
                vec![],
                vec![Permission::Send(Text::from("report"))]
            )
            .resolve(),
            Err(Invalid::NothingToRemove { .. })
        ));
        let mut wrong = Taxonomy::base();
        wrong.protocol_version = Text::from("9");
        assert!(matches!(wrong.resolve(), Err(Invalid::ProtocolVersion(_))));
        let many: Vec<Text> = (0..=MAX_ENTRIES)
            .map(|n| Text::from(format!("n{n}")))
            .collect();
        let many = Taxonomy {
            envelope_types: many.into(),
            ..Taxonomy::base()
        };
        assert_eq!(many.resolve(), Err(Invalid::TooMany));
    }
}
