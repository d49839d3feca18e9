//! Commands of the WAKE door and of what follows from its deliveries.

use store::Needs;

use crate::{
    command::{Reply, Wake},
    core::Core,
    decide::{callback, deliver, erase, inbox},
    refusal::Refusal,
    stage::Stage,
};

pub fn needs(core: &Core, command: &Wake, needs: &mut Needs) {
    match command {
        Wake::Deliver(command) => deliver::needs(core, command, needs),
        Wake::RecordAttempt(attempt) => {
            needs.wake.callbacks.push(attempt.callback);
            needs.wake.deliveries.push(attempt.delivery_id);
        }
        Wake::ReplayCallback {
            callback,
            delivery_id,
            ..
        } => {
            needs.wake.callbacks.push(*callback);
            needs.wake.deliveries.push(*delivery_id);
        }
        Wake::EraseNow { delivery_id, .. } | Wake::Expire { delivery_id } => {
            needs.wake.deliveries.push(*delivery_id);
        }
        Wake::Erase { delivery_ids, .. } => needs.wake.deliveries.extend(delivery_ids),
    }
}

pub fn decide(stage: &mut Stage<'_>, command: Wake) -> Result<Reply, Refusal> {
    match command {
        Wake::Deliver(command) => deliver::deliver(stage, command),
        Wake::RecordAttempt(attempt) => callback::record(stage, &attempt),
        Wake::ReplayCallback {
            actor,
            callback,
            delivery_id,
        } => callback::replay(stage, &actor, callback, delivery_id),
        Wake::Expire { delivery_id } => inbox::expire(stage, delivery_id),
        Wake::Erase {
            delivery_ids,
            retention_days,
        } => erase::by_rule(stage, &delivery_ids, retention_days),
        Wake::EraseNow { actor, delivery_id } => erase::by_hand(stage, &actor, delivery_id),
    }
}
