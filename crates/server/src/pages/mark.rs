//! The mark of a browser in which this person has signed in before: a cookie of
//! its own, which is no session. It does one thing: tries of its password are
//! counted for the browser and not for the address, so that whoever shares the
//! address or tries the name elsewhere keeps nobody out. A stolen mark gives
//! its thief a handful of tries, and no more than those.
//!
//! It holds a random id and a date, sealed with the key of this server and bound
//! to the name. Nothing about it is stored.

use axum::{
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use trail::{Hash, Micros};

use crate::{App, Settings};

/// A browser that nobody has signed in with for a year is a new one.
const SECONDS: i64 = 365 * 86_400;
const ID_BYTES: usize = 16;
/// Another server on this host may set cookies of this name; so many are read.
const MOST_READ: usize = 4;
const MOST_CHARS: usize = 256;

/// Each person has a cookie of their own: people share browsers.
fn cookie_name(settings: &Settings, name: &str) -> String {
    let person = Hash::of("wakeful/known-browser/1", &[name.as_bytes()]).to_hex();
    let secure = if settings.is_secure() {
        "__Secure-"
    } else {
        ""
    };
    format!("{secure}wakeful-known-{}", &person[..16])
}

/// What a mark is bound to.
fn bound(name: &str) -> String {
    format!("known-browser/{name}")
}

/// Gives the browser a mark, beside whatever the answer sets.
pub fn leave(app: &App, name: &str, response: &mut Response) {
    // Without random bytes there is none this time.
    if let Some(cookie) = fresh(app, name) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

fn fresh(app: &App, name: &str) -> Option<HeaderValue> {
    let id: [u8; ID_BYTES] = engine::keys::random().ok()?;
    let now = app.shared().clock.now();
    let plain = [&id[..], &now.0.to_be_bytes()].concat();
    let sealed = app.shared().vault.seal_secret(&bound(name), &plain).ok()?;
    let value: String = sealed.iter().map(|byte| format!("{byte:02x}")).collect();
    let cookie = cookie_name(&app.settings, name);
    let secure = match app.settings.is_secure() {
        true => "; Secure",
        false => "",
    };
    let cookie = format!(
        "{cookie}={value}; Path=/sign-in; Max-Age={SECONDS}; HttpOnly; SameSite=Lax{secure}"
    );
    HeaderValue::from_str(&cookie).ok()
}

/// The id of the mark by which this browser is known as this person's.
pub fn find(app: &App, headers: &HeaderMap, name: &str) -> Option<String> {
    let cookie = cookie_name(&app.settings, name);
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|cookies| cookies.to_str().ok())
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|pair| pair.trim().strip_prefix(&cookie)?.strip_prefix('='))
        .take(MOST_READ)
        .find_map(|value| open(app, name, value))
}

fn open(app: &App, name: &str, value: &str) -> Option<String> {
    if value.len() > MOST_CHARS || !value.is_ascii() || !value.len().is_multiple_of(2) {
        return None;
    }
    let bytes: Option<Vec<u8>> = (0..value.len() / 2)
        .map(|n| u8::from_str_radix(&value[2 * n..2 * n + 2], 16).ok())
        .collect();
    let plain = app.shared().vault.open_secret(&bound(name), &bytes?)?;
    let (id, left) = plain.split_at_checked(ID_BYTES)?;
    let left = Micros(i64::from_be_bytes(left.try_into().ok()?));
    let age = app.shared().clock.now().0 - left.0;
    (age < SECONDS * Micros::SECOND).then(|| id.iter().map(|byte| format!("{byte:02x}")).collect())
}
