//! How a person comes in through the pages: once by a link, then by a password.
//! Either opens a session, which has a secret of its own, ends by itself, and
//! can be ended by whoever it belongs to and by an owner.
//!
//! A session has two secrets. Its cookie only reads: a browser sends it to every
//! port of the host, so another program on that host can be handed it. Its page
//! key acts: it is never a cookie, and only pages of this server know it.
//!
//! Passwords are not here: guessing one can be tried against its hash, so the
//! hash must not be in a log that others may copy. That one was set is.

use serde::{Deserialize, Serialize};
use trail::{Hash, Micros};

use crate::{
    event::{Event, PasswordSet, SessionClosed, SessionOpened, SignInLinkMade},
    rejection::Rejection,
    secret::SecretHash,
    state::{State, User, UserState},
};

/// Sessions of one person; opening one more ends the oldest.
pub const MAX_SESSIONS: usize = 20;

/// How a session was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    Link,
    Password,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub session_id: String,
    pub name: String,
    /// Hash of the cookie.
    pub hash: Hash,
    /// Hash of the page key. A session without one only reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_key: Option<Hash>,
    pub method: Method,
    /// What it was opened with, in our words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser: Option<String>,
    pub created_at: Micros,
    pub expires_at: Micros,
}

impl Session {
    /// Whether this text is the session's page key.
    pub fn is_page_key(&self, text: &str) -> bool {
        self.page_key
            .is_some_and(|hash| hash.0 == crate::secret::hash(text))
    }
}

/// A link that opens one session. A person has one at the most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    pub name: String,
    pub hash: Hash,
    pub expires_at: Micros,
}

/// A session to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    pub session_id: String,
    pub hash: SecretHash,
    pub page_key: Option<SecretHash>,
    pub browser: Option<String>,
    pub expires_at: Micros,
}

pub fn make_link(
    state: &State,
    name: &str,
    hash: SecretHash,
    expires_at: Micros,
) -> Result<Vec<Event>, Rejection> {
    let user = active(state, name)?;
    let made = SignInLinkMade {
        expires_at,
        hash: Hash(hash),
        name: user.name.clone(),
    };
    Ok(vec![made.into()])
}

/// Whom a link signs in: nobody if it was used or replaced, is too old, or is
/// for someone who may not come in.
pub fn user_by_link<'a>(state: &'a State, hash: &SecretHash, now: Micros) -> Option<&'a User> {
    let link = state.links.values().find(|link| link.hash.0 == *hash);
    let link = link.filter(|link| now < link.expires_at)?;
    active(state, &link.name).ok()
}

/// The first use of a link in time; there is no second.
pub fn use_link(
    state: &State,
    hash: &SecretHash,
    session: &NewSession,
    now: Micros,
) -> Result<Vec<Event>, Rejection> {
    let user = user_by_link(state, hash, now).ok_or(Rejection::LinkUsed)?;
    Ok(open(state, user, Method::Link, session, now))
}

/// For someone whose password was right.
pub fn open_session(
    state: &State,
    name: &str,
    session: &NewSession,
    now: Micros,
) -> Result<Vec<Event>, Rejection> {
    let user = active(state, name)?;
    Ok(open(state, user, Method::Password, session, now))
}

fn open(
    state: &State,
    user: &User,
    method: Method,
    session: &NewSession,
    now: Micros,
) -> Vec<Event> {
    let mut own: Vec<&Session> = sessions_of(state, &user.name).collect();
    own.sort_unstable_by_key(|session| session.created_at);
    let surplus = (own.len() + 1).saturating_sub(MAX_SESSIONS);
    let is_over = |n: usize, session: &Session| n < surplus || session.expires_at <= now;
    let ended = own.iter().enumerate();
    let ended = ended.filter(|(n, session)| is_over(*n, session));
    let opened = SessionOpened {
        browser: session.browser.clone(),
        expires_at: session.expires_at,
        hash: Hash(session.hash),
        method,
        name: user.name.clone(),
        page_key: session.page_key.map(Hash),
        session_id: session.session_id.clone(),
    };
    let ended = ended.map(|(_, session)| closed(session));
    ended.chain([opened.into()]).collect()
}

pub fn close_session(state: &State, session_id: &str) -> Result<Vec<Event>, Rejection> {
    let session = state.sessions.get(session_id);
    let session = session.ok_or_else(|| Rejection::NoSuchSession(session_id.to_owned()))?;
    Ok(vec![closed(session)])
}

/// A new password ends every session but the one it was set in.
pub fn set_password(
    state: &State,
    name: &str,
    keep: Option<&str>,
) -> Result<Vec<Event>, Rejection> {
    let user = active(state, name)?;
    let others = sessions_of(state, name).filter(|other| Some(other.session_id.as_str()) != keep);
    let set = PasswordSet {
        name: user.name.clone(),
    };
    Ok(others.map(closed).chain([set.into()]).collect())
}

/// Ends all of a person's sessions.
pub fn close_all(state: &State, name: &str) -> Vec<Event> {
    sessions_of(state, name).map(closed).collect()
}

fn closed(session: &Session) -> Event {
    let (name, session_id) = (session.name.clone(), session.session_id.clone());
    SessionClosed { name, session_id }.into()
}

pub fn sessions_of<'a>(state: &'a State, name: &'a str) -> impl Iterator<Item = &'a Session> {
    let sessions = state.sessions.values();
    sessions.filter(move |session| session.name == name)
}

pub(crate) fn active<'a>(state: &'a State, name: &str) -> Result<&'a User, Rejection> {
    let user = state.users.get(name);
    let user = user.ok_or_else(|| Rejection::NoSuchUser(name.to_owned()))?;
    match user.state {
        UserState::Active => Ok(user),
        UserState::Suspended => Err(Rejection::Suspended(name.to_owned())),
        UserState::Deactivated => Err(Rejection::Deactivated(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, decide, state::Role};

    const NOW: Micros = Micros(1_000_000_000);
    const LATER: Micros = Micros(2_000_000_000);

    fn run(state: &mut State, command: Command, now: Micros) -> Result<usize, Rejection> {
        let events = decide(state, &command, now)?;
        for event in &events {
            state.apply(event, now);
        }
        Ok(events.len())
    }

    /// With the owners ann and bob.
    fn state() -> State {
        let mut state = State::default();
        for (name, byte) in [("ann", 1), ("bob", 2)] {
            let create = Command::CreateUser {
                name: name.to_owned(),
                role: Some(Role::Owner),
                token_id: format!("tok_{name}"),
                token_hash: [byte; 32],
            };
            run(&mut state, create, NOW).unwrap();
        }
        state
    }

    fn session(n: u8) -> NewSession {
        NewSession {
            session_id: format!("ses_{n}"),
            hash: [100 + n; 32],
            page_key: Some([200 - n; 32]),
            browser: None,
            expires_at: LATER,
        }
    }

    fn sign_in(state: &mut State, name: &str, n: u8, now: Micros) {
        let open = Command::OpenSession {
            name: name.to_owned(),
            session: session(n),
        };
        run(state, open, now).unwrap();
    }

    fn link(state: &mut State, byte: u8) {
        let make = Command::MakeLink {
            name: "ann".to_owned(),
            hash: [byte; 32],
            expires_at: LATER,
        };
        run(state, make, NOW).unwrap();
    }

    #[test]
    fn a_link_opens_one_session_in_its_time_and_a_newer_link_replaces_it() {
        let mut state = state();
        let with = |byte: u8| Command::UseLink {
            hash: [byte; 32],
            session: session(byte),
        };
        link(&mut state, 1);
        link(&mut state, 2);
        let refused = Err(Rejection::LinkUsed);
        assert_eq!(run(&mut state, with(1), NOW), refused, "replaced");
        assert_eq!(run(&mut state.clone(), with(2), LATER), refused, "too late");
        assert_eq!(run(&mut state, with(2), NOW), Ok(1));
        assert_eq!(run(&mut state, with(2), NOW), refused, "used");
        let found = state.user_by_session(&[102; 32], NOW);
        assert_eq!(found.unwrap().1.name, "ann");
        assert!(state.user_by_session(&[102; 32], LATER).is_none(), "over");
        let suspend = Command::SuspendUser { name: "ann".into() };
        link(&mut state, 3);
        run(&mut state, suspend, NOW).unwrap();
        assert_eq!(run(&mut state, with(3), NOW), refused, "suspended");
    }

    #[test]
    fn suspending_someone_ends_their_sessions_for_good_and_nobody_elses() {
        let mut state = state();
        sign_in(&mut state, "ann", 1, NOW);
        sign_in(&mut state, "bob", 2, NOW);
        let name = "ann".to_owned();
        run(&mut state, Command::SuspendUser { name: name.clone() }, NOW).unwrap();
        run(&mut state, Command::ResumeUser { name }, NOW).unwrap();
        assert!(state.user_by_session(&[101; 32], NOW).is_none());
        assert!(state.user_by_session(&[102; 32], NOW).is_some());
    }

    #[test]
    fn ending_someones_sessions_ends_all_of_theirs_and_nobody_elses() {
        let mut state = state();
        for (name, n) in [("ann", 1), ("ann", 2), ("bob", 3)] {
            sign_in(&mut state, name, n, NOW);
        }
        let close = |name: &str| Command::CloseSessions { name: name.into() };
        assert_eq!(run(&mut state, close("ann"), NOW), Ok(2));
        assert_eq!(state.sessions.keys().collect::<Vec<_>>(), ["ses_3"]);
        let nobody = Err(Rejection::NoSuchUser("eve".into()));
        assert_eq!(run(&mut state, close("eve"), NOW), nobody);
    }

    #[test]
    fn a_new_password_ends_the_sessions_it_was_not_set_in() {
        let mut state = state();
        for n in 1..=3 {
            sign_in(&mut state, "ann", n, NOW);
        }
        let set = Command::RecordPassword {
            name: "ann".to_owned(),
            keep: Some("ses_2".to_owned()),
        };
        run(&mut state, set, NOW).unwrap();
        assert_eq!(state.sessions.keys().collect::<Vec<_>>(), ["ses_2"]);
    }

    #[test]
    fn sessions_of_one_person_are_bounded_and_old_ones_go_first() {
        let mut state = state();
        for n in 0..MAX_SESSIONS as u8 + 5 {
            sign_in(&mut state, "ann", n, Micros(NOW.0 + i64::from(n)));
        }
        assert_eq!(state.sessions.len(), MAX_SESSIONS);
        assert!(!state.sessions.contains_key("ses_4"));
        assert!(state.sessions.contains_key("ses_5"));
        // Those that are over go at the next sign-in.
        let open = Command::OpenSession {
            name: "ann".to_owned(),
            session: NewSession {
                expires_at: Micros(i64::MAX),
                ..session(99)
            },
        };
        run(&mut state, open, LATER).unwrap();
        assert_eq!(state.sessions.keys().collect::<Vec<_>>(), ["ses_99"]);
    }
}
