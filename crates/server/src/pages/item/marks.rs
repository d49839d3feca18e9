//! What a person keeps of an item for themselves: that they have seen it, and
//! that they want to see it later. Others see nothing of it.

use axum::{
    extract::State,
    response::{IntoResponse, Redirect, Response},
};
use engine::command::Inbox;
use inbox::ItemId;
use maud::{Markup, html};
use trail::Micros;

use crate::{
    App, Problem,
    auth::Asks as _,
    pages::{form::SignedForm, layout::token, session::Signed},
    path::{Path, item_id},
};

use super::Item;

/// Noted once for each person, without JavaScript too. Nobody waits for it: an
/// item can be read while nothing can be written.
pub async fn note_seen(app: &App, signed: &Signed, item: ItemId) -> Result<(), Problem> {
    let name = signed.user.name.clone();
    let ItemId::Delivery(delivery_id) = item;
    let seen = app.shared().store.seen(&name, vec![delivery_id]).await?;
    if seen.is_empty() {
        let app = app.clone();
        let see = signed.asks(Inbox::See { name, item });
        tokio::spawn(async move {
            if let Err(refusal) = app.engine.submit(see).await {
                tracing::warn!(%refusal, "that an item was seen could not be noted");
            }
        });
    }
    Ok(())
}

/// Whether this person has put it aside.
pub async fn is_snoozed(
    app: &App,
    signed: &Signed,
    item: &Item,
    now: Micros,
) -> Result<bool, Problem> {
    let store = &app.shared().store;
    Ok(store
        .is_snoozed(&signed.user.name, item.number(), now)
        .await?)
}

pub fn put_aside(signed: &Signed, item: &Item, aside: bool) -> Markup {
    html! {
        form .aside method="post" action=(format!("{}/snooze", item.path())) {
            (token(signed))
            @if aside {
                span .hint { "You have put this aside." }
                button .quiet data-key="s" { "Back to the inbox" }
            } @else {
                label for="hours" { "Put aside for" }
                select #hours name="hours" {
                    option value="1" { "an hour" }
                    option value="4" { "four hours" }
                    option value="24" { "a day" }
                    option value="168" { "a week" }
                }
                button .quiet data-key="s" { "Put aside" }
            }
        }
    }
}

/// Out of one's own sight for a while.
pub async fn snooze(
    State(app): State<App>,
    Path(id): Path,
    SignedForm { signed, form }: SignedForm,
) -> Result<Response, Response> {
    let item = item_id(&id).map_err(IntoResponse::into_response)?;
    let now = app.shared().clock.now();
    let hours: Option<i64> = form.text("hours").parse().ok();
    let hours = hours.filter(|hours| (1..=24 * 30).contains(hours));
    let command = signed.asks(Inbox::Snooze {
        name: signed.user.name.clone(),
        item,
        until: hours.map(|hours| now.plus_seconds(hours * 3600)),
    });
    let done = app.engine.submit(command).await;
    done.map_err(|refusal| Problem::from(refusal).into_response())?;
    Ok(Redirect::to("/").into_response())
}
