//! Walks over the whole log that people ask for: to verify it, or to export it.
//! Each reads everything there is, so there is one at a time, of either kind,
//! and each has a thread of its own: nobody else waits for it, and neither does
//! the end of the server.

use std::{
    io::{self, BufWriter, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    body::{Body, Bytes},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use engine::proof::{self, ProofFault, StoreReport};
use futures_util::stream;
use serde::Serialize;
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
};
use trail::Micros;

use crate::{App, Problem, code::Code};

/// What is on its way to someone who exports.
const BLOCK_BYTES: usize = 64 << 10;
const BLOCKS: usize = 4;
/// Whoever takes nothing for so long gets no more of an export: others wait.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Walks {
    alone: Arc<Semaphore>,
    verification: Mutex<Verification>,
}

impl Default for Walks {
    fn default() -> Walks {
        Walks {
            alone: Arc::new(Semaphore::new(1)),
            verification: Mutex::default(),
        }
    }
}

/// How far a verification is, and how the last one ended.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verification {
    pub running: Option<Progress>,
    pub last: Option<Outcome>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Progress {
    /// Entries read so far, and all there are.
    pub read: u64,
    pub entries: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub verified: bool,
    pub ended_at: Micros,
    pub seconds: f64,
    pub entries: u64,
    pub streams: u64,
    /// Parts whose content was erased.
    pub erased: u64,
    /// Parts that are encrypted with a key that is not here.
    pub sealed: u64,
    /// What does not fit.
    pub detail: Option<String>,
}

impl Walks {
    pub fn verification(&self) -> Verification {
        self.state().clone()
    }

    fn state(&self) -> MutexGuard<'_, Verification> {
        self.verification
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let begun = Arc::clone(&self.alone).try_acquire_owned();
        begun.map_err(|_| {
            let detail = "The whole log is being read already, to verify or to export it. \
                          Try again when that has ended.";
            Problem::new(StatusCode::CONFLICT, Code::OneAtATime, detail)
        })
    }
}

/// Starts to verify the log, unless that is being done.
pub fn verify(app: &App) -> Result<(), Problem> {
    let mut state = app.walks.state();
    if state.running.is_some() {
        return Ok(());
    }
    let permit = app.walks.begin()?;
    let entries = *app.shared().size().borrow();
    state.running = Some(Progress { read: 0, entries });
    drop(state);
    let spawned = spawn_verify(app, permit);
    if spawned.is_err() {
        app.walks.state().running = None;
    }
    spawned
}

fn spawn_verify(app: &App, permit: OwnedSemaphorePermit) -> Result<(), Problem> {
    let (app, runtime) = (app.clone(), Handle::current());
    spawn("verify", move || {
        let began = Instant::now();
        let shared = app.shared();
        let key = shared.keys.log.verifier();
        let store = shared.store.as_ref();
        let progress = |read, entries| {
            app.walks.state().running = Some(Progress { read, entries });
        };
        let work = proof::verify(store, &shared.vault, Some(key), Vec::new(), &progress);
        let verified =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.block_on(work)));
        let outcome = outcome(verified.ok(), shared.clock.now(), began.elapsed());
        // Free for the next one before anyone can see that this one has ended.
        drop(permit);
        *app.walks.state() = Verification {
            running: None,
            last: Some(outcome),
        };
    })
}

fn outcome(
    verified: Option<Result<StoreReport, ProofFault>>,
    ended_at: Micros,
    took: Duration,
) -> Outcome {
    let mut outcome = Outcome {
        verified: false,
        ended_at,
        seconds: took.as_secs_f64(),
        entries: 0,
        streams: 0,
        erased: 0,
        sealed: 0,
        detail: None,
    };
    match verified {
        Some(Ok(found)) => {
            outcome.verified = true;
            outcome.entries = found.report.checkpoint.size;
            outcome.streams = found.report.streams;
            outcome.erased = found.report.erased.saturating_sub(found.sealed);
            outcome.sealed = found.sealed;
        }
        Some(Err(fault)) => {
            tracing::error!(%fault, "the trail does not verify");
            outcome.detail = Some(fault.to_string());
        }
        None => {
            let detail = "it could not be read to the end; the server's log says why";
            outcome.detail = Some(detail.to_owned());
        }
    }
    outcome
}

/// The file that `wakeful trail export` writes, sent as it is made.
pub async fn export(app: &App) -> Result<Response, Problem> {
    let permit = app.walks.begin()?;
    let head = app.shared().store.head().await?;
    let head = head.ok_or_else(Problem::not_found)?;
    let name = format!("attachment; filename=\"wakeful-trail-{}.jsonl\"", head.size);
    let (send, blocks) = mpsc::channel(BLOCKS);
    let (app, runtime) = (app.clone(), Handle::current());
    spawn("export", move || {
        let _permit = permit;
        let shared = app.shared();
        let key = shared.keys.log.verifier();
        let pipe = Pipe {
            blocks: send.clone(),
            runtime,
        };
        let out = BufWriter::with_capacity(BLOCK_BYTES, pipe);
        let store = shared.store.as_ref();
        let written = proof::export_until(store, &shared.vault, key, &head, out, &|_, _| {});
        if let Err(fault) = written {
            tracing::warn!(%fault, "an export ended early");
            // An answer that breaks off is not taken for a whole one.
            let _ = send.try_send(Err(io::Error::other("the export ended early")));
        }
    })?;
    let blocks = stream::unfold(blocks, |mut blocks| async move {
        let block: io::Result<Bytes> = blocks.recv().await?;
        Some((block, blocks))
    });
    let headers = [
        (header::CONTENT_TYPE, "application/jsonl".to_owned()),
        (header::CONTENT_DISPOSITION, name),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, Body::from_stream(blocks)).into_response())
}

/// Gives blocks to whoever sends them, as fast as they are taken.
struct Pipe {
    blocks: mpsc::Sender<io::Result<Bytes>>,
    runtime: Handle,
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let block = Ok(Bytes::copy_from_slice(bytes));
        let sent = self.blocks.send_timeout(block, PATIENCE);
        let sent = self.runtime.block_on(sent);
        sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Problem> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    let spawned = thread.spawn(work);
    spawned.map(drop).map_err(|error| {
        tracing::error!(%error, "no thread for a walk over the log");
        Problem::unavailable()
    })
}
