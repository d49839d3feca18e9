//! Whether the trail still is what it was: verified on the server, one at a
//! time. The page says how far it is; without JavaScript, when asked again.

use axum::{
    extract::State,
    response::{IntoResponse, Redirect, Response},
};
use maud::{Markup, html};
use trail::Micros;

use crate::{
    App, Problem,
    pages::{
        counted::counted,
        layout::{page as layout, token},
        owner::{Owner, OwnerForm},
        session::Signed,
        when,
    },
    walk::{self, Outcome, Progress},
};

pub async fn start(State(app): State<App>, _: OwnerForm) -> Result<Response, Problem> {
    walk::verify(&app)?;
    Ok(Redirect::to("/trail/verify").into_response())
}

pub async fn export(State(app): State<App>, _: OwnerForm) -> Result<Response, Problem> {
    walk::export(&app).await
}

pub async fn page(State(app): State<App>, owner: Owner) -> Response {
    let verification = app.walks.verification();
    let now = app.shared().clock.now();
    let main = html! {
        p .about { a .back href="/trail" { "Trail" } }
        h1 { "Verification" }
        @match &verification.running {
            Some(progress) => (running(progress)),
            None => {
                @match &verification.last {
                    Some(outcome) => (ended(outcome, now)),
                    None => p { "It was not verified since the server started." },
                }
                (again(&owner.signed))
            },
        }
        p .hint {
            "Every entry is read and compared with the signed checkpoint, with the key this server has, and every row with its code. "
            "Whether the lists and accounts that are made from the trail are what it says is not compared here: "
            code { "wakeful trail verify" } " on the server's machine does that. "
            "If you don't trust this server, export the trail and verify it elsewhere."
        }
    };
    let title = match verification.running {
        Some(_) => "Verifying",
        None => "Verified",
    };
    layout(&owner.signed, "/trail", title, main)
}

fn running(progress: &Progress) -> Markup {
    html! {
        div #verifying .standing {
            label for="read" { "Reading " (counted(progress.entries, "entry", "entries")) }
            progress #read max=(progress.entries.max(1)) value=(progress.read) {}
            noscript { p { a href="/trail/verify" { "See how far it is" } } }
        }
    }
}

fn ended(outcome: &Outcome, now: Micros) -> Markup {
    let bad = !outcome.verified;
    html! {
        div .standing {
            p .fault[bad] role=(if bad { "alert" } else { "status" }) {
                @if let Some(detail) = &outcome.detail {
                    strong { "It does not verify. " } (show::text(detail))
                } @else {
                    strong { "Verified: " (counted(outcome.entries, "entry", "entries")) }
                    " of " (counted(outcome.streams, "stream", "streams")) ", in " (format!("{:.1}", outcome.seconds)) " s. "
                    @if outcome.erased > 0 { (counted(outcome.erased, "part was", "parts were")) " erased. " }
                    @if outcome.sealed > 0 { (counted(outcome.sealed, "part is", "parts are")) " encrypted with a key that is not here. " }
                }
                " " span .hint { (when::ago(outcome.ended_at, now)) }
            }
        }
    }
}

fn again(signed: &Signed) -> Markup {
    html! { form method="post" action="/trail/verify" { (token(signed)) button { "Verify now" } } }
}
