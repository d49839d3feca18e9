//! Why an administrative command is refused.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error(
        "\"{0}\" cannot be a user name: use 1 to 64 lowercase letters, digits, - or _, starting with a letter."
    )]
    BadName(String),
    #[error("\"{0}\" is a name the protocol uses itself. Choose another.")]
    ReservedName(String),
    #[error("There is already a user \"{0}\". Choose another name.")]
    UserExists(String),
    #[error("There is no user \"{0}\".")]
    NoSuchUser(String),
    #[error("The first user must be an owner. Leave the role out, or say owner.")]
    FirstMustBeOwner,
    #[error("\"{0}\" is the last active owner. Make another owner first.")]
    LastOwner(String),
    #[error("\"{0}\" was deactivated for good. Create a new user.")]
    Deactivated(String),
    #[error("\"{0}\" is suspended. An owner can resume them: wakeful user resume {0}.")]
    Suspended(String),
    #[error(
        "This link was used, has been replaced, or is too old. Ask for a new one: wakeful user sign-in-link NAME."
    )]
    LinkUsed,
    #[error("There is no session \"{0}\".")]
    NoSuchSession(String),
    #[error("An agent needs an owner. Create a user first: wakeful user create NAME.")]
    NoOwner,
    #[error(
        "An agent id has 1 to {} characters, not only blanks, and none of them is a control character.",
        wake::limits::AGENT_ID
    )]
    BadAgentId { field: &'static str },
    #[error("There is no agent \"{0}\".")]
    NoSuchAgent(String),
    #[error("There is already an agent \"{0}\". Choose another id, or give it a new token.")]
    AgentExists(String),
    #[error("\"{0}\" has keys that work. Revoke them first.")]
    AgentHasKeys(String),
    #[error(
        "\"{0}\" is not a device, so nothing was removed. An agent that has had keys is kept, so that its deliveries still name it. None of its keys works any more."
    )]
    NotADevice(String),
    #[error("\"{0}\" has no device token. Make one: POST /api/v1/agents/{0}/rotate-token.")]
    NoDeviceToken(String),
    #[error(
        "The server no longer has the key that the token of \"{0}\" was sealed with, so it cannot show it. The device's own copy still works. A new token replaces it: `wakeful link token {0} --renew`, or POST /api/v1/agents/{0}/rotate-token."
    )]
    DeviceTokenSealed(String),
    #[error("There is no key \"{0}\".")]
    NoSuchKey(String),
    #[error("The key \"{0}\" is revoked. Create a new one.")]
    KeyRevoked(String),
    #[error(
        "The key \"{0}\" was already rotated and expires before that overlap would end. Rotate its successor."
    )]
    KeyEndsSooner(String),
    #[error("An orchestrator key names at most {max} agents; this one names {named}.")]
    TooManyAgents { named: usize, max: usize },
    #[error("This server has {max} {what} already, which is its limit. Remove one first.")]
    TooMany { what: &'static str, max: usize },
    #[error("\"{0}\" is on the allowlist already. Remove it first to change it.")]
    AlreadyAllowed(String),
    #[error("\"{0}\" is not on the allowlist.")]
    NotAllowed(String),
    #[error("A rate allows at least 1 delivery an hour and a burst of 1.")]
    BadRate,
    #[error("A retention rule keeps content for 1 to 36500 days.")]
    BadRetention,
}

impl Rejection {
    pub fn code(&self) -> &'static str {
        match self {
            Rejection::BadName(_) => "bad_name",
            Rejection::ReservedName(_) => "reserved_name",
            Rejection::UserExists(_) => "user_exists",
            Rejection::NoSuchUser(_) => "no_such_user",
            Rejection::FirstMustBeOwner => "first_must_be_owner",
            Rejection::LastOwner(_) => "last_owner",
            Rejection::Deactivated(_) => "user_deactivated",
            Rejection::Suspended(_) => "user_suspended",
            Rejection::LinkUsed => "link_used",
            Rejection::NoSuchSession(_) => "no_such_session",
            Rejection::NoOwner => "no_owner",
            Rejection::BadAgentId { .. } => "bad_agent_id",
            Rejection::NoSuchAgent(_) => "no_such_agent",
            Rejection::AgentExists(_) => "agent_exists",
            Rejection::AgentHasKeys(_) => "agent_has_keys",
            Rejection::NoDeviceToken(_) => "no_device_token",
            Rejection::DeviceTokenSealed(_) => "device_token_sealed",
            Rejection::NoSuchKey(_) => "no_such_key",
            Rejection::KeyRevoked(_) => "key_revoked",
            Rejection::KeyEndsSooner(_) => "key_ends_sooner",
            Rejection::NotADevice(_) => "not_a_device",
            Rejection::TooManyAgents { .. } => "too_many_agents",
            Rejection::TooMany { .. } => "limit_reached",
            Rejection::AlreadyAllowed(_) => "already_allowed",
            Rejection::NotAllowed(_) => "not_on_allowlist",
            Rejection::BadRate => "bad_rate",
            Rejection::BadRetention => "bad_retention",
        }
    }

    /// The field of the request that is at fault, where there is one.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Rejection::BadName(_) | Rejection::ReservedName(_) | Rejection::UserExists(_) => {
                Some("name")
            }
            Rejection::FirstMustBeOwner => Some("role"),
            Rejection::BadAgentId { field } => Some(field),
            Rejection::AgentExists(_) => Some("agent_id"),
            Rejection::TooManyAgents { .. } => Some("orchestrates"),
            Rejection::AlreadyAllowed(_) => Some("pattern"),
            Rejection::BadRate => Some("rate"),
            Rejection::BadRetention => Some("days"),
            Rejection::NoSuchUser(_)
            | Rejection::LastOwner(_)
            | Rejection::Suspended(_)
            | Rejection::LinkUsed
            | Rejection::NoSuchSession(_)
            | Rejection::Deactivated(_)
            | Rejection::NoOwner
            | Rejection::NoSuchAgent(_)
            | Rejection::AgentHasKeys(_)
            | Rejection::NoDeviceToken(_)
            | Rejection::DeviceTokenSealed(_)
            | Rejection::NoSuchKey(_)
            | Rejection::KeyRevoked(_)
            | Rejection::KeyEndsSooner(_)
            | Rejection::NotADevice(_)
            | Rejection::TooMany { .. }
            | Rejection::NotAllowed(_) => None,
        }
    }

    /// Whether the thing named does not exist (as against: may not be done).
    pub fn is_absence(&self) -> bool {
        matches!(
            self,
            Rejection::NoSuchUser(_)
                | Rejection::NoSuchAgent(_)
                | Rejection::NoDeviceToken(_)
                | Rejection::DeviceTokenSealed(_)
                | Rejection::NoSuchKey(_)
                | Rejection::NoSuchSession(_)
                | Rejection::NotAllowed(_)
        )
    }
}
