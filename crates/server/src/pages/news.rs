//! What a form has done, until the page that it leads to has said so, once. It
//! stands in no address: a link that somebody else wrote makes no page say it.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use account::State;

#[derive(Clone, Copy, Debug)]
pub enum Done {
    PasswordSet {
        /// Whether there was one before.
        replaced: bool,
        /// Sessions elsewhere that ended by it.
        ended: usize,
        /// Whether the person's token was revoked too.
        revoked: bool,
    },
    TokenRevoked,
}

/// By session, one each; of sessions that are over, none.
#[derive(Debug, Default)]
pub struct News(Mutex<HashMap<String, Done>>);

impl News {
    pub fn keep(&self, accounts: &State, session_id: &str, done: Done) {
        let mut news = self.lock();
        news.retain(|session_id, _| accounts.sessions.contains_key(session_id));
        news.insert(session_id.to_owned(), done);
    }

    pub fn take(&self, session_id: &str) -> Option<Done> {
        self.lock().remove(session_id)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Done>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
