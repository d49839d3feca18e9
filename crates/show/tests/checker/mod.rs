//! A strict little reader of what leaves the crate.
//!
//! It knows nothing of how the HTML was made. Every tag, attribute and class it
//! meets must be on its own lists, every tag must be closed where it belongs,
//! and every `&` must begin one of five entities.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::collections::BTreeSet;

/// Elements and the attributes each may have.
const TAGS: &[(&str, &[&str])] = &[
    ("a", &["href", "rel", "target", "dir"]),
    ("blockquote", &[]),
    ("br", &[]),
    ("code", &["dir"]),
    ("del", &[]),
    ("details", &["class", "open"]),
    ("div", &["class", "tabindex", "role", "aria-label"]),
    ("em", &[]),
    ("h3", &["dir"]),
    ("h4", &["dir"]),
    ("h5", &["dir"]),
    ("h6", &["dir"]),
    ("hr", &[]),
    ("ins", &[]),
    ("li", &["dir"]),
    ("ol", &["start"]),
    ("p", &["class", "dir"]),
    ("pre", &["class", "dir", "tabindex"]),
    ("s", &[]),
    ("span", &["class", "title", "dir", "aria-hidden"]),
    ("strong", &[]),
    ("summary", &[]),
    ("table", &["class", "aria-label"]),
    ("tbody", &[]),
    ("td", &["class", "colspan", "dir", "aria-hidden"]),
    ("th", &["dir"]),
    ("thead", &[]),
    ("tr", &["class"]),
    ("ul", &["class"]),
];

const CLASSES: &[&str] = &[
    "add",
    "c",
    "center",
    "code",
    "count",
    "cut",
    "del",
    "diff",
    "end",
    "fact",
    "file",
    "html",
    "hunk",
    "image",
    "index",
    "json",
    "k",
    "key",
    "language",
    "leads",
    "line",
    "linktitle",
    "long",
    "markdown",
    "members",
    "mismatch",
    "n",
    "new",
    "nolink",
    "nonewline",
    "note",
    "number",
    "old",
    "path",
    "raw",
    "s",
    "same",
    "scroll",
    "size",
    "sr",
    "string",
    "task",
    "text",
    "twin",
    "unseen",
    "unshown",
    "word",
];

const BLOCKS: &[&str] = &[
    "blockquote",
    "details",
    "div",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "table",
    "ul",
];

/// Reads `html` and answers with the text a person sees, or with what is wrong.
pub fn read(html: &str) -> Result<String, String> {
    let mut open: Vec<&str> = Vec::new();
    // Most tags come again and again; each is judged once.
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let mut text = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        plain(&rest[..at], &mut text)?;
        let end = rest[at..].find('>').ok_or("a tag without its end")? + at;
        tag(&rest[at + 1..end], &mut open, &mut known)?;
        rest = &rest[end + 1..];
    }
    plain(rest, &mut text)?;
    match open.is_empty() {
        true => Ok(text),
        false => Err(format!("left open: {open:?}")),
    }
}

fn tag<'h>(
    inside: &'h str,
    open: &mut Vec<&'h str>,
    known: &mut BTreeSet<&'h str>,
) -> Result<(), String> {
    if let Some(name) = inside.strip_prefix('/') {
        return match open.pop() {
            Some(opened) if opened == name => Ok(()),
            opened => Err(format!("</{name}> closes {opened:?}")),
        };
    }
    let name = inside.split(' ').next().unwrap_or_default();
    if known.insert(inside) {
        let at = TAGS.binary_search_by_key(&name, |(tag, _)| tag);
        let (_, allowed) = TAGS[at.map_err(|_| format!("<{inside}>"))?];
        attributes(name, &inside[name.len()..], allowed)?;
    }
    belongs(name, open)?;
    if !matches!(name, "br" | "hr") {
        open.push(name);
    }
    Ok(())
}

/// Whether an element may stand where it stands, so that no browser moves it.
fn belongs(name: &str, open: &[&str]) -> Result<(), String> {
    let parent = open.last().copied().unwrap_or_default();
    let fits = match name {
        "tr" => matches!(parent, "thead" | "tbody"),
        "td" | "th" => parent == "tr",
        "thead" | "tbody" => parent == "table",
        "summary" => parent == "details",
        "li" => matches!(parent, "ul" | "ol"),
        "a" => !open.contains(&"a"),
        _ if BLOCKS.contains(&name) => {
            let phrasing = [
                "p", "a", "span", "em", "strong", "s", "summary", "code", "pre",
            ];
            let heading = |tag: &&str| matches!(*tag, "h3" | "h4" | "h5" | "h6");
            !open
                .iter()
                .any(|tag| phrasing.contains(tag) || heading(tag))
        }
        _ => !matches!(parent, "table" | "thead" | "tbody" | "tr"),
    };
    fits.then_some(())
        .ok_or_else(|| format!("<{name}> in {open:?}"))
}

fn attributes(tag: &str, text: &str, allowed: &[&str]) -> Result<(), String> {
    let mut rest = text;
    let mut seen = Vec::new();
    while !rest.is_empty() {
        let wrong = || format!("<{tag}{text}>");
        rest = rest.strip_prefix(' ').ok_or_else(wrong)?;
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let name = &rest[..end];
        rest = &rest[end..];
        if !allowed.contains(&name) || seen.contains(&name) {
            return Err(wrong());
        }
        seen.push(name);
        if name == "open" {
            continue;
        }
        let (raw, after) = rest
            .strip_prefix("=\"")
            .and_then(|rest| rest.split_once('"'))
            .ok_or_else(wrong)?;
        rest = after;
        let mut value = String::new();
        plain(raw, &mut value)?;
        if !value_fits(name, &value) {
            return Err(wrong());
        }
    }
    let is_safe_link = tag != "a" || ["href", "rel", "target"].iter().all(|a| seen.contains(a));
    is_safe_link
        .then_some(())
        .ok_or_else(|| format!("<{tag}{text}>"))
}

fn value_fits(name: &str, value: &str) -> bool {
    match name {
        "href" => {
            let known = ["http://", "https://", "mailto:"];
            known.iter().any(|scheme| value.starts_with(scheme))
                && value
                    .bytes()
                    .all(|byte| byte.is_ascii_graphic() || byte == b' ')
        }
        "rel" => value == "noopener noreferrer nofollow",
        "target" => value == "_blank",
        "class" => value
            .split(' ')
            .all(|class| CLASSES.binary_search(&class).is_ok()),
        "dir" => matches!(value, "auto" | "ltr"),
        "tabindex" => value == "0",
        "role" => value == "region",
        "aria-label" => matches!(value, "Table" | "Changes"),
        "aria-hidden" => value == "true",
        "colspan" => value == "4",
        "start" => value.parse::<u64>().is_ok(),
        "title" => {
            value.starts_with("U+")
                || value.trim_start_matches(|c: char| c.is_ascii_digit()) == " more combining marks"
        }
        _ => false,
    }
}

/// Text outside of tags, or the value of an attribute.
fn plain(escaped: &str, text: &mut String) -> Result<(), String> {
    if let Some(raw) = escaped.find(['<', '>', '"', '\'']) {
        return Err(format!(
            "unescaped: {:?}",
            &escaped[raw..].chars().take(40).collect::<String>()
        ));
    }
    let mut rest = escaped;
    while let Some(at) = rest.find('&') {
        seen(&rest[..at], text)?;
        let entities = [
            ("&amp;", '&'),
            ("&lt;", '<'),
            ("&gt;", '>'),
            ("&quot;", '"'),
            ("&#39;", '\''),
        ];
        let entity = entities
            .iter()
            .find(|(entity, _)| rest[at..].starts_with(entity));
        let (entity, character) = entity.ok_or("an unescaped &")?;
        text.push(*character);
        rest = &rest[at + entity.len()..];
    }
    seen(rest, text)
}

/// Characters that never stay, whatever is around them. (Joiners, style
/// selectors and tags may, inside an emoji.)
fn seen(part: &str, text: &mut String) -> Result<(), String> {
    if part
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
    {
        text.push_str(part);
        return Ok(());
    }
    let hidden = part.chars().find(|&c| {
        matches!(c,
            '\0'..='\u{8}' | '\u{B}'..='\u{1F}' | '\u{7F}'..='\u{9F}' | '\u{AD}' | '\u{34F}'
            | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{180E}' | '\u{200B}' | '\u{200E}'
            | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
            | '\u{E000}'..='\u{F8FF}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E001F}' | '\u{E0080}'..='\u{10FFFF}')
    });
    if let Some(hidden) = hidden {
        return Err(format!("U+{:04X} is not marked", u32::from(hidden)));
    }
    text.push_str(part);
    Ok(())
}
