//! The bulk query of `GET /wake/v1/responses`, read and checked.

use trail::Micros;

use crate::{Fault, Status, limits, moment};

/// Which deliveries, changed after which moment, at most how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    pub agent_id: Option<String>,
    pub statuses: Vec<Status>,
    pub since: Option<Micros>,
    pub limit: usize,
}

/// A whole number in digits alone: no sign, no blanks.
pub fn digits(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}

impl Sweep {
    pub const PARAMETERS: [&str; 4] = ["agent_id", "status", "since", "limit"];

    /// Reads the query parameters; unknown ones are ignored. An empty value
    /// counts as absent, since many HTTP clients send `since=` for `None`.
    pub fn parse<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Sweep, Fault> {
        let mut sweep = Sweep {
            agent_id: None,
            statuses: Status::ALL.to_vec(),
            since: None,
            limit: limits::SWEEP_DEFAULT,
        };
        for (name, value) in pairs.into_iter().filter(|(_, value)| !value.is_empty()) {
            match name {
                "agent_id" => sweep.agent_id = Some(value.to_owned()),
                "status" => sweep.statuses = statuses(value)?,
                "since" => sweep.since = Some(moment::parse(value).ok_or(Fault::Since)?),
                "limit" => {
                    sweep.limit = digits(value)
                        .and_then(|limit| usize::try_from(limit).ok())
                        .filter(|limit| (1..=limits::SWEEP_MAX).contains(limit))
                        .ok_or(Fault::Limit)?;
                }
                _ => {}
            }
        }
        Ok(sweep)
    }
}

fn statuses(list: &str) -> Result<Vec<Status>, Fault> {
    let mut statuses = list
        .split(',')
        .map(|name| Status::parse(name.trim()))
        .collect::<Option<Vec<Status>>>()
        .ok_or(Fault::NotAllOf {
            field: "status",
            expected: Status::NAMES,
        })?;
    statuses.sort_unstable();
    statuses.dedup();
    Ok(statuses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_all_statuses_and_fifty() {
        let sweep = Sweep::parse([("since", ""), ("colour", "blue")]).unwrap();
        assert_eq!(sweep.statuses.len(), 4);
        assert_eq!((sweep.limit, sweep.since), (50, None));
    }

    #[test]
    fn a_bad_limit_status_or_moment_is_refused() {
        for limit in ["0", "201", "-1", "+5", "ten", "1.5", "99999999999999999999"] {
            assert_eq!(
                Sweep::parse([("limit", limit)]),
                Err(Fault::Limit),
                "{limit}"
            );
        }
        for status in ["done", "approved,", "Approved", "approved;rejected"] {
            assert_eq!(
                Sweep::parse([("status", status)]).unwrap_err().field(),
                Some("status")
            );
        }
        assert_eq!(Sweep::parse([("since", "monday")]), Err(Fault::Since));
    }

    #[test]
    fn statuses_may_be_spaced_and_repeated() {
        let sweep = Sweep::parse([("status", "rejected, approved,rejected")]).unwrap();
        assert_eq!(sweep.statuses, [Status::Approved, Status::Rejected]);
    }
}
