//! The command line of `wakeful link`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What may be asked, for those who ask.
const COMMANDS: &str = "COMMAND is ping, info, or a JSON object such as \
    {\"do\":\"wake\",\"target\":\"nas\"}. The server passes it on and cannot read it.";

/// What a device is told of itself, for those who write it.
const CONFIG: &str = r#"The file, as TOML; paths in it start where it lies:

  server = "https://wakeful.example.com"
  agent = "WL35080814"
  token-file = "token"            # the wld_ token
  secret-file = "secret"          # made by `wakeful link pair`

  [[target]]                      # what may be woken; nothing else is
  name = "nas"
  mac = "00:11:22:aa:bb:cc"
  password = "01:02:03:04:05:06"  # SecureOn, if its card wants it

  [[network]]                     # where; without one, everyone on the usual network
  interface = "eth0"
  broadcast = "192.168.1.255"
  port = 9"#;

#[derive(Debug, Subcommand)]
pub enum Link {
    /// Make a device known to the server; prints its token (yours in WAKEFUL_TOKEN)
    Add {
        /// The device's agent id [default: the server chooses one]
        device: Option<String>,
        /// Write the token to this new file, for its owner alone, instead of printing it
        #[arg(long, value_name = "FILE")]
        token_file: Option<PathBuf>,
    },
    /// A device's token again, or a new one (yours in WAKEFUL_TOKEN)
    Token {
        /// The device's agent id
        device: String,
        /// A new token; the old one opens nothing from then on
        #[arg(long)]
        renew: bool,
        /// Write the token to this file, for its owner alone, instead of printing it
        #[arg(long, value_name = "FILE")]
        token_file: Option<PathBuf>,
    },
    /// Take a device away: its token opens nothing from then on (yours in WAKEFUL_TOKEN)
    Remove {
        /// The device's agent id
        device: String,
    },
    /// Show a device's secret as a code and a picture, or take one from elsewhere
    Pair(Pair),
    /// Be a device: stay connected and do what its owner's clients ask
    #[command(after_help = CONFIG)]
    Device(Device),
    /// Ask a device for something (token in WAKEFUL_TOKEN)
    #[command(after_help = COMMANDS)]
    Send {
        /// The device's agent id
        device: String,
        /// What to ask
        command: String,
        #[command(flatten)]
        how: How,
    },
    /// Let a device wake a machine on its network (token in WAKEFUL_TOKEN)
    Wake {
        /// The device's agent id
        device: String,
        /// The machine's name on the device's list, or its hardware address
        target: String,
        #[command(flatten)]
        how: How,
    },
    /// Your devices, and which are online (token in WAKEFUL_TOKEN)
    Status {
        /// Only this one; ends with 1 if it is not online
        device: Option<String>,
    },
    /// Say when devices come and go, until it is stopped (token in WAKEFUL_TOKEN)
    Watch,
}

#[derive(Debug, Args)]
pub struct Pair {
    /// The device's agent id
    pub device: String,
    /// Take the code that the other side shows, from standard input
    #[arg(long)]
    pub accept: bool,
    /// Put a new secret in the place of the one that is there
    #[arg(long)]
    pub replace: bool,
    /// Where the secret is kept [default: in the platform's directory for state]
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Device {
    /// What it is and may do, as TOML
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// The device's wld_ token, instead of the file's token-file
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The device's secret, instead of the file's secret-file
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
    /// Print a systemd unit that runs it, and end
    #[arg(long)]
    pub print_unit: bool,
}

#[derive(Debug, Args)]
pub struct How {
    /// How long the device may take
    #[arg(long, value_name = "SECONDS", default_value_t = 10,
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub wait: u64,
    /// Where the secret is kept [default: where `pair` put it]
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
}
