//! What waits to be sent on one connection, and the word that it is to end.
//! Bounded: whoever does not read what is sent to it is cut off, and what
//! waited for it is dropped. Nobody ever waits here.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
};

use futures_util::task::AtomicWaker;
use wakelink::relay::Ending;

use super::frames::Frames;

/// Handed over and sent at once, so that what is being sent is bounded too.
const BUNDLE_BYTES: usize = 64 << 10;
/// Smaller ones wait as one.
const SMALL_BYTES: usize = 4 << 10;

#[derive(Debug)]
pub struct Outbox {
    waiting: Mutex<Waiting>,
    waker: AtomicWaker,
    most: usize,
}

#[derive(Debug, Default)]
struct Waiting {
    bundles: VecDeque<Frames>,
    cost: usize,
    ending: Option<Ending>,
}

/// What is next to be done.
#[derive(Debug)]
pub enum Next {
    Send(Frames),
    /// There is nothing more to send.
    End(Ending),
    Nothing,
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
    pub fn push(&self, text: &str) -> bool {
        self.push_all(Frames::of(text))
    }

    /// The same for many: whoever sends them is woken once.
    pub fn push_all(&self, frames: Frames) -> bool {
        let mut waiting = self.waiting();
        if waiting.ending.is_some() {
            return false;
        }
        // A single one may be as large as it likes if nothing else waits.
        let is_single = waiting.bundles.is_empty() && frames.count() <= 1;
        let fits = is_single || waiting.cost + frames.cost() <= self.most;
        match fits {
            true => waiting.add(frames),
            false => {
                *waiting = Waiting {
                    ending: Some(Ending::SlowReader),
                    ..Waiting::default()
                }
            }
        }
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

    /// Takes some of what waits; an ending comes after all of it.
    pub fn next(&self) -> Next {
        let mut waiting = self.waiting();
        let Some(frames) = waiting.bundles.pop_front() else {
            return waiting.ending.map_or(Next::Nothing, Next::End);
        };
        waiting.cost -= frames.cost();
        // An idle connection keeps no room for a busy one's frames.
        if waiting.bundles.is_empty() {
            waiting.bundles = VecDeque::new();
        }
        Next::Send(frames)
    }
}

impl Waiting {
    fn add(&mut self, frames: Frames) {
        self.cost += frames.cost();
        match self.bundles.back_mut() {
            Some(last) if last.bytes() + frames.bytes() <= SMALL_BYTES => last.append(&frames),
            _ => self.bundles.push_back(frames),
        }
    }
}

/// Frames on their way from one connection to another, handed over together:
/// each hand-over wakes the other, which costs more than all else.
#[derive(Debug, Default)]
pub struct Bundle {
    to: Option<Arc<Outbox>>,
    frames: Frames,
}

impl Bundle {
    /// About so many `more` bytes will follow.
    pub fn add(&mut self, to: &Arc<Outbox>, text: &str, more: usize) {
        let same = self.to.as_ref().is_some_and(|own| Arc::ptr_eq(own, to));
        if !same || self.frames.bytes() + text.len() > BUNDLE_BYTES {
            self.hand_over();
            self.to = Some(Arc::clone(to));
            self.frames.expect(more.min(BUNDLE_BYTES / 2));
        }
        self.frames.push(text);
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

    fn text(bytes: usize) -> String {
        "x".repeat(bytes)
    }

    fn ending(next: Next) -> Option<Ending> {
        match next {
            Next::End(ending) => Some(ending),
            _ => None,
        }
    }

    #[test]
    fn one_frame_too_many_ends_it_and_drops_what_waited() {
        let outbox = Outbox::new(1000);
        for _ in 0..4 {
            assert!(outbox.push(&text(150)));
        }
        assert!(!outbox.push(&text(150)));
        assert_eq!(ending(outbox.next()), Some(Ending::SlowReader));
        assert!(!outbox.push(&text(1)));
        assert_eq!(outbox.waiting().cost, 0);
    }

    #[test]
    fn a_bundle_counts_as_its_frames_do() {
        let outbox = Arc::new(Outbox::new(1000));
        let mut bundle = Bundle::default();
        for _ in 0..4 {
            bundle.add(&outbox, &text(150), 0);
        }
        bundle.hand_over();
        assert_eq!(outbox.ending(), None);
        assert!(matches!(outbox.next(), Next::Send(frames) if frames.count() == 4));
        for _ in 0..5 {
            bundle.add(&outbox, &text(150), 0);
        }
        bundle.hand_over();
        assert_eq!(ending(outbox.next()), Some(Ending::SlowReader));
    }

    #[test]
    fn a_frame_larger_than_all_that_may_wait_passes_alone() {
        let outbox = Outbox::new(1000);
        assert!(outbox.push(&text(5000)));
        assert!(!outbox.push(&text(1)));
    }

    #[test]
    fn empty_frames_count_too() {
        let outbox = Outbox::new(1000);
        let taken = (0..100).take_while(|_| outbox.push("")).count();
        assert_eq!(taken, 1000 / Frames::of("").cost());
    }

    #[test]
    fn what_was_said_before_the_end_comes_before_the_end() {
        let outbox = Outbox::new(1 << 20);
        assert!(matches!(outbox.next(), Next::Nothing));
        for _ in 0..10 {
            assert!(outbox.push(&text(3000)));
            assert!(outbox.push(&text(1)));
        }
        outbox.end(Ending::BadFrames);
        outbox.end(Ending::Stopping);
        let mut sent = 0;
        let end = loop {
            match outbox.next() {
                Next::Send(frames) => sent += frames.count(),
                other => break ending(other),
            }
        };
        assert_eq!((sent, end), (20, Some(Ending::BadFrames)));
    }
}
