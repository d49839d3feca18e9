//! What waits for people, and their answers.

use ::inbox::{
    ItemId, Rejection, Request,
    answer::EDITED_BYTES,
    view::{Answered, Content, Held, Listed, Page, Whole},
};
use ::wake::{DetailsFormat, IdPrefix, Kind, Status, event::DeliveryReceived};
use axum::{
    extract::{RawQuery, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use engine::{
    Refusal, Reply, Row,
    command::{Inbox, Wake},
    read::InboxAsk,
};
use serde::Serialize;
use serde_json::value::RawValue;
use store::Erased;

use crate::{
    App, Problem,
    api::Json,
    auth::{Admin, Asks as _, Decider, Human, Reader},
    fields::Unread,
    path::{Path, delivery_id, item_id},
    query,
};

/// Room for an edited content of the largest size and a page of feedback.
const RESPOND_BYTES: usize = EDITED_BYTES + (128 << 10);

/// A delivery's line in the list.
fn listed(row: &Row) -> Listed {
    let status = row.status();
    let delivery = &row.row;
    let held = row.held().map(|(by, status, until)| Held {
        by: by.to_owned(),
        status,
        until,
    });
    Listed {
        id: row.item(),
        agent_id: row.agent_id.to_string(),
        provider: delivery.provider.clone(),
        r#type: row.kind(),
        status,
        headline: delivery.headline.clone(),
        summary: delivery.summary.clone(),
        test: delivery.test,
        created_at: delivery.created_at,
        responded_at: (status != Status::Pending).then_some(delivery.changed_at),
        answered_by: delivery.answered_by.clone(),
        timeout_at: delivery.timeout_at,
        timed_out: delivery.timed_out,
        held,
        content_erased: delivery.erased != Erased::Nothing,
        position: delivery.no,
    }
}

pub async fn index(
    State(app): State<App>,
    _: Reader,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let mut ask = InboxAsk {
        limit: 50,
        ..InboxAsk::default()
    };
    let names = [
        "agent_id",
        "type",
        "status",
        "test",
        "q",
        "cursor",
        "id_prefix",
        "limit",
    ];
    let given = query::known(&query, &names)?;
    let mut prefix = None;
    for (name, value) in &given {
        let value = value.clone();
        match *name {
            "id_prefix" => {
                let expected = "the first 4 to 36 characters of an id";
                let read =
                    IdPrefix::parse(&value).map_err(|_| query::bad("id_prefix", expected))?;
                if given
                    .iter()
                    .any(|(name, _)| !["id_prefix", "limit"].contains(name))
                {
                    return Err(query::bad("id_prefix", "alone, or with \"limit\" only"));
                }
                prefix = Some(read);
            }
            "agent_id" => ask.agent_id = Some(value),
            "type" => {
                ask.kinds = query::list("type", &value, Kind::parse, Kind::NAMES)?;
            }
            "status" => {
                ask.statuses = query::list("status", &value, Status::parse, Status::NAMES)?;
            }
            "test" => {
                let test = value
                    .parse()
                    .map_err(|_| query::bad("test", "true or false"))?;
                ask.test = Some(test);
            }
            "q" if value.chars().count() > 200 => {
                return Err(query::bad("q", "at most 200 characters"));
            }
            "q" => ask.search = Some(value),
            "cursor" => ask.before = Some(query::number("cursor", &value, 0..=i64::MAX as u64)?),
            "limit" => ask.limit = query::number("limit", &value, 1..=200)? as usize,
            _ => {}
        }
    }
    let (rows, next, damaged) = match prefix {
        Some(prefix) => (
            app.shared().deliveries_with(prefix, ask.limit).await?,
            None,
            0,
        ),
        None => {
            let page = app.shared().inbox(ask).await?;
            (page.rows, page.next, page.changed)
        }
    };
    let items = rows.iter().map(listed).collect();
    let next_cursor = next.map(|next| next.to_string());
    let page = Page {
        items,
        next_cursor,
        damaged,
    };
    Ok(Json(page).into_response())
}

pub async fn find(app: &App, id: &str) -> Result<Row, Problem> {
    let id = delivery_id(id)?;
    app.shared()
        .delivery(id)
        .await?
        .ok_or_else(Problem::not_found)
}

pub async fn show(State(app): State<App>, _: Reader, Path(id): Path) -> Result<Response, Problem> {
    let row = find(&app, &id).await?;
    let content = app.shared().content(&row.row).await?;
    let listed = listed(&row);
    let content = told(content);
    Ok(Json(Whole { listed, content }).into_response())
}

/// What an item has beyond its line in the list. Every fact of a delivery is
/// either here or in that line, or it is said why not.
fn told(content: engine::read::Content) -> Content {
    let engine::read::Content {
        received,
        details,
        feedback,
        edited_content,
    } = content;
    let DeliveryReceived {
        callback_webhook,
        details_format,
        // The key is its owner's business.
        key_id: _,
        // In the list.
        agent_id: _,
        delivery_id: _,
        headline: _,
        provider: _,
        summary: _,
        test: _,
        // As the moment `timeout_at`.
        timeout_seconds: _,
        r#type: _,
    } = received;
    let format = |details: &RawValue| {
        let shown = ::show::format(details.get(), asked(details_format));
        DetailsFormat::parse(shown.as_str())
    };
    Content {
        shown_format: details.as_deref().and_then(format),
        details,
        details_format,
        callback_webhook,
        feedback,
        edited_content,
    }
}

/// The form that an agent asked for.
pub fn asked(given: Option<DetailsFormat>) -> Option<::show::Format> {
    given.map(|given| match given {
        DetailsFormat::Text => ::show::Format::Text,
        DetailsFormat::Markdown => ::show::Format::Markdown,
        DetailsFormat::Json => ::show::Format::Json,
        DetailsFormat::Diff => ::show::Format::Diff,
    })
}

/// Who comes late is told the whole answer that stands. The writer passes over a row
/// that something else changed: whoever asked is told so, as when it is shown.
async fn refuse(app: &App, item: ItemId, refusal: Refusal) -> Problem {
    let ItemId::Delivery(delivery_id) = item;
    let late = match refusal {
        Refusal::Inbox(late @ Rejection::AlreadyAnswered { .. }) => late,
        Refusal::NotFound => {
            return match app.shared().delivery(delivery_id).await {
                Err(error) => error.into(),
                Ok(_) => Problem::not_found(),
            };
        }
        refusal => return refusal.into(),
    };
    let standing = async {
        let row = app.shared().delivery(delivery_id).await?;
        let row = row.ok_or_else(Problem::not_found)?;
        let content = app.shared().content(&row.row).await?;
        Ok::<_, Problem>((content, row.is_erased()))
    };
    match standing.await {
        Err(problem) => problem,
        Ok((content, erased)) => Problem::from(late)
            .with("feedback", content.feedback)
            .with("edited_content", content.edited_content)
            .with("content_erased", erased),
    }
}

pub async fn respond(
    State(app): State<App>,
    decider: Decider,
    Path(id): Path,
    body: Unread,
) -> Result<Response, Problem> {
    let person = decider.into_person();
    let bytes = body.bytes(&app, person.name(), RESPOND_BYTES).await?;
    let request = Request::parse(&bytes)?;
    let item = item_id(&id)?;
    let command = Inbox::Respond {
        person,
        item,
        request,
    };
    let answered = match app.engine.submit(command).await {
        Err(refusal) => return Err(refuse(&app, item, refusal).await),
        Ok(Reply::Answered { status, at }) => Answered {
            item,
            status,
            responded_at: Some(at),
            held_until: None,
        },
        Ok(Reply::Held { status, until }) => Answered {
            item,
            status,
            responded_at: None,
            held_until: Some(until),
        },
        Ok(_) => return Err(Problem::internal()),
    };
    Ok(Json(answered).into_response())
}

pub async fn undo(
    State(app): State<App>,
    decider: Decider,
    Path(id): Path,
) -> Result<StatusCode, Problem> {
    let person = decider.into_person();
    let item = item_id(&id)?;
    let name = person.name().to_owned();
    match app.engine.submit(Inbox::Undo { person, item }).await {
        Ok(_) => Ok(StatusCode::NO_CONTENT),
        Err(refusal) => {
            let own = match &refusal {
                Refusal::Inbox(Rejection::AlreadyAnswered { by, verdict, .. }) if *by == name => {
                    let verdict = verdict.as_str();
                    Some(format!(
                        "You {verdict} this, and it is final: it can no longer be undone."
                    ))
                }
                _ => None,
            };
            let problem = refuse(&app, item, refusal).await;
            Err(
                match own.filter(|_| problem.status() == StatusCode::CONFLICT) {
                    Some(detail) => problem.with_detail(detail),
                    None => problem,
                },
            )
        }
    }
}

/// Erases the content of one answered item now, rule or none.
pub async fn erase(
    State(app): State<App>,
    admin: Admin,
    Path(id): Path,
) -> Result<StatusCode, Problem> {
    erase_content(&app, &admin, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn erase_content(app: &App, admin: &Admin, id: &str) -> Result<(), Problem> {
    let delivery_id = delivery_id(id)?;
    let command = Wake::EraseNow {
        actor: admin.actor(),
        delivery_id,
    };
    match app.engine.submit(admin.asks(command)).await {
        Ok(_) => Ok(()),
        Err(refusal) => Err(refuse(app, ItemId::Delivery(delivery_id), refusal).await),
    }
}

pub async fn seen(
    State(app): State<App>,
    human: Human,
    Path(id): Path,
) -> Result<StatusCode, Problem> {
    let item = item_id(&id)?;
    let command = human.asks(Inbox::See {
        name: human.user.name.clone(),
        item,
    });
    match app.engine.submit(command).await {
        Ok(_) => Ok(StatusCode::NO_CONTENT),
        Err(refusal) => Err(refuse(&app, item, refusal).await),
    }
}

#[derive(Debug, Serialize)]
struct History {
    entries: Vec<engine::read::Entry>,
}

pub async fn history(
    State(app): State<App>,
    _: Reader,
    Path(id): Path,
) -> Result<Response, Problem> {
    let row = find(&app, &id).await?;
    let entries = app.shared().history(row.row.no).await?;
    Ok(Json(History { entries }).into_response())
}

/// The proof of the answer, or of the delivery while there is none.
pub async fn receipt(
    State(app): State<App>,
    _: Reader,
    Path(id): Path,
) -> Result<Response, Problem> {
    receipt_of(&app, &find(&app, &id).await?).await
}

pub async fn receipt_of(app: &App, row: &Row) -> Result<Response, Problem> {
    let history = app.shared().history(row.row.no).await?;
    let answered = history
        .iter()
        .rev()
        .find(|entry| entry.event_type == "delivery_answered");
    let position = answered.map_or(row.row.no, |entry| entry.position);
    let receipt = crate::api::trail::receipt(app, position).await?;
    let name = format!("attachment; filename=\"receipt-{}.json\"", row.row.id);
    let json = "application/json".to_owned();
    let headers = [
        (header::CONTENT_TYPE, json),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, receipt.to_vec()).into_response())
}
