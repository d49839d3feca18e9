//! Which content may be erased, by a rule or by an owner's hand.

use std::collections::BTreeMap;

use account::Actor;
use inbox::event::ContentErased;
use store::{DeliveryRow, Erased};
use uuid::Uuid;

use crate::{
    command::Reply, decide::account::may_administer, project, refusal::Refusal, stage::Stage,
};

/// Whether nobody waits for an answer any more: there is one, or it timed out and
/// none is held.
fn is_over(row: &DeliveryRow) -> bool {
    row.answered_by.is_some() || (row.timed_out && row.hold.is_none())
}

/// Whether an owner may erase the content, and something is left to erase.
pub fn may_erase_by_hand(row: &DeliveryRow) -> bool {
    is_over(row) && row.erased != Erased::All
}

/// Whether a retention rule may: also an update that nobody answered.
fn may_erase_by_rule(row: &DeliveryRow) -> bool {
    let is_update = project::kind(row.kind) == wake::Kind::Update;
    let is_left = is_update && row.hold.is_none() && row.erased != Erased::All;
    is_left || may_erase_by_hand(row)
}

/// Erases what a retention rule names. Skips what still waits for an answer, and
/// everything if the rule has been changed since.
pub fn by_rule(
    stage: &mut Stage<'_>,
    delivery_ids: &[Uuid],
    retention_days: u32,
) -> Result<Reply, Refusal> {
    let mut by_stream: BTreeMap<u64, Vec<Uuid>> = BTreeMap::new();
    for row in delivery_ids.iter().filter_map(|id| stage.delivery(*id)) {
        let rules = &stage.core.accounts.retention;
        let stands = rules.get(&project::kind(row.kind)) == Some(&retention_days);
        let ids = by_stream.entry(row.stream).or_default();
        if stands && may_erase_by_rule(row) && !ids.contains(&row.id) {
            ids.push(row.id);
        }
    }
    by_stream.retain(|_, ids| !ids.is_empty());
    for (stream, delivery_ids) in by_stream {
        let stream = stage.stream_of(stream);
        let event = ContentErased {
            by: None,
            delivery_ids,
            retention_days,
        };
        stage.record(
            &stream,
            &Actor::System,
            inbox::Event::from(event),
            Vec::new(),
        )?;
    }
    Ok(Reply::Done)
}

/// Erases one delivery because an owner asks for it. Does nothing if its content is
/// erased already.
pub fn by_hand(stage: &mut Stage<'_>, actor: &Actor, delivery_id: Uuid) -> Result<Reply, Refusal> {
    may_administer(stage, actor)?;
    let row = stage.delivery(delivery_id).ok_or(Refusal::NotFound)?;
    if !is_over(row) {
        return Err(inbox::Rejection::StillOpen.into());
    }
    if row.erased == Erased::All {
        return Ok(Reply::Done);
    }
    let stream = stage.stream_of(row.stream);
    let event = ContentErased {
        by: Some(actor.name().into_owned()),
        delivery_ids: vec![delivery_id],
        retention_days: 0,
    };
    stage.record(&stream, actor, inbox::Event::from(event), Vec::new())?;
    Ok(Reply::Done)
}
