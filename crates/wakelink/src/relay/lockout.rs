//! An address from which authentication failed too often is kept out for a
//! while, whatever it says then. Bounded; a restart forgets it.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv6Addr},
};

use crate::relay::{Limits, Moment};

/// Addresses that are remembered at once.
const MOST: usize = 50_000;

#[derive(Debug, Default)]
pub struct Lockout(BTreeMap<IpAddr, Tries>);

#[derive(Debug, Default)]
struct Tries {
    /// When the latest ones failed, oldest first; never more than it takes.
    failed_at: Vec<Moment>,
    locked_until: Moment,
}

impl Tries {
    fn is_over(&self, limits: &Limits, now: Moment) -> bool {
        let last = self.failed_at.last().copied().unwrap_or_default();
        now >= self.locked_until && now >= last.plus_seconds(limits.failure_seconds)
    }
}

/// Somebody who has one address of an IPv6 network has all of it.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        v4 => v4,
    }
}

impl Lockout {
    /// Seconds for which nobody from there is let in.
    pub fn wait_seconds(&self, address: IpAddr, now: Moment) -> Option<u64> {
        let until = self.0.get(&network(address))?.locked_until;
        (now < until).then(|| until.seconds_after(now))
    }

    /// Counts a failure; gives the wait if it was one too many.
    pub fn fail(&mut self, limits: &Limits, address: IpAddr, now: Moment) -> Option<u64> {
        if self.0.len() >= MOST && !self.0.contains_key(&network(address)) {
            self.0.retain(|_, tries| !tries.is_over(limits, now));
            // Whoever has so many addresses is not held up by this.
            if self.0.len() >= MOST {
                self.0.retain(|_, tries| now < tries.locked_until);
            }
            if self.0.len() >= MOST {
                self.0.clear();
            }
        }
        let tries = self.0.entry(network(address)).or_default();
        tries
            .failed_at
            .retain(|at| now < at.plus_seconds(limits.failure_seconds));
        tries.failed_at.push(now);
        if tries.failed_at.len() >= limits.failures as usize {
            tries.failed_at.clear();
            tries.locked_until = now.plus_seconds(limits.lockout_seconds);
        }
        self.wait_seconds(address, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::default().plus_seconds(seconds)
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_fifth_failure_within_300_seconds_locks_for_600() {
        let limits = Limits::default();
        let mut lockout = Lockout::default();
        let here = address("192.0.2.1");
        for n in 0..4 {
            assert_eq!(lockout.fail(&limits, here, at(n * 70)), None);
        }
        assert_eq!(lockout.fail(&limits, here, at(299)), Some(600));
        assert_eq!(lockout.wait_seconds(here, at(300)), Some(599));
        assert_eq!(lockout.wait_seconds(address("192.0.2.2"), at(300)), None);
        assert_eq!(lockout.wait_seconds(here, at(898)), Some(1));
        assert_eq!(lockout.wait_seconds(here, at(899)), None);
        // Then it starts anew.
        assert_eq!(lockout.fail(&limits, here, at(899)), None);
    }

    #[test]
    fn failures_that_are_too_old_do_not_count() {
        let limits = Limits::default();
        let mut lockout = Lockout::default();
        let here = address("192.0.2.1");
        for n in 0..40 {
            assert_eq!(lockout.fail(&limits, here, at(n * 75)), None);
        }
    }

    #[test]
    fn a_network_of_ipv6_is_one_address_and_a_mapped_one_is_what_it_maps() {
        let limits = Limits::default();
        let mut lockout = Lockout::default();
        for n in 1..=5 {
            let here = address(&format!("2001:db8::{n}"));
            let wait = lockout.fail(&limits, here, at(0));
            assert_eq!(wait, (n == 5).then_some(600));
        }
        assert_eq!(
            lockout.wait_seconds(address("2001:db8:0:1::1"), at(0)),
            None
        );
        for _ in 0..5 {
            lockout.fail(&limits, address("::ffff:192.0.2.7"), at(0));
        }
        assert_eq!(lockout.wait_seconds(address("192.0.2.7"), at(0)), Some(600));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let limits = Limits::default();
        let mut lockout = Lockout::default();
        for n in 0..(2 * MOST as u32) {
            lockout.fail(&limits, IpAddr::V4(n.into()), at(0));
        }
        assert!(lockout.0.len() <= MOST);
    }
}
