//! Answers that stand in memory until their peer has taken them.
//!
//! A peer that asks and does not read keeps its answers here. Each person, each
//! key, and whoever has shown no more than a person's cookie may keep so many
//! bytes; beyond that the connection is ended whose answer has waited longest.
//! Nobody is refused: whoever reads is hardly ever among those that wait.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use axum::{
    body::{Body, Bytes, HttpBody as _, to_bytes},
    response::{IntoResponse as _, Response},
};

use crate::{Problem, crowd::Guest, limits::Holder};

/// Eight of the largest pages of an item.
const MOST_BYTES: usize = 48 << 20;
const MOST_BYTES_BY_COOKIE: usize = MOST_BYTES / 2;
/// Less than this is not worth counting.
const FEW_BYTES: u64 = 1 << 10;

/// In whose share an answer counts.
#[derive(Clone, Debug)]
pub enum Whose {
    /// By the id of its key.
    Agent(String),
    Person(Holder),
}

impl Whose {
    /// Its name, and the bytes it may keep. No person's name has a space.
    fn share(&self) -> (String, usize) {
        match self {
            Whose::Agent(key_id) => (format!("key {key_id}"), MOST_BYTES),
            Whose::Person(Holder::Person(name)) => (name.clone(), MOST_BYTES),
            // All sessions of a person together: nobody has more by signing in often.
            Whose::Person(Holder::Cookie { person, .. }) => {
                (format!("cookie {person}"), MOST_BYTES_BY_COOKIE)
            }
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Unsent(Arc<Mutex<Shares>>);

#[derive(Debug, Default)]
struct Shares {
    next: u64,
    by_name: HashMap<String, Share>,
}

#[derive(Debug, Default)]
struct Share {
    bytes: usize,
    /// In the order in which they were made.
    answers: BTreeMap<u64, (usize, Weak<Guest>)>,
}

impl Unsent {
    fn shares(&self) -> MutexGuard<'_, Shares> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the answer until its last byte was sent or its connection ended. What
    /// is made while it is sent has bounds of its own.
    pub async fn count(&self, whose: &Whose, guest: &Arc<Guest>, response: Response) -> Response {
        if response
            .body()
            .size_hint()
            .exact()
            .is_none_or(|n| n < FEW_BYTES)
        {
            return response;
        }
        let (parts, body) = response.into_parts();
        match to_bytes(body, usize::MAX).await {
            Ok(bytes) => Response::from_parts(parts, Body::from(self.keep(whose, guest, bytes))),
            Err(_) => Problem::internal().into_response(),
        }
    }

    fn keep(&self, whose: &Whose, guest: &Arc<Guest>, bytes: Bytes) -> Bytes {
        let (name, most) = whose.share();
        let mut gone = Vec::new();
        let number = {
            let mut shares = self.shares();
            let number = shares.next;
            shares.next += 1;
            let share = shares.by_name.entry(name.clone()).or_default();
            share.bytes += bytes.len();
            let answer = (bytes.len(), Arc::downgrade(guest));
            share.answers.insert(number, answer);
            while share.bytes > most && share.answers.len() > 1 {
                let Some((_, (bytes, guest))) = share.answers.pop_first() else {
                    break;
                };
                share.bytes -= bytes;
                gone.extend(guest.upgrade());
            }
            number
        };
        gone.iter().for_each(|guest| guest.send_away());
        Bytes::from_owner(Kept {
            bytes,
            name,
            number,
            unsent: self.clone(),
        })
    }
}

/// The bytes of an answer. They are dropped when they are sent.
struct Kept {
    bytes: Bytes,
    name: String,
    number: u64,
    unsent: Unsent,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let mut shares = self.unsent.shares();
        if let Some(share) = shares.by_name.get_mut(&self.name) {
            if let Some((bytes, _)) = share.answers.remove(&self.number) {
                share.bytes -= bytes;
            }
            if share.answers.is_empty() {
                shares.by_name.remove(&self.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::crowd::{Bounds, Crowd};

    #[test]
    fn the_answer_that_waited_longest_gives_way_and_what_was_sent_is_forgotten() {
        let crowd = Crowd::new(Bounds::new(1000, 100));
        let enter = || crowd.enter(None, Instant::now());
        let unsent = Unsent::default();
        let [bob, ann] = ["bob", "ann"].map(|name| Whose::Person(Holder::Person(name.to_owned())));
        let page = || Bytes::from(vec![0; MOST_BYTES / 4]);
        let guests: Vec<_> = (0..6).map(|_| enter()).collect();
        let taken = unsent.keep(&bob, &guests[0], page());
        drop(taken);
        let kept: Vec<_> = guests[1..5]
            .iter()
            .map(|guest| unsent.keep(&bob, guest, page()))
            .collect();
        assert!(guests.iter().all(|guest| !guest.must_leave()));
        let others = unsent.keep(&ann, &guests[0], page());
        assert!(guests.iter().all(|guest| !guest.must_leave()));
        let one_more = unsent.keep(&bob, &guests[5], page());
        let left: Vec<bool> = guests.iter().map(|guest| guest.must_leave()).collect();
        assert_eq!(left, [false, true, false, false, false, false]);
        drop((kept, others, one_more));
        assert!(unsent.shares().by_name.is_empty());
        // One that is larger than a share is sent all the same.
        let _large = unsent.keep(&bob, &guests[2], Bytes::from(vec![0; MOST_BYTES + 1]));
        assert!(!guests[2].must_leave());
    }
}
