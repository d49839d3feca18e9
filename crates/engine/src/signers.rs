//! The agents' webhook secrets, ready to sign what agents are told.
//!
//! Every poll is signed; opening the sealed secret for each would cost more than
//! answering it. What is kept here is dropped when the secret changes.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use wake::signature::Signer;

use crate::{decide, shared::Shared};

/// Secrets kept at once; a full cache is emptied.
const KEPT: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Signers(RwLock<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// How often a secret has changed. Whoever read one before the last change
    /// must not keep it.
    changes: u64,
    by_agent: HashMap<String, Arc<Signer>>,
}

impl Signers {
    /// Forgets the secrets of these names, which have just changed.
    pub fn forget<'a>(&self, names: impl Iterator<Item = &'a str>) {
        let mut agents = names.filter_map(decide::agent_of_secret).peekable();
        if agents.peek().is_none() {
            return;
        }
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        kept.changes += 1;
        agents.for_each(|agent_id| drop(kept.by_agent.remove(agent_id)));
    }
}

impl Signers {
    /// Forgets all of them: another process may have changed some.
    pub fn forget_all(&self) {
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        kept.changes += 1;
        kept.by_agent.clear();
    }
}

impl Shared {
    /// What signs for an agent: its current webhook secret, if it has one.
    pub async fn signer(&self, agent_id: &str) -> store::Result<Option<Arc<Signer>>> {
        let changes = {
            let kept = self
                .signers
                .0
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            if let Some(signer) = kept.by_agent.get(agent_id) {
                return Ok(Some(Arc::clone(signer)));
            }
            kept.changes
        };
        let Some(secrets) = self.webhook_secrets(agent_id).await? else {
            return Ok(None);
        };
        let signer = Arc::new(Signer::new(&secrets.current));
        let mut kept = self
            .signers
            .0
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if kept.changes == changes {
            if kept.by_agent.len() >= KEPT {
                kept.by_agent.clear();
            }
            kept.by_agent
                .insert(agent_id.to_owned(), Arc::clone(&signer));
        }
        Ok(Some(signer))
    }
}
