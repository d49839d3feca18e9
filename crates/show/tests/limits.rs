//! Every limit is honoured, exactly, and said to be reached.

mod checker;

use serde_json::json;
use show::{Format, details, diff, limits, paragraphs, raw, text, text_diff};

const NOTE: &str = "<span class=\"cut\">… the rest is in the raw form</span>";

fn shown(text: &str, format: Format) -> String {
    let shown = details(&json!(text).to_string(), format);
    checker::read(&shown.body.0).expect("our own tags");
    shown.body.0
}

/// `json` shown as a tree, which it must be.
fn tree(json: &str) -> String {
    let shown = details(json, Format::Json);
    assert_eq!(shown.format, Format::Json);
    checker::read(&shown.body.0).expect("our own tags");
    shown.body.0
}

fn count(html: &str, part: &str) -> usize {
    html.matches(part).count()
}

#[test]
fn text_is_cut_at_its_bytes_and_says_so() {
    let whole = "a".repeat(limits::TEXT_BYTES);
    let more = "a".repeat(limits::TEXT_BYTES + 1);
    for form in [|t: &str| text(t).0, |t: &str| paragraphs(t).0] {
        assert!(!form(&whole).contains(NOTE));
        assert!(form(&more).ends_with(NOTE));
        assert_eq!(count(&form(&more), "a") - count(&form(""), "a"), {
            count(&form(&whole), "a") - count(&form(""), "a") + count(NOTE, "a")
        });
    }
    for format in [Format::Text, Format::Markdown, Format::Json, Format::Diff] {
        assert!(!shown(&whole, format).contains(NOTE));
        assert!(shown(&more, format).ends_with(NOTE));
    }
}

#[test]
fn text_is_cut_at_its_lines_and_says_so() {
    let whole = "z\n".repeat(limits::LINES);
    let more = "z\n".repeat(limits::LINES + 1);
    for format in [Format::Text, Format::Markdown] {
        assert!(!shown(&whole, format).contains(NOTE));
        let cut = shown(&more, format);
        assert!(cut.ends_with(NOTE));
        assert_eq!(count(&cut, "z"), limits::LINES);
    }
}

#[test]
fn the_raw_form_is_whole_up_to_what_the_door_takes_by_default() {
    let whole = format!("\"{}\"", "a".repeat(limits::RAW_BYTES - 2));
    assert_eq!(checker::read(&raw(&whole).0), Ok(format!("\n{whole}")));
    let more = raw(&format!("{whole}a")).0;
    assert!(more.contains("<span class=\"cut\">"), "no note");
}

/// Unseen characters of which each gets its own mark.
fn unseen(count: usize) -> String {
    "\u{200B}\u{200C}".chars().cycle().take(count).collect()
}

#[test]
fn content_has_only_so_many_marks() {
    let piled = |count| format!("a{}", "\u{301}".repeat(9)).repeat(count);
    let marks = |html: &str| count(html, "class=\"unseen\"");
    for make in [
        |t: &str| text(t).0,
        |t: &str| raw(t).0,
        |t: &str| shown(t, Format::Text),
    ] {
        for hostile in [unseen, piled] {
            assert!(!make(&hostile(limits::MARKS)).contains("class=\"cut\""));
            let cut = make(&hostile(limits::MARKS + 1));
            assert_eq!(marks(&cut), limits::MARKS);
            assert!(cut.contains("class=\"cut\""), "no note");
        }
    }
}

#[test]
fn one_paragraph_has_only_so_many_elements_and_the_next_begins_anew() {
    let most = limits::ELEMENTS_IN_AUTO;
    let paragraph = "*a* ".repeat(most);
    let html = shown(&format!("{paragraph}\n\n{paragraph}"), Format::Markdown);
    assert_eq!(count(&html, "<em>"), 2 * most);
    assert!(!html.contains(NOTE));
    for one in ["*a* ", "`a` ", "<https://a.example> ", "*_a_* ", "~~a~~ "] {
        let html = shown(&one.repeat(most + 1), Format::Markdown);
        assert!(html.ends_with(NOTE), "{one}");
    }
    // Code has a direction of its own and many words.
    let code = format!("- x\n\n  ```rust\n  {}\n  ```", "1 ".repeat(2 * most));
    assert!(!shown(&code, Format::Markdown).contains(NOTE));
}

#[test]
fn content_has_only_so_many_elements() {
    let row = "|b".repeat(limits::CELLS);
    let head = format!("{row}|\n{}|\n", "|-".repeat(limits::CELLS));
    let html = shown(
        &format!("{head}{}", format!("{row}|\n").repeat(100)),
        Format::Markdown,
    );
    assert!(html.ends_with(NOTE));
    // One more for the note.
    assert_eq!(count(&html, "<") - count(&html, "</"), limits::ELEMENTS + 1);
}

#[test]
fn markup_never_outgrows_its_room() {
    let links = format!("<https://a.example/{}> ", "a".repeat(1_000)).repeat(250);
    let html = shown(&"\"".repeat(limits::TEXT_BYTES), Format::Text);
    assert!(html.len() < limits::MARKUP_BYTES);
    assert!(shown(&links, Format::Markdown).len() < limits::MARKUP_BYTES);
}

#[test]
fn one_letter_carries_only_so_many_marks() {
    let enough = format!("a{}", "\u{301}".repeat(limits::COMBINING_MARKS));
    assert_eq!(text(&enough).0, enough);
    let html = text(&format!("{enough}\u{301}\u{301}b")).0;
    let mark = "<span class=\"unseen\" title=\"2 more combining marks\">+2</span>";
    assert_eq!(html, format!("{enough}{mark}b"));
}

#[test]
fn what_no_browser_can_edit_is_known() {
    let marks = "\u{301}".repeat(limits::EDITED_COMBINING_MARKS);
    assert!(show::can_be_edited(&format!("a{marks}a{marks}")));
    assert!(!show::can_be_edited(&format!("a{marks}\u{302}")));
    assert!(show::can_be_edited(&"a".repeat(limits::RAW_BYTES)));
    assert!(show::can_be_edited(&"\n".repeat(limits::EDITED_LINES)));
    assert!(!show::can_be_edited(&"\n".repeat(limits::EDITED_LINES + 1)));
    assert!(!show::can_be_edited("a\0"));
}

#[test]
fn an_address_that_is_too_long_is_no_link() {
    let address = |length: usize| {
        let start = "https://a.example/";
        format!("{start}{}", "a".repeat(length - start.len()))
    };
    let link = |length| shown(&format!("[x]({})", address(length)), Format::Markdown);
    assert!(link(limits::URL_BYTES).contains("<a href="));
    let text = link(limits::URL_BYTES + 1);
    assert!(!text.contains("<a href=") && text.contains("nolink"));
    assert!(text.len() < 2 * limits::ADDRESS_CHARS);
}

#[test]
fn markdown_nests_only_so_deep_and_keeps_its_text() {
    let html = shown(&format!("{}deep", "> ".repeat(500)), Format::Markdown);
    assert!(count(&html, "<blockquote>") < limits::NESTING);
    assert!(html.contains("deep"));
    let html = shown(&format!("{}deep", "- ".repeat(500)), Format::Markdown);
    assert!(count(&html, "<ul>") <= limits::NESTING / 2);
    assert!(html.contains("deep"));
}

#[test]
fn a_row_has_only_so_many_cells() {
    let table = |columns| {
        let row = |cell: &str| format!("{}|\n", cell.repeat(columns));
        shown(
            &format!("{}{}{}", row("|h"), row("|-"), row("|z")),
            Format::Markdown,
        )
    };
    assert_eq!(count(&table(limits::CELLS), "<td"), limits::CELLS);
    assert!(!table(limits::CELLS).contains(NOTE));
    assert_eq!(count(&table(limits::CELLS + 1), "<td"), limits::CELLS);
    assert!(table(limits::CELLS + 1).ends_with(NOTE));
}

#[test]
fn what_markdown_hides_is_listed_only_so_far() {
    let hidden = format!("[a]: b '{}'", "z".repeat(2 * limits::UNSHOWN_BYTES));
    let html = shown(&hidden, Format::Markdown);
    assert!(html.ends_with(NOTE));
    assert!(count(&html, "z") <= limits::UNSHOWN_BYTES);
}

#[test]
fn json_shows_only_so_many_members_and_levels() {
    let items = |count: usize| tree(&format!("[{}]", vec!["7"; count].join(",")));
    // The array itself is one of them.
    assert!(!items(limits::JSON_NODES - 1).contains(NOTE));
    let more = items(100_000);
    assert_eq!(count(&more, "<li>"), limits::JSON_NODES - 1);
    assert!(more.contains("100000 items") && more.ends_with(NOTE));

    let levels = |count: usize| tree(&format!("{}7{}", "[".repeat(count), "]".repeat(count)));
    assert_eq!(
        count(&levels(limits::JSON_DEPTH), "<details"),
        limits::JSON_DEPTH
    );
    assert!(!levels(limits::JSON_DEPTH).contains(NOTE));
    let deeper = levels(limits::JSON_DEPTH_READ);
    assert_eq!(count(&deeper, "<details"), limits::JSON_DEPTH);
    assert!(deeper.ends_with(NOTE));
    // What has few members is open further down.
    let open = |tree: &str| count(tree, "<details open>");
    assert_eq!(open(&deeper), limits::JSON_OPEN_LEVELS_SMALL);
    let wide = tree(&format!("{}7{}", "[1,2,3,".repeat(9), "]".repeat(9)));
    assert_eq!(open(&wide), limits::JSON_OPEN_LEVELS);

    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(details(&deep, Format::Json).format, Format::Text);
}

#[test]
fn json_is_still_right_after_what_was_too_deep() {
    let deep = format!("{}7{}", "[".repeat(70), "]".repeat(70));
    let html = tree(&format!(
        "{{\"a\":{deep},\"b\":[1,2,3],\"c\":{{\"d\":null}}}}"
    ));
    let text = checker::read(&html).expect("our own tags");
    assert!(
        text.contains("b: 3 items0: 11: 22: 3c: 1 keyd: null"),
        "{text}"
    );
}

#[test]
fn json_strings_and_numbers_are_folded_and_cut() {
    let string = |length: usize| tree(&json!({ "z": "y".repeat(length) }).to_string());
    assert!(!string(limits::JSON_SHORT_CHARS).contains("class=\"long\""));
    assert!(string(limits::JSON_SHORT_CHARS + 1).contains("class=\"long\""));
    assert!(!string(limits::JSON_STRING_BYTES).contains(NOTE));
    let more = string(limits::JSON_STRING_BYTES + 1);
    assert!(more.contains("more than 65536 characters") && more.ends_with(NOTE));

    let number = tree(&format!("{{\"a\":{}}}", "1".repeat(100_000)));
    assert!(number.contains("class=\"long\"") && number.ends_with(NOTE));
    let key = tree(&json!({ "y".repeat(1_000): 1 }).to_string());
    assert_eq!(count(&key, "yy"), limits::JSON_SHORT_CHARS / 2);
    let many = vec!["y".repeat(limits::JSON_STRING_BYTES); 10];
    assert!(tree(&json!(many).to_string()).len() < 2 * limits::TEXT_BYTES);
}

#[test]
fn a_diff_is_read_and_shown_only_so_far() {
    let added = |lines: usize| {
        format!(
            "--- x\n+++ x\n@@ -0,0 +1,{lines} @@\n{}",
            "+z\n".repeat(lines)
        )
    };
    let html = shown(&added(limits::LINES * 2), Format::Diff);
    assert!(html.ends_with(NOTE));
    assert!(count(&html, "<tr") <= limits::LINES);
    let long = added(limits::DIFF_BYTES / 3);
    assert!(long.len() > limits::DIFF_BYTES && diff::parse(&long).is_none());
    let wide = format!(
        "--- x\n+++ x\n@@ -0,0 +1,3 @@\n{}",
        format!("+{}\n", "z".repeat(200_000)).repeat(3)
    );
    assert!(count(&shown(&wide, Format::Diff), "z") < 2 * limits::TEXT_BYTES);
}

#[test]
fn texts_that_are_too_different_are_replaced_as_a_whole() {
    let lines = |letter: &str| -> String {
        let lines = (0..limits::LINE_EDITS).map(|at| format!("{letter}{at}\n"));
        lines.chain(["end\n".to_owned()]).collect()
    };
    let html = text_diff(&lines("a"), &lines("b")).0;
    checker::read(&html).expect("our own tags");
    assert_eq!(count(&html, "<tr class=\"del\">"), limits::LINE_EDITS);
    assert_eq!(count(&html, "<tr class=\"same\">"), 1);
    let huge = text_diff(&lines("a").repeat(20), &lines("b").repeat(20)).0;
    assert!(huge.ends_with(NOTE));
    assert!(count(&huge, "<tr") <= limits::LINES);
}

#[test]
fn only_so_many_unseen_characters_are_listed_each_with_its_line() {
    assert!(show::unseen_in("a\r\nb\t👩\u{200D}🚀").is_none());
    let few = show::unseen_in("a\n\u{202E}b\u{200B}\u{200B}").unwrap().0;
    assert_eq!(count(&few, "Line 2: "), 2, "{few}");
    assert!(few.contains("U+200B ×2") && few.contains("RIGHT-TO-LEFT OVERRIDE</li>"));
    let many = show::unseen_in(&"\u{202E}x\n".repeat(1000)).unwrap().0;
    assert_eq!(count(&many, "<li"), limits::UNSEEN_LISTED + 1);
    assert!(many.contains("and more"), "{many}");
}
