//! The rows of the store held against the model.

use engine::{Shared, read::InboxAsk, rebuild};
use store::{Needs, Store, memory::Memory};
use trail::Micros;
use wake::Status;

use super::{item::Item, model::Model, process::read};

/// More callbacks than a play makes.
const ALL: usize = 1 << 20;

/// Where the log ends.
pub fn head(store: &Memory, model: &Model) -> Result<(), String> {
    let head = read(store.head())?.ok_or("there is no head")?;
    same("the size of the log", head.size, model.size)?;
    same(
        "the time of its last entry",
        head.last_time,
        model.last_time,
    )
}

/// What readers are told: never more than is durable, and all of it unless the
/// writer still has to find out what is.
pub fn published(shared: &Shared, model: &Model) -> Result<(), String> {
    let size = *shared.size().borrow();
    match shared.health.is_degraded() {
        true if size > model.size => {
            Err("readers are told of entries that are not durable".to_owned())
        }
        true => Ok(()),
        false => {
            same("the size that readers are told", size, model.size)?;
            people(shared, model)
        }
    }
}

/// Whether the store still has the record of an idempotency key.
pub fn has_idempotency(store: &Memory, pair: &(String, String)) -> Result<bool, String> {
    let mut needs = Needs::default();
    needs.kept.idempotency.push(pair.clone());
    let store: &dyn Store = store;
    let loaded = read(store.load(&needs))?;
    Ok(loaded.kept.idempotency.contains_key(pair))
}

/// One delivery: its row, what its agent is told, and its texts.
pub fn item(store: &Memory, item: &Item) -> Result<(), String> {
    let what = |field: &str| format!("{field} of delivery {}", item.no);
    let row = read(store.delivery(item.id))?.ok_or_else(|| format!("no row {}", item.no))?;
    same(&what("the number"), row.no, item.no)?;
    same(&what("the kind"), row.kind, item.kind as u8)?;
    same(&what("the status"), row.status, item.status as u8)?;
    same(&what("the creation"), row.created_at, item.created_at)?;
    same(&what("the change"), row.changed_at, item.changed_at)?;
    same(
        &what("the time-out"),
        (row.timeout_at, row.timed_out),
        (item.timeout_at, item.timed_out),
    )?;
    same(
        &what("the author"),
        row.answered_by,
        item.answered_by.clone(),
    )?;
    let held = row.hold.map(|hold| (hold.by, hold.status, hold.until));
    let hold = item.hold.as_ref();
    let expected = hold.map(|hold| (hold.by.clone(), hold.verdict as u8 + 1, hold.until));
    same(&what("the hold"), held, expected)?;
    same(&what("the timer"), row.due_at, item.due_at())?;
    same(&what("the erasure"), row.erased, item.erased)?;
    let entry = read(store.entry(item.no))?.ok_or("its entry is gone")?;
    let details = entry.parts.into_iter().find(|part| part.name == "details");
    same(
        &what("the details"),
        details.map(|part| part.bytes),
        item.details.clone(),
    )?;
    let told = read(store.response(item.id))?.ok_or("no response")?;
    let is_final = item.status != Status::Pending;
    same(
        &what("the feedback"),
        told.feedback,
        item.feedback.clone().filter(|_| is_final),
    )
}

/// Everything, and the views as the trail alone gives them.
pub fn all(store: &Memory, shared: &Shared, model: &Model, now: Micros) -> Result<(), String> {
    head(store, model)?;
    model
        .items
        .iter()
        .try_for_each(|known| item(store, known))?;
    let waiting = model
        .items
        .iter()
        .filter(|item| item.status == Status::Pending);
    let kept = read(store.waiting((0..64).collect()))?
        .into_values()
        .sum::<u64>();
    same("how many deliveries wait", kept, waiting.count() as u64)?;
    inbox(shared, model)?;
    callbacks(store, model)?;
    for name in model.accounts.people.keys() {
        let found = read(store.snoozed(name, now, ALL))?;
        let own = model
            .snoozed
            .iter()
            .filter(|((who, _), until)| who == name && **until > now);
        let is_open = |no: &u64| {
            model
                .items
                .iter()
                .any(|item| item.no == *no && item.status == Status::Pending)
        };
        let own = own
            .map(|((_, no), until)| (*no, *until))
            .filter(|(no, _)| is_open(no));
        same("what is snoozed", found, own.collect())?;
    }
    replay(store)
}

/// What waits for a person, newest first, with whose it is.
fn inbox(shared: &Shared, model: &Model) -> Result<(), String> {
    let ask = InboxAsk {
        statuses: vec![Status::Pending],
        limit: ALL,
        ..InboxAsk::default()
    };
    let page = read(shared.inbox(ask))?;
    let found = page.rows.iter().map(|row| (row.row.no, &*row.agent_id));
    let open = model.items.iter().rev();
    let open = open.filter(|item| item.status == Status::Pending);
    let open = open.map(|item| (item.no, item.agent.as_str()));
    same::<Vec<_>>("the inbox", found.collect(), open.collect())
}

/// Those of final answers, each once.
fn callbacks(store: &Memory, model: &Model) -> Result<(), String> {
    let rows = read(store.callbacks(None, ALL))?;
    let found = rows
        .into_iter()
        .rev()
        .map(|row| (row.no, row.delivery_id, row.attempts, row.next_at));
    let owed = model.callbacks.iter();
    let owed = owed.map(|(no, row)| (*no, row.delivery_id, row.attempts, row.next_at));
    same::<Vec<_>>("the callbacks", found.collect(), owed.collect())
}

fn people(shared: &Shared, model: &Model) -> Result<(), String> {
    let accounts = shared.accounts();
    let active = |state| state == account::UserState::Active;
    let found = accounts
        .users
        .values()
        .map(|user| (user.name.as_str(), user.role, active(user.state)));
    let known = model.accounts.people.iter();
    let known = known.map(|(name, person)| (name.as_str(), person.role, person.active));
    same::<Vec<_>>("the people", found.collect(), known.collect())?;
    let found = accounts.keys.values();
    let found = found.map(|key| (key.key_id.as_str(), key.revoked_at, key.expires_at));
    let known = model.accounts.keys.iter();
    let known = known.map(|(key_id, key)| (key_id.as_str(), key.revoked_at, key.expires_at));
    same::<Vec<_>>("the keys", found.collect(), known.collect())?;
    same(
        "the retention rules",
        &accounts.retention,
        &model.accounts.retention,
    )
}

/// A rebuild from the trail gives the same rows.
fn replay(store: &Memory) -> Result<(), String> {
    let copy = store.fork();
    let wrong = read(rebuild::compare(&copy, &|_, _| {}))?.wrong();
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("a rebuild differs in {}", wrong.join(", "))),
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what} is {found:?} and should be {expected:?}")),
    }
}
