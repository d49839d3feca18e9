//! The one writer: batches, timers, the index that follows.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use account::Actor;
use store::{Due, ErasableQuery, Needs, Since, Turn};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use trail::Stream;
use uuid::Uuid;

use crate::{
    CommitFault, StartFault,
    breaks::{self, Break},
    command::{Command, Reply, Wake},
    core::{self, Core},
    decide, news, project, reached, rebuild,
    refusal::Refusal,
    shared::Shared,
    stage::Stage,
};

/// Commands in one commit. More would lengthen a commit without saving syncs.
const BATCH: usize = 512;
/// How long a batch may wait for as many commands as came lately.
const GATHER_STEP: Duration = Duration::from_micros(100);
const GATHER_STEPS: usize = 5;
/// Timers looked at in one go.
const TIMERS: usize = 256;
/// Deliveries erased in one commit; between two of them others have their turn.
const ERASED: usize = 16;
/// The index follows in small steps while commands come, in larger ones when
/// none has come for a moment.
const INDEX_BUSY: (Duration, usize) = (Duration::from_millis(500), 64);
const INDEX_IDLE: (Duration, usize) = (Duration::from_millis(50), 256);
/// How often retention rules and old idempotency records are looked at.
const CHORES: Duration = Duration::from_secs(600);
/// How soon storage that failed is tried again, if no command tries it first.
const RETRY: Duration = Duration::from_secs(1);
/// How long nothing was written before the store is settled: its write-ahead
/// log is emptied into the database, where one damaged bit loses less.
const IDLE: Duration = Duration::from_secs(3);
/// How long a stop waits for readers before it leaves that to the next start.
const STOP_PATIENCE: Duration = Duration::from_millis(500);
/// How long the writer sleeps at the most: a clock may be set.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub enum Job {
    Command {
        command: Box<Command>,
        answer: oneshot::Sender<Result<Reply, Refusal>>,
    },
    /// Erase what retention rules say, now.
    Retain(oneshot::Sender<Result<u64, Refusal>>),
    Stop(oneshot::Sender<()>),
}

#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    /// `None` after a failed commit, until it is loaded again.
    core: Option<Core>,
    /// When its turn began, by the clock that its chores go by.
    turn_at: Instant,
    index_at: Option<Instant>,
    /// When the store is to be settled, if nothing is written before.
    settle_at: Option<Instant>,
    chores_at: Instant,
    /// The head of the last commit, until the store remembers it too.
    signed: Option<String>,
    /// Notifications about the last commits that have not been sent yet.
    untold: Option<Untold>,
    /// How many commands came at once lately.
    expected: usize,
    /// Copies of erased bytes may be left, since the last start or a failure.
    scrub_owed: bool,
    retention: Option<Retention>,
}

#[derive(Debug, Default)]
struct Untold {
    /// Deliveries whose final answer is durable.
    answered: Vec<Uuid>,
    owes_callbacks: bool,
}

/// Erasing what retention rules say, a little at a time.
#[derive(Debug, Default)]
struct Retention {
    erased: u64,
    /// Those who asked for it.
    answers: Vec<oneshot::Sender<Result<u64, Refusal>>>,
}

impl Writer {
    /// Loads the last durable state; a new log gets its first entry.
    /// `now` is the time from which its chores are counted.
    pub async fn open(shared: Arc<Shared>, now: Instant) -> Result<Writer, StartFault> {
        reached::check(shared.store.as_ref(), shared.keys.log.verifier()).await?;
        match shared.store.is_rebuilding().await? {
            // Rows of an older version may be others than a replay makes now.
            true if shared.store.was_migrated() => {
                tracing::info!("the views are made anew from the trail, once");
                rebuild::rebuild(shared.store.as_ref(), &|_, _| {}).await?;
            }
            true => return Err(StartFault::Unfinished),
            false => {}
        }
        shared.store.check_start().await?;
        core::check_streams(shared.store.as_ref()).await?;
        let core = Core::load(shared.store.as_ref()).await?;
        shared.clock.resume(core.log.last_time);
        let mut writer = Writer {
            shared,
            core: Some(core),
            turn_at: now,
            index_at: Some(now),
            settle_at: Some(now + IDLE),
            chores_at: now + CHORES,
            signed: None,
            untold: None,
            expected: 0,
            scrub_owed: true,
            retention: None,
        };
        if writer
            .core
            .as_ref()
            .is_some_and(|core| core.log.frontier.size() == 0)
        {
            writer.start_log().await?;
        }
        writer.publish();
        Ok(writer)
    }

    async fn start_log(&mut self) -> Result<(), StartFault> {
        let Writer {
            shared,
            core: Some(core),
            ..
        } = self
        else {
            return Ok(());
        };
        let key = shared.keys.log.verifier();
        let started = account::event::LogStarted {
            algorithm: "sha-256, ed25519, rfc-6962".to_owned(),
            key: key.to_string(),
            origin: key.name().to_owned(),
        };
        record_alone(core, shared, &Actor::System, started.into()).await
    }

    /// Continues a restored log under a new origin, and says so in its next entry.
    pub async fn continue_log(shared: &Shared) -> Result<(), StartFault> {
        let Some(head) = shared.store.head().await? else {
            return Ok(());
        };
        let mut core = Core::load(shared.store.as_ref()).await?;
        let key = shared.keys.log.verifier();
        let restored = account::event::LogRestored {
            key: key.to_string(),
            old_origin: head.note.lines().next().unwrap_or_default().to_owned(),
            old_checkpoint: head.note,
            origin: key.name().to_owned(),
        };
        record_alone(&mut core, shared, &Actor::Operator, restored.into()).await
    }

    /// Drops what comes after `prefix`, makes everything else anew from what is
    /// left, and records which entries are missing and why.
    pub async fn continue_log_from(
        shared: &Shared,
        prefix: store::Prefix,
    ) -> Result<(), StartFault> {
        let Some(head) = shared.store.head().await? else {
            return Ok(());
        };
        let key = shared.keys.log.verifier();
        let note = shared.keys.log.sign(&trail::Checkpoint {
            origin: key.name().to_owned(),
            size: prefix.size,
            root: prefix.root,
        });
        let old_note = prefix.last_note.unwrap_or(head.note);
        let counted = trail::Checkpoint::unsigned(&old_note).map_or(0, |old| old.size);
        let continued = account::event::LogContinued {
            key: key.to_string(),
            kept: prefix.size,
            missing: counted.saturating_sub(prefix.size),
            old_origin: old_note.lines().next().unwrap_or_default().to_owned(),
            old_checkpoint: old_note,
            origin: key.name().to_owned(),
            reason: prefix.reason,
            root: prefix.root,
        };
        let kept = store::HeadRow {
            size: prefix.size,
            last_time: prefix.last_time,
            note,
        };
        shared.store.cut_log(prefix.size, kept).await?;
        shared.store.mend_log().await?;
        rebuild::rebuild(shared.store.as_ref(), &|_, _| {}).await?;
        let mut core = Core::load(shared.store.as_ref()).await?;
        record_alone(&mut core, shared, &Actor::Operator, continued.into()).await
    }

    /// Records that the log's key changed; `shared` has the new one, which signs
    /// the head from this entry on.
    pub async fn rotate_log_key(
        shared: &Shared,
        rotated: account::event::LogKeyRotated,
    ) -> Result<(), StartFault> {
        let mut core = Core::load(shared.store.as_ref()).await?;
        record_alone(&mut core, shared, &Actor::Operator, rotated.into()).await
    }

    pub async fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let sleep = self.sleep_for();
            tokio::select! {
                biased;
                received = jobs.recv_many(&mut batch, BATCH) => {
                    if received == 0 {
                        return;
                    }
                }
                () = tokio::time::sleep(sleep) => {}
            }
            self.gather(&mut jobs, &mut batch);
            if let Some(done) = self.turn(&mut batch, Instant::now()).await {
                jobs.close();
                if let Err(error) = self.shared.store.settle(STOP_PATIENCE).await {
                    tracing::warn!(%error, "the write-ahead log is left as it is");
                }
                let _ = done.send(());
                return;
            }
        }
    }

    /// Does the jobs that wait, what is due, and a little of the chores; gives
    /// who asked to stop, if someone did. It sleeps nowhere and `now` is an
    /// argument, so that a simulator drives exactly this code ([`crate::turns`]).
    pub async fn turn(&mut self, jobs: &mut Vec<Job>, now: Instant) -> Option<oneshot::Sender<()>> {
        self.turn_at = now;
        let mut stopping = None;
        let mut commands = Vec::with_capacity(jobs.len());
        for job in jobs.drain(..) {
            match job {
                Job::Command { command, answer } => commands.push((*command, answer)),
                Job::Retain(answer) => {
                    self.retention.get_or_insert_default().answers.push(answer);
                }
                Job::Stop(done) => stopping = Some(done),
            }
        }
        let busy = !commands.is_empty();
        if self.core.is_none() && !busy {
            self.recover().await;
        }
        // Still failing: the next turn tries again.
        let wrote = match self.core.is_some() || busy {
            true => self.commit(commands).await,
            false => false,
        };
        self.tell();
        self.remember();
        self.chores(busy).await;
        self.tell();
        self.remember();
        self.settle(wrote || self.retention.is_some()).await;
        stopping
    }

    /// While many ask at once, waits a moment for those that are about to: a
    /// commit costs almost the same for one command and for fifty. Half of what
    /// came lately is enough, so that the others are read and answered while
    /// this half is written. Whoever is alone never waits.
    fn gather(&mut self, jobs: &mut mpsc::Receiver<Job>, batch: &mut Vec<Job>) {
        for _ in 0..GATHER_STEPS {
            if batch.len() * 2 >= self.expected {
                break;
            }
            std::thread::sleep(GATHER_STEP);
            while batch.len() < BATCH {
                let Ok(job) = jobs.try_recv() else { break };
                batch.push(job);
            }
        }
        self.expected = batch.len().max(self.expected * 7 / 8);
    }

    fn sleep_for(&self) -> Duration {
        if self.core.is_none() {
            return RETRY;
        }
        if self.retention.is_some() {
            return Duration::ZERO;
        }
        let now = self.shared.clock.now();
        let due = self.core.as_ref().and_then(|core| core.next_due);
        let until_due = due.map_or(LONGEST_SLEEP, |at| {
            Duration::from_micros(u64::try_from(at.0 - now.0).unwrap_or(0))
        });
        let until_index = self
            .index_at
            .map_or(LONGEST_SLEEP, |at| at - Instant::now());
        let until_settled = self
            .settle_at
            .map_or(LONGEST_SLEEP, |at| at - Instant::now());
        let until_chores = self.chores_at - Instant::now();
        until_due
            .min(until_index)
            .min(until_settled)
            .min(until_chores)
            .min(LONGEST_SLEEP)
    }

    /// After a failure, without waiting for a command: timers must go on, and
    /// whoever asks whether we are ready may send none before we say so.
    async fn recover(&mut self) {
        if let Err(error) = self.shared.store.probe().await {
            tracing::debug!(%error, "storage still fails");
            return;
        }
        if self.load().await.is_ok() {
            self.shared.health.set_degraded(false);
        }
    }

    /// Loads the last durable state, which another process may have written.
    async fn load(&mut self) -> Result<(), StartFault> {
        // As at a start: what failed may have been changed by someone else.
        self.shared.store.check_start().await?;
        let core = Core::load(self.shared.store.as_ref()).await?;
        self.shared.clock.resume(core.log.last_time);
        self.core = Some(core);
        self.publish();
        Ok(())
    }

    /// After a failure memory is not to be trusted; it is loaded again.
    fn fail(&mut self, error: &dyn std::fmt::Display, what: &str) {
        tracing::warn!(%error, "{what}");
        if !breaks::is_on(Break::KeepsMemory) {
            self.core = None;
        }
        let health = &self.shared.health;
        health.failed_commits.fetch_add(1, Ordering::Relaxed);
        health.set_degraded(true);
    }

    /// Decides a batch and what is due, makes it durable, then answers. All or
    /// nothing. Gives whether there was anything to decide.
    async fn commit(&mut self, commands: Vec<(Command, Answer)>) -> bool {
        self.shared
            .health
            .commands
            .fetch_add(commands.len() as u64, Ordering::Relaxed);
        let (asked, answers): (Vec<Command>, Vec<Answer>) = commands.into_iter().unzip();
        match self.attempt(asked, Timers::Due).await {
            Ok(replies) => {
                let any = !replies.is_empty();
                if any {
                    self.shared.health.set_degraded(false);
                }
                for (answer, reply) in answers.into_iter().zip(replies) {
                    let _ = answer.send(reply);
                }
                any
            }
            Err(error) => {
                self.fail(&error, "a batch was not written");
                for answer in answers {
                    let _ = answer.send(Err(Refusal::Unavailable));
                }
                true
            }
        }
    }

    /// Takes a turn at the store. An error means that nothing was written: once
    /// it is, nothing fails.
    async fn attempt(
        &mut self,
        mut commands: Vec<Command>,
        timers: Timers,
    ) -> Result<Vec<Result<Reply, Refusal>>, CommitFault> {
        let store = Arc::clone(&self.shared.store);
        if self.core.is_none() {
            self.load().await?;
        }
        let mut turn = store.turn().await?;
        self.catch_up(turn.version()).await?;
        let Writer {
            shared,
            core: Some(core),
            ..
        } = self
        else {
            return Ok(Vec::new());
        };
        let now = shared.clock.now();
        if timers == Timers::Due && core.next_due.is_some_and(|at| at <= now) {
            let due = due(shared, core, now).await?.into_iter();
            commands.extend(due.map(at_its_time));
        }
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let erases = commands.iter().any(is_erasure);
        let accounts_before = Arc::clone(&core.accounts);
        let mut needs = Needs::default();
        for command in &commands {
            decide::needs(core, command, &mut needs);
        }
        let mut stage = Stage::new(core, shared, now);
        if !needs.is_empty() {
            load_into(&mut stage, turn.as_mut(), &needs).await?;
            // The streams of deliveries are known once the deliveries are.
            let mut streams = Needs::default();
            for stream in stage.streams_of_deliveries() {
                let stream = stage.stream_of(stream);
                decide::need_stream(stage.core, &stream, &mut streams);
            }
            if !streams.is_empty() {
                load_into(&mut stage, turn.as_mut(), &streams).await?;
            }
        }
        stage.expect(needs);
        let replies: Vec<Result<Reply, Refusal>> = commands
            .into_iter()
            .map(|command| decide::decide(&mut stage, command))
            .collect();
        if let Some(what) = stage.forgotten() {
            return Err(CommitFault::Forgotten(what));
        }
        if replies.contains(&Err(Refusal::Unavailable)) {
            return Err(CommitFault::Unsealed);
        }
        let due = stage
            .next_due()
            .filter(|_| !breaks::is_on(Break::ForgetsTimers));
        let written = match stage.into_batch() {
            Some((batch, answered)) => {
                let owes = !batch.wake.callbacks.is_empty();
                let signed = batch.log.head.as_ref().map(|head| head.note.clone());
                let secrets = batch.kept.secrets.iter();
                let secrets: Vec<String> = secrets.map(|(name, _)| name.clone()).collect();
                if breaks::is_on(Break::PublishesEarly) {
                    shared.publish_size(core.log.frontier.size());
                }
                let appended = turn.append(batch).await;
                // Also if it failed: the outcome may be unknown.
                shared.replaced.note(&secrets, shared.clock.now());
                core.version = match breaks::is_on(Break::TellsBeforeDurable) {
                    true => appended.unwrap_or_default(),
                    false => appended?,
                };
                shared.signers.forget(secrets.iter().map(String::as_str));
                shared.health.commits.fetch_add(1, Ordering::Relaxed);
                self.signed = signed.or(self.signed.take());
                Some((answered, owes))
            }
            None => None,
        };
        core.next_due = core.next_due.into_iter().chain(due).min();
        core.trim();
        let accounts_changed = !Arc::ptr_eq(&accounts_before, &core.accounts);
        if let Some((answered, owes)) = written {
            self.after_commit(answered, owes, accounts_changed);
        }
        if erases {
            // The chores that follow clear up, as after a rule.
            self.scrub_owed = true;
            self.retention.get_or_insert_default();
        }
        Ok(replies)
    }

    /// Learns what other processes have appended.
    async fn catch_up(&mut self, version: u64) -> Result<(), CommitFault> {
        let Some(core) = self.core.as_mut().filter(|core| core.version != version) else {
            return Ok(());
        };
        let answered = news::catch_up(core, &self.shared, version).await?;
        self.after_commit(answered, true, true);
        Ok(())
    }

    /// Publishes a durable commit to readers, so that whoever is answered next reads
    /// what they wrote. Those who wait for news are woken after the answers (`tell`).
    fn after_commit(&mut self, answered: Vec<Uuid>, owes: bool, accounts_changed: bool) {
        let Some(core) = &self.core else { return };
        if accounts_changed {
            self.shared.publish_accounts(Arc::clone(&core.accounts));
        }
        self.shared.publish_agents(&core.agents);
        self.shared.publish_size(core.log.frontier.size());
        let untold = self.untold.get_or_insert_default();
        untold.answered.extend(answered);
        untold.owes_callbacks |= owes;
        self.index_at.get_or_insert(self.turn_at + INDEX_BUSY.0);
    }

    /// Wakes those who wait for news of the log, for an answer or for callbacks.
    fn tell(&mut self) {
        let Some(untold) = self.untold.take() else {
            return;
        };
        self.shared.tell_size();
        for delivery_id in untold.answered {
            self.shared.wake(delivery_id);
        }
        if untold.owes_callbacks {
            self.shared.callbacks.notify_one();
        }
    }

    fn publish(&self) {
        if let Some(core) = &self.core {
            self.shared.publish_accounts(Arc::clone(&core.accounts));
            self.shared.publish_agents(&core.agents);
            self.shared.publish_size(core.log.frontier.size());
            self.shared.tell_size();
        }
    }

    /// Writes the last signed head to the file beside the database. The answers
    /// have been sent by then: this write costs a twentieth of a commit.
    fn remember(&mut self) {
        if let Some(signed) = self.signed.take() {
            self.shared.store.remember(&signed);
        }
    }

    /// Settles the store when nothing was written for a while, without waiting
    /// for anyone who reads: then it is tried again later.
    async fn settle(&mut self, wrote: bool) {
        let now = self.turn_at;
        if wrote || self.index_at.is_some() {
            self.settle_at = Some(now + IDLE);
        } else if self.settle_at.is_some_and(|at| at <= now) {
            self.settle_at = match self.shared.store.settle(Duration::ZERO).await {
                Ok(()) => None,
                Err(error) => {
                    tracing::debug!(%error, "the write-ahead log could not be emptied");
                    Some(now + IDLE)
                }
            };
        }
    }

    async fn chores(&mut self, busy: bool) {
        if self.index_at.is_some_and(|at| at <= self.turn_at) {
            let (pause, limit) = if busy { INDEX_BUSY } else { INDEX_IDLE };
            let began = Instant::now();
            self.index_at = match self.shared.store.index_some(limit).await {
                // Half of the time is left to whoever reads meanwhile.
                Ok(true) if !busy => Some(self.turn_at + 2 * began.elapsed()),
                Ok(true) => Some(self.turn_at + pause),
                Ok(false) => None,
                Err(error) => {
                    tracing::warn!(%error, "the search index could not follow");
                    Some(self.turn_at + LONGEST_SLEEP)
                }
            };
        }
        if self.chores_at <= self.turn_at {
            self.chores_at = self.turn_at + CHORES;
            self.shared.clock.warn_if_ahead();
            let forgotten = self
                .shared
                .clock
                .now()
                .plus_seconds(-wake::limits::IDEMPOTENCY_SECONDS);
            match self.shared.store.forget_idempotency(forgotten).await {
                // The rest as soon as whoever waits has been served.
                Ok(true) => self.chores_at = self.turn_at,
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%error, "old idempotency records could not be removed");
                }
            }
            self.retention.get_or_insert_default();
        }
        if self.retention.is_some() {
            self.retain().await;
        }
    }

    /// One step of erasing; whoever asked is told when nothing is left.
    async fn retain(&mut self) {
        let step = self.erase_some().await;
        if let (Ok(erased @ 1..), Some(retention)) = (&step, &mut self.retention) {
            retention.erased += erased;
            return;
        }
        let finished = match step {
            Ok(_) => self.scrub().await,
            Err(fault) => {
                self.fail(&fault, "retention rules could not be followed");
                false
            }
        };
        let Retention { erased, answers } = self.retention.take().unwrap_or_default();
        let told = finished.then_some(erased).ok_or(Refusal::Unavailable);
        for answer in answers {
            let _ = answer.send(told.clone());
        }
    }

    /// Erases a few deliveries whose time is over; gives how many.
    async fn erase_some(&mut self) -> Result<u64, CommitFault> {
        let Some(core) = &self.core else {
            return Err(CommitFault::Moved("storage failed before".to_owned()));
        };
        let rules = Arc::clone(&core.accounts);
        let now = self.shared.clock.now();
        for (kind, days) in &rules.retention {
            let kind = project::kind_code(*kind);
            let kept_days = i64::from(*days) - i64::from(breaks::is_on(Break::RetentionEarly));
            let before = now.plus_seconds(-kept_days * 86_400);
            let mut rows = Vec::new();
            for since in [Since::Answer, Since::TimeOut, Since::Creation] {
                let limit = ERASED - rows.len();
                let query = ErasableQuery {
                    kind,
                    since,
                    before,
                    limit,
                };
                rows.extend(self.shared.store.erasable(query).await?);
            }
            if rows.is_empty() {
                continue;
            }
            self.scrub_owed = true;
            let erase = Wake::Erase {
                delivery_ids: rows.iter().map(|row| row.id).collect(),
                retention_days: *days,
            };
            self.attempt(vec![erase.into()], Timers::Wait).await?;
            return Ok(rows.len() as u64);
        }
        Ok(0)
    }

    /// Removes copies of what was erased from the storage's own files. While
    /// someone reads them it cannot; it is owed until the next time.
    async fn scrub(&mut self) -> bool {
        if self.scrub_owed {
            match self.shared.store.scrub().await {
                Ok(()) => self.scrub_owed = false,
                Err(error) => tracing::warn!(%error, "copies of erased content are left for now"),
            }
        }
        !self.scrub_owed
    }
}

/// Loads rows of a turn into its stage. Fails if an agent has a stream and no lanes.
async fn load_into(
    stage: &mut Stage<'_>,
    turn: &mut dyn Turn,
    needs: &Needs,
) -> Result<(), CommitFault> {
    let loaded = turn.load(needs).await?;
    core::require_lanes(needs, &loaded)?;
    stage.add_loaded(loaded);
    Ok(())
}

fn is_erasure(command: &Command) -> bool {
    match command {
        Command::By(_, command) => is_erasure(command),
        command => matches!(command, Command::Wake(Wake::EraseNow { .. })),
    }
}

/// What is due, and when to look again.
async fn due(shared: &Shared, core: &mut Core, now: trail::Micros) -> store::Result<Vec<Due>> {
    let due = shared.store.due(now, TIMERS).await?;
    if due.len() < TIMERS {
        core.next_due = shared.store.next_due(now).await?;
    }
    Ok(due)
}

/// The command that something leads to when its time has come.
fn at_its_time(due: Due) -> Command {
    match due {
        Due::Delivery(delivery_id) => Wake::Expire { delivery_id }.into(),
    }
}

/// One entry on the stream of the whole server, in a commit of its own.
async fn record_alone(
    core: &mut Core,
    shared: &Shared,
    actor: &Actor,
    event: account::Event,
) -> Result<(), StartFault> {
    let mut stage = Stage::new(core, shared, shared.clock.now());
    stage
        .record(&Stream::Admin, actor, event, Vec::new())
        .map_err(|_| StartFault::Damaged("no random bytes".to_owned()))?;
    if let Some((batch, _)) = stage.into_batch() {
        let signed = batch.log.head.as_ref().map(|head| head.note.clone());
        shared.store.append(batch).await?;
        if let Some(note) = signed {
            shared.store.remember(&note);
        }
    }
    Ok(())
}

type Answer = oneshot::Sender<Result<Reply, Refusal>>;

/// Whether a batch also looks at timers that are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timers {
    Due,
    Wait,
}
