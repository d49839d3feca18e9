//! The writer without its thread and its sleep.
//!
//! [`crate::Engine`] gives its writer a thread and a queue. Whoever drives the
//! writer itself, as the simulator does, decides when it takes a turn, what it
//! finds waiting, what time it is and which random bytes it draws, and may drop
//! it at any point at which it waits for the store. Everything else is the same
//! code: recovery, timers, deciding, committing, chores.

use std::sync::Arc;

use tokio::{sync::oneshot, time::Instant};

use crate::{
    Command, Entropy, Refusal, Reply, Setup, Shared, StartFault,
    writer::{Job, Writer},
};

#[derive(Debug)]
pub struct Turns {
    writer: Writer,
    shared: Arc<Shared>,
    jobs: Vec<Job>,
}

/// What a command comes to; it is there when the turn that did it has told.
pub type Told<T> = oneshot::Receiver<Result<T, Refusal>>;

impl Turns {
    /// Recovers from the store, as [`crate::Engine::start`] does. `now` is for
    /// chores alone; everything that is recorded goes by the clock of the setup.
    pub async fn open(setup: Setup, entropy: Entropy, now: Instant) -> Result<Turns, StartFault> {
        setup.vault.check(setup.store.as_ref()).await?;
        let mut shared = Shared::new(setup);
        shared.entropy = entropy;
        let shared = Arc::new(shared);
        let writer = Writer::open(Arc::clone(&shared), now).await?;
        Ok(Turns {
            writer,
            shared,
            jobs: Vec::new(),
        })
    }

    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Lets a command wait for the next turn.
    pub fn submit(&mut self, command: impl Into<Command>) -> Told<Reply> {
        let (answer, told) = oneshot::channel();
        let command = Box::new(command.into());
        self.jobs.push(Job::Command { command, answer });
        told
    }

    /// Asks for what retention rules say to be erased; that takes some turns.
    pub fn retain(&mut self) -> Told<u64> {
        let (answer, told) = oneshot::channel();
        self.jobs.push(Job::Retain(answer));
        told
    }

    /// Takes a turn; `now` is for chores, as in [`Turns::open`].
    pub async fn turn(&mut self, now: Instant) {
        self.writer.turn(&mut self.jobs, now).await;
    }
}
