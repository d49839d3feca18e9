//! What must be known before the clock runs: ids to poll and a time to sweep
//! from. Learned through the protocol alone, so that it works on any server.

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use memchr::memmem;

use crate::connection::Connection;
use crate::work::{Id, Requests, SWEEP, Target, Work, delivery_id, field};

/// Pages of ids taken at random times, enough that no cache of pages hides the store.
const PAGES: usize = 64;

/// Ids spread over the whole store, by sweeping from random points between the
/// first change and now.
pub async fn polls(target: &Target) -> Result<Work> {
    let mut conn = Connection::open(target.addr).await?;
    let mut requests = Requests::new(target);
    let first = requests.sweep(&mut conn, None).await?;
    let first_us = microseconds(field(first, b"next_since").context("the store is empty")?)?;
    let mut ids = ids_of(first)?;
    let now_us = Timestamp::now().as_microsecond().max(first_us + 1);
    for _ in 0..PAGES {
        let since = Timestamp::from_microsecond(fastrand::i64(first_us..now_us))?;
        let page = requests.sweep(&mut conn, Some(&since.to_string())).await?;
        ids.extend(ids_of(page)?);
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(Work::Poll(ids))
}

/// A time with 200 changes after it, half of them answers: a marker, then 200
/// deliveries.
pub async fn sweep(target: &Target) -> Result<Work> {
    let mut conn = Connection::open(target.addr).await?;
    let mut requests = Requests::new(target);
    let marker = requests.deliver(&mut conn).await?;
    // A plus would be read as a space in a query.
    let since = std::str::from_utf8(field(marker, b"created_at")?)?.replace('+', "%2B");
    for n in 0..SWEEP {
        let id = delivery_id(requests.deliver(&mut conn).await?)?;
        if n % 2 == 0 {
            requests.respond(&mut conn, &id).await?;
        }
    }
    let found = ids_of(requests.sweep(&mut conn, Some(&since)).await?)?.len();
    ensure!(
        found == SWEEP,
        "a sweep since {since} gave {found} deliveries"
    );
    Ok(Work::Sweep(since))
}

fn ids_of(body: &[u8]) -> Result<Vec<Id>> {
    memmem::find_iter(body, b"\"delivery_id\"")
        .map(|at| delivery_id(&body[at..]))
        .collect()
}

fn microseconds(time: &[u8]) -> Result<i64> {
    Ok(std::str::from_utf8(time)?
        .parse::<Timestamp>()?
        .as_microsecond())
}
