//! The same promises as for the corpus, over content that nobody thought of.

mod checker;

use proptest::{collection::vec, prelude::*, sample::select};
use show::Format;

/// Pieces from which hostile content is made; random letters hardly ever make
/// a tag, a link or a hunk.
const PIECES: &[&str] = &[
    "<script>",
    "</script>",
    "<img src=x onerror=x>",
    "<!--",
    "-->",
    "<",
    ">",
    "&",
    "&lt;",
    "&#x202e;",
    "\"",
    "'",
    "`",
    "``",
    "```",
    "```rust\n",
    "```html\n",
    "~~~",
    "~~",
    "*",
    "**",
    "_",
    "[",
    "]",
    "](",
    "(",
    ")",
    "![",
    "[a]: ",
    "https://a.example/",
    "javascript:",
    "https://b.example@c.example",
    "mailto:a@b.example",
    "<https://a.example>",
    "#",
    "# ",
    "> ",
    "- ",
    "1. ",
    "- [x] ",
    "| a | b |\n",
    "|---|---|\n",
    "|",
    "---",
    "===",
    "    ",
    "\t",
    "\n",
    "\n\n",
    "  \n",
    "\\",
    "\r\n",
    "\r",
    "\0",
    "\u{1b}[31m",
    "\u{200b}",
    "\u{200d}",
    "\u{202e}",
    "\u{2066}",
    "\u{fe0f}",
    "\u{301}",
    "\u{301}\u{301}\u{301}\u{301}",
    "\u{e0041}",
    "👩",
    "❤",
    "é",
    "漢",
    "ש",
    "{",
    "}",
    "{\"a\":",
    "[1,",
    ",",
    ":",
    "null",
    "1e9",
    "\"x\"",
    "\\u0000",
    "\\ud800",
    "\\n",
    "--- a/x\n",
    "+++ b/x\n",
    "@@ -1 +1 @@\n",
    "@@ -1,2 +1,2 @@ f\n",
    "-a\n",
    "+b\n",
    " c\n",
    "diff --git a/x b/x\n",
    "\\ No newline at end of file\n",
    "a",
    "b c",
    "word ",
    "fn main() {}",
    "/*",
    "//",
];

fn content() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => select(PIECES).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => "[ -~\n]{0,20}",
    ];
    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn check(html: &str) -> Result<String, TestCaseError> {
    checker::read(html).map_err(|wrong| TestCaseError::fail(format!("{wrong}\n{html}")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn nothing_but_our_own_tags_ever_leaves(a in content(), b in content()) {
        check(&show::text(&a).0)?;
        check(&show::paragraphs(&a).0)?;
        check(&show::raw(&a).0)?;
        check(&show::text_diff(&a, &b).0)?;
        check(&show::text(&show::plain_excerpt(&a, 20)).0)?;
        let forms = [
            a.clone(),
            serde_json::json!(a).to_string(),
            serde_json::json!({ a.as_str(): [b.as_str(), { "x": a.as_str() }] }).to_string(),
        ];
        for json in forms {
            for format in Format::ALL {
                check(&show::details(&json, format).body.0)?;
            }
        }
    }

    #[test]
    fn text_that_can_be_seen_is_shown_exactly(text in "[ -~\n\té漢ש👍]{0,200}") {
        prop_assert_eq!(&check(&show::text(&text).0)?, &text);
        let shown = show::details(&serde_json::json!(text).to_string(), Format::Text);
        prop_assert_eq!(check(&shown.body.0)?, format!("\n{text}"));
        prop_assert_eq!(check(&show::raw(&text).0)?, format!("\n{text}"));
    }

    #[test]
    fn an_excerpt_is_never_longer_than_asked_for(text in content(), max in 0usize..40) {
        let excerpt = show::plain_excerpt(&text, max);
        prop_assert!(excerpt.chars().count() <= max);
        prop_assert!(!excerpt.contains('\n'));
    }

    /// What a person approves is all that the agent wrote.
    #[test]
    fn markdown_hides_no_word(pieces in vec(select(HOLDERS), 1..20)) {
        let mut source = String::new();
        let mut words = Vec::new();
        for (at, holder) in pieces.iter().enumerate() {
            let word = format!("word{at}end");
            source.push_str(&holder.replace("WORD", &word));
            words.push(word);
        }
        let shown = show::details(&serde_json::json!(source).to_string(), Format::Markdown);
        let text = check(&shown.body.0)?;
        for word in words {
            prop_assert!(text.contains(&word), "{} is not in {}\n{}", word, text, source);
        }
    }

    #[test]
    fn a_diff_of_two_texts_holds_both(
        old in vec("[ab<]{0,3}", 0..7),
        new in vec("[ab<]{0,3}", 0..7),
    ) {
        let markup = show::text_diff(&lines(&old), &lines(&new)).0;
        check(&markup)?;
        let cells = |row: &str, class: &str| -> Vec<String> {
            let rows = markup.split(row).skip(1);
            let cells = rows.filter_map(|rest| rest.split(class).nth(1));
            cells.map(|rest| rest.split("</td>").next().unwrap_or_default().to_owned()).collect()
        };
        let same = cells("<tr class=\"same\">", "class=\"line\" dir=\"ltr\">").len();
        let removed = cells("<tr class=\"del\">", "class=\"line\" dir=\"ltr\">").len();
        let added = cells("<tr class=\"add\">", "class=\"line\" dir=\"ltr\">").len();
        if old != new {
            prop_assert!(removed + added > 0);
            prop_assert!(same + removed <= old.len() && same + added <= new.len());
            prop_assert_eq!(old.len() - removed, new.len() - added);
        }
    }
}

fn lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Markdown with a word somewhere in it, also where Markdown would drop it.
const HOLDERS: &[&str] = &[
    "WORD ",
    "\n\nWORD\n\n",
    "# WORD\n\n",
    "*WORD* ",
    "`WORD` ",
    "\n\n    WORD\n\n",
    "\n```\nWORD\n```\n",
    "\n```rust WORD\nx\n```\n",
    "[WORD](https://a.example) ",
    "[x](https://a.example \"WORD\") ",
    "![WORD](https://a.example) ",
    "![x](javascript:WORD) ",
    "\n\n[WORD]: https://a.example\n\n",
    "\n\n[//]: # (WORD)\n\n",
    "\n\n[x]: https://a.example 'WORD'\n\n",
    "\n\n[x]: https://b.example 'WORD'\n\n",
    "<!-- WORD --> ",
    "\n\n<!-- WORD -->\n\n",
    "<b title=WORD> ",
    "\n\n| a |\n|---|\n| b | WORD |\n\n",
    "\n\n| WORD |\n|---|\n| b |\n\n",
    "\n- WORD\n",
    "\n1. WORD\n",
    "\n> WORD\n",
    "\n- [x] WORD\n",
    "[^WORD] ",
    "\n\n[^x]: WORD\n\n",
    "<WORD@a.example> ",
    "~~WORD~~ ",
    "\n\n<div>\nWORD\n</div>\n\n",
    "\\WORD ",
    "&WORD; ",
    "\n\nx\n: WORD\n\n",
    "\n---\nx: WORD\n---\n",
    "$WORD$ ",
    "[[WORD]] ",
    "{#WORD} ",
    "[x][WORD] ",
];
