//! Fills a data directory through the engine itself, for benchmarks.

use account::{Presented, Reviewer, secret};
use anyhow::Result;
use engine::{
    Reply,
    command::{Deliver, Inbox, Wake},
};
use futures_util::future::try_join_all;
use inbox::{Answer, ItemId, Person, Request, Verdict, event::Channel};
use wake::NewDelivery;

use crate::{
    Ending,
    cli::{Place, Preload},
    connect, house,
    output::Progress,
};

const AT_ONCE: usize = 512;

pub async fn preload(place: &Place, preload: Preload) -> Result<Ending> {
    let directory = connect::directory(place)?;
    let _lock = house::lock(&directory)?;
    let engine = house::start(&directory, place.body_key.as_deref()).await?;
    let accounts = engine.shared().accounts();
    let key = accounts
        .keys
        .values()
        .find(|key| key.agent_id == preload.agent);
    let key = key.ok_or_else(|| anyhow::anyhow!("{} has no key yet", preload.agent))?;
    let person = (preload.answered_percent > 0).then(|| person(&engine));
    let person = person.transpose()?;
    let progress = Progress::new("delivered");
    let mut done = 0;
    while done < preload.count {
        progress.at(done, preload.count);
        let many = AT_ONCE.min((preload.count - done) as usize);
        // All of them at once, so that they share commits.
        let delivered = (0..many).map(|_| {
            let delivery = NewDelivery {
                provider: "bench".to_owned(),
                details: Some(
                    br#"{"region":"north","rows":4200,"note":"Preloaded before the measurement."}"#
                        .to_vec(),
                ),
                ..NewDelivery::new(
                    &preload.agent,
                    wake::Kind::Output,
                    "Quarterly figures are ready for review",
                    "Collected the figures of all regions and compared them.",
                )
            };
            engine.submit(Wake::Deliver(Deliver {
                key_id: key.key_id.clone(),
                delivery,
                idempotency: None,
            }))
        });
        let delivered = try_join_all(delivered).await?;
        let answered = delivered
            .into_iter()
            .zip(done..)
            .filter(|(_, number)| number % 100 < preload.answered_percent)
            .filter_map(|(reply, _)| match reply {
                Reply::Received { delivery_id, .. } => Some((person.clone()?, delivery_id)),
                _ => None,
            })
            .map(|(person, delivery_id)| {
                let verdict = Verdict::Approved;
                let answer = Answer {
                    verdict,
                    feedback: None,
                    edited_content: None,
                };
                engine.submit(Inbox::Respond {
                    person,
                    item: ItemId::Delivery(delivery_id),
                    request: Request {
                        answer,
                        hold_seconds: 0,
                    },
                })
            });
        try_join_all(answered).await?;
        done += many as u64;
    }
    progress.finish();
    engine.stop().await;
    // So that what is measured is not the index catching up.
    let store = &engine.shared().store;
    while store.index_some(AT_ONCE).await? {}
    Ok(Ending::Done)
}

/// Who answers: whoever's token is in the environment. No other way leads to a
/// decision, for a benchmark either.
fn person(engine: &engine::Engine) -> Result<Person> {
    let token = std::env::var("WAKEFUL_TOKEN").unwrap_or_default();
    let presented = Presented::Token(secret::hash(&token));
    let shared = engine.shared();
    let reviewer = Reviewer::recognise(&shared.accounts(), presented, shared.clock.now());
    let reviewer = reviewer
        .map_err(|_| anyhow::anyhow!("set WAKEFUL_TOKEN to the token of someone who may answer"))?;
    Ok(Person::new(reviewer, Channel::Api))
}
