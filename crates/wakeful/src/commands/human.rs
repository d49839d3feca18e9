//! Acting as a person from a shell.

use anyhow::{Context as _, Result};
use client::{Reply, encode};
use engine::Clock;
use inbox::{
    Verdict,
    answer::Given,
    view::{Answered, Content, Listed, Page, Whole},
};
use serde_json::{
    json,
    value::{RawValue, to_raw_value},
};
use trail::Micros;
use wake::Status;

use crate::{
    Ending,
    cli::{Inbox, Place, Respond},
    connect::{As, Connection, connect},
    content,
    list::{self, Row, age},
    output::{self, line, print, print_body, print_json, say},
    prefix::{self, Named},
};

const UNREADABLE: &str = "the server's answer cannot be read";

pub async fn inbox(place: &Place, inbox: Inbox) -> Result<Ending> {
    let connection = connect(place, As::Human).await?;
    let reply = read(&connection, &inbox).await;
    connection.close().await;
    let reply = match reply? {
        Ok(reply) => reply,
        Err(ending) => return Ok(ending),
    };
    let body = reply.body.as_slice();
    match (place.json, &inbox.id) {
        (true, None) => {
            print_body(body);
            let page: Page = serde_json::from_slice(body).context(UNREADABLE)?;
            say_damaged(page.damaged);
        }
        (true, Some(_)) => print_body(body),
        (false, Some(_)) => print(&describe(&Whole::read(body).context(UNREADABLE)?)),
        (false, None) => {
            let page = serde_json::from_slice(body).context(UNREADABLE)?;
            show_list(&page, empty(&inbox));
        }
    }
    Ok(Ending::Done)
}

/// The list, or one item, which counts as seen from then on.
async fn read(connection: &Connection, inbox: &Inbox) -> Result<Result<Reply, Ending>> {
    let Some(text) = &inbox.id else {
        return connection.call("GET", &list_path(inbox), None).await;
    };
    let named = match prefix::find(connection, text).await? {
        Ok(named) => named,
        Err(ending) => return Ok(Err(ending)),
    };
    let path = format!("/api/v1/inbox/{}", encode(&named.id));
    let reply = connection.call("GET", &path, None).await?;
    if reply.is_ok() {
        let seen = format!("{path}/seen");
        connection.call("POST", &seen, None).await?.ok();
    }
    Ok(reply)
}

/// What an empty list means: that depends on what was asked for.
fn empty(inbox: &Inbox) -> &'static str {
    let filters = [&inbox.search, &inbox.agent, &inbox.r#type, &inbox.status];
    let filtered = filters.iter().any(|filter| filter.is_some()) || inbox.test.is_some();
    match (&inbox.cursor, filtered, inbox.all) {
        (Some(_), _, _) => "Nothing more.",
        (None, true, _) => "No delivery matches.",
        (None, false, true) => "Nothing has been delivered yet.",
        (None, false, false) => "Nothing waits for you.",
    }
}

fn list_path(inbox: &Inbox) -> String {
    let status = match (&inbox.status, inbox.all) {
        (Some(status), _) => Some(status.clone()),
        (None, true) => None,
        (None, false) => Some("pending".to_owned()),
    };
    let test = inbox.test.map(|test| test.to_string());
    let mut query = vec![format!("limit={}", inbox.limit)];
    for (name, value) in [
        ("agent_id", &inbox.agent),
        ("type", &inbox.r#type),
        ("status", &status),
        ("test", &test),
        ("q", &inbox.search),
        ("cursor", &inbox.cursor),
    ] {
        if let Some(value) = value {
            query.push(format!("{name}={}", encode(value)));
        }
    }
    format!("/api/v1/inbox?{}", query.join("&"))
}

/// What is special about an item, for the list.
fn note(item: &Listed) -> String {
    let mut notes = Vec::new();
    let is_pending = item.status == Status::Pending;
    if item.test {
        notes.push("test".to_owned());
    }
    match &item.held {
        Some(held) => notes.push(format!("held by {}", line(&held.by))),
        None if !is_pending => notes.push(item.status.as_str().to_owned()),
        None => {}
    }
    if item.timed_out && is_pending {
        notes.push("agent moved on".to_owned());
    }
    notes.join(", ")
}

fn show_list(page: &Page, empty: &str) {
    let now = Clock::system().now();
    let row = |item: &Listed| Row {
        age: age(item.created_at, now),
        kind: item.r#type.as_str().to_owned(),
        agent: line(&item.agent_id),
        note: note(item),
        headline: line(&item.headline),
        id: item.id.to_string(),
    };
    let rows: Vec<Row> = page.items.iter().map(row).collect();
    match (rows.is_empty(), &page.next_cursor) {
        // Something may wait that is not listed.
        (true, None) if page.damaged > 0 => {}
        (true, None) => say(empty),
        (true, Some(_)) => say("Nothing found so far; there is more to look through."),
        (false, _) => {}
    }
    for line in list::lay_out(rows, output::terminal_width()) {
        print(&line);
    }
    if let Some(next) = &page.next_cursor {
        say(&format!("more: --cursor {}", line(next)));
    }
    say_damaged(page.damaged);
}

/// How many items were kept back, and what to do about it.
fn say_damaged(count: usize) {
    let items = match count {
        0 => return,
        1 => "1 item is".to_owned(),
        _ => format!("{count} items are"),
    };
    say(&format!(
        "{items} not listed: something other than this server changed the database. Whoever runs \
         the server should run `wakeful trail verify`."
    ));
}

/// One item, whole, for a person to read. Every field is either said or left out
/// on purpose.
fn describe(item: &Whole) -> String {
    let Listed {
        id: _,
        agent_id,
        provider,
        r#type,
        status,
        headline,
        summary,
        test,
        created_at,
        responded_at,
        answered_by,
        timeout_at,
        timed_out,
        held,
        content_erased,
        position: _,
    } = &item.listed;
    let Content {
        details,
        details_format: _,
        shown_format: _,
        callback_webhook,
        feedback,
        edited_content,
    } = &item.content;
    let mark = if *test { " (test)" } else { "" };
    let status = match held {
        None => status.as_str().to_owned(),
        Some(held) => format!(
            "{}: {} answers {}, which can be undone until {}",
            status.as_str(),
            line(&held.by),
            held.status.as_str(),
            held.until
        ),
    };
    let waits = match timed_out {
        true => "agent moved on",
        false => "agent waits until",
    };
    let moment = |moment: &Option<Micros>| moment.map(|moment| moment.to_string());
    let from = format!("{} ({})", line(agent_id), line(provider));
    let rows: Vec<[String; 2]> = [
        ("from", Some(from)),
        ("type", Some(format!("{}{mark}", r#type.as_str()))),
        ("delivered", Some(created_at.to_string())),
        ("status", Some(status)),
        (waits, moment(timeout_at)),
        ("answered by", answered_by.as_deref().map(line)),
        ("answered", moment(responded_at)),
        ("callback", callback_webhook.as_deref().map(line)),
    ]
    .into_iter()
    .filter_map(|(label, value)| Some([label.to_owned(), value?]))
    .collect();
    let mut text = vec![line(headline), line(summary), String::new()];
    text.extend(
        list::align(&rows)
            .iter()
            .map(|row| row.trim_end().to_owned()),
    );
    for (label, written) in [
        ("details", details),
        ("feedback", feedback),
        ("edited content", edited_content),
    ] {
        if let Some(written) = written {
            text.push(format!("\n{label}:\n{}", output::content(written)));
        }
    }
    if *content_erased {
        text.push("\nContent of it was erased.".to_owned());
    }
    text.join("\n")
}

pub async fn respond(place: &Place, respond: Respond) -> Result<Ending> {
    let edited = respond.edited.as_deref();
    let edited = edited.map(|text| content::read("--edited", text));
    let body = to_raw_value(&Given {
        status: Verdict::parse(&respond.status).context("no such answer")?,
        feedback: respond.feedback,
        edited_content: edited.transpose()?,
        hold_seconds: respond.hold,
    })?;
    decide(place, &respond.id, "respond", Some(&body), |body| {
        let answered: Answered = serde_json::from_slice(body).context(UNREADABLE)?;
        let (status, item) = (answered.status.as_str(), answered.item);
        say(&match answered.held_until {
            Some(until) => {
                format!("{status}. Final at {until}; until then: wakeful undo {item}")
            }
            None => format!("{status}."),
        });
        Ok(())
    })
    .await
}

pub async fn undo(place: &Place, id: &str) -> Result<Ending> {
    let show = |_: &[u8]| {
        say("Taken back.");
        Ok(())
    };
    decide(place, id, "undo", None, show).await
}

/// Changes the answer of the item that `id` names, or that begins with it.
async fn decide(
    place: &Place,
    id: &str,
    what: &str,
    body: Option<&RawValue>,
    show: impl FnOnce(&[u8]) -> Result<()>,
) -> Result<Ending> {
    let connection = connect(place, As::Human).await?;
    let body = body.map(|body| body.get().as_bytes().to_vec());
    let reply = async {
        let named = match prefix::find(&connection, id).await? {
            Ok(named) => named,
            Err(ending) => return Ok(Err(ending)),
        };
        let path = format!("/api/v1/inbox/{}/{what}", encode(&named.id));
        let reply = connection.call("POST", &path, body).await?;
        Ok(reply.map(|reply| (named, reply)))
    };
    let reply: Result<Result<(Named, Reply), Ending>> = reply.await;
    connection.close().await;
    match reply? {
        Err(ending) => Ok(ending),
        Ok((named, reply)) => {
            match place.json {
                true if reply.body.is_empty() => print_json(&json!({ "done": true })),
                true => print_body(&reply.body),
                false => {
                    named.say();
                    show(&reply.body)?;
                }
            }
            Ok(Ending::Done)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn item(more: Value) -> Whole {
        let mut item = json!({
            "id": "c7c0b633-bccf-4b8b-95ba-ccfc89a6051f", "agent_id": "a", "provider": "claude",
            "type": "question", "status": "pending", "headline": "Two fit", "summary": "Which?",
            "test": false, "created_at": "2026-11-15T22:00:00Z", "timed_out": false,
            "timeout_at": "2026-11-15T23:00:00Z", "content_erased": false, "position": 0
        });
        for (name, value) in more.as_object().unwrap() {
            item[name] = value.clone();
        }
        Whole::read(item.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn what_bears_on_an_answer_is_said_of_an_item() {
        let held = json!({ "by": "bob", "status": "approved", "until": "2026-11-15T22:00:30Z" });
        for (more, shown, noted) in [
            (json!({}), "agent waits until  2026-11-15T23:00:00", ""),
            (json!({ "test": true }), "question (test)", "test"),
            (
                json!({ "timed_out": true }),
                "agent moved on  2026-11-15T23:00:00",
                "agent moved on",
            ),
            (
                json!({ "held": held }),
                "pending: bob answers approved, which can be undone until 2026-11-15T22:00:30",
                "held by bob",
            ),
            (
                json!({ "status": "rejected", "answered_by": "bob" }),
                "answered by        bob",
                "rejected",
            ),
        ] {
            let item = item(more);
            let text = describe(&item);
            assert!(text.contains(shown), "{shown} in {text}");
            assert_eq!(note(&item.listed), noted);
        }
    }
}
