//! Who is at the page, and what shows it.
//!
//! A browser sends a cookie to every port of a host, so the session's cookie
//! alone only reads. Whatever acts must also carry the session's page key,
//! which is never a cookie and which only pages of this server know: with
//! scripts it lies in the browser's storage for this very origin (see
//! `assets/wakeful.js`), without them it is in the address (`in_address.rs`).

use account::{
    Presented, Role, User,
    secret::{self, SecretHash},
    sign_in,
};
use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, Method, header, request::Parts},
    response::{IntoResponse, Redirect, Response},
};
use trail::{Hash, Micros};

use crate::{App, Settings, api::events, limits::Holder, visit};

/// For so long a session that a link opened may replace a forgotten password.
const FRESH_SECONDS: i64 = 900;

/// The header in which a script sends what a form sends in its field `token`.
pub const TOKEN_HEADER: &str = "wakeful-form";

/// A page key as a request carries it: 64 hex digits. Whether it is the key of
/// a session, the session tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageKey(String);

impl PageKey {
    pub fn parse(text: &str) -> Option<PageKey> {
        Hash::from_hex(text).map(|_| PageKey(text.to_owned()))
    }

    /// A new one, for a browser that runs no script to choose it.
    pub fn draw() -> Option<PageKey> {
        let random = engine::keys::random().ok()?;
        Some(PageKey(Hash(random).to_hex()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn hash(&self) -> SecretHash {
        secret::hash(&self.0)
    }
}

/// Someone signed in to the pages: may read, and act if `key` is there.
#[derive(Clone, Debug)]
pub struct Signed {
    pub user: User,
    pub session: account::Session,
    /// The session's page key, if the address or a header of the request had it.
    pub key: Option<PageKey>,
    /// Enough to sign out, and for nothing else: a page that was opened by the
    /// cookie alone has it.
    pub sign_out: String,
    /// Whether a sign-in link has only just brought them in.
    pub by_fresh_link: bool,
    /// The log's public key, by which an open page recognises this server again.
    pub log_key: String,
    /// The last place of the log before the page is made: what comes after it, an
    /// open page hears.
    pub place: String,
}

impl Signed {
    pub fn presented(&self) -> Presented {
        Presented::Session(self.session.hash.0)
    }

    pub fn may_answer(&self) -> bool {
        self.user.role.may_answer()
    }

    /// Whose share the request counts in.
    pub fn holder(&self) -> Holder {
        let person = self.user.name.clone();
        match self.key {
            Some(_) => Holder::Person(person),
            None => Holder::Cookie {
                person,
                session_id: self.session.session_id.clone(),
            },
        }
    }

    pub fn is_owner(&self) -> bool {
        self.user.role == Role::Owner
    }

    /// What a form of this page carries. Empty if the page was opened by the
    /// cookie alone: then the script fills it in.
    pub fn token(&self) -> &str {
        self.key.as_ref().map_or("", PageKey::as_str)
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

/// The session that a request's cookie belongs to. `in_address` is the page key
/// that stood in its address; one that is not this session's opens nothing.
pub fn by_cookie(headers: &HeaderMap, in_address: Option<&PageKey>, app: &App) -> Option<Signed> {
    let name = cookie_name(&app.settings);
    let cookies = headers.get_all(header::COOKIE);
    let secrets = cookies
        .iter()
        .filter_map(|cookies| cookies.to_str().ok())
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='));
    let in_header = || PageKey::parse(headers.get(TOKEN_HEADER)?.to_str().ok()?);
    let carried = in_address.cloned().or_else(in_header);
    let accounts = app.shared().accounts();
    let now = app.shared().clock.now();
    let sessions = secrets.filter_map(|secret| {
        let (session, user) = accounts.user_by_session(&secret::hash(secret), now)?;
        let fits = |key: &PageKey| session.is_page_key(key.as_str());
        let key = carried.clone().filter(fits);
        Some((secret, session, user, key))
    });
    // Another port can set a cookie of this name for a longer path, which stands
    // before ours: the key tells which session is meant, or else the last place.
    let (secret, session, user, key) = sessions.max_by_key(|(.., key)| key.is_some())?;
    if in_address.is_some() && key.is_none() {
        return None;
    }
    let age = now.0 - session.created_at.0;
    Some(Signed {
        by_fresh_link: session.method == sign_in::Method::Link
            && age < FRESH_SECONDS * Micros::SECOND,
        user: user.clone(),
        session: session.clone(),
        key,
        place: events::here(app),
        log_key: Hash(app.shared().keys.log.verifier().public_bytes()).to_hex(),
        sign_out: Hash::of("wakeful/form/1", &[secret.as_bytes()]).to_hex(),
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
        let in_address = parts.extensions.get::<PageKey>();
        let led_here = in_address.is_some() && !is_from_here(&parts.headers);
        if let Some(signed) = by_cookie(&parts.headers, in_address, app) {
            // A page of another origin could lead here with a key of its own.
            if !led_here {
                let known = visit::is_person(parts, app, &signed.holder()).await;
                known.map_err(IntoResponse::into_response)?;
                return Ok(signed);
            }
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
