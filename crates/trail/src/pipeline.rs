//! Digests on several threads, links in order.
//!
//! Each thread takes the next chunk, digests it, and waits for its turn to
//! link it. So there is no queue that could grow: as many chunks are in memory
//! as there are threads, and the fault that is reported is the first one.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::{digest::Digests, fault::Fault, verify::Verifier};

/// Verifies chunks of entries: `next` brings them in log order (one thread at a
/// time calls it), `digest` pushes a chunk's entries.
pub fn link_in_order<C>(
    verifier: &mut Verifier,
    threads: usize,
    next: impl FnMut() -> Option<C> + Send,
    digest: impl Fn(&C, &mut Digests) + Sync,
) -> Result<(), Fault> {
    let source = Mutex::new((next, 0));
    let line = Line {
        state: Mutex::new(State {
            verifier,
            turn: 0,
            over: false,
            fault: None,
        }),
        moved: Condvar::new(),
    };
    let work = || {
        let _leaving = Leaving(&line);
        loop {
            let (chunk, turn) = {
                let mut source = lock(&source);
                let Some(chunk) = (source.0)() else { return };
                source.1 += 1;
                (chunk, source.1 - 1)
            };
            let mut digests = Digests::new();
            digest(&chunk, &mut digests);
            if !line.link(turn, &digests) {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let state = line.state.into_inner();
    let state = state.unwrap_or_else(PoisonError::into_inner);
    state.fault.map_or(Ok(()), Err)
}

/// Where threads wait for their turn.
struct Line<'v> {
    state: Mutex<State<'v>>,
    moved: Condvar,
}

struct State<'v> {
    verifier: &'v mut Verifier,
    /// The number of the chunk to be linked next.
    turn: u64,
    over: bool,
    fault: Option<Fault>,
}

impl Line<'_> {
    /// Waits and links; false when nothing more is wanted.
    fn link(&self, turn: u64, digests: &Digests) -> bool {
        let waiting = |state: &mut State<'_>| state.turn != turn && !state.over;
        let state = self.moved.wait_while(lock(&self.state), waiting);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        if state.over {
            return false;
        }
        match state.verifier.link(digests) {
            Ok(()) => state.turn += 1,
            Err(fault) => {
                state.fault = Some(fault);
                state.over = true;
            }
        }
        let go_on = !state.over;
        drop(state);
        self.moved.notify_all();
        go_on
    }
}

/// A thread that panics will never take its turn: let the others go too, so
/// that the panic is seen and nobody waits for ever.
struct Leaving<'a, 'v>(&'a Line<'v>);

impl Drop for Leaving<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock(&self.0.state).over = true;
            self.0.moved.notify_all();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Reason;

    #[test]
    fn a_digest_that_panics_is_seen_and_leaves_nobody_waiting() {
        for threads in [1, 2, 5] {
            let panicked = std::panic::catch_unwind(|| {
                let mut numbers = 0..50;
                let digest = |n: &i32, _: &mut Digests| assert_ne!(*n, 20, "on purpose");
                link_in_order(&mut Verifier::new(), threads, || numbers.next(), digest)
            });
            assert!(panicked.is_err());
        }
    }

    #[test]
    fn the_first_fault_ends_the_reading() {
        let mut taken = 0;
        let next = || {
            taken += 1;
            Some(taken)
        };
        let digest = |n: &i32, digests: &mut Digests| {
            if *n >= 10 {
                digests.fail(Reason::LineMalformed.at(0));
            }
        };
        let linked = link_in_order(&mut Verifier::new(), 3, next, digest);
        assert_eq!(linked, Err(Reason::LineMalformed.at(0)));
        assert!(taken < 20);
    }
}
