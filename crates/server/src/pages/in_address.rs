//! Pages for browsers that run no scripts: the page key stands in the address.
//!
//! `/~KEY/items/ID` is `/items/ID` with its key. The prefix is taken off before
//! the router sees the request, and put onto every link, form and redirect of
//! the answer, so that whoever came in with a key keeps it from page to page.
//! The key does not leave this server: pages send no referrer to other origins
//! (see `layout.rs`), and an address with a wrong key is answered like any
//! other that is not signed in.

use axum::{
    body::{Body, to_bytes},
    extract::Request,
    http::{HeaderValue, Uri, header, uri::PathAndQuery},
    response::{IntoResponse as _, Response},
};

use crate::{Problem, pages::session::PageKey};

/// Pages are bounded by what they show; this is far above all of them.
const PAGE_BYTES: usize = 64 << 20;
/// First segments of addresses that need no page key.
const KEYLESS: [&str; 6] = ["api", "assets", "checkpoint", "setup", "sign-in", "wake"];

/// Takes the key off the address of a request and leaves it with the request.
pub fn take(request: &mut Request) -> Option<PageKey> {
    let whole = request.uri().path_and_query()?.as_str();
    let (key, rest) = whole.strip_prefix("/~")?.split_once('/')?;
    let key = PageKey::parse(key)?;
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = PathAndQuery::try_from(format!("/{rest}")).ok();
    *request.uri_mut() = Uri::from_parts(parts).ok()?;
    request.extensions_mut().insert(key.clone());
    Some(key)
}

/// The address of a page with the key in it.
pub fn with_key(key: &PageKey, path: &str) -> String {
    match is_keyed(path) {
        true => format!("/~{}{path}", key.as_str()),
        false => path.to_owned(),
    }
}

/// Puts the key back onto every address of this server that an answer has.
pub async fn put_back(key: &PageKey, mut response: Response) -> Response {
    let location = response.headers().get(header::LOCATION);
    let location = location.and_then(|to| to.to_str().ok());
    let location = location.map(|to| with_key(key, to));
    if let Some(Ok(to)) = location.map(|to| HeaderValue::from_str(&to)) {
        response.headers_mut().insert(header::LOCATION, to);
    }
    let kind = response.headers().get(header::CONTENT_TYPE);
    if kind.is_none_or(|kind| !kind.as_bytes().starts_with(b"text/html")) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(page) = to_bytes(body, PAGE_BYTES).await else {
        return Problem::internal().into_response();
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    let page = lead(&String::from_utf8_lossy(&page), key);
    Response::from_parts(parts, Body::from(page))
}

fn is_keyed(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else {
        return false;
    };
    let first = rest.split(['/', '?', '#']).next().unwrap_or_default();
    !rest.starts_with('/') && !KEYLESS.contains(&first)
}

/// Every quote in a text of a page is escaped, so what is found here is an
/// attribute that we wrote.
fn lead(page: &str, key: &PageKey) -> String {
    let mut led = String::with_capacity(page.len() + page.len() / 8);
    let mut rest = page;
    while let Some(at) = rest.find("=\"/") {
        let (before, value) = rest.split_at(at + 2);
        led.push_str(before);
        let value_ends = value.find('"').unwrap_or(value.len());
        let (path, after) = value.split_at(value_ends);
        match before.ends_with(" href=\"") || before.ends_with(" action=\"") {
            true => led.push_str(&with_key(key, path)),
            false => led.push_str(path),
        }
        rest = after;
    }
    led + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    fn key() -> PageKey {
        PageKey::parse(KEY).unwrap()
    }

    fn request(path: &str) -> Request {
        Request::builder().uri(path).body(Body::empty()).unwrap()
    }

    #[test]
    fn a_key_is_taken_off_the_address_and_nothing_else_is() {
        let mut keyed = request(&format!("/~{KEY}/items/1?q=a%20b"));
        assert_eq!(take(&mut keyed), Some(key()));
        assert_eq!(keyed.uri(), "/items/1?q=a%20b");
        assert_eq!(keyed.extensions().get(), Some(&key()));
        let mut root = request(&format!("/~{KEY}/"));
        assert_eq!(take(&mut root), Some(key()));
        assert_eq!(root.uri(), "/");
        for other in ["/", "/items/1", "/~short/items", "/~", &format!("/~{KEY}")] {
            let mut request = request(other);
            assert_eq!(take(&mut request), None, "{other}");
            assert_eq!(request.uri(), other);
        }
    }

    #[test]
    fn links_and_forms_of_pages_get_the_key_and_no_other_address_does() {
        let page = r#"<a href="/">x</a><form action="/answers"><a class="y" href="/items/1?a=/b">
            <link href="/assets/a.css"><a href="/api/v1/x"><a href="https://a.example/">
            <a href="//evil.example"><a href="/sign-in?next=/"><i title="/x"> &quot;/x"#;
        let expected = page
            .replace("href=\"/\"", &format!("href=\"/~{KEY}/\""))
            .replace("\"/answers", &format!("\"/~{KEY}/answers"))
            .replace("\"/items", &format!("\"/~{KEY}/items"));
        assert_eq!(lead(page, &key()), expected);
    }
}
