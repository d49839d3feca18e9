//! Who is at the page: a cookie that only this server reads, and proof that a
//! form was sent from a page of this server.

use account::{
    Role, User,
    secret::{self, SecretHash},
    sign_in,
};
use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, Method, header, request::Parts},
    response::{IntoResponse, Redirect, Response},
};
use trail::{Hash, Micros};

use crate::{App, Settings, visit};

/// For so long a session that a link opened may replace a forgotten password.
const FRESH_SECONDS: i64 = 900;

/// Where a script says what a form says in its field `token`.
pub const TOKEN_HEADER: &str = "wakeful-form";

/// Someone signed in to the pages.
#[derive(Clone, Debug)]
pub struct Signed {
    pub user: User,
    pub session_id: String,
    pub hash: SecretHash,
    /// What a form of this session must carry.
    pub token: String,
    /// Whether a sign-in link has only just brought them in.
    pub by_fresh_link: bool,
}

impl Signed {
    pub fn may_answer(&self) -> bool {
        self.user.role.may_answer()
    }

    pub fn is_owner(&self) -> bool {
        self.user.role == Role::Owner
    }
}

/// Over HTTPS the name itself forbids other hosts and plain HTTP to set it.
pub fn cookie_name(settings: &Settings) -> &'static str {
    match settings.is_secure() {
        true => "__Host-wakeful",
        false => "wakeful",
    }
}

/// Sets the cookie; an empty secret takes it away.
pub fn cookie(settings: &Settings, secret: &str, seconds: i64) -> String {
    let name = cookie_name(settings);
    let secure = if settings.is_secure() { "; Secure" } else { "" };
    format!("{name}={secret}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")
}

/// The session that a request's cookie belongs to.
pub fn by_cookie(headers: &HeaderMap, app: &App) -> Option<Signed> {
    let name = cookie_name(&app.settings);
    let cookies = headers.get_all(header::COOKIE);
    let mut pairs = cookies
        .iter()
        .filter_map(|cookies| cookies.to_str().ok())
        .flat_map(|cookies| cookies.split(';'));
    let secret = pairs.find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))?;
    let accounts = app.shared().accounts();
    let now = app.shared().clock.now();
    let hash = secret::hash(secret);
    let (session, user) = accounts.user_by_session(&hash, now)?;
    let age = now.0 - session.created_at.0;
    Some(Signed {
        by_fresh_link: session.method == sign_in::Method::Link
            && age < FRESH_SECONDS * Micros::SECOND,
        user: user.clone(),
        session_id: session.session_id.clone(),
        hash,
        token: Hash::of("wakeful/form/1", &[secret.as_bytes()]).to_hex(),
    })
}

/// What a session is opened with, as a person tells their own apart. A browser
/// says what it likes; only these words are kept of it.
pub fn browser(headers: &HeaderMap) -> Option<String> {
    // Each claims to be those after it too.
    const BROWSERS: [(&str, &str); 5] = [
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ];
    const SYSTEMS: [(&str, &str); 7] = [
        ("iPhone", "an iPhone"),
        ("iPad", "an iPad"),
        ("Android", "Android"),
        ("Windows", "Windows"),
        ("Mac OS X", "a Mac"),
        ("CrOS", "ChromeOS"),
        ("Linux", "Linux"),
    ];
    let says = headers.get(header::USER_AGENT)?.to_str().ok()?;
    let named = |names: &[(&str, &'static str)]| {
        let found = names.iter().find(|(mark, _)| says.contains(mark));
        found.map(|(_, name)| *name)
    };
    match (named(&BROWSERS), named(&SYSTEMS)) {
        (Some(browser), Some(system)) => Some(format!("{browser} on {system}")),
        (one, other) => one.or(other).map(str::to_owned),
    }
}

/// Whether a browser says that a page of this server sent the request. Every
/// browser of the last years says where a request comes from; one that says
/// nothing at all is not a browser that another site could misuse.
pub fn is_from_here(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match (text("sec-fetch-site"), text("origin"), text("host")) {
        (Some(site), ..) => matches!(site, "same-origin" | "none"),
        (None, Some(origin), Some(host)) => origin
            .split_once("://")
            .is_some_and(|(_, from)| from == host),
        (None, Some(_), None) => false,
        (None, None, _) => true,
    }
}

impl FromRequestParts<App> for Signed {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Signed, Response> {
        if let Some(signed) = by_cookie(&parts.headers, app) {
            let known = visit::is_person(parts, app, &signed.user.name).await;
            known.map_err(IntoResponse::into_response)?;
            return Ok(signed);
        }
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let to = match (parts.method == Method::GET, path) {
            (true, "/") | (false, _) => "/sign-in".to_owned(),
            (true, path) => {
                let next: String = url::form_urlencoded::byte_serialize(path.as_bytes()).collect();
                format!("/sign-in?next={next}")
            }
        };
        Err(Redirect::to(&to).into_response())
    }
}
