//! Why a connection ends, and the close code that says so.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nobody said who they are in time.
    NoAuth,
    /// The first frame said nothing of the kind.
    NotAuth,
    /// They are not who they say, or may not come in now.
    Refused,
    BadFrames,
    TooLarge,
    /// Fragments or control frames without end.
    TooManyPieces,
    /// Against RFC 6455.
    NotWebSocket,
    NotUtf8,
    LimitExceeded,
    SessionExpired,
    MissedPings,
    /// The same device connected again.
    Replaced,
    /// What was sent to it was not read.
    SlowReader,
    /// The token no longer opens anything.
    Revoked,
    Stopping,
}

impl Ending {
    /// RFC 6455, 7.4.1.
    pub fn close_code(self) -> u16 {
        match self {
            Ending::Stopping => 1001,
            Ending::NotWebSocket => 1002,
            Ending::NotUtf8 => 1007,
            Ending::TooLarge => 1009,
            _ => 1008,
        }
    }

    pub fn reason(self) -> &'static str {
        match self {
            Ending::NoAuth => "no auth in time",
            Ending::NotAuth => "the first frame must be auth",
            Ending::Refused => "not authenticated",
            Ending::BadFrames => "too many malformed frames",
            Ending::TooLarge => "the frame is too large",
            Ending::TooManyPieces => "too many fragments or control frames",
            Ending::NotWebSocket => "not as RFC 6455 has it",
            Ending::NotUtf8 => "the text is not UTF-8",
            Ending::LimitExceeded => "session request limit exceeded",
            Ending::SessionExpired => "session expired",
            Ending::MissedPings => "pings were not answered",
            Ending::Replaced => "the device connected again",
            Ending::SlowReader => "what was sent was not read",
            Ending::Revoked => "the token was revoked",
            Ending::Stopping => "the server is stopping",
        }
    }

    /// Whether what still waits for it may go out before the end.
    pub fn lets_the_rest_out(self) -> bool {
        self != Ending::SlowReader
    }
}
