//! Many items answered at once: first what will be answered, then, confirmed,
//! the answers, and what became of each. What is still held can be undone, one
//! or all.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use engine::command::Inbox;
use inbox::{
    ItemId, Request, Standing, Verdict,
    answer::{FEEDBACK_CHARS, Given},
};
use maud::{Markup, html};

use crate::{
    App,
    pages::{
        form::SignedForm,
        layout::{notice, page, token},
        session::Signed,
        when,
    },
    path::item_id,
};

use super::{
    Item,
    answer::{HOLD_SECONDS, doing, feedback},
    decider::{not_yours, person, refusal_in_words},
};

/// Answered together, at the most.
const MANY: usize = 200;

pub async fn many(
    State(app): State<App>,
    SignedForm { signed, form }: SignedForm,
) -> Result<Response, Response> {
    let person = person(&app, &signed, "/answers").map_err(not_yours)?;
    let verdict = Verdict::parse(form.text("status"));
    // Each redirect says something else, so it is given to one item at a time.
    let verdict = verdict.filter(|verdict| !verdict.needs_text());
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
    let given = Given {
        status: verdict,
        feedback: feedback(&form),
        edited_content: None,
        hold_seconds: HOLD_SECONDS,
    };
    let request = Request::new(given).map_err(|why| {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        notice(status, "Not sent", &why.to_string())
    })?;
    let mut outcome = Vec::new();
    for item in items {
        let item = item.id();
        let command = Inbox::Respond {
            person: person.clone(),
            item,
            request: request.clone(),
        };
        let answered = app.engine.submit(command).await;
        let fault = answered.map_err(|refusal| refusal_in_words(&signed, &refusal));
        outcome.push((item, fault.err()));
    }
    let done = verdict.as_str();
    let taken = outcome.iter().filter(|(_, fault)| fault.is_none()).count();
    let title = match (taken, outcome.len()) {
        (0, _) => format!("Nothing was {done}"),
        (some, all) if some < all => format!("{some} of {all} {done}"),
        (1, _) => format!("1 {done}"),
        (all, _) => format!("All {all} {done}"),
    };
    let taken = Taken { taken, done };
    together(&app, &signed, &title, Some(taken), outcome).await
}

/// How many answers were taken, for a heading that goes on counting.
struct Taken {
    taken: usize,
    done: &'static str,
}

fn review(signed: &Signed, verdict: Verdict, items: &[Item]) -> Response {
    let open: Vec<&Item> = items.iter().filter(|item| item.is_open()).collect();
    let main = html! {
        h1 { (doing(verdict)) " " @match open.len() { 1 => "this one?", many => { "these " (many) "?" } } }
        form method="post" action="/answers" {
            (token(signed))
            input type="hidden" name="status" value=(verdict.as_str());
            input type="hidden" name="confirmed" value="yes";
            ol .rows {
                @for item in open {
                    li .row {
                        input type="hidden" name="id" value=(item.id());
                        span .head { bdi { (show::text(item.headline())) } }
                        span .about { bdi { (show::text(item.agent_id())) } }
                        p .summary dir="auto" { (show::excerpt(item.summary(), 240)) }
                    }
                }
            }
            label for="feedback" { "Feedback " span .hint { "goes to the agents with each answer" } }
            textarea #feedback name="feedback" rows="2" maxlength=(FEEDBACK_CHARS) {}
            div .verdicts {
                button .main autofocus { (doing(verdict)) " them" }
                a href="/" { "Back" }
            }
        }
    };
    page(signed, "/", "Answer together", main)
}

/// What became of those answered together: each as it stands now, with what was
/// refused.
async fn together(
    app: &App,
    signed: &Signed,
    title: &str,
    taken: Option<Taken>,
    outcome: Vec<(ItemId, Option<String>)>,
) -> Result<Response, Response> {
    let mut items = Vec::new();
    for (id, fault) in outcome {
        let item = Item::of(app, id).await;
        items.push((item.map_err(IntoResponse::into_response)?, fault));
    }
    let held = items
        .iter()
        .filter(|(item, _)| is_mine(&item.standing(), signed))
        .count();
    let main = html! {
        @if let Some(Taken { taken, done }) = taken {
            h1 data-taken=(taken) data-all=(items.len()) data-done=(done) { (title) }
        } @else {
            h1 { (title) }
        }
        form method="post" action="/answers/undo" {
            (token(signed))
            @if held > 1 { p { button name="undo" value="all" { "Undo all" } } }
            ol .rows {
                @for (item, fault) in &items {
                    li .row {
                        input type="hidden" name="id" value=(item.id());
                        a .head href=(item.path()) { bdi { (show::text(item.headline())) } }
                        span .about {
                            // How it stands says also why an answer was not taken.
                            @match fault {
                                Some(fault) if item.is_open() => { span .fault { (fault) } " " (standing(item, signed)) }
                                Some(_) => span .fault { (standing(item, signed)) },
                                None => (standing(item, signed)),
                            }
                        }
                    }
                }
            }
        }
        p { a href="/" autofocus { "To the inbox" } }
    };
    Ok(page(signed, "/", title, main))
}

/// Whether it is this person's answer that is held.
fn is_mine(standing: &Standing, signed: &Signed) -> bool {
    matches!(standing, Standing::Held { by, .. } if *by == signed.user.name)
}

/// How an item stands, in a row of those answered together.
fn standing(item: &Item, signed: &Signed) -> Markup {
    let standing = item.standing();
    let is_mine = is_mine(&standing, signed);
    html! {
        @match standing {
            Standing::Held { verdict, until, .. } if is_mine => {
                button .quiet name="undo" value=(item.id()) data-verdict=(verdict.as_str()) data-until=(until) { "Undo" }
            }
            Standing::Held { by, verdict, .. } => {
                span .others data-held=(item.id()) data-answer=(format!("{} by {by}", verdict.as_str())) {
                    (verdict.as_str()) " by " (by) ", may be undone"
                }
            }
            Standing::Open => "It waits for an answer.",
            Standing::Answered { by, verdict, at } => {
                (verdict.as_str())
                @if by != signed.user.name { " by " (by) }
                ", final since " (when::at(at))
            }
        }
    }
}

/// Undoes what was answered together, one or all, and shows them again.
pub async fn undo_many(
    State(app): State<App>,
    SignedForm { signed, form }: SignedForm,
) -> Result<Response, Response> {
    let person = person(&app, &signed, "/answers/undo").map_err(not_yours)?;
    let asked = form.text("undo");
    let (mut outcome, mut undone) = (Vec::new(), 0);
    for id in form.all("id").take(MANY) {
        let item = item_id(id).map_err(IntoResponse::into_response)?;
        let mut fault = None;
        if asked == id || asked == "all" {
            let person = person.clone();
            match app.engine.submit(Inbox::Undo { person, item }).await {
                Ok(_) => undone += 1,
                // Of all, each row says itself how it stands.
                Err(_) if asked == "all" => {}
                Err(refusal) => fault = Some(refusal_in_words(&signed, &refusal)),
            }
        }
        outcome.push((item, fault));
    }
    let title = match (undone, outcome.len()) {
        (0, _) => "Nothing was taken back".to_owned(),
        (undone, all) if undone == all => "Taken back".to_owned(),
        (undone, all) => format!("{undone} of {all} taken back"),
    };
    together(&app, &signed, &title, None, outcome).await
}

/// Where many were answered there is nothing to read.
pub async fn to_inbox(_: Signed) -> Redirect {
    Redirect::to("/")
}
