//! Everything that can be asked of the writer, and what it answers.

use account::{Presented, secret::SecretHash};
use inbox::{Person, Request};
use trail::{Hash, Micros};
use uuid::Uuid;
use wake::{NewDelivery, Status};

#[derive(Clone, Debug)]
pub enum Command {
    /// A person asks with this secret, which must still be theirs when it is
    /// decided: a request may be on its way for long.
    By(Presented, Box<Command>),
    /// An agent delivers with its key.
    Deliver(Deliver),
    /// A person answers.
    Respond {
        person: Person,
        delivery_id: Uuid,
        request: Request,
    },
    /// A person takes a held answer back.
    Undo { person: Person, delivery_id: Uuid },
    /// A person looks at a delivery.
    See { name: String, delivery_id: Uuid },
    /// A person puts a delivery out of their own sight for a while, or back.
    Snooze {
        name: String,
        delivery_id: Uuid,
        until: Option<Micros>,
    },
    /// An owner or the operator administers.
    Administer {
        actor: String,
        command: account::Command,
    },
    /// Someone signs in or out: recorded in their own name.
    Enter { command: account::Command },
    /// Someone sets their own password, whose hash is already sealed; their
    /// other sessions end, and with `revoke` their token: it is replaced by this
    /// one, whose secret nobody was told.
    SetPassword {
        name: String,
        keep: Option<String>,
        sealed: Vec<u8>,
        revoke: Option<(String, SecretHash)>,
    },
    /// The server's own: wrong passwords are counted on after a restart. Already
    /// sealed.
    KeepTries { sealed: Vec<u8> },
    /// A new webhook secret for an agent, already sealed.
    SetSecret {
        actor: String,
        agent_id: String,
        sealed: Vec<u8>,
    },
    /// A device's owner has a token made for it, already sealed.
    SetDeviceToken {
        command: account::Command,
        agent_id: String,
        sealed: Vec<u8>,
    },
    /// An agent goes: its owner says so, or else who administers.
    RemoveAgent {
        actor: String,
        agent_id: String,
        as_owner: bool,
    },
    /// What passed between a device and its owner's clients.
    RecordRelays(account::event::RelaysCounted),
    /// What came of an attempt at a callback.
    RecordAttempt(Attempt),
    /// A person wants a callback sent again.
    ReplayCallback {
        actor: String,
        callback: u64,
        delivery_id: Uuid,
    },
    /// Requests that failed before anyone was recognised.
    RecordFailures { source: String, count: u64 },
    /// Someone who was recognised asked for what is not theirs.
    Deny {
        actor: String,
        stream: String,
        what: String,
        code: String,
    },
    /// An owner wants the content of an answered delivery gone, rule or none.
    EraseNow { actor: String, delivery_id: Uuid },
    /// The server's own: look at a delivery whose timer is due.
    Expire { delivery_id: Uuid },
    /// The server's own: a retention rule is due for these.
    Erase {
        delivery_ids: Vec<Uuid>,
        retention_days: u32,
    },
}

#[derive(Clone, Debug)]
pub struct Deliver {
    pub key_id: String,
    pub delivery: NewDelivery,
    /// The idempotency key and the hash of the body it came with.
    pub idempotency: Option<(String, Hash)>,
}

#[derive(Clone, Debug)]
pub struct Attempt {
    pub callback: u64,
    pub delivery_id: Uuid,
    pub http_status: Option<u16>,
    pub error: Option<String>,
    pub took_ms: u64,
    pub retry_after_seconds: Option<i64>,
    /// Spreads the next try.
    pub random: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Received {
        delivery_id: Uuid,
        created_at: Micros,
        repeated: bool,
    },
    Answered {
        status: Status,
        at: Micros,
    },
    Held {
        status: Status,
        until: Micros,
    },
    Undone,
    Done,
}
