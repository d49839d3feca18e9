//! What the writer holds in memory: the end of the log, the ends of the streams
//! in use, rate buckets in use, and accounts.

use std::{collections::HashMap, sync::Arc};

use store::{AccountRow, Batch, BucketRow, EntryQuery, HeadRow, Store, StreamRow};
use trail::{
    Checkpoint, Header, Micros, Stream, entry,
    merkle::{Fetched, Frontier},
};

use crate::{StartFault, random::Random, shared::Agents};

/// Streams and buckets kept from one batch to the next; more are loaded anew.
const CACHED: usize = 10_000;

#[derive(Debug)]
pub struct Core {
    /// The version of the store that this is of ([`store::Turn::version`]).
    pub version: u64,
    pub frontier: Frontier,
    pub last_time: Micros,
    pub next_stream: u64,
    pub streams: HashMap<String, StreamRow>,
    pub buckets: HashMap<String, BucketRow>,
    pub accounts: Arc<account::State>,
    pub agents: Arc<Agents>,
    /// When to look for due timers: not after the soonest of them.
    pub next_due: Option<Micros>,
    pub random: Random,
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
        let names = store.stream_names().await?;
        let mut agents = Agents::default();
        for (no, name) in &names {
            if let Some(Stream::Agent(agent_id)) = Stream::parse(name) {
                agents.insert(*no, &agent_id);
            }
        }
        // Streams of accounts are few and stay; those of agents come and go.
        let accounts = names
            .iter()
            .map(|(_, name)| name)
            .filter(|name| is_pinned(name));
        let needs = store::Needs {
            streams: accounts.cloned().collect(),
            ..Default::default()
        };
        let known = read_accounts(store.accounts().await?)?;
        let is_account = |name: &str| matches!(Stream::parse(name), Some(Stream::Account(_)));
        if known.users.is_empty() && names.iter().any(|(_, name)| is_account(name)) {
            let what = "accounts: there are no people, though the log has made some";
            return Err(StartFault::Damaged(what.to_owned()));
        }
        Ok(Core {
            version: turn.version(),
            frontier,
            last_time,
            next_stream: names.last().map_or(0, |(no, _)| no + 1),
            streams: turn.load(&needs).await?.streams,
            buckets: HashMap::new(),
            accounts: Arc::new(known),
            agents: Arc::new(agents),
            next_due: store.next_due(Micros(i64::MIN)).await?,
            random: Random::default(),
        })
    }

    /// Keeps the caches bounded.
    pub fn trim(&mut self) {
        if self.streams.len() > CACHED {
            self.streams.retain(|name, _| is_pinned(name));
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
            head: Some(whole),
            ..Default::default()
        };
        store.append(mended).await?;
    }
    Ok(())
}

/// Every stream must end where its row says: the next entry builds on it. Costs a
/// few look-ups for each agent and person.
pub async fn check_streams(store: &dyn Store) -> Result<(), StartFault> {
    let mut names = store.stream_names().await?;
    names.retain(|(_, name)| Stream::parse(name).is_some());
    for some in names.chunks(1000) {
        let needs = store::Needs {
            streams: some.iter().map(|(_, name)| name.clone()).collect(),
            ..Default::default()
        };
        store.load(&needs).await?;
    }
    Ok(())
}

/// Whether a stream's end stays in memory. One of a kind that this version does
/// not know does not.
fn is_pinned(stream: &str) -> bool {
    matches!(
        Stream::parse(stream),
        Some(Stream::Admin | Stream::Account(_))
    )
}

/// Accounts from their rows.
pub fn read_accounts(rows: Vec<AccountRow>) -> Result<account::State, StartFault> {
    let mut state = account::State::default();
    for AccountRow { kind, id, body } in rows {
        let body = body.unwrap_or_default();
        let read = match kind.as_str() {
            "user" => insert(&mut state.users, &id, &body),
            "token" => insert(&mut state.tokens, &id, &body),
            "agent" => insert(&mut state.agents, &id, &body),
            "key" => insert(&mut state.keys, &id, &body),
            "allow" => insert(&mut state.allowlist, &id, &body),
            "retention" => insert_known(&mut state.retention, wake::Kind::parse(&id), &body),
            "rate" => insert_known(&mut state.rates, account::KeyKind::parse(&id), &body),
            "session" => insert(&mut state.sessions, &id, &body),
            "link" => insert(&mut state.links, &id, &body),
            _ => Ok(()),
        };
        read.map_err(|error| StartFault::Damaged(format!("account {kind} {id}: {error}")))?;
    }
    state.reindex();
    Ok(state)
}

fn insert<T: serde::de::DeserializeOwned>(
    map: &mut std::collections::BTreeMap<String, T>,
    id: &str,
    body: &str,
) -> serde_json::Result<()> {
    map.insert(id.to_owned(), serde_json::from_str(body)?);
    Ok(())
}

/// The same for a row whose id is a word of a closed set; others are left out.
fn insert_known<K: Ord, T: serde::de::DeserializeOwned>(
    map: &mut std::collections::BTreeMap<K, T>,
    id: Option<K>,
    body: &str,
) -> serde_json::Result<()> {
    if let Some(id) = id {
        map.insert(id, serde_json::from_str(body)?);
    }
    Ok(())
}

/// The rows that an event of the account streams changes, as `state` is after it.
pub fn account_rows(
    before: &account::State,
    after: &account::State,
    event: &account::Event,
) -> Vec<AccountRow> {
    use account::Event;
    match event {
        Event::UserCreated(e) => vec![row("user", &e.name, after.users.get(&e.name))],
        Event::RoleSet(e) => vec![row("user", &e.name, after.users.get(&e.name))],
        Event::UserStateSet(e) => vec![row("user", &e.name, after.users.get(&e.name))],
        Event::TokenIssued(e) => {
            let gone = before
                .tokens
                .keys()
                .filter(|id| !after.tokens.contains_key(*id));
            let mut rows: Vec<AccountRow> = gone
                .map(|id| row::<account::Token>("token", id, None))
                .collect();
            rows.push(row("token", &e.token_id, after.tokens.get(&e.token_id)));
            rows
        }
        Event::SignInLinkMade(e) => vec![row("link", &e.name, after.links.get(&e.name))],
        Event::SessionOpened(e) => vec![
            row("session", &e.session_id, after.sessions.get(&e.session_id)),
            row("link", &e.name, after.links.get(&e.name)),
        ],
        Event::SessionClosed(e) => vec![row::<account::Session>("session", &e.session_id, None)],
        Event::AgentAdded(e) => vec![row("agent", &e.agent_id, after.agents.get(&e.agent_id))],
        Event::AgentRemoved(e) => vec![row::<account::Agent>("agent", &e.agent_id, None)],
        Event::DeviceTokenIssued(e) => {
            vec![row("agent", &e.agent_id, after.agents.get(&e.agent_id))]
        }
        Event::DeviceTokenRevoked(e) => {
            vec![row("agent", &e.agent_id, after.agents.get(&e.agent_id))]
        }
        Event::KeyCreated(e) => vec![row("key", &e.key_id, after.keys.get(&e.key_id))],
        Event::KeyExpirySet(e) => vec![row("key", &e.key_id, after.keys.get(&e.key_id))],
        Event::KeyRevoked(e) => vec![row("key", &e.key_id, after.keys.get(&e.key_id))],
        Event::WebhookAllowed(e) => {
            let pattern = e.pattern.to_string();
            vec![row("allow", &pattern, after.allowlist.get(&pattern))]
        }
        Event::WebhookRemoved(e) => vec![row::<account::AllowRule>("allow", &e.pattern, None)],
        Event::RetentionSet(e) => {
            let kept = after.retention.get(&e.r#type);
            vec![row("retention", e.r#type.as_str(), kept)]
        }
        Event::RateSet(e) => vec![row("rate", e.keys.as_str(), after.rates.get(&e.keys))],
        _ => Vec::new(),
    }
}

fn row<T: serde::Serialize>(kind: &str, id: &str, thing: Option<&T>) -> AccountRow {
    let body = thing.map(|thing| {
        serde_json::to_string(thing).expect("account state has string keys and cannot fail")
    });
    AccountRow {
        kind: kind.to_owned(),
        id: id.to_owned(),
        body,
    }
}
