//! A task that is woken while it is polled is polled again at once.
//!
//! hyper wakes its own connection when a handler asks for a request's body. The
//! runtime would put the task at the end of a queue, and wake another thread to
//! take it from there: for a delivery on an idle server, two of five switches
//! between threads.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

/// After so many polls in a row other tasks have their turn.
const IN_A_ROW: usize = 8;

const RESTING: u8 = 0;
const POLLED: u8 = 1;
const WOKEN: u8 = 2;

/// Wakes the task, or says that it is to be polled again if it is being polled.
struct Signal {
    state: AtomicU8,
    task: Waker,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let told = self.state.compare_exchange(POLLED, WOKEN, success, failure);
        if told == Err(RESTING) {
            self.task.wake_by_ref();
        }
    }
}

/// The future, polled again at once whenever it was woken meanwhile.
pub async fn again<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut signal: Option<(Arc<Signal>, Waker)> = None;
    poll_fn(|context| {
        let known = signal.take();
        let is_known = |(signal, _): &(Arc<Signal>, _)| signal.task.will_wake(context.waker());
        let (signal, waker) = &*signal.insert(known.filter(is_known).unwrap_or_else(|| {
            let signal = Arc::new(Signal {
                state: AtomicU8::new(RESTING),
                task: context.waker().clone(),
            });
            (Arc::clone(&signal), Waker::from(signal))
        }));
        for _ in 0..IN_A_ROW {
            signal.state.swap(POLLED, Ordering::AcqRel);
            let polled = future.as_mut().poll(&mut Context::from_waker(waker));
            let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
            let rests = signal
                .state
                .compare_exchange(POLLED, RESTING, success, failure);
            if polled.is_ready() || rests.is_ok() {
                return polled;
            }
        }
        signal.state.store(RESTING, Ordering::Release);
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A future that wakes itself so many times before it is done; gives how often
    /// it was polled from outside, and how often the task was woken.
    fn polls_and_wakes(times: usize) -> (usize, usize) {
        let counted = Arc::new(Counted::default());
        let waker = Waker::from(Arc::clone(&counted));
        let mut left = times;
        let mut future = pin!(again(poll_fn(|context| {
            if left == 0 {
                return Poll::Ready(());
            }
            left -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        })));
        let mut polls = 1;
        while future
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
        {
            polls += 1;
        }
        (polls, counted.0.load(Ordering::Relaxed))
    }

    #[test]
    fn a_task_that_wakes_itself_is_not_scheduled_anew() {
        assert_eq!(polls_and_wakes(0), (1, 0));
        assert_eq!(polls_and_wakes(IN_A_ROW - 1), (1, 0));
    }

    #[test]
    fn others_have_a_turn_when_it_goes_on_for_long() {
        assert_eq!(polls_and_wakes(IN_A_ROW), (2, 1));
        assert_eq!(polls_and_wakes(3 * IN_A_ROW), (4, 3));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn no_wake_is_lost_from_another_thread() {
        for _ in 0..10_000 {
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let waits = tokio::spawn(again(receiver));
            sender.send(()).unwrap();
            waits.await.unwrap().unwrap();
        }
    }

    #[test]
    fn a_wake_while_it_rests_reaches_the_task() {
        let counted = Arc::new(Counted::default());
        let waker = Waker::from(Arc::clone(&counted));
        let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
        let mut future = pin!(again(receiver));
        let mut context = Context::from_waker(&waker);
        assert!(future.as_mut().poll(&mut context).is_pending());
        sender.send(()).unwrap();
        assert_eq!(counted.0.load(Ordering::Relaxed), 1);
        assert!(future.as_mut().poll(&mut context).is_ready());
    }
}
