//! Whose password is looked at next.
//!
//! A hash takes some 30 ms of a core on purpose, so only a few run at once, and
//! whoever sends wrong passwords faster than that makes others wait. So the one
//! whose address has failed least often goes first: a flood of failures waits
//! behind everyone who has not failed, and among itself; of those who have not,
//! the ones from networks that are quiet go first, and one who has failed has a
//! turn after each of them. Addresses that have failed share one place of the
//! two, and rest after each turn, so that a flood takes no more than a fraction
//! of a core from the rest of the server. Every hash is made on a thread that
//! runs only when no other wants the processor, or, if it does not get it for a
//! while, on one of the lowest priority.
//!
//! Nobody waits for ever: a place in the queue is bounded in time, the queue in
//! length, and if it is full those who have failed most are sent away.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};
use tokio::sync::oneshot;

use crate::lockout::Rank;

/// A hash takes 19 MiB and some 30 ms: so many at once.
const AT_ONCE: usize = 2;
/// The pause after a turn of those who have failed: at most some eight a second.
const REST: Duration = Duration::from_millis(100);
/// Whoever has not had a turn by then is told to come again.
const PATIENCE: Duration = Duration::from_secs(15);
/// Waiting at once: as many as have their turn within [`PATIENCE`], or nearly.
const MOST_FRESH: usize = 1024;
const MOST_FAILED: usize = 64;
/// After this long an idle thread is taken for starved, and another hashes the
/// same password at [`NICENESS`]. An unprivileged thread cannot leave the idle
/// policy again.
const STARVED: Duration = Duration::from_millis(300);

/// What a hash works in.
pub type Memory = Vec<argon2::Block>;

#[derive(Clone, Default)]
pub struct Turns(Arc<Mutex<Queue>>);

impl std::fmt::Debug for Turns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Turns")
    }
}

#[derive(Default)]
struct Queue {
    /// By rank, then in the order of arrival.
    waiting: BTreeMap<(Rank, u64), oneshot::Sender<Turn>>,
    arrivals: u64,
    running: usize,
    /// Idle threads, starved ones among them: as many as may run at once.
    idle: usize,
    /// Memory of hashes that have ended, for the next ones: fetching 19 MiB from
    /// the system each time holds up other threads. Given back when nobody waits.
    spare: Vec<Memory>,
    /// Whether the place of those who have failed is taken, or rests.
    failed_busy: bool,
    /// Whether the last turn was one of those who have not: then the next is not,
    /// if anyone else waits. Otherwise many new addresses would keep out whoever
    /// has mistyped a password once.
    fresh_went: bool,
}

/// Before everyone who has failed.
const FIRST_FAILED: (Rank, u64) = (
    Rank {
        failed: 1,
        around: 0,
    },
    0,
);

/// How far hashing stands back for everything else: a person who signs in can
/// wait for a moment, an agent's delivery must not wait for a flood of guesses.
const NICENESS: i32 = 19;

impl Queue {
    /// Of those who have failed and those who have not in turn, the first.
    fn whose_turn(&self) -> Option<(Rank, u64)> {
        let first = self.waiting.keys().next().copied()?;
        let failed = self.waiting.range(FIRST_FAILED..).next();
        let failed = failed.map(|(place, _)| *place);
        match failed.filter(|_| !self.failed_busy) {
            Some(failed) if self.fresh_went || is_failed(first.0) => Some(failed),
            _ => Some(first).filter(|first| !is_failed(first.0)),
        }
    }
}

/// The right to hash one password, until it is dropped.
#[derive(Debug)]
pub struct Turn {
    turns: Turns,
    failed: bool,
    /// Whether somebody took it.
    begun: bool,
}

/// Too many wait, or it took too long.
#[derive(Debug, PartialEq, Eq)]
pub struct TooBusy;

impl Turns {
    /// Waits for a turn.
    pub async fn wait(&self, rank: Rank) -> Result<Turn, TooBusy> {
        let (sender, turn) = oneshot::channel();
        self.enter(rank, sender);
        match tokio::time::timeout(PATIENCE, turn).await {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(TooBusy),
        }
    }

    fn enter(&self, rank: Rank, sender: oneshot::Sender<Turn>) {
        let mut queue = self.lock();
        queue.arrivals += 1;
        let place = (rank, queue.arrivals);
        queue.waiting.insert(place, sender);
        let ranks = |least, greatest| {
            let least = Rank {
                failed: least,
                around: 0,
            };
            let greatest = Rank {
                failed: greatest,
                around: u32::MAX,
            };
            (least, greatest)
        };
        let ((least, greatest), most) = match is_failed(rank) {
            true => (ranks(1, u32::MAX), MOST_FAILED),
            false => (ranks(0, 0), MOST_FRESH),
        };
        let alike = (least, 0)..=(greatest, u64::MAX);
        if queue.waiting.range(alike.clone()).count() > most {
            queue.waiting.retain(|_, waiting| !waiting.is_closed());
        }
        let mut alike = queue.waiting.range(alike);
        let last = alike.next_back().map(|(place, _)| *place);
        // One of them is the last.
        if alike.count() + 1 > most {
            // Whoever waited there is told by the sender's end.
            last.and_then(|place| queue.waiting.remove(&place));
        }
        self.next(queue);
    }

    /// Gives turns to whoever may have one now.
    fn next(&self, mut queue: std::sync::MutexGuard<'_, Queue>) {
        while queue.running < AT_ONCE {
            let Some(place) = queue.whose_turn() else {
                break;
            };
            let failed = is_failed(place.0);
            let Some(sender) = queue.waiting.remove(&place) else {
                break;
            };
            let turn = Turn {
                turns: self.clone(),
                failed,
                begun: true,
            };
            match sender.send(turn) {
                Ok(()) => {
                    queue.running += 1;
                    queue.failed_busy |= failed;
                    queue.fresh_went = !failed;
                }
                // They left.
                Err(mut turn) => turn.begun = false,
            }
        }
    }

    fn end(&self, failed: bool) {
        let mut queue = self.lock();
        queue.running -= 1;
        self.next(queue);
        if !failed {
            return;
        }
        let turns = self.clone();
        let rested = async move {
            tokio::time::sleep(REST).await;
            turns.rested();
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(rested)),
            Err(_) => self.rested(),
        }
    }

    /// Keeps the memory for the next hash while anyone waits for one.
    fn keep(&self, memory: Memory) {
        let mut queue = self.lock();
        match queue.waiting.is_empty() {
            true => queue.spare = Vec::new(),
            false if queue.spare.len() < AT_ONCE => queue.spare.push(memory),
            false => {}
        }
    }

    fn rested(&self) {
        let mut queue = self.lock();
        queue.failed_busy = false;
        self.next(queue);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// Does the work on a thread of its own that stands back for all others. The
    /// turn lasts until it is done, even if whoever waited for it has gone.
    pub async fn spend<T: Send + 'static>(
        self,
        work: impl Fn(&mut Memory) -> T + Send + Sync + 'static,
    ) -> Option<T> {
        tokio::spawn(hash(self, Arc::new(work))).await.ok()?
    }
}

/// On an idle thread; if that is starved, on another one as well.
async fn hash<T: Send + 'static>(
    turn: Turn,
    work: Arc<impl Fn(&mut Memory) -> T + Send + Sync + 'static>,
) -> Option<T> {
    let turns = turn.turns.clone();
    let idle = Idle::begin(&turns);
    let turn = Arc::new(Mutex::new(Some(turn)));
    // On Linux the niceness is the thread's own.
    let nicely = || start(&turns, &turn, &work, || _ = rustix::process::nice(NICENESS));
    let Some(idle) = idle else {
        return nicely()?.await.ok();
    };
    let mut done = start(&turns, &turn, &work, move || idle.stand_back())?;
    match tokio::time::timeout(STARVED, &mut done).await {
        Ok(done) => done.ok(),
        Err(_) => {
            let sooner = nicely()?;
            tokio::select! {
                Ok(done) = done => Some(done),
                Ok(done) = sooner => Some(done),
                else => None,
            }
        }
    }
}

/// Begins the work on a new thread, which first calls `stand_back` and keeps what
/// that gives until the work is done. The first to be done ends the turn.
fn start<T: Send + 'static, K>(
    turns: &Turns,
    turn: &Arc<Mutex<Option<Turn>>>,
    work: &Arc<impl Fn(&mut Memory) -> T + Send + Sync + 'static>,
    stand_back: impl FnOnce() -> K + Send + 'static,
) -> Option<oneshot::Receiver<T>> {
    let (sender, done) = oneshot::channel();
    let runtime = tokio::runtime::Handle::current();
    let (turns, turn, work) = (turns.clone(), Arc::clone(turn), Arc::clone(work));
    let thread = std::thread::Builder::new().name("password".to_owned());
    let started = thread.spawn(move || {
        // The turn that ends begins the rest that follows it.
        let _runtime = runtime.enter();
        let _kept = stand_back();
        let mut memory = turns.lock().spare.pop().unwrap_or_default();
        let _ = sender.send(work(&mut memory));
        turns.keep(memory);
        drop(turn.lock().unwrap_or_else(PoisonError::into_inner).take());
    });
    started.ok().map(|_| done)
}

/// One of the threads that run when no other wants the processor.
struct Idle(Turns);

impl Idle {
    /// Unless as many as may hash at once are there already.
    fn begin(turns: &Turns) -> Option<Idle> {
        let mut queue = turns.lock();
        (queue.idle < AT_ONCE).then(|| {
            queue.idle += 1;
            Idle(turns.clone())
        })
    }

    /// Makes this thread an idle one. A thread of a low priority may still keep
    /// one of a higher that wakes up waiting for the rest of its slice, some
    /// milliseconds; an idle one may not.
    fn stand_back(self) -> Idle {
        let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        if set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle).is_err() {
            let _ = rustix::process::nice(NICENESS);
        }
        // A thread that changes its own policy keeps the processor until the next
        // tick, also from those that wait for it.
        std::thread::yield_now();
        self
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        self.0.lock().idle -= 1;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.begun {
            self.turns.end(self.failed);
        }
    }
}

fn is_failed(rank: Rank) -> bool {
    rank.failed > 0
}

#[cfg(test)]
mod tests {
    use tokio::sync::{Semaphore, mpsc};

    use super::*;

    fn rank_of(failed: u32) -> Rank {
        Rank { failed, around: 0 }
    }

    /// A line in which nobody is done with their turn until it is opened.
    struct Line {
        turns: Turns,
        done: mpsc::UnboundedSender<u32>,
        gate: Arc<Semaphore>,
    }

    impl Line {
        fn new() -> (Line, mpsc::UnboundedReceiver<u32>) {
            let (done, finished) = mpsc::unbounded_channel();
            let (turns, gate) = (Turns::default(), Arc::new(Semaphore::new(0)));
            (Line { turns, done, gate }, finished)
        }

        /// Waits for a turn, and says when it is over.
        fn queue_up(&self, rank: u32) -> tokio::task::JoinHandle<()> {
            let (turns, done) = (self.turns.clone(), self.done.clone());
            let gate = Arc::clone(&self.gate);
            tokio::spawn(async move {
                let Ok(turn) = turns.wait(rank_of(rank)).await else {
                    return;
                };
                let _passed = gate.acquire().await;
                let _ = done.send(rank);
                drop(turn);
            })
        }

        fn open(&self) {
            self.gate.add_permits(AT_ONCE);
        }
    }

    /// The scheduling policy and the niceness of the thread that hashes.
    #[cfg(target_os = "linux")]
    async fn policy(turn: Turn) -> (String, String) {
        let stat = turn.spend(|_| std::fs::read_to_string("/proc/thread-self/stat"));
        let stat = stat.await.unwrap().unwrap();
        let after_name = stat.rsplit_once(')').unwrap().1;
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        (fields[38].to_owned(), fields[16].to_owned())
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn passwords_are_hashed_when_nothing_else_is_to_do() {
        const NORMAL: &str = "0";
        const IDLE: &str = "5";
        let turns = Turns::default();
        let turn = turns.wait(rank_of(0)).await.unwrap();
        assert_eq!(policy(turn).await.0, IDLE);
        // While as many as may be idle are starved, a thread of low priority it is.
        let _starved: Vec<_> = (0..AT_ONCE).map(|_| Idle::begin(&turns)).collect();
        let turn = turns.wait(rank_of(0)).await.unwrap();
        let nicest = NICENESS.to_string();
        assert_eq!(policy(turn).await, (NORMAL.to_owned(), nicest));
    }

    #[tokio::test]
    async fn a_thread_that_is_starved_keeps_nobody_waiting() {
        let turns = Turns::default();
        let (wake, starved) = std::sync::mpsc::channel::<()>();
        let starved = Mutex::new(Some(starved));
        let turn = Turn {
            turns: turns.clone(),
            failed: false,
            begun: true,
        };
        turns.lock().running += 1;
        // The first who hashes waits, as if it never had the processor.
        let spent = turn.spend(move |_| {
            let first = starved.lock().unwrap().take();
            first.map(|starved| starved.recv())
        });
        assert_eq!(spent.await, Some(None));
        while turns.lock().running > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(turns.lock().idle, 1);
        drop(wake);
    }

    #[tokio::test]
    async fn no_more_threads_are_idle_than_may_hash_at_once() {
        let turns = Turns::default();
        let idle: Vec<_> = (0..AT_ONCE).map(|_| Idle::begin(&turns)).collect();
        assert!(idle.iter().all(Option::is_some));
        assert!(Idle::begin(&turns).is_none());
        drop(idle);
        assert!(Idle::begin(&turns).is_some());
    }

    #[tokio::test]
    async fn whoever_has_failed_least_goes_first() {
        let (line, mut finished) = Line::new();
        for rank in [9, 9, 3, 1, 0, 0, 2, 0] {
            line.queue_up(rank);
            tokio::task::yield_now().await;
        }
        line.open();
        let mut order = Vec::new();
        while order.len() < 8 {
            order.push(finished.recv().await.unwrap());
        }
        // The first came to an empty room; while its place rests, the others go.
        assert_eq!(order, [9, 0, 0, 0, 1, 2, 3, 9]);
    }

    #[tokio::test]
    async fn many_who_have_not_failed_do_not_keep_out_whoever_failed_once() {
        let (line, mut finished) = Line::new();
        for _ in 0..400 {
            line.queue_up(0);
        }
        tokio::task::yield_now().await;
        line.queue_up(1);
        while line.turns.lock().arrivals < 401 {
            tokio::task::yield_now().await;
        }
        line.open();
        let mut before = 0;
        while finished.recv().await != Some(1) {
            before += 1;
        }
        // Those whose turn it was, and those who began when these were done.
        assert!(before <= 2 * AT_ONCE, "{before}");
    }

    #[tokio::test]
    async fn a_flood_of_failures_keeps_no_one_waiting_who_has_not_failed() {
        let (line, mut finished) = Line::new();
        for n in 0..1000 {
            line.queue_up(1 + n);
            tokio::task::yield_now().await;
        }
        let started = tokio::time::Instant::now();
        line.queue_up(0);
        line.open();
        while finished.recv().await != Some(0) {}
        assert!(started.elapsed() < Duration::from_secs(1));
        // Those who have failed have some eight turns a second, and are bounded.
        let mut more = 0;
        let counted = async {
            while finished.recv().await.is_some() {
                more += 1;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(1), counted).await;
        assert!((1..=10).contains(&more), "{more}");
        assert!(line.turns.lock().waiting.len() <= MOST_FAILED);
    }

    #[tokio::test]
    async fn too_many_are_sent_away_and_whoever_leaves_holds_no_turn() {
        let (line, mut finished) = Line::new();
        let waiting: Vec<_> = (0..2 * MOST_FRESH).map(|_| line.queue_up(0)).collect();
        while line.turns.lock().arrivals < 2 * MOST_FRESH as u64 {
            tokio::task::yield_now().await;
        }
        assert!(line.turns.lock().waiting.len() <= MOST_FRESH);
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        for handle in waiting {
            let _ = handle.await;
        }
        line.open();
        while finished.try_recv().is_ok() {}
        line.queue_up(0);
        assert_eq!(finished.recv().await, Some(0));
        while line.turns.lock().running > 0 {
            tokio::task::yield_now().await;
        }
    }
}
