//! One batch while it is being decided. Recording an event puts it at the end of
//! the log ([`crate::log`]) and projects it onto the rows, all in memory; nothing
//! counts before the batch is durable. What belongs to one room is in its file.

mod asked;
mod inbox;
mod kept;
mod wake;

use std::sync::Arc;

use account::Actor;
use store::{Batch, Loaded, Needs};
use trail::{Micros, Stream};
use uuid::Uuid;

use self::asked::Asked;
use crate::{
    breaks::{self, Break},
    core::Core,
    event::Event,
    log::{Entries, NewEntry, Unsealed},
    project::{At, Views},
    shared::Shared,
};

#[derive(Debug)]
pub struct Stage<'a> {
    pub core: &'a mut Core,
    pub shared: &'a Shared,
    pub now: Micros,
    asked: Asked,
    log: Entries,
    views: Views,
    wake: wake::Staged,
    pub inbox: inbox::Staged,
    pub kept: kept::Staged,
}

impl<'a> Stage<'a> {
    pub fn new(core: &'a mut Core, shared: &'a Shared, now: Micros) -> Stage<'a> {
        Stage {
            core,
            shared,
            now,
            asked: Asked::default(),
            log: Entries::default(),
            views: Views::default(),
            wake: wake::Staged::default(),
            inbox: inbox::Staged::default(),
            kept: kept::Staged::default(),
        }
    }

    pub fn add_loaded(&mut self, loaded: Loaded) {
        let Loaded {
            log,
            wake,
            inbox,
            kept,
        } = loaded;
        self.core.log.streams.extend(log.streams);
        self.core.lanes.extend(wake.lanes);
        self.views.add_loaded(wake.deliveries);
        self.wake.add_loaded(wake.callbacks);
        self.inbox.add_loaded(inbox);
        self.core.buckets.extend(kept.buckets);
        self.kept.add_loaded(kept.idempotency);
    }

    /// Says what was asked for, and so may be read.
    pub fn expect(&mut self, asked: Needs) {
        self.asked = Asked::of(asked);
    }

    /// What was read though nobody had asked for it: such a batch must not be written.
    pub fn forgotten(&self) -> Option<&'static str> {
        self.asked.forgotten()
    }

    /// Puts an event on the trail; gives its position and its time.
    pub fn record(
        &mut self,
        stream: &Stream,
        actor: &Actor,
        event: impl Into<Event>,
        content: Vec<(&'static str, Vec<u8>)>,
    ) -> Result<(u64, Micros), Unsealed> {
        let event = event.into();
        let has_content = !content.is_empty();
        let new = NewEntry {
            stream: stream.name(),
            actor: actor.name(),
            local: None,
            event_type: event.event_type(),
            facts: event.facts(),
            parts: content,
        };
        let core = &mut *self.core;
        let placed = self.log.record(&mut core.log, self.shared, self.now, new)?;
        if let (Stream::Agent(agent_id), true) = (stream, placed.begins) {
            let is_there = core.agents.stream(agent_id).is_some();
            self.asked.require(!is_there, "the stream of an agent");
            Arc::make_mut(&mut core.agents).insert(placed.stream, agent_id);
        }
        // Lanes that were not loaded would restart at zero, so the batch fails instead.
        let has_lanes = placed.begins || core.lanes.contains_key(&placed.stream);
        if matches!(stream, Stream::Agent(_)) && !has_lanes {
            self.asked.require(false, "the lanes of an agent");
            return Err(Unsealed);
        }
        let at = At {
            stream,
            stream_no: placed.stream,
            position: placed.position,
            time: placed.time,
            has_content,
        };
        self.views
            .project(&event, at, &mut core.lanes, &mut core.accounts);
        if breaks::is_on(Break::LaneNotLeft)
            && event.event_type() == "delivery_answered"
            && let Some(lanes) = core.lanes.get_mut(&placed.stream)
        {
            lanes.by_status[0].count += 1;
        }
        Ok((placed.position, placed.time))
    }

    /// A random id for a delivery (WAKE white paper §5.1).
    pub fn fresh_id(&mut self) -> Result<Uuid, Unsealed> {
        let random = self.core.log.random.bytes(&self.shared.entropy)?;
        Ok(uuid::Builder::from_random_bytes(random).into_uuid())
    }

    /// Everything to write; `None` if nothing changed. Also gives the deliveries
    /// whose final answer is in it.
    pub fn into_batch(self) -> Option<(Batch, Vec<Uuid>)> {
        let Stage {
            core, shared, wake, ..
        } = self;
        let (views, account) = self.views.into_batches(&core.lanes);
        let (answered, wake) = wake.into_batch(views);
        let batch = Batch {
            log: self.log.into_batch(&core.log, &shared.keys.log),
            wake,
            inbox: self.inbox.batch,
            account,
            kept: self.kept.into_batch(&core.buckets),
        };
        (!batch.is_empty()).then_some((batch, answered))
    }
}
