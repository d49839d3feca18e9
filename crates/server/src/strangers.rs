//! Requests of those who are not known yet, behind a proxy. There connections
//! are the proxy's, so requests are counted for an address instead, until it is
//! known whose they are or all of them has been read.
//!
//! When one comes too many, the oldest goes whose body is still on its way, as a
//! silent connection does without a proxy (`crowd.rs`). Nobody is refused a place:
//! whoever says at once what they want is read before their turn to go comes.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::http::StatusCode;
use tokio::sync::Notify;
use wakelink::relay::network;

use crate::{Problem, code::Code};

/// Of one address, at the same time. An IPv6 network of 64 bits is one address.
const EACH: usize = 64;

#[derive(Debug, Default)]
pub struct Strangers(Arc<Mutex<Here>>);

#[derive(Debug, Default)]
struct Here {
    next: u64,
    /// Oldest first.
    by_network: HashMap<IpAddr, VecDeque<Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    id: u64,
    leave: Arc<Notify>,
}

/// One request's place, until it is dropped.
#[derive(Debug)]
pub struct Place {
    id: u64,
    network: IpAddr,
    leave: Arc<Notify>,
    here: Arc<Mutex<Here>>,
}

fn lock(here: &Mutex<Here>) -> MutexGuard<'_, Here> {
    here.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Strangers {
    /// A place for a request from this address, another's if need be.
    pub fn enter(&self, address: IpAddr) -> Place {
        let network = network(address);
        let mut here = lock(&self.0);
        here.next += 1;
        let id = here.next;
        let own = here.by_network.entry(network).or_default();
        if own.len() >= EACH
            && let Some(gone) = own.pop_front()
        {
            gone.leave.notify_one();
        }
        let leave = Arc::new(Notify::new());
        own.push_back(Waiting {
            id,
            leave: Arc::clone(&leave),
        });
        drop(here);
        Place {
            id,
            network,
            leave,
            here: Arc::clone(&self.0),
        }
    }
}

impl Place {
    /// Notified when the place is given to another request.
    pub fn leave(&self) -> Arc<Notify> {
        Arc::clone(&self.leave)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut here = lock(&self.here);
        if let Some(own) = here.by_network.get_mut(&self.network) {
            own.retain(|waiting| waiting.id != self.id);
            if own.is_empty() {
                here.by_network.remove(&self.network);
            }
        }
    }
}

pub fn too_many() -> Problem {
    let detail = "There are too many requests from your address that nobody is signed in for. Try again shortly.";
    Problem::new(StatusCode::TOO_MANY_REQUESTS, Code::TooManyRequests, detail).retry_after(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    fn is_told_to_leave(place: &Place) -> bool {
        place.leave().notified().now_or_never().is_some()
    }

    #[test]
    fn the_oldest_of_an_address_makes_room_for_a_newcomer() {
        let strangers = Strangers::default();
        let [here, there] = [1, 2].map(|n| IpAddr::from([192, 0, 2, n]));
        let mut places: Vec<Place> = (0..EACH).map(|_| strangers.enter(here)).collect();
        let other = strangers.enter(there);
        let new = strangers.enter(here);
        assert!(is_told_to_leave(&places[0]));
        for place in places.iter().skip(1).chain([&other, &new]) {
            assert!(!is_told_to_leave(place));
        }
        // Whoever is done has left already, and is in nobody's way.
        drop(places.remove(0));
        drop(places.remove(0));
        let next = strangers.enter(here);
        assert!(!is_told_to_leave(&places[0]));
        drop((places, other, new, next));
        assert!(lock(&strangers.0).by_network.is_empty());
    }
}
