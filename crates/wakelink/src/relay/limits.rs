//! Every limit, with the value it has unless an operator sets another. Those
//! that the protocol names have the protocol's value.

use serde::Deserialize;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    /// To authenticate in.
    pub auth_seconds: u64,
    /// From one ping to the next.
    pub ping_seconds: u64,
    /// Pings in a row without a pong that end a connection.
    pub missed_pings: u32,
    /// One frame.
    pub frame_bytes: usize,
    /// Malformed frames in a row that end a connection.
    pub bad_frames: u32,
    /// What a session lasts.
    pub session_seconds: u64,
    /// What may be sent in one.
    pub session_requests: u64,
    /// Sessions that a person may have; the oldest makes room for a new one.
    pub sessions_per_person: usize,
    /// Failures to authenticate from one address …
    pub failures: u32,
    /// … within this time …
    pub failure_seconds: u64,
    /// … keep it out for this time.
    pub lockout_seconds: u64,
    /// Connections at once: what a machine of ordinary size can hold.
    pub connections: usize,
    /// From one address, which may be that of a whole house or office.
    pub connections_per_address: usize,
    /// Of one person: their devices and their programs.
    pub connections_per_account: usize,
    /// How often one device may come in: all of its person's clients are told.
    pub device_entries_per_minute: u32,
    /// What may wait for one connection to be read. Whoever lets more wait is
    /// too slow.
    pub queue_bytes: usize,
    /// What one connection may send; more is read later.
    pub frames_per_second: u32,
    pub frames_at_once: u32,
    /// What all connections of one person may send.
    pub account_frames_per_second: u32,
    pub account_frames_at_once: u32,
    /// Sessions between one client and devices; the oldest makes room.
    pub sids_per_connection: usize,
    /// New ones that one client may begin; each costs a device a handshake.
    pub sids_per_second: u32,
    pub sids_at_once: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            auth_seconds: 30,
            ping_seconds: 30,
            missed_pings: 2,
            frame_bytes: 64 << 10,
            bad_frames: 10,
            session_seconds: 86_400,
            session_requests: 10_000,
            sessions_per_person: 256,
            failures: 5,
            failure_seconds: 300,
            lockout_seconds: 600,
            connections: 20_000,
            connections_per_address: 200,
            connections_per_account: 1_000,
            device_entries_per_minute: 60,
            queue_bytes: 256 << 10,
            frames_per_second: 200,
            frames_at_once: 400,
            account_frames_per_second: 2_000,
            account_frames_at_once: 4_000,
            sids_per_connection: 256,
            sids_per_second: 4,
            sids_at_once: 8,
        }
    }
}

impl Limits {
    /// The name of a limit that would let nothing through.
    pub fn nothing_passes(&self) -> Option<&'static str> {
        let named = [
            ("auth-seconds", self.auth_seconds),
            ("ping-seconds", self.ping_seconds),
            ("missed-pings", u64::from(self.missed_pings)),
            ("frame-bytes", self.frame_bytes as u64),
            ("bad-frames", u64::from(self.bad_frames)),
            ("session-seconds", self.session_seconds),
            ("session-requests", self.session_requests),
            ("sessions-per-person", self.sessions_per_person as u64),
            ("failures", u64::from(self.failures)),
            ("connections", self.connections as u64),
            (
                "connections-per-address",
                self.connections_per_address as u64,
            ),
            (
                "connections-per-account",
                self.connections_per_account as u64,
            ),
            (
                "device-entries-per-minute",
                u64::from(self.device_entries_per_minute),
            ),
            ("queue-bytes", self.queue_bytes as u64),
            ("frames-per-second", u64::from(self.frames_per_second)),
            ("frames-at-once", u64::from(self.frames_at_once)),
            (
                "account-frames-per-second",
                u64::from(self.account_frames_per_second),
            ),
            (
                "account-frames-at-once",
                u64::from(self.account_frames_at_once),
            ),
            ("sids-per-connection", self.sids_per_connection as u64),
            ("sids-per-second", u64::from(self.sids_per_second)),
            ("sids-at-once", u64::from(self.sids_at_once)),
        ];
        named
            .into_iter()
            .find(|(_, value)| *value == 0)
            .map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_protocol_names_has_the_protocols_value() {
        let limits = Limits::default();
        assert_eq!((limits.auth_seconds, limits.ping_seconds), (30, 30));
        assert_eq!((limits.missed_pings, limits.bad_frames), (2, 10));
        assert_eq!(limits.frame_bytes, 65_536);
        assert_eq!(
            (limits.session_seconds, limits.session_requests),
            (86_400, 10_000)
        );
        let lockout = (
            limits.failures,
            limits.failure_seconds,
            limits.lockout_seconds,
        );
        assert_eq!(lockout, (5, 300, 600));
        assert_eq!(limits.nothing_passes(), None);
    }

    #[test]
    fn a_limit_of_nothing_is_named() {
        let limits = Limits {
            frames_at_once: 0,
            ..Limits::default()
        };
        assert_eq!(limits.nothing_passes(), Some("frames-at-once"));
    }
}
