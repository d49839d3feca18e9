//! WAKE's rows: deliveries and what became of them, lanes, blocks, history. What a
//! person does in the inbox changes them too.

use std::collections::{HashMap, HashSet};

use store::{
    DeliveryRow, Erased, HoldRow, LanesRow,
    batch::{
        self,
        wake::{BLOCK_LEVELS, Batch, block},
    },
};
use trail::Micros;
use uuid::Uuid;

use super::{At, Lanes, channel_code, format_code, kind_code, status_code, verdict_code};
use crate::breaks::{self, Break};

/// The lane of what waits.
const PENDING: usize = batch::wake::PENDING as usize;
const _: () = assert!(wake::Status::Pending as usize == PENDING);

#[derive(Debug, Default)]
pub struct Views {
    deliveries: HashMap<Uuid, Staged>,
    touched_lanes: HashSet<u64>,
    batch: Batch,
    /// Entries that should never have been: on a row that was put back, the
    /// writer decides anew what was decided already.
    pub impossible: Vec<(u64, &'static str)>,
}

#[derive(Debug)]
struct Staged {
    row: DeliveryRow,
    is_new: bool,
    changed: bool,
}

impl Views {
    pub fn add_loaded(&mut self, deliveries: HashMap<Uuid, DeliveryRow>) {
        for (id, row) in deliveries {
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

    pub fn next_due(&self) -> Option<Micros> {
        let timers = self.deliveries.values();
        timers.filter_map(|staged| staged.row.due_at).min()
    }

    pub fn into_batch(self, lanes: &Lanes) -> Batch {
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
        let touched = self.touched_lanes.iter();
        batch.lanes = touched.filter_map(|no| lanes.get(no)).copied().collect();
        batch
    }

    /// Every agent has lanes from the first entry of its stream on.
    pub fn begin_lanes(&mut self, stream: u64, lanes: &mut Lanes) {
        lanes.entry(stream).or_insert_with(|| {
            self.touched_lanes.insert(stream);
            LanesRow {
                stream,
                ..LanesRow::default()
            }
        });
    }

    /// The lanes of an entry's stream, which are among those to write.
    fn lanes<'l>(&mut self, at: At<'_>, lanes: &'l mut Lanes) -> &'l mut LanesRow {
        self.touched_lanes.insert(at.stream_no);
        let row = lanes.get_mut(&at.stream_no);
        row.expect("every agent has lanes")
    }

    pub fn wake(&mut self, event: &wake::Event, at: At<'_>, lanes: &mut Lanes) {
        let position = at.position;
        match event {
            wake::Event::DeliveryReceived(received) => {
                let row = self.received(received, at, lanes);
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
        at: At<'_>,
        lanes: &mut Lanes,
    ) -> DeliveryRow {
        let At {
            stream_no,
            position,
            time,
            ..
        } = at;
        let lane = &mut self.lanes(at, lanes).by_status[PENDING];
        let number = lane.next_no;
        lane.next_no += 1;
        lane.count += 1;
        self.count_pending(stream_no, number, 1);
        let mut row = DeliveryRow {
            no: position,
            id: received.delivery_id,
            stream: stream_no,
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

    pub fn inbox(&mut self, event: &inbox::Event, at: At<'_>, lanes: &mut Lanes) {
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
                self.answered(answered, at, lanes);
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
        at: At<'_>,
        lanes: &mut Lanes,
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
        self.count_pending(at.stream_no, pending_no, -1);
        let lanes = &mut self.lanes(at, lanes).by_status;
        lanes[PENDING].count = lanes[PENDING].count.saturating_sub(1);
        let lane = &mut lanes[usize::from(status)];
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
            let block = (stream, level, block(number, level));
            *self.batch.blocks.entry(block).or_default() += delta;
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
