//! What one person, one key or one address may have at once and do in an hour,
//! and why. None of it needs to survive a restart.
//!
//! Permissions (`auth.rs`) ask here before a handler runs: whoever is recognised
//! takes a place for reading, or pays for a write, so that no new route can
//! forget it.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use account::{Bucket, Key, Rate};
use axum::http::{Method, StatusCode};
use engine::Refusal;
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use trail::Micros;

use crate::{
    Problem, code::Code, lockout::Lockout, strangers::Strangers, turns::Turns, unsent::Unsent,
};

/// Whose share a request counts in. Whoever was handed no more than a session's
/// cookie, as other ports of the host are, must not use up what the person may
/// have at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// By name: a token or the page key proves it.
    Person(String),
    /// By a session's id: its cookie is the only proof.
    Cookie { person: String, session_id: String },
}

impl Holder {
    /// The name of the share. No person's name has a space.
    pub fn share(&self) -> Cow<'_, str> {
        match self {
            Holder::Person(name) => Cow::Borrowed(name),
            Holder::Cookie { session_id, .. } => Cow::Owned(format!("session {session_id}")),
        }
    }
}

/// The part of a person's share that a cookie alone has.
pub fn by_cookie_alone(share: usize) -> usize {
    (share / 4).max(4).min(share)
}

/// What an operator can set under `[people]`. Each holds for one person.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct People {
    /// Answers and undos. A page answers 200 at once, and a person may do that
    /// five times in a row; ten a second is more than anyone reads.
    pub answers_at_once: u32,
    pub answers_per_hour: u32,
    /// Every other change: tokens, sessions, keys, snoozing, what was seen. Two
    /// a second are more than a person does; at once as many as a program needs
    /// that makes a key for each of hundreds of agents.
    pub writes_at_once: u32,
    pub writes_per_hour: u32,
    /// Entries of the trail that searches look at. One search looks at 4000 at
    /// the most; 10 000 a second cost about a tenth of a processor.
    pub searched_at_once: u32,
    pub searched_per_second: u32,
    /// Requests that read, at the same time. A browser makes six.
    pub reads: usize,
    /// Live event streams: one for each open page.
    pub streams: usize,
    /// Connections, among them those of the streams.
    pub connections: usize,
}

impl Default for People {
    fn default() -> People {
        People {
            answers_at_once: 1_000,
            answers_per_hour: 36_000,
            writes_at_once: 1_000,
            writes_per_hour: 7_200,
            searched_at_once: 100_000,
            searched_per_second: 10_000,
            reads: 8,
            streams: 64,
            connections: 128,
        }
    }
}

impl People {
    /// The name of a limit that would let nothing through.
    pub fn nothing_passes(&self) -> Option<&'static str> {
        let named = [
            ("answers-at-once", u64::from(self.answers_at_once)),
            ("answers-per-hour", u64::from(self.answers_per_hour)),
            ("writes-at-once", u64::from(self.writes_at_once)),
            ("writes-per-hour", u64::from(self.writes_per_hour)),
            ("searched-at-once", u64::from(self.searched_at_once)),
            ("searched-per-second", u64::from(self.searched_per_second)),
            ("reads", self.reads as u64),
            ("streams", self.streams as u64),
            ("connections", self.connections as u64),
        ];
        let zero = named.into_iter().find(|(_, value)| *value == 0);
        zero.map(|(name, _)| name)
    }
}

/// Denials that one caller can put on the trail.
const DENIALS: Rate = Rate {
    burst: 20,
    per_hour: 60,
};

/// Sessions that one person opens with their password.
const SIGN_INS: Rate = Rate {
    burst: 60,
    per_hour: 240,
};

/// Sweeps of one key at the same time; each may look at many rows.
const SWEEPS: usize = 8;

/// Searches of the trail that one person has looked for at the same time: each
/// keeps a processor busy.
const SEARCHES: usize = 1;

/// How long a read waits for others of the same person or key.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct Limits {
    pub sign_in: Lockout,
    /// Who may have a password looked at next.
    pub turns: Turns,
    people: People,
    reads: Buckets,
    deliveries: Buckets,
    denials: Buckets,
    answers: Buckets,
    writes: Buckets,
    sign_ins: Buckets,
    searches: Debts,
    reading: Shares,
    reading_by_cookie: Shares,
    sweeping: Shares,
    searching: Shares,
    streams: Shares,
    streams_by_cookie: Shares,
    /// Behind a proxy; without one their connections are counted (`crowd.rs`).
    pub strangers: Strangers,
    pub unsent: Unsent,
}

/// Many times what the key may deliver: a poll a minute for each of hundreds
/// of deliveries is ordinary.
fn generous(rate: Rate) -> Rate {
    Rate {
        burst: rate.burst.saturating_mul(20).max(600),
        per_hour: rate.per_hour.saturating_mul(100).max(36_000),
    }
}

/// Whether a path is about answering: that has a rate of its own. A preview is
/// asked for again and again while one types.
fn is_answering(path: &str) -> bool {
    let ends = ["/respond", "/undo", "/answer", "/preview"];
    path == "/answers" || ends.iter().any(|end| path.ends_with(end))
}

impl Limits {
    pub fn new(people: People) -> Limits {
        Limits {
            sign_in: Lockout::default(),
            turns: Turns::default(),
            reads: Buckets::default(),
            deliveries: Buckets::default(),
            denials: Buckets::default(),
            answers: Buckets::default(),
            writes: Buckets::default(),
            sign_ins: Buckets::default(),
            searches: Debts::default(),
            reading: Shares::new(people.reads),
            reading_by_cookie: Shares::new(by_cookie_alone(people.reads)),
            sweeping: Shares::new(SWEEPS),
            searching: Shares::new(SEARCHES),
            streams: Shares::new(people.streams),
            streams_by_cookie: Shares::new(by_cookie_alone(people.streams)),
            strangers: Strangers::default(),
            unsent: Unsent::default(),
            people,
        }
    }

    pub fn take_read(&self, key: &Key, now: Micros) -> Result<(), Problem> {
        let taken = self.reads.take(&key.key_id, generous(key.rate), 1, now);
        taken.map_err(|seconds| {
            let detail = "Too many reads. Wait as long as Retry-After says, and sweep instead of polling one by one.";
            Problem::new(StatusCode::TOO_MANY_REQUESTS, Code::ReadsLimited, detail).retry_after(seconds)
        })
    }

    /// What is refused costs the key nothing of its deliveries, but it costs
    /// us the reading. Asked before the body is read.
    pub fn take_delivery(&self, key: &Key, now: Micros) -> Result<(), Problem> {
        let rate = generous(key.rate);
        let taken = self.deliveries.take(&key.key_id, rate, 1, now);
        taken.map_err(|retry_after_seconds| {
            Refusal::RateLimited {
                retry_after_seconds,
            }
            .into()
        })
    }

    pub fn may_record_denial(&self, actor: &str, now: Micros) -> bool {
        self.denials.take(actor, DENIALS, 1, now).is_ok()
    }

    /// Pays for a change that a person asks for: `count` of them, if one request
    /// asks for several.
    pub fn take_write(
        &self,
        name: &str,
        path: &str,
        count: usize,
        now: Micros,
    ) -> Result<(), Problem> {
        let people = &self.people;
        let (buckets, burst, per_hour) = match is_answering(path) {
            true => (
                &self.answers,
                people.answers_at_once,
                people.answers_per_hour,
            ),
            false => (&self.writes, people.writes_at_once, people.writes_per_hour),
        };
        let count = count.clamp(1, usize::try_from(burst).unwrap_or(usize::MAX));
        let taken = buckets.take(name, Rate { burst, per_hour }, count, now);
        taken.map_err(|seconds| {
            let detail = format!(
                "You have changed too much in too short a time. Wait {seconds} s, then send this again."
            );
            Problem::new(StatusCode::TOO_MANY_REQUESTS, Code::WritesLimited, detail).retry_after(seconds)
        })
    }

    /// Pays for a session that a right password opens: each is an entry. Gives the
    /// seconds to wait.
    pub fn take_sign_in(&self, name: &str, now: Micros) -> Result<(), u64> {
        self.sign_ins.take(name, SIGN_INS, 1, now)
    }

    /// A place for a request that reads, until it is dropped.
    pub async fn place_to_read(&self, holder: &Holder) -> Result<OwnedSemaphorePermit, Problem> {
        let shares = match holder {
            Holder::Person(_) => &self.reading,
            Holder::Cookie { .. } => &self.reading_by_cookie,
        };
        let place = shares.take(&holder.share(), 1, PATIENCE).await;
        place.ok_or_else(|| {
            let detail = "Too many of your requests are being answered at once. Send fewer at a time, then try again.";
            Problem::new(StatusCode::TOO_MANY_REQUESTS, Code::TooManyReads, detail).retry_after(2)
        })
    }

    /// The same for a key that sweeps.
    pub async fn place_to_sweep(&self, key: &Key) -> Result<OwnedSemaphorePermit, Problem> {
        let place = self.sweeping.take(&key.key_id, 1, PATIENCE).await;
        place.ok_or_else(|| {
            let detail = "Too many sweeps with this key at once. Wait for one to be answered before you send the next.";
            Problem::new(StatusCode::TOO_MANY_REQUESTS, Code::ReadsLimited, detail).retry_after(2)
        })
    }

    /// A place for a live event stream, until it is dropped. The operator has
    /// no name, and places like anyone.
    pub fn place_to_watch(&self, holder: &Holder) -> Result<OwnedSemaphorePermit, Problem> {
        let (shares, whose) = match holder {
            Holder::Person(_) => (&self.streams, "one person"),
            Holder::Cookie { .. } => (&self.streams_by_cookie, "one session without its page key"),
        };
        shares.try_take(&holder.share(), 1).ok_or_else(|| {
            let detail = format!(
                "You have {} live event streams open, which is as many as {whose} may have. Close another page or program, then open this again.",
                shares.each()
            );
            Problem::new(StatusCode::TOO_MANY_REQUESTS, Code::TooManyStreams, detail).retry_after(30)
        })
    }

    /// Refuses to search for someone whose searches have looked at too much.
    pub fn may_search(&self, holder: &Holder, now: Micros) -> Result<(), Problem> {
        let people = &self.people;
        let wait = self.searches.wait_seconds(&holder.share(), people, now);
        wait.map_err(|seconds| {
            let detail = format!("Your searches have looked at very much in a short time. Wait {seconds} s, or narrow them down by agent or time.");
            Problem::new(StatusCode::TOO_MANY_REQUESTS, Code::SearchesLimited, detail).retry_after(seconds)
        })
    }

    /// A place to search, when the person's other searches are done.
    pub async fn place_to_search(&self, holder: &Holder) -> Result<OwnedSemaphorePermit, Problem> {
        let place = self.searching.take(&holder.share(), 1, PATIENCE).await;
        place.ok_or_else(|| {
            let detail = "Another search of yours is still under way. Wait for its answer, then search again.";
            Problem::new(StatusCode::TOO_MANY_REQUESTS, Code::SearchesLimited, detail).retry_after(2)
        })
    }

    /// Says how much a search looked at.
    pub fn searched(&self, holder: &Holder, entries: usize, now: Micros) {
        self.searches
            .add(&holder.share(), entries, &self.people, now);
    }
}

/// Whether a request may change something.
pub fn is_write(method: &Method) -> bool {
    !method.is_safe()
}

#[derive(Debug, Default)]
struct Buckets(Mutex<HashMap<String, Bucket>>);

impl Buckets {
    /// Forgotten buckets are full ones, so forgetting all now and then costs little.
    const MOST: usize = 100_000;

    /// Takes all of `count` tokens, or none.
    fn take(&self, name: &str, rate: Rate, count: usize, now: Micros) -> Result<(), u64> {
        let take = |bucket: Bucket| (0..count).try_fold(bucket, |left, _| left.take(rate, now));
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = buckets.get_mut(name) {
            *bucket = take(*bucket)?;
            return Ok(());
        }
        if buckets.len() >= Self::MOST {
            buckets.clear();
        }
        buckets.insert(name.to_owned(), take(Bucket::full(rate, now))?);
        Ok(())
    }
}

/// What was used before it was known how much it would be. It is paid back with
/// time; who owes more than they may have at once waits.
#[derive(Debug, Default)]
struct Debts(Mutex<HashMap<String, (u64, Micros)>>);

impl Debts {
    /// A person has one; what nobody owes any more is forgotten.
    const MOST: usize = 10_000;

    fn owed((owed, at): (u64, Micros), people: &People, now: Micros) -> u64 {
        let passed = u64::try_from(now.0.saturating_sub(at.0)).unwrap_or(0);
        let paid = passed.saturating_mul(u64::from(people.searched_per_second)) / 1_000_000;
        owed.saturating_sub(paid)
    }

    fn wait_seconds(&self, name: &str, people: &People, now: Micros) -> Result<(), u64> {
        let debts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let owed = debts
            .get(name)
            .map_or(0, |debt| Self::owed(*debt, people, now));
        match owed.checked_sub(u64::from(people.searched_at_once)) {
            None => Ok(()),
            Some(over) => Err(over / u64::from(people.searched_per_second.max(1)) + 1),
        }
    }

    fn add(&self, name: &str, amount: usize, people: &People, now: Micros) {
        let mut debts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if debts.len() >= Self::MOST {
            debts.retain(|_, debt| Self::owed(*debt, people, now) > 0);
        }
        let before = debts
            .get(name)
            .map_or(0, |debt| Self::owed(*debt, people, now));
        let owed = before.saturating_add(amount as u64);
        debts.insert(name.to_owned(), (owed, now));
    }
}

/// The same number of places for each holder: a person, a key, an address.
#[derive(Debug)]
pub struct Shares {
    each: usize,
    held: Mutex<Holders>,
}

#[derive(Debug, Default)]
struct Holders {
    by_name: HashMap<String, Arc<Semaphore>>,
    /// Looked through for those that hold nothing when there are so many.
    clean_at: usize,
}

impl Shares {
    pub fn new(each: usize) -> Shares {
        Shares {
            each: each.min(Semaphore::MAX_PERMITS),
            held: Mutex::default(),
        }
    }

    /// How much one holder may have.
    pub fn each(&self) -> usize {
        self.each
    }

    fn of(&self, holder: &str) -> Arc<Semaphore> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = held.by_name.get(holder) {
            return Arc::clone(found);
        }
        if held.by_name.len() >= held.clean_at {
            held.by_name
                .retain(|_, places| Arc::strong_count(places) > 1);
            held.clean_at = 2 * held.by_name.len() + 256;
        }
        let places = Arc::new(Semaphore::new(self.each));
        held.by_name.insert(holder.to_owned(), Arc::clone(&places));
        places
    }

    /// Some of the holder's share, once it is free; `None` if that takes too long.
    pub async fn take(
        &self,
        holder: &str,
        amount: u32,
        patience: Duration,
    ) -> Option<OwnedSemaphorePermit> {
        let places = self.of(holder);
        if let Ok(taken) = Arc::clone(&places).try_acquire_many_owned(amount) {
            return Some(taken);
        }
        let waiting = tokio::time::timeout(patience, places.acquire_many_owned(amount));
        waiting.await.ok()?.ok()
    }

    /// Some of the holder's share, if it is free now.
    pub fn try_take(&self, holder: &str, amount: u32) -> Option<OwnedSemaphorePermit> {
        self.of(holder).try_acquire_many_owned(amount).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_at_once_are_paid_for_one_by_one_or_not_at_all() {
        let limits = Limits::new(People::default());
        let now = Micros(0);
        for _ in 0..5 {
            assert!(limits.take_write("ann", "/answers", 200, now).is_ok());
        }
        let problem = limits.take_write("ann", "/answers", 200, now).unwrap_err();
        assert_eq!(problem.status(), StatusCode::TOO_MANY_REQUESTS);
        // Ten a second come back; neither others nor other writes are in the way.
        let later = Micros(20 * Micros::SECOND);
        assert!(limits.take_write("ann", "/answers", 200, later).is_ok());
        assert!(limits.take_write("bob", "/answers", 200, now).is_ok());
        assert!(limits.take_write("ann", "/api/v1/me/token", 1, now).is_ok());
    }

    #[test]
    fn who_searched_too_much_waits_and_others_do_not() {
        let limits = Limits::new(People::default());
        let now = Micros(0);
        let [ann, bob] = ["ann", "bob"].map(|name| Holder::Person(name.to_owned()));
        let by_cookie = Holder::Cookie {
            person: "ann".to_owned(),
            session_id: "1".to_owned(),
        };
        for holder in [&bob, &by_cookie] {
            for _ in 0..25 {
                assert!(limits.may_search(holder, now).is_ok());
                limits.searched(holder, 4_000, now);
            }
            assert!(limits.may_search(holder, now).is_err());
        }
        assert!(limits.may_search(&ann, now).is_ok());
        assert!(limits.may_search(&bob, Micros(Micros::SECOND)).is_ok());
    }

    #[tokio::test]
    async fn a_share_is_one_holders_own_and_comes_back() {
        let shares = Shares::new(2);
        let first = shares.try_take("a", 2).unwrap();
        assert!(shares.take("a", 1, Duration::ZERO).await.is_none());
        assert!(shares.try_take("b", 1).is_some());
        drop(first);
        assert!(shares.take("a", 2, Duration::ZERO).await.is_some());
        for n in 0..10_000 {
            drop(shares.try_take(&n.to_string(), 1));
        }
        assert!(shares.held.lock().unwrap().by_name.len() < 1_000);
    }

    #[test]
    fn a_limit_of_nothing_is_named() {
        assert_eq!(People::default().nothing_passes(), None);
        let people = People {
            streams: 0,
            ..People::default()
        };
        assert_eq!(people.nothing_passes(), Some("streams"));
    }
}
