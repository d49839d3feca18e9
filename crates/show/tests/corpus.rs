//! Every hostile payload through every function: what comes out is made of our
//! own tags only, is balanced, marks what is unseen, and is bounded.
#![allow(
    clippy::disallowed_methods,
    reason = "measures how long each payload takes"
)]

mod checker;

use std::time::{Duration, Instant};

use serde::Deserialize;
use show::{Format, limits};

#[derive(Deserialize)]
struct Line {
    name: String,
    field: String,
    payload: Option<String>,
    parts: Option<Vec<(String, usize)>>,
}

/// The most that may leave: the room, and the text that used up the last of it,
/// in which every character may be escaped.
const MARKUP: usize = limits::MARKUP_BYTES + 6 * limits::TEXT_BYTES;
const RAW_MARKUP: usize = limits::RAW_MARKUP_BYTES + 6 * limits::RAW_BYTES;
/// Far more than anything takes, even unoptimised on a busy machine; what grows
/// with the square of its input takes minutes.
const TIME: Duration = Duration::from_secs(20);

/// A payload by its name, and the form in which it hurts most, if it is one.
type Hostile = (String, String, Option<Format>);

fn read(file: &str) -> Vec<Hostile> {
    let lines = file.lines().map(|line| {
        let line: Line = serde_json::from_str(line).expect("a line of the corpus");
        let parts = line.parts.unwrap_or_default();
        let parts = parts.iter().map(|(text, times)| text.repeat(*times));
        let payload = line.payload.unwrap_or_else(|| parts.collect());
        (line.name, payload, Format::parse(&line.field))
    });
    lines.collect()
}

fn check(name: &str, form: &str, max: usize, make: impl FnOnce() -> String) {
    let started = Instant::now();
    let html = make();
    let took = started.elapsed();
    if let Err(wrong) = checker::read(&html) {
        panic!("{name}, {form}: {wrong}");
    }
    assert!(html.len() <= max, "{name}, {form}: {} bytes", html.len());
    assert!(took < TIME, "{name}, {form}: {took:?}");
}

fn check_details(name: &str, json: &str) {
    for asked in Format::ALL.map(Some).into_iter().chain([None]) {
        let form = format!("details as {asked:?}");
        let mut format = None;
        check(name, &form, MARKUP, || {
            let shown = show::details(json, asked);
            format = Some(shown.format);
            shown.body.0
        });
        assert_eq!(format, Some(show::format(json, asked)), "{name}, {form}");
    }
}

fn check_everywhere(name: &str, payload: &str) {
    check(name, "text", MARKUP, || show::text(payload).0);
    check(name, "paragraphs", MARKUP, || show::paragraphs(payload).0);
    check(name, "raw", RAW_MARKUP, || show::raw(payload).0);
    check(name, "added", MARKUP, || show::text_diff("", payload).0);
    let other = format!("x{payload}\ny");
    check(name, "edited", MARKUP, || {
        show::text_diff(payload, &other).0
    });
    let excerpt = show::plain_excerpt(payload, 80);
    assert!(excerpt.chars().count() <= 80, "{name}");
    check(name, "excerpt", MARKUP, || show::text(&excerpt).0);
    // As the exact text of `details`, where only a string is shown in several
    // forms, and as what a string in it holds.
    check(name, "details verbatim", MARKUP, || {
        show::details(payload, Format::Json).body.0
    });
    check_details(name, &serde_json::json!(payload).to_string());
}

/// Where a payload could break out of.
fn check_surrounded(name: &str, payload: &str) {
    let object = serde_json::json!({ payload: [payload, { "a": payload }] });
    check_details(name, &object.to_string());
    for (before, after) in [
        ("# ", ""),
        ("> - ", "\n"),
        ("| a |\n|---|\n| ", " |"),
        ("[", "](https://a.example)"),
        ("[x](", ")"),
        ("[x](<", ">)"),
        ("[x](https://a.example/", ")"),
        ("[x](https://a.example \"", "\")"),
        ("![", "](https://a.example/x.png)"),
        ("[x]: ", "\n\n[x]"),
        ("<", ">"),
        ("`", "`"),
        ("```", "\n```"),
        ("```html\n", "\n```"),
        ("```rust\n", "\n```"),
        ("--- a/", "\n+++ b/x\n@@ -1 +1 @@\n-a\n+b"),
        ("--- x\n+++ x\n@@ -1 +1 @@ ", "\n-a\n+b"),
        ("--- x\n+++ x\n@@ -0,0 +1 @@\n+", ""),
        ("--- x\n+++ x\n@@ -1 +1 @@\n-a b c d e f\n+a b ", " d e f"),
    ] {
        let json = serde_json::json!(format!("{before}{payload}{after}")).to_string();
        let format = match before.starts_with("---") {
            true => Format::Diff,
            false => Format::Markdown,
        };
        let form = format!("between {before:?} and {after:?}");
        check(name, &form, MARKUP, || show::details(&json, format).body.0);
    }
}

macro_rules! corpus {
    ($($test:ident: $file:literal, $least:literal, $check:expr;)*) => {$(
        #[test]
        fn $test() {
            let payloads = read(include_str!(concat!("corpus/", $file)));
            assert!(payloads.len() >= $least, "{} payloads", payloads.len());
            for hostile in &payloads {
                $check(hostile);
            }
        }
    )*};
}

fn check_all((name, payload, _): &Hostile) {
    check_everywhere(name, payload);
    check_details(name, payload);
    check_surrounded(name, payload);
}

/// Large content only where it hurts, since the checker takes its time too.
fn check_bounds((name, payload, format): &Hostile) {
    let Some(format) = *format else {
        return check_everywhere(name, payload);
    };
    for json in [payload, &serde_json::json!(payload).to_string()] {
        let form = format!("details as {}", format.as_str());
        check(name, &form, MARKUP, || show::details(json, format).body.0);
    }
}

corpus! {
    html_never_gets_through: "html.jsonl", 110, check_all;
    links_lead_only_where_links_may: "links.jsonl", 100, check_all;
    markdown_stays_within_our_tags: "markdown.jsonl", 50, check_all;
    what_cannot_be_seen_is_marked: "unseen.jsonl", 50, check_all;
    json_of_any_kind_is_shown: "json.jsonl", 50, check_all;
    diffs_of_any_kind_are_shown: "diff.jsonl", 40, check_all;
    huge_and_deep_content_is_bounded: "huge.jsonl", 80, check_bounds;
}
