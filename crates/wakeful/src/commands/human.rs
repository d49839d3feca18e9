//! Acting as a person from a shell.

use anyhow::{Context as _, Result};
use client::encode;
use serde_json::{Value, json};

use crate::{
    Ending,
    cli::{Inbox, Place, Respond},
    connect::{As, connect},
    output::{line, lines, print, print_body, print_json, say, table},
};

pub async fn inbox(place: &Place, inbox: Inbox) -> Result<Ending> {
    let connection = connect(place, As::Human).await?;
    let path = match &inbox.id {
        Some(id) => format!("/api/v1/inbox/{}", encode(id)),
        None => list_path(&inbox),
    };
    let reply = connection.call("GET", &path, None).await?;
    if let (Ok(_), Some(id)) = (&reply, &inbox.id) {
        connection
            .call("POST", &format!("/api/v1/inbox/{}/seen", encode(id)), None)
            .await?
            .ok();
    }
    connection.close().await;
    let reply = match reply {
        Ok(reply) => reply,
        Err(ending) => return Ok(ending),
    };
    let value = reply.json();
    match (place.json, inbox.id) {
        (true, _) => print_body(&reply.body),
        (false, Some(_)) => show_item(&value),
        (false, None) => show_list(&value),
    }
    Ok(Ending::Done)
}

fn list_path(inbox: &Inbox) -> String {
    let status = match (&inbox.status, inbox.all) {
        (Some(status), _) => Some(status.clone()),
        (None, true) => None,
        (None, false) => Some("pending".to_owned()),
    };
    let mut query = vec![format!("limit={}", inbox.limit)];
    for (name, value) in [
        ("agent_id", &inbox.agent),
        ("type", &inbox.r#type),
        ("status", &status),
        ("q", &inbox.search),
        ("cursor", &inbox.cursor),
    ] {
        if let Some(value) = value {
            query.push(format!("{name}={}", encode(value)));
        }
    }
    format!("/api/v1/inbox?{}", query.join("&"))
}

fn text(value: &Value) -> String {
    line(value.as_str().unwrap_or("-"))
}

fn show_list(page: &Value) {
    let mut rows = Vec::new();
    for item in page["items"].as_array().into_iter().flatten() {
        let mut status = match item["held"]["by"].as_str() {
            Some(by) => format!("held by {}", line(by)),
            None => text(&item["status"]),
        };
        if item["timed_out"] == true && item["status"] == "pending" {
            status.push_str(", agent moved on");
        }
        let mark = if item["test"] == true { " (test)" } else { "" };
        rows.push(vec![
            text(&item["id"]),
            format!("{}{mark}", text(&item["type"])),
            status,
            text(&item["agent_id"]),
            text(&item["headline"]),
        ]);
    }
    if rows.is_empty() {
        say("Nothing waits for you.");
    }
    table(&rows);
    if let Some(next) = page["next_cursor"].as_str() {
        say(&format!("more: --cursor {next}"));
    }
}

fn show_item(item: &Value) {
    print(&text(&item["headline"]));
    print(&text(&item["summary"]));
    print("");
    let from = format!("{} ({})", text(&item["agent_id"]), text(&item["provider"]));
    let mut rows = vec![
        vec!["from".to_owned(), from],
        vec!["type".to_owned(), text(&item["type"])],
        vec!["delivered".to_owned(), text(&item["created_at"])],
        vec!["status".to_owned(), text(&item["status"])],
    ];
    for (label, field) in [
        ("agent waits until", "timeout_at"),
        ("answered by", "answered_by"),
        ("answered", "responded_at"),
        ("callback", "callback_webhook"),
    ] {
        if item[field].is_string() {
            rows.push(vec![label.to_owned(), text(&item[field])]);
        }
    }
    table(&rows);
    for (label, field) in [
        ("details", "details"),
        ("feedback", "feedback"),
        ("edited content", "edited_content"),
    ] {
        let body = match &item[field] {
            Value::Null => continue,
            Value::String(text) => lines(text),
            other => lines(&serde_json::to_string_pretty(other).unwrap_or_default()),
        };
        print(&format!("\n{label}:\n{body}"));
    }
    if item["content_erased"] == true {
        print("\nThe content was erased under a retention rule.");
    }
}

pub async fn respond(place: &Place, respond: Respond) -> Result<Ending> {
    let edited = match respond.edited {
        None => Value::Null,
        Some(text) if text.trim_start().starts_with(['{', '"']) => {
            serde_json::from_str(&text).context("--edited is not JSON")?
        }
        Some(text) => Value::String(text),
    };
    let body = json!({
        "status": respond.status, "feedback": respond.feedback,
        "edited_content": edited, "hold_seconds": respond.hold
    });
    let path = format!("/api/v1/inbox/{}/respond", encode(&respond.id));
    decide(
        place,
        &path,
        Some(body),
        |value| match value["held_until"].as_str() {
            Some(until) => say(&format!(
                "{} until {until}; wakeful undo takes it back.",
                text(&value["status"])
            )),
            None => say(&format!("{}.", text(&value["status"]))),
        },
    )
    .await
}

pub async fn undo(place: &Place, id: &str) -> Result<Ending> {
    let path = format!("/api/v1/inbox/{}/undo", encode(id));
    decide(place, &path, None, |_| say("Taken back.")).await
}

async fn decide(
    place: &Place,
    path: &str,
    body: Option<Value>,
    show: impl FnOnce(&Value),
) -> Result<Ending> {
    let connection = connect(place, As::Human).await?;
    let reply = connection.call("POST", path, body).await;
    connection.close().await;
    match reply? {
        Err(ending) => Ok(ending),
        Ok(reply) => {
            let value = reply.json();
            match place.json {
                true if value.is_null() => print_json(&json!({ "done": true })),
                true => print_body(&reply.body),
                false => show(&value),
            }
            Ok(Ending::Done)
        }
    }
}
