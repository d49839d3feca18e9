//! What readers share with the writer: the last published state, never more
//! than what is durable.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use arc_swap::{ArcSwap, Guard};
use store::Store;
use tokio::sync::{Notify, watch};
use uuid::Uuid;

use crate::{Clock, Keys, Setup, Vault, random::Entropy, replaced::Replaced, signers::Signers};

#[derive(Debug)]
pub struct Shared {
    pub store: Arc<dyn Store>,
    pub clock: Clock,
    pub vault: Vault,
    pub keys: Keys,
    pub(crate) entropy: Entropy,
    accounts: ArcSwap<account::State>,
    accounts_changed: watch::Sender<()>,
    agents: ArcSwap<Agents>,
    size: watch::Sender<u64>,
    waiting: Waiting,
    pub(crate) signers: Signers,
    pub(crate) replaced: Replaced,
    /// Rung when a callback may be due.
    pub callbacks: Notify,
    pub health: Health,
}

/// Agents by the number of their stream and the other way round.
#[derive(Clone, Debug, Default)]
pub struct Agents {
    by_stream: HashMap<u64, Arc<str>>,
    by_id: HashMap<Arc<str>, u64>,
}

impl Agents {
    pub fn insert(&mut self, stream: u64, agent_id: &str) {
        let agent_id: Arc<str> = agent_id.into();
        self.by_stream.insert(stream, Arc::clone(&agent_id));
        self.by_id.insert(agent_id, stream);
    }

    pub fn id(&self, stream: u64) -> Arc<str> {
        self.by_stream
            .get(&stream)
            .cloned()
            .unwrap_or_else(|| "".into())
    }

    pub fn stream(&self, agent_id: &str) -> Option<u64> {
        self.by_id.get(agent_id).copied()
    }
}

/// How the writer is doing.
#[derive(Debug, Default)]
pub struct Health {
    degraded: AtomicBool,
    pub commits: AtomicU64,
    pub failed_commits: AtomicU64,
    pub commands: AtomicU64,
}

impl Health {
    pub fn is_degraded(&self) -> bool {
        self.degraded.load(Ordering::Relaxed)
    }

    pub(crate) fn set_degraded(&self, degraded: bool) {
        if self.degraded.swap(degraded, Ordering::Relaxed) != degraded {
            match degraded {
                true => tracing::error!("storage failed: writes are refused until it works again"),
                false => tracing::info!("storage works again"),
            }
        }
    }
}

impl Shared {
    pub(crate) fn new(setup: Setup) -> Shared {
        let Setup {
            store,
            keys,
            vault,
            clock,
        } = setup;
        Shared {
            store,
            clock,
            vault,
            keys,
            entropy: Entropy::system(),
            accounts: ArcSwap::default(),
            accounts_changed: watch::Sender::new(()),
            agents: ArcSwap::default(),
            size: watch::Sender::new(0),
            waiting: Waiting::default(),
            signers: Signers::default(),
            replaced: Replaced::default(),
            callbacks: Notify::new(),
            health: Health::default(),
        }
    }

    /// As they are now. Every request asks: nobody waits for another here.
    pub fn accounts(&self) -> Guard<Arc<account::State>> {
        self.accounts.load()
    }

    pub fn agents(&self) -> Guard<Arc<Agents>> {
        self.agents.load()
    }

    pub(crate) fn publish_accounts(&self, accounts: Arc<account::State>) {
        self.accounts.store(accounts);
        self.accounts_changed.send_replace(());
    }

    /// Changes whenever the accounts do. Most commits change no account, and wake
    /// no receiver of this.
    pub fn accounts_changed(&self) -> watch::Receiver<()> {
        self.accounts_changed.subscribe()
    }

    pub(crate) fn publish_agents(&self, agents: &Arc<Agents>) {
        if !Arc::ptr_eq(&self.agents(), agents) {
            self.agents.store(Arc::clone(agents));
        }
    }

    /// Sets the size that readers see. Receivers that wait are woken later, by
    /// `tell_size`.
    pub(crate) fn publish_size(&self, size: u64) {
        self.size.send_if_modified(|now| {
            *now = size;
            false
        });
    }

    pub(crate) fn tell_size(&self) {
        self.size.send_modify(|_| {});
    }

    /// The number of durable entries, and a way to wait for more.
    pub fn size(&self) -> watch::Receiver<u64> {
        self.size.subscribe()
    }

    /// Waits for the answer to a delivery. Subscribe first, then look.
    pub fn wait_for(&self, delivery_id: Uuid) -> Arc<Notify> {
        self.waiting.subscribe(delivery_id)
    }

    pub(crate) fn wake(&self, delivery_id: Uuid) {
        self.waiting.wake(delivery_id);
    }
}

/// Long polls that wait for an answer. A waiter that gave up is dropped with
/// its last reference, and its place is cleared when the map is next cleaned.
#[derive(Debug, Default)]
struct Waiting(Mutex<HashMap<Uuid, std::sync::Weak<Notify>>>);

impl Waiting {
    /// The map is cleaned when it has grown to this, then to twice what is left.
    const CLEAN_AT: usize = 1024;

    fn subscribe(&self, id: Uuid) -> Arc<Notify> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(notify) = waiting.get(&id).and_then(std::sync::Weak::upgrade) {
            return notify;
        }
        if waiting.len() >= Self::CLEAN_AT && waiting.len() == waiting.capacity() {
            waiting.retain(|_, notify| notify.strong_count() > 0);
        }
        let notify = Arc::new(Notify::new());
        waiting.insert(id, Arc::downgrade(&notify));
        notify
    }

    fn wake(&self, id: Uuid) {
        let notify = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&id);
        if let Some(notify) = notify.and_then(|notify| notify.upgrade()) {
            notify.notify_waiters();
        }
    }
}
