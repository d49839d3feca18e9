//! The command line, which scripts rely on.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand};

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
pub struct Place {
    /// The data directory [default: the platform's, such as ~/.local/share/wakeful]
    #[arg(long, global = true, value_name = "DIR", env = "WAKEFUL_DATA")]
    pub data: Option<PathBuf>,
    /// A server elsewhere; its token is read from WAKEFUL_TOKEN
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "WAKEFUL_SERVER",
        conflicts_with = "data"
    )]
    pub server: Option<String>,
    /// Trust these certificates too when talking to --server
    #[arg(long, global = true, value_name = "FILE", env = "WAKEFUL_CA")]
    pub server_ca: Option<PathBuf>,
    /// Content at rest is encrypted with the key in this file
    #[arg(long, global = true, value_name = "FILE", env = "WAKEFUL_BODY_KEY")]
    pub body_key: Option<PathBuf>,
    /// Print data as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a server with a working example crew, in a throw-away directory
    Demo(Demo),
    /// Run the server
    Serve(Serve),
    /// People: create, list, suspend, resume, deactivate, role, token
    #[command(subcommand)]
    User(User),
    /// Agents' keys: create, list, revoke, rotate
    #[command(subcommand)]
    Key(Key),
    /// Callbacks: allow, list, remove, secret, attempts, replay
    #[command(subcommand)]
    Webhook(Webhook),
    /// How long content is kept: set, list, run
    #[command(subcommand)]
    Retention(Retention),
    /// Deliver work, as an agent (key in WAKE_API_KEY)
    Deliver(Deliver),
    /// The answer to one delivery, as an agent (key in WAKE_API_KEY)
    Response {
        id: String,
        /// Wait up to so many seconds for an answer
        #[arg(long, default_value_t = 0, value_name = "SECONDS")]
        wait: u64,
    },
    /// Answers to many deliveries, as an agent (key in WAKE_API_KEY)
    Responses(Responses),
    /// What waits for you (token in WAKEFUL_TOKEN)
    Inbox(Inbox),
    /// Answer an item (token in WAKEFUL_TOKEN)
    Respond(Respond),
    /// Take back an answer that is still held (token in WAKEFUL_TOKEN)
    Undo { id: String },
    /// The trail: show, verify, export, proof, checkpoint, key, rotate-key, rebuild
    #[command(subcommand)]
    Trail(Trail),
    /// The system prompt that makes any agent WAKE-compliant
    Prompt {
        #[arg(long, value_name = "ID")]
        agent: String,
        /// The address agents use [default: the server's own]
        #[arg(long, value_name = "URL")]
        address: Option<String>,
    },
    /// A consistent copy of everything, while the server runs
    Backup {
        file: PathBuf,
        /// Put the keys into it too; keep such a file as safe as the keys
        #[arg(long)]
        with_keys: bool,
    },
    /// Put a backup into an empty data directory
    Restore { file: PathBuf },
    /// Shell completions
    Completions { shell: clap_complete::Shell },
    /// The manual page
    Man,
    /// Fill a data directory for a benchmark
    #[command(name = "__preload", hide = true)]
    Preload(Preload),
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
    /// Networks of the proxies in front, which speak HTTPS to the world
    #[arg(long, value_name = "CIDR,…", value_delimiter = ',')]
    pub behind_proxy: Vec<String>,
    /// The address agents use, for prompts [default: where it listens]
    #[arg(long, value_name = "URL")]
    pub address: Option<String>,
    /// The largest `details` an agent may send, in bytes
    #[arg(long, value_name = "BYTES")]
    pub max_details: Option<usize>,
}

#[derive(Debug, Subcommand)]
pub enum User {
    /// Add a person; prints the token once. The first is the owner
    Create {
        name: String,
        /// owner, reviewer (the default) or viewer
        #[arg(long)]
        role: Option<String>,
    },
    List,
    Suspend {
        name: String,
    },
    Resume {
        name: String,
    },
    /// For good
    Deactivate {
        name: String,
    },
    Role {
        name: String,
        role: String,
    },
    /// A new token, which replaces the old one
    Token {
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum Key {
    /// A key for an agent; printed once
    Create {
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
    },
    List,
    Revoke {
        key_id: String,
    },
    /// A successor; the old key works a while longer
    Rotate {
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
        /// A network that is not public and may be reached all the same
        #[arg(long, value_name = "CIDR")]
        network: Vec<String>,
        /// Certificates to trust for this host, PEM
        #[arg(long, value_name = "FILE")]
        ca: Option<PathBuf>,
    },
    List,
    Remove {
        pattern: String,
    },
    /// A new secret for an agent; printed once, the old one overlaps for a day
    Secret {
        #[arg(long, value_name = "ID")]
        agent: String,
    },
    /// Callbacks and what became of them
    Attempts {
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// Send a callback again
    Replay {
        id: u64,
    },
}

#[derive(Debug, Subcommand)]
pub enum Retention {
    /// Erase content of a type so many days after its answer
    Set {
        /// update, question, output or alert
        r#type: String,
        /// A number of days, or "keep"
        days: String,
    },
    List,
    /// Erase now what is due
    Run,
}

#[derive(Debug, Args)]
pub struct Deliver {
    #[arg(long, value_name = "ID", env = "WAKE_AGENT_ID")]
    pub agent: String,
    #[arg(long, default_value = "shell")]
    pub provider: String,
    /// update, question, output or alert
    #[arg(long, short = 't', default_value = "output")]
    pub r#type: String,
    #[arg(long, short = 'H')]
    pub headline: String,
    #[arg(long, short = 's')]
    pub summary: String,
    /// Text, or a JSON object; "-" reads standard input
    #[arg(long, short = 'd')]
    pub details: Option<String>,
    #[arg(long, value_name = "URL")]
    pub webhook: Option<String>,
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<i64>,
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Wait for the answer, up to so many seconds
    #[arg(long, value_name = "SECONDS")]
    pub wait: Option<u64>,
}

#[derive(Debug, Args)]
pub struct Responses {
    #[arg(long, value_name = "ID")]
    pub agent: Option<String>,
    #[arg(long, value_name = "STATUS,…")]
    pub status: Option<String>,
    #[arg(long, value_name = "MOMENT")]
    pub since: Option<String>,
    #[arg(long)]
    pub limit: Option<u32>,
}

#[derive(Debug, Args)]
pub struct Inbox {
    /// Show one item whole
    pub id: Option<String>,
    /// Words that must all occur
    #[arg(long, short = 'q')]
    pub search: Option<String>,
    #[arg(long, value_name = "ID")]
    pub agent: Option<String>,
    #[arg(long, value_name = "TYPE,…")]
    pub r#type: Option<String>,
    /// [default: pending]
    #[arg(long, value_name = "STATUS,…")]
    pub status: Option<String>,
    /// Answered ones too
    #[arg(long, conflicts_with = "status")]
    pub all: bool,
    #[arg(long, default_value_t = 50)]
    pub limit: u32,
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}

#[derive(Debug, Args)]
pub struct Respond {
    pub id: String,
    #[arg(value_parser = ["approved", "rejected", "redirected"])]
    pub status: String,
    #[arg(long, value_name = "TEXT")]
    pub feedback: Option<String>,
    /// With redirected: what to use instead, an object or a string
    #[arg(long, value_name = "JSON")]
    pub edited: Option<String>,
    /// Seconds in which it can be undone
    #[arg(long, default_value_t = 0, value_name = "SECONDS")]
    pub hold: i64,
}

#[derive(Debug, Subcommand)]
pub enum Trail {
    /// Entries, newest first, or all about one delivery
    Show {
        /// A delivery's id
        delivery: Option<String>,
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        #[arg(long, default_value_t = 50)]
        limit: u32,
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
        /// Also compare what requests are answered from with what the trail
        /// says, on a copy
        #[arg(long, conflicts_with = "file")]
        views: bool,
    },
    /// Write the whole log as a self-contained file
    Export { file: PathBuf },
    /// A receipt for a delivery's answer, or for one entry
    Proof {
        /// A delivery's id, or a position in the log
        subject: String,
    },
    /// The log's signed checkpoint: keep it somewhere else
    Checkpoint,
    /// The key that checkpoints are verified with
    Key,
    /// Sign the log with a new key from now on; the server must not run
    RotateKey,
    /// Make the views anew from the trail; the server must not run
    Rebuild,
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

impl Cli {
    pub fn log_level(&self) -> tracing::Level {
        let asked = std::env::var("WAKEFUL_LOG")
            .ok()
            .and_then(|level| level.parse().ok());
        let serves = matches!(self.command, Command::Serve(_));
        asked.unwrap_or(if serves {
            tracing::Level::INFO
        } else {
            tracing::Level::WARN
        })
    }

    /// A server's log is for machines, unless someone watches it.
    pub fn log_json(&self) -> bool {
        use std::io::IsTerminal as _;
        matches!(self.command, Command::Serve(_)) && !std::io::stderr().is_terminal()
    }
}
