//! Pages of the inbox: what changed last comes first.
//!
//! Status, kind and agent have an index that yields rows in page order, so a
//! page costs the same among ten deliveries and among a million. What no index
//! is ordered by (tests, an agent's kinds, the other filters of a search) is
//! checked on the way, and one request looks at no more than [`LOOKED_AT`] rows.
//! What a person has put aside is passed over by its own table, which holds only
//! what somebody put there by hand.

use rusqlite::{Connection, params};

use crate::{
    Aside, DeliveryRow, InboxFilter, InboxPage, InboxQuery, RowSeal, STATUSES,
    sqlite::{is_unreadable, records, sealed, search},
};

const LOOKED_AT: usize = 2000;
const ALL: [u8; STATUSES] = [0, 1, 2, 3];

/// A row's place in the page order (when it changed, or in a search its number),
/// and its number.
type Place = (i64, u64);

pub fn page(
    connection: &Connection,
    seal: Option<&RowSeal>,
    query: &InboxQuery,
) -> rusqlite::Result<InboxPage> {
    let filter = &query.filter;
    let before = query.before.map_or(i64::MAX, |before| before as i64);
    // Where to look on when all places were looked at.
    let (places, rest) = match &filter.search {
        Some(words) => {
            let found = search::matches(connection, words, before, LOOKED_AT)?;
            let places = found.numbers.into_iter().map(|no| (no as i64, no));
            (places.collect(), found.rest)
        }
        None => {
            let exact = filter.test.is_none()
                && (filter.stream.is_none() || filter.kinds.is_empty())
                && filter.aside.as_ref().is_none_or(|aside| !aside.only);
            let enough = if exact { query.limit + 1 } else { LOOKED_AT };
            let places = latest(connection, filter, before, enough)?;
            let last = places.last().filter(|_| places.len() == enough);
            let rest = last.map(|(place, _)| *place as u64);
            (places, rest)
        }
    };
    let mut find = connection.prepare_cached(&format!(
        "SELECT {}, mac FROM deliveries WHERE no = ?1",
        records::DELIVERY
    ))?;
    let mut rows = Vec::with_capacity(query.limit);
    let mut last = None;
    let mut changed = 0;
    for (place, no) in &places {
        if rows.len() == query.limit {
            let next = last;
            return Ok(InboxPage {
                rows,
                next,
                changed,
            });
        }
        let row = find.query_row([*no as i64], |row| records::delivery(row, seal));
        let row = match row {
            Ok(row) => row,
            // The others are not kept from anyone because of it.
            Err(error) if is_unreadable(&error) => {
                tracing::error!(no, %error, "a delivery is not listed");
                changed += 1;
                last = Some(*place as u64);
                continue;
            }
            Err(error) => return Err(error),
        };
        if accepts(filter, &row) && fits_aside(connection, filter, *no)? {
            rows.push(row);
        }
        last = Some(*place as u64);
    }
    Ok(InboxPage {
        rows,
        next: rest,
        changed,
    })
}

/// The latest places of all ranges that the filter names.
fn latest(
    connection: &Connection,
    filter: &InboxFilter,
    before: i64,
    enough: usize,
) -> rusqlite::Result<Vec<Place>> {
    let mut places: Vec<Place> = Vec::new();
    let enough_rows = enough as i64;
    let (name, now) = match &filter.aside {
        Some(aside) if aside.only => return put_aside(connection, aside, before, enough),
        Some(aside) => (Some(&*aside.name), aside.now.0),
        None => (None, 0),
    };
    // Nobody has no name, and has put nothing aside.
    let in_sight = format!(
        "NOT EXISTS (SELECT 1 FROM snoozed WHERE name = ?5 AND delivery = no AND until > ?6
         AND {})",
        sealed::SNOOZED
    );
    for status in or_all(&filter.statuses) {
        match filter.stream {
            Some(agent) => {
                let mut find = connection.prepare_cached(&format!(
                    "SELECT changed_at, no FROM deliveries INDEXED BY deliveries_by_lane
                     WHERE stream = ?1 AND status = ?2 AND changed_at < ?3 AND {in_sight}
                     ORDER BY changed_at DESC LIMIT ?4"
                ))?;
                let bounds = params![agent as i64, status, before, enough_rows, name, now];
                collect(find.query(bounds)?, &mut places)?;
            }
            None => {
                for kind in or_all(&filter.kinds) {
                    let mut find = connection.prepare_cached(&format!(
                        "SELECT changed_at, no FROM deliveries INDEXED BY deliveries_by_kind
                         WHERE status = ?1 AND kind = ?2 AND changed_at < ?3 AND {in_sight}
                         ORDER BY changed_at DESC LIMIT ?4"
                    ))?;
                    let bounds = params![status, kind, before, enough_rows, name, now];
                    collect(find.query(bounds)?, &mut places)?;
                }
            }
        }
    }
    // Change times are unique, so this is a total order.
    places.sort_unstable_by(|a, b| b.cmp(a));
    places.truncate(enough);
    Ok(places)
}

/// The latest places among what one person has put aside.
fn put_aside(
    connection: &Connection,
    aside: &Aside,
    before: i64,
    enough: usize,
) -> rusqlite::Result<Vec<Place>> {
    let mut find = connection.prepare_cached(&format!(
        "SELECT d.changed_at, d.no FROM snoozed CROSS JOIN deliveries d ON d.no = snoozed.delivery
         WHERE snoozed.name = ?1 AND snoozed.until > ?2 AND d.changed_at < ?3 AND {}
         ORDER BY d.changed_at DESC LIMIT ?4",
        sealed::SNOOZED
    ))?;
    let mut places = Vec::new();
    let bounds = params![aside.name, aside.now.0, before, enough as i64];
    collect(find.query(bounds)?, &mut places)?;
    Ok(places)
}

/// Only a search comes upon what the filter's person has put aside, or has not.
fn fits_aside(connection: &Connection, filter: &InboxFilter, no: u64) -> rusqlite::Result<bool> {
    let (Some(aside), Some(_)) = (&filter.aside, &filter.search) else {
        return Ok(true);
    };
    let mut find = connection.prepare_cached(&format!(
        "SELECT EXISTS (SELECT 1 FROM snoozed WHERE name = ?1 AND delivery = ?2 AND until > ?3
         AND {})",
        sealed::SNOOZED
    ))?;
    let put: bool = find.query_row(params![aside.name, no as i64, aside.now.0], |row| {
        row.get(0)
    })?;
    Ok(put == aside.only)
}

fn collect(mut rows: rusqlite::Rows<'_>, places: &mut Vec<Place>) -> rusqlite::Result<()> {
    while let Some(row) = rows.next()? {
        places.push((row.get(0)?, records::number(row, 1)?));
    }
    Ok(())
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
