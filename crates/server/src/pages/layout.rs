//! What every page has around it.

use axum::{
    http::{HeaderName, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use maud::{DOCTYPE, Markup, html};

use crate::{
    pages::{
        assets::{ICON_PATH, SCRIPT_PATH, STYLE_PATH},
        session::Signed,
    },
    problem::Told,
};

/// Its own style and script, its own server, and nothing else; nobody may frame it.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types wakeful";

/// The places in the house, in the order of the menu, with the key that leads there.
const PLACES: [(&str, &str, &str); 4] = [
    ("/", "Inbox", "i"),
    ("/done", "Done", "d"),
    ("/agents", "Agents", "a"),
    ("/trail", "Trail", "t"),
];
/// Those that only owners can open.
const OWNERS_PLACES: [(&str, &str, &str); 3] = [
    ("/webhooks", "Webhooks", "w"),
    ("/people", "People", "p"),
    ("/settings", "Settings", "s"),
];

/// A page for someone who is signed in. It never loads itself again: whoever has
/// taken our port meanwhile would be sent the cookie and the page key.
pub fn page(signed: &Signed, here: &str, title: &str, main: Markup) -> Response {
    let owners = signed.is_owner().then_some(OWNERS_PLACES);
    let places = PLACES.into_iter().chain(owners.into_iter().flatten());
    let menu = html! {
        header .top {
            a .brand href="/" { "Wakeful" }
            nav aria-label="Main" {
                @for (path, name, key) in places {
                    a href=(path) data-go=(key) aria-current=[(path == here).then_some("page")] { (name) }
                }
            }
            div .who {
                a href="/you" data-go="y" aria-current=[(here == "/you").then_some("page")] { (signed.user.name) }
                form method="post" action="/sign-out" {
                    input type="hidden" name="token" value=(match signed.token() {
                        "" => &signed.sign_out,
                        key => key,
                    });
                    button .quiet { "Sign out" }
                }
            }
            @if signed.key.is_none() { (read_only()) }
        }
    };
    let head = html! {
        meta name="session" content=(signed.session.session_id);
        meta name="log-key" content=(signed.log_key);
        meta name="place" content=(signed.place);
        @if let Some(hash) = &signed.session.page_key { meta name="page-key-hash" content=(hash); }
        @if let Some(key) = &signed.key { meta name="form-token" content=(key.as_str()); }
    };
    answer(StatusCode::OK, title, head, menu, main)
}

/// Without scripts and without the key in the address nothing can be sent. The
/// style hides it where scripts run.
fn read_only() -> Markup {
    html! {
        p .read-only {
            "This page can only be read: its address has no key, and this browser runs no scripts. "
            a href="/sign-in" { "Sign in" } " to answer."
        }
    }
}

/// Text to be taken along whole: one click selects it, one button copies it.
pub fn copied(text: &str) -> Markup {
    html! {
        div .copied { pre .copy { code { (text) } } (copy_button()) }
    }
}

/// Copies what stands before it.
pub fn copy_button() -> Markup {
    html! { button .quiet type="button" data-copy { "Copy" } }
}

/// The hidden field that shows where a form was made.
pub fn token(signed: &Signed) -> Markup {
    html! { input type="hidden" name="token" value=(signed.token()); }
}

/// A page for whoever comes by.
pub fn plain(status: StatusCode, title: &str, main: Markup) -> Response {
    let top = html! { header .top { span .brand { "Wakeful" } } };
    answer(status, title, html! {}, top, main)
}

/// A short word about what went wrong.
pub fn notice(status: StatusCode, title: &str, text: &str) -> Response {
    let main = html! {
        h1 { (title) }
        p { (text) }
        p { a href="/" { "To the inbox" } }
    };
    plain(status, title, main)
}

/// What a program is told as a problem, a person is told on a page.
pub async fn in_words(mut response: Response) -> Response {
    let Some(Told(detail)) = response.extensions_mut().remove() else {
        return response;
    };
    let title = match response.status() {
        StatusCode::NOT_FOUND => "Not found",
        _ => "Not done",
    };
    let mut page = notice(response.status(), title, &detail);
    if let Some(seconds) = response.headers_mut().remove(header::RETRY_AFTER) {
        page.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    page
}

fn answer(status: StatusCode, title: &str, head: Markup, top: Markup, main: Markup) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Wakeful" }
                (head)
                link rel="icon" type="image/svg+xml" href=(*ICON_PATH);
                link rel="stylesheet" href=(*STYLE_PATH);
                script type="module" src=(*SCRIPT_PATH) {}
            }
            body {
                a .skip href="#main" { "To the content" }
                (top)
                main #main tabindex="-1" { (main) }
                div #said role="status" aria-live="polite" {}
            }
        }
    };
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (status, headers, Html(page.into_string())).into_response()
}
