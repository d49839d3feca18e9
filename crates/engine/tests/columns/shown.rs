//! Everything that a server shows people and tells agents about its data.

use std::path::Path;

use engine::{Clock, read::InboxAsk};
use wake::{Status, sweep::Sweep};

use crate::{engine, filled::Filled};

#[derive(Default)]
pub struct Seen {
    /// In words.
    things: Vec<String>,
    /// Whether it was said that something is not listed.
    less: bool,
}

impl Seen {
    /// Whether nothing is shown that was not so before, and nothing is missing
    /// without a word.
    pub fn is_true_of(&self, right: &Seen) -> bool {
        let known = self.things.iter().all(|thing| right.things.contains(thing));
        known && (self.less || self.things.len() == right.things.len())
    }
}

/// What is shown; what it said if it did not want to show something.
pub async fn everything(filled: &Filled, directory: &Path) -> Result<Seen, String> {
    let now = filled.now;
    let engine = engine(directory, Clock::new(move || now)).await?;
    let seen = look(&engine).await;
    engine.stop().await;
    seen
}

async fn look(engine: &engine::Engine) -> Result<Seen, String> {
    let shared = engine.shared();
    let failed = |error: store::Error| error.to_string();
    let accounts = shared.accounts();
    let mut seen = vec![
        format!("{:?} {:?}", accounts.users, accounts.tokens),
        format!("{:?} {:?}", accounts.agents, accounts.keys),
        format!("{:?} {:?}", accounts.allowlist, accounts.retention),
    ];
    let everything = InboxAsk {
        limit: 1000,
        ..Default::default()
    };
    let listed = shared.inbox(everything).await.map_err(failed)?;
    let less = listed.changed > 0;
    for listed in listed.rows {
        let id = listed.row.id;
        let row = shared.delivery(id).await.map_err(failed)?;
        let row = row.ok_or("not given; the log says: run `wakeful trail rebuild`")?;
        let told = shared.response(id).await.map_err(failed)?;
        let content = shared.content(&row.row).await.map_err(failed)?;
        let history = shared.history(row.row.no).await.map_err(failed)?;
        seen.push(format!(
            "{listed:?} {row:?} {told:?} {content:?} {history:?}"
        ));
    }
    for key in accounts.keys.values() {
        let sweep = Sweep {
            agent_id: None,
            statuses: Status::ALL.to_vec(),
            since: None,
            limit: 1000,
        };
        let swept = shared.sweep(&sweep, key).await.map_err(failed)?;
        let deliveries = format!("[{}]", String::from_utf8_lossy(&swept.deliveries));
        let deliveries: Vec<serde_json::Value> = serde_json::from_str(&deliveries).unwrap();
        seen.extend(deliveries.iter().map(ToString::to_string));
        seen.push(format!("swept by {}", key.agent_id));
    }
    for name in accounts.users.keys() {
        seen.push(format!(
            "{:?}",
            shared.password(name).await.map_err(failed)?
        ));
    }
    Ok(Seen { things: seen, less })
}
