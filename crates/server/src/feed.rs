//! The feed: what was written to the log most recently, read once and put into
//! words once, for all who watch it grow.
//!
//! One task follows the log. What comes in a burst is gathered for a tenth of a
//! second, and those who watch are called a few at a time: however many they
//! are, a delivery waits behind a handful of them. While nobody watches,
//! nothing is read.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::body::Bytes;
use engine::read::Entry;
use store::EntryQuery;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, sleep_until},
};

use crate::{
    App,
    api::events::{CHUNK, event, fingerprint, is_public},
};

/// From one call to the next, for each who watches.
const ROUND: Duration = Duration::from_millis(100);
/// Called together; between two such groups others have their turn.
const GROUP: usize = 16;
const BETWEEN_GROUPS: Duration = Duration::from_millis(1);
/// What is remembered for those who are slow or come back.
const BYTES: usize = 4 << 20;
/// From one sign of life to the next.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// After a read that failed.
const AGAIN: Duration = Duration::from_secs(1);

/// Neighbouring entries as events, for owners and for everyone.
#[derive(Debug)]
pub struct Chunk {
    from: u64,
    all: Bytes,
    public: Bytes,
    /// Where each entry ends in the one and in the other.
    ends: Vec<(usize, usize)>,
}

impl Chunk {
    /// `None` if there are no entries, or one cannot be put into words.
    pub fn of(entries: &[Entry], log: &str) -> Option<Chunk> {
        let from = entries.first()?.position;
        let (mut all, mut public) = (String::new(), String::new());
        let mut ends = Vec::with_capacity(entries.len());
        for entry in entries {
            let event = event(entry, log)?;
            all.push_str(&event);
            if is_public(entry) {
                public.push_str(&event);
            }
            ends.push((all.len(), public.len()));
        }
        let all = Bytes::from(all);
        let public = match all.len() == public.len() {
            true => all.clone(),
            false => Bytes::from(public),
        };
        Some(Chunk {
            from,
            all,
            public,
            ends,
        })
    }

    /// The position after its last entry.
    pub fn end(&self) -> u64 {
        self.from + self.ends.len() as u64
    }

    pub fn text(&self, is_owner: bool) -> Bytes {
        self.text_from(self.from, is_owner)
    }

    /// What is at a position and after it.
    fn text_from(&self, position: u64, is_owner: bool) -> Bytes {
        let before = position.checked_sub(self.from + 1);
        let before = before.and_then(|place| self.ends.get(usize::try_from(place).ok()?));
        let (all, public) = before.copied().unwrap_or_default();
        match is_owner {
            true => self.all.slice(all..),
            false => self.public.slice(public..),
        }
    }

    fn bytes(&self) -> usize {
        let twice = self.all.as_ptr() != self.public.as_ptr();
        self.all.len() + if twice { self.public.len() } else { 0 } + 16 * self.ends.len()
    }
}

#[derive(Debug, Default)]
pub struct Feed {
    state: Arc<Mutex<State>>,
    someone_came: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Oldest first, each beginning where the one before it ends.
    chunks: VecDeque<Chunk>,
    bytes: usize,
    /// The position after the newest.
    next: u64,
    watching: usize,
    groups: Vec<Group>,
}

#[derive(Debug, Default)]
struct Group {
    seats: usize,
    calls: watch::Sender<Call>,
}

/// What those who watch are called with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Call {
    next: u64,
    beats: u64,
}

/// What is new since a position.
#[derive(Debug, PartialEq, Eq)]
pub enum News {
    Nothing,
    /// Events, which may be none that one may see, and where to go on.
    Some {
        text: Bytes,
        next: u64,
    },
    /// It must be read from the store.
    TooOld,
}

/// The place of one who watches, until it is dropped.
#[derive(Debug)]
pub struct Seat {
    group: usize,
    calls: watch::Receiver<Call>,
    heard: Call,
    state: Arc<Mutex<State>>,
}

impl Seat {
    /// Waits for the next call: whether it is only a sign of life. `None` when
    /// there will be no more.
    pub async fn called(&mut self) -> Option<bool> {
        self.calls.changed().await.ok()?;
        let call = *self.calls.borrow_and_update();
        let before = std::mem::replace(&mut self.heard, call);
        Some(call.next == before.next)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        state.watching -= 1;
        if let Some(group) = state.groups.get_mut(self.group) {
            group.seats -= 1;
        }
        if state.watching == 0 {
            *state = State {
                next: state.next,
                ..State::default()
            };
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn add(&mut self, chunk: Chunk) {
        self.next = chunk.end();
        self.bytes += chunk.bytes();
        self.chunks.push_back(chunk);
        while self.bytes > BYTES
            && let Some(oldest) = self.chunks.pop_front()
        {
            self.bytes -= oldest.bytes();
        }
    }
}

impl Feed {
    /// A place for someone who has seen everything before `size`, or will read
    /// it from the store.
    pub fn sit(&self, size: u64) -> Seat {
        let mut state = lock(&self.state);
        if state.watching == 0 {
            // What was written while nobody watched is not in the feed.
            state.next = size;
            state.chunks.clear();
            state.bytes = 0;
            self.someone_came.notify_one();
        }
        state.watching += 1;
        let free = state.groups.iter().position(|group| group.seats < GROUP);
        let group = free.unwrap_or_else(|| {
            state.groups.push(Group::default());
            state.groups.len() - 1
        });
        state.groups[group].seats += 1;
        let calls = state.groups[group].calls.subscribe();
        drop(state);
        let heard = *calls.borrow();
        Seat {
            group,
            heard,
            calls,
            state: Arc::clone(&self.state),
        }
    }

    /// What is new at a position and after it, for owners or for everyone.
    pub fn after(&self, position: u64, is_owner: bool) -> News {
        let state = lock(&self.state);
        if position >= state.next {
            return News::Nothing;
        }
        let after = state.chunks.partition_point(|chunk| chunk.from <= position);
        let chunk = after.checked_sub(1).and_then(|at| state.chunks.get(at));
        match chunk {
            None => News::TooOld,
            Some(chunk) => News::Some {
                text: chunk.text_from(position, is_owner),
                next: chunk.end(),
            },
        }
    }

    /// Those who watch now.
    pub fn watching(&self) -> usize {
        lock(&self.state).watching
    }

    /// Reads what was written since, until there are `size` entries.
    async fn follow(&self, app: &App, log: &str, size: u64) -> store::Result<()> {
        loop {
            let from = lock(&self.state).next;
            if from >= size {
                return Ok(());
            }
            let query = EntryQuery {
                from,
                limit: CHUNK,
                ..EntryQuery::default()
            };
            let entries = app.shared().entries(query).await?;
            let Some(chunk) = Chunk::of(&entries, log) else {
                return Err(store::Error::Damaged(format!("entry {from}")));
            };
            let mut state = lock(&self.state);
            // Everyone may have gone meanwhile, and others come.
            if state.next == from {
                state.add(chunk);
            }
        }
    }

    /// Calls one group; whether there is another.
    fn call_group(&self, group: usize, beats: u64) -> bool {
        let state = lock(&self.state);
        let next = state.next;
        if let Some(found) = state.groups.get(group) {
            found.calls.send_replace(Call { next, beats });
        }
        state.groups.len() > group + 1
    }

    /// Calls all who watch, group by group.
    async fn call(&self, beats: u64) {
        let mut group = 0;
        while self.call_group(group, beats) {
            group += 1;
            sleep(BETWEEN_GROUPS).await;
        }
    }
}

/// Follows the log for those who watch. Runs until the server ends.
pub async fn run(app: App) {
    let feed = &app.feed;
    let log = fingerprint(app.shared().keys.log.name());
    let mut size = app.shared().size();
    let (mut beats, mut beat_at) = (0, Instant::now());
    loop {
        if feed.watching() == 0 {
            feed.someone_came.notified().await;
        }
        let round = Instant::now();
        let now = *size.borrow_and_update();
        if let Err(error) = feed.follow(&app, &log, now).await {
            tracing::warn!(%error, "those who watch the trail are told later");
            sleep(AGAIN).await;
            continue;
        }
        if round >= beat_at {
            beats += 1;
            beat_at = round + KEEP_ALIVE;
        }
        feed.call(beats).await;
        sleep_until(round + ROUND).await;
        tokio::select! {
            grown = size.changed() => if grown.is_err() { return },
            () = sleep_until(beat_at) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;
    use trail::{Hash, Micros};

    fn entries(from: u64, streams: &[&str]) -> Vec<Entry> {
        let entry = |(n, stream): (usize, &&str)| Entry {
            position: from + n as u64,
            stream: (*stream).to_owned(),
            seq: 0,
            time: Micros(0),
            actor: "a".to_owned(),
            event_type: "delivery_received".to_owned(),
            entry_hash: Hash::of("test", &[]),
            facts: RawValue::from_string("{}".to_owned()).unwrap(),
        };
        streams.iter().enumerate().map(entry).collect()
    }

    fn places(news: News) -> (Vec<u64>, u64) {
        let News::Some { text, next } = news else {
            panic!("{news:?}");
        };
        let text = std::str::from_utf8(&text).unwrap().to_owned();
        let ids = text.lines().filter_map(|line| line.strip_prefix("id: "));
        let places = ids.map(|id| id.split('@').next().unwrap().parse().unwrap());
        (places.collect(), next)
    }

    #[test]
    fn each_reads_on_from_where_they_are_and_sees_what_is_theirs() {
        let feed = Feed::default();
        let _seat = feed.sit(10);
        assert_eq!(feed.after(10, true), News::Nothing);
        let add = |from, streams: &[&str]| {
            let chunk = Chunk::of(&entries(from, streams), "log").unwrap();
            lock(&feed.state).add(chunk);
        };
        add(10, &["agent/a", "admin", "agent/b"]);
        add(13, &["admin"]);
        assert_eq!(places(feed.after(10, true)), (vec![10, 11, 12], 13));
        assert_eq!(places(feed.after(10, false)), (vec![10, 12], 13));
        assert_eq!(places(feed.after(11, true)), (vec![11, 12], 13));
        assert_eq!(places(feed.after(12, false)), (vec![12], 13));
        assert_eq!(places(feed.after(13, false)), (vec![], 14));
        assert_eq!(feed.after(14, true), News::Nothing);
        assert_eq!(feed.after(9, true), News::TooOld);
    }

    #[test]
    fn it_remembers_so_much_and_forgets_all_when_nobody_watches() {
        let feed = Feed::default();
        let seat = feed.sit(0);
        let many = ["agent/a"; 256];
        for n in 0..200 {
            let chunk = Chunk::of(&entries(n * 256, &many), "log").unwrap();
            lock(&feed.state).add(chunk);
        }
        assert!(lock(&feed.state).bytes <= BYTES);
        assert_eq!(feed.after(0, true), News::TooOld);
        assert!(matches!(feed.after(199 * 256, true), News::Some { .. }));
        drop(seat);
        assert!(lock(&feed.state).chunks.is_empty());
        assert_eq!(feed.watching(), 0);
    }

    #[tokio::test]
    async fn a_call_says_whether_there_is_news() {
        let feed = Feed::default();
        let mut seats: Vec<_> = (0..GROUP + 1).map(|_| feed.sit(0)).collect();
        lock(&feed.state).next = 5;
        feed.call(0).await;
        for seat in &mut seats {
            assert_eq!(seat.called().await, Some(false));
        }
        feed.call(1).await;
        for seat in &mut seats {
            assert_eq!(seat.called().await, Some(true));
        }
    }
}
