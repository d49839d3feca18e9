//! Every connection of a listener: whose it is once that is known, how many
//! each may have, and who makes room for a newcomer.
//!
//! A connection begins as a stranger's. Strangers have a third of all places
//! and few of them for one address. When one comes too many, the one that has
//! been silent for longest goes, not the newcomer: whoever sends a request at
//! once is known before its turn comes. Of one address, only those go that have
//! had time to send one, so that many may come at the same moment. Agents
//! together have half of all places, so that some are always left for people.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use tokio::sync::Notify;
use wakelink::relay::network;

use crate::{Problem, code::Code, limits::by_cookie_alone};

/// How many connections there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// At once; further ones wait to be accepted.
    pub connections: usize,
    /// Of strangers, in all and from one address. An IPv6 network of 64 bits
    /// counts as one address. A browser opens six, and a house may share one.
    pub strangers: usize,
    pub strangers_per_address: usize,
    /// Of agents, in all and with one key.
    pub agents: usize,
    pub per_key: usize,
    /// Of one person.
    pub per_person: usize,
    /// Of one session whose cookie is all that was shown.
    pub per_cookie: usize,
}

impl Bounds {
    /// Far more than people and agents need, and what a machine can still hold.
    pub const MOST: usize = 20_000;
    const STRANGERS: usize = 5_000;

    pub fn new(connections: usize, per_person: usize) -> Bounds {
        let connections = connections.clamp(8, Self::MOST);
        Bounds {
            connections,
            strangers: (connections / 3).min(Self::STRANGERS),
            strangers_per_address: (connections / 8).min(64),
            agents: connections / 2,
            per_key: connections / 3,
            per_person: per_person.min(connections / 2),
            per_cookie: by_cookie_alone(per_person.min(connections / 2)),
        }
    }
}

/// Time to send a first request in, when there are too many from one address.
const GRACE: Duration = Duration::from_secs(5);
/// The same when there are too many in all, and the time that a stranger's
/// request has then.
const SHORT_GRACE: Duration = Duration::from_millis(100);
const REQUEST_GRACE: Duration = Duration::from_millis(500);
/// Looked through for one that is silent: a newcomer must not cost much.
const OLDEST: usize = 64;

/// Whose a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner<'a> {
    /// By the id of its key.
    Agent(&'a str),
    Person(&'a str),
    /// A person as far as the cookie of this session shows it.
    Cookie {
        person: &'a str,
        session_id: &'a str,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Known {
    Agent(Box<str>),
    Person(Box<str>),
    Cookie(Box<str>),
}

impl Known {
    /// Whether nothing changes if a request of this owner comes. Whoever has
    /// shown more than the cookie once has done so for the whole connection.
    fn is(&self, owner: Owner<'_>) -> bool {
        match (self, owner) {
            (Known::Agent(known), Owner::Agent(name)) => **known == *name,
            (Known::Person(known), Owner::Person(name)) => **known == *name,
            (Known::Person(known), Owner::Cookie { person, .. }) => **known == *person,
            (Known::Cookie(known), Owner::Cookie { session_id, .. }) => **known == *session_id,
            _ => false,
        }
    }
}

impl From<Owner<'_>> for Known {
    fn from(owner: Owner<'_>) -> Known {
        match owner {
            Owner::Agent(name) => Known::Agent(name.into()),
            Owner::Person(name) => Known::Person(name.into()),
            Owner::Cookie { session_id, .. } => Known::Cookie(session_id.into()),
        }
    }
}

#[derive(Debug)]
pub struct Crowd {
    bounds: Bounds,
    here: Mutex<Here>,
}

#[derive(Debug, Default)]
struct Here {
    next: u64,
    /// By the order in which they came.
    strangers: BTreeMap<u64, Stranger>,
    by_network: HashMap<IpAddr, BTreeSet<u64>>,
    known: HashMap<Known, usize>,
    /// Those of one session, in the order in which they came.
    by_cookie: HashMap<Box<str>, BTreeMap<u64, Arc<Signals>>>,
    agents: usize,
}

#[derive(Debug)]
struct Stranger {
    network: IpAddr,
    since: Instant,
    signals: Arc<Signals>,
}

#[derive(Debug, Default)]
struct Signals {
    /// Whether it was looked what has arrived: until then nobody knows.
    looked_at: AtomicBool,
    /// Requests that are being answered.
    asking: AtomicUsize,
    must_leave: AtomicBool,
    leave: Notify,
}

impl Signals {
    fn send_away(&self) {
        self.must_leave.store(true, Ordering::Release);
        self.leave.notify_one();
    }
}

/// One connection, until it is dropped.
#[derive(Debug)]
pub struct Guest {
    id: u64,
    /// Where it comes from; `None` if that says nothing about whose it is.
    network: Option<IpAddr>,
    signals: Arc<Signals>,
    known: Mutex<Option<Known>>,
    crowd: Arc<Crowd>,
}

/// A request that is being answered, until it is dropped.
#[derive(Debug)]
pub struct Asking(Arc<Signals>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.asking.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Crowd {
    pub fn new(bounds: Bounds) -> Arc<Crowd> {
        Arc::new(Crowd {
            bounds,
            here: Mutex::default(),
        })
    }

    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn here(&self) -> MutexGuard<'_, Here> {
        self.here.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Strangers now.
    pub fn strangers(&self) -> usize {
        self.here().strangers.len()
    }

    /// Whether a newcomer finds a place that is free, or that someone has had
    /// for long enough. If not, those who came in the same moment are waited for.
    pub fn has_room(&self, now: Instant) -> bool {
        let here = self.here();
        here.strangers.len() < self.bounds.strangers || here.of_the_most(now).is_some()
    }

    /// Takes a newcomer in, in the place of another if need be. A connection
    /// from a proxy carries many people's requests: it has no address of its own.
    pub fn enter(self: &Arc<Crowd>, address: Option<IpAddr>, now: Instant) -> Arc<Guest> {
        let network = address.map(network);
        let signals = Arc::new(Signals::default());
        let mut here = self.here();
        let id = here.next;
        here.next += 1;
        if let Some(network) = network {
            while here.count_from(network) >= self.bounds.strangers_per_address {
                let Some(gone) = here.longest_silent(network, now) else {
                    break;
                };
                here.send_away(gone);
            }
            if here.strangers.len() >= self.bounds.strangers
                && let Some(gone) = here.of_the_most(now).or_else(|| here.first_of_the_most())
            {
                here.send_away(gone);
            }
            let stranger = Stranger {
                network,
                since: now,
                signals: Arc::clone(&signals),
            };
            here.strangers.insert(id, stranger);
            here.by_network.entry(network).or_default().insert(id);
        }
        drop(here);
        Arc::new(Guest {
            id,
            network,
            signals,
            known: Mutex::default(),
            crowd: Arc::clone(self),
        })
    }
}

impl Here {
    fn count_from(&self, network: IpAddr) -> usize {
        self.by_network.get(&network).map_or(0, BTreeSet::len)
    }

    fn is_silent(&self, id: u64) -> bool {
        self.strangers.get(&id).is_some_and(|stranger| {
            let signals = &stranger.signals;
            signals.looked_at.load(Ordering::Relaxed) && signals.asking.load(Ordering::Relaxed) == 0
        })
    }

    fn is_older(&self, id: u64, age: Duration, now: Instant) -> bool {
        let stranger = self.strangers.get(&id);
        stranger.is_some_and(|one| now.saturating_duration_since(one.since) >= age)
    }

    /// The first of these that is silent, among the oldest.
    fn first_silent<'a>(&self, own: impl Iterator<Item = &'a u64>) -> Option<u64> {
        let mut oldest = own.copied().take(OLDEST);
        oldest.find(|id| self.is_silent(*id))
    }

    /// The one of a network that has been silent for longest, if for long enough.
    fn longest_silent(&self, network: IpAddr, now: Instant) -> Option<u64> {
        let own = self.by_network.get(&network)?;
        let first = self.first_silent(own.iter())?;
        self.is_older(first, GRACE, now).then_some(first)
    }

    fn the_most(&self) -> Option<&BTreeSet<u64>> {
        self.by_network.values().max_by_key(|own| own.len())
    }

    /// One of the network that has most, or of all if none has several: the one
    /// that has been silent for longest, or has asked for longest, if it has had
    /// its time.
    fn of_the_most(&self, now: Instant) -> Option<u64> {
        let own = self.the_most()?;
        let of_own = |this: &Here| this.first_silent(own.iter());
        let of_all = |this: &Here| this.first_silent(this.strangers.keys());
        let (silent, first) = match own.len() {
            0 | 1 => (of_all(self), self.strangers.keys().next().copied()),
            _ => (of_own(self), own.first().copied()),
        };
        let silent = silent.filter(|id| self.is_older(*id, SHORT_GRACE, now));
        silent.or_else(|| first.filter(|id| self.is_older(*id, REQUEST_GRACE, now)))
    }

    fn first_of_the_most(&self) -> Option<u64> {
        let own = self.the_most()?;
        match own.len() {
            0 | 1 => self.strangers.keys().next().copied(),
            _ => own.first().copied(),
        }
    }

    fn send_away(&mut self, id: u64) {
        if let Some(stranger) = self.remove_stranger(id) {
            stranger.signals.send_away();
        }
    }

    fn remove_stranger(&mut self, id: u64) -> Option<Stranger> {
        let stranger = self.strangers.remove(&id)?;
        if let Some(own) = self.by_network.get_mut(&stranger.network) {
            own.remove(&id);
            if own.is_empty() {
                self.by_network.remove(&stranger.network);
            }
        }
        Some(stranger)
    }

    /// Takes in a connection of a session. The one that was silent for longest
    /// makes room for it: others may have been handed the same cookie, and the
    /// person must still get in.
    fn take_by_cookie(&mut self, id: u64, session_id: &str, most: usize, signals: &Arc<Signals>) {
        let own = self.by_cookie.entry(session_id.into()).or_default();
        if own.len() >= most {
            let is_silent = |one: &Arc<Signals>| one.asking.load(Ordering::Relaxed) == 0;
            let silent = own.iter().find(|(_, one)| is_silent(one));
            let gone = silent.or_else(|| own.iter().next()).map(|(id, _)| *id);
            if let Some(gone) = gone.and_then(|id| own.remove(&id)) {
                gone.send_away();
            }
        }
        own.insert(id, Arc::clone(signals));
    }

    fn forget(&mut self, id: u64, known: &Known) {
        if let Known::Cookie(session_id) = known {
            if let Some(own) = self.by_cookie.get_mut(session_id) {
                own.remove(&id);
                if own.is_empty() {
                    self.by_cookie.remove(session_id);
                }
            }
            return;
        }
        if let Some(count) = self.known.get_mut(known) {
            *count -= 1;
            if *count == 0 {
                self.known.remove(known);
            }
        }
        if matches!(known, Known::Agent(_)) {
            self.agents -= 1;
        }
    }
}

impl Guest {
    /// Ends when the connection must make room for another.
    pub async fn sent_away(&self) {
        self.signals.leave.notified().await;
    }

    /// Ends the connection.
    pub fn send_away(&self) {
        self.signals.send_away();
    }

    /// Whether that is so by now.
    pub fn must_leave(&self) -> bool {
        self.signals.must_leave.load(Ordering::Acquire)
    }

    /// Says that what had arrived by now was looked at.
    pub fn was_looked_at(&self) {
        self.signals.looked_at.store(true, Ordering::Relaxed);
    }

    /// Says that a request is being answered.
    pub fn asks(&self) -> Asking {
        self.signals.asking.fetch_add(1, Ordering::Relaxed);
        Asking(Arc::clone(&self.signals))
    }

    /// Says whose the connection is, from now on. Refuses it if they have too
    /// many, or agents have: then it stays a stranger's.
    pub fn recognise(&self, owner: Owner<'_>) -> Result<(), Problem> {
        if self.network.is_none() {
            return Ok(());
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_some_and(|known| known.is(owner)) {
            return Ok(());
        }
        let bounds = self.crowd.bounds;
        let now = Known::from(owner);
        let mut here = self.crowd.here();
        let count = here.known.get(&now).copied().unwrap_or(0);
        let was_agent = matches!(*known, Some(Known::Agent(_)));
        match owner {
            Owner::Person(_) if count >= bounds.per_person => return Err(too_many()),
            Owner::Agent(_) if count >= bounds.per_key => return Err(too_many()),
            Owner::Agent(_) if here.agents >= bounds.agents && !was_agent => return Err(crowded()),
            _ => {}
        }
        match known.take() {
            Some(before) => here.forget(self.id, &before),
            None => drop(here.remove_stranger(self.id)),
        }
        match &now {
            Known::Cookie(session_id) => {
                here.take_by_cookie(self.id, session_id, bounds.per_cookie, &self.signals);
            }
            _ => *here.known.entry(now.clone()).or_default() += 1,
        }
        here.agents += usize::from(matches!(now, Known::Agent(_)));
        *known = Some(now);
        Ok(())
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let known = self.known.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut here = self.crowd.here();
        match known.take() {
            Some(known) => here.forget(self.id, &known),
            None => drop(here.remove_stranger(self.id)),
        }
    }
}

fn too_many() -> Problem {
    let detail = "You have as many connections open as one may have. Close others, or use one for several requests.";
    let status = StatusCode::TOO_MANY_REQUESTS;
    Problem::new(status, Code::TooManyConnections, detail).retry_after(5)
}

fn crowded() -> Problem {
    let detail = "Agents have as many connections open as this server allows. Try again later.";
    let status = StatusCode::SERVICE_UNAVAILABLE;
    Problem::new(status, Code::TooManyConnections, detail).retry_after(5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    fn crowd() -> Arc<Crowd> {
        Crowd::new(Bounds {
            connections: 100,
            strangers: 4,
            strangers_per_address: 2,
            agents: 3,
            per_key: 2,
            per_person: 2,
            per_cookie: 2,
        })
    }

    fn enter(crowd: &Arc<Crowd>, address: &str) -> Arc<Guest> {
        enter_at(crowd, address, Instant::now())
    }

    /// Someone who comes after all others have had their time.
    fn enter_late(crowd: &Arc<Crowd>, address: &str) -> Arc<Guest> {
        enter_at(crowd, address, Instant::now() + GRACE)
    }

    fn enter_at(crowd: &Arc<Crowd>, address: &str, now: Instant) -> Arc<Guest> {
        let guest = crowd.enter(Some(address.parse().unwrap()), now);
        guest.was_looked_at();
        guest
    }

    fn is_sent_away(guest: &Guest) -> bool {
        guest.sent_away().now_or_never().is_some()
    }

    #[test]
    fn the_one_that_was_silent_for_longest_makes_room_for_a_newcomer() {
        let crowd = crowd();
        let [busy, silent] = [(); 2].map(|()| enter(&crowd, "192.0.2.1"));
        let _asking = busy.asks();
        // All have a moment to say something.
        let third = enter(&crowd, "192.0.2.1");
        assert!(!is_sent_away(&silent));
        let fourth = enter_late(&crowd, "192.0.2.1");
        assert!(is_sent_away(&silent) && is_sent_away(&third) && !is_sent_away(&busy));
        drop((silent, third));
        // Someone who is known is not in the way, and not sent away.
        assert!(fourth.recognise(Owner::Person("ann")).is_ok());
        let fifth = enter_late(&crowd, "192.0.2.1");
        assert!(!is_sent_away(&fourth) && !is_sent_away(&fifth));
        assert_eq!(crowd.strangers(), 2);
    }

    #[test]
    fn a_network_of_ipv6_is_one_address_and_those_go_of_whom_there_are_most() {
        let crowd = crowd();
        let many = ["2001:db8::1", "2001:db8::2"].map(|address| enter(&crowd, address));
        let one = enter(&crowd, "2001:db8:0:1::1");
        let next = enter_late(&crowd, "2001:db8::3");
        assert!(is_sent_away(&many[0]) && !is_sent_away(&many[1]));
        let again = enter(&crowd, "2001:db8::4");
        let other = enter(&crowd, "192.0.2.7");
        assert!(is_sent_away(&many[1]));
        let last = enter(&crowd, "192.0.2.8");
        assert!(is_sent_away(&next));
        for guest in [&one, &again, &other, &last] {
            assert!(!is_sent_away(guest));
        }
    }

    #[test]
    fn of_many_networks_with_one_each_the_oldest_makes_room() {
        let crowd = crowd();
        let start = Instant::now();
        let guests = [1, 2, 3, 4_u64].map(|n| {
            let since = start + Duration::from_millis(n);
            enter_at(&crowd, &format!("192.0.2.{n}"), since)
        });
        for (n, oldest) in (5..).zip(&guests) {
            let now = start + SHORT_GRACE + Duration::from_millis(n);
            assert!(crowd.has_room(now), "a newcomer waits");
            let new = enter_at(&crowd, &format!("192.0.2.{n}"), now);
            assert!(is_sent_away(oldest) && !is_sent_away(&new), "{n}");
            std::mem::forget(new);
        }
    }

    #[test]
    fn those_who_come_in_the_same_moment_wait_for_each_other() {
        let crowd = crowd();
        let now = Instant::now();
        let enter = |n: u8| crowd.enter(Some([192, 0, 2, n].into()), now);
        let guests = [1, 2, 3, 4].map(enter);
        assert!(!crowd.has_room(now + SHORT_GRACE), "nobody was looked at");
        assert!(crowd.has_room(now + REQUEST_GRACE));
        guests[1].was_looked_at();
        assert!(!crowd.has_room(now));
        assert!(guests[0].recognise(Owner::Person("ann")).is_ok());
        assert!(crowd.has_room(now));
    }

    #[test]
    fn people_and_keys_have_so_many_and_agents_leave_room_for_people() {
        let crowd = crowd();
        let guests: Vec<_> = (1..=8)
            .map(|n| enter(&crowd, &format!("192.0.2.{n}")))
            .collect();
        for guest in &guests[..2] {
            assert!(guest.recognise(Owner::Agent("k1")).is_ok());
            assert!(guest.recognise(Owner::Agent("k1")).is_ok());
        }
        let full = guests[2].recognise(Owner::Agent("k1")).unwrap_err();
        assert_eq!(full.status(), StatusCode::TOO_MANY_REQUESTS);
        assert!(guests[2].recognise(Owner::Agent("k2")).is_ok());
        let full = guests[3].recognise(Owner::Agent("k3")).unwrap_err();
        assert_eq!(full.status(), StatusCode::SERVICE_UNAVAILABLE);
        for guest in &guests[4..6] {
            assert!(guest.recognise(Owner::Person("ann")).is_ok());
        }
        assert!(guests[6].recognise(Owner::Person("ann")).is_err());
        // A connection that becomes another's counts for that one alone.
        assert!(guests[0].recognise(Owner::Person("bob")).is_ok());
        assert!(guests[3].recognise(Owner::Agent("k1")).is_ok());
        drop(guests);
        let here = crowd.here();
        assert!(here.known.is_empty() && here.strangers.is_empty() && here.by_network.is_empty());
        assert_eq!(here.agents, 0);
    }

    #[test]
    fn a_cookie_alone_takes_none_of_the_persons_places_and_its_newest_gets_in() {
        let crowd = Crowd::new(Bounds {
            strangers: 100,
            ..crowd().bounds()
        });
        let guests: Vec<_> = (1..=6)
            .map(|n| enter(&crowd, &format!("192.0.2.{n}")))
            .collect();
        let by_cookie = |session_id| Owner::Cookie {
            person: "ann",
            session_id,
        };
        let _asking = guests[0].asks();
        for guest in &guests[..3] {
            assert!(guest.recognise(by_cookie("1")).is_ok());
        }
        assert!(is_sent_away(&guests[1]));
        assert!(!is_sent_away(&guests[0]) && !is_sent_away(&guests[2]));
        assert!(guests[3].recognise(by_cookie("2")).is_ok());
        // With the key as well they are the person's, and stay so.
        assert!(guests[2].recognise(Owner::Person("ann")).is_ok());
        assert!(guests[2].recognise(by_cookie("1")).is_ok());
        assert!(guests[4].recognise(Owner::Person("ann")).is_ok());
        assert!(guests[5].recognise(Owner::Person("ann")).is_err());
        assert!(guests[5].recognise(by_cookie("1")).is_ok());
        assert!(!is_sent_away(&guests[0]));
        drop(guests);
        let here = crowd.here();
        assert!(here.known.is_empty() && here.by_cookie.is_empty() && here.strangers.is_empty());
    }

    #[test]
    fn a_proxys_connections_are_counted_for_nobody() {
        let crowd = crowd();
        let guests: Vec<_> = (0..10).map(|_| crowd.enter(None, Instant::now())).collect();
        for guest in &guests {
            assert!(guest.recognise(Owner::Person("ann")).is_ok());
            assert!(!is_sent_away(guest));
        }
    }
}
