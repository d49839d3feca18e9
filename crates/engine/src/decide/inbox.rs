//! A person answers, takes it back, looks; a timer makes a held answer final or
//! notes that the agent has moved on.

use account::{Actor, Role};
use inbox::{Answer, ItemId, Person, Standing};
use store::{DeliveryRow, Needs};
use trail::Micros;
use uuid::Uuid;

use crate::{
    breaks::{self, Break},
    command::{Inbox, Reply},
    decide::callback,
    log::Unsealed,
    project,
    refusal::Refusal,
    stage::Stage,
};

pub fn needs(command: &Inbox, needs: &mut Needs) {
    match command {
        Inbox::Respond { item, .. } | Inbox::Undo { item, .. } | Inbox::Snooze { item, .. } => {
            let ItemId::Delivery(delivery_id) = *item;
            needs.wake.deliveries.push(delivery_id);
        }
        Inbox::See { name, item } => {
            let ItemId::Delivery(delivery_id) = *item;
            needs.wake.deliveries.push(delivery_id);
            needs.inbox.seen.push((name.clone(), delivery_id));
        }
    }
}

pub fn decide(stage: &mut Stage<'_>, command: Inbox) -> Result<Reply, Refusal> {
    match command {
        Inbox::Respond {
            person,
            item,
            request,
        } => respond(stage, &person, item, request),
        Inbox::Undo { person, item } => undo(stage, &person, item),
        Inbox::See { name, item } => see(stage, name, item),
        Inbox::Snooze { name, item, until } => snooze(stage, name, item, until),
    }
}

/// Where a delivery stands, in the words of the inbox.
pub fn standing(row: &DeliveryRow) -> Standing {
    match (&row.hold, &row.answered_by) {
        (_, Some(by)) => Standing::Answered {
            by: by.clone(),
            verdict: project::verdict(row.status),
            at: row.changed_at,
        },
        (Some(hold), None) => Standing::Held {
            by: hold.by.clone(),
            channel: project::channel(hold.channel),
            verdict: project::verdict(hold.status),
            until: hold.until,
        },
        (None, None) => Standing::Open,
    }
}

/// Recognised a moment ago; suspended or demoted since, perhaps.
fn still_may(stage: &Stage<'_>, name: &str, role: Role) -> Result<(), Refusal> {
    match stage.core.accounts.may_act_as(name, role) {
        true => Ok(()),
        false => Err(Refusal::PersonGone),
    }
}

/// The row of an item.
fn item_row(stage: &Stage<'_>, item: ItemId) -> Result<DeliveryRow, Refusal> {
    let ItemId::Delivery(id) = item;
    delivery(stage, id)
}

fn delivery(stage: &Stage<'_>, id: Uuid) -> Result<DeliveryRow, Refusal> {
    stage.delivery(id).cloned().ok_or(Refusal::NotFound)
}

/// The same for whoever decides, whose secret may have been taken away too.
fn still_decides(stage: &Stage<'_>, person: &Person) -> Result<(), Refusal> {
    if breaks::is_on(Break::ReplacedTokenAnswers) {
        return still_may(stage, person.name(), Role::Reviewer);
    }
    let users = &stage.core.accounts.users;
    let is_known = breaks::is_on(Break::SuspendedAnswers) && users.contains_key(person.name());
    match is_known || person.is_still(&stage.core.accounts, stage.now) {
        true => Ok(()),
        false => Err(Refusal::PersonGone),
    }
}

fn respond(
    stage: &mut Stage<'_>,
    person: &Person,
    item: ItemId,
    request: inbox::Request,
) -> Result<Reply, Refusal> {
    still_decides(stage, person)?;
    let row = item_row(stage, item)?;
    let event = inbox::respond(item, &standing(&row), person, &request, stage.now)?;
    let status = project::status(project::verdict_code(request.answer.verdict));
    let held_until = match &event {
        inbox::Event::AnswerHeld(held) => Some(held.until),
        _ => None,
    };
    let stream = stage.stream_of(row.stream);
    let actor = Actor::person(person.name());
    let (position, at) = stage.record(&stream, &actor, event, texts(request.answer))?;
    match held_until {
        Some(until) => {
            if breaks::is_on(Break::CallbackForHeld) {
                after_answer(stage, &row, position);
            }
            Ok(Reply::Held { status, until })
        }
        None => {
            after_answer(stage, &row, position);
            Ok(Reply::Answered { status, at })
        }
    }
}

fn texts(answer: Answer) -> Vec<(&'static str, Vec<u8>)> {
    let feedback = answer.feedback.map(|bytes| ("feedback", bytes));
    let edited = answer.edited_content.map(|bytes| ("edited_content", bytes));
    feedback.into_iter().chain(edited).collect()
}

/// The effects of a final answer: whoever polls is woken, a callback is owed.
fn after_answer(stage: &mut Stage<'_>, row: &DeliveryRow, position: u64) {
    let owed = row.callback.as_ref();
    let owed = owed.map(|_| callback::owed(position, row.id, stage.now));
    stage.answered(row.id, owed);
}

fn undo(stage: &mut Stage<'_>, person: &Person, item: ItemId) -> Result<Reply, Refusal> {
    still_decides(stage, person)?;
    let row = item_row(stage, item)?;
    let undone = inbox::undo(item, &standing(&row), person)?;
    let stream = stage.stream_of(row.stream);
    let actor = Actor::person(person.name());
    stage.record(&stream, &actor, undone, Vec::new())?;
    Ok(Reply::Undone)
}

/// Recorded once for each person and item.
fn see(stage: &mut Stage<'_>, name: String, item: ItemId) -> Result<Reply, Refusal> {
    still_may(stage, &name, Role::Viewer)?;
    let ItemId::Delivery(delivery_id) = item;
    let row = delivery(stage, delivery_id)?;
    let is_first = stage.see(&name, delivery_id);
    if !is_first && !breaks::is_on(Break::SeenNotStaged) {
        return Ok(Reply::Done);
    }
    let seen = inbox::event::DeliverySeen {
        by: name.clone(),
        delivery_id,
    };
    let stream = stage.stream_of(row.stream);
    let actor = Actor::person(&name);
    stage.record(&stream, &actor, inbox::Event::from(seen), Vec::new())?;
    stage.inbox.batch.seen.push((name, delivery_id));
    Ok(Reply::Done)
}

/// A mark of theirs alone: it changes nothing that others see, and is no entry.
fn snooze(
    stage: &mut Stage<'_>,
    name: String,
    item: ItemId,
    until: Option<Micros>,
) -> Result<Reply, Refusal> {
    still_may(stage, &name, Role::Viewer)?;
    let row = item_row(stage, item)?;
    let over = (name.clone(), stage.now);
    stage.inbox.batch.over.push(over);
    stage.inbox.batch.snoozed.push((name, row.no, until));
    Ok(Reply::Done)
}

pub fn expire(stage: &mut Stage<'_>, delivery_id: Uuid) -> Result<Reply, Refusal> {
    let row = delivery(stage, delivery_id)?;
    finish_hold(stage, &row)?;
    let row = delivery(stage, delivery_id)?;
    let is_open = row.answered_by.is_none() || breaks::is_on(Break::TimesOutAnswered);
    let waits = is_open && !row.timed_out;
    if let Some(timed_out) = wake::life::time_out(delivery_id, waits, row.timeout_at, stage.now) {
        let stream = stage.stream_of(row.stream);
        let event = wake::Event::from(timed_out);
        stage.record(&stream, &Actor::System, event, Vec::new())?;
    }
    Ok(Reply::Done)
}

/// An answer was given when it was held: it becomes final even if whoever gave
/// it has been suspended since.
fn finish_hold(stage: &mut Stage<'_>, row: &DeliveryRow) -> Result<(), Unsealed> {
    let item = ItemId::Delivery(row.id);
    if let Some(answered) = inbox::finish(item, &standing(row), stage.now) {
        let stream = stage.stream_of(row.stream);
        let by = Actor::person(&answered.by);
        let (position, _) = stage.record(&stream, &by, answered.event, Vec::new())?;
        if !breaks::is_on(Break::NoCallbackAfterHold) {
            after_answer(stage, row, position);
        }
    }
    Ok(())
}
