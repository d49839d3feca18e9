//! Every connection that there is: how many in all and from one address, and
//! by what right each is there, so that it ends when the right does.

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use account::Role;
use tokio::sync::Notify;
use wakelink::relay::{Ending, Limits, Place, network};

use super::outbox::Outbox;

/// Those who have not said who they are, from one address and in all. When
/// there are more, those who have had time for it are ended.
const STRANGERS_PER_ADDRESS: usize = 64;
const STRANGERS: usize = 1_024;
const GRACE: Duration = Duration::from_secs(2);

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
        self.seats.taken().strangers.remove(&self.place.0);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.taken();
        taken.seats.remove(&self.place);
        taken.strangers.remove(&self.place.0);
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
    /// Those who have not said who they are, by the order in which they came.
    strangers: BTreeMap<u64, Stranger>,
    closed: bool,
}

#[derive(Debug)]
struct Stranger {
    network: IpAddr,
    since: Instant,
    outbox: Arc<Outbox>,
}

impl Taken {
    /// Ends those who have been here for a while without a word, the first of
    /// them first, until there are few of one network and not many in all.
    fn make_room(&mut self, network: IpAddr, now: Instant) {
        let mut own = self
            .strangers
            .values()
            .filter(|one| one.network == network)
            .count();
        let mut all = self.strangers.len();
        let mut gone = Vec::new();
        for (place, one) in &self.strangers {
            let few = own < STRANGERS_PER_ADDRESS && all < STRANGERS;
            if few || now.saturating_duration_since(one.since) < GRACE {
                break;
            }
            if all >= STRANGERS || one.network == network {
                one.outbox.end(Ending::NoAuth);
                gone.push(*place);
                all -= 1;
                own -= usize::from(one.network == network);
            }
        }
        for place in gone {
            self.strangers.remove(&place);
        }
    }
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
        let now = Instant::now();
        taken.make_room(network(address), now);
        let outbox = Arc::new(Outbox::new(limits.queue_bytes));
        let stranger = Stranger {
            network: network(address),
            since: now,
            outbox: Arc::clone(&outbox),
        };
        taken.strangers.insert(place.0, stranger);
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
    fn those_who_never_say_who_they_are_make_room() {
        let limits = Limits::default();
        let seats = Arc::new(Seats::default());
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        let taken: Vec<_> = (0..100)
            .map(|_| seats.take(address, &limits).unwrap())
            .collect();
        let right = Right::Client {
            name: "ann".into(),
            token_id: "t".into(),
        };
        taken[0].sit_by(right);
        let ended = |seat: &&Seat| seat.outbox.ending().is_some();
        assert_eq!(taken.iter().filter(ended).count(), 0);
        let later = Instant::now() + GRACE;
        seats.taken().make_room("192.0.2.2".parse().unwrap(), later);
        assert_eq!(taken.iter().filter(ended).count(), 0);
        seats.taken().make_room(address, later);
        assert_eq!(taken.iter().filter(ended).count(), 99 - 63);
        assert!(taken[0].outbox.ending().is_none() && taken[1].outbox.ending().is_some());
    }

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
