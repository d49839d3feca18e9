//! Who answers at a page, what they are told if their answer is not taken, and
//! how they undo one that is held.

use axum::{
    extract::State,
    response::{IntoResponse, Redirect, Response},
};
use engine::{Refusal, command::Inbox};
use inbox::{Person, Rejection};

use crate::{
    App, Problem,
    auth::Decider,
    pages::{form::SignedForm, layout::notice, session::Signed},
    path::{Path, item_id},
};

use super::{Draft, again};

/// The person who sent a form to this path, if they may answer.
pub fn person(app: &App, signed: &Signed, path: &str) -> Result<Person, Problem> {
    let decider = Decider::at_page(app, signed, format!("POST {path}"))?;
    Ok(decider.into_person())
}

pub fn not_yours(problem: Problem) -> Response {
    notice(problem.status(), "Not yours to answer", problem.detail())
}

/// A refusal, for the one who is refused. How long ago it was stands below, where
/// the page keeps it right.
pub fn refusal_in_words(signed: &Signed, refusal: &Refusal) -> String {
    match refusal {
        Refusal::Inbox(Rejection::AlreadyAnswered { by, verdict, .. }) => {
            let verdict = verdict.as_str();
            match *by == signed.user.name {
                true => format!("You {verdict} this earlier, and it is final."),
                false => format!(
                    "Your answer was not sent: {by} {verdict} this earlier, and it is final."
                ),
            }
        }
        Refusal::Inbox(Rejection::HeldByAnother { by, verdict, .. }) => {
            let verdict = verdict.as_str();
            format!("Your answer was not sent: {by} {verdict} this earlier.")
        }
        refusal => refusal.to_string(),
    }
}

pub async fn undo(
    State(app): State<App>,
    Path(id): Path,
    SignedForm { signed, form }: SignedForm,
) -> Result<Response, Response> {
    let person = person(&app, &signed, &format!("/items/{id}/undo")).map_err(not_yours)?;
    let item = item_id(&id).map_err(IntoResponse::into_response)?;
    match app.engine.submit(Inbox::Undo { person, item }).await {
        Ok(_) => Ok(Redirect::to(&format!("/items/{id}")).into_response()),
        Err(refusal) => {
            let draft = Draft::fault(&form, refusal_in_words(&signed, &refusal));
            let status = Problem::from(refusal).status();
            again(&app, &signed, &id, status, &draft)
                .await
                .map_err(IntoResponse::into_response)
        }
    }
}
