//! Views made anew from the trail, with the same projection that made them.

use std::{collections::HashMap, sync::Arc};

use store::{EntryQuery, Needs, Store, StreamRow};
use trail::Header;

use crate::{
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
    Unreadable {
        position: u64,
        source: trail::registry::Unreadable,
    },
    #[error("entry {0} has no readable header")]
    Header(u64),
}

/// Empties the views and fills them from the trail. No server may run, and none
/// starts before this has come to its end.
pub async fn rebuild(store: &dyn Store, progress: &dyn Fn(u64, u64)) -> Result<u64, RebuildFault> {
    store.clear_views().await?;
    let size = store.head().await?.map_or(0, |head| head.size);
    let names: HashMap<u64, String> = store.stream_names().await?.into_iter().collect();
    let mut accounts = Arc::new(account::State::default());
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
            let event = Event::read(&header.event_type, &entry.facts).map_err(|source| {
                RebuildFault::Unreadable {
                    position: entry.position,
                    source,
                }
            })?;
            needs.deliveries.extend(event.deliveries());
            let name = names.get(&entry.stream).cloned().unwrap_or_default();
            if !needs.streams.contains(&name) {
                needs.streams.push(name.clone());
            }
            let at = At {
                position: entry.position,
                time: header.time,
                has_content: header.parts.len() > 1,
            };
            read.push((name, at, event));
        }
        let mut loaded = store.load(&needs).await?;
        let mut streams: HashMap<String, StreamRow> = std::mem::take(&mut loaded.streams);
        let mut views = Views::default();
        views.add_loaded(&mut loaded);
        for (name, at, event) in read {
            if let Some(stream) = streams.get_mut(&name) {
                views.project(&event, stream, &mut accounts, at);
            }
        }
        let mut batch = views.into_batch();
        // The content is gone already; a rebuild erases nothing.
        batch.erase.clear();
        batch.streams = streams.into_values().collect();
        store.append(batch).await?;
    }
    store.end_rebuild().await?;
    Ok(size)
}
