//! A session: so many requests, so much time, over however many connections.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::relay::{Code, Ending, Moment};

#[derive(Debug)]
pub struct Session {
    expires_at: Moment,
    left: AtomicU64,
}

/// What has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    Requests,
    Time,
}

impl Over {
    pub fn code(self) -> Code {
        match self {
            Over::Requests => Code::LimitExceeded,
            Over::Time => Code::SessionExpired,
        }
    }

    pub fn ending(self) -> Ending {
        match self {
            Over::Requests => Ending::LimitExceeded,
            Over::Time => Ending::SessionExpired,
        }
    }
}

impl Session {
    pub fn new(requests: u64, expires_at: Moment) -> Session {
        Session {
            expires_at,
            left: AtomicU64::new(requests),
        }
    }

    pub fn expires_at(&self) -> Moment {
        self.expires_at
    }

    /// Requests that may still be made.
    pub fn requests_left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Whole seconds that are left, rounded up.
    pub fn seconds_left(&self, now: Moment) -> u64 {
        self.expires_at.seconds_after(now)
    }

    /// Whether one may still come in with it.
    pub fn lasts(&self, now: Moment) -> bool {
        now < self.expires_at && self.requests_left() > 0
    }

    /// Counts a request.
    pub fn spend(&self, now: Moment) -> Result<(), Over> {
        if now >= self.expires_at {
            return Err(Over::Time);
        }
        let one_less = |left: u64| left.checked_sub(1);
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
            .map(drop)
            .map_err(|_| Over::Requests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_request_passes_and_the_next_does_not() {
        let now = Moment(5);
        let session = Session::new(3, now.plus_seconds(60));
        for left in [2, 1, 0] {
            assert_eq!(session.spend(now), Ok(()));
            assert_eq!(session.requests_left(), left);
        }
        assert_eq!(session.spend(now), Err(Over::Requests));
        assert!(!session.lasts(now));
        assert_eq!(Over::Requests.code().as_str(), "LIMIT_EXCEEDED");
    }

    #[test]
    fn it_ends_with_its_time() {
        let session = Session::new(10, Moment(0).plus_seconds(60));
        assert!(session.lasts(Moment(0).plus_seconds(59)));
        assert_eq!(session.seconds_left(Moment(1)), 60);
        assert_eq!(session.seconds_left(Moment(0).plus_seconds(59)), 1);
        let end = Moment(0).plus_seconds(60);
        assert!(!session.lasts(end));
        assert_eq!(session.spend(end), Err(Over::Time));
        assert_eq!(session.requests_left(), 10);
        assert_eq!(Over::Time.code().as_str(), "SESSION_EXPIRED");
    }
}
