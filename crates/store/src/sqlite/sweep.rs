//! One sweep: several lanes merged in the order of their changes, and how many
//! match in all, without looking at what is older than `since`.
//!
//! An answered lane only grows, so the numbers in it give the count. From the
//! pending lane deliveries leave, so its numbers are counted in blocks of 256,
//! 256² and 256³: a count reads at most 256 rows of each.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::{
    AnswerRow, Lane, RowSeal, SweepPage, SweepQuery,
    batch::wake::{BLOCK_BITS, BLOCK_LEVELS, PENDING, block},
    sqlite::{is_unreadable, records, turn},
};

pub fn sweep(
    connection: &Connection,
    seal: Option<&RowSeal>,
    query: &SweepQuery,
) -> rusqlite::Result<SweepPage> {
    let since = query.since.map_or(i64::MIN, |since| since.0);
    // One more than the page takes tells whether there is anything to count.
    let enough = query.limit + 1;
    let mut statements = Vec::with_capacity(query.lanes.len());
    for lane in &query.lanes {
        // A statement is kept by its text, and once: with the status in it, an
        // agent's lanes need not be prepared anew for each sweep.
        statements.push(connection.prepare_cached(&format!(
            "SELECT {} FROM deliveries
             WHERE stream = ?1 AND status = {} AND changed_at > ?2 ORDER BY changed_at LIMIT ?3",
            records::ANSWER,
            lane.status,
        ))?);
    }
    // Each lane is in order, so only as many rows are read as are taken.
    let mut lanes = Vec::with_capacity(query.lanes.len());
    for (statement, lane) in statements.iter_mut().zip(&query.lanes) {
        let bounds = params![lane.stream as i64, since, enough as i64];
        let mut rows = statement.query(bounds)?;
        if let Some(first) = next(&mut rows, seal)? {
            lanes.push((first, rows));
        }
    }
    let mut page = Vec::with_capacity(enough);
    while page.len() < enough {
        let soonest = lanes
            .iter_mut()
            .enumerate()
            .min_by_key(|(_, lane)| lane.0.changed_at);
        let Some((place, (row, rows))) = soonest else {
            break;
        };
        match next(rows, seal)? {
            Some(following) => page.push(std::mem::replace(row, following)),
            None => page.push(lanes.swap_remove(place).0),
        }
    }
    let total = match page.len() < enough {
        true => page.len() as u64,
        false => {
            page.truncate(query.limit);
            let counts = query
                .lanes
                .iter()
                .map(|lane| count(connection, *lane, query.since.map(|at| at.0)));
            counts.sum::<rusqlite::Result<u64>>()?
        }
    };
    records::add_texts(connection, seal, &mut page)?;
    Ok(SweepPage { rows: page, total })
}

fn next(
    rows: &mut rusqlite::Rows<'_>,
    seal: Option<&RowSeal>,
) -> rusqlite::Result<Option<AnswerRow>> {
    while let Some(row) = rows.next()? {
        match records::answer(row, seal) {
            // The others are told to their agents all the same.
            Err(error) if is_unreadable(&error) => {
                tracing::error!(%error, "a delivery is not swept");
            }
            answer => return answer.map(Some),
        }
    }
    Ok(None)
}

/// How many deliveries of each of these streams have one of these statuses: kept
/// numbers, one look-up for each.
pub fn kept(
    connection: &Connection,
    streams: &[u64],
    statuses: &[u8],
) -> rusqlite::Result<HashMap<u64, u64>> {
    let mut kept = HashMap::new();
    for stream in streams {
        let mut sum = 0;
        for status in statuses {
            let lane = Lane {
                stream: *stream,
                status: *status,
            };
            sum += count(connection, lane, None)?;
        }
        if sum > 0 {
            kept.insert(*stream, sum);
        }
    }
    Ok(kept)
}

/// How many deliveries of a lane changed after `since`.
fn count(connection: &Connection, lane: Lane, since: Option<i64>) -> rusqlite::Result<u64> {
    let Some(lanes) = turn::lanes(connection, lane.stream)? else {
        return Ok(0);
    };
    let whole = lanes[usize::from(lane.status)];
    let Some(since) = since else {
        return Ok(whole.count);
    };
    let first: Option<i64> = connection
        .prepare_cached(
            "SELECT lane_no FROM deliveries
             WHERE stream = ?1 AND status = ?2 AND changed_at > ?3 ORDER BY changed_at LIMIT 1",
        )?
        .query_row(params![lane.stream as i64, lane.status, since], |row| {
            row.get(0)
        })
        .optional()?;
    match first {
        None => Ok(0),
        Some(first) if lane.status == PENDING => {
            count_pending(connection, lane.stream, since, first as u64)
        }
        Some(first) => Ok(whole.next_no - first as u64),
    }
}

/// Pending deliveries numbered `first` or later: the rest of its own block row
/// by row, then whole blocks, from small ones to large ones.
fn count_pending(
    connection: &Connection,
    stream: u64,
    since: i64,
    first: u64,
) -> rusqlite::Result<u64> {
    let block_end = block(first, 0) + 1;
    let mut count: i64 = connection
        .prepare_cached(
            "SELECT count(*) FROM (SELECT 1 FROM deliveries
             WHERE stream = ?1 AND status = 0 AND changed_at > ?2 AND changed_at <
               coalesce((SELECT changed_at FROM deliveries WHERE stream = ?1 AND status = 0
                         AND changed_at > ?2 AND lane_no >= ?3 ORDER BY changed_at LIMIT 1),
                        9223372036854775807))",
        )?
        .query_row(
            params![stream as i64, since, (block_end << BLOCK_BITS) as i64],
            |row| row.get(0),
        )?;
    let mut blocks = connection.prepare_cached(
        "SELECT coalesce(sum(n), 0) FROM blocks
         WHERE stream = ?1 AND level = ?2 AND block >= ?3 AND block < ?4",
    )?;
    let mut from = block_end;
    for level in 0..BLOCK_LEVELS {
        let to = match level + 1 < BLOCK_LEVELS {
            true => from.next_multiple_of(1 << BLOCK_BITS),
            false => i64::MAX as u64,
        };
        let bounds = params![stream as i64, level, from as i64, to as i64];
        count += blocks.query_row(bounds, |row| row.get::<_, i64>(0))?;
        from = to >> BLOCK_BITS;
    }
    Ok(count as u64)
}
