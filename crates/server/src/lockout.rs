//! Guessing passwords gets slower the longer it goes on, and nobody is kept out
//! by what others do.
//!
//! What makes a try wait is the name and the address together: made-up names
//! from someone's address are not theirs, and their name from elsewhere is not
//! their address. An IPv6 address counts as its /64, which one machine has whole.
//! Wrong tries of a name from everywhere slow only those addresses further that
//! have failed with it already. How often an address has failed decides when its
//! turn comes (see `turns.rs`), never whether.
//!
//! A browser that has signed in before as this person carries a mark
//! (`pages/mark.rs`), and a session that is open has its own name: both have
//! counts of their own, which no stranger can use up.
//!
//! Held in memory and bounded. What counts most is kept sealed in the store, so
//! that a restart forgets the last few seconds at most.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, PoisonError},
};

use trail::{Hash, Micros};

/// Wrong tries before the first wait, by what they have in common.
const FREE_PAIR: u32 = 5;
const FREE_KNOWN: u32 = 5;
const FREE_NAME: u32 = 50;
/// The first wait; each further try doubles it.
const FIRST_SECONDS: i64 = 2;
const LONGEST_SECONDS: i64 = 900;
/// For so many tries a pair waits no longer than this: half a minute of someone
/// else's tries from a shared address must not cost a person more. Then the
/// waits double again.
const PATIENT_SECONDS: i64 = 16;
const PATIENT_TRIES: u32 = 30;
/// By name alone never longer: anyone can try a name. It applies to pairs that
/// have failed so often.
const LONGEST_BY_NAME_SECONDS: i64 = 5;
const FRESH_TRIES: u32 = 3;
/// Tries in memory, and tries that outlive a restart: those of the highest count.
const MOST: usize = 100_000;
const MOST_KEPT: usize = 4096;

/// What tries have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// A name from an address.
    Pair = 1,
    Address = 2,
    Name = 3,
    /// A name from a browser or a session that is known as this person's.
    Known = 4,
    /// All addresses around one.
    Surroundings = 5,
}

impl Kind {
    const ALL: [Kind; 5] = [
        Kind::Pair,
        Kind::Address,
        Kind::Name,
        Kind::Known,
        Kind::Surroundings,
    ];

    /// Tries are forgotten this long after the last one.
    fn forgotten_seconds(self) -> i64 {
        match self {
            Kind::Pair | Kind::Known => 86_400,
            Kind::Address | Kind::Name | Kind::Surroundings => 3600,
        }
    }
}

/// A hash: whatever was typed as a name is not kept, and takes no more memory.
type Key = (Kind, [u8; KEY_BYTES]);
const KEY_BYTES: usize = 16;
const RECORD_BYTES: usize = 1 + KEY_BYTES + 4 + 8;
const FORMAT: u8 = 1;

#[derive(Clone, Copy, Debug)]
struct Tries {
    count: u32,
    last: Micros,
}

impl Tries {
    fn waits(self, seconds: i64, now: Micros) -> Option<u64> {
        let wait = seconds * Micros::SECOND - (now.0 - self.last.0);
        // A clock that was set back must not prolong it.
        let wait = wait.min(seconds * Micros::SECOND);
        (wait > 0).then(|| (wait / Micros::SECOND + 1) as u64)
    }
}

/// Whose turn comes first: who has failed less often, and of those the one from
/// quieter surroundings. A flood comes from many new addresses, but seldom from
/// as many networks: whoever is new and from elsewhere need not wait behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// How often this address has failed before.
    pub failed: u32,
    /// How often the addresses around it have.
    pub around: u32,
}

impl Rank {
    pub const FIRST: Rank = Rank {
        failed: 0,
        around: 0,
    };
}

/// Who tries: by what they are counted.
#[derive(Clone, Copy, Debug)]
pub enum Who<'a> {
    /// Someone at this address.
    Address(IpAddr),
    /// A browser or a session that is known as this person's, by its id.
    Known(&'a str),
}

#[derive(Debug, Default)]
pub struct Lockout(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    tries: HashMap<Key, Tries>,
    /// Whether anything is not yet kept.
    changed: bool,
}

impl Lockout {
    /// Counts a try; an error says how many seconds to wait before the next.
    pub fn try_one(&self, name: &str, who: Who<'_>, now: Micros) -> Result<Rank, u64> {
        let mut counts = self.lock();
        let keys = keys(name, who);
        let (waits, rank) = match who {
            Who::Known(_) => {
                let tries = counts.find(keys[0], now);
                let seconds = doubling(tries.count, FREE_KNOWN);
                (tries.waits(seconds, now), Rank::FIRST)
            }
            Who::Address(_) => {
                let [pair, address, named, around] =
                    [0, 1, 2, 3].map(|n| counts.find(keys[n], now));
                let by_pair = pair.waits(pair_seconds(pair.count), now);
                let by_name = (pair.count >= FRESH_TRIES)
                    .then(|| doubling(named.count, FREE_NAME).min(LONGEST_BY_NAME_SECONDS))
                    .and_then(|seconds| named.waits(seconds, now));
                let rank = Rank {
                    failed: pair.count.max(address.count),
                    around: around.count,
                };
                (by_pair.max(by_name), rank)
            }
        };
        if let Some(wait) = waits {
            return Err(wait);
        }
        counts.add(keys, now);
        Ok(rank)
    }

    /// Counts a try that was wrong and was not counted for these.
    pub fn count(&self, name: &str, who: Who<'_>, now: Micros) {
        self.lock().add(keys(name, who), now);
    }

    /// Takes a try back that was never looked at.
    pub fn withdraw(&self, name: &str, who: Who<'_>) {
        let mut counts = self.lock();
        for key in keys(name, who) {
            counts.take_one(key);
        }
    }

    /// The password was right: this person starts afresh here. Of the address and
    /// of the name only this try is taken back: the others were somebody else's.
    pub fn succeeded(&self, name: &str, who: Who<'_>) {
        let mut counts = self.lock();
        counts.changed = true;
        for key in keys(name, who) {
            match key.0 {
                Kind::Pair | Kind::Known => drop(counts.tries.remove(&key)),
                Kind::Address | Kind::Name | Kind::Surroundings => counts.take_one(key),
            }
        }
    }

    /// What is to outlive a restart, if it has changed since the last time.
    pub fn take_changes(&self, now: Micros) -> Option<Vec<u8>> {
        let mut counts = self.lock();
        if !std::mem::take(&mut counts.changed) {
            return None;
        }
        let mut kept: Vec<(Key, Tries)> = counts
            .tries
            .iter()
            .filter(|(key, tries)| tries.count > 0 && !is_forgotten(key.0, **tries, now))
            .map(|(key, tries)| (*key, *tries))
            .collect();
        drop(counts);
        if kept.len() > MOST_KEPT {
            let weight = |(_, tries): &(Key, Tries)| std::cmp::Reverse((tries.count, tries.last.0));
            kept.select_nth_unstable_by_key(MOST_KEPT, weight);
            kept.truncate(MOST_KEPT);
        }
        let mut bytes = vec![FORMAT];
        for ((kind, key), tries) in kept {
            bytes.push(kind as u8);
            bytes.extend(key);
            bytes.extend(tries.count.to_be_bytes());
            bytes.extend(tries.last.0.to_be_bytes());
        }
        Some(bytes)
    }

    /// What could not be kept is tried again.
    pub fn put_back(&self) {
        self.lock().changed = true;
    }

    /// Goes on from what was kept. Returns whether it could be read.
    pub fn resume(&self, bytes: &[u8], now: Micros) -> bool {
        let Some((&FORMAT, records)) = bytes.split_first() else {
            return false;
        };
        let mut counts = self.lock();
        for record in records.chunks(RECORD_BYTES) {
            let Some((key, tries)) = read(record) else {
                return false;
            };
            if !is_forgotten(key.0, tries, now) {
                counts.tries.insert(key, tries);
            }
        }
        true
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn find(&self, key: Key, now: Micros) -> Tries {
        let none = Tries {
            count: 0,
            last: now,
        };
        let tries = self.tries.get(&key).copied();
        let tries = tries.filter(|tries| !is_forgotten(key.0, *tries, now));
        tries.unwrap_or(none)
    }

    fn add(&mut self, keys: Vec<Key>, now: Micros) {
        self.make_room(now);
        for key in keys {
            let tries = self.find(key, now);
            let count = tries.count.saturating_add(1);
            self.tries.insert(key, Tries { count, last: now });
        }
        self.changed = true;
    }

    fn take_one(&mut self, key: Key) {
        if let Some(tries) = self.tries.get_mut(&key) {
            tries.count = tries.count.saturating_sub(1);
        }
    }

    /// Of too many, those with few tries go: nobody gets rid of a high count by
    /// making many low ones.
    fn make_room(&mut self, now: Micros) {
        if self.tries.len() < MOST {
            return;
        }
        self.tries
            .retain(|key, tries| !is_forgotten(key.0, *tries, now));
        if self.tries.len() < MOST / 2 {
            return;
        }
        let mut weights: Vec<(u32, i64)> = self.tries.values().map(weight).collect();
        let (_, middle, _) = weights.select_nth_unstable(self.tries.len() / 2);
        let middle = *middle;
        self.tries.retain(|_, tries| weight(tries) > middle);
    }
}

fn weight(tries: &Tries) -> (u32, i64) {
    (tries.count, tries.last.0)
}

/// What a try counts for; of an address: pair, address, name and surroundings, in
/// this order.
fn keys(name: &str, who: Who<'_>) -> Vec<Key> {
    let key = |kind: Kind, pieces: [&[u8]; 2]| {
        let [first, second] = pieces;
        let length = (first.len() as u64).to_be_bytes();
        let pieces: [&[u8]; 4] = [&[kind as u8], &length, first, second];
        let Hash(hash) = Hash::of("wakeful/sign-in/1", &pieces);
        let mut key = [0; KEY_BYTES];
        key.copy_from_slice(&hash[..KEY_BYTES]);
        (kind, key)
    };
    let name = name.as_bytes();
    match who {
        Who::Known(id) => vec![key(Kind::Known, [name, id.as_bytes()])],
        Who::Address(address) => {
            let network = network(address).to_string();
            let network = network.as_bytes();
            vec![
                key(Kind::Pair, [name, network]),
                key(Kind::Address, [network, b""]),
                key(Kind::Name, [name, b""]),
                key(Kind::Surroundings, [&surroundings(address), b""]),
            ]
        }
    }
}

/// An IPv4 address itself, and of an IPv6 address its /64.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 => v4,
    }
}

/// The first half of an IPv4 address, and the first quarter of an IPv6 address:
/// what a provider has.
fn surroundings(address: IpAddr) -> Vec<u8> {
    match address.to_canonical() {
        IpAddr::V4(address) => address.octets()[..2].to_vec(),
        IpAddr::V6(address) => address.octets()[..4].to_vec(),
    }
}

fn read(record: &[u8]) -> Option<(Key, Tries)> {
    let (kind, rest) = record.split_first()?;
    let kind = Kind::ALL.into_iter().find(|known| *known as u8 == *kind)?;
    let (key, rest) = rest.split_first_chunk()?;
    let (count, rest) = rest.split_first_chunk()?;
    let tries = Tries {
        count: u32::from_be_bytes(*count),
        last: Micros(i64::from_be_bytes(rest.try_into().ok()?)),
    };
    Some(((kind, *key), tries))
}

fn is_forgotten(kind: Kind, tries: Tries, now: Micros) -> bool {
    now.0 - tries.last.0 > kind.forgotten_seconds() * Micros::SECOND
}

fn pair_seconds(count: u32) -> i64 {
    let patient = doubling(count, FREE_PAIR).min(PATIENT_SECONDS);
    let later = count.saturating_sub(PATIENT_TRIES);
    match doubling(later, FREE_PAIR) {
        // Where the doubling was left off.
        longer if longer > PATIENT_SECONDS => longer,
        _ => patient,
    }
}

fn doubling(count: u32, free: u32) -> i64 {
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

    impl Lockout {
        fn from(&self, name: &str, address: IpAddr, now: Micros) -> Result<(), u64> {
            let tried = self.try_one(name, Who::Address(address), now);
            tried.map(|_| ())
        }

        fn known(&self, name: &str, id: &str, now: Micros) -> Result<(), u64> {
            self.try_one(name, Who::Known(id), now).map(|_| ())
        }
    }

    #[test]
    fn waiting_doubles_after_some_tries_and_ends_with_the_right_password() {
        let lockout = Lockout::default();
        for _ in 0..5 {
            assert_eq!(lockout.from("ann", HERE, at(0)), Ok(()));
        }
        assert_eq!(lockout.from("ann", HERE, at(0)), Err(3));
        assert_eq!(lockout.from("ann", HERE, at(2)), Ok(()));
        assert_eq!(lockout.from("ann", HERE, at(4)), Err(3));
        assert_eq!(lockout.from("ann", HERE, at(6)), Ok(()));
        lockout.succeeded("ann", Who::Address(HERE));
        assert_eq!(lockout.from("ann", HERE, at(6)), Ok(()));
    }

    #[test]
    fn other_people_and_other_places_are_not_in_the_way() {
        let lockout = Lockout::default();
        while lockout.from("ann", address(1), at(0)).is_ok() {}
        assert_eq!(lockout.from("bob", address(1), at(0)), Ok(()));
        assert_eq!(lockout.from("ann", address(2), at(0)), Ok(()));
    }

    #[test]
    fn half_a_minute_of_tries_costs_seconds_and_an_hour_of_them_minutes() {
        let lockout = Lockout::default();
        let longest = |from: i64, to: i64| {
            let tried = (from..to).map(|second| lockout.from("ann", HERE, at(second)));
            tried.filter_map(Result::err).max().unwrap_or_default()
        };
        assert!(longest(0, 30) <= 17);
        let later = longest(30, 3600);
        assert!((200..=901).contains(&later), "{later}");
        // From one place never for longer than a quarter of an hour.
        for n in 0..100 {
            let _ = lockout.from("ann", HERE, at(10_000 + n * 900));
        }
        assert!(lockout.from("ann", HERE, at(10_000 + 99 * 900)).is_err());
        assert_eq!(lockout.from("ann", HERE, at(10_000 + 100 * 900)), Ok(()));
    }

    #[test]
    fn many_names_from_one_place_stop_nobody_and_go_last() {
        let lockout = Lockout::default();
        let ranks: Vec<Rank> = (0..200)
            .map(|n| lockout.try_one(&format!("n{n}"), Who::Address(HERE), at(0)))
            .map(Result::unwrap)
            .collect();
        assert_eq!(ranks.first(), Some(&Rank::FIRST));
        assert_eq!(ranks.last().map(|rank| rank.failed), Some(199));
        let ann = lockout.try_one("ann", Who::Address(HERE), at(0));
        assert_eq!(ann.map(|rank| rank.failed), Ok(200));
        let fresh = lockout.try_one("ann", Who::Address(address(1)), at(0));
        assert_eq!(fresh, Ok(Rank::FIRST));
        // Its neighbour is as new, and comes after whoever is from elsewhere.
        let (failed, around) = (0, 1);
        let neighbour = lockout.try_one("ann", Who::Address(address(2)), at(0));
        assert_eq!(neighbour, Ok(Rank { failed, around }));
    }

    #[test]
    fn one_name_from_many_places_is_slowed_where_it_has_failed_already() {
        let lockout = Lockout::default();
        for n in 0..100 {
            assert_eq!(lockout.from("ann", address(n), at(0)), Ok(()));
        }
        // A place that is new to it may try, and mistype.
        for _ in 0..FRESH_TRIES {
            assert_eq!(lockout.from("ann", address(201), at(0)), Ok(()));
        }
        // By name for seconds only, however long it goes on.
        let wait = lockout.from("ann", address(201), at(0)).unwrap_err();
        assert!(wait <= 6);
        for n in 0..100 {
            let _ = lockout.from("ann", address(n), at(i64::from(n) * 5));
        }
        let wait = lockout.from("ann", address(201), at(99 * 5)).unwrap_err();
        assert!(wait <= 6);
        assert_eq!(lockout.from("ann", address(201), at(100 * 5)), Ok(()));
    }

    #[test]
    fn a_known_browser_has_tries_of_its_own_and_few() {
        let lockout = Lockout::default();
        while lockout.from("ann", HERE, at(0)).is_ok() {}
        let guesses = (0..).take_while(|_| lockout.known("ann", "b1", at(0)).is_ok());
        assert_eq!(guesses.count(), FREE_KNOWN as usize);
        assert_eq!(lockout.known("ann", "b2", at(0)), Ok(()));
        assert_eq!(lockout.known("bob", "b1", at(0)), Ok(()));
        lockout.succeeded("ann", Who::Known("b1"));
        assert_eq!(lockout.known("ann", "b1", at(0)), Ok(()));
        // It clears nothing of the address from which others tried.
        assert!(lockout.from("ann", HERE, at(0)).is_err());
    }

    #[test]
    fn the_addresses_of_a_64_are_one() {
        let lockout = Lockout::default();
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        while lockout.from("ann", address("2001:db8::1"), at(0)).is_ok() {}
        let same = address("2001:db8::ffff:0:0:2");
        assert!(lockout.from("ann", same, at(0)).is_err());
        let other = address("2001:db8:0:1::1");
        assert_eq!(lockout.from("ann", other, at(0)), Ok(()));
        // A mapped address is the one it stands for.
        while lockout.from("bob", address("192.0.2.1"), at(0)).is_ok() {}
        let mapped = address("::ffff:192.0.2.1");
        assert!(lockout.from("bob", mapped, at(0)).is_err());
        let neighbour = address("::ffff:192.0.2.2");
        assert_eq!(lockout.from("bob", neighbour, at(0)), Ok(()));
    }

    #[test]
    fn what_is_kept_is_bounded_goes_on_and_is_forgotten_in_time() {
        let lockout = Lockout::default();
        while lockout.from("ann", HERE, at(0)).is_ok() {}
        for n in 0..2 * MOST_KEPT {
            let _ = lockout.from(&format!("n{n}"), HERE, at(0));
        }
        let kept = lockout.take_changes(at(1)).unwrap();
        assert_eq!(kept.len(), 1 + MOST_KEPT * RECORD_BYTES);
        assert_eq!(lockout.take_changes(at(1)), None);
        let again = Lockout::default();
        assert!(again.resume(&kept, at(1)));
        assert!(again.from("ann", HERE, at(1)).is_err());
        let next_week = Lockout::default();
        assert!(next_week.resume(&kept, at(7 * 86_400)));
        assert_eq!(next_week.lock().tries.len(), 0);
        for nonsense in [&b""[..], &[2], &[FORMAT, 9], &kept[..kept.len() - 1]] {
            assert!(!Lockout::default().resume(nonsense, at(1)));
        }
    }

    #[test]
    fn many_low_counts_do_not_wash_a_high_one_away() {
        let lockout = Lockout::default();
        for _ in 0..5 {
            assert_eq!(lockout.from("ann", HERE, at(0)), Ok(()));
        }
        for n in 0..MOST {
            let _ = lockout.from(&format!("n{n}"), address(1), at(1));
        }
        assert!(lockout.lock().tries.len() <= MOST + 2);
        assert!(lockout.from("ann", HERE, at(1)).is_err());
    }
}
