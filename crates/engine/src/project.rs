//! Events become rows. The writer calls this for what it has just decided, and
//! a rebuild calls it for what the trail says; both must give the same rows, so
//! nothing here looks at anything but the event and the rows before it.

use std::{collections::HashMap, sync::Arc};

use account::event::RelaysCounted;
use store::{
    AccountRow, Batch, DeliveryRow, Erased, HoldRow, Loaded, RelayedChange, RelayedRow, StreamRow,
};
use trail::Micros;
use uuid::Uuid;

use crate::{
    breaks::{self, Break},
    core,
    event::Event,
};

/// Sizes of the blocks in which pending deliveries are counted: 256, 256², 256³.
const BLOCK_LEVELS: u8 = 3;
const PENDING: usize = 0;

/// Rows of a batch, as loaded and as changed.
#[derive(Debug, Default)]
pub struct Views {
    deliveries: HashMap<Uuid, Staged>,
    batch: Batch,
    /// Entries that should never have been: on a row that was put back, the
    /// writer decides anew what was decided already.
    pub impossible: Vec<(u64, &'static str)>,
}

/// Where an event stands in the log, and whether erasable content stands beside it.
#[derive(Clone, Copy, Debug)]
pub struct At {
    pub position: u64,
    pub time: Micros,
    pub has_content: bool,
}

#[derive(Debug)]
struct Staged {
    row: DeliveryRow,
    is_new: bool,
    changed: bool,
}

impl Views {
    pub fn add_loaded(&mut self, loaded: &mut Loaded) {
        for (id, row) in loaded.deliveries.drain() {
            self.deliveries.entry(id).or_insert(Staged {
                row,
                is_new: false,
                changed: false,
            });
        }
    }

    pub fn delivery(&self, id: Uuid) -> Option<&DeliveryRow> {
        self.deliveries.get(&id).map(|staged| &staged.row)
    }

    pub fn streams_of_deliveries(&self) -> impl Iterator<Item = u64> {
        self.deliveries.values().map(|staged| staged.row.stream)
    }

    /// The soonest timer among the rows of this batch.
    pub fn next_due(&self) -> Option<Micros> {
        self.deliveries
            .values()
            .filter_map(|staged| staged.row.due_at)
            .min()
    }

    /// The changes, with everything else of the batch left to the caller.
    pub fn into_batch(self) -> Batch {
        let mut batch = self.batch;
        for staged in self.deliveries.into_values() {
            match (staged.is_new, staged.changed) {
                (true, _) => batch.new_deliveries.push(staged.row),
                (false, true) => batch.changed_deliveries.push(staged.row),
                (false, false) => {}
            }
        }
        // In the order of their numbers a B-tree grows at its end.
        batch.new_deliveries.sort_unstable_by_key(|row| row.no);
        batch.changed_deliveries.sort_unstable_by_key(|row| row.no);
        batch
    }

    pub fn project(
        &mut self,
        event: &Event,
        stream: &mut StreamRow,
        accounts: &mut Arc<account::State>,
        at: At,
    ) {
        match event {
            Event::Wake(event) => self.wake(event, stream, at),
            Event::Inbox(event) => self.inbox(event, stream, at),
            Event::Account(account::Event::RelaysCounted(counted)) => self.relayed(counted),
            Event::Account(event) if !event.changes_accounts() => {}
            Event::Account(event) => {
                self.no_longer_relayed(event);
                let before = Arc::clone(accounts);
                Arc::make_mut(accounts).apply(event, at.time);
                let rows: Vec<AccountRow> = core::account_rows(&before, accounts, event);
                self.batch.accounts.extend(rows);
            }
        }
    }

    fn relayed(&mut self, counted: &RelaysCounted) {
        let more = RelayedRow {
            owner: counted.owner.clone(),
            agent_id: counted.agent_id.clone(),
            seen_at: counted.seen_at,
            to_device: counted.to_device,
            to_device_bytes: counted.to_device_bytes,
            from_device: counted.from_device,
            from_device_bytes: counted.from_device_bytes,
            refused: counted.refused,
        };
        self.batch.relayed.push(RelayedChange::More(more));
    }

    fn no_longer_relayed(&mut self, event: &account::Event) {
        let (owner, agent_id) = match event {
            account::Event::AgentRemoved(gone) => (&gone.owner, &gone.agent_id),
            account::Event::DeviceTokenRevoked(gone) => (&gone.owner, &gone.agent_id),
            _ => return,
        };
        self.batch.relayed.push(RelayedChange::Gone {
            owner: owner.clone(),
            agent_id: agent_id.clone(),
        });
    }

    fn wake(&mut self, event: &wake::Event, stream: &mut StreamRow, at: At) {
        let At { position, time, .. } = at;
        match event {
            wake::Event::DeliveryReceived(received) => {
                let row = self.received(received, stream, position, time);
                let staged = Staged {
                    row,
                    is_new: true,
                    changed: false,
                };
                self.deliveries.insert(received.delivery_id, staged);
            }
            wake::Event::DeliveryTimedOut(facts) => {
                self.change(facts.delivery_id, position, |row| row.timed_out = true);
            }
            wake::Event::WebhookAttempted(facts) => self.mention(facts.delivery_id, position),
            wake::Event::WebhookReplayed(facts) => self.mention(facts.delivery_id, position),
        }
    }

    fn received(
        &mut self,
        received: &wake::event::DeliveryReceived,
        stream: &mut StreamRow,
        position: u64,
        time: Micros,
    ) -> DeliveryRow {
        let lane = &mut stream.lanes[PENDING];
        let number = lane.next_no;
        lane.next_no += 1;
        lane.count += 1;
        self.count_pending(stream.no, number, 1);
        let mut row = DeliveryRow {
            no: position,
            id: received.delivery_id,
            stream: stream.no,
            kind: kind_code(received.r#type),
            status: status_code(wake::Status::Pending),
            test: received.test,
            provider: received.provider.clone(),
            headline: received.headline.clone(),
            summary: received.summary.clone(),
            details_format: received.details_format.map(format_code),
            created_at: time,
            changed_at: time,
            lane_no: number,
            pending_no: number,
            timeout_at: wake::life::timeout_at(received, time),
            timed_out: false,
            callback: received.callback_webhook.clone(),
            answered_by: None,
            answer_position: None,
            hold: None,
            erased: Erased::Nothing,
            due_at: None,
        };
        row.due_at = due_at(&row);
        row
    }

    fn inbox(&mut self, event: &inbox::Event, stream: &mut StreamRow, at: At) {
        let position = at.position;
        match event {
            inbox::Event::AnswerHeld(held) => self.change(held.delivery_id, position, |row| {
                row.answer_position = at.has_content.then_some(position);
                row.erased = answered_after(row.erased);
                row.hold = Some(HoldRow {
                    by: held.by.clone(),
                    channel: channel_code(held.channel),
                    status: verdict_code(held.status),
                    until: held.until,
                });
            }),
            inbox::Event::AnswerUndone(undone) => {
                self.change(undone.delivery_id, position, |row| {
                    row.answer_position = None;
                    if !breaks::is_on(Break::UndoneStaysHeld) {
                        row.hold = None;
                    }
                })
            }
            inbox::Event::DeliveryAnswered(answered) => {
                self.answered(answered, stream, at);
            }
            inbox::Event::DeliverySeen(seen) => self.mention(seen.delivery_id, position),
            inbox::Event::ContentErased(erased) => {
                for id in &erased.delivery_ids {
                    self.change(*id, position, |row| {
                        if !breaks::is_on(Break::ErasureForgotten) {
                            row.erased = Erased::All;
                        }
                    });
                    if let Some(row) = self.delivery(*id) {
                        let no = row.no;
                        self.batch.erase.push((no, position));
                    }
                }
            }
        }
    }

    fn answered(
        &mut self,
        answered: &inbox::event::DeliveryAnswered,
        stream: &mut StreamRow,
        at: At,
    ) {
        let status = verdict_code(answered.status);
        if let Some(row) = self.delivery(answered.delivery_id) {
            if usize::from(row.status) != PENDING {
                let what = "answers a delivery that was answered before";
                self.impossible.push((at.position, what));
            } else if answered.held && row.hold.is_none() {
                let what = "makes an answer final that is not held";
                self.impossible.push((at.position, what));
            }
        }
        let Some(pending_no) = self
            .delivery(answered.delivery_id)
            .map(|row| row.pending_no)
        else {
            return;
        };
        stream.lanes[PENDING].count = stream.lanes[PENDING].count.saturating_sub(1);
        self.count_pending(stream.no, pending_no, -1);
        let lane = &mut stream.lanes[usize::from(status)];
        let lane_no = lane.next_no;
        lane.next_no += 1;
        lane.count += 1;
        self.change(answered.delivery_id, at.position, |row| {
            row.status = status;
            if !breaks::is_on(Break::ChangeTimeStays) {
                row.changed_at = at.time;
            }
            row.lane_no = lane_no;
            row.answered_by = Some(answered.by.clone());
            row.erased = answered_after(row.erased);
            row.hold = None;
            // A held answer's texts are where it was held.
            if !answered.held {
                row.answer_position = at.has_content.then_some(at.position);
            }
        });
    }

    fn change(&mut self, id: Uuid, position: u64, change: impl FnOnce(&mut DeliveryRow)) {
        if let Some(staged) = self.deliveries.get_mut(&id) {
            change(&mut staged.row);
            staged.row.due_at = due_at(&staged.row);
            staged.changed = true;
            self.batch.history.push((staged.row.no, position));
        }
    }

    /// An entry about a delivery that leaves its row as it is.
    fn mention(&mut self, id: Uuid, position: u64) {
        if let Some(staged) = self.deliveries.get(&id) {
            self.batch.history.push((staged.row.no, position));
        }
    }

    fn count_pending(&mut self, stream: u64, number: u64, delta: i64) {
        for level in 0..BLOCK_LEVELS {
            let block = number >> (8 * (u32::from(level) + 1));
            *self.batch.blocks.entry((stream, level, block)).or_default() += delta;
        }
    }
}

/// What is erased of a delivery once a new answer is given to it.
fn answered_after(erased: Erased) -> Erased {
    match erased {
        Erased::Nothing => Erased::Nothing,
        Erased::All | Erased::BeforeAnswer => Erased::BeforeAnswer,
    }
}

/// When a timer must look at a delivery: the end of a hold, or of its time.
fn due_at(row: &DeliveryRow) -> Option<Micros> {
    let hold = row.hold.as_ref().map(|hold| hold.until);
    let waits = usize::from(row.status) == PENDING && !row.timed_out;
    let timeout = row.timeout_at.filter(|_| waits);
    hold.into_iter().chain(timeout).min()
}

/// Codes are places in the closed lists, which only grow at their ends.
pub fn kind_code(kind: wake::Kind) -> u8 {
    kind as u8
}

pub fn kind(code: u8) -> wake::Kind {
    wake::Kind::ALL
        .get(usize::from(code))
        .copied()
        .unwrap_or(wake::Kind::Update)
}

pub fn status_code(status: wake::Status) -> u8 {
    status as u8
}

pub fn status(code: u8) -> wake::Status {
    wake::Status::ALL
        .get(usize::from(code))
        .copied()
        .unwrap_or(wake::Status::Pending)
}

pub fn verdict_code(verdict: inbox::Verdict) -> u8 {
    verdict as u8 + 1
}

pub fn verdict(code: u8) -> inbox::Verdict {
    let place = usize::from(code.saturating_sub(1));
    inbox::Verdict::ALL
        .get(place)
        .copied()
        .unwrap_or(inbox::Verdict::Rejected)
}

pub fn format_code(format: wake::DetailsFormat) -> u8 {
    format as u8
}

pub fn format(code: u8) -> Option<wake::DetailsFormat> {
    wake::DetailsFormat::ALL.get(usize::from(code)).copied()
}

pub fn channel_code(channel: inbox::event::Channel) -> u8 {
    channel as u8
}

pub fn channel(code: u8) -> inbox::event::Channel {
    use inbox::event::Channel;
    match code {
        1 => Channel::Page,
        2 => Channel::Terminal,
        _ => Channel::Api,
    }
}
