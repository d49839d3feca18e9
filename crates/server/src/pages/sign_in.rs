//! Coming in: by a link the first time, by a password from then on.

use account::{NewSession, secret, sign_in::user_by_link};
use axum::{
    body::Body,
    extract::{RawQuery, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use engine::command::Account;
use maud::{Markup, html};
use trail::Micros;

use crate::{
    App,
    api::fresh,
    body::Sender,
    lockout::Who,
    pages::{
        form::{self, Form, pairs},
        in_address,
        layout::{notice, plain},
        mark, password,
        session::{self, PageKey, Signed, cookie},
    },
    path::Path,
    transport::Peer,
    visit::Visit,
};

/// A session ends by itself after this long.
pub const SESSION_SECONDS: i64 = 30 * 86_400;
/// A link is for today.
pub const LINK_SECONDS: i64 = 86_400;

/// A session that was opened for a browser: what gives it to the browser.
#[derive(Debug)]
pub struct Opened {
    cookie: HeaderValue,
    /// The page key, if it must stand in the address.
    in_address: Option<PageKey>,
}

impl Opened {
    /// Gives the browser its session and leads it to a path.
    pub fn lead_to(self, path: &str) -> Response {
        let to = match &self.in_address {
            Some(key) => in_address::with_key(key, path),
            None => path.to_owned(),
        };
        ([(header::SET_COOKIE, self.cookie)], Redirect::to(&to)).into_response()
    }
}

/// How a form that signs someone in says who keeps the page key.
#[derive(Debug)]
enum Keeping {
    /// A script chose it and keeps it in the browser's storage.
    Script(PageKey),
    /// There are no scripts, so that it must stand in the address.
    Address,
    /// Nobody: the session only reads.
    Nobody,
}

impl Keeping {
    fn of(form: &Form) -> Keeping {
        match form.text("page") {
            "address" => Keeping::Address,
            text => PageKey::parse(text).map_or(Keeping::Nobody, Keeping::Script),
        }
    }
}

/// In every form that signs someone in; the script puts its own beside it.
pub fn without_scripts() -> Markup {
    html! { noscript { input type="hidden" name="page" value="address"; } }
}

pub async fn page(State(app): State<App>, RawQuery(query): RawQuery) -> Response {
    let page = form(&app, "", &next(&query).unwrap_or_default(), None);
    plain(StatusCode::OK, "Sign in", page)
}

/// Where one wants to be once signed in.
fn next(query: &Option<String>) -> Option<String> {
    let mut pairs = pairs(query);
    pairs.find_map(|(name, path)| (name == "next").then_some(path))
}

fn form(app: &App, name: &str, next: &str, fault: Option<&str>) -> Markup {
    if app.shared().accounts().users.is_empty() {
        return nobody_yet();
    }
    html! {
        h1 { "Sign in" }
        @if let Some(fault) = fault { p .fault role="alert" { (fault) } }
        form .narrow method="post" action="/sign-in" data-opens {
            input type="hidden" name="next" value=(next);
            (without_scripts())
            label for="name" { "Name" }
            input #name name="name" value=(name) autocomplete="username" autocapitalize="none"
                spellcheck="false" required autofocus;
            label for="password" { "Password" }
            input #password name="password" type="password" autocomplete="current-password" required;
            button .main { "Sign in" }
        }
        p .hint {
            "The first time, or if your password does not work any more, use a link that an owner gives you, or that "
            code { "wakeful user sign-in-link NAME" } " prints on the server."
        }
    }
}

/// The first person is always an owner.
fn nobody_yet() -> Markup {
    html! {
        h1 { "Sign in" }
        p { "This server has no owner yet, so nobody can sign in." }
        p { "To be its first owner, open the link that the server printed when it started. Started again, it prints a new one." }
        p {
            "Or run " code { "wakeful user create NAME" } " on the server, then "
            code { "wakeful user sign-in-link NAME" } ", which prints a link to sign in with."
        }
    }
}

/// The same words and the same time for a wrong name and a wrong password.
pub async fn with_password(
    State(app): State<App>,
    peer: Peer,
    visit: Visit,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Response> {
    let form_sent = Form::of_stranger(&app, peer, &visit, &headers, body).await?;
    let (name, next) = (form_sent.text("name").trim(), form_sent.text("next"));
    // A browser that is known has tries of its own. Without them it is any other.
    let mark = mark::find(&app, &headers, name);
    let given = form_sent.text("password");
    let read_at = app.shared().clock.now();
    let known = match mark.as_deref().map(Who::Known) {
        Some(who) => password::check(&app, name, who, given).await.ok(),
        None => None,
    };
    let checked = match known {
        Some(true) => Ok(true),
        // A stolen mark gives its tries once, not once more without it.
        Some(false) => {
            let (tries, now) = (&app.limits.sign_in, app.shared().clock.now());
            tries.count(name, Who::Address(peer.address), now);
            Ok(false)
        }
        None => password::check(&app, name, Who::Address(peer.address), given).await,
    };
    let later = |what: &str, seconds: u64| {
        let wait = crate::pages::when::span(seconds as i64);
        let fault = format!("{what} Wait {wait}, then try again.");
        let page = plain(
            StatusCode::TOO_MANY_REQUESTS,
            "Sign in",
            form(&app, name, next, Some(&fault)),
        );
        let retry = [(header::RETRY_AFTER, seconds.to_string())];
        (retry, page).into_response()
    };
    let right = checked.map_err(|seconds| later("Too many tries.", seconds))?;
    let opened = match right {
        true => {
            let paid = app.limits.take_sign_in(name, app.shared().clock.now());
            paid.map_err(|seconds| later("You have signed in too often.", seconds))?;
            open(&app, &headers, &form_sent, name, read_at).await
        }
        false => None,
    };
    let Some(opened) = opened else {
        app.failures.count(peer.address);
        let fault = "That name and password do not go together.";
        return Err(plain(
            StatusCode::UNAUTHORIZED,
            "Sign in",
            form(&app, name, next, Some(fault)),
        ));
    };
    let mut response = opened.lead_to(here(next));
    mark::leave(&app, name, &mut response);
    Ok(response)
}

/// A session for someone whose password is right, and was not replaced since
/// `read_at`.
pub async fn open(
    app: &App,
    headers: &HeaderMap,
    form: &Form,
    name: &str,
    read_at: Micros,
) -> Option<Opened> {
    let name = name.to_owned();
    let command = |session| Account::EnterByPassword {
        name: name.clone(),
        read_at,
        command: account::Command::OpenSession { name, session },
    };
    enter(app, headers, form, command).await
}

/// A path of ours, or the inbox: never another site.
fn here(next: &str) -> &str {
    let inside = next.starts_with('/')
        && !next.starts_with("//")
        && !next.contains('\\')
        && !next.chars().any(char::is_control);
    if inside { next } else { "/" }
}

/// Opened in a browser, or by a program that looks at links: a link that works
/// is not used up, and one that does not says so.
pub async fn link(State(app): State<App>, Path(link): Path) -> Result<Response, Response> {
    let (accounts, now) = (app.shared().accounts(), app.shared().clock.now());
    if user_by_link(&accounts, &secret::hash(&link), now).is_none() {
        return Err(spent());
    }
    let page = html! {
        h1 { "Sign in" }
        p { "This link works once." }
        form method="post" data-opens { (without_scripts()) button .main autofocus { "Sign in" } }
    };
    Ok(plain(StatusCode::OK, "Sign in", page))
}

fn spent() -> Response {
    let text = "It was used, has been replaced, is too old, or is for someone who may no longer \
                sign in. Ask for a new one, or run wakeful user sign-in-link NAME on the server.";
    notice(StatusCode::UNAUTHORIZED, "This link does not work", text)
}

pub async fn with_link(
    State(app): State<App>,
    peer: Peer,
    visit: Visit,
    Path(link): Path,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Response> {
    let form = Form::of_stranger(&app, peer, &visit, &headers, body).await?;
    let hash = secret::hash(&link);
    let (accounts, now) = (app.shared().accounts(), app.shared().clock.now());
    let name = user_by_link(&accounts, &hash, now).map(|user| user.name.clone());
    let command = |session| Account::Enter {
        command: account::Command::UseLink { hash, session },
    };
    match enter(&app, &headers, &form, command).await {
        Some(opened) => {
            // To choose a password, unless the link says where else.
            let next = next(&query);
            let next = next.as_deref().map_or("/you", here);
            let mut response = opened.lead_to(next);
            if let Some(name) = name {
                mark::leave(&app, &name, &mut response);
            }
            Ok(response)
        }
        None => {
            app.failures.count(peer.address);
            Err(spent())
        }
    }
}

/// Opens a session with a new secret, which only the browser gets.
async fn enter(
    app: &App,
    headers: &HeaderMap,
    form: &Form,
    command: impl FnOnce(NewSession) -> Account,
) -> Option<Opened> {
    let (secret, hash) = fresh::draw(secret::Kind::Session).ok()?;
    let (key, in_address) = match Keeping::of(form) {
        Keeping::Script(key) => (Some(key), None),
        Keeping::Address => {
            let key = PageKey::draw()?;
            (Some(key.clone()), Some(key))
        }
        Keeping::Nobody => (None, None),
    };
    let now = app.shared().clock.now();
    let session = NewSession {
        session_id: fresh::short_id("ses").ok()?,
        hash,
        page_key: key.map(|key| key.hash()),
        browser: session::browser(headers),
        expires_at: Micros(now.0 + SESSION_SECONDS * Micros::SECOND),
    };
    app.engine.submit(command(session)).await.ok()?;
    let value = cookie(&app.settings, &secret, SESSION_SECONDS);
    Some(Opened {
        cookie: HeaderValue::from_str(&value).ok()?,
        in_address,
    })
}

/// Needs no page key: whoever can only read may leave.
pub async fn out(
    State(app): State<App>,
    signed: Signed,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Response> {
    let holder = signed.holder();
    let sender = Sender::of(&holder);
    let form = Form::open(&app, sender, &headers, body, form::STRANGERS).await?;
    let token = form.text("token");
    if token != signed.sign_out && !signed.session.is_page_key(token) {
        return Err(form::refused());
    }
    let paid = form.pay(&app, &signed, "/sign-out");
    paid.map_err(IntoResponse::into_response)?;
    let session_id = signed.session.session_id;
    let command = account::Command::CloseSession { session_id };
    let _ = app.engine.submit(Account::Enter { command }).await;
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
