//! What is under way between the runtime and everyone else. Some of it is
//! lost, some arrives twice, and nothing arrives in the order it was sent.

use std::collections::BTreeMap;

use trail::Micros;
use wacp::{
    Effect, Order,
    id::{EnvelopeId, GateId, SignalId, UserId, WorkspaceId},
    workspace::budget::Dimension,
};

use crate::dice::Dice;

/// Something on its way.
#[derive(Clone, Debug)]
pub enum Errand {
    /// To whom it concerns.
    Tell(Effect),
    /// To the runtime.
    Ask(Box<Order>),
    /// Somebody means to do something; what exactly, they see when they do it.
    Do(Intent),
}

/// What somebody means to do.
#[derive(Clone, Copy, Debug)]
pub enum Intent {
    /// The coordinator looks at its plan.
    Plan,
    /// The agent says that it is ready.
    Begin(WorkspaceId),
    /// The parent sends work, or an answer, or asks again.
    Direct(WorkspaceId),
    /// The receiver takes an envelope.
    Take(WorkspaceId, EnvelopeId),
    /// The agent goes on with its work.
    Work(WorkspaceId),
    /// The parent looks at what was completed.
    Judge(WorkspaceId),
    /// The coordinator looks at what failed.
    Retry(WorkspaceId),
    /// The agent reads its mail for the first time.
    Bind(WorkspaceId),
    /// Somebody takes the workspace up again.
    Resume(WorkspaceId),
    Answer(GateId),
    Reply(UserId, SignalId),
    Decide(GateId),
    Raise(WorkspaceId, Dimension),
}

/// More than this are never under way: whoever is not heard asks again.
const MOST: usize = 400;

/// How unreliable the way is, in a hundred.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    pub lost: u64,
    pub doubled: u64,
    pub late: u64,
}

impl Weather {
    pub fn any(dice: &mut Dice) -> Weather {
        let fair = Weather {
            lost: 0,
            doubled: 0,
            late: 0,
        };
        let usual = Weather {
            lost: 4,
            doubled: 4,
            late: 10,
        };
        let foul = Weather {
            lost: 25,
            doubled: 15,
            late: 40,
        };
        dice.pick(&[fair, usual, usual, foul])
    }
}

#[derive(Debug)]
pub struct Errands {
    pub weather: Weather,
    /// By when they arrive, then by when they were sent.
    under_way: BTreeMap<(Micros, u64), Errand>,
    sent: u64,
}

impl Errands {
    pub fn new(weather: Weather) -> Errands {
        Errands {
            weather,
            under_way: BTreeMap::new(),
            sent: 0,
        }
    }

    /// Sends something that takes about so long.
    pub fn send(&mut self, dice: &mut Dice, now: Micros, about_us: u64, errand: Errand) {
        if dice.chance(self.weather.lost) {
            return;
        }
        if dice.chance(self.weather.doubled) {
            self.put(dice, now, about_us * 3, errand.clone());
        }
        self.put(dice, now, about_us, errand);
    }

    fn put(&mut self, dice: &mut Dice, now: Micros, about_us: u64, errand: Errand) {
        if self.under_way.len() >= MOST {
            return;
        }
        let late = if dice.chance(self.weather.late) {
            10
        } else {
            1
        };
        let wait = about_us / 2 + dice.roll(about_us * late + 1);
        self.sent += 1;
        let at = Micros(now.0 + wait as i64);
        self.under_way.insert((at, self.sent), errand);
    }

    pub fn next_at(&self) -> Option<Micros> {
        self.under_way.keys().next().map(|(at, _)| *at)
    }

    pub fn take(&mut self) -> Option<Errand> {
        self.under_way.pop_first().map(|(_, errand)| errand)
    }

    /// A crash: what was on its way to the runtime is gone, and some of the rest.
    pub fn crash(&mut self, dice: &mut Dice) {
        self.under_way.retain(|_, errand| match errand {
            Errand::Ask(_) => false,
            Errand::Tell(_) | Errand::Do(_) => !dice.chance(20),
        });
    }
}
