//! The answer to one item: approve, reject or redirect, held for a moment so
//! that it can be undone. The same command as everywhere else.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use engine::command::Inbox;
use inbox::{
    Request, Verdict,
    answer::{EDITED_BYTES, FEEDBACK_CHARS, Given},
};
use maud::{Markup, html};

use crate::{
    App, Problem,
    body::Sender,
    pages::{
        form::Form,
        layout::{plain as plain_page, token},
        session::{Signed, by_cookie},
    },
    path::Path,
    transport::Peer,
    visit,
};

use super::{
    Item, again,
    decider::{person, refusal_in_words},
    draft::{Draft, Said},
    marks,
};

/// An answer can be undone for so long; it is held on the server.
pub const HOLD_SECONDS: i64 = 5;
/// Every character may be sent as three.
pub const FORM_BYTES: usize = 3 * EDITED_BYTES + (256 << 10);
/// So much is read of someone whose session has ended, to be shown to them again.
const STRANGERS_BYTES: usize = 256 << 10;
/// What the button is called that shows the changes and answers nothing.
pub const PREVIEW: &str = "preview";
/// After an answer: the changes were seen, and are not to be sent.
const AS_DELIVERED: &str = "-as-delivered";

pub fn form(signed: &Signed, item: &Item, aside: bool, draft: Option<&Draft>) -> Markup {
    html! {
        section .answer aria-labelledby="answer-title" {
            h2 #answer-title { "Your answer" }
            form #answer method="post" action=(format!("{}/answer", item.path())) {
                (token(signed))
                label for="feedback" { "Feedback " span .hint { "goes to the agent with your answer" } }
                textarea #feedback name="feedback" rows="2" maxlength=(FEEDBACK_CHARS) {
                    "\n" (draft.map_or("", |draft| &draft.feedback))
                }
                (item.editor(draft))
            }
        }
        (bar(draft))
        (marks::put_aside(signed, item, aside))
    }
}

/// The answers to choose from, beside the form so that they stay in sight while
/// one reads. Only a redirect sends the content, so only there it must be fit to
/// be sent.
fn bar(draft: Option<&Draft>) -> Markup {
    let changed = draft.and_then(|draft| match draft.said {
        Said::Changed(verdict) => Some(verdict),
        _ => None,
    });
    html! {
        div .verdicts {
            @if let Some(verdict) = changed {
                button .main form="answer" name="status" value=(Verdict::Redirected.as_str()) { "Send your version (Redirect)" }
                button form="answer" name="status" value=(format!("{}{AS_DELIVERED}", verdict.as_str())) formnovalidate {
                    (doing(verdict)) " it as delivered"
                }
            } @else {
                @for verdict in Verdict::ALL {
                    button class=[(verdict == Verdict::Approved).then_some("main")] form="answer" name="status"
                        value=(verdict.as_str()) data-key=(key(verdict)) formnovalidate[!verdict.may_edit()] { (doing(verdict)) }
                }
            }
        }
    }
}

pub async fn answer(
    State(app): State<App>,
    peer: Peer,
    Path(id): Path,
    request: axum::extract::Request,
) -> Result<Response, Response> {
    let (parts, body) = request.into_parts();
    let Some(signed) = by_cookie(&parts.headers, parts.extensions.get(), &app) else {
        let sender = Sender::Stranger(peer.address);
        let form = Form::open(&app, sender, &parts.headers, body, STRANGERS_BYTES).await?;
        let draft = Draft::new(&form, Said::Preview);
        return Ok(signed_out(
            &id,
            &draft.without_unchanged(form.text("edited_from")),
        ));
    };
    let holder = signed.holder();
    let known = visit::is_person(&parts, &app, &holder).await;
    known.map_err(IntoResponse::into_response)?;
    let sender = Sender::of(&holder);
    let form = Form::open(&app, sender, &parts.headers, body, FORM_BYTES).await?;
    if signed.session.is_page_key(form.text("token")) {
        let paid = form.pay(&app, &signed, parts.uri.path());
        paid.map_err(IntoResponse::into_response)?;
    }
    let attempted = attempt(&app, &signed, &id, &form).await;
    let shown = match attempted.map_err(IntoResponse::into_response)? {
        // The item says what was answered, and offers to undo it.
        Ok(()) => return Ok(Redirect::to(&format!("/items/{id}")).into_response()),
        Err((status, draft)) => again(&app, &signed, &id, status, &draft).await,
    };
    shown.map_err(IntoResponse::into_response)
}

/// Someone whose session ended while they wrote keeps what they wrote.
fn signed_out(id: &str, draft: &Draft) -> Response {
    if !draft.has_text() {
        return Redirect::to("/sign-in").into_response();
    }
    let next: String =
        url::form_urlencoded::byte_serialize(format!("/items/{id}").as_bytes()).collect();
    let main = html! {
        h1 { "You were signed out" }
        p { "Nothing was sent. Copy what you wrote, then "
            a href=(format!("/sign-in?next={next}")) { "sign in" } " and answer again." }
        (draft.unsent(""))
    };
    plain_page(StatusCode::UNAUTHORIZED, "You were signed out", main)
}

/// An answer that was not taken, and the status to say so with.
type Refused = (StatusCode, Draft);

async fn attempt(
    app: &App,
    signed: &Signed,
    id: &str,
    form: &Form,
) -> Result<Result<(), Refused>, Problem> {
    let refused = |status, why: &str| Ok(Err((status, Draft::fault(form, why))));
    let item = Item::find(app, id).await?;
    if !signed.session.is_page_key(form.text("token")) {
        let why = match form.text("token") {
            "" => {
                "Nothing was sent: this page was opened by its plain address, in a browser that runs no scripts, and can only be read. Sign in again, and answer from the page that leads to."
            }
            _ => {
                "Nothing was sent: this page was opened before you signed in. Look at it again, and send it again."
            }
        };
        return refused(StatusCode::FORBIDDEN, why);
    }
    let person = match person(app, signed, &format!("/items/{id}/answer")) {
        Ok(person) => person,
        Err(problem) => return refused(problem.status(), problem.detail()),
    };
    let request = match request(form, &item) {
        Ok(request) => request,
        Err(said) => {
            let status = match said {
                Said::Preview => StatusCode::OK,
                _ => StatusCode::UNPROCESSABLE_ENTITY,
            };
            return Ok(Err((status, Draft::new(form, said))));
        }
    };
    let command = Inbox::Respond {
        person,
        item: item.id(),
        request,
    };
    match app.engine.submit(command).await {
        Ok(_) => Ok(Ok(())),
        Err(refusal) => {
            let why = refusal_in_words(signed, &refusal);
            refused(Problem::from(refusal).status(), &why)
        }
    }
}

/// What the form asks for, in the words of the inbox.
fn request(form: &Form, item: &Item) -> Result<Request, Said> {
    let fault = |why: &str| Said::Fault(why.to_owned());
    let chosen = form.text("status");
    if chosen == PREVIEW {
        return Err(Said::Preview);
    }
    let as_delivered = chosen.strip_suffix(AS_DELIVERED);
    let verdict = Verdict::parse(as_delivered.unwrap_or(chosen));
    let verdict = verdict.ok_or_else(|| fault("Choose an answer."))?;
    let edited_content = match verdict.may_edit() {
        true => item.edited(form).map_err(Said::Fault)?,
        // Nobody's changes are thrown away without a word.
        false if as_delivered.is_none() && item.is_changed(form) => {
            return Err(Said::Changed(verdict));
        }
        false => None,
    };
    let given = Given {
        status: verdict,
        feedback: feedback(form),
        edited_content,
        hold_seconds: HOLD_SECONDS,
    };
    Request::new(given).map_err(|why| match why {
        // Whoever has emptied the editor has changed the content already.
        inbox::Fault::EmptyRedirect if item.is_changed(form) => {
            fault("To redirect, say in the feedback what to do instead.")
        }
        inbox::Fault::EmptyRedirect => {
            fault("To redirect, say in the feedback what to do instead, or change the content.")
        }
        why => fault(&why.to_string()),
    })
}

/// What was written to the agent; blanks are nothing.
pub fn feedback(form: &Form) -> Option<String> {
    let text = form.text("feedback").trim();
    (!text.is_empty()).then(|| text.to_owned())
}

pub fn verb(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Approved => "approve",
        Verdict::Rejected => "reject",
        Verdict::Redirected => "redirect",
    }
}

pub fn doing(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Approved => "Approve",
        Verdict::Rejected => "Reject",
        Verdict::Redirected => "Redirect",
    }
}

fn key(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Approved => "a",
        Verdict::Rejected => "r",
        Verdict::Redirected => "e",
    }
}
