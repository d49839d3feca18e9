//! What waits to be sent on one connection, and the word that it is to end.
//! Bounded: whoever does not read what is sent to it is cut off, and what
//! waited for it is dropped. Nobody ever waits here.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
};

use futures_util::task::AtomicWaker;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use wakelink::relay::Ending;

/// What one waiting frame costs beside its bytes.
const OVERHEAD: usize = 64;
/// Taken at once, so that what is being written is bounded too.
const TAKEN_FRAMES: usize = 64;
const TAKEN_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub struct Outbox {
    waiting: Mutex<Waiting>,
    waker: AtomicWaker,
    most: usize,
}

#[derive(Debug, Default)]
struct Waiting {
    frames: VecDeque<Utf8Bytes>,
    bytes: usize,
    ending: Option<Ending>,
}

impl Outbox {
    pub fn new(most: usize) -> Outbox {
        Outbox {
            waiting: Mutex::default(),
            waker: AtomicWaker::new(),
            most,
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it will be sent. One too many ends the connection.
    pub fn push(&self, frame: Utf8Bytes) -> bool {
        self.push_all([frame])
    }

    /// The same for many: whoever sends them is woken once.
    pub fn push_all(&self, frames: impl IntoIterator<Item = Utf8Bytes>) -> bool {
        let mut waiting = self.waiting();
        if waiting.ending.is_some() {
            return false;
        }
        for frame in frames {
            let cost = frame.len() + OVERHEAD;
            if !waiting.frames.is_empty() && waiting.bytes + cost > self.most {
                *waiting = Waiting {
                    ending: Some(Ending::SlowReader),
                    ..Waiting::default()
                };
                break;
            }
            waiting.bytes += cost;
            waiting.frames.push_back(frame);
        }
        let fits = waiting.ending.is_none();
        drop(waiting);
        self.waker.wake();
        fits
    }

    /// The connection is to end. The first reason stands.
    pub fn end(&self, ending: Ending) {
        self.waiting().ending.get_or_insert(ending);
        self.waker.wake();
    }

    /// Says who is to be woken when something changes. Ask after that.
    pub fn register(&self, waker: &Waker) {
        self.waker.register(waker);
    }

    pub fn ending(&self) -> Option<Ending> {
        self.waiting().ending
    }

    /// Moves some of what waits; an ending comes after all of it.
    pub fn take(&self, into: &mut VecDeque<Utf8Bytes>) -> Option<Ending> {
        let mut waiting = self.waiting();
        let mut bytes = 0;
        while into.len() < TAKEN_FRAMES
            && bytes < TAKEN_BYTES
            && let Some(frame) = waiting.frames.pop_front()
        {
            let cost = frame.len() + OVERHEAD;
            waiting.bytes -= cost;
            bytes += cost;
            into.push_back(frame);
        }
        // An idle connection keeps no room for a busy one's frames.
        if waiting.frames.is_empty() && waiting.frames.capacity() > TAKEN_FRAMES {
            waiting.frames = VecDeque::new();
        }
        waiting.ending.filter(|_| into.is_empty())
    }
}

/// Frames on their way from one connection to another, handed over together:
/// each hand-over wakes the other, which costs more than all else.
#[derive(Debug, Default)]
pub struct Bundle {
    to: Option<Arc<Outbox>>,
    frames: Vec<Utf8Bytes>,
}

impl Bundle {
    pub fn add(&mut self, to: &Arc<Outbox>, frame: Utf8Bytes) {
        let same = self.to.as_ref().is_some_and(|own| Arc::ptr_eq(own, to));
        if !same {
            self.hand_over();
            self.to = Some(Arc::clone(to));
        }
        self.frames.push(frame);
    }

    pub fn hand_over(&mut self) {
        if let Some(to) = self.to.take() {
            to.push_all(std::mem::take(&mut self.frames));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(bytes: usize) -> Utf8Bytes {
        "x".repeat(bytes).into()
    }

    #[test]
    fn one_frame_too_many_ends_it_and_drops_what_waited() {
        let outbox = Outbox::new(1000);
        for _ in 0..4 {
            assert!(outbox.push(frame(150)));
        }
        assert!(!outbox.push(frame(150)));
        let mut taken = VecDeque::new();
        assert_eq!(outbox.take(&mut taken), Some(Ending::SlowReader));
        assert!(taken.is_empty());
        assert!(!outbox.push(frame(1)));
        assert_eq!(outbox.waiting().bytes, 0);
    }

    #[test]
    fn empty_frames_count_too() {
        let outbox = Outbox::new(1000);
        let taken = (0..100).take_while(|_| outbox.push(frame(0))).count();
        assert_eq!(taken, 1000 / OVERHEAD);
    }

    #[test]
    fn what_was_said_before_the_end_comes_before_the_end() {
        let outbox = Outbox::new(1 << 20);
        for _ in 0..TAKEN_FRAMES + 1 {
            assert!(outbox.push(frame(1)));
        }
        outbox.end(Ending::BadFrames);
        outbox.end(Ending::Stopping);
        let mut taken = VecDeque::new();
        assert_eq!(outbox.take(&mut taken), None);
        assert_eq!(taken.len(), TAKEN_FRAMES);
        taken.clear();
        assert_eq!(outbox.take(&mut taken), None);
        taken.clear();
        assert_eq!(outbox.take(&mut taken), Some(Ending::BadFrames));
    }
}
