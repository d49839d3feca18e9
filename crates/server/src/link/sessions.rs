//! Session tokens: in memory, by their hashes, and never in the database. A
//! restart ends them all, which costs whoever had one another authentication.

use std::{
    collections::{HashMap, VecDeque},
    fmt::Debug,
    sync::{Arc, Mutex, PoisonError},
};

use account::secret::SecretHash;
use async_trait::async_trait;
use wakelink::relay::{Moment, Session};

use super::seats::Right;

/// A session and whose it is.
#[derive(Clone, Debug)]
pub struct Held {
    /// The person, or the owner of the device.
    pub owner: Arc<str>,
    /// What it was opened with: the session ends with it.
    pub right: Right,
    pub session: Arc<Session>,
    /// Nobody asked for it: it was given to whoever came in with another token.
    pub unasked: bool,
}

/// Among whose sessions one is counted: a device takes no room from its owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Holder {
    Person(Arc<str>),
    Device(Arc<str>),
}

impl Held {
    fn holder(&self) -> Holder {
        match &self.right {
            Right::Client { name, .. } => Holder::Person(Arc::clone(name)),
            Right::Device { agent_id, .. } => Holder::Device(Arc::clone(agent_id)),
        }
    }

    /// Whether somebody is connected with it.
    fn is_used(&self) -> bool {
        Arc::strong_count(&self.session) > 1
    }
}

/// Where sessions are kept.
#[async_trait]
pub trait Sessions: Debug + Send + Sync {
    async fn keep(&self, hash: SecretHash, held: Held, now: Moment);
    async fn find(&self, hash: &SecretHash) -> Option<Held>;
    /// Ends one of this person's: nobody comes in with it again.
    async fn end(&self, hash: &SecretHash, name: &str);
}

/// In this process.
#[derive(Debug)]
pub struct InMemory {
    /// Of one person or device. One that is over makes room first, then one that nobody
    /// asked for, then the oldest; one that is in use only if all are.
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    by_hash: HashMap<SecretHash, Held>,
    /// Oldest first.
    by_holder: HashMap<Holder, VecDeque<SecretHash>>,
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
        let Kept { by_hash, by_holder } = &mut *kept;
        let own = by_holder.entry(held.holder()).or_default();
        own.retain(|hash| {
            let lasts = by_hash
                .get(hash)
                .is_some_and(|held| held.is_used() || held.session.lasts(now));
            if !lasts {
                by_hash.remove(hash);
            }
            lasts
        });
        while own.len() >= self.most {
            let rank = |hash: &SecretHash| {
                let held = by_hash.get(hash);
                held.map(|held| (held.is_used(), !held.unasked))
            };
            // The first of the least is the oldest of them.
            let least = (0..own.len()).min_by_key(|at| rank(&own[*at]));
            let Some(gone) = least.and_then(|at| own.remove(at)) else {
                break;
            };
            by_hash.remove(&gone);
        }
        own.push_back(hash);
        by_hash.insert(hash, held);
    }

    async fn find(&self, hash: &SecretHash) -> Option<Held> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.by_hash.get(hash).cloned()
    }

    async fn end(&self, hash: &SecretHash, name: &str) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let holder = Holder::Person(name.into());
        let held = kept.by_hash.get(hash);
        if held.is_some_and(|held| held.holder() == holder) {
            kept.by_hash.remove(hash);
            if let Some(own) = kept.by_holder.get_mut(&holder) {
                own.retain(|one| one != hash);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(name: &str, seconds: u64) -> Held {
        Held {
            owner: name.into(),
            right: Right::Client {
                name: name.into(),
                token_id: "tok".into(),
            },
            session: Arc::new(Session::new(10, Moment(0).plus_seconds(seconds))),
            unasked: false,
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
    async fn what_is_in_use_or_was_asked_for_is_not_what_makes_room() {
        let sessions = InMemory::new(3);
        let now = Moment(0);
        let unasked = Held {
            unasked: true,
            ..held("ann", 60)
        };
        sessions.keep([0; 32], held("ann", 60), now).await;
        sessions.keep([1; 32], held("ann", 60), now).await;
        sessions.keep([2; 32], unasked, now).await;
        let in_use = sessions.find(&[0; 32]).await.unwrap();
        for (n, gone) in [(3, 2), (4, 1), (5, 3)] {
            sessions.keep([n; 32], held("ann", 60), now).await;
            assert!(sessions.find(&[gone; 32]).await.is_none(), "{gone}");
            assert!(sessions.find(&[0; 32]).await.is_some());
        }
        drop(in_use);
        sessions.keep([6; 32], held("ann", 60), now).await;
        assert!(sessions.find(&[0; 32]).await.is_none());
    }

    #[tokio::test]
    async fn one_that_is_used_up_makes_room_and_one_is_ended_by_its_person_alone() {
        let sessions = InMemory::new(2);
        let now = Moment(0);
        sessions.keep([0; 32], held("ann", 60), now).await;
        sessions.keep([1; 32], held("ann", 60), now).await;
        let session = sessions.find(&[1; 32]).await.unwrap().session;
        while session.spend(now).is_ok() {}
        drop(session);
        sessions.keep([2; 32], held("ann", 60), now).await;
        assert!(sessions.find(&[0; 32]).await.is_some());
        assert!(sessions.find(&[1; 32]).await.is_none());
        sessions.end(&[2; 32], "bob").await;
        assert!(sessions.find(&[2; 32]).await.is_some());
        sessions.end(&[2; 32], "ann").await;
        assert!(sessions.find(&[2; 32]).await.is_none());
    }

    #[tokio::test]
    async fn a_device_takes_no_room_from_its_owner() {
        let sessions = InMemory::new(2);
        let now = Moment(0);
        sessions.keep([9; 32], held("ann", 60), now).await;
        for n in 0..3 {
            let right = Right::Device {
                agent_id: "ann".into(),
                token_id: "tok".into(),
            };
            let held = Held {
                right,
                ..held("ann", 60)
            };
            sessions.keep([n; 32], held, now).await;
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
        assert_eq!(kept.by_holder[&Holder::Person("ann".into())].len(), 1);
    }
}
