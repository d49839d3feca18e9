//! What happened to an item, entry by entry.

use engine::{Event, read::Entry};
use maud::{Markup, html};
use trail::Micros;
use wake::event::{Outcome, WebhookAttempted};

use crate::pages::when;

use super::Item;

pub fn list(item: &Item, entries: &[Entry], now: Micros) -> Markup {
    html! {
        section .history aria-labelledby="history-title" {
            h2 #history-title { "History" }
            ol .plain {
                @for entry in entries {
                    li {
                        span .event { (entry.event_type.replace('_', " ")) } " by " bdi { (show::text(&entry.actor)) }
                        " " (when::ago(entry.time, now)) " "
                        @if let Some(Event::Wake(wake::Event::WebhookAttempted(attempted))) = entry.event() { (outcome(&attempted)) }
                        a .place href=(format!("/api/v1/trail/{}/proof", entry.position)) { "entry " (entry.position) }
                    }
                }
            }
            p { a href=(format!("/api/v1/inbox/{}/receipt", item.id())) download { "Receipt" }
                span .hint { " proves this to anyone who has the log's key." } }
        }
    }
}

/// What came of an attempt to tell the agent.
fn outcome(attempted: &WebhookAttempted) -> Markup {
    let outcome = match attempted.outcome {
        Outcome::Delivered => "delivered",
        Outcome::WillRetry => "will retry",
        Outcome::GaveUp => "gave up",
    };
    html! {
        span .mark { (outcome) } " "
        @if let Some(status) = attempted.http_status { "HTTP " (status) " " }
        @if let Some(error) = &attempted.error { bdi .hint { (show::text(error)) } " " }
    }
}
