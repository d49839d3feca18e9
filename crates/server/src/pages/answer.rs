//! The answer: approve, reject or redirect, held for a moment so that it can
//! be undone. The same command as everywhere else.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use engine::{Command, Refusal};
use inbox::{Answer, Person, Request, Verdict, answer::EDITED_BYTES, event::Channel};
use maud::{Markup, html};

use crate::{
    App,
    pages::{
        form::{Form, SignedForm},
        item::{Item, plain},
        layout::{notice, page, token},
        session::Signed,
    },
    path::{Path, delivery_id},
};

/// An answer can be undone for so long; it is held on the server.
const HOLD_SECONDS: i64 = 5;
/// Every character may be sent as three.
const FORM_BYTES: usize = 3 * EDITED_BYTES + (256 << 10);
/// Answered together, at the most.
const MANY: usize = 200;

pub fn form(signed: &Signed, item: &Item, aside: bool) -> Markup {
    let id = item.row.row.id;
    html! {
        section .answer aria-labelledby="answer-title" {
            h2 #answer-title { "Your answer" }
            form method="post" action=(format!("/items/{id}/answer")) {
                (token(signed))
                label for="feedback" { "Feedback " span .hint { "goes to the agent with your answer" } }
                textarea #feedback name="feedback" rows="2" {}
                (editor(item))
                div .verdicts {
                    button .main name="status" value="approved" data-key="a" { "Approve" }
                    button name="status" value="rejected" data-key="r" { "Reject" }
                    button name="status" value="redirected" data-key="e" { "Redirect" }
                }
            }
            form .aside method="post" action=(format!("/items/{id}/snooze")) {
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
}

/// The content to be changed, exactly as it is.
fn editor(item: &Item) -> Markup {
    let details = item.details.as_ref().map(|details| details.get());
    let is_object = details.is_some_and(|details| details.starts_with('{'));
    let text = details.map(plain).unwrap_or_default();
    if !show::can_be_edited(&text) {
        let hint = "A browser cannot edit this content exactly, or not in time. Through the API it can be changed.";
        return html! { p .hint { (hint) } };
    }
    html! {
        details #redirect {
            summary { "Change it" }
            label for="edited" {
                @if is_object { "The content, as JSON" } @else { "The content" }
            }
            input type="hidden" name="edited_as" value=(if is_object { "json" } else { "text" });
            textarea #edited name="edited" rows="12" spellcheck="false" data-json[is_object] {
                "\n" (text)
            }
            p #edited-said .hint role="status" {}
        }
    }
}

pub async fn answer(
    State(app): State<App>,
    Path(id): Path,
    SignedForm { signed, form }: SignedForm<FORM_BYTES>,
) -> Result<Response, Response> {
    let item = Item::find(&app, &id)
        .await
        .map_err(IntoResponse::into_response)?;
    let person = person(&signed).ok_or_else(not_yours)?;
    let request = match request(&form, &item) {
        Ok(request) => request,
        Err(fault) => return Ok(back(&id, &fault)),
    };
    let command = Command::Respond {
        person,
        delivery_id: item.row.row.id,
        request,
    };
    match app.engine.submit(command).await {
        // The item says what was answered, and offers to undo it.
        Ok(_) => Ok(Redirect::to(&format!("/items/{id}")).into_response()),
        Err(refusal) => Ok(back(&id, &said(&refusal))),
    }
}

/// What the form asks for, in the words of the inbox.
fn request(form: &Form, item: &Item) -> Result<Request, String> {
    let verdict = Verdict::parse(form.text("status")).ok_or("Choose an answer.")?;
    let feedback = Some(form.text("feedback").trim()).filter(|text| !text.is_empty());
    let edited = match verdict {
        Verdict::Redirected => edited(form, item)?,
        _ => None,
    };
    let body = serde_json::json!({
        "status": verdict.as_str(), "feedback": feedback, "hold_seconds": HOLD_SECONDS
    });
    let mut body = body.to_string();
    if let Some(edited) = edited {
        // The text itself, so that what arrives is what was seen.
        body.truncate(body.len() - 1);
        body.push_str(&format!(",\"edited_content\":{edited}}}"));
    }
    Request::parse(body.as_bytes()).map_err(|fault| fault.to_string())
}

/// The edited content as JSON text; `None` if nothing was changed, or if there
/// was no editor.
fn edited(form: &Form, item: &Item) -> Result<Option<String>, String> {
    let text = form.text("edited");
    if form.text("edited_as").is_empty() {
        return Ok(None);
    }
    let before = item.details.as_ref().map(|details| plain(details.get()));
    if text == before.unwrap_or_default() {
        return Ok(None);
    }
    match form.text("edited_as") {
        "json" => match trail::json::scan(text.as_bytes(), trail::json::Rules::REQUEST) {
            Ok(()) if text.trim_start().starts_with('{') => Ok(Some(text.trim().to_owned())),
            Ok(()) => Err("The content must stay a JSON object.".to_owned()),
            Err(fault) => Err(format!("The content is {fault}.")),
        },
        _ => serde_json::to_string(text)
            .map(Some)
            .map_err(|error| error.to_string()),
    }
}

fn back(id: &str, fault: &str) -> Response {
    let fault: String = url::form_urlencoded::byte_serialize(fault.as_bytes()).collect();
    Redirect::to(&format!("/items/{id}?fault={fault}")).into_response()
}

/// A refusal, for people.
fn said(refusal: &Refusal) -> String {
    refusal.to_string()
}

fn person(signed: &Signed) -> Option<Person> {
    signed.may_answer().then(|| Person {
        name: signed.user.name.clone(),
        channel: Channel::Page,
    })
}

fn not_yours() -> Response {
    let text = "A viewer reads and does not answer. Ask an owner for the role reviewer.";
    notice(StatusCode::FORBIDDEN, "Not yours to answer", text)
}

pub async fn undo(
    State(app): State<App>,
    Path(id): Path,
    SignedForm { signed, .. }: SignedForm,
) -> Result<Response, Response> {
    let person = person(&signed).ok_or_else(not_yours)?;
    let delivery_id = delivery_id(&id).map_err(IntoResponse::into_response)?;
    let command = Command::Undo {
        person,
        delivery_id,
    };
    match app.engine.submit(command).await {
        Ok(_) => Ok(Redirect::to(&format!("/items/{id}")).into_response()),
        Err(refusal) => Ok(back(&id, &said(&refusal))),
    }
}

/// First what will be answered, then, confirmed, the answers.
pub async fn many(
    State(app): State<App>,
    SignedForm { signed, form }: SignedForm,
) -> Result<Response, Response> {
    let person = person(&signed).ok_or_else(not_yours)?;
    let verdict = Verdict::parse(form.text("status"));
    let verdict = verdict.filter(|verdict| *verdict != Verdict::Redirected);
    let mut items = Vec::new();
    for id in form.all("id").take(MANY) {
        if let Ok(item) = Item::find(&app, id).await {
            items.push(item);
        }
    }
    let (Some(verdict), false) = (verdict, items.is_empty()) else {
        let text = "Tick what you want to answer, then choose Approve or Reject.";
        return Err(notice(
            StatusCode::UNPROCESSABLE_ENTITY,
            "Nothing was chosen",
            text,
        ));
    };
    if form.text("confirmed") != "yes" {
        return Ok(review(&signed, verdict, &items));
    }
    let mut outcome = Vec::new();
    for item in items {
        let command = Command::Respond {
            person: person.clone(),
            delivery_id: item.row.row.id,
            request: Request {
                answer: Answer {
                    verdict,
                    feedback: None,
                    edited_content: None,
                },
                hold_seconds: HOLD_SECONDS,
            },
        };
        let answered = app.engine.submit(command).await;
        outcome.push((item, answered.map_err(|refusal| said(&refusal)).err()));
    }
    Ok(told(&signed, verdict, &outcome))
}

fn review(signed: &Signed, verdict: Verdict, items: &[Item]) -> Response {
    let open = items.iter().filter(|item| item.is_open());
    let main = html! {
        h1 { (doing(verdict)) " these?" }
        form method="post" action="/answers" {
            (token(signed))
            input type="hidden" name="status" value=(verdict.as_str());
            input type="hidden" name="confirmed" value="yes";
            ol .rows {
                @for item in open {
                    li .row {
                        input type="hidden" name="id" value=(item.row.row.id);
                        span .head { (show::text(&item.row.row.headline)) }
                        span .about { bdi { (show::text(&item.row.agent_id)) } }
                        p .summary { (show::text(&show::plain_excerpt(&item.row.row.summary, 240))) }
                    }
                }
            }
            div .verdicts {
                button .main autofocus { (doing(verdict)) " them" }
                a href="/" { "Back" }
            }
        }
    };
    page(signed, "/", "Answer together", main)
}

fn told(signed: &Signed, verdict: Verdict, outcome: &[(Item, Option<String>)]) -> Response {
    let main = html! {
        h1 { (verdict.as_str()) }
        ol .rows {
            @for (item, fault) in outcome {
                li .row {
                    a .head href=(format!("/items/{}", item.row.row.id)) { (show::text(&item.row.row.headline)) }
                    @match fault {
                        Some(fault) => p .fault { (fault) },
                        None => form method="post" action=(format!("/items/{}/undo", item.row.row.id)) {
                            (token(signed)) button .quiet { "Undo" }
                        },
                    }
                }
            }
        }
        p { a href="/" autofocus { "To the inbox" } }
    };
    page(signed, "/", verdict.as_str(), main)
}

fn doing(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Approved => "Approve",
        Verdict::Rejected => "Reject",
        Verdict::Redirected => "Redirect",
    }
}
