//! Whoever sits down at an open page is not thereby the person. What would
//! outlast the session asks for the password again: setting a password, making
//! a token, making a link to sign in with. Of whoever has no password it asks
//! for a sign-in link that was used within the last quarter of an hour.

use axum::{
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use maud::html;

use crate::{
    App, Problem,
    code::Code,
    lockout::Who,
    pages::{
        form::Form,
        layout::{page, token},
        password,
        session::Signed,
    },
};

/// Why someone has not shown that they are the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unproven {
    /// No password was given, or not the right one.
    Password,
    /// There is no password, and the link was not used just now.
    Link,
    /// Too many tries in this session, or too much to do.
    Busy,
}

/// After too many tries: longer than the first waits.
const BUSY_SECONDS: u64 = 60;

impl From<Unproven> for Problem {
    fn from(unproven: Unproven) -> Problem {
        let (status, code, detail) = match unproven {
            Unproven::Password => (
                StatusCode::FORBIDDEN,
                Code::PasswordRequired,
                "A session alone does not do this. Send your password as \"password\", or use a token.",
            ),
            Unproven::Link => (
                StatusCode::FORBIDDEN,
                Code::FreshLinkRequired,
                "You have no password: sign in with a new link, and do this within 15 minutes.",
            ),
            Unproven::Busy => (
                StatusCode::TOO_MANY_REQUESTS,
                Code::TriesLimited,
                "Too many passwords were tried. Wait a minute, then try again.",
            ),
        };
        let problem = Problem::new(status, code, detail);
        match unproven {
            Unproven::Busy => problem.retry_after(BUSY_SECONDS),
            Unproven::Password | Unproven::Link => problem,
        }
    }
}

/// Whether whoever has this session has just shown that they are the person.
pub async fn proves(app: &App, signed: &Signed, password: &str) -> Result<(), Unproven> {
    let name = &signed.user.name;
    let known = app.shared().password(name).await;
    match known.map_err(|_| Unproven::Busy)? {
        None if signed.by_fresh_link => Ok(()),
        None => Err(Unproven::Link),
        Some(_) if password.is_empty() => Err(Unproven::Password),
        Some(_) => {
            // Counted for the session: nobody outside can use its tries up.
            let who = Who::Known(&signed.session.session_id);
            match password::check(app, name, who, password).await {
                Ok(true) => Ok(()),
                Ok(false) => Err(Unproven::Password),
                Err(_) => Err(Unproven::Busy),
            }
        }
    }
}

/// The same for a form: an error is the page that asks for the password and
/// sends the form again with it.
pub async fn asked(
    app: &App,
    signed: &Signed,
    form: &Form,
    action: &str,
    fields: &[&str],
) -> Result<(), Response> {
    let given = form.text("password");
    let Err(unproven) = proves(app, signed, given).await else {
        return Ok(());
    };
    let fault = match unproven {
        Unproven::Link => {
            "You have no password. Sign in with a new link, and do this within 15 minutes."
        }
        Unproven::Busy => "Too many passwords were tried. Wait a minute, then try again.",
        Unproven::Password if given.is_empty() => "",
        Unproven::Password => "That is not your password.",
    };
    let main = html! {
        h1 { "Is it you?" }
        @if !fault.is_empty() { p .fault role="alert" { (fault) } }
        @if unproven != Unproven::Link {
            p { "This makes a way into this server that outlasts your session." }
            form .narrow method="post" action=(action) {
                (token(signed))
                @for field in fields { input type="hidden" name=(field) value=(form.text(field)); }
                label for="password" { "Your password" }
                input #password name="password" type="password" autocomplete="current-password" required autofocus;
                button .main { "Go on" }
            }
        }
    };
    let mut response = page(signed, action, "Is it you?", main).into_response();
    *response.status_mut() = match unproven {
        Unproven::Busy => StatusCode::TOO_MANY_REQUESTS,
        Unproven::Password | Unproven::Link => StatusCode::FORBIDDEN,
    };
    Err(response)
}
