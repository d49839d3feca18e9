//! What other processes have appended since this one last wrote: what is in
//! memory is advanced from their entries.
//!
//! Rows that no entry tells of, such as rate buckets, are dropped and loaded
//! again. The end of the log must be what its signed checkpoint says, or the
//! whole state is loaded anew.

use std::sync::Arc;

use store::{EntryQuery, EntryRow, StreamRow};
use trail::{Checkpoint, Header, Micros, Stream, merkle};
use uuid::Uuid;

use crate::{
    CommitFault,
    breaks::{self, Break},
    core::Core,
    event::Event,
    shared::Shared,
};

/// Entries read in one go.
const CHUNK: usize = 1000;

/// Advances `core` to what is durable; gives the deliveries that were answered.
pub async fn catch_up(
    core: &mut Core,
    shared: &Shared,
    version: u64,
) -> Result<Vec<Uuid>, CommitFault> {
    let store = shared.store.as_ref();
    let Some(head) = store.head().await? else {
        return Err(CommitFault::Moved("its head is gone".to_owned()));
    };
    let mut answered = Vec::new();
    while core.log.frontier.size() < head.size {
        let query = EntryQuery {
            from: core.log.frontier.size(),
            to: Some(head.size),
            limit: CHUNK,
            ..Default::default()
        };
        let entries = store.entries(query).await?;
        if entries.is_empty() {
            return Err(CommitFault::Moved(
                "its last entries are missing".to_owned(),
            ));
        }
        for entry in &entries {
            answered.extend(add(core, entry)?);
        }
    }
    let says = Checkpoint::unsigned(&head.note);
    let ends = (core.log.frontier.size(), core.log.frontier.root());
    if says.is_none_or(|says| (says.size, says.root) != ends) {
        let what = "its entries do not give the root of its checkpoint".to_owned();
        return Err(CommitFault::Moved(what));
    }
    core.version = version;
    if !breaks::is_on(Break::KeepsBuckets) {
        core.buckets.clear();
    }
    core.next_due = store.next_due(Micros(i64::MIN)).await?;
    shared.signers.forget_all();
    shared.replaced.note_all(shared.clock.now());
    shared.clock.resume(core.log.last_time);
    Ok(answered)
}

/// Adds one entry; gives the delivery if it is a final answer.
fn add(core: &mut Core, entry: &EntryRow) -> Result<Option<Uuid>, CommitFault> {
    let unreadable = |what: String| CommitFault::Moved(format!("entry {}: {what}", entry.position));
    let header = Header::read(&entry.header).ok_or_else(|| unreadable("no header".to_owned()))?;
    let leaf = merkle::leaf_hash(&entry.entry_hash);
    core.log.frontier.push(leaf, |_| {});
    core.log.last_time = header.time;
    core.log.next_stream = core.log.next_stream.max(entry.stream + 1);
    let Some(stream) = Stream::parse(&header.stream) else {
        core.log.streams.remove(&*header.stream);
        return Ok(None);
    };
    match &stream {
        // Its deliveries are counted in rows that are loaded again.
        Stream::Agent(agent_id) => {
            core.lanes.remove(&entry.stream);
            core.log.streams.remove(&*header.stream);
            if core.agents.stream(agent_id).is_none() {
                Arc::make_mut(&mut core.agents).insert(entry.stream, agent_id);
            }
        }
        Stream::Admin | Stream::Account(_) => {
            let row = StreamRow {
                no: entry.stream,
                name: header.stream.to_string(),
                next_seq: entry.seq + 1,
                head: Some(entry.entry_hash),
                last: Some(entry.position),
            };
            core.log.streams.insert(row.name.clone(), row);
        }
    }
    let event = Event::read(&stream, &header.event_type, &entry.facts);
    match event.map_err(|error| unreadable(error.to_string()))? {
        Event::Account(_) if breaks::is_on(Break::IgnoresNewAccounts) => Ok(None),
        Event::Account(event) if event.changes_accounts() => {
            Arc::make_mut(&mut core.accounts).apply(&event, header.time);
            Ok(None)
        }
        Event::Inbox(inbox::Event::DeliveryAnswered(answered)) => Ok(Some(answered.delivery_id)),
        Event::Account(_) | Event::Inbox(_) | Event::Wake(_) => Ok(None),
    }
}
