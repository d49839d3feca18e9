//! The command line, which scripts rely on.

use std::{net::SocketAddr, path::PathBuf};

use clap::{
    Arg, Args, CommandFactory as _, Parser, Subcommand,
    builder::{OsStringValueParser, TypedValueParser},
};
use inbox::Verdict;
use serde_json::value::RawValue;
use wake::{Delivery, DetailsFormat, Fault, Kind, Status};

/// Oversee autonomous agents: they deliver, you decide, and all of it is on a trail.
#[derive(Debug, Parser)]
#[command(
    name = "wakeful",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub struct Cli {
    #[command(flatten)]
    pub place: Place,
    #[command(subcommand)]
    pub command: Command,
}

/// Where the server is, and how to print.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Common options")]
pub struct Place {
    /// The data directory, or its store by name (sqlite:/path); a relative path with a colon as ./a:b [default: the platform's, such as ~/.local/share/wakeful]
    #[arg(long, global = true, value_name = "DIR", env = "WAKEFUL_DATA",
          value_parser = path())]
    pub data: Option<PathBuf>,
    /// A server elsewhere; your token is read from WAKEFUL_TOKEN, an agent's key from WAKE_API_KEY
    #[arg(long, global = true, value_name = "URL", env = "WAKEFUL_SERVER")]
    pub server: Option<String>,
    /// Trust these certificates too when talking to --server
    #[arg(long, global = true, value_name = "FILE", env = "WAKEFUL_CA",
          value_parser = path())]
    pub server_ca: Option<PathBuf>,
    /// Content at rest is encrypted with the key in this file
    #[arg(long, global = true, value_name = "FILE", env = "WAKEFUL_BODY_KEY",
          value_parser = path())]
    pub body_key: Option<PathBuf>,
    /// Print data as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

/// Reads a path. An empty one passes: as a variable it counts as not set.
fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// How content is read, for those who give it.
const CONTENT: &str = "JSON is sent exactly as it is written. What begins with { must be a JSON \
    object, with each key once; a JSON array is refused; everything else is text. To send such \
    text as text, write it as a JSON string.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a server with a working example crew, in a throw-away directory
    Demo(Demo),
    /// Run the server
    Serve(Serve),
    /// People
    #[command(subcommand)]
    User(User),
    /// Agents' keys
    #[command(subcommand)]
    Key(Key),
    /// Callbacks
    #[command(subcommand)]
    Webhook(Webhook),
    /// How much keys may deliver
    #[command(subcommand)]
    Rate(Rate),
    /// How long content is kept
    #[command(subcommand)]
    Retention(Retention),
    /// Deliver work, as an agent (server in WAKE_ENDPOINT, key in WAKE_API_KEY)
    #[command(after_help = CONTENT)]
    Deliver(Deliver),
    /// The answer to one delivery, as an agent (server in WAKE_ENDPOINT, key in WAKE_API_KEY)
    Response {
        /// The delivery's id, or enough of its beginning if it was delivered from here
        id: String,
        /// Wait up to so many seconds for an answer, but not past the delivery's own time
        #[arg(long, default_value_t = 0, value_name = "SECONDS")]
        wait: u64,
        /// What you go on with if nobody answers in time; noted in your log
        #[arg(
            long,
            value_name = "TEXT",
            requires = "wait",
            allow_hyphen_values = true
        )]
        assume: Option<String>,
    },
    /// Answers to many deliveries, as an agent (server in WAKE_ENDPOINT, key in WAKE_API_KEY)
    Responses(Responses),
    /// What waits for you (token in WAKEFUL_TOKEN)
    Inbox(Inbox),
    /// Answer an item (token in WAKEFUL_TOKEN)
    #[command(after_help = CONTENT)]
    Respond(Respond),
    /// Take back an answer that is still held (token in WAKEFUL_TOKEN)
    Undo {
        /// The item's id, or enough of its beginning
        id: String,
    },
    /// Devices behind the relay
    #[command(subcommand)]
    Link(crate::link::cli::Link),
    /// The trail
    #[command(subcommand)]
    Trail(Trail),
    /// The system prompt that makes any agent WAKE-compliant
    Prompt {
        /// Whom it is for
        #[arg(long, value_name = "ID")]
        agent: String,
        /// The address agents use [default: the server's own]
        #[arg(long, value_name = "URL")]
        address: Option<String>,
        /// A framework: where the prompt goes in it, and code that delivers and waits
        #[arg(long = "for", value_name = "FRAMEWORK",
              value_parser = wake::Framework::ALL.map(wake::Framework::as_str))]
        framework: Option<String>,
    },
    /// A consistent copy of everything, while the server runs
    Backup {
        /// Where to write it; the file must not exist
        file: PathBuf,
        /// Put the keys into it too; keep such a file as safe as the keys
        #[arg(long)]
        with_keys: bool,
    },
    /// Put a backup into an empty data directory
    Restore {
        /// The backup
        file: PathBuf,
    },
    /// Shell completions
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
    /// The manual page
    Man,
    /// Fill a data directory for a benchmark. Read by [`Hidden`], so that no
    /// help, completion or suggestion knows of it.
    #[command(skip)]
    Preload(Preload),
}

/// The name of the one command that is only for ourselves.
pub const PRELOAD: &str = "__preload";

/// The command line of that command.
#[derive(Debug, Parser)]
#[command(name = PRELOAD)]
pub struct Hidden {
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub preload: Preload,
}

#[derive(Debug, Args)]
pub struct Demo {
    /// Where to listen
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7377")]
    pub listen: SocketAddr,
}

#[derive(Debug, Default, Args)]
pub struct Serve {
    /// Where to listen [default: 127.0.0.1:7377]
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,
    /// Settings, as TOML; flags come first
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Certificate chain, PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Its private key, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// The oldest TLS to speak: 1.2, as devices need it, or 1.3 [default: 1.2]
    #[arg(long, value_name = "VERSION")]
    pub tls_min: Option<String>,
    /// Networks of the proxies in front, which speak HTTPS to the world
    #[arg(long, value_name = "CIDR,…", value_delimiter = ',')]
    pub behind_proxy: Vec<String>,
    /// What the proxies send as the header Wakeful-Proxy-Secret is in this file
    #[arg(long, value_name = "FILE")]
    pub proxy_secret_file: Option<PathBuf>,
    /// The address agents use, for prompts [default: where it listens]
    #[arg(long, value_name = "URL")]
    pub address: Option<String>,
    /// The largest `details` an agent may send, in bytes, up to 16 MiB [default: 1048576]
    #[arg(long, value_name = "BYTES")]
    pub max_details: Option<usize>,
}

#[derive(Debug, Subcommand)]
pub enum User {
    /// Add a person; prints the token once. The first is the owner
    Create {
        /// 1 to 64 lowercase letters, digits, - or _, starting with a letter
        name: String,
        /// owner, reviewer (the default) or viewer
        #[arg(long)]
        role: Option<String>,
    },
    /// Everyone, with role and state
    List,
    /// Shut a person out until they are resumed
    Suspend {
        /// Whom
        name: String,
    },
    /// Let a suspended person in again
    Resume {
        /// Whom
        name: String,
    },
    /// Shut a person out for good; the name stays taken
    Deactivate {
        /// Whom
        name: String,
    },
    /// Give a person another role
    Role {
        /// Whom
        name: String,
        /// owner, reviewer or viewer
        role: String,
    },
    /// A new token, which replaces the old one
    Token {
        /// For whom
        name: String,
    },
    /// A link to sign in to the pages with, once; printed once
    SignInLink {
        /// For whom
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum Key {
    /// A key for an agent; printed once
    Create {
        /// The agent, which is made with its first key
        #[arg(long, value_name = "ID")]
        agent: String,
        /// For development: fewer deliveries, marked as tests
        #[arg(long)]
        test: bool,
        /// Other agents whose answers it may read
        #[arg(long, value_name = "ID,ID…", value_delimiter = ',')]
        orchestrator: Vec<String>,
        /// Deliveries per hour and burst
        #[arg(long, value_name = "PER_HOUR/BURST")]
        rate: Option<String>,
        /// Who owns the agent, if it is new
        #[arg(long, value_name = "NAME")]
        owner: Option<String>,
        /// Print the agent's four variables, as lines for its .env file
        #[arg(long)]
        env: bool,
    },
    /// All keys, without their secrets
    List,
    /// End a key at once
    Revoke {
        /// Which, as `key list` shows it
        key_id: String,
    },
    /// A successor; the old key works a while longer
    Rotate {
        /// Which, as `key list` shows it
        key_id: String,
        /// How much longer
        #[arg(long, value_name = "SECONDS", default_value_t = 86_400)]
        overlap: i64,
    },
}

#[derive(Debug, Subcommand)]
pub enum Webhook {
    /// Allow callbacks to a host
    Allow {
        /// hooks.example.com, *.example.com, either with :port
        pattern: String,
        /// Networks that are not public and may be reached all the same
        #[arg(long, value_name = "CIDR,…", value_delimiter = ',')]
        network: Vec<String>,
        /// Certificates to trust for this host, PEM
        #[arg(long, value_name = "FILE")]
        ca: Option<PathBuf>,
    },
    /// The hosts that are allowed
    List,
    /// Allow callbacks to a host no longer
    Remove {
        /// As it was allowed
        pattern: String,
    },
    /// A new secret for an agent; printed once, the old one overlaps for a day
    Secret {
        /// Whose
        #[arg(long, value_name = "ID")]
        agent: String,
    },
    /// Callbacks and what became of them
    Attempts {
        /// How many, 1 to 200
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// Send a callback again
    Replay {
        /// Which, as `webhook attempts` shows it
        id: u64,
    },
}

#[derive(Debug, Subcommand)]
pub enum Rate {
    /// Set what keys may deliver that have no rate of their own
    Set {
        /// Of which keys
        #[arg(value_parser = account::KeyKind::ALL.map(account::KeyKind::as_str))]
        keys: String,
        /// Deliveries an hour/at once, or "usual"
        #[arg(value_name = "PER_HOUR/BURST|usual")]
        rate: String,
    },
    /// The rates
    List,
}

#[derive(Debug, Subcommand)]
pub enum Retention {
    /// Erase content of a type so many days after its answer, its time-out or, of updates, its creation
    Set {
        #[arg(help = Kind::NAMES)]
        r#type: String,
        /// A number of days, or "keep"
        days: String,
    },
    /// The rules
    List,
    /// Erase now what is due
    Run,
}

#[derive(Debug, Args)]
pub struct Deliver {
    /// The key's own agent
    #[arg(long, value_name = "ID", env = "WAKE_AGENT_ID")]
    pub agent: String,
    /// Who makes your model
    #[arg(long, default_value = "shell", allow_hyphen_values = true)]
    pub provider: String,
    #[arg(long, short = 't', default_value = "output", help = Kind::NAMES)]
    pub r#type: String,
    /// What was accomplished, in at most 120 characters
    #[arg(long, short = 'H', allow_hyphen_values = true)]
    pub headline: String,
    /// One plain sentence of at most 280 characters
    #[arg(long, short = 's', allow_hyphen_values = true)]
    pub summary: String,
    /// Text, or a JSON object or string; "-" reads standard input
    #[arg(
        long,
        short = 'd',
        value_name = "TEXT|JSON",
        allow_hyphen_values = true
    )]
    pub details: Option<String>,
    /// How the details want to be shown [default: as what they look like]
    #[arg(long, value_name = "FORMAT",
          value_parser = DetailsFormat::ALL.map(DetailsFormat::as_str))]
    pub details_format: Option<String>,
    /// Where to be called back with the answer
    #[arg(long, value_name = "URL")]
    pub webhook: Option<String>,
    /// After how long you go on without an answer, 60 to 604800
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<i64>,
    /// The same key with the same delivery delivers once
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub idempotency_key: Option<String>,
    /// Wait for the answer, up to so many seconds, but not past --timeout
    #[arg(long, value_name = "SECONDS")]
    pub wait: Option<u64>,
    /// What you go on with if nobody answers in time; noted in your log
    #[arg(
        long,
        value_name = "TEXT",
        requires = "wait",
        allow_hyphen_values = true
    )]
    pub assume: Option<String>,
}

impl Deliver {
    /// What is sent, with its details as they were read. Every field that can be
    /// sent has a flag.
    pub fn delivery(&self, details: Option<Box<RawValue>>) -> Result<Delivery, Fault> {
        let kind = Kind::parse(&self.r#type).ok_or(Fault::NotOneOf {
            field: "type",
            expected: Kind::NAMES,
        })?;
        Ok(Delivery {
            r#type: kind,
            headline: self.headline.clone(),
            summary: self.summary.clone(),
            details,
            details_format: self
                .details_format
                .as_deref()
                .and_then(DetailsFormat::parse),
            callback_webhook: self.webhook.clone(),
            timeout_seconds: self.timeout,
        })
    }
}

#[derive(Debug, Args)]
pub struct Responses {
    /// Only this agent's [default: all that the key may read]
    #[arg(long, value_name = "ID", env = "WAKE_AGENT_ID")]
    pub agent: Option<String>,
    #[arg(long, value_name = "STATUS,…", help = format!("{} [default: all]", Status::NAMES))]
    pub status: Option<String>,
    /// Only what changed after this moment: the last sweep's "next"
    #[arg(long, value_name = "MOMENT")]
    pub since: Option<String>,
    /// How many, 1 to 200 [default: 50]
    #[arg(long)]
    pub limit: Option<u32>,
}

#[derive(Debug, Args)]
pub struct Inbox {
    /// Show one item whole: its id, or enough of its beginning
    pub id: Option<String>,
    /// Words that must all occur
    #[arg(long, short = 'q', allow_hyphen_values = true)]
    pub search: Option<String>,
    /// Only this agent's
    #[arg(long, value_name = "ID")]
    pub agent: Option<String>,
    #[arg(long, value_name = "TYPE,…", help = format!("{} [default: all]", Kind::NAMES))]
    pub r#type: Option<String>,
    #[arg(long, value_name = "STATUS,…", help = format!("{} [default: pending]", Status::NAMES))]
    pub status: Option<String>,
    /// Answered ones too
    #[arg(long, conflicts_with = "status")]
    pub all: bool,
    /// Only deliveries made with test keys; --test=false leaves them out
    #[arg(
        long,
        value_name = "true|false",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub test: Option<bool>,
    /// How many, 1 to 200
    #[arg(long, default_value_t = 50)]
    pub limit: u32,
    /// Where the page before ended
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}

#[derive(Debug, Args)]
pub struct Respond {
    /// The item's id, or enough of its beginning
    pub id: String,
    /// Your answer
    #[arg(value_parser = Verdict::ALL.map(Verdict::as_str))]
    pub status: String,
    /// What you want to say; redirected needs this or --edited
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub feedback: Option<String>,
    /// With redirected: what to use instead; text, or a JSON object or string
    #[arg(long, value_name = "TEXT|JSON", allow_hyphen_values = true)]
    pub edited: Option<String>,
    /// Seconds in which it can be undone, up to 30
    #[arg(long, default_value_t = 0, value_name = "SECONDS")]
    pub hold: i64,
}

#[derive(Debug, Subcommand)]
pub enum Trail {
    /// Entries, newest first, or all about one delivery
    Show {
        /// A delivery's id, or enough of its beginning
        delivery: Option<String>,
        /// Only this agent's
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        /// How many, 1 to 200
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Where the page before ended
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
    },
    /// Verify the data directory, an export or a receipt; reads the data itself
    Verify {
        /// An export or a receipt; without it the data directory
        file: Option<PathBuf>,
        /// The log's key: its text, or a file that holds it; older keys may follow
        #[arg(long, value_name = "KEY")]
        key: Vec<String>,
        /// A checkpoint that was kept: finds rollback and rewriting
        #[arg(long, value_name = "FILE")]
        since: Vec<PathBuf>,
        /// Accepted and without effect: what requests are answered from is always
        /// compared with what the trail says, on a copy
        #[arg(long, conflicts_with = "file", hide = true)]
        views: bool,
    },
    /// Write the whole log as a self-contained file
    Export {
        /// Where to write it
        file: PathBuf,
    },
    /// A receipt for a delivery's answer, or for one entry
    Proof {
        /// A delivery's id or enough of its beginning, or a position in the log (+17 if it could be either)
        subject: String,
    },
    /// The log's signed checkpoint: keep it somewhere else
    Checkpoint,
    /// The key that checkpoints are verified with
    Key,
    /// Sign the log with a new key from now on; the server must not run
    RotateKey,
    /// Make everything that follows from the entries anew; the server must not run
    Rebuild,
    /// Go on from the entries that hold, under a new origin, when the log itself
    /// is damaged; the server must not run
    Continue,
}

#[derive(Debug, Args)]
pub struct Preload {
    #[arg(long)]
    pub agent: String,
    #[arg(long)]
    pub count: u64,
    #[arg(long, default_value_t = 0)]
    pub answered_percent: u64,
}

/// Common options that a command has no use for: not offered with it, and
/// refused when given all the same. Variables stay unread.
pub const UNUSED: [(&str, &[&str]); 7] = [
    ("demo", &["data", "server", "server_ca", "body_key", "json"]),
    ("serve", &["server", "server_ca", "json"]),
    ("link", &["body_key"]),
    ("backup", &["server", "server_ca", "body_key"]),
    ("restore", &["server", "server_ca"]),
    (
        "completions",
        &["data", "server", "server_ca", "body_key", "json"],
    ),
    ("man", &["data", "server", "server_ca", "body_key", "json"]),
];

/// All commands, each with the common options.
pub fn whole() -> clap::Command {
    Cli::command().mut_subcommands(name_those_below)
}

/// What is said of a group of commands ends with their names.
fn name_those_below(group: clap::Command) -> clap::Command {
    let below = group.get_subcommands().filter(|one| !one.is_hide_set());
    let names: Vec<&str> = below.map(clap::Command::get_name).collect();
    match group.get_about() {
        Some(about) if !names.is_empty() => {
            let about = format!("{about}: {}", names.join(", "));
            group.about(about)
        }
        _ => group,
    }
}

/// The command line as it is offered.
pub fn command() -> clap::Command {
    let whole = whole();
    let common: Vec<Arg> = whole.get_arguments().cloned().collect();
    UNUSED.iter().fold(whole, |whole, (name, unused)| {
        let unused = common
            .iter()
            .filter(|option| unused.contains(&option.get_id().as_str()))
            .map(|option| option.clone().hide(true));
        whole.mut_subcommand(name, |command| command.args(unused))
    })
}

impl Cli {
    pub fn log_level(&self) -> tracing::Level {
        let asked = std::env::var("WAKEFUL_LOG")
            .ok()
            .and_then(|level| level.parse().ok());
        asked.unwrap_or(if self.stays() {
            tracing::Level::INFO
        } else {
            tracing::Level::WARN
        })
    }

    /// Whether it runs until it is stopped, with a log to tell what happens.
    fn stays(&self) -> bool {
        use crate::link::cli::Link;
        matches!(
            self.command,
            Command::Serve(_) | Command::Link(Link::Device(_))
        )
    }

    /// A server's log is for machines, unless someone watches it.
    pub fn log_json(&self) -> bool {
        use std::io::IsTerminal as _;
        self.stays() && !std::io::stderr().is_terminal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &clap::Command, path: &str) {
        let visible = command.get_arguments().filter(|arg| !arg.is_hide_set());
        for option in visible {
            assert!(option.get_help().is_some(), "{path} {}", option.get_id());
        }
        for command in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            let path = format!("{path} {}", command.get_name());
            assert!(command.get_about().is_some(), "{path}");
            check(command, &path);
        }
    }

    #[test]
    fn every_command_and_every_option_says_what_it_does() {
        command().debug_assert();
        check(&command(), "wakeful");
    }

    #[test]
    fn what_a_command_has_no_use_for_is_not_offered_with_it() {
        for (name, unused) in UNUSED {
            let mut whole = command();
            whole.build();
            let command = whole.find_subcommand_mut(name).expect("a command");
            let help = command.render_long_help().to_string();
            for option in unused {
                let option = format!("--{} ", option.replace('_', "-"));
                assert!(!help.contains(&option), "{name} offers {option}");
            }
        }
    }
}
