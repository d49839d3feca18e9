//! Who may answer, and who may administer.
//!
//! Nothing but a person's own secret, looked up in the account state, gives a
//! [`Reviewer`] or an [`Owner`]: their fields are private, and their only
//! constructors are here.
//!
//! ```compile_fail,E0451
//! let forged = account::Reviewer { name: "ann".to_owned(), by: todo!() };
//! ```
//! ```compile_fail,E0451
//! let forged = account::Owner { name: "ann".to_owned(), by: todo!() };
//! ```

use trail::Micros;

use crate::{Role, State, User, secret::SecretHash};

/// A secret that a person presented, by its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presented {
    Token(SecretHash),
    Session(SecretHash),
}

impl Presented {
    /// The active user whose secret it is now.
    pub fn user(self, state: &State, now: Micros) -> Option<&User> {
        match self {
            Presented::Token(hash) => state.user_by_token(&hash),
            Presented::Session(hash) => state.user_by_session(&hash, now).map(|(_, user)| user),
        }
    }

    /// Their name, if they have this role or a higher one.
    fn name(self, state: &State, role: Role, now: Micros) -> Result<String, Denied> {
        let user = self.user(state, now).ok_or(Denied::Nobody)?;
        let name = user.name.clone();
        match user.role >= role {
            true => Ok(name),
            false => Err(Denied::Role { name }),
        }
    }
}

/// An active owner or reviewer who presented a secret of theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reviewer {
    name: String,
    by: Presented,
}

/// An active owner who presented a secret of theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    name: String,
    by: Presented,
}

/// Why a secret gives neither.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The secret is nobody's, or its owner is not active.
    Nobody,
    /// Their role does not allow it.
    Role { name: String },
}

impl Reviewer {
    pub fn recognise(state: &State, presented: Presented, now: Micros) -> Result<Reviewer, Denied> {
        let name = presented.name(state, Role::Reviewer, now)?;
        Ok(Reviewer {
            name,
            by: presented,
        })
    }

    /// Whether the same secret still gives the same: it may have been replaced,
    /// ended or suspended since.
    pub fn is_still(&self, state: &State, now: Micros) -> bool {
        Reviewer::recognise(state, self.by, now).as_ref() == Ok(self)
    }

    /// The secret that was presented.
    pub fn by(&self) -> Presented {
        self.by
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Owner {
    pub fn recognise(state: &State, presented: Presented, now: Micros) -> Result<Owner, Denied> {
        let name = presented.name(state, Role::Owner, now)?;
        Ok(Owner {
            name,
            by: presented,
        })
    }

    /// The secret that was presented.
    pub fn by(&self) -> Presented {
        self.by
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, Role, decide, secret};

    const NOW: Micros = Micros(1);

    fn state() -> State {
        let mut state = State::default();
        let roles = [Role::Owner, Role::Reviewer, Role::Viewer, Role::Reviewer];
        for (name, role) in ["ann", "bob", "vic", "sue"].into_iter().zip(roles) {
            let create = Command::CreateUser {
                name: name.to_owned(),
                role: Some(role),
                token_id: format!("t-{name}"),
                token_hash: secret::hash(name),
            };
            apply(&mut state, &create);
        }
        let suspend = Command::SuspendUser {
            name: "sue".to_owned(),
        };
        apply(&mut state, &suspend);
        state
    }

    fn apply(state: &mut State, command: &Command) {
        for event in decide(state, command, NOW).unwrap() {
            state.apply(&event, NOW);
        }
    }

    #[test]
    fn only_an_active_owner_or_reviewer_is_one_who_may_answer() {
        let state = state();
        let recognise = |token| {
            let presented = Presented::Token(secret::hash(token));
            Reviewer::recognise(&state, presented, NOW)
        };
        for name in ["ann", "bob"] {
            assert_eq!(recognise(name).unwrap().name(), name);
        }
        let name = "vic".to_owned();
        assert_eq!(recognise("vic"), Err(Denied::Role { name }));
        assert_eq!(recognise("sue"), Err(Denied::Nobody));
        assert_eq!(recognise("wrong"), Err(Denied::Nobody));
        let owner = |token| {
            let presented = Presented::Token(secret::hash(token));
            Owner::recognise(&state, presented, NOW)
        };
        assert_eq!(owner("ann").unwrap().name(), "ann");
        let name = "bob".to_owned();
        assert_eq!(owner("bob"), Err(Denied::Role { name }));
        let bob = recognise("bob").unwrap();
        assert!(bob.is_still(&state, NOW));
        let replaced = {
            let mut state = state.clone();
            let replace = Command::IssueToken {
                name: "bob".to_owned(),
                token_id: "t-new".to_owned(),
                token_hash: secret::hash("new"),
            };
            apply(&mut state, &replace);
            state
        };
        assert!(!bob.is_still(&replaced, NOW));
        // A token is not a session.
        let session = Presented::Session(secret::hash("ann"));
        assert_eq!(
            Reviewer::recognise(&state, session, NOW),
            Err(Denied::Nobody)
        );
    }
}
