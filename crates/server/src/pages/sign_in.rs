//! Coming in: by a link the first time, by a password from then on.

use account::{NewSession, secret};
use axum::{
    body::Body,
    extract::{RawQuery, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use engine::Command;
use maud::{Markup, html};
use trail::Micros;

use crate::{
    App,
    api::fresh,
    body::Sender,
    pages::{
        form::{Form, SignedForm, pairs},
        layout::{notice, plain},
        password,
        session::{self, cookie},
    },
    path::Path,
    transport::Peer,
};

/// A session ends by itself after this long.
pub const SESSION_SECONDS: i64 = 30 * 86_400;
/// A link is for today.
pub const LINK_SECONDS: i64 = 86_400;
/// Forms here hold a name and a password.
const FORM_BYTES: usize = 8 << 10;

/// The header that gives a browser its session.
pub type Cookie = [(header::HeaderName, HeaderValue); 1];

pub async fn page(RawQuery(query): RawQuery) -> Response {
    let page = form("", &next(&query).unwrap_or_default(), None);
    plain(StatusCode::OK, "Sign in", page)
}

/// Where one wants to be once signed in.
fn next(query: &Option<String>) -> Option<String> {
    let mut pairs = pairs(query);
    pairs.find_map(|(name, path)| (name == "next").then_some(path))
}

fn form(name: &str, next: &str, fault: Option<&str>) -> Markup {
    html! {
        h1 { "Sign in" }
        @if let Some(fault) = fault { p .fault role="alert" { (fault) } }
        form .narrow method="post" action="/sign-in" {
            input type="hidden" name="next" value=(next);
            label for="name" { "Name" }
            input #name name="name" value=(name) autocomplete="username" autocapitalize="none"
                spellcheck="false" required autofocus;
            label for="password" { "Password" }
            input #password name="password" type="password" autocomplete="current-password" required;
            button .main { "Sign in" }
        }
        p .hint {
            "The first time, use the link that an owner gave you, or that "
            code { "wakeful user sign-in-link NAME" } " prints on the server."
        }
    }
}

/// The same words and the same time for a wrong name and a wrong password.
pub async fn with_password(
    State(app): State<App>,
    peer: Peer,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Response> {
    let form_sent = Form::open(
        &app,
        Sender::Stranger(peer.address),
        &headers,
        body,
        FORM_BYTES,
    )
    .await?;
    let (name, next) = (form_sent.text("name").trim(), form_sent.text("next"));
    if let Err(seconds) = app
        .limits
        .sign_in
        .try_one(name, peer.address, app.shared().clock.now())
    {
        let wait = crate::pages::when::span(seconds as i64);
        let fault = format!("Too many tries. Wait {wait}, then try again.");
        let page = plain(
            StatusCode::TOO_MANY_REQUESTS,
            "Sign in",
            form(name, next, Some(&fault)),
        );
        let retry = [(header::RETRY_AFTER, seconds.to_string())];
        return Err((retry, page).into_response());
    }
    let right = password::is_right(&app, name, form_sent.text("password")).await;
    let opened = match right {
        true => open(&app, &headers, name).await,
        false => None,
    };
    let Some(cookie) = opened else {
        app.failures.count(peer.address);
        let fault = "That name and password do not go together.";
        return Err(plain(
            StatusCode::UNAUTHORIZED,
            "Sign in",
            form(name, next, Some(fault)),
        ));
    };
    let now = app.shared().clock.now();
    app.limits.sign_in.succeeded(name, peer.address, now);
    Ok((cookie, Redirect::to(here(next))).into_response())
}

/// A session for someone whose password is right.
pub async fn open(app: &App, headers: &HeaderMap, name: &str) -> Option<Cookie> {
    let name = name.to_owned();
    enter(app, headers, |session| account::Command::OpenSession {
        name,
        session,
    })
    .await
}

/// A path of ours, or the inbox: never another site.
fn here(next: &str) -> &str {
    let inside = next.starts_with('/')
        && !next.starts_with("//")
        && !next.contains('\\')
        && !next.chars().any(char::is_control);
    if inside { next } else { "/" }
}

/// Opened in a browser, or by a program that looks at links: nothing happens yet.
pub async fn link(Path(_): Path) -> Response {
    let page = html! {
        h1 { "Sign in" }
        p { "This link works once." }
        form method="post" { button .main autofocus { "Sign in" } }
    };
    plain(StatusCode::OK, "Sign in", page)
}

pub async fn with_link(
    State(app): State<App>,
    peer: Peer,
    Path(link): Path,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Response> {
    Form::open(
        &app,
        Sender::Stranger(peer.address),
        &headers,
        body,
        FORM_BYTES,
    )
    .await?;
    let hash = secret::hash(&link);
    let command = |session| account::Command::UseLink { hash, session };
    match enter(&app, &headers, command).await {
        Some(cookie) => {
            // To choose a password, unless the link says where else.
            let next = next(&query);
            let next = next.as_deref().map_or("/you", here);
            Ok((cookie, Redirect::to(next)).into_response())
        }
        None => {
            app.failures.count(peer.address);
            let text = "It was used, has been replaced, or is too old. Ask for a new one, \
                        or run wakeful user sign-in-link NAME on the server.";
            Err(notice(
                StatusCode::UNAUTHORIZED,
                "This link does not work",
                text,
            ))
        }
    }
}

/// Opens a session with a new secret, which only the browser gets.
async fn enter(
    app: &App,
    headers: &HeaderMap,
    command: impl FnOnce(NewSession) -> account::Command,
) -> Option<Cookie> {
    let (secret, hash) = fresh::draw(secret::Kind::Session).ok()?;
    let now = app.shared().clock.now();
    let session = NewSession {
        session_id: fresh::short_id("ses").ok()?,
        hash,
        browser: session::browser(headers),
        expires_at: Micros(now.0 + SESSION_SECONDS * Micros::SECOND),
    };
    let command = Command::Enter {
        command: command(session),
    };
    app.engine.submit(command).await.ok()?;
    let value = cookie(&app.settings, &secret, SESSION_SECONDS);
    Some([(header::SET_COOKIE, HeaderValue::from_str(&value).ok()?)])
}

pub async fn out(
    State(app): State<App>,
    SignedForm { signed, .. }: SignedForm,
) -> Result<Response, Response> {
    let session_id = signed.session_id;
    let command = account::Command::CloseSession { session_id };
    let _ = app.engine.submit(Command::Enter { command }).await;
    let gone = cookie(&app.settings, "", 0);
    Ok(([(header::SET_COOKIE, gone)], Redirect::to("/sign-in")).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_signing_in_one_stays_on_this_server() {
        for inside in ["/", "/items/1", "/done?q=a//b"] {
            assert_eq!(here(inside), inside);
        }
        for outside in [
            "",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/\n/evil.example",
            "items",
        ] {
            assert_eq!(here(outside), "/", "{outside:?}");
        }
    }
}
