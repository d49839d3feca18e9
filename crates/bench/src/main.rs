//! What a durable delivery costs: Wakeful beside a plain server and bare SQLite,
//! in the same run, on the same disk, under the same load.

mod attack;
mod child;
mod connection;
mod contender;
mod load;
mod pages;
mod plain;
mod raw;
mod relay;
mod report;
mod scout;
mod table;
mod wake;
mod wakeful;
mod watchers;
mod work;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand, ValueEnum};

#[derive(Parser)]
#[command(about = "Measures Wakeful beside a plain server and bare SQLite")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Deliveries, cycles, polls and sweeps over WAKE.
    Wake(Wake),
    /// How long each page takes, and how large it is.
    Pages(Pages),
    /// Packets between devices and clients, beside a bare relay and one on Node.
    Relay(RelayPlan),
    /// Deliveries while thousands watch the trail grow, and while nobody does.
    Watchers(Watchers),
    /// Every resource attack at once, while people answer and agents deliver.
    Attack(Attack),
    /// The bare relay, as its own process.
    #[command(hide = true)]
    BareRelay {
        #[arg(long)]
        listen: SocketAddr,
        #[arg(long)]
        read_bytes: usize,
        #[arg(long, requires = "tls_key")]
        tls_cert: Option<PathBuf>,
        #[arg(long, requires = "tls_cert")]
        tls_key: Option<PathBuf>,
    },
    /// The plain server, as its own process.
    #[command(hide = true)]
    PlainServer {
        #[arg(long)]
        data: PathBuf,
        #[arg(long)]
        listen: SocketAddr,
    },
    /// Fills the plain server's store.
    #[command(hide = true)]
    PlainPreload {
        #[arg(long)]
        data: PathBuf,
        #[arg(long)]
        count: u64,
    },
}

/// What is measured, and on which disk.
#[derive(clap::Args)]
struct Places {
    /// The server to measure; the one built beside this program unless given.
    #[arg(long)]
    wakeful: Option<PathBuf>,
    /// Where the stores are made; must be on a real disk. The target directory unless given.
    #[arg(long)]
    dir: Option<PathBuf>,
}

/// Where everything is.
struct Found {
    /// This program.
    program: PathBuf,
    wakeful: PathBuf,
    dir: PathBuf,
    target: PathBuf,
}

impl Places {
    fn find(self) -> Result<Found> {
        let program = std::env::current_exe()?;
        let beside = program
            .parent()
            .context("the program lies in a directory")?;
        let target = beside.parent().unwrap_or(beside).to_owned();
        Ok(Found {
            wakeful: self.wakeful.unwrap_or_else(|| beside.join("wakeful")),
            dir: self.dir.unwrap_or_else(|| target.clone()),
            target,
            program,
        })
    }
}

fn done(well: bool) -> ExitCode {
    match well {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

#[derive(clap::Args)]
struct Pages {
    #[command(flatten)]
    places: Places,
    /// Deliveries already in the store, one whole set of measurements for each.
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 1_000_000])]
    preload: Vec<u64>,
}

#[derive(clap::Args)]
struct Watchers {
    #[command(flatten)]
    places: Places,
    /// How many watch.
    #[arg(long, default_value_t = 3_000)]
    watchers: usize,
    /// How long each measurement lasts.
    #[arg(long, default_value_t = 20.0)]
    seconds: f64,
}

#[derive(clap::Args)]
struct Attack {
    #[command(flatten)]
    places: Places,
    /// How long the attack lasts, after a fifth of it without.
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Leave out: bodies, sockets, searches, streams, key, readers, passwords.
    #[arg(long, value_delimiter = ',')]
    without: Vec<String>,
    /// The processors that the server may use, such as "0-1"; those of this
    /// program unless given.
    #[arg(long)]
    processors: Option<String>,
}

#[derive(clap::Args)]
struct RelayPlan {
    #[command(flatten)]
    places: Places,
    /// How long each measurement lasts, after a warm-up of a fifth of it.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// How often each measurement is taken; the median is reported.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Pairs that relay at once, one measurement for each.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 100, 1_000])]
    pairs: Vec<usize>,
    /// Packets of each pair that are on their way at once.
    #[arg(long, default_value_t = 64)]
    in_flight: usize,
    /// Idle connections that are held.
    #[arg(long, default_value_t = 10_000)]
    idle: usize,
    /// Where the figures go; `bench-relay.json` in the target directory unless given.
    #[arg(long)]
    json: Option<PathBuf>,
}

#[derive(clap::Args)]
struct Wake {
    #[command(flatten)]
    places: Places,
    /// How long each measurement lasts, after a warm-up of a fifth of it.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// How often each measurement is taken; the median is reported.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Deliveries already in the store, one whole set of measurements for each.
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 1_000_000])]
    preload: Vec<u64>,
    /// Where the figures go; `bench-wake.json` in the target directory unless given.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Another build of the server, measured in place of the plain one.
    #[arg(long, conflicts_with = "only")]
    beside: Option<PathBuf>,
    /// Only measurements whose name contains this, such as "deliver" or "cycle x64".
    #[arg(long)]
    point: Option<String>,
    /// Measure one server alone.
    #[arg(long, hide = true)]
    only: Option<Only>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Only {
    Plain,
    Wakeful,
}

fn main() -> Result<ExitCode> {
    match Arguments::parse().command {
        Command::Wake(arguments) => wake(arguments),
        Command::Pages(arguments) => pages(arguments),
        Command::Relay(arguments) => relay(arguments),
        Command::Attack(arguments) => attack(arguments),
        Command::Watchers(arguments) => watch(arguments),
        Command::BareRelay {
            listen,
            read_bytes,
            tls_cert,
            tls_key,
        } => {
            let files = tls_cert.zip(tls_key);
            let tls = files.map(|(certificate, key)| relay::Files { certificate, key });
            tokio::runtime::Runtime::new()?.block_on(relay::serve_bare(listen, read_bytes, tls))?;
            Ok(ExitCode::SUCCESS)
        }
        Command::PlainServer { data, listen } => {
            tokio::runtime::Runtime::new()?.block_on(plain::serve(&data, listen))?;
            Ok(ExitCode::SUCCESS)
        }
        Command::PlainPreload { data, count } => {
            plain::store::preload(&data, &plain::row_of(work::DELIVERY)?, count)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn pages(arguments: Pages) -> Result<ExitCode> {
    let found = arguments.places.find()?;
    let plan = pages::Plan {
        wakeful: found.wakeful,
        preloads: arguments.preload,
        dir: found.dir,
    };
    pages::run(&plan).map(done)
}

fn watch(arguments: Watchers) -> Result<ExitCode> {
    let found = arguments.places.find()?;
    let plan = watchers::Plan {
        wakeful: found.wakeful,
        watchers: arguments.watchers,
        measured: Duration::try_from_secs_f64(arguments.seconds).context("--seconds")?,
        dir: found.dir,
    };
    watchers::run(&plan).map(done)
}

fn attack(arguments: Attack) -> Result<ExitCode> {
    let found = arguments.places.find()?;
    let minutes = |share: f64| Duration::try_from_secs_f64(arguments.minutes * 60.0 * share);
    let plan = attack::Plan {
        wakeful: found.wakeful,
        attack: minutes(1.0).context("--minutes")?,
        before: minutes(0.2)
            .context("--minutes")?
            .max(Duration::from_secs(20)),
        dir: found.dir,
        processors: arguments.processors,
        without: arguments.without,
    };
    attack::run(&plan).map(done)
}

fn relay(arguments: RelayPlan) -> Result<ExitCode> {
    let found = arguments.places.find()?;
    let plan = relay::Plan {
        wakeful: found.wakeful,
        node: std::env::var_os("WAKEFUL_TEST_NODE").map(PathBuf::from),
        pairs: arguments.pairs,
        in_flight: arguments.in_flight.max(1),
        idle: arguments.idle,
        measured: Duration::try_from_secs_f64(arguments.seconds).context("--seconds")?,
        rounds: arguments.rounds.max(1),
        dir: found.dir,
        json: arguments
            .json
            .unwrap_or_else(|| found.target.join("bench-relay.json")),
    };
    relay::run(&plan, &found.program)?;
    eprintln!("figures in {}", plan.json.display());
    Ok(ExitCode::SUCCESS)
}

fn wake(arguments: Wake) -> Result<ExitCode> {
    let found = arguments.places.find()?;
    let plan = wake::Plan {
        wakeful: found.wakeful,
        beside: arguments.beside,
        with_plain: arguments.only != Some(Only::Wakeful),
        with_wakeful: arguments.only != Some(Only::Plain),
        measured: Duration::try_from_secs_f64(arguments.seconds).context("--seconds")?,
        rounds: arguments.rounds.max(1),
        preloads: arguments.preload,
        dir: found.dir,
        point: arguments.point.unwrap_or_default(),
    };
    let report = wake::run(&plan, &found.program)?;
    let json = arguments
        .json
        .unwrap_or_else(|| found.target.join("bench-wake.json"));
    report.write_json(&json)?;
    report.print(&mut std::io::stdout().lock())?;
    eprintln!("figures in {}", json.display());
    Ok(if report.failures == 0 {
        ExitCode::SUCCESS
    } else {
        eprintln!(
            "{} requests failed; the figures do not count",
            report.failures
        );
        ExitCode::FAILURE
    })
}
