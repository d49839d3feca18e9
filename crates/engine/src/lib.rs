//! When it happens. Commands queue for one writer; it decides them in batches
//! on the last durable state plus what the batch has staged, makes the batch
//! durable with one sync, and only then tells anyone.
//!
//! ```text
//! submit ──► queue ──► load rows ──► decide + project ──► append ──► publish, reply
//! ```
//!
//! What is held in memory is bounded by the number of agents and people, never
//! by the number of deliveries. If a commit fails, all of it is dropped and
//! loaded again: memory never runs ahead of the disk.

#[cfg(not(feature = "breaks"))]
mod breaks;
#[cfg(feature = "breaks")]
pub mod breaks;
pub mod clock;
pub mod command;
mod core;
mod decide;
pub mod event;
pub mod keys;
mod log;
pub mod look;
mod news;
mod project;
pub mod proof;
mod random;
pub mod reached;
pub mod read;
pub mod rebuild;
pub mod refusal;
mod replaced;
mod shared;
mod signers;
mod stage;
pub mod turns;
pub mod vault;
mod writer;

use std::{pin::Pin, sync::Arc};

use store::Prefix;
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use trail::rotation::Rotation;

pub use clock::Clock;
pub use command::{Command, Reply};
pub use event::Event;
pub use keys::Keys;
pub use random::Entropy;
pub use read::Row;
pub use refusal::Refusal;
pub use shared::{Health, Shared};
pub use turns::Turns;
pub use vault::Vault;

/// Commands that may wait; one more is refused as busy.
const QUEUE: usize = 8192;

/// A started engine. Clones share it; the writer ends when all are gone and
/// [`Engine::stop`] was called.
#[derive(Clone, Debug)]
pub struct Engine {
    queue: mpsc::Sender<writer::Job>,
    shared: Arc<Shared>,
}

/// What an engine is started with.
#[derive(Debug)]
pub struct Setup {
    pub store: Arc<dyn store::Store>,
    pub keys: Keys,
    pub vault: Vault,
    pub clock: Clock,
}

/// The writer's thread. Not part of an async function, which would be compiled
/// in every crate that calls it, and without the future's type, of which the
/// runtime would have several copies.
fn write(
    writer: writer::Writer,
    jobs: mpsc::Receiver<writer::Job>,
    started: oneshot::Sender<Result<(), String>>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let _ = started.send(runtime.as_ref().map(drop).map_err(ToString::to_string));
    if let Ok(runtime) = runtime {
        let work: Pin<Box<dyn Future<Output = ()>>> = Box::pin(writer.run(jobs));
        runtime.block_on(work);
    }
}

impl Engine {
    /// Recovers from the store and starts the writer on a thread of its own.
    pub async fn start(setup: Setup) -> Result<Engine, StartFault> {
        setup.vault.check(setup.store.as_ref()).await?;
        let shared = Arc::new(Shared::new(setup));
        let writer = writer::Writer::open(Arc::clone(&shared), Instant::now()).await?;
        let (queue, jobs) = mpsc::channel(QUEUE);
        let (started, ready) = oneshot::channel();
        std::thread::Builder::new()
            .name("writer".to_owned())
            .spawn(move || write(writer, jobs, started))
            .map_err(|error| StartFault::Thread(error.to_string()))?;
        match ready.await {
            Ok(Ok(())) => Ok(Engine { queue, shared }),
            Ok(Err(error)) => Err(StartFault::Thread(error)),
            Err(_) => Err(StartFault::Thread("the writer ended at once".to_owned())),
        }
    }

    /// After a restore: continues the log under the new origin of `keys`.
    pub async fn continue_log(setup: Setup) -> Result<(), StartFault> {
        writer::Writer::continue_log(&Shared::new(setup)).await
    }

    /// Cuts off what does not hold and continues the log under the new origin of
    /// `keys`; says in its next entry what is missing. The store is a copy that
    /// nobody else uses.
    pub async fn continue_log_from(setup: Setup, prefix: Prefix) -> Result<(), StartFault> {
        writer::Writer::continue_log_from(&Shared::new(setup), prefix).await
    }

    /// Hands the log over to the key of `setup`; the old key has signed for it.
    pub async fn rotate_log_key(setup: Setup, rotation: Rotation) -> Result<(), StartFault> {
        let rotated = account::event::LogKeyRotated {
            new_key: rotation.new_key,
            new_signature: rotation.new_signature,
            old_key: rotation.old_key,
            old_signature: rotation.old_signature,
        };
        let shared = Shared::new(setup);
        writer::Writer::rotate_log_key(&shared, rotated).await
    }

    /// Sends a command to the writer. An answer means that it is durable.
    pub async fn submit(&self, command: impl Into<Command>) -> Result<Reply, Refusal> {
        self.ask(command.into()).await
    }

    async fn ask(&self, command: Command) -> Result<Reply, Refusal> {
        let (answer, answered) = oneshot::channel();
        let job = writer::Job::Command {
            command: Box::new(command),
            answer,
        };
        self.queue.try_send(job).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Refusal::Busy,
            mpsc::error::TrySendError::Closed(_) => Refusal::Stopping,
        })?;
        answered.await.unwrap_or(Err(Refusal::Stopping))
    }

    /// Erases now what retention rules say; gives the number of deliveries.
    pub async fn retain(&self) -> Result<u64, Refusal> {
        let (answer, answered) = oneshot::channel();
        let job = writer::Job::Retain(answer);
        self.queue.send(job).await.map_err(|_| Refusal::Stopping)?;
        answered.await.unwrap_or(Err(Refusal::Stopping))
    }

    /// Lets the writer finish what is queued, then ends it.
    pub async fn stop(&self) {
        let (done, finished) = oneshot::channel();
        if self.queue.send(writer::Job::Stop(done)).await.is_ok() {
            let _ = finished.await;
        }
    }

    /// Whether the writer is there. If it ended without being asked to, nothing is
    /// written any more.
    pub fn is_running(&self) -> bool {
        !self.queue.is_closed()
    }

    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

/// Why a batch was not written. Nothing of it was, unless the store cannot tell:
/// then the next turn finds out.
#[derive(Debug, thiserror::Error)]
pub enum CommitFault {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("the batch could not be sealed")]
    Unsealed,
    /// A mistake of ours: a command does not say all that it reads.
    #[error("{0} was read and had not been asked for")]
    Forgotten(&'static str),
    #[error("the state could not be loaded: {0}")]
    Load(#[from] StartFault),
    /// What another process has written cannot follow what this one knows.
    #[error("the log has moved: {0}")]
    Moved(String),
}

/// Why an engine could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartFault {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Vault(#[from] vault::VaultFault),
    #[error(transparent)]
    Short(#[from] reached::Shortfall),
    #[error("the log's key in keys/trail.key does not fit the data: {0}")]
    WrongKey(String),
    #[error(
        "the stored log is damaged: {0}; run `wakeful trail rebuild`, or if that does not mend \
         it `wakeful trail continue`"
    )]
    Damaged(String),
    #[error(transparent)]
    Rebuild(#[from] rebuild::RebuildFault),
    #[error("a rebuild of the views was cut short; run `wakeful trail rebuild` again")]
    Unfinished,
    #[error("could not start the writer: {0}")]
    Thread(String),
}
