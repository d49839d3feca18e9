//! Views made anew from the trail, with the same projection that made them.

use std::{collections::HashMap, sync::Arc};

use store::{Batch, CallbackRow, EntryQuery, Needs, Store};
use trail::{Header, Stream, registry::Unreadable};
use uuid::Uuid;
use wake::event::Outcome;

use crate::{
    decide,
    event::Event,
    project::{At, Views},
};

/// Entries projected in one transaction.
const CHUNK: usize = 1000;

#[derive(Debug, thiserror::Error)]
pub enum RebuildFault {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("entry {position}: {source}")]
    Unreadable { position: u64, source: Unreadable },
    #[error("entry {0} has no readable header")]
    Header(u64),
}

/// What a rebuild found.
#[derive(Debug, Default)]
pub struct Rebuilt {
    pub entries: u64,
    /// Views that were not what the trail says.
    pub differing: Vec<String>,
    /// Callbacks that are owed and had no row.
    pub callbacks_missing: u64,
    /// Parts that had been erased and were there again; now they are gone.
    pub returned: u64,
    /// Entries that should never have been, and why: nothing mends them.
    pub impossible: Vec<(u64, &'static str)>,
}

impl Rebuilt {
    /// All that was not as it should be, in words.
    pub fn wrong(&self) -> Vec<String> {
        let mut wrong = self.differing.clone();
        if self.callbacks_missing > 0 {
            wrong.push(format!(
                "callbacks ({} that are owed are missing)",
                self.callbacks_missing
            ));
        }
        if self.returned > 0 {
            let returned = self.returned;
            wrong.push(format!("parts ({returned} that were erased had come back)"));
        }
        let impossible = self.impossible.iter();
        wrong.extend(impossible.map(|(position, what)| format!("entry {position} {what}")));
        wrong
    }
}

/// Rebuilds, and compares the views with what they were.
pub async fn compare(
    store: &dyn Store,
    progress: &dyn Fn(u64, u64),
) -> Result<Rebuilt, RebuildFault> {
    let before = store.view_digests().await?;
    let rebuilt = rebuild(store, progress).await?;
    let after = store.view_digests().await?;
    let differing = before.into_iter().zip(after);
    let differing = differing.filter(|(before, after)| before != after);
    Ok(Rebuilt {
        differing: differing.map(|(before, _)| before.0).collect(),
        ..rebuilt
    })
}

/// Empties the views and fills them from the trail. No server may run, and none
/// starts before this has come to its end.
pub async fn rebuild(
    store: &dyn Store,
    progress: &dyn Fn(u64, u64),
) -> Result<Rebuilt, RebuildFault> {
    let mut found = Rebuilt::default();
    store.clear_views().await?;
    let size = store.head().await?.map_or(0, |head| head.size);
    let mut accounts = Arc::new(account::State::default());
    let mut remade: HashMap<Uuid, CallbackRow> = HashMap::new();
    let mut from = 0;
    while from < size {
        progress(from, size);
        let query = EntryQuery {
            from,
            to: Some(size),
            limit: CHUNK,
            ..Default::default()
        };
        let entries = store.entries(query).await?;
        let Some(last) = entries.last() else { break };
        from = last.position + 1;

        let mut read = Vec::with_capacity(entries.len());
        let mut needs = Needs::default();
        for entry in &entries {
            let header = Header::read(&entry.header).ok_or(RebuildFault::Header(entry.position))?;
            let unreadable = |source| RebuildFault::Unreadable {
                position: entry.position,
                source,
            };
            let stream = Stream::parse(&header.stream)
                .ok_or_else(|| Unreadable::UnknownType(header.event_type.to_string()))
                .map_err(unreadable)?;
            let event = Event::read(&stream, &header.event_type, &entry.facts);
            let event = event.map_err(unreadable)?;
            needs.wake.deliveries.extend(event.deliveries());
            if let Event::Inbox(inbox::Event::DeliveryAnswered(_)) = &event {
                needs.wake.callbacks.push(entry.position);
            }
            if let Stream::Agent(_) = stream
                && !needs.wake.lanes.contains(&entry.stream)
            {
                needs.wake.lanes.push(entry.stream);
            }
            let has_content = header.parts.len() > 1;
            read.push((entry, stream, header.time, has_content, event));
        }
        let loaded = store.load(&needs).await?.wake;
        let (mut lanes, known) = (loaded.lanes, loaded.callbacks);
        let mut views = Views::default();
        views.add_loaded(loaded.deliveries);
        let mut owed = Vec::new();
        for (entry, stream, time, has_content, event) in &read {
            let at = At {
                stream,
                stream_no: entry.stream,
                position: entry.position,
                time: *time,
                has_content: *has_content,
            };
            views.project(event, at, &mut lanes, &mut accounts);
            if let Some(id) = callback(event, at, &views, &known, &mut remade) {
                owed.extend(remade.get(&id).cloned());
            }
        }
        found.impossible.append(&mut views.take_impossible());
        let (mut wake, account) = views.into_batches(&lanes);
        wake.callbacks = owed;
        // The content is gone already; a rebuild erases nothing.
        wake.erase.clear();
        let batch = Batch {
            wake,
            account,
            ..Default::default()
        };
        store.append(batch).await?;
    }
    found.returned = store.end_rebuild().await?;
    found.entries = size;
    found.callbacks_missing = remade.len() as u64;
    Ok(found)
}

/// A callback that is owed and has no row gets one, as the entries about it tell;
/// gives the delivery whose callback was made or changed.
fn callback(
    event: &Event,
    at: At<'_>,
    views: &Views,
    known: &HashMap<u64, CallbackRow>,
    remade: &mut HashMap<Uuid, CallbackRow>,
) -> Option<Uuid> {
    match event {
        Event::Inbox(inbox::Event::DeliveryAnswered(answered)) => {
            let row = views.delivery(answered.delivery_id)?;
            let is_owed = row.callback.is_some() && !known.contains_key(&at.position);
            let owed = is_owed.then(|| decide::owed_callback(at.position, row.id, at.time))?;
            remade.insert(row.id, owed);
            Some(row.id)
        }
        Event::Wake(wake::Event::WebhookAttempted(attempted)) => {
            let row = remade.get_mut(&attempted.delivery_id)?;
            row.attempts = attempted.attempt;
            row.next_at = attempted.next_attempt_at;
            row.last_error.clone_from(&attempted.error);
            row.state = match attempted.outcome {
                Outcome::Delivered => decide::DELIVERED,
                Outcome::WillRetry => decide::OWED,
                Outcome::GaveUp => decide::GAVE_UP,
            };
            Some(attempted.delivery_id)
        }
        Event::Wake(wake::Event::WebhookReplayed(replayed)) => {
            let row = remade.get_mut(&replayed.delivery_id)?;
            *row = decide::owed_callback(row.no, replayed.delivery_id, at.time);
            Some(replayed.delivery_id)
        }
        _ => None,
    }
}
