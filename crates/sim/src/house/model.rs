//! What must come of each command, in code that is too plain to be wrong: a list
//! of items that is looked through from its beginning.
//!
//! The model takes a command only once it is known to be durable or answered, so
//! it needs no undo. Ids are the engine's to draw: it is told them.

use std::collections::{BTreeMap, BTreeSet};

use account::{Actor, Role};
use engine::{
    Command, Refusal, Reply,
    command::{Account, Attempt, Deliver, Inbox, Wake},
};
use inbox::{ItemId, Person, Rejection, Request, Verdict};
use store::Erased;
use trail::{Hash, Micros};
use uuid::Uuid;
use wake::{
    Status, limits,
    response::Receipt,
    webhook::{UrlFault, retry_delay_ms},
};

use super::{
    counts::Counts,
    item::{Callback, Hold, Item, status, verdict},
    orders,
    people::Accounts,
};

/// Timers that a turn looks at.
const TIMERS: usize = 256;
/// Deliveries that one commit of a retention rule erases.
const ERASED: usize = 16;
const DAY: i64 = 86_400;

#[derive(Debug, Default)]
pub struct Model {
    pub accounts: Accounts,
    pub items: Vec<Item>,
    by_id: BTreeMap<Uuid, usize>,
    pub callbacks: BTreeMap<u64, Callback>,
    idempotency: BTreeMap<(String, String), (Hash, Uuid, Micros)>,
    seen: BTreeSet<(String, Uuid)>,
    pub snoozed: BTreeMap<(String, u64), Micros>,
    /// Entries, and the time of the last one.
    pub size: u64,
    pub last_time: Micros,
    now: Micros,
    /// Items that changed since somebody asked.
    pub touched: BTreeSet<usize>,
    /// Changes of kept state that make no entry.
    pub marks: u64,
    /// What nobody asked for and happened.
    pub counts: Counts,
}

/// Reads the id of the delivery whose entry is at a position.
pub type Learn<'a> = &'a dyn Fn(u64) -> Option<Uuid>;

impl Model {
    pub fn item(&self, id: Uuid) -> Option<&Item> {
        self.by_id.get(&id).map(|at| &self.items[*at])
    }

    fn find(&self, id: Uuid) -> Result<usize, Refusal> {
        self.by_id.get(&id).copied().ok_or(Refusal::NotFound)
    }

    /// An entry: its position and its time, which is later than the last one's.
    pub fn record(&mut self) -> (u64, Micros) {
        self.last_time = self.next_time();
        self.size += 1;
        (self.size - 1, self.last_time)
    }

    fn next_time(&self) -> Micros {
        self.now.max(Micros(self.last_time.0 + 1))
    }

    /// The deliveries whose time has come, soonest first.
    pub fn due(&self, now: Micros) -> Vec<Uuid> {
        let due = self
            .items
            .iter()
            .filter_map(|item| Some((item.due_at()?, item)));
        let mut due: Vec<_> = due.filter(|(at, _)| *at <= now).collect();
        due.sort_by_key(|(at, item)| (*at, item.no));
        due.iter().take(TIMERS).map(|(_, item)| item.id).collect()
    }

    pub fn begin(&mut self, now: Micros) {
        self.now = now;
    }

    pub fn decide(&mut self, command: &Command, learn: Learn<'_>) -> Result<Reply, Refusal> {
        match command {
            Command::Wake(command) => self.decide_wake(command, learn),
            Command::Inbox(command) => self.decide_inbox(command),
            Command::Account(Account::Administer { actor, command }) => {
                self.accounts.may_administer(actor)?;
                let at = self.next_time();
                let entries = self.accounts.administer(command, self.now, at)?;
                for _ in 0..entries {
                    self.record();
                }
                Ok(Reply::Done)
            }
            other => unreachable!("no order is {other:?}"),
        }
    }

    fn decide_wake(&mut self, command: &Wake, learn: Learn<'_>) -> Result<Reply, Refusal> {
        match command {
            Wake::Deliver(deliver) => self.deliver(deliver, learn),
            Wake::RecordAttempt(attempt) => self.attempt(attempt),
            Wake::ReplayCallback {
                actor,
                callback,
                delivery_id,
            } => self.replay(actor, *callback, *delivery_id),
            Wake::EraseNow { actor, delivery_id } => self.erase_now(actor, *delivery_id),
            Wake::Expire { .. } | Wake::Erase { .. } => {
                unreachable!("the engine alone asks for {command:?}")
            }
        }
    }

    fn decide_inbox(&mut self, command: &Inbox) -> Result<Reply, Refusal> {
        match command {
            Inbox::Respond {
                person,
                item: ItemId::Delivery(id),
                request,
            } => self.respond(person, *id, request),
            Inbox::Undo {
                person,
                item: ItemId::Delivery(id),
            } => self.undo(person, *id),
            Inbox::See {
                name,
                item: ItemId::Delivery(id),
            } => self.see(name, *id),
            Inbox::Snooze {
                name,
                item: ItemId::Delivery(id),
                until,
            } => self.snooze(name, *id, *until),
        }
    }

    fn deliver(&mut self, deliver: &Deliver, learn: Learn<'_>) -> Result<Reply, Refusal> {
        let now = self.now;
        let key = self.accounts.keys.get(&deliver.key_id);
        let key = key
            .filter(|key| key.works(now))
            .ok_or(Refusal::KeyGone)?
            .clone();
        let pair = deliver.idempotency.as_ref();
        let pair = pair.map(|(name, digest)| ((deliver.key_id.clone(), name.clone()), *digest));
        if let Some((pair, digest)) = &pair
            && let Some((known, delivery_id, created_at)) = self.idempotency.get(pair)
            && now < created_at.plus_seconds(limits::IDEMPOTENCY_SECONDS)
        {
            return match known == digest {
                true => Ok(Reply::Repeated {
                    status: 201,
                    body: Receipt::new(*delivery_id, *created_at).to_bytes(),
                }),
                false => Err(Refusal::IdempotencyMismatch),
            };
        }
        let asked = &deliver.delivery;
        if asked.agent_id != key.agent {
            return Err(wake::Fault::AgentMismatch(key.agent).into());
        }
        if asked.callback_webhook.is_some() && self.accounts.allowed.is_empty() {
            return Err(wake::Fault::from(UrlFault::NotAllowed).into());
        }
        let rate = self.accounts.rate(&key);
        let key = self
            .accounts
            .keys
            .get_mut(&deliver.key_id)
            .ok_or(Refusal::KeyGone)?;
        key.take(rate, now)
            .map_err(|retry_after_seconds| Refusal::RateLimited {
                retry_after_seconds,
            })?;
        let (no, created_at) = self.record();
        let delivery_id = learn(no).ok_or(Refusal::NotFound)?;
        if let Some((pair, digest)) = pair {
            self.idempotency
                .insert(pair, (digest, delivery_id, created_at));
        }
        let item = Item {
            id: delivery_id,
            no,
            agent: asked.agent_id.clone(),
            kind: asked.kind,
            created_at,
            changed_at: created_at,
            timeout_at: asked
                .timeout_seconds
                .map(|seconds| created_at.plus_seconds(seconds)),
            timed_out: false,
            status: Status::Pending,
            answered_by: None,
            hold: None,
            has_callback: asked.callback_webhook.is_some(),
            erased: Erased::Nothing,
            details: asked.details.clone(),
            feedback: None,
        };
        self.by_id.insert(delivery_id, self.items.len());
        self.touched.insert(self.items.len());
        self.items.push(item);
        Ok(Reply::Received {
            delivery_id,
            created_at,
        })
    }

    /// A new process began, whose clock may be behind that of the one before: if
    /// the machine's clock was set back, it goes on from the last entry. A record
    /// that was over by then may be gone or not, and no other is gone.
    pub fn forget_idempotency(
        &mut self,
        latest: Micros,
        kept: impl Fn(&(String, String)) -> Result<bool, String>,
    ) -> Result<(), String> {
        let mut gone = Vec::new();
        for (pair, (_, _, created_at)) in &self.idempotency {
            let is_over = created_at.plus_seconds(limits::IDEMPOTENCY_SECONDS) <= latest;
            match (kept(pair)?, is_over) {
                (true, _) => {}
                (false, true) => gone.push(pair.clone()),
                (false, false) => return Err(format!("{pair:?} was forgotten too soon")),
            }
        }
        gone.iter().for_each(|pair| {
            self.idempotency.remove(pair);
        });
        Ok(())
    }

    fn may(&self, name: &str, role: Role) -> Result<(), Refusal> {
        self.accounts
            .may(name, role)
            .then_some(())
            .ok_or(Refusal::PersonGone)
    }

    /// The token they came with must still be theirs.
    fn decides(&self, person: &Person) -> Result<(), Refusal> {
        self.may(person.name(), Role::Reviewer)?;
        let known = self.accounts.people.get(person.name());
        known
            .filter(|known| known.token == orders::token_of(person.name()))
            .map(drop)
            .ok_or(Refusal::PersonGone)
    }

    /// The first answer stands, and a held one keeps others out.
    fn refuse_unless_open(item: &Item, name: &str) -> Result<(), Rejection> {
        if let Some(by) = item.answered_by.clone() {
            let (verdict, at) = (verdict(item.status), item.changed_at);
            return Err(Rejection::AlreadyAnswered { by, verdict, at });
        }
        match item.hold.clone() {
            None => Ok(()),
            Some(Hold { by, verdict, until }) => Err(match by == name {
                true => Rejection::HeldByYou { verdict, until },
                false => Rejection::HeldByAnother { by, verdict, until },
            }),
        }
    }

    fn respond(&mut self, person: &Person, id: Uuid, request: &Request) -> Result<Reply, Refusal> {
        self.decides(person)?;
        let at = self.find(id)?;
        Model::refuse_unless_open(&self.items[at], person.name())?;
        let verdict = request.answer.verdict;
        let until = self.now.plus_seconds(request.hold_seconds);
        let (position, time) = self.record();
        self.touched.insert(at);
        let item = &mut self.items[at];
        item.feedback.clone_from(&request.answer.feedback);
        if item.erased == Erased::All {
            item.erased = Erased::BeforeAnswer;
        }
        if request.hold_seconds > 0 {
            let by = person.name().to_owned();
            item.hold = Some(Hold { by, verdict, until });
            let status = status(verdict);
            return Ok(Reply::Held { status, until });
        }
        self.answer(at, person.name().to_owned(), verdict, position, time);
        let status = status(verdict);
        Ok(Reply::Answered { status, at: time })
    }

    fn answer(&mut self, at: usize, by: String, verdict: Verdict, position: u64, time: Micros) {
        let now = self.now;
        let item = &mut self.items[at];
        item.status = status(verdict);
        item.changed_at = time;
        item.answered_by = Some(by);
        item.hold = None;
        if item.has_callback {
            let owed = Callback {
                delivery_id: item.id,
                attempts: 0,
                next_at: Some(now),
            };
            self.callbacks.insert(position, owed);
            self.counts.add("callback", "owed");
        }
        self.touched.insert(at);
    }

    fn undo(&mut self, person: &Person, id: Uuid) -> Result<Reply, Refusal> {
        self.decides(person)?;
        let at = self.find(id)?;
        let is_own = |hold: &Hold| hold.by == person.name();
        if !self.items[at].hold.as_ref().is_some_and(is_own) {
            Model::refuse_unless_open(&self.items[at], person.name())?;
            return Err(Rejection::NothingHeld.into());
        }
        self.record();
        self.items[at].hold = None;
        self.items[at].feedback = None;
        self.touched.insert(at);
        Ok(Reply::Undone)
    }

    fn see(&mut self, name: &str, id: Uuid) -> Result<Reply, Refusal> {
        self.may(name, Role::Viewer)?;
        self.find(id)?;
        if self.seen.insert((name.to_owned(), id)) {
            self.record();
        }
        Ok(Reply::Done)
    }

    fn snooze(&mut self, name: &str, id: Uuid, until: Option<Micros>) -> Result<Reply, Refusal> {
        self.may(name, Role::Viewer)?;
        let at = self.find(id)?;
        let key = (name.to_owned(), self.items[at].no);
        match until {
            Some(until) => self.snoozed.insert(key, until),
            None => self.snoozed.remove(&key),
        };
        self.marks += 1;
        Ok(Reply::Done)
    }

    fn attempt(&mut self, attempt: &Attempt) -> Result<Reply, Refusal> {
        let now = self.now;
        let row = self.callbacks.get_mut(&attempt.callback);
        let row = row.ok_or(Refusal::NotFound)?;
        if row.next_at.is_none() {
            return Ok(Reply::Done);
        }
        row.attempts += 1;
        let ends = attempt.error.is_none() || attempt.http_status == Some(410);
        let wait = retry_delay_ms(row.attempts, attempt.random, attempt.retry_after_seconds);
        row.next_at = wait.filter(|_| !ends).map(|ms| Micros(now.0 + ms * 1000));
        self.record();
        Ok(Reply::Done)
    }

    fn replay(&mut self, actor: &Actor, callback: u64, id: Uuid) -> Result<Reply, Refusal> {
        let now = self.now;
        self.accounts.may_administer(actor)?;
        let row = self.callbacks.get_mut(&callback).ok_or(Refusal::NotFound)?;
        (row.attempts, row.next_at) = (0, Some(now));
        debug_assert_eq!(row.delivery_id, id, "orders name both");
        self.record();
        Ok(Reply::Done)
    }

    fn erase_now(&mut self, actor: &Actor, id: Uuid) -> Result<Reply, Refusal> {
        self.accounts.may_administer(actor)?;
        let at = self.find(id)?;
        if !self.items[at].is_over() {
            return Err(Rejection::StillOpen.into());
        }
        if self.items[at].erased != Erased::All {
            self.record();
            self.items[at].erase();
            self.touched.insert(at);
        }
        Ok(Reply::Done)
    }

    /// The timer looks at a delivery.
    pub fn expire(&mut self, id: Uuid) {
        let Ok(at) = self.find(id) else { return };
        let now = self.now;
        if let Some(hold) = self.items[at].hold.clone().filter(|hold| hold.until <= now) {
            let (position, time) = self.record();
            self.answer(at, hold.by, hold.verdict, position, time);
            self.counts.add("timer", "a hold became final");
        }
        let item = &self.items[at];
        let waits = item.status == Status::Pending && !item.timed_out;
        if waits && item.timeout_at.is_some_and(|at| at <= now) {
            self.record();
            self.items[at].timed_out = true;
            self.counts.add("timer", "a delivery timed out");
            self.touched.insert(at);
        }
    }

    /// What the first rule that has something to erase would erase next.
    pub fn next_by_rule(&self, now: Micros) -> Vec<u64> {
        for (kind, days) in &self.accounts.retention {
            let before = now.plus_seconds(-i64::from(*days) * DAY);
            let of_kind = self.items.iter().filter(|item| item.kind == *kind);
            let old = of_kind.filter_map(|item| Some((item.kept_since()?, item)));
            let old = old.filter(|(since, item)| *since < before && item.erased != Erased::All);
            // Those that were answered come first.
            let order = |(since, item): &(Micros, &Item)| (item.status == Status::Pending, *since);
            let mut old: Vec<_> = old.collect();
            old.sort_by_key(order);
            if !old.is_empty() {
                return old.iter().take(ERASED).map(|(_, item)| item.no).collect();
            }
        }
        Vec::new()
    }

    /// A rule erased these, with one entry for each agent.
    pub fn erased_by_rule(&mut self, numbers: &[u64]) {
        let mut agents = BTreeSet::new();
        for (at, item) in self.items.iter_mut().enumerate() {
            if numbers.contains(&item.no) {
                item.erase();
                self.counts.add("erased", "by rule");
                agents.insert(item.agent.clone());
                self.touched.insert(at);
            }
        }
        for _ in agents {
            self.record();
        }
    }
}
