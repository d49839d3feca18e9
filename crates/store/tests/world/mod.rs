//! Rows made by hand, and what a store that holds them must answer: a list
//! that is looked through from its beginning, too slow to be wrong.

use std::{collections::HashMap, sync::Arc};

use store::*;
use trail::{Hash, Micros};
use uuid::Uuid;

/// Numbers that look random and come again with the same seed (SplitMix64).
#[derive(Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len() as u64) as usize]
    }
}

/// A delivery with everything that was said about it.
#[derive(Clone, Debug)]
pub struct Known {
    pub row: DeliveryRow,
    pub feedback: Option<Vec<u8>>,
    pub edited_content: Option<Vec<u8>>,
    pub details: Option<Vec<u8>>,
    /// Positions of later entries about it.
    pub history: Vec<u64>,
}

/// What should be in the store, and the batch that is being put together.
#[derive(Debug)]
pub struct World {
    pub store: Arc<dyn Store>,
    pub deliveries: Vec<Known>,
    pub streams: Vec<StreamRow>,
    /// By the number of their stream.
    pub lanes: Vec<LanesRow>,
    pub entries: Vec<EntryRow>,
    pub batch: Batch,
    pub now: i64,
}

pub const LEVELS: u8 = 3;

impl World {
    /// Streams whose pending deliveries are numbered from these numbers on.
    pub fn new(store: Arc<dyn Store>, first_numbers: &[u64]) -> World {
        let numbers = 0..first_numbers.len() as u64;
        let streams = numbers.map(|no| StreamRow {
            no,
            name: format!("agent/a{no}"),
            next_seq: 0,
            head: None,
            last: None,
        });
        let lanes = (0..).zip(first_numbers).map(|(stream, first)| {
            let mut by_status = [LaneRow::default(); 4];
            by_status[0].next_no = *first;
            LanesRow { stream, by_status }
        });
        World {
            store,
            deliveries: Vec::new(),
            streams: streams.collect(),
            lanes: lanes.collect(),
            entries: Vec::new(),
            batch: Batch::default(),
            now: 1_000_000,
        }
    }

    pub fn tick(&mut self) -> Micros {
        self.now += 10;
        Micros(self.now)
    }

    /// An entry about a delivery, at the end of the log and of its stream.
    pub fn entry(&mut self, stream: u64, about: Uuid, parts: &[(&str, &[u8])]) -> u64 {
        let position = self.entries.len() as u64;
        let row = &mut self.streams[stream as usize];
        let entry_hash = Hash::of("entry", &[&position.to_be_bytes()]);
        let entry = EntryRow {
            position,
            stream,
            seq: row.next_seq,
            prev: row.last,
            header: format!("header {position}").into_bytes(),
            entry_hash,
            facts_salt: [position as u8; 32],
            facts: format!("facts {position} about {about}").into_bytes(),
            parts: parts
                .iter()
                .map(|(name, bytes)| PartRow {
                    name: (*name).to_owned(),
                    salt: [7; 32],
                    bytes: bytes.to_vec(),
                })
                .collect(),
        };
        row.next_seq += 1;
        row.head = Some(entry_hash);
        row.last = Some(position);
        self.entries.push(entry.clone());
        self.batch.log.entries.push(entry);
        position
    }

    fn count(&mut self, stream: u64, number: u64, more: i64) {
        for level in 0..LEVELS {
            let block = number >> (8 * (u32::from(level) + 1));
            *self
                .batch
                .wake
                .blocks
                .entry((stream, level, block))
                .or_default() += more;
        }
    }

    pub fn receive(&mut self, stream: u64, headline: &str, details: Option<&[u8]>) -> usize {
        let parts: Vec<(&str, &[u8])> = details.iter().map(|bytes| ("details", *bytes)).collect();
        let id = Uuid::from_u128(0x5eed_0000 + self.entries.len() as u128);
        let no = self.entry(stream, id, &parts);
        let at = self.tick();
        let lane = &mut self.lanes[stream as usize].by_status[0];
        let number = lane.next_no;
        lane.next_no += 1;
        lane.count += 1;
        self.count(stream, number, 1);
        let row = DeliveryRow {
            no,
            id,
            stream,
            kind: (no % 4) as u8,
            status: 0,
            test: no.is_multiple_of(3),
            provider: "p".to_owned(),
            headline: headline.to_owned(),
            summary: format!("summary of {no}"),
            details_format: None,
            created_at: at,
            changed_at: at,
            lane_no: number,
            pending_no: number,
            timeout_at: None,
            timed_out: false,
            callback: None,
            answered_by: None,
            answer_position: None,
            hold: None,
            erased: Erased::Nothing,
            due_at: None,
        };
        self.batch.wake.new_deliveries.push(row.clone());
        self.deliveries.push(Known {
            row,
            feedback: None,
            edited_content: None,
            details: details.map(<[u8]>::to_vec),
            history: Vec::new(),
        });
        self.deliveries.len() - 1
    }

    pub fn answer(&mut self, index: usize, status: u8, feedback: Option<&[u8]>) {
        let stream = self.deliveries[index].row.stream;
        let parts: Vec<(&str, &[u8])> = feedback.iter().map(|bytes| ("feedback", *bytes)).collect();
        let position = self.entry(stream, self.deliveries[index].row.id, &parts);
        let at = self.tick();
        let pending_no = self.deliveries[index].row.pending_no;
        self.count(stream, pending_no, -1);
        let lanes = &mut self.lanes[stream as usize].by_status;
        lanes[0].count -= 1;
        let lane = &mut lanes[usize::from(status)];
        let number = lane.next_no;
        lane.next_no += 1;
        lane.count += 1;
        let known = &mut self.deliveries[index];
        known.feedback = feedback.map(<[u8]>::to_vec);
        known.row.status = status;
        known.row.changed_at = at;
        known.row.lane_no = number;
        known.row.answered_by = Some("ann".to_owned());
        known.row.answer_position = feedback.map(|_| position);
        self.change(index, Some(position));
    }

    /// Writes a delivery's row as it now stands.
    pub fn change(&mut self, index: usize, position: Option<u64>) {
        let known = &mut self.deliveries[index];
        if let Some(position) = position {
            known.history.push(position);
            self.batch.wake.history.push((known.row.no, position));
        }
        let no = known.row.no;
        let fresh = self
            .batch
            .wake
            .new_deliveries
            .iter_mut()
            .find(|row| row.no == no);
        if let Some(row) = fresh {
            *row = known.row.clone();
            return;
        }
        self.batch
            .wake
            .changed_deliveries
            .retain(|row| row.no != no);
        self.batch.wake.changed_deliveries.push(known.row.clone());
    }

    pub fn take_batch(&mut self) -> Batch {
        let mut batch = std::mem::take(&mut self.batch);
        batch.log.streams = self.streams.clone();
        batch.wake.lanes = self.lanes.clone();
        let size = self.entries.len() as u64;
        batch.log.head = Some(HeadRow {
            size,
            last_time: Micros(self.now),
            note: format!("note {size}"),
        });
        batch
    }

    pub async fn commit(&mut self) {
        let batch = self.take_batch();
        self.store.append(batch).await.unwrap();
    }

    // What a store must answer.

    pub fn sweep(&self, query: &SweepQuery) -> (Vec<AnswerRow>, u64) {
        let mut matching: Vec<&Known> = self
            .deliveries
            .iter()
            .filter(|known| {
                let lane = Lane {
                    stream: known.row.stream,
                    status: known.row.status,
                };
                query.lanes.contains(&lane)
                    && query.since.is_none_or(|since| known.row.changed_at > since)
            })
            .collect();
        matching.sort_by_key(|known| known.row.changed_at);
        let total = matching.len() as u64;
        let page = matching.into_iter().take(query.limit).map(answered);
        (page.collect(), total)
    }

    /// All that an inbox query matches, in page order.
    pub fn inbox(&self, filter: &InboxFilter, words: &[&str]) -> Vec<DeliveryRow> {
        let names: HashMap<u64, &str> = self
            .streams
            .iter()
            .map(|row| (row.no, row.name.as_str()))
            .collect();
        let mut rows: Vec<DeliveryRow> = self
            .deliveries
            .iter()
            .filter(|known| {
                let row = &known.row;
                let details = known.details.as_deref().unwrap_or_default();
                let details = if row.erased == Erased::Nothing {
                    details
                } else {
                    &[][..]
                };
                let text = format!(
                    "{} {} {} {}",
                    names[&row.stream].trim_start_matches("agent/"),
                    row.headline,
                    row.summary,
                    String::from_utf8_lossy(details)
                );
                let has = |word: &&str| {
                    text.to_lowercase()
                        .split(|c: char| !c.is_alphanumeric())
                        .any(|found| found.starts_with(&word.to_lowercase()))
                };
                filter.stream.is_none_or(|stream| stream == row.stream)
                    && (filter.kinds.is_empty() || filter.kinds.contains(&row.kind))
                    && (filter.statuses.is_empty() || filter.statuses.contains(&row.status))
                    && filter.test.is_none_or(|test| test == row.test)
                    && words.iter().all(has)
            })
            .map(|known| known.row.clone())
            .collect();
        match words.is_empty() {
            true => rows.sort_by_key(|row| std::cmp::Reverse(row.changed_at)),
            false => rows.reverse(),
        }
        rows
    }
}

pub fn answered(known: &Known) -> AnswerRow {
    let row = &known.row;
    let final_and_whole = row.status > 0 && row.erased != Erased::All;
    let text = |text: &Option<Vec<u8>>| text.clone().filter(|_| final_and_whole);
    AnswerRow {
        id: row.id,
        stream: row.stream,
        status: row.status,
        changed_at: row.changed_at,
        answer_position: row.answer_position,
        erased: row.erased,
        feedback: text(&known.feedback),
        edited_content: text(&known.edited_content),
    }
}
