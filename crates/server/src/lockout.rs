//! Guessing passwords gets slower the longer it goes on: for one name from one
//! address, for one address whatever the names, and for one name from wherever.
//! The last is generous and a matter of seconds, and it does not hold where the
//! person has signed in before: nobody can lock another person out.
//!
//! Held in memory and bounded; a restart forgets it, which costs an attacker
//! who can cause one more than it gains.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

use trail::Micros;

/// Wrong tries before the first wait, by what they have in common.
const FREE_PAIR: u32 = 5;
const FREE_ADDRESS: u32 = 20;
const FREE_NAME: u32 = 50;
/// The first wait; each further try doubles it.
const FIRST_SECONDS: i64 = 2;
const LONGEST_SECONDS: i64 = 900;
/// By name alone never longer: anyone can try a name.
const LONGEST_BY_NAME_SECONDS: i64 = 5;
/// Where people have signed in before is known for so long, for so many.
const KNOWN_SECONDS: i64 = 90 * 86_400;
const MOST_KNOWN: usize = 10_000;
/// Tries older than this are forgotten.
const FORGOTTEN_SECONDS: i64 = 3600;
const MOST: usize = 100_000;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Common {
    Pair(String, IpAddr),
    Address(IpAddr),
    Name(String),
}

#[derive(Clone, Copy, Debug)]
struct Tries {
    count: u32,
    last: Micros,
}

#[derive(Debug, Default)]
pub struct Lockout(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    tries: HashMap<Common, Tries>,
    /// Who has signed in from where, and when last. Only a right password adds to it.
    places: HashMap<(String, IpAddr), Micros>,
}

impl Lockout {
    /// Counts a try; an error says how many seconds to wait before the next.
    pub fn try_one(&self, name: &str, address: IpAddr, now: Micros) -> Result<(), u64> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let limits = of(name, address);
        let been_here = known.places.get(&(name.to_owned(), address));
        let been_here =
            been_here.is_some_and(|last| now.0 - last.0 < KNOWN_SECONDS * Micros::SECOND);
        let known = &mut known.tries;
        let waits = limits.iter().filter_map(|(common, free)| {
            let tries = known.get(common)?;
            let over = now.0 - tries.last.0;
            let longest = match common {
                Common::Name(_) if been_here => 0,
                Common::Name(_) => LONGEST_BY_NAME_SECONDS,
                _ => LONGEST_SECONDS,
            };
            let wait = wait_seconds(tries.count, *free).min(longest) * Micros::SECOND - over;
            (wait > 0).then(|| (wait / Micros::SECOND + 1) as u64)
        });
        if let Some(wait) = waits.max() {
            return Err(wait);
        }
        if known.len() >= MOST {
            known.retain(|_, tries| !is_forgotten(*tries, now));
        }
        if known.len() >= MOST {
            known.clear();
        }
        for (common, _) in limits {
            let tries = known.entry(common).or_insert(Tries {
                count: 0,
                last: now,
            });
            if is_forgotten(*tries, now) {
                tries.count = 0;
            }
            tries.count = tries.count.saturating_add(1);
            tries.last = now;
        }
        Ok(())
    }

    /// The password was right: this person at this address starts afresh.
    pub fn succeeded(&self, name: &str, address: IpAddr, now: Micros) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (common, _) in of(name, address) {
            known.tries.remove(&common);
        }
        let place = (name.to_owned(), address);
        if known.places.len() >= MOST_KNOWN && !known.places.contains_key(&place) {
            let oldest = known.places.iter().min_by_key(|(_, last)| last.0);
            let oldest = oldest.map(|(place, _)| place.clone());
            oldest.map(|place| known.places.remove(&place));
        }
        known.places.insert(place, now);
    }
}

fn of(name: &str, address: IpAddr) -> [(Common, u32); 3] {
    [
        (Common::Pair(name.to_owned(), address), FREE_PAIR),
        (Common::Address(address), FREE_ADDRESS),
        (Common::Name(name.to_owned()), FREE_NAME),
    ]
}

fn is_forgotten(tries: Tries, now: Micros) -> bool {
    now.0 - tries.last.0 > FORGOTTEN_SECONDS * Micros::SECOND
}

fn wait_seconds(count: u32, free: u32) -> i64 {
    match count.checked_sub(free) {
        None => 0,
        Some(more) => FIRST_SECONDS
            .saturating_mul(1 << more.min(20))
            .min(LONGEST_SECONDS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn at(seconds: i64) -> Micros {
        Micros(seconds * Micros::SECOND)
    }

    fn address(n: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, n])
    }

    #[test]
    fn waiting_doubles_after_some_tries_and_ends_with_the_right_password() {
        let lockout = Lockout::default();
        for _ in 0..5 {
            assert_eq!(lockout.try_one("ann", HERE, at(0)), Ok(()));
        }
        assert_eq!(lockout.try_one("ann", HERE, at(0)), Err(3));
        assert_eq!(lockout.try_one("ann", HERE, at(2)), Ok(()));
        assert_eq!(lockout.try_one("ann", HERE, at(4)), Err(3));
        assert_eq!(lockout.try_one("ann", HERE, at(6)), Ok(()));
        lockout.succeeded("ann", HERE, at(6));
        assert_eq!(lockout.try_one("ann", HERE, at(6)), Ok(()));
    }

    #[test]
    fn other_people_and_other_places_are_not_in_the_way() {
        let lockout = Lockout::default();
        while lockout.try_one("ann", address(1), at(0)).is_ok() {}
        assert_eq!(lockout.try_one("bob", address(1), at(0)), Ok(()));
        assert_eq!(lockout.try_one("ann", address(2), at(0)), Ok(()));
    }

    #[test]
    fn many_names_from_one_place_and_one_name_from_many_are_slowed_too() {
        let lockout = Lockout::default();
        let names = (0..).take_while(|n| lockout.try_one(&format!("n{n}"), HERE, at(0)).is_ok());
        assert_eq!(names.count(), FREE_ADDRESS as usize);
        let lockout = Lockout::default();
        let places = (0..200).take_while(|n| lockout.try_one("ann", address(*n), at(0)).is_ok());
        assert_eq!(places.count(), FREE_NAME as usize);
        // By name for seconds only, however long it goes on.
        for n in 0..100 {
            let _ = lockout.try_one("ann", address(n), at(i64::from(n) * 5));
        }
        assert!(
            lockout
                .try_one("ann", address(201), at(99 * 5))
                .unwrap_err()
                <= 6
        );
        assert_eq!(lockout.try_one("ann", address(201), at(100 * 5)), Ok(()));
        // From one place never for longer than a quarter of an hour.
        for n in 0..100 {
            let _ = lockout.try_one("ann", HERE, at(1000 + n * 900));
        }
        assert!(lockout.try_one("ann", HERE, at(1000 + 99 * 900)).is_err());
        assert_eq!(lockout.try_one("ann", HERE, at(1000 + 100 * 900)), Ok(()));
    }

    #[test]
    fn nobody_is_kept_out_by_others_who_try_their_name() {
        let lockout = Lockout::default();
        lockout.succeeded("ann", HERE, at(0));
        for n in 0..200 {
            let _ = lockout.try_one("ann", address(n), at(1));
        }
        assert!(lockout.try_one("ann", address(201), at(1)).is_err());
        assert_eq!(lockout.try_one("ann", HERE, at(1)), Ok(()));
        // That frees no one from the waits of their own place, nor anyone else.
        while lockout.try_one("ann", HERE, at(1)).is_ok() {}
        assert!(lockout.try_one("ann", HERE, at(2)).is_err());
    }
}
