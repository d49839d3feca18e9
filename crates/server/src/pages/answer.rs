//! The answer: approve, reject or redirect, held for a moment so that it can
//! be undone. The same command as everywhere else.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use engine::{Refusal, command::Inbox, read::Entry};
use inbox::{
    Person, Rejection, Request, Verdict,
    answer::{EDITED_BYTES, FEEDBACK_CHARS},
    event::AnswerHeld,
};
use maud::{Markup, html};
use serde_json::value::RawValue;
use trail::Micros;
use uuid::Uuid;

use crate::{
    App, Problem,
    auth::Decider,
    body::Sender,
    pages::{
        form::{Form, SignedForm},
        item::{self, Item},
        layout::{notice, page, plain as plain_page, token},
        session::{Signed, by_cookie},
        when::{self, span},
    },
    path::{Path, delivery_id},
    transport::Peer,
    visit,
};

/// An answer can be undone for so long; it is held on the server.
const HOLD_SECONDS: i64 = 5;
/// Every character may be sent as three.
const FORM_BYTES: usize = 3 * EDITED_BYTES + (256 << 10);
/// So much is read of someone whose session has ended, to be shown to them again.
const STRANGERS_BYTES: usize = 256 << 10;
/// After an answer: the changes were seen, and are not to be sent.
const AS_DELIVERED: &str = "-as-delivered";
/// Answered together, at the most.
const MANY: usize = 200;

/// What was typed and has not become an answer, and why not.
#[derive(Debug)]
pub struct Draft {
    feedback: String,
    /// The content as an editor left it; `None` if there was no editor.
    edited: Option<String>,
    said: Said,
}

#[derive(Debug)]
enum Said {
    /// Why it was refused.
    Fault(String),
    /// The content was changed, and this answer would not send it.
    Changed(Verdict),
    /// Nothing: the changes were to be looked at.
    Preview,
    /// Nothing: it was an answer, and its author took it back.
    TakenBack,
}

impl Draft {
    fn new(form: &Form, said: Said) -> Draft {
        let has_editor = !form.text("edited_as").is_empty();
        Draft {
            feedback: form.text("feedback").to_owned(),
            edited: has_editor.then(|| in_editor(form.text("edited"))),
            said,
        }
    }

    fn fault(form: &Form, fault: impl Into<String>) -> Draft {
        Draft::new(form, Said::Fault(fault.into()))
    }

    /// Said at the head of the item.
    pub fn alert(&self) -> Markup {
        html! {
            @match &self.said {
                Said::Fault(fault) => p .fault role="alert" { (show::text(fault)) },
                Said::Changed(verdict) => p .fault role="alert" {
                    "You changed the content: send your version (Redirect), or " (verb(*verdict)) " it as delivered?"
                },
                Said::Preview | Said::TakenBack => {},
            }
        }
    }

    /// What was typed, where the item takes no answer any more.
    pub fn unsent(&self, original: &str) -> Markup {
        let edited = self.edited.as_deref();
        let edited = edited.filter(|edited| *edited != in_editor(original));
        html! {
            @if edited.is_some() || !self.feedback.trim().is_empty() {
                section .unsent aria-labelledby="unsent-title" {
                    h2 #unsent-title { "Your text, not sent" }
                    (to_copy("unsent-feedback", "Feedback", &self.feedback))
                    @if let Some(edited) = edited { (to_copy("unsent-edited", "The content, as you changed it", edited)) }
                }
            }
        }
    }
}

/// The texts of the answer that this person took back, to be sent otherwise.
pub async fn taken_back(
    app: &App,
    signed: &Signed,
    history: &[Entry],
) -> Result<Option<Draft>, Problem> {
    let by_them = |entry: &&Entry| {
        entry.event_type == "answer_held"
            && serde_json::from_str::<AnswerHeld>(entry.facts.get())
                .is_ok_and(|held| held.by == signed.user.name)
    };
    let Some(held) = history.iter().rev().find(by_them) else {
        return Ok(None);
    };
    let shared = app.shared();
    let feedback = shared.part(held.position, "feedback").await?;
    let edited = shared.part(held.position, "edited_content").await?;
    let text = |part: Box<RawValue>| in_editor(&item::plain(part.get()));
    Ok(Some(Draft {
        feedback: feedback.map(text).unwrap_or_default(),
        edited: edited.map(text),
        said: Said::TakenBack,
    }))
}

fn to_copy(id: &str, label: &str, text: &str) -> Markup {
    html! {
        @if !text.trim().is_empty() && show::can_be_edited(text) {
            label for=(id) { (label) }
            textarea #(id) rows="6" readonly { "\n" (text) }
        }
    }
}

pub fn form(signed: &Signed, item: &Item, aside: bool, draft: Option<&Draft>) -> Markup {
    let id = item.row.row.id;
    html! {
        section .answer aria-labelledby="answer-title" {
            h2 #answer-title { "Your answer" }
            form #answer method="post" action=(format!("/items/{id}/answer")) {
                (token(signed))
                label for="feedback" { "Feedback " span .hint { "goes to the agent with your answer" } }
                textarea #feedback name="feedback" rows="2" maxlength=(FEEDBACK_CHARS) {
                    "\n" (draft.map_or("", |draft| &draft.feedback))
                }
                (editor(item, draft))
            }
        }
        (verdicts(draft))
        (put_aside(signed, id, aside))
    }
}

fn put_aside(signed: &Signed, id: Uuid, aside: bool) -> Markup {
    html! {
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

/// The answers to choose from, beside the form so that they stay in sight while
/// one reads. Only a redirect sends the content, so only there it must be fit to
/// be sent.
fn verdicts(draft: Option<&Draft>) -> Markup {
    let changed = draft.and_then(|draft| match draft.said {
        Said::Changed(verdict) => Some(verdict),
        _ => None,
    });
    html! {
        div .verdicts {
            @if let Some(verdict) = changed {
                button .main form="answer" name="status" value="redirected" { "Send your version (Redirect)" }
                button form="answer" name="status" value=(format!("{}{AS_DELIVERED}", verdict.as_str())) formnovalidate {
                    (doing(verdict)) " it as delivered"
                }
            } @else {
                button .main form="answer" name="status" value="approved" data-key="a" formnovalidate { "Approve" }
                button form="answer" name="status" value="rejected" data-key="r" formnovalidate { "Reject" }
                button form="answer" name="status" value="redirected" data-key="e" { "Redirect" }
            }
        }
    }
}

/// The content to be changed, as it is.
fn editor(item: &Item, draft: Option<&Draft>) -> Markup {
    let is_object = item.is_object();
    let original = item.original();
    if !show::can_be_edited(&original) {
        let hint = "A browser cannot edit this content exactly, or not in time. Through the API it can be changed.";
        return html! { p .hint { (hint) } };
    }
    let typed = draft.and_then(|draft| draft.edited.as_deref());
    let typed = typed.filter(|typed| show::can_be_edited(typed));
    let asked = draft.is_some_and(|draft| matches!(draft.said, Said::Preview));
    let changed = typed.filter(|typed| asked || *typed != in_editor(&original));
    html! {
        details #redirect open[changed.is_some()] {
            summary { "Change it" }
            label for="edited" {
                @if is_object { "The content, as JSON" } @else { "The content" }
            }
            input type="hidden" name="edited_as" value=(if is_object { "json" } else { "text" });
            textarea #edited name="edited" rows="12" spellcheck="false" data-json[is_object] {
                "\n" (typed.unwrap_or(&original))
            }
            p #edited-said .hint role="status" {}
            button .ask name="status" value="preview" formnovalidate { "Preview" }
            @if !is_object && as_sent(&in_editor(&original), &original) != original {
                p .hint { "No browser keeps all line ends and controls of this content. If you change it, they become plain line ends." }
            }
            (preview(&original, is_object, changed))
            @if asked { button name="status" value="redirected" { "Redirect" } }
        }
    }
}

/// What was changed, and what of it no editor shows.
fn preview(original: &str, is_object: bool, changed: Option<&str>) -> Markup {
    let sent = changed.map(|typed| match is_object {
        true => typed.to_owned(),
        false => as_sent(typed, original),
    });
    html! {
        div #preview {
            @if let Some(unseen) = show::unseen_in(sent.as_deref().unwrap_or(original)) {
                p .hint { "The editor does not show these:" }
                (unseen)
            }
            @if let Some(sent) = &sent {
                h3 { "What you changed" }
                (show::text_diff(original, sent))
            }
        }
    }
}

/// The same while one types.
pub async fn previewed(
    State(app): State<App>,
    Path(id): Path,
    SignedForm { form, .. }: SignedForm<FORM_BYTES>,
) -> Result<Response, Response> {
    let item = Item::find(&app, &id)
        .await
        .map_err(IntoResponse::into_response)?;
    let typed = in_editor(form.text("edited"));
    let shown = preview(&item.original(), item.is_object(), Some(&typed));
    Ok(plain_page(StatusCode::OK, "What you changed", shown))
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
        return Ok(signed_out(&id, &Draft::new(&form, Said::Preview)));
    };
    let known = visit::is_person(&parts, &app, &signed.holder()).await;
    known.map_err(IntoResponse::into_response)?;
    let holder = signed.holder();
    let sender = Sender::of(&holder);
    let form = Form::open(&app, sender, &parts.headers, body, FORM_BYTES).await?;
    if signed.session.is_page_key(form.text("token")) {
        let paid = form.pay(&app, &signed, parts.uri.path());
        paid.map_err(IntoResponse::into_response)?;
    }
    let (status, draft) = match attempt(&app, &signed, &id, &form).await? {
        // The item says what was answered, and offers to undo it.
        Ok(()) => return Ok(Redirect::to(&format!("/items/{id}")).into_response()),
        Err(refused) => refused,
    };
    item::again(&app, &signed, &id, status, &draft)
        .await
        .map_err(IntoResponse::into_response)
}

/// Someone whose session ended while they wrote keeps what they wrote.
fn signed_out(id: &str, draft: &Draft) -> Response {
    let wrote = draft.edited.as_deref().unwrap_or_default();
    if wrote.is_empty() && draft.feedback.is_empty() {
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

type Refused = (StatusCode, Draft);

async fn attempt(
    app: &App,
    signed: &Signed,
    id: &str,
    form: &Form,
) -> Result<Result<(), Refused>, Response> {
    let refused = |status, why: &str| (status, Draft::fault(form, why));
    let item = Item::find(app, id)
        .await
        .map_err(IntoResponse::into_response)?;
    if !signed.session.is_page_key(form.text("token")) {
        let why = match form.text("token") {
            "" => {
                "Nothing was sent: this page was opened by its plain address, in a browser that runs no scripts, and can only be read. Sign in again, and answer from the page that leads to."
            }
            _ => {
                "Nothing was sent: this page was opened before you signed in. Look at it again, and send it again."
            }
        };
        return Ok(Err(refused(StatusCode::FORBIDDEN, why)));
    }
    let person = match person(app, signed, &format!("/items/{id}/answer")) {
        Ok(person) => person,
        Err(problem) => return Ok(Err(refused(problem.status(), problem.detail()))),
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
        delivery_id: item.row.row.id,
        request,
    };
    match app.engine.submit(command).await {
        Ok(_) => Ok(Ok(())),
        Err(refusal) => {
            let why = said(app, signed, &refusal);
            Ok(Err(refused(Problem::from(refusal).status(), &why)))
        }
    }
}

/// What the form asks for, in the words of the inbox.
fn request(form: &Form, item: &Item) -> Result<Request, Said> {
    let fault = |why: &str| Said::Fault(why.to_owned());
    let chosen = form.text("status");
    if chosen == "preview" {
        return Err(Said::Preview);
    }
    let as_delivered = chosen.strip_suffix(AS_DELIVERED);
    let verdict = Verdict::parse(as_delivered.unwrap_or(chosen));
    let verdict = verdict.ok_or_else(|| fault("Choose an answer."))?;
    let feedback = Some(form.text("feedback").trim()).filter(|text| !text.is_empty());
    let edited = match verdict {
        Verdict::Redirected => edited(form, item).map_err(Said::Fault)?,
        // Nobody's changes are thrown away without a word.
        _ if as_delivered.is_none() && is_changed(form, item) => {
            return Err(Said::Changed(verdict));
        }
        _ => None,
    };
    if verdict == Verdict::Redirected && feedback.is_none() && edited.is_none() {
        return Err(fault(
            "To redirect, say in the feedback what to do instead, or change the content.",
        ));
    }
    asked(verdict, feedback, edited.as_deref()).map_err(Said::Fault)
}

/// An answer as the API takes it, held for a moment.
fn asked(
    verdict: Verdict,
    feedback: Option<&str>,
    edited: Option<&str>,
) -> Result<Request, String> {
    let body = serde_json::json!({
        "status": verdict.as_str(), "feedback": feedback, "hold_seconds": HOLD_SECONDS
    });
    let mut body = body.to_string();
    if let Some(edited) = edited {
        // The text itself, so that what arrives is what was seen.
        body.truncate(body.len() - 1);
        body.push_str(&format!(",\"edited_content\":{edited}}}"));
    }
    Request::parse(body.as_bytes()).map_err(|why| why.to_string())
}

/// Whether there was an editor, and it holds something else than at first.
fn is_changed(form: &Form, item: &Item) -> bool {
    !form.text("edited_as").is_empty()
        && in_editor(form.text("edited")) != in_editor(&item.original())
}

/// The edited content as JSON text; `None` if nothing was changed, or if there
/// was no editor.
fn edited(form: &Form, item: &Item) -> Result<Option<String>, String> {
    if !is_changed(form, item) {
        return Ok(None);
    }
    let text = in_editor(form.text("edited"));
    match form.text("edited_as") {
        "json" => match trail::json::scan(text.as_bytes(), trail::json::Rules::REQUEST) {
            Ok(()) if text.trim_start().starts_with('{') => Ok(Some(text.trim().to_owned())),
            Ok(()) => Err("The content must stay a JSON object.".to_owned()),
            Err(fault) => Err(format!("The content is not valid JSON: {fault}.")),
        },
        _ => serde_json::to_string(&as_sent(&text, &item.original()))
            .map(Some)
            .map_err(|error| error.to_string()),
    }
}

/// What becomes of a text in a browser's editor: one kind of line end, and no NUL.
fn in_editor(text: &str) -> String {
    text.replace("\r\n", "\n")
        .replace('\r', "\n")
        .replace('\0', "\u{FFFD}")
}

/// An edited text with the line ends of the original, if these are all alike.
fn as_sent(text: &str, original: &str) -> String {
    let both = original.matches("\r\n").count();
    match both > 0
        && [b'\r', b'\n']
            .iter()
            .all(|end| count(original, *end) == both)
    {
        true => text.replace('\n', "\r\n"),
        false => text.to_owned(),
    }
}

fn count(text: &str, byte: u8) -> usize {
    text.bytes().filter(|found| *found == byte).count()
}

/// A refusal, for the one who is refused.
fn said(app: &App, signed: &Signed, refusal: &Refusal) -> String {
    let now = app.shared().clock.now();
    let until = |until: Micros| span((until.0 - now.0).max(0) / Micros::SECOND);
    match refusal {
        Refusal::Inbox(Rejection::AlreadyAnswered { by, verdict, at }) => {
            let ago = span((now.0 - at.0).max(0) / Micros::SECOND);
            let verdict = verdict.as_str();
            match *by == signed.user.name {
                true => format!("You {verdict} this; it has been final for {ago}."),
                false => format!(
                    "Your answer was not taken: {by} {verdict} this, and it has been final for {ago}."
                ),
            }
        }
        Refusal::Inbox(Rejection::HeldByAnother {
            by,
            verdict,
            until: at,
        }) => {
            let (verdict, until) = (verdict.as_str(), until(*at));
            format!(
                "Your answer was not taken: {by} {verdict} this just now. That becomes final in {until}."
            )
        }
        refusal => refusal.to_string(),
    }
}

/// The person who sent a form to this path, if they may answer.
fn person(app: &App, signed: &Signed, path: &str) -> Result<Person, Problem> {
    let Decider(person) = Decider::at_page(app, signed, format!("POST {path}"))?;
    Ok(person)
}

fn not_yours(problem: Problem) -> Response {
    notice(problem.status(), "Not yours to answer", problem.detail())
}

pub async fn undo(
    State(app): State<App>,
    Path(id): Path,
    SignedForm { signed, form }: SignedForm,
) -> Result<Response, Response> {
    let person = person(&app, &signed, &format!("/items/{id}/undo")).map_err(not_yours)?;
    let delivery_id = delivery_id(&id).map_err(IntoResponse::into_response)?;
    let command = Inbox::Undo {
        person,
        delivery_id,
    };
    match app.engine.submit(command).await {
        Ok(_) => Ok(Redirect::to(&format!("/items/{id}")).into_response()),
        Err(refusal) => {
            let draft = Draft::fault(&form, said(&app, &signed, &refusal));
            let status = Problem::from(refusal).status();
            item::again(&app, &signed, &id, status, &draft)
                .await
                .map_err(IntoResponse::into_response)
        }
    }
}

/// First what will be answered, then, confirmed, the answers.
pub async fn many(
    State(app): State<App>,
    SignedForm { signed, form }: SignedForm,
) -> Result<Response, Response> {
    let person = person(&app, &signed, "/answers").map_err(not_yours)?;
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
    let feedback = Some(form.text("feedback").trim()).filter(|text| !text.is_empty());
    let request = asked(verdict, feedback, None)
        .map_err(|why| notice(StatusCode::UNPROCESSABLE_ENTITY, "Not sent", &why))?;
    let mut outcome = Vec::new();
    for item in items {
        let command = Inbox::Respond {
            person: person.clone(),
            delivery_id: item.row.row.id,
            request: request.clone(),
        };
        let answered = app.engine.submit(command).await;
        let fault = answered.map_err(|refusal| said(&app, &signed, &refusal));
        outcome.push((item.row.row.id, fault.err()));
    }
    let done = match verdict {
        Verdict::Rejected => "rejected",
        _ => "approved",
    };
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
                        input type="hidden" name="id" value=(item.row.row.id);
                        span .head { bdi { (show::text(&item.row.row.headline)) } }
                        span .about { bdi { (show::text(&item.row.agent_id)) } }
                        p .summary dir="auto" { (show::excerpt(&item.row.row.summary, 240)) }
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
/// refused. What is still held can be undone, one or all.
async fn together(
    app: &App,
    signed: &Signed,
    title: &str,
    taken: Option<Taken>,
    outcome: Vec<(Uuid, Option<String>)>,
) -> Result<Response, Response> {
    let mut items = Vec::new();
    for (id, fault) in outcome {
        let item = Item::find(app, &id.to_string()).await;
        items.push((item.map_err(IntoResponse::into_response)?, fault));
    }
    let held = items
        .iter()
        .filter(|(item, _)| is_mine(item, signed))
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
                    @let id = item.row.row.id;
                    li .row {
                        input type="hidden" name="id" value=(id);
                        a .head href=(format!("/items/{id}")) { bdi { (show::text(&item.row.row.headline)) } }
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

fn is_mine(item: &Item, signed: &Signed) -> bool {
    let held = item.row.held();
    held.is_some_and(|(by, ..)| by == signed.user.name)
}

/// How an item stands, in a row of those answered together.
fn standing(item: &Item, signed: &Signed) -> Markup {
    let row = &item.row.row;
    let by = row
        .answered_by
        .as_ref()
        .filter(|by| **by != signed.user.name);
    html! {
        @match item.row.held() {
            Some((_, verdict, until)) if is_mine(item, signed) => {
                button .quiet name="undo" value=(row.id) data-verdict=(verdict.as_str()) data-until=(until) { "Undo" }
            }
            Some((by, verdict, _)) => { (verdict.as_str()) " by " (by) ", may be undone" }
            None if item.is_open() => "It waits for an answer.",
            None => {
                (item.row.status().as_str())
                @if let Some(by) = by { " by " (by) }
                ", final since " (when::at(row.changed_at))
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
        let delivery_id = delivery_id(id).map_err(IntoResponse::into_response)?;
        let command = Inbox::Undo {
            person: person.clone(),
            delivery_id,
        };
        let fault = match asked == id || asked == "all" {
            true => match app.engine.submit(command).await {
                Ok(_) => {
                    undone += 1;
                    None
                }
                Err(refusal) => Some(refusal),
            },
            false => None,
        };
        // Of all, each row says itself how it stands.
        let fault = fault.filter(|_| asked == id);
        let fault = fault.map(|refusal| said(&app, &signed, &refusal));
        outcome.push((delivery_id, fault));
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

fn verb(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Approved => "approve",
        Verdict::Rejected => "reject",
        Verdict::Redirected => "redirect",
    }
}

fn doing(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Approved => "Approve",
        Verdict::Rejected => "Reject",
        Verdict::Redirected => "Redirect",
    }
}
