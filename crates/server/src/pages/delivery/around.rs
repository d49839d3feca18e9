//! What leads on from a delivery: its details as they were sent, earlier ones
//! of the same agent, and erasing its content.

use axum::{
    extract::{RawQuery, State},
    response::{IntoResponse, Redirect, Response},
};
use engine::{Row, read::InboxAsk};
use maud::{Markup, html};
use trail::Micros;

use crate::{
    App, Problem,
    api::inbox as api,
    pages::{
        counted::counted,
        item::{Item, Shown as _},
        layout::{page, token},
        owner::{self, OwnerForm},
        session::Signed,
        when,
    },
    path::Path,
};

use super::Delivery;

/// Deliveries of the same agent shown beside.
const BESIDE: usize = 8;
/// Deliveries looked at for them, of those that changed last.
const CHANGED: usize = 30;

impl Delivery {
    /// Earlier ones of the same agent: among those that changed last, and those
    /// that have not changed since this one came.
    pub async fn beside(&self, app: &App, now: Micros) -> Result<Markup, Problem> {
        let this = &self.row.row;
        let ask = |before, limit| InboxAsk {
            agent_id: Some(self.row.agent_id.to_string()),
            before,
            limit,
            ..InboxAsk::default()
        };
        let changed = app.shared().inbox(ask(None, CHANGED)).await?.rows;
        let before = u64::try_from(this.created_at.0).ok();
        let unchanged = app.shared().inbox(ask(before, BESIDE)).await?.rows;
        let mut others: Vec<Row> = changed.into_iter().chain(unchanged).collect();
        others.retain(|row| row.row.no < this.no);
        others.sort_unstable_by_key(|row| std::cmp::Reverse(row.row.no));
        others.dedup_by_key(|row| row.row.no);
        others.truncate(BESIDE);
        Ok(html! {
            h2 #beside-title { "Earlier from this agent" }
            @if others.is_empty() { p .hint { "Nothing." } }
            ul .plain {
                @for row in &others {
                    li {
                        a href=(format!("/items/{}", row.item())) { bdi { (show::excerpt(&row.row.headline, 80)) } }
                        " " span .hint { (row.status().as_str()) " " (when::ago(row.row.changed_at, now)) }
                    }
                }
            }
        })
    }
}

/// For an owner, who need not wait for a rule.
pub fn erasure(signed: &Signed, delivery: &Delivery) -> Markup {
    let consequence = "Details, feedback and changes go for good. That they were there, and what was decided, stays on the trail.";
    let form = html! {
        form method="post" action=(format!("{}/erase", delivery.path())) { (token(signed)) button { "Erase it now" } }
    };
    owner::sure("Erase its content", consequence, form)
}

pub async fn erase(
    State(app): State<App>,
    Path(id): Path,
    OwnerForm { owner, .. }: OwnerForm,
) -> Result<Response, Problem> {
    api::erase_content(&app, &owner.admin, &id).await?;
    Ok(Redirect::to(&format!("/items/{id}")).into_response())
}

/// The whole of it: a text line under line, or exactly the JSON that came.
pub async fn raw(
    State(app): State<App>,
    signed: Signed,
    Path(id): Path,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let Item::Delivery(delivery) = Item::find(&app, &id).await?;
    let here = delivery.path();
    let as_json = query.as_deref() == Some("json");
    let details = delivery.details();
    let main = html! {
        p .about { a .back href=(here) data-key="v" { "Back" } }
        h1 { "As it was sent" }
        @match (details, details.and_then(show::raw_text)) {
            (Some(_), Some(text)) if !as_json => {
                p .hint { "The text itself. " a href=(format!("{here}/raw?json")) { "With its escapes, as JSON" } }
                (text)
            },
            (Some(details), _) => (show::raw(details)),
            (None, _) => p { "It has no details, or they were erased." },
        }
    };
    Ok(page(&signed, "/", "As it was sent", main))
}

/// As people say how much it is.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => counted(bytes, "byte", "bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}
