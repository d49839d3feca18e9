//! An agent that sweeps for its answers and keeps nothing but a cursor.

use std::collections::BTreeSet;

use engine::Shared;
use trail::Micros;
use uuid::Uuid;
use wake::{Status, sweep::Sweep};

use super::{model::Model, process::read};

#[derive(Debug)]
pub struct Sweeper {
    agent: &'static str,
    since: Option<Micros>,
    got: BTreeSet<Uuid>,
    /// What it was told and nobody has checked yet.
    told: Vec<Told>,
}

/// What a sweep says of one delivery, as far as it matters here.
#[derive(Debug, serde::Deserialize)]
struct Told {
    delivery_id: Uuid,
    status: String,
}

impl Sweeper {
    pub fn new(agent: &'static str) -> Sweeper {
        Sweeper {
            agent,
            since: None,
            got: BTreeSet::new(),
            told: Vec::new(),
        }
    }

    /// Reads one page and goes on from its end; gives whether there is more.
    pub fn read(&mut self, shared: &Shared, limit: usize) -> Result<bool, String> {
        let accounts = shared.accounts();
        let Some(key) = accounts.keys.get(&format!("key_{}", self.agent)) else {
            return Err(format!("the key of {} is gone", self.agent));
        };
        let sweep = Sweep {
            agent_id: None,
            statuses: Status::answers().collect(),
            since: self.since,
            limit,
        };
        let page = read(shared.sweep(&sweep, key))?;
        let list = [b"[", page.deliveries.as_slice(), b"]"].concat();
        let told: Vec<Told> = serde_json::from_slice(&list).map_err(|error| error.to_string())?;
        self.told.extend(told);
        self.since = page.next_since;
        Ok(page.has_more)
    }

    /// It was told nothing twice, and nothing but what the model has.
    pub fn check(&mut self, model: &Model) -> Result<(), String> {
        for Told {
            delivery_id,
            status,
        } in self.told.drain(..)
        {
            let item = model.item(delivery_id);
            if item.is_none_or(|item| item.agent != self.agent || item.status.as_str() != status) {
                return Err(format!("{} was told {delivery_id} is {status}", self.agent));
            }
            if !self.got.insert(delivery_id) {
                return Err(format!("{} got {delivery_id} twice", self.agent));
            }
        }
        Ok(())
    }

    /// It was told that there are no more, and has all that there are.
    pub fn has_all(&self, model: &Model) -> Result<(), String> {
        let own = model.items.iter().filter(|item| item.agent == self.agent);
        let answered = own.filter(|item| item.status != Status::Pending).count();
        match self.got.len() == answered {
            true => Ok(()),
            false => Err(format!(
                "{} got {} answers of {answered} and is told that there are no more",
                self.agent,
                self.got.len()
            )),
        }
    }
}
