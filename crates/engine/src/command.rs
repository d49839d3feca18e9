//! Everything that can be asked of the writer, by door, and what it answers.

use account::{Actor, Presented, secret::SecretHash};
use inbox::{ItemId, Person, Request};
use trail::{Hash, Micros};
use uuid::Uuid;
use wake::{NewDelivery, Status};

#[derive(Clone, Debug)]
pub enum Command {
    /// A person asks with this secret, which must still be theirs when it is
    /// decided: a request may be on its way for long.
    By(Presented, Box<Command>),
    Wake(Wake),
    Inbox(Inbox),
    Account(Account),
}

impl Command {
    /// A command of whoever presented this secret.
    pub fn by(presented: Presented, command: impl Into<Command>) -> Command {
        Command::By(presented, Box::new(command.into()))
    }
}

/// Deliveries, their timers, callbacks and content.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all commands are deliveries, and each is boxed on its way to the writer"
)]
#[derive(Clone, Debug)]
pub enum Wake {
    /// An agent delivers with its key.
    Deliver(Deliver),
    /// The result of an attempt at a callback.
    RecordAttempt(Attempt),
    /// An owner or the operator has a callback sent again.
    ReplayCallback {
        actor: Actor,
        callback: u64,
        delivery_id: Uuid,
    },
    /// The server's own: look at a delivery whose timer is due.
    Expire { delivery_id: Uuid },
    /// The server's own: a retention rule is due for these.
    Erase {
        delivery_ids: Vec<Uuid>,
        retention_days: u32,
    },
    /// An owner or the operator erases the content of one delivery, rule or none.
    EraseNow { actor: Actor, delivery_id: Uuid },
}

/// What a person does with an item.
#[derive(Clone, Debug)]
pub enum Inbox {
    Respond {
        person: Person,
        item: ItemId,
        request: Request,
    },
    /// Takes back an answer that is still held.
    Undo { person: Person, item: ItemId },
    /// Opens an item.
    See { name: String, item: ItemId },
    /// Hides an item from their own list until a moment, or shows it again.
    Snooze {
        name: String,
        item: ItemId,
        until: Option<Micros>,
    },
}

/// People, agents, keys, secrets, and what is recorded about those who ask.
#[derive(Clone, Debug)]
pub enum Account {
    /// An owner or the operator administers.
    Administer {
        actor: Actor,
        command: account::Command,
    },
    /// Someone signs in or out, or changes what is theirs: recorded in their own
    /// name.
    Enter { command: account::Command },
    /// Someone signs in with a password that was compared with what was kept at
    /// `read_at`. It must not have been replaced since: comparing takes long.
    EnterByPassword {
        name: String,
        read_at: Micros,
        command: account::Command,
    },
    /// Someone sets their own password, whose hash is already sealed. Their
    /// other sessions end. With `revoke` their token is replaced by this one,
    /// whose secret nobody was told.
    SetPassword {
        name: String,
        keep: Option<String>,
        sealed: Vec<u8>,
        revoke: Option<(String, SecretHash)>,
    },
    /// The server's own: the counts of wrong passwords, already sealed, so that
    /// counting goes on after a restart.
    KeepTries { sealed: Vec<u8> },
    /// A new webhook secret for an agent, already sealed.
    SetSecret {
        actor: Actor,
        agent_id: String,
        sealed: Vec<u8>,
    },
    /// A device's owner has a token made for it, already sealed.
    SetDeviceToken {
        command: account::Command,
        agent_id: String,
        sealed: Vec<u8>,
    },
    /// Removes an agent, as its owner or as an administrator.
    RemoveAgent {
        actor: Actor,
        agent_id: String,
        as_owner: bool,
    },
    /// What passed between a device and its owner's clients.
    RecordRelays(account::event::RelaysCounted),
    /// Requests that failed before anyone was recognised.
    RecordFailures { source: String, count: u64 },
    /// Someone who was recognised asked for what is not theirs.
    Deny {
        actor: Actor,
        what: String,
        code: String,
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
    },
    /// A request that was answered before gets the same answer: its HTTP status and
    /// its JSON body.
    Repeated {
        status: u16,
        body: Vec<u8>,
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

impl From<Wake> for Command {
    fn from(command: Wake) -> Command {
        Command::Wake(command)
    }
}

impl From<Inbox> for Command {
    fn from(command: Inbox) -> Command {
        Command::Inbox(command)
    }
}

impl From<Account> for Command {
    fn from(command: Account) -> Command {
        Command::Account(command)
    }
}
