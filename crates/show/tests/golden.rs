//! How ordinary content looks, written out.

use serde_json::json;
use show::{Format, details, diff, paragraphs, plain_excerpt, raw, text, text_diff};

fn shown(text: &str, format: Format) -> String {
    let shown = details(&json!(text).to_string(), format);
    assert_eq!(shown.format, format);
    shown.body.0
}

/// What is inside the Markdown of `source`.
fn markdown(source: &str) -> String {
    let html = shown(source, Format::Markdown);
    let inside = html.strip_prefix("<div class=\"markdown\">");
    inside
        .and_then(|html| html.strip_suffix("</div>"))
        .expect("one div")
        .to_owned()
}

#[test]
fn text_is_escaped_and_what_is_unseen_is_marked() {
    assert_eq!(text("Fish & <chips>").0, "Fish &amp; &lt;chips&gt;");
    assert_eq!(
        text("a\u{202E}b").0,
        "a<span class=\"unseen\" title=\"U+202E RIGHT-TO-LEFT OVERRIDE\">U+202E</span>b"
    );
    assert_eq!(
        text("\u{200B}\u{200B}\u{200B}").0,
        "<span class=\"unseen\" title=\"U+200B ZERO WIDTH SPACE\">U+200B ×3</span>"
    );
    assert_eq!(text("Done 👩‍💻 ❤️").0, "Done 👩‍💻 ❤️");
    assert_eq!(plain_excerpt("A <b>\n\u{200B}c", 20), "A <b> U+200Bc");
}

#[test]
fn lines_make_paragraphs() {
    assert_eq!(
        paragraphs("one\ntwo\r\n\n\nthree\n").0,
        "<p dir=\"auto\">one<br>two</p><p dir=\"auto\">three</p>"
    );
    assert_eq!(
        raw(r#"{"a":"\u003cb>"}"#).0,
        "<pre class=\"raw\" dir=\"ltr\">\n{&quot;a&quot;:&quot;\\u003cb&gt;&quot;}</pre>"
    );
}

#[test]
fn markdown_is_written_with_our_own_tags() {
    assert_eq!(
        markdown("# Plan\n\nDo *this* and `that`.\n\n1. one\n2. two"),
        "<h3 dir=\"auto\">Plan</h3><p dir=\"auto\">Do <em>this</em> and <code dir=\"auto\">that</code>.</p>\
         <ol><li dir=\"auto\">one</li><li dir=\"auto\">two</li></ol>"
    );
    assert_eq!(
        markdown("| a | n |\n|---|--:|\n| x | 1 |"),
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table>\
         <thead><tr><th dir=\"auto\">a</th><th dir=\"auto\">n</th></tr></thead>\
         <tbody><tr><td dir=\"auto\">x</td><td class=\"end\" dir=\"auto\">1</td></tr></tbody></table></div>"
    );
    assert_eq!(
        markdown("```python\ndef f(): return \"a\" # 1\n```"),
        "<p class=\"language\" dir=\"auto\">python</p><pre class=\"code\" dir=\"ltr\" tabindex=\"0\">\n\
         <code><span class=\"k\">def</span> f(): <span class=\"k\">return</span> \
         <span class=\"s\">&quot;a&quot;</span> <span class=\"c\"># 1</span>\n</code></pre>"
    );
    assert_eq!(
        markdown("<b>x</b>"),
        "<p dir=\"auto\">&lt;b&gt;x&lt;/b&gt;</p>"
    );
}

const LINK: &str = "rel=\"noopener noreferrer nofollow\" target=\"_blank\" dir=\"auto\"";

#[test]
fn links_say_where_they_lead() {
    assert_eq!(
        markdown("[report](https://a.example/r)"),
        format!(
            "<p dir=\"auto\"><a href=\"https://a.example/r\" {LINK}>report</a> \
                 <span class=\"leads\" dir=\"ltr\">a.example</span></p>"
        )
    );
    assert_eq!(
        markdown("![chart](https://a.example/c.png)"),
        format!(
            "<p dir=\"auto\"><a href=\"https://a.example/c.png\" {LINK}>\
                 <span class=\"image\">image: </span>chart</a> \
                 <span class=\"leads\" dir=\"ltr\">a.example</span></p>"
        )
    );
    assert_eq!(
        markdown("[bank.com](https://раураl.com:8443)"),
        format!(
            "<p dir=\"auto\"><a href=\"https://xn--l-7sba6dbr.com:8443/\" {LINK}>bank.com</a> \
                 <span class=\"leads mismatch\" dir=\"ltr\">really leads to xn--l-7sba6dbr.com:8443</span></p>"
        )
    );
    assert_eq!(
        markdown("[x](javascript:alert(1))"),
        "<p dir=\"auto\">x <span class=\"nolink\" dir=\"ltr\">(javascript:alert(1))</span></p>"
    );
}

#[test]
fn json_is_a_tree() {
    let html = details(r#"{"total":1.50,"ok":true,"tags":["a"]}"#, Format::Text);
    assert_eq!(html.format, Format::Json);
    assert_eq!(
        html.body.0,
        "<div class=\"json\"><details open><summary><span class=\"size\">3 keys</span></summary><ul class=\"members\">\
         <li><span class=\"key\" dir=\"auto\">total</span>: <span class=\"number\" dir=\"ltr\">1.50</span></li>\
         <li><span class=\"key\" dir=\"auto\">ok</span>: <span class=\"word\" dir=\"ltr\">true</span></li>\
         <li><details open><summary><span class=\"key\" dir=\"auto\">tags</span>: <span class=\"size\">1 item</span></summary>\
         <ul class=\"members\"><li><span class=\"index\">0</span>: <span class=\"string\" dir=\"auto\">&quot;a&quot;</span></li></ul>\
         </details></li></ul></details></div>"
    );
}

#[test]
fn content_falls_back_to_what_it_is() {
    let format = |json: &str, asked| details(json, asked).format;
    assert_eq!(format(r#""no diff""#, Format::Diff), Format::Text);
    assert_eq!(format(r#""no json""#, Format::Json), Format::Text);
    assert_eq!(format(r#""{\"a\":1}""#, Format::Json), Format::Json);
    assert_eq!(format(r#"{"a":1}"#, Format::Markdown), Format::Json);
    assert_eq!(format("{broken", Format::Markdown), Format::Text);
}

#[test]
fn when_no_form_is_asked_for_content_is_shown_as_what_it_is() {
    let format = |json: &str| details(json, None).format;
    assert_eq!(format(r#"{"a":1}"#), Format::Json);
    assert_eq!(format(&json!(DIFF).to_string()), Format::Diff);
    assert_eq!(format(r#""So: --- a +++ b""#), Format::Markdown);
    assert_eq!(format(r#""{\"a\":1}""#), Format::Markdown);
    assert_eq!(format(r#""""#), Format::Markdown);
}

const DIFF: &str = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -3,2 +3,2 @@ f\n same\n-pay 10\n+pay 99\n";

#[test]
fn a_diff_is_a_table() {
    assert_eq!(
        shown(DIFF, Format::Diff),
        "<div class=\"file\"><p class=\"path\" dir=\"auto\">x <span class=\"count\">1 added, 1 removed</span></p>\
         <table class=\"diff\" aria-label=\"Changes\"><tbody>\
         <tr class=\"hunk\"><td colspan=\"4\" dir=\"ltr\">@@ -3,2 +3,2 @@ f</td></tr>\
         <tr class=\"same\"><td class=\"old\">3</td><td class=\"line twin\" dir=\"ltr\" aria-hidden=\"true\">same</td>\
         <td class=\"new\">3</td><td class=\"line\" dir=\"ltr\">same</td></tr>\
         <tr class=\"del\"><td class=\"old\">4</td><td class=\"line\" dir=\"ltr\"><span class=\"sr\">removed: </span>pay <del>10</del></td></tr>\
         <tr class=\"add\"><td class=\"new\">4</td><td class=\"line\" dir=\"ltr\"><span class=\"sr\">added: </span>pay <ins>99</ins></td></tr>\
         </tbody></table></div>"
    );
    let old = "a\nb\nsame\npay 10\n";
    let new = "a\nb\nsame\npay 99\n";
    assert!(text_diff(old, new).0.contains("pay <ins>99</ins>"));
    assert_eq!(
        text_diff(old, old).0,
        "<p class=\"note\">Nothing was changed.</p>"
    );
}

#[test]
fn only_a_text_that_is_one_whole_diff_is_one() {
    let corpus = include_str!("corpus/diff.jsonl");
    let read = corpus.lines().filter_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).expect("a line of the corpus");
        let is_diff = line["payload"].as_str().and_then(diff::parse).is_some();
        is_diff.then(|| line["name"].as_str().unwrap_or_default().to_owned())
    });
    let expected = [
        "a small diff",
        "a script in the lines",
        "a script in the name",
        "a script in the section",
        "a script in a rename",
        "a name that is turned around",
        "lines that are turned around",
        "a hunk at the last line there can be",
        "binary files",
        "a new file",
        "a deleted file",
        "a change of mode only",
        "no line break at the end",
        "lines of windows",
        "lines of windows in the content only",
        "lines that look like names",
        "an empty line in a hunk",
        "empty lines after the end",
        "two files",
        "names with a time",
        "a name with blanks",
        "a name in quotes",
        "words with marks on them",
        "emoji that change",
    ];
    assert_eq!(read.collect::<Vec<_>>(), expected);
}
