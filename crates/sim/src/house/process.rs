//! One process of the engine: its store, its clock, and what goes wrong.

use std::{
    fmt::Display,
    ops::ControlFlow,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use engine::{Clock, Entropy, Keys, Setup, Turns, Vault, keys};
use store::memory::{Call, Fault, Faults, Memory, Moment};
use tokio::time::Instant;
use trail::{LogKey, Micros};

use crate::dice::Dice;

const ORIGIN: &str = "sim.example/house";
/// A turn that waits more often than this waits for ever.
const POLLS: usize = 64;

/// What the store does in the next turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan {
    /// The fault of one call, by its number among the calls of the turn.
    pub fault: Option<(usize, Fault)>,
    /// Whether the process is lost where that call waits.
    pub lost: bool,
}

impl Plan {
    fn waiting(self) -> ControlFlow<()> {
        match self.lost {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// What was seen of a turn at the store.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    calls: usize,
    /// Whether the fault that was planned happened.
    pub met: bool,
    /// Whether the deliveries whose time has come were read.
    pub due_read: bool,
    /// Whether the append of the commands waits, or has waited.
    pub commit_waits: bool,
    /// The batch of commands is durable.
    pub decided: bool,
    /// The batches of retention rules that are durable: the deliveries of each.
    pub by_rule: Vec<Vec<u64>>,
}

/// The hands of the clocks, which only the simulator moves.
#[derive(Debug, Default)]
pub struct Hands {
    wall: AtomicI64,
    steady: AtomicI64,
}

impl Hands {
    /// Time passes on every clock.
    pub fn pass(&self, micros: i64) {
        self.wall.fetch_add(micros, Ordering::Relaxed);
        self.steady.fetch_add(micros, Ordering::Relaxed);
    }

    /// Somebody sets the machine's clock.
    pub fn jump(&self, micros: i64) {
        self.wall.fetch_add(micros, Ordering::Relaxed);
    }

    fn clock(self: &Arc<Hands>) -> Clock {
        let [wall, steady] = [Arc::clone(self), Arc::clone(self)];
        Clock::of(
            move || Micros(wall.wall.load(Ordering::Relaxed)),
            move || Micros(steady.steady.load(Ordering::Relaxed)),
        )
    }
}

/// What outlives a process.
#[derive(Debug)]
pub struct Machine {
    pub store: Memory,
    pub hands: Arc<Hands>,
    began: Instant,
    faulty: Memory,
    watched: Arc<Mutex<(Plan, Seen)>>,
    /// Draws the engine's random bytes.
    entropy: Arc<AtomicU64>,
}

impl Machine {
    pub fn new(dice: &mut Dice) -> Machine {
        let store = Memory::default();
        let watched = Arc::new(Mutex::new((Plan::default(), Seen::default())));
        let watching = Arc::clone(&watched);
        let faults = Faults::new(move |call, moment| {
            let mut watched = watching.lock().unwrap_or_else(PoisonError::into_inner);
            let (plan, seen) = &mut *watched;
            seen.watch(plan, call, moment)
        });
        let hands = Arc::new(Hands::default());
        hands.jump(1_800_000_000_000_000);
        Machine {
            faulty: store.with_faults(faults),
            store,
            hands,
            began: Instant::now(),
            watched,
            entropy: Arc::new(AtomicU64::new(dice.throw())),
        }
    }

    /// Starts a process on what is durable.
    pub fn start(&self, plan: Plan) -> Option<Result<Turns, engine::StartFault>> {
        let log = LogKey::from_seed(ORIGIN, [7; 32]).expect("the origin is a name");
        let seal = keys::seed(&"5a".repeat(32)).expect("64 hex digits");
        let vault = Vault::new(&seal, &[]);
        let setup = Setup {
            store: Arc::new(self.faulty.clone()),
            keys: Keys { log, seal },
            vault,
            clock: self.hands.clock(),
        };
        self.plan(plan);
        let opened = Turns::open(setup, self.entropy(), self.steady());
        drive(opened, || plan.waiting())
    }

    /// Lets a process take a turn; false if it was lost in it. `meanwhile` is
    /// what others do where the store keeps it waiting.
    pub fn turn(&self, turns: &mut Turns, plan: Plan, mut meanwhile: impl FnMut()) -> bool {
        self.plan(plan);
        let taken = drive(turns.turn(self.steady()), || {
            meanwhile();
            plan.waiting()
        });
        taken.is_some()
    }

    fn steady(&self) -> Instant {
        let elapsed = self.hands.steady.load(Ordering::Relaxed);
        self.began + Duration::from_micros(elapsed.unsigned_abs())
    }

    fn plan(&self, plan: Plan) {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        *watched = (plan, Seen::default());
    }

    /// What was seen since the last plan.
    pub fn seen(&self) -> Seen {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.1.clone()
    }

    fn entropy(&self) -> Entropy {
        let drawn = Arc::clone(&self.entropy);
        Entropy::new(move |bytes| {
            let mut dice = Dice::new(drawn.load(Ordering::Relaxed));
            for some in bytes.chunks_mut(8) {
                some.copy_from_slice(&dice.throw().to_ne_bytes()[..some.len()]);
            }
            drawn.store(dice.throw(), Ordering::Relaxed);
            Ok(())
        })
    }
}

impl Seen {
    fn watch(&mut self, plan: &Plan, call: &Call<'_>, moment: Moment) -> Fault {
        if moment == Moment::Durable {
            if let Call::Append(batch) = call {
                self.note(batch);
            }
            return Fault::None;
        }
        let number = self.calls;
        self.calls += 1;
        let planned = plan.fault.filter(|(at, _)| *at == number);
        let fault = planned.map_or(Fault::None, |(_, fault)| fault);
        self.met |= fault != Fault::None;
        if let (Call::Append(batch), Fault::WaitsBefore | Fault::WaitsAfter) = (call, fault) {
            self.commit_waits = !is_rule(batch);
        }
        if matches!(call, Call::Due) {
            self.due_read = !matches!(fault, Fault::Fails | Fault::FailsWhenDone);
        }
        fault
    }

    fn note(&mut self, batch: &store::Batch) {
        match is_rule(batch) {
            true => self
                .by_rule
                .push(batch.wake.erase.iter().map(|(no, _)| *no).collect()),
            false => self.decided = true,
        }
    }
}

/// An erasure that names nobody is a rule's, in a batch of its own.
fn is_rule(batch: &store::Batch) -> bool {
    let names = |facts: &[u8]| facts.windows(5).any(|found| found == b"\"by\":");
    !batch.wake.erase.is_empty() && !batch.log.entries.iter().any(|row| names(&row.facts))
}

/// Polls to the end; `None` if `waits` says that the process is lost where it waits.
fn drive<F: Future>(future: F, mut waits: impl FnMut() -> ControlFlow<()>) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..POLLS {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(done) => return Some(done),
            Poll::Pending if waits().is_break() => return None,
            Poll::Pending => {}
        }
    }
    panic!("the engine waits for something that never comes");
}

/// What a read gives; reads meet no faults.
pub fn read<T, E: Display>(read: impl Future<Output = Result<T, E>>) -> Result<T, String> {
    drive(read, || ControlFlow::Continue(()))
        .expect("nobody is lost")
        .map_err(|error| error.to_string())
}
