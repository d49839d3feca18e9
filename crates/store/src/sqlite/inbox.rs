//! Pages of the inbox, newest first.
//!
//! Status, kind and agent have an index that yields numbers in page order, so
//! a page costs the same among ten deliveries and among a million. What no
//! index knows (tests, the other filters of a search) is checked row by row,
//! and one request looks at no more than [`LOOKED_AT`] rows.

use rusqlite::{Connection, params};

use crate::{
    DeliveryRow, InboxFilter, InboxPage, InboxQuery,
    sqlite::{records, search},
};

const LOOKED_AT: usize = 2000;
const ALL: [u8; 4] = [0, 1, 2, 3];

pub fn page(connection: &Connection, query: &InboxQuery) -> rusqlite::Result<InboxPage> {
    let filter = &query.filter;
    let exact = filter.search.is_none() && filter.test.is_none();
    let enough = if exact { query.limit + 1 } else { LOOKED_AT };
    let before = query.before.map_or(i64::MAX, |before| before as i64);
    let numbers = match &filter.search {
        Some(words) => search::matches(connection, words, before, enough)?,
        None => newest(connection, filter, before, enough)?,
    };
    let mut find = connection.prepare_cached(&format!(
        "SELECT {} FROM deliveries WHERE no = ?1",
        records::DELIVERY
    ))?;
    let mut page = InboxPage {
        rows: Vec::with_capacity(query.limit),
        next: None,
    };
    for (looked_at, no) in numbers.iter().enumerate() {
        if page.rows.len() == query.limit {
            page.next = page.rows.last().map(|row| row.no);
            return Ok(page);
        }
        let row = find.query_row([*no as i64], records::delivery)?;
        if accepts(filter, &row) {
            page.rows.push(row);
        }
        if looked_at + 1 == LOOKED_AT {
            page.next = Some(*no);
        }
    }
    Ok(page)
}

/// The newest numbers of all (status, kind) ranges that the filter names.
fn newest(
    connection: &Connection,
    filter: &InboxFilter,
    before: i64,
    enough: usize,
) -> rusqlite::Result<Vec<u64>> {
    let mut find = connection.prepare_cached(match filter.stream {
        None => {
            "SELECT no FROM deliveries INDEXED BY deliveries_by_kind
             WHERE status = ?1 AND kind = ?2 AND no < ?3 ORDER BY no DESC LIMIT ?4"
        }
        Some(_) => {
            "SELECT no FROM deliveries INDEXED BY deliveries_by_agent
             WHERE stream = ?5 AND status = ?1 AND kind = ?2 AND no < ?3 ORDER BY no DESC LIMIT ?4"
        }
    })?;
    let mut numbers = Vec::new();
    for status in or_all(&filter.statuses) {
        for kind in or_all(&filter.kinds) {
            let mut rows = match filter.stream {
                None => find.query(params![status, kind, before, enough as i64])?,
                Some(agent) => {
                    find.query(params![status, kind, before, enough as i64, agent as i64])?
                }
            };
            while let Some(row) = rows.next()? {
                numbers.push(records::number(row, 0)?);
            }
        }
    }
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    numbers.truncate(enough);
    Ok(numbers)
}

fn or_all(codes: &[u8]) -> &[u8] {
    if codes.is_empty() { &ALL } else { codes }
}

fn accepts(filter: &InboxFilter, row: &DeliveryRow) -> bool {
    filter.stream.is_none_or(|stream| stream == row.stream)
        && or_all(&filter.kinds).contains(&row.kind)
        && or_all(&filter.statuses).contains(&row.status)
        && filter.test.is_none_or(|test| test == row.test)
}
