//! The program: arguments in, exit codes out. No rules live here.

mod arguments;
mod cli;
mod commands;
mod connect;
mod content;
mod crew;
mod house;
mod link;
mod list;
mod manual;
mod output;
mod prefix;

use std::{pin::Pin, process::ExitCode};

/// Many small things are made and dropped on different threads for each request.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How a command ended, when it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Done,
    /// Refused or not found.
    Refused,
    /// The trail does not verify.
    Unverified,
}

fn main() -> ExitCode {
    let cli = arguments::read();
    output::start_log(cli.log_level(), cli.log_json());
    // One provider for all of TLS; a second call would only say that it is set.
    let _ = server::tls::provider().install_default();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            output::say(&format!("wakeful: could not start: {error}"));
            return ExitCode::from(2);
        }
    };
    // Without its type: the runtime has a copy of its own for each that it runs.
    let work: Pin<Box<dyn Future<Output = _>>> = Box::pin(async {
        outlive_file_limits();
        commands::run(cli).await
    });
    match runtime.block_on(work) {
        Ok(Ending::Done) => ExitCode::SUCCESS,
        Ok(Ending::Refused) => ExitCode::from(1),
        Ok(Ending::Unverified) => ExitCode::from(3),
        Err(error) => {
            // A server may have had its say in it.
            output::say(&output::lines(&format!("wakeful: {error:#}")));
            ExitCode::from(2)
        }
    }
}

/// A file that would grow beyond its limit (`ulimit -f`) raises SIGXFSZ, whose
/// default is to end the process. Once someone waits for the signal that is
/// over, for good, and the write fails like one on a full disk.
fn outlive_file_limits() {
    use tokio::signal::unix::{SignalKind, signal};
    /// The same number on every system that we run on.
    const SIGXFSZ: i32 = 25;
    if let Err(error) = signal(SignalKind::from_raw(SIGXFSZ)) {
        tracing::warn!(%error, "a limit on the size of files would end the program");
    }
}
