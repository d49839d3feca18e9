//! An agent delivers: its key decides who it is, its rate decides how often.

use account::{Actor, Bucket};
use store::{IdempotencyRow, Needs};
use trail::Stream;
use wake::{limits, response::Receipt, webhook::CallbackUrl};

use crate::{
    breaks::{self, Break},
    command::{Deliver, Reply},
    core::Core,
    decide::need_stream,
    refusal::Refusal,
    stage::Stage,
};

pub fn needs(core: &Core, deliver: &Deliver, needs: &mut Needs) {
    if let Some(key) = core.accounts.keys.get(&deliver.key_id) {
        need_stream(core, &Stream::agent(&key.agent_id), needs);
    }
    if !core.buckets.contains_key(&deliver.key_id) && !needs.kept.buckets.contains(&deliver.key_id)
    {
        needs.kept.buckets.push(deliver.key_id.clone());
    }
    if let Some((idempotency_key, _)) = &deliver.idempotency {
        needs
            .kept
            .idempotency
            .push((deliver.key_id.clone(), idempotency_key.clone()));
    }
}

pub fn deliver(stage: &mut Stage<'_>, command: Deliver) -> Result<Reply, Refusal> {
    let Deliver {
        key_id,
        mut delivery,
        idempotency,
    } = command;
    let accounts = std::sync::Arc::clone(&stage.core.accounts);
    let key = accounts
        .keys
        .get(&key_id)
        .filter(|key| key.is_active(stage.now) || breaks::is_on(Break::RevokedKeyDelivers));
    let key = key.ok_or(Refusal::KeyGone)?;
    if let Some(reply) = repeated(stage, &key_id, &idempotency)? {
        return Ok(reply);
    }
    let sender = wake::life::Sender {
        agent_id: &key.agent_id,
        key_id: &key_id,
        test: key.test,
    };
    let delivery_id = stage.fresh_id()?;
    let allowed = |url: &CallbackUrl| accounts.allow_rule(url).is_some();
    let received = wake::life::receive(sender, &delivery, delivery_id, allowed)?;

    let rate = accounts.rate_of(key);
    let bucket = stage
        .bucket(&key_id)
        .unwrap_or_else(|| Bucket::full(rate, stage.now))
        .take(rate, stage.now)
        .map_err(|retry_after_seconds| Refusal::RateLimited {
            retry_after_seconds,
        })?;

    let content = delivery.details.take().map(|details| ("details", details));
    let (_, created_at) = stage.record(
        &Stream::agent(&key.agent_id),
        &Actor::agent(&key.agent_id),
        wake::Event::from(received),
        content.into_iter().collect(),
    )?;

    stage.set_bucket(&key_id, bucket);
    if let Some((idempotency_key, digest)) = idempotency {
        stage.set_idempotency(IdempotencyRow {
            key_id,
            idempotency_key,
            digest,
            status: Receipt::STATUS,
            body: Receipt::new(delivery_id, created_at).to_bytes(),
            created_at,
        });
    }
    Ok(Reply::Received {
        delivery_id,
        created_at,
    })
}

/// The same key and body within a day gets the same answer and costs nothing.
fn repeated(
    stage: &Stage<'_>,
    key_id: &str,
    idempotency: &Option<(String, trail::Hash)>,
) -> Result<Option<Reply>, Refusal> {
    let Some((idempotency_key, digest)) = idempotency else {
        return Ok(None);
    };
    let pair = (key_id.to_owned(), idempotency_key.clone());
    let Some(row) = stage.idempotency(&pair) else {
        return Ok(None);
    };
    if row.created_at.plus_seconds(limits::IDEMPOTENCY_SECONDS) <= stage.now {
        return Ok(None);
    }
    match row.digest == *digest {
        true => Ok(Some(Reply::Repeated {
            status: row.status,
            body: row.body.clone(),
        })),
        false => Err(Refusal::IdempotencyMismatch),
    }
}
