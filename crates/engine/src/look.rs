//! Looking through the trail: by stream, by time, by what an entry says.
//!
//! A moment and a stream are found without reading what lies between: times
//! rise with positions, and the entries of a stream are linked. Whatever else
//! is asked for is compared entry by entry, and one request looks at no more
//! than [`LOOKED_AT`] of them, so that it costs the same in a log of any length.

use store::EntryQuery;
use trail::Micros;
use uuid::Uuid;

use crate::{read::Entry, shared::Shared};

/// Entries that one request looks at, at the most.
pub const LOOKED_AT: usize = 4000;
/// Entries read at once. Whoever waits has their turn between two such reads.
const CHUNK: usize = 100;

/// What is looked for. Whatever is left out does not matter.
#[derive(Clone, Debug, Default)]
pub struct Look {
    pub stream: Option<String>,
    pub event_type: Option<String>,
    pub actor: Option<String>,
    /// The id of a delivery, or a text that the entry holds.
    pub words: Option<String>,
    /// Not before this moment.
    pub since: Option<Micros>,
    /// Before this moment.
    pub until: Option<Micros>,
    /// Where to begin: `next` of the page before.
    pub at: Option<u64>,
    pub limit: usize,
}

/// What was found, newest first.
#[derive(Clone, Debug, Default)]
pub struct Looked {
    pub entries: Vec<Entry>,
    /// Where to go on. A page can be short, or even empty, and still have it.
    pub next: Option<u64>,
    /// How many entries were read for it.
    pub looked_at: usize,
}

impl Looked {
    fn nothing_before(next: u64) -> Looked {
        Looked {
            next: next.checked_sub(1),
            looked_at: LOOKED_AT,
            ..Looked::default()
        }
    }
}

/// What an entry must say.
struct Wanted<'a> {
    look: &'a Look,
    /// The words in small letters, plain and as they stand in JSON.
    words: Option<(String, String)>,
}

impl Wanted<'_> {
    fn new(look: &Look) -> Wanted<'_> {
        let words = look.words.as_ref().map(|words| {
            let plain = words.to_lowercase();
            let quoted = serde_json::Value::from(plain.as_str()).to_string();
            let within = quoted[1..quoted.len() - 1].to_owned();
            (plain, within)
        });
        Wanted { look, words }
    }

    fn fits(&self, entry: &Entry) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        is(&self.look.event_type, &entry.event_type)
            && is(&self.look.actor, &entry.actor)
            && is(&self.look.stream, &entry.stream)
            && self.words.as_ref().is_none_or(|(plain, within)| {
                entry.facts.get().to_lowercase().contains(within)
                    || entry.actor.to_lowercase().contains(plain)
                    || entry.stream.to_lowercase().contains(plain)
            })
    }
}

impl Shared {
    /// Looks through what `visible` lets the asker see.
    pub async fn look(
        &self,
        look: &Look,
        visible: &(dyn Fn(&Entry) -> bool + Sync),
    ) -> store::Result<Looked> {
        let wanted = Wanted::new(look);
        let fits = |entry: &Entry| visible(entry) && wanted.fits(entry);
        let (first, last) = self.bounds(look).await?;
        let Some(last) = last.filter(|last| *last >= first) else {
            return Ok(Looked::default());
        };
        if let Some(delivery) = self.named(look).await? {
            return self
                .look_in_history(delivery, (first, last), look.limit, &fits)
                .await;
        }
        let (stream, at) = match &look.stream {
            None => (None, Some(last)),
            Some(name) => {
                let Some(stream) = self.store.stream_number(name).await? else {
                    return Ok(Looked::default());
                };
                let is_bounded = look.at.is_some() || look.until.is_some();
                let at = match is_bounded {
                    false => None,
                    true => match self.at_or_before(stream, first, last).await? {
                        Ok(at) => Some(at),
                        Err(looked) => return Ok(looked),
                    },
                };
                (Some(stream), at)
            }
        };
        self.walk(stream, at, first, look.limit, &fits).await
    }

    /// The first and the last position that may be shown.
    async fn bounds(&self, look: &Look) -> store::Result<(u64, Option<u64>)> {
        let size = *self.size().borrow();
        let first = match look.since {
            Some(since) => self.entries_before(since, size).await?,
            None => 0,
        };
        let end = match look.until {
            Some(until) => self.entries_before(until, size).await?,
            None => size,
        };
        let last = end.checked_sub(1);
        Ok((
            first,
            last.map(|last| look.at.map_or(last, |at| at.min(last))),
        ))
    }

    /// How many entries are older than a moment: their times rise.
    async fn entries_before(&self, moment: Micros, size: u64) -> store::Result<u64> {
        let (mut older, mut end) = (0, size);
        while older < end {
            let middle = older + (end - older) / 2;
            let query = EntryQuery {
                from: middle,
                limit: 1,
                ..EntryQuery::default()
            };
            let entry = self.entries(query).await?.pop();
            match entry.is_some_and(|entry| entry.time < moment) {
                true => older = middle + 1,
                false => end = middle,
            }
        }
        Ok(older)
    }

    /// The number of the delivery whose id is looked for.
    async fn named(&self, look: &Look) -> store::Result<Option<u64>> {
        let id = look
            .words
            .as_ref()
            .and_then(|words| Uuid::parse_str(words.trim()).ok());
        let Some(id) = id else { return Ok(None) };
        let row = self.store.delivery(id).await?;
        Ok(row.map(|row| row.no))
    }

    /// Everything about one delivery is a short list of its own.
    async fn look_in_history(
        &self,
        delivery: u64,
        (first, last): (u64, u64),
        limit: usize,
        fits: &(dyn Fn(&Entry) -> bool + Sync),
    ) -> store::Result<Looked> {
        let history = self.history(delivery).await?;
        let looked_at = history.len();
        let mut within = history
            .into_iter()
            .rev()
            .filter(|entry| (first..=last).contains(&entry.position) && fits(entry));
        Ok(Looked {
            entries: within.by_ref().take(limit).collect(),
            next: within.next().map(|entry| entry.position),
            looked_at,
        })
    }

    /// The newest entry of a stream that is not after `last`, or how far it was
    /// looked for.
    async fn at_or_before(
        &self,
        stream: u64,
        first: u64,
        last: u64,
    ) -> store::Result<Result<u64, Looked>> {
        let mut end = last + 1;
        let stop = end.saturating_sub(LOOKED_AT as u64).max(first);
        let mut chunk = 1;
        while end > stop {
            let query = EntryQuery {
                from: end.saturating_sub(chunk).max(stop),
                to: Some(end),
                limit: CHUNK,
                newest_first: true,
                with_parts: false,
            };
            end = query.from;
            let found = self.store.entries(query).await?;
            if let Some(own) = found.iter().find(|row| row.stream == stream) {
                return Ok(Ok(own.position));
            }
            // Most often the first one is of the stream.
            chunk = CHUNK as u64;
        }
        let looked = match stop == first {
            true => Looked::default(),
            false => Looked::nothing_before(stop),
        };
        Ok(Err(looked))
    }

    /// Goes back from `at`, along a stream or through all of them.
    async fn walk(
        &self,
        stream: Option<u64>,
        mut at: Option<u64>,
        first: u64,
        limit: usize,
        fits: &(dyn Fn(&Entry) -> bool + Sync),
    ) -> store::Result<Looked> {
        let mut found = Looked::default();
        let (mut left, mut chunk) = (LOOKED_AT, limit + 1);
        while left > 0 {
            let size = chunk.min(left);
            let (entries, next) = match stream {
                Some(stream) => self.stream_entries(stream, at, size).await?,
                None => self.entries_from(at, size).await?,
            };
            found.looked_at += entries.len();
            for entry in entries {
                if entry.position < first {
                    found.next = None;
                    return Ok(found);
                }
                if found.entries.len() == limit {
                    found.next = Some(entry.position);
                    return Ok(found);
                }
                if fits(&entry) {
                    found.entries.push(entry);
                }
            }
            found.next = next.filter(|next| *next >= first);
            if found.next.is_none() {
                break;
            }
            at = found.next;
            left -= size;
            chunk = CHUNK;
        }
        Ok(found)
    }

    /// Entries of all streams, newest first, and where the next ones start.
    async fn entries_from(
        &self,
        at: Option<u64>,
        limit: usize,
    ) -> store::Result<(Vec<Entry>, Option<u64>)> {
        let ask = EntryQuery {
            to: at.map(|at| at.saturating_add(1)),
            limit,
            newest_first: true,
            ..EntryQuery::default()
        };
        let found = self.entries(ask).await?;
        let last = found.last().filter(|_| found.len() == limit);
        let next = last.and_then(|entry| entry.position.checked_sub(1));
        Ok((found, next))
    }
}
