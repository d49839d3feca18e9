//! What the files of a data directory may lose, and who notices: the write-ahead
//! log, the database, the file that remembers how far the log was signed.
#![allow(clippy::unwrap_used)]

#[path = "../harness/mod.rs"]
mod harness;

mod checkpointing;
mod damaged;
mod first_start;
mod limited;
mod tampered;

use std::path::Path;

use harness::{House, copy_data};
use serde_json::json;

pub(crate) const WAL: &str = "wakeful.db-wal";

/// A server that acknowledged so many deliveries and was then killed: its data,
/// an agent's key, an owner's token and the ids.
pub(crate) struct Killed {
    pub house: House,
    pub key: String,
    pub ann: String,
    pub ids: Vec<String>,
}

impl Killed {
    pub async fn after(deliveries: usize) -> Killed {
        let (mut house, ann) = House::start().await;
        let key = house.key("writer");
        let mut ids = Vec::new();
        for number in 0..deliveries {
            let more = json!({ "details": format!("number {number}: {}", "x".repeat(200)) });
            ids.push(house.deliver(&key, "writer", more).await);
        }
        house.kill();
        Killed {
            house,
            key,
            ann,
            ids,
        }
    }

    /// Another house with the same files.
    pub fn copy(&self) -> House {
        let mut house = House::empty();
        house.directory = copy_data(self.house.data());
        house
    }
}

/// Checks that no command starts on this directory, that it says which command
/// goes on, and that verification notices too. Leaves no database for the
/// harness to verify.
pub(crate) async fn is_refused(mut house: House, context: &str) {
    let said = house.try_serve(&[]).await;
    let said = said.expect_err(&format!("{context}: the server started"));
    assert!(said.contains("wakeful trail continue"), "{context}: {said}");
    let administered = house.command(&["user", "list"], &[]);
    assert_eq!(administered.status.code(), Some(2), "{context}");
    let verified = house.command(&["trail", "verify", "--json"], &[]);
    assert_eq!(verified.status.code(), Some(3), "{context}: {verified:?}");
    forget_database(house.data());
}

pub(crate) fn forget_database(data: &Path) {
    std::fs::remove_file(data.join("wakeful.db")).unwrap();
}
