//! Every connection that there is: how many in all and from one address, and
//! by what right each is there, so that it ends when the right does.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use account::Role;
use tokio::sync::Notify;
use wakelink::relay::{Ending, Limits, Place, network};

use super::outbox::Outbox;

/// By what right somebody is connected.
#[derive(Clone, Debug)]
pub enum Right {
    Client {
        name: Arc<str>,
        token_id: Arc<str>,
    },
    Device {
        agent_id: Arc<str>,
        token_id: Arc<str>,
    },
}

impl Right {
    /// A viewer has no devices and commands none.
    pub fn still_holds(&self, accounts: &account::State) -> bool {
        match self {
            Right::Client { name, token_id } => {
                let token = accounts.tokens.get(&**token_id);
                token.is_some_and(|token| {
                    token.name == **name
                        && accounts.user_by_token(&token.hash.0).is_some()
                        && accounts.may_act_as(name, Role::Reviewer)
                })
            }
            Right::Device { agent_id, token_id } => {
                let agent = accounts.agents.get(&**agent_id);
                let device = agent.and_then(|agent| Some((agent, agent.link.as_ref()?)));
                device.is_some_and(|(agent, device)| {
                    device.token_id == **token_id
                        && accounts.device_by_token(&device.hash.0).is_some()
                        && accounts.may_act_as(&agent.owner, Role::Reviewer)
                })
            }
        }
    }
}

/// One connection's place, until it is dropped.
#[derive(Debug)]
pub struct Seat {
    pub place: Place,
    pub address: IpAddr,
    pub outbox: Arc<Outbox>,
    right: Arc<OnceLock<Right>>,
    seats: Arc<Seats>,
}

impl Seat {
    /// From now on the connection ends with this right.
    pub fn sit_by(&self, right: Right) {
        let _ = self.right.set(right);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.taken();
        taken.seats.remove(&self.place);
        let network = network(self.address);
        if let Some(count) = taken.by_network.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                taken.by_network.remove(&network);
            }
        }
        if taken.seats.is_empty() {
            self.seats.empty.notify_waiters();
        }
    }
}

/// Why there is no seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    Everywhere,
    ForThisAddress,
    Stopping,
}

#[derive(Debug, Default)]
pub struct Seats {
    taken: Mutex<Taken>,
    empty: Notify,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    seats: HashMap<Place, (Arc<Outbox>, Arc<OnceLock<Right>>)>,
    by_network: HashMap<IpAddr, usize>,
    closed: bool,
}

impl Seats {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn take(self: &Arc<Seats>, address: IpAddr, limits: &Limits) -> Result<Seat, Full> {
        let mut taken = self.taken();
        if taken.closed {
            return Err(Full::Stopping);
        }
        if taken.seats.len() >= limits.connections {
            return Err(Full::Everywhere);
        }
        let count = taken.by_network.entry(network(address)).or_default();
        if *count >= limits.connections_per_address {
            return Err(Full::ForThisAddress);
        }
        *count += 1;
        let place = Place(taken.next);
        taken.next += 1;
        let outbox = Arc::new(Outbox::new(limits.queue_bytes));
        let right = Arc::new(OnceLock::new());
        let kept = (Arc::clone(&outbox), Arc::clone(&right));
        taken.seats.insert(place, kept);
        drop(taken);
        Ok(Seat {
            place,
            address,
            outbox,
            right,
            seats: Arc::clone(self),
        })
    }

    pub fn count(&self) -> usize {
        self.taken().seats.len()
    }

    /// Ends the connections whose right is gone.
    pub fn end_where_revoked(&self, accounts: &account::State) {
        for (outbox, right) in self.taken().seats.values() {
            if right
                .get()
                .is_some_and(|right| !right.still_holds(accounts))
            {
                outbox.end(Ending::Revoked);
            }
        }
    }

    /// Ends all of them; no more are taken.
    pub fn close(&self) {
        let mut taken = self.taken();
        taken.closed = true;
        for (outbox, _) in taken.seats.values() {
            outbox.end(Ending::Stopping);
        }
    }

    /// Waits until nobody is left.
    pub async fn emptied(&self) {
        loop {
            let empty = self.empty.notified();
            if self.count() == 0 {
                return;
            }
            empty.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_are_counted_in_all_and_by_address_and_come_free_again() {
        let limits = Limits {
            connections: 3,
            connections_per_address: 2,
            ..Limits::default()
        };
        let seats = Arc::new(Seats::default());
        let at = |text: &str| seats.take(text.parse().unwrap(), &limits);
        let first = at("192.0.2.1").unwrap();
        let _second = at("192.0.2.1").unwrap();
        assert_eq!(at("192.0.2.1").unwrap_err(), Full::ForThisAddress);
        let _other = at("192.0.2.2").unwrap();
        assert_eq!(at("192.0.2.3").unwrap_err(), Full::Everywhere);
        drop(first);
        assert!(at("192.0.2.1").is_ok());
        seats.close();
        assert_eq!(at("192.0.2.9").unwrap_err(), Full::Stopping);
        assert_eq!(_second.outbox.ending(), Some(Ending::Stopping));
    }
}
