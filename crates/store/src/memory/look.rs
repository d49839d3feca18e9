//! Questions, answered by looking.

use std::{cmp::Reverse, collections::HashMap};

use super::data::Data;
use crate::{
    AnswerRow, DeliveryRow, Due, EntryQuery, EntryRow, ErasableQuery, Erased, InboxFilter,
    InboxPage, InboxQuery, LaneRow, LogEnd, STATUSES, Since, StreamQuery, SweepPage, SweepQuery,
    batch::wake::PENDING,
};
use trail::{
    Hash, Micros,
    merkle::leaf_hash,
    verify::{StreamEnd, block_digest},
};

/// The code of an update, which a person need not answer.
const UPDATE: u8 = 0;
/// Blocks of the tree hold 2^8 of the level below.
const BITS_PER_LEVEL: u32 = 8;
/// Entries about one delivery that are given at most, after the first.
const HISTORY: usize = 1000;

impl Data {
    pub fn due(&self, now: Micros, limit: usize) -> Vec<Due> {
        let due = self.due.range(..=(now, u64::MAX)).take(limit);
        due.map(|(_, no)| Due::Delivery(self.deliveries[no].id))
            .collect()
    }

    /// What an agent is told of a delivery, with the texts of a final answer.
    pub fn answer(&self, row: &DeliveryRow) -> AnswerRow {
        let mut answer = row.answer();
        let position = row.answer_position;
        if let Some(position) = position.filter(|_| row.status > 0 && row.erased != Erased::All) {
            answer.feedback = self.part(position, "feedback").map(<[u8]>::to_vec);
            answer.edited_content = self.part(position, "edited_content").map(<[u8]>::to_vec);
        }
        answer
    }

    pub fn sweep(&self, query: &SweepQuery) -> SweepPage {
        let after = query
            .since
            .map_or(Micros(i64::MIN), |since| Micros(since.0.saturating_add(1)));
        let mut found: Vec<(Micros, u64)> = Vec::new();
        for lane in &query.lanes {
            let from = (lane.stream, lane.status, after);
            let to = (lane.stream, lane.status, Micros(i64::MAX));
            let rows = self.changes.range(from..=to);
            found.extend(rows.map(|((_, _, at), no)| (*at, *no)));
        }
        found.sort_unstable();
        let page = found.iter().take(query.limit);
        SweepPage {
            rows: page
                .map(|(_, no)| self.answer(&self.deliveries[no]))
                .collect(),
            total: found.len() as u64,
        }
    }

    /// What retention counts from, if the delivery may be erased by it.
    fn counted_from(row: &DeliveryRow, since: Since) -> Option<Micros> {
        let waits_for_nobody = row.status == PENDING && row.hold.is_none();
        match since {
            Since::Answer => Some(row.changed_at).filter(|_| row.status != PENDING),
            Since::TimeOut => row
                .timeout_at
                .filter(|_| waits_for_nobody && row.timed_out && row.kind != UPDATE),
            Since::Creation => {
                Some(row.created_at).filter(|_| waits_for_nobody && row.kind == UPDATE)
            }
        }
    }

    pub fn erasable(&self, query: &ErasableQuery) -> Vec<DeliveryRow> {
        let rows = self.deliveries.values();
        let mut old: Vec<(Micros, &DeliveryRow)> = rows
            .filter(|row| row.kind == query.kind && row.erased != Erased::All)
            .filter_map(|row| Some((Data::counted_from(row, query.since)?, row)))
            .filter(|(at, _)| *at < query.before)
            .collect();
        old.sort_by_key(|(at, _)| *at);
        old.into_iter()
            .take(query.limit)
            .map(|(_, row)| row.clone())
            .collect()
    }

    pub fn snoozed_of(&self, name: &str, now: Micros, limit: usize) -> HashMap<u64, Micros> {
        let own = self
            .snoozed
            .range((name.to_owned(), 0)..=(name.to_owned(), u64::MAX));
        own.rev()
            .map(|((_, no), until)| (*no, *until))
            .filter(|(_, until)| *until > now)
            .filter(|(no, _)| {
                self.deliveries
                    .get(no)
                    .is_none_or(|row| row.status == PENDING)
            })
            .take(limit)
            .collect()
    }

    pub fn is_snoozed(&self, name: &str, delivery: u64, now: Micros) -> bool {
        let until = self.snoozed.get(&(name.to_owned(), delivery));
        until.is_some_and(|until| *until > now)
    }

    pub fn inbox(&self, query: &InboxQuery) -> InboxPage {
        let place = |row: &DeliveryRow| match query.filter.search {
            Some(_) => row.no,
            None => row.changed_at.0 as u64,
        };
        let rows = self
            .deliveries
            .values()
            .filter(|row| self.is_wanted(&query.filter, row));
        let mut rows: Vec<&DeliveryRow> = rows
            .filter(|row| query.before.is_none_or(|before| place(row) < before))
            .collect();
        rows.sort_unstable_by_key(|row| Reverse(place(row)));
        let has_more = rows.len() > query.limit;
        rows.truncate(query.limit);
        InboxPage {
            next: rows.last().filter(|_| has_more).map(|row| place(row)),
            rows: rows.into_iter().cloned().collect(),
            changed: 0,
        }
    }

    fn is_wanted(&self, filter: &InboxFilter, row: &DeliveryRow) -> bool {
        let is_one_of = |codes: &[u8], code: u8| codes.is_empty() || codes.contains(&code);
        let is_aside = |name: &str, now: Micros| {
            let until = self.snoozed.get(&(name.to_owned(), row.no));
            until.is_some_and(|until| *until > now)
        };
        let words = self.words.get(&row.no);
        filter.stream.is_none_or(|stream| stream == row.stream)
            && is_one_of(&filter.kinds, row.kind)
            && is_one_of(&filter.statuses, row.status)
            && filter.test.is_none_or(|test| test == row.test)
            && filter
                .aside
                .as_ref()
                .is_none_or(|aside| is_aside(&aside.name, aside.now) == aside.only)
            && filter
                .search
                .as_ref()
                .is_none_or(|search| words.is_some_and(|words| words.have(search)))
    }

    pub fn history_of(&self, delivery: u64) -> Vec<EntryRow> {
        let positions: Vec<u64> = self.about(delivery).collect();
        let newest = positions.len().saturating_sub(HISTORY).max(1);
        let positions = positions.iter().take(1).chain(&positions[newest..]);
        let entries = positions.filter_map(|position| self.entries.get(*position as usize));
        entries.map(without_parts).collect()
    }

    pub fn entries(&self, query: &EntryQuery) -> Vec<EntryRow> {
        let size = self.entries.len() as u64;
        let to = query.to.unwrap_or(size).min(size);
        let range = &self.entries[query.from.min(to) as usize..to as usize];
        let give = |row: &EntryRow| match query.with_parts {
            true => row.clone(),
            false => without_parts(row),
        };
        match query.newest_first {
            true => range.iter().rev().take(query.limit).map(give).collect(),
            false => range.iter().take(query.limit).map(give).collect(),
        }
    }

    pub fn stream_entries(&self, query: &StreamQuery) -> Vec<EntryRow> {
        let last = || self.streams.get(&query.stream).and_then(|row| row.last);
        let mut next = query.from.or_else(last);
        let mut found = Vec::new();
        while let Some(row) = next.and_then(|position| self.entries.get(position as usize)) {
            if found.len() == query.limit || row.stream != query.stream {
                break;
            }
            next = row.prev;
            found.push(without_parts(row));
        }
        found
    }

    /// A number of each stream that has one other than 0.
    pub fn kept(
        &self,
        streams: &[u64],
        of: impl Fn(&[LaneRow; STATUSES]) -> u64,
    ) -> HashMap<u64, u64> {
        let rows = streams.iter().filter_map(|no| self.lanes.get(no));
        let kept = rows.map(|row| (row.stream, of(&row.by_status)));
        kept.filter(|(_, number)| *number > 0).collect()
    }

    pub fn hashes(&self, level: u8, from: u64, to: u64) -> Vec<Hash> {
        if level > 0 {
            let found = self.subtrees.range((level, from)..(level, to));
            return found.map(|(_, hash)| *hash).collect();
        }
        let entries = self.entries.iter().skip(from as usize);
        let entries = entries.take_while(|entry| entry.position < to);
        entries.map(|entry| leaf_hash(&entry.entry_hash)).collect()
    }

    pub fn log_end(&self) -> Option<LogEnd> {
        let streams = self.streams.values().map(|row| StreamEnd {
            name: row.name.clone(),
            next_seq: row.next_seq,
            head: row.head,
            last: row.last,
        });
        Some(LogEnd {
            head: self.head.clone()?,
            streams: streams.collect(),
        })
    }

    pub fn block_digests(&self, size: u64) -> Vec<Hash> {
        let levels = 1..(u64::BITS / BITS_PER_LEVEL) as u8;
        let blocks = levels.map(|level| (level, size >> (u32::from(level) * BITS_PER_LEVEL)));
        let blocks = blocks.take_while(|(_, blocks)| *blocks > 0);
        let digests = blocks.map(|(level, blocks)| {
            let roots = self.subtrees.range((level, 0)..(level, blocks));
            roots.fold(Hash::ZERO, |digest, ((_, index), root)| {
                block_digest(digest, *index, root)
            })
        });
        digests.collect()
    }

    pub fn view_digests(&self) -> Vec<(String, Hash)> {
        let blocks = self.blocks.iter().filter(|(_, count)| **count != 0);
        vec![
            ("lanes".to_owned(), digest(self.lanes.values())),
            ("deliveries".to_owned(), digest(self.deliveries.values())),
            ("blocks".to_owned(), digest(blocks)),
            ("history".to_owned(), digest(&self.history)),
            ("accounts".to_owned(), digest(&self.accounts)),
            ("relayed".to_owned(), digest(self.relayed.values())),
        ]
    }
}

fn without_parts(row: &EntryRow) -> EntryRow {
    EntryRow {
        header: row.header.clone(),
        facts: row.facts.clone(),
        parts: Vec::new(),
        ..*row
    }
}

/// A hash over rows as they are printed, which tells every field of them.
fn digest<T: std::fmt::Debug>(rows: impl IntoIterator<Item = T>) -> Hash {
    use std::fmt::Write as _;
    let mut text = String::new();
    for row in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{row:?}");
    }
    Hash::of("wakeful/memory-view/1", &[text.as_bytes()])
}
