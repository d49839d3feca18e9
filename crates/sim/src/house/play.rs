//! One seed, turn by turn.
//!
//! A step is one command that was given to the engine, or one fault. What the
//! clock ticks, what is read and what is compared are none.

use std::{collections::VecDeque, sync::Arc};

use engine::{Command, Shared, Turns, turns::Told};
use store::memory::Fault;
use trail::Micros;

use super::{
    asked::Asked,
    broken::{self, Rule},
    compare,
    counts::Counts,
    failure::Failure,
    model::Model,
    orders,
    process::{Machine, Plan},
    sweeper::Sweeper,
};
use crate::dice::Dice;

/// Turns between two comparisons of everything.
const TURNS_BETWEEN: u64 = 400;
const SECOND: i64 = Micros::SECOND;
/// Turns that a failure shows.
const RECENT: usize = 6;
/// The call that goes wrong is one of the first in its turn.
const CALLS: u64 = 7;
/// The most that a sweep asks for.
const PAGE: u64 = 20;

/// Plays one seed for so many steps, with a rule broken or none.
pub fn play(seed: u64, steps: u64, rule: Option<Rule>) -> Result<Counts, Box<Failure>> {
    let _broken = broken::set(rule);
    let mut house = House::new(seed);
    let mut played = house.begin();
    while played.is_ok() && house.counts.steps < steps {
        played = house.turn();
    }
    match played.and_then(|()| house.end()) {
        Ok(()) => Ok(house.counts),
        Err(sentence) => Err(Box::new(Failure {
            seed,
            steps: house.counts.steps,
            sentence,
            broken: rule,
            recent: house.recent.iter().map(ToString::to_string).collect(),
        })),
    }
}

#[derive(Debug)]
pub struct House {
    dice: Dice,
    pub(super) machine: Machine,
    /// Two processes that take turns on one store.
    processes: [Process; 2],
    /// The one whose turn it is.
    at: usize,
    pub(super) model: Model,
    pub(super) sweepers: [Sweeper; 3],
    /// The latest time that any process followed.
    latest: Micros,
    counts: Counts,
    recent: VecDeque<Asked>,
}

/// What ends with a process.
#[derive(Debug, Default)]
struct Process {
    turns: Option<Turns>,
    /// The last time that its clock showed.
    shown: Option<Micros>,
    /// The version of the store that it has seen.
    version: u64,
    retain: Option<Told<u64>>,
}

impl House {
    fn new(seed: u64) -> House {
        let mut dice = Dice::new(seed);
        House {
            machine: Machine::new(&mut dice),
            dice,
            processes: Default::default(),
            at: 0,
            model: Model::default(),
            sweepers: ["north", "south", "west"].map(Sweeper::new),
            latest: Micros(i64::MIN),
            counts: Counts::default(),
            recent: VecDeque::new(),
        }
    }

    /// Starts the first process, which begins the log, and lets people in.
    fn begin(&mut self) -> Result<(), String> {
        self.start()?;
        let now = self.now()?;
        self.model.begin(now);
        self.model.record();
        self.at = 1;
        self.start()?;
        for command in orders::first() {
            self.at = 1 - self.at;
            self.ask(vec![command], Plan::default())?;
        }
        Ok(())
    }

    fn process(&mut self) -> &mut Process {
        &mut self.processes[self.at]
    }

    fn engine(&mut self) -> &mut Turns {
        let turns = self.process().turns.as_mut();
        turns.expect("a process runs between turns")
    }

    /// What readers of the process share whose turn it was, if it was not lost.
    pub(super) fn shared(&self) -> Option<&Arc<Shared>> {
        self.processes[self.at].turns.as_ref().map(Turns::shared)
    }

    /// Starts a process on what is durable, perhaps after one that failed to.
    fn start(&mut self) -> Result<(), String> {
        *self.process() = Process {
            shown: Some(self.model.last_time),
            ..Process::default()
        };
        if self.model.size > 0 && self.dice.chance(10) {
            let plan = self.draw_plan();
            self.counts.fault(match self.machine.start(plan) {
                Some(Ok(_)) => "a process is lost when it has started",
                Some(Err(_)) => "a process fails to start",
                None => "a process is lost while it starts",
            });
        }
        match self.machine.start(Plan::default()) {
            Some(Ok(turns)) => self.process().turns = Some(turns),
            Some(Err(fault)) => return Err(format!("a process does not start: {fault}")),
            None => return Err("a process does not start".to_owned()),
        }
        self.process().version = self.machine.store.version();
        self.now()?;
        let store = &self.machine.store;
        let kept = |pair: &(String, String)| compare::has_idempotency(store, pair);
        self.model.forget_idempotency(self.latest, kept)
    }

    /// The process is lost and another one is started.
    fn lose(&mut self) -> Result<(), String> {
        self.counts.fault("the process is lost");
        if self.dice.chance(30) {
            self.machine.store.forget_remembered();
        }
        self.start()
    }

    /// The engine's time, which never goes back while its process lives.
    fn now(&mut self) -> Result<Micros, String> {
        let now = self.engine().shared().clock.now();
        match self.process().shown.replace(now) {
            Some(before) if now < before => {
                Err(format!("the clock went back from {before:?} to {now:?}"))
            }
            _ => Ok(now),
        }
    }

    fn turn(&mut self) -> Result<(), String> {
        self.counts.turns += 1;
        self.at = self.dice.roll(2) as usize;
        self.pass();
        if self.dice.rarely(5) {
            self.lose()?;
        }
        let commands = self.draw_commands()?;
        if self.process().retain.is_none() && self.dice.rarely(15) {
            self.process().retain = Some(self.engine().retain());
            self.counts.steps += 1;
            self.counts.add("retain", "asked");
        }
        let plan = match self.dice.chance(7) {
            true => self.draw_plan(),
            false => Plan::default(),
        };
        self.ask(commands, plan)?;
        if self.dice.chance(15) {
            self.sweep()?;
        }
        match self.counts.turns % TURNS_BETWEEN {
            0 => self.compare_all(),
            _ => Ok(()),
        }
    }

    fn draw_commands(&mut self) -> Result<Vec<Command>, String> {
        let now = self.now()?;
        let many = if self.dice.chance(8) {
            0
        } else {
            1 + self.dice.roll(7)
        };
        let mut commands: Vec<Command> = Vec::new();
        for _ in 0..many {
            // The same thing is often asked for twice at the same time.
            let again = commands.last().filter(|_| self.dice.chance(10)).cloned();
            let drawn = again.unwrap_or_else(|| orders::draw(&mut self.dice, &self.model, now));
            commands.push(drawn);
        }
        Ok(commands)
    }

    fn draw_plan(&mut self) -> Plan {
        let faults = [
            Fault::Fails,
            Fault::FailsWhenDone,
            Fault::WaitsBefore,
            Fault::WaitsAfter,
        ];
        Plan {
            fault: Some((self.dice.roll(CALLS) as usize, self.dice.pick(&faults))),
            lost: self.dice.chance(70),
        }
    }

    /// Time passes; now and then the machine's clock is set, both ways.
    fn pass(&mut self) {
        let dice = &mut self.dice;
        let micros = match dice.roll(100) {
            0..20 => 0,
            20..50 => dice.roll(900_000) as i64,
            50..90 => dice.roll(40) as i64 * SECOND / 2,
            90..98 => dice.roll(3600) as i64 * SECOND,
            98 => dice.roll(3 * 86_400) as i64 * SECOND,
            _ => dice.roll(24) as i64 * 3600 * SECOND,
        };
        self.machine.hands.pass(micros);
        if self.dice.rarely(8) {
            let hours = self.dice.roll(9) as i64 - 5;
            self.machine.hands.jump(hours * 1800 * SECOND);
            self.counts.fault("the clock jumps");
        }
    }

    /// Gives commands to the engine in one turn and holds what came of it
    /// against the model.
    fn ask(&mut self, commands: Vec<Command>, plan: Plan) -> Result<(), String> {
        let asked = self.take_turn(commands, plan)?;
        for (command, told) in asked.commands.iter().zip(&asked.told) {
            self.counts.command(command, told);
        }
        if asked.seen.met {
            self.counts.fault(match plan.fault {
                Some((_, Fault::Fails)) => "a call fails",
                Some((_, Fault::FailsWhenDone)) => "a call is done and reported as failed",
                _ if asked.seen.commit_waits => "a commit is slow",
                _ => "another call is slow",
            });
        }
        let judged = self.judge(&asked);
        let (lost, chores_at) = (asked.lost, asked.chores_at);
        self.latest = self.latest.max(chores_at);
        self.recent.push_back(asked);
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        judged?;
        if lost {
            return self.lose();
        }
        let retain = &mut self.process().retain;
        let answered = retain.as_mut().and_then(|told| told.try_recv().ok());
        if let Some(answer) = answered {
            *retain = None;
            let left = self.model.next_by_rule(chores_at);
            if answer.is_ok() && !left.is_empty() {
                return Err(format!("retention has ended, and {left:?} are left"));
            }
        }
        Ok(())
    }

    /// Lets the engine take a turn. While the store keeps it waiting agents
    /// sweep, and time passes if it waits for its commit.
    fn take_turn(&mut self, commands: Vec<Command>, plan: Plan) -> Result<Asked, String> {
        let mut now = self.now()?;
        let version = self.machine.store.version();
        let has_failed = self.engine().shared().health.is_degraded();
        if has_failed || self.process().version != version {
            // It loads what is durable, and goes on from there.
            now = now.max(self.model.last_time);
        }
        let turns = self.processes[self.at].turns.as_mut();
        let turns = turns.expect("a process runs between turns");
        let shared = Arc::clone(turns.shared());
        let was_degraded = shared.health.is_degraded();
        let waiting: Vec<_> = commands
            .iter()
            .map(|one| turns.submit(one.clone()))
            .collect();
        let (machine, dice, sweepers) = (&self.machine, &mut self.dice, &mut self.sweepers);
        let mut chores_at = now;
        let mut swept = Ok(());
        let is_whole = machine.turn(turns, plan, || {
            if machine.seen().commit_waits {
                machine.hands.pass(dice.roll(90) as i64 * SECOND);
                chores_at = shared.clock.now();
            }
            for sweeper in sweepers.iter_mut() {
                let limit = 1 + dice.roll(PAGE) as usize;
                swept = swept
                    .clone()
                    .and_then(|()| sweeper.read(&shared, limit).map(drop));
            }
        });
        swept?;
        self.processes[self.at].version = self.machine.store.version();
        let told = waiting.into_iter().map(|mut told| told.try_recv().ok());
        Ok(Asked {
            now,
            chores_at,
            due: self.model.due(now),
            told: told.collect(),
            commands,
            was_degraded,
            lost: !is_whole,
            seen: self.machine.seen(),
        })
    }

    /// Every agent reads a page; gives whether there is more for one of them.
    fn sweep(&mut self) -> Result<bool, String> {
        let limit = 1 + self.dice.roll(PAGE) as usize;
        let shared = Arc::clone(self.engine().shared());
        let mut has_more = false;
        for sweeper in &mut self.sweepers {
            let is_last = !sweeper.read(&shared, limit)?;
            sweeper.check(&self.model)?;
            if is_last {
                sweeper.has_all(&self.model)?;
            }
            has_more |= !is_last;
        }
        Ok(has_more)
    }

    fn compare_all(&mut self) -> Result<(), String> {
        let now = self.now()?;
        let shared = Arc::clone(self.engine().shared());
        compare::all(&self.machine.store, &shared, &self.model, now)
    }

    /// What everyone has at the end is all there is.
    fn end(&mut self) -> Result<(), String> {
        self.ask(Vec::new(), Plan::default())?;
        while self.sweep()? {}
        self.compare_all()?;
        self.counts.sum(&self.model.counts);
        Ok(())
    }
}
