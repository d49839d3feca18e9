//! What can go wrong between the writer and its storage.
//!
//! The one who drives the writer says before each call what happens to it. A
//! call that waits returns `Pending` once: whoever polls may go on, or drop the
//! writer there, which is a process that was lost at that point.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use crate::{Batch, Error, Result};

/// A call by the writer that may go wrong.
#[derive(Clone, Copy, Debug)]
pub enum Call<'a> {
    Load,
    Append(&'a Batch),
    Due,
    Erasable,
    Probe,
    Scrub,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// Nothing is done, and the caller is told so.
    Fails,
    /// It is done, and the caller is told that it failed: the outcome of such a
    /// commit is unknown.
    FailsWhenDone,
    /// The call waits once before it does anything.
    WaitsBefore,
    /// The call waits once when everything is done.
    WaitsAfter,
}

type Decide = Box<dyn FnMut(&Call<'_>, Moment) -> Fault + Send>;

/// When the one who decides is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A call begins: the answer is its fault.
    Begins,
    /// It was an append, and its batch is durable now, whatever the caller is
    /// told; the answer does not matter.
    Durable,
}

/// Decides what happens to each call. Clones are the same one.
#[derive(Clone)]
pub struct Faults(Arc<Mutex<Decide>>);

impl Faults {
    pub fn new(decide: impl FnMut(&Call<'_>, Moment) -> Fault + Send + 'static) -> Faults {
        Faults(Arc::new(Mutex::new(Box::new(decide))))
    }

    pub(super) fn due(&self, call: &Call<'_>) -> Fault {
        super::lock(&self.0)(call, Moment::Begins)
    }

    pub(super) fn appended(&self, call: &Call<'_>) {
        super::lock(&self.0)(call, Moment::Durable);
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faults")
    }
}

pub(super) async fn before(fault: Fault) -> Result<()> {
    match fault {
        Fault::Fails => Err(failed()),
        Fault::WaitsBefore => {
            Wait::default().await;
            Ok(())
        }
        _ => Ok(()),
    }
}

pub(super) async fn after(fault: Fault) -> Result<()> {
    match fault {
        Fault::FailsWhenDone => Err(failed()),
        Fault::WaitsAfter => {
            Wait::default().await;
            Ok(())
        }
        _ => Ok(()),
    }
}

fn failed() -> Error {
    Error::Unavailable("a fault that was asked for".into())
}

/// Pending once.
#[derive(Debug, Default)]
struct Wait {
    waited: bool,
}

impl Future for Wait {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.waited {
            return Poll::Ready(());
        }
        self.waited = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
