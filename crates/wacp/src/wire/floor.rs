//! Whether a highway asks people less than another one does.
//!
//! An owner sets the least that an agent's runs may start with. A run asks less
//! where a gate of the floor is off, where silence means more at it, or where
//! people have less time before it does.

use std::fmt;

use crate::{
    escalation,
    gate::{
        GateType,
        config::{Fallback, Highway},
    },
};

/// Where a highway asks less than its floor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Less {
    Gate(GateType, How),
    Escalation(How),
    Injection,
    Visibility,
}

/// In which way less is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// Nobody is asked.
    Off,
    /// Silence lets more happen.
    Fallback,
    /// There is less time to answer.
    Timeout,
}

/// How much a person still decides if they are silent: at a gate nothing
/// happens without a yes, or the coordinator decides, or it happens anyway.
fn held_back(fallback: Fallback) -> u8 {
    match fallback {
        Fallback::Approve => 0,
        Fallback::EscalateToCoordinator => 1,
        Fallback::Reject => 2,
    }
}

/// An escalation that nobody answers is the coordinator's, whether it counts as
/// a no or as handed over; a yes goes on without anyone.
fn handed_back(fallback: escalation::Fallback) -> u8 {
    match fallback {
        escalation::Fallback::Approve => 0,
        escalation::Fallback::Reject | escalation::Fallback::DelegateToCoordinator => 1,
    }
}

fn is_shorter(given: Option<u64>, floor: Option<u64>) -> bool {
    match (given, floor) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(given), Some(floor)) => given < floor,
    }
}

/// The first place where `highway` asks less than `floor`.
pub fn less(highway: &Highway, floor: &Highway) -> Option<Less> {
    let mut gates = GateType::ALL.into_iter().filter_map(|kind| {
        let (given, least) = (highway.gate(kind), floor.gate(kind));
        let how = match given {
            _ if !least.enabled => return None,
            _ if !given.enabled => How::Off,
            _ if held_back(given.fallback) < held_back(least.fallback) => How::Fallback,
            // After a no nothing has happened, however soon it comes.
            _ if given.fallback == Fallback::Reject => return None,
            _ if is_shorter(given.timeout_us, least.timeout_us) => How::Timeout,
            _ => return None,
        };
        Some(Less::Gate(kind, how))
    });
    let escalation = || {
        let (given, least) = (&highway.escalation, &floor.escalation);
        let how = match given {
            _ if !least.enabled => return None,
            _ if !given.enabled => How::Off,
            _ if handed_back(given.fallback) < handed_back(least.fallback) => How::Fallback,
            _ if is_shorter(given.timeout_us, least.timeout_us) => How::Timeout,
            _ => return None,
        };
        Some(Less::Escalation(how))
    };
    let is_missing = |given: bool, least: bool| least && !given;
    let injection = is_missing(highway.injection, floor.injection).then_some(Less::Injection);
    let visibility = is_missing(highway.visibility, floor.visibility).then_some(Less::Visibility);
    gates
        .next()
        .or_else(escalation)
        .or(injection)
        .or(visibility)
}

impl fmt::Display for Less {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self {
            Less::Gate(_, how) | Less::Escalation(how) => *how,
            Less::Injection | Less::Visibility => How::Off,
        };
        match self {
            Less::Gate(kind, _) => {
                let word = serde_json::to_value(kind).unwrap_or_default();
                write!(f, "\"{}\" ", word.as_str().unwrap_or_default())?;
            }
            Less::Escalation(_) => f.write_str("\"escalation\" ")?,
            Less::Injection => f.write_str("\"injection\" ")?,
            Less::Visibility => f.write_str("\"visibility\" ")?,
        }
        f.write_str(match how {
            How::Off => "is off",
            How::Fallback => "lets more happen where nobody answers",
            How::Timeout => "gives less time to answer",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::config::{GateSetting, SHORT_US};

    #[test]
    fn the_presets_stand_in_one_row() {
        let presets = [
            Highway::autonomous(),
            Highway::supervised(),
            Highway::gated(),
        ];
        for (place, given) in presets.iter().enumerate() {
            for (least, floor) in presets.iter().enumerate() {
                assert_eq!(
                    less(given, floor).is_some(),
                    place < least,
                    "{place} {least}"
                );
            }
        }
        assert!(less(&Highway::open(), &Highway::autonomous()).is_some());
        assert_eq!(less(&Highway::autonomous(), &Highway::open()), None);
    }

    #[test]
    fn each_thing_that_a_table_takes_away_is_named() {
        let floor = Highway::supervised();
        type Change = fn(&mut Highway);
        let kind = GateType::Integration;
        let cases: [(Change, Option<Less>); 11] = [
            (
                |h| h.integration.enabled = false,
                Some(Less::Gate(kind, How::Off)),
            ),
            (
                |h| h.integration.fallback = Fallback::Approve,
                Some(Less::Gate(kind, How::Fallback)),
            ),
            (
                |h| h.integration.timeout_us = Some(SHORT_US),
                Some(Less::Gate(kind, How::Timeout)),
            ),
            // A no may come soon.
            (
                |h| {
                    h.integration = GateSetting {
                        enabled: true,
                        fallback: Fallback::Reject,
                        timeout_us: Some(SHORT_US),
                    }
                },
                None,
            ),
            (|h| h.integration.timeout_us = None, None),
            (
                |h| h.escalation.enabled = false,
                Some(Less::Escalation(How::Off)),
            ),
            (
                |h| h.escalation.fallback = escalation::Fallback::Approve,
                Some(Less::Escalation(How::Fallback)),
            ),
            (
                |h| h.escalation.timeout_us = Some(1),
                Some(Less::Escalation(How::Timeout)),
            ),
            (
                |h| h.escalation.fallback = escalation::Fallback::DelegateToCoordinator,
                None,
            ),
            (|h| h.injection = false, Some(Less::Injection)),
            (|h| h.visibility = false, Some(Less::Visibility)),
        ];
        for (change, expected) in cases {
            let mut highway = floor;
            change(&mut highway);
            let found = less(&highway, &floor);
            assert_eq!(found, expected);
            // Whoever demands nothing there takes it.
            if let Some(Less::Gate(..)) = found {
                assert_eq!(less(&highway, &Highway::autonomous()), None);
            }
        }
    }
}
