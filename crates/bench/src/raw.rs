//! Bare SQLite: how many of the same rows a second the disk takes at a given
//! number per transaction, with nothing around it. No server can be faster.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use uuid::Uuid;

use crate::load::Window;
use crate::plain::store::{Row, insert, now_us, open};

/// Durable inserts a second, `batch` to a commit.
pub fn inserts_per_second(dir: &Path, row: &Row, batch: usize, window: Window) -> Result<f64> {
    let mut conn = open(dir)?;
    let mut row = row.clone();
    let from = Instant::now() + window.warm_up;
    let until = from + window.measured;
    let mut inserted = 0_usize;
    loop {
        let tx = conn.transaction()?;
        for _ in 0..batch {
            row.id = Uuid::new_v4();
            insert(&tx, &row, now_us())?;
        }
        tx.commit()?;
        let now = Instant::now();
        if now >= until {
            return Ok(inserted as f64 / window.measured.as_secs_f64());
        }
        if now >= from {
            inserted += batch;
        }
    }
}
