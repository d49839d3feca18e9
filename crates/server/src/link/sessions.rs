//! Session tokens: in memory, by their hashes, and never in the database. A
//! restart ends them all, which costs a client one more authentication.

use std::{
    collections::{HashMap, VecDeque},
    fmt::Debug,
    sync::{Arc, Mutex, PoisonError},
};

use account::secret::SecretHash;
use async_trait::async_trait;
use wakelink::relay::{Moment, Session};

/// A session and whose it is.
#[derive(Clone, Debug)]
pub struct Held {
    pub name: Arc<str>,
    /// The token that it was opened with: the session ends with it.
    pub token_id: Arc<str>,
    pub session: Arc<Session>,
}

/// Where sessions are kept.
#[async_trait]
pub trait Sessions: Debug + Send + Sync {
    async fn keep(&self, hash: SecretHash, held: Held, now: Moment);
    async fn find(&self, hash: &SecretHash) -> Option<Held>;
}

/// In this process.
#[derive(Debug)]
pub struct InMemory {
    /// Of one person; the oldest makes room.
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    by_hash: HashMap<SecretHash, Held>,
    /// Oldest first.
    by_name: HashMap<Arc<str>, VecDeque<SecretHash>>,
}

impl InMemory {
    pub fn new(most: usize) -> InMemory {
        InMemory {
            most,
            kept: Mutex::default(),
        }
    }
}

#[async_trait]
impl Sessions for InMemory {
    async fn keep(&self, hash: SecretHash, held: Held, now: Moment) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Kept { by_hash, by_name } = &mut *kept;
        let own = by_name.entry(Arc::clone(&held.name)).or_default();
        // All last equally long, so those that are over come first.
        while let Some(oldest) = own.front() {
            let lasts = by_hash
                .get(oldest)
                .is_some_and(|held| now < held.session.expires_at());
            if lasts && own.len() < self.most {
                break;
            }
            by_hash.remove(oldest);
            own.pop_front();
        }
        own.push_back(hash);
        by_hash.insert(hash, held);
    }

    async fn find(&self, hash: &SecretHash) -> Option<Held> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.by_hash.get(hash).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(name: &str, seconds: u64) -> Held {
        Held {
            name: name.into(),
            token_id: "tok".into(),
            session: Arc::new(Session::new(10, Moment(0).plus_seconds(seconds))),
        }
    }

    #[tokio::test]
    async fn one_person_has_so_many_and_does_not_take_anothers_room() {
        let sessions = InMemory::new(2);
        let now = Moment(0);
        sessions.keep([9; 32], held("bob", 60), now).await;
        for n in 0..3 {
            sessions.keep([n; 32], held("ann", 60), now).await;
        }
        assert!(sessions.find(&[0; 32]).await.is_none());
        for there in [1, 2, 9] {
            assert!(sessions.find(&[there; 32]).await.is_some());
        }
    }

    #[tokio::test]
    async fn those_that_are_over_are_forgotten() {
        let sessions = InMemory::new(100);
        for n in 0..3 {
            sessions.keep([n; 32], held("ann", 60), Moment(0)).await;
        }
        let later = Moment(0).plus_seconds(61);
        sessions.keep([7; 32], held("ann", 120), later).await;
        let kept = sessions.kept.lock().unwrap();
        assert_eq!(kept.by_hash.len(), 1);
        assert_eq!(kept.by_name["ann"].len(), 1);
    }
}
