//! What the writer holds in memory: the end of the log, the ends of the streams
//! in use, rate buckets in use, and accounts.

use std::{collections::HashMap, sync::Arc};

use store::{Batch, BucketRow, EntryQuery, HeadRow, Loaded, Needs, Store, batch};
use trail::{
    Checkpoint, Header, Micros, Stream, entry,
    merkle::{Fetched, Frontier},
};

use crate::{
    StartFault,
    log::End,
    project::{Lanes, read_accounts},
    random::Random,
    shared::Agents,
};

/// Streams, lanes and buckets kept from one batch to the next; more are loaded anew.
const CACHED: usize = 10_000;
/// Streams that a start compares with their last entries in one go.
const CHECKED: usize = 1000;

#[derive(Debug)]
pub struct Core {
    /// The version of the store that this is of ([`store::Turn::version`]).
    pub version: u64,
    pub log: End,
    pub lanes: Lanes,
    pub buckets: HashMap<String, BucketRow>,
    pub accounts: Arc<account::State>,
    pub agents: Arc<Agents>,
    /// When to look for due timers: not after the soonest of them.
    pub next_due: Option<Micros>,
}

impl Core {
    /// Reads the last durable state, which must be what its checkpoint says: a
    /// damaged tree would otherwise be signed. Cost: a few hundred hashes and
    /// the accounts.
    pub async fn load(store: &dyn Store) -> Result<Core, StartFault> {
        if let Some(head) = store.head().await? {
            mend_head(store, head).await?;
        }
        // Nobody appends while it is read.
        let mut turn = store.turn().await?;
        let head = store.head().await?;
        let (size, last_time) = head
            .as_ref()
            .map_or((0, Micros(0)), |head| (head.size, head.last_time));
        let mut fetched = Fetched::new();
        for range in Frontier::restore_needs(size) {
            let hashes = store.hashes(range.level, range.from, range.to).await?;
            fetched.insert(range, hashes);
        }
        let frontier = Frontier::restore(size, &fetched)
            .map_err(|missing| StartFault::Damaged(missing.to_string()))?;
        if let Some(head) = head {
            let says = Checkpoint::unsigned(&head.note);
            if says.is_none_or(|says| (says.size, says.root) != (size, frontier.root())) {
                let what = "its hashes do not give the root of its checkpoint";
                return Err(StartFault::Damaged(what.to_owned()));
            }
        }
        let mut agents = Agents::default();
        for (no, name) in store.streams(Stream::AGENT).await? {
            if let Some(agent_id) = Stream::agent_of(&name) {
                agents.insert(no, agent_id);
            }
        }
        let known = read_accounts(store.accounts().await?)?;
        // Streams of people are few and stay; those of agents come and go.
        let people = store.streams(Stream::ACCOUNT).await?;
        if known.users.is_empty() && !people.is_empty() {
            let what = "accounts: there are no people, though the log has made some";
            return Err(StartFault::Damaged(what.to_owned()));
        }
        let pinned = [Stream::Admin.name().into_owned()];
        let pinned = pinned
            .into_iter()
            .chain(people.into_iter().map(|(_, name)| name));
        let needs = streams_needed(pinned.collect());
        let streams = turn.load(&needs).await?.log.streams;
        let users = known.users.keys().map(|name| Stream::account(name));
        for stream in users.chain((size > 0).then_some(Stream::Admin)) {
            if !streams.contains_key(&*stream.name()) {
                let what = format!("streams: {stream} is missing");
                return Err(StartFault::Damaged(what));
            }
        }
        Ok(Core {
            version: turn.version(),
            log: End {
                frontier,
                last_time,
                next_stream: store.next_stream().await?,
                streams,
                random: Random::default(),
            },
            lanes: Lanes::new(),
            buckets: HashMap::new(),
            accounts: Arc::new(known),
            agents: Arc::new(agents),
            next_due: store.next_due(Micros(i64::MIN)).await?,
        })
    }

    /// Keeps the caches bounded.
    pub fn trim(&mut self) {
        if self.log.streams.len() > CACHED {
            self.log.streams.retain(|name, _| is_pinned(name));
        }
        if self.lanes.len() > CACHED {
            self.lanes.clear();
        }
        if self.buckets.len() > CACHED {
            self.buckets.clear();
        }
    }
}

/// A head must have the size that was signed and the time of the last entry. One
/// that says something else is mended: what is signed and hashed decides.
async fn mend_head(store: &dyn Store, head: HeadRow) -> Result<(), StartFault> {
    let damaged = |what: &str| StartFault::Damaged(what.to_owned());
    let signed = Checkpoint::unsigned(&head.note);
    let size = signed
        .ok_or_else(|| damaged("head: not a checkpoint"))?
        .size;
    if size == 0 {
        return Ok(());
    }
    let at = |from: u64, to: u64| EntryQuery {
        from,
        to: Some(to),
        limit: 2,
        ..Default::default()
    };
    let last = store.entries(at(size - 1, size + 1)).await?;
    let [last] = last.as_slice() else {
        let what = match last.len() {
            0 => "its last entries are missing",
            _ => "entries follow that its checkpoint does not count",
        };
        return Err(damaged(what));
    };
    if last.position != size - 1 {
        return Err(damaged("its last entry is missing"));
    }
    let before = match last.prev {
        Some(prev) => store.entries(at(prev, prev + 1)).await?.pop(),
        None => None,
    };
    let header = Header::read(&last.header).ok_or_else(|| damaged("its last entry"))?;
    let local = entry::local_hash(&last.header);
    let hash = entry::entry_hash(before.map(|entry| entry.entry_hash), last.seq, local);
    if hash != last.entry_hash {
        return Err(damaged("its last entry is not what was recorded"));
    }
    let whole = HeadRow {
        size,
        last_time: header.time,
        note: head.note.clone(),
    };
    if whole != head {
        tracing::error!(
            size = head.size,
            last_time = head.last_time.0,
            "the kept end of the log was changed; mended from what was signed"
        );
        let mended = Batch {
            log: batch::log::Batch {
                head: Some(whole),
                ..Default::default()
            },
            ..Default::default()
        };
        store.append(mended).await?;
    }
    Ok(())
}

/// The stream of every agent and person must end where its row says: the next
/// entry builds on it. And every agent must have its lanes, in which the next
/// delivery gets its number. Costs a few look-ups for each of them; other streams
/// are compared when they are loaded.
pub async fn check_streams(store: &dyn Store) -> Result<(), StartFault> {
    for kind in [Stream::AGENT, Stream::ACCOUNT] {
        for some in store.streams(kind).await?.chunks(CHECKED) {
            let mut needs = streams_needed(some.iter().map(|(_, name)| name.clone()).collect());
            if kind == Stream::AGENT {
                needs.wake.lanes = some.iter().map(|(no, _)| *no).collect();
            }
            require_lanes(&needs, &store.load(&needs).await?)?;
        }
    }
    Ok(())
}

/// Fails if an agent that has a stream has no lanes.
pub fn require_lanes(needs: &Needs, loaded: &Loaded) -> Result<(), store::Error> {
    let mut needed = needs.wake.lanes.iter();
    match needed.find(|no| !loaded.wake.lanes.contains_key(no)) {
        None => Ok(()),
        Some(no) => Err(store::Error::Damaged(format!(
            "lanes: those of stream {no} are missing; run `wakeful trail rebuild`"
        ))),
    }
}

fn streams_needed(streams: Vec<String>) -> Needs {
    Needs {
        log: batch::log::Needs { streams },
        ..Default::default()
    }
}

/// Whether a stream's end stays in memory. One of a kind that this version does
/// not know does not.
fn is_pinned(stream: &str) -> bool {
    matches!(
        Stream::parse(stream),
        Some(Stream::Admin | Stream::Account(_))
    )
}
