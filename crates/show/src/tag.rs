//! Every tag that can leave this crate, with all its fixed attributes.
//!
//! Only this file can make a [`Tag`], and only from literals, so this list is
//! the whole vocabulary. Three tags have an attribute with a value of its own
//! and are written in `html.rs`: links (`href`), the marks of unseen
//! characters (`title`) and numbered lists (`start`).
//!
//! `dir="auto"` keeps what an agent wrote from turning around what stands
//! beside it: the browser treats each such element as an island.

#[derive(Clone, Copy, Debug)]
pub(crate) struct Tag {
    name: &'static str,
    attributes: &'static str,
}

impl Tag {
    pub fn name(self) -> &'static str {
        self.name
    }

    pub fn attributes(self) -> &'static str {
        self.attributes
    }

    /// How text in this element finds its direction.
    pub fn direction(self) -> Direction {
        match self.attributes {
            own if own.contains("dir=\"auto\"") => Direction::FromContent,
            own if own.contains("dir=") => Direction::Fixed,
            _ => Direction::Inherited,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Inherited,
    Fixed,
    FromContent,
}

const fn tag(name: &'static str, attributes: &'static str) -> Tag {
    Tag { name, attributes }
}

/// Writes nothing; stands for an element that is left out, contents kept.
pub(crate) const NONE: Tag = tag("", "");

// Text.
pub(crate) const P: Tag = tag("p", r#" dir="auto""#);
pub(crate) const PRE_TEXT: Tag = tag("pre", r#" class="text" dir="auto""#);
pub(crate) const PRE_RAW: Tag = tag("pre", r#" class="raw" dir="ltr""#);
pub(crate) const CUT: Tag = tag("span", r#" class="cut""#);
pub(crate) const SR: Tag = tag("span", r#" class="sr""#);

// Markdown.
pub(crate) const MARKDOWN: Tag = tag("div", r#" class="markdown""#);
pub(crate) const BLOCKQUOTE: Tag = tag("blockquote", "");
pub(crate) const UL: Tag = tag("ul", "");
pub(crate) const LI: Tag = tag("li", r#" dir="auto""#);
pub(crate) const EM: Tag = tag("em", "");
pub(crate) const STRONG: Tag = tag("strong", "");
pub(crate) const S: Tag = tag("s", "");
pub(crate) const CODE: Tag = tag("code", r#" dir="auto""#);
pub(crate) const CODE_BLOCK: Tag = tag("code", "");
pub(crate) const PRE_CODE: Tag = tag("pre", r#" class="code" dir="ltr" tabindex="0""#);
pub(crate) const PRE_HTML: Tag = tag("pre", r#" class="html" dir="ltr""#);
pub(crate) const PRE_UNSHOWN: Tag = tag("pre", r#" class="unshown" dir="auto""#);
pub(crate) const LANGUAGE: Tag = tag("p", r#" class="language" dir="auto""#);
pub(crate) const NOTE: Tag = tag("p", r#" class="note""#);
pub(crate) const TASK: Tag = tag("span", r#" class="task" aria-hidden="true""#);
pub(crate) const SCROLL: Tag = tag(
    "div",
    r#" class="scroll" tabindex="0" role="region" aria-label="Table""#,
);
pub(crate) const TABLE: Tag = tag("table", "");
pub(crate) const THEAD: Tag = tag("thead", "");
pub(crate) const TBODY: Tag = tag("tbody", "");
pub(crate) const TR: Tag = tag("tr", "");
pub(crate) const TH: Tag = tag("th", r#" dir="auto""#);
pub(crate) const TD: Tag = tag("td", r#" dir="auto""#);
pub(crate) const TD_CENTER: Tag = tag("td", r#" class="center" dir="auto""#);
pub(crate) const TD_END: Tag = tag("td", r#" class="end" dir="auto""#);

/// The page owns `h1` and `h2`.
pub(crate) const HEADINGS: [Tag; 4] = [
    tag("h3", r#" dir="auto""#),
    tag("h4", r#" dir="auto""#),
    tag("h5", r#" dir="auto""#),
    tag("h6", r#" dir="auto""#),
];

// Links.
pub(crate) const LEADS: Tag = tag("span", r#" class="leads" dir="ltr""#);
pub(crate) const LEADS_ELSEWHERE: Tag = tag("span", r#" class="leads mismatch" dir="ltr""#);
pub(crate) const NO_LINK: Tag = tag("span", r#" class="nolink" dir="ltr""#);
pub(crate) const IMAGE: Tag = tag("span", r#" class="image""#);
pub(crate) const LINK_TITLE: Tag = tag("span", r#" class="linktitle" dir="auto""#);

// Highlighted code.
pub(crate) const KEYWORD: Tag = tag("span", r#" class="k""#);
pub(crate) const STRING: Tag = tag("span", r#" class="s""#);
pub(crate) const COMMENT: Tag = tag("span", r#" class="c""#);
pub(crate) const NUMBER: Tag = tag("span", r#" class="n""#);
pub(crate) const ADDED: Tag = tag("span", r#" class="add""#);
pub(crate) const REMOVED: Tag = tag("span", r#" class="del""#);
pub(crate) const PLACE: Tag = tag("span", r#" class="hunk""#);

// JSON.
pub(crate) const JSON: Tag = tag("div", r#" class="json""#);
pub(crate) const FOLDED: Tag = tag("details", "");
pub(crate) const UNFOLDED: Tag = tag("details", " open");
pub(crate) const LONG: Tag = tag("details", r#" class="long""#);
pub(crate) const SUMMARY: Tag = tag("summary", "");
pub(crate) const MEMBERS: Tag = tag("ul", r#" class="members""#);
pub(crate) const MEMBER: Tag = tag("li", "");
pub(crate) const KEY: Tag = tag("span", r#" class="key" dir="auto""#);
pub(crate) const INDEX: Tag = tag("span", r#" class="index""#);
pub(crate) const SIZE: Tag = tag("span", r#" class="size""#);
pub(crate) const JSON_STRING: Tag = tag("span", r#" class="string" dir="auto""#);
pub(crate) const JSON_NUMBER: Tag = tag("span", r#" class="number" dir="ltr""#);
pub(crate) const JSON_WORD: Tag = tag("span", r#" class="word" dir="ltr""#);
pub(crate) const PRE_STRING: Tag = tag("pre", r#" class="string" dir="auto""#);
pub(crate) const PRE_NUMBER: Tag = tag("pre", r#" class="number" dir="ltr""#);

// Diffs.
pub(crate) const FILE: Tag = tag("div", r#" class="file""#);
pub(crate) const PATH: Tag = tag("p", r#" class="path" dir="auto""#);
pub(crate) const COUNT: Tag = tag("span", r#" class="count""#);
pub(crate) const FACT: Tag = tag("p", r#" class="fact" dir="auto""#);
pub(crate) const DIFF: Tag = tag("table", r#" class="diff" aria-label="Changes""#);
pub(crate) const ROW_SAME: Tag = tag("tr", r#" class="same""#);
pub(crate) const ROW_DEL: Tag = tag("tr", r#" class="del""#);
pub(crate) const ROW_ADD: Tag = tag("tr", r#" class="add""#);
pub(crate) const ROW_HUNK: Tag = tag("tr", r#" class="hunk""#);
pub(crate) const CELL_HUNK: Tag = tag("td", r#" colspan="4" dir="ltr""#);
pub(crate) const CELL_OLD: Tag = tag("td", r#" class="old""#);
pub(crate) const CELL_NEW: Tag = tag("td", r#" class="new""#);
pub(crate) const CELL_LINE: Tag = tag("td", r#" class="line" dir="ltr""#);
pub(crate) const CELL_TWIN: Tag = tag("td", r#" class="line twin" dir="ltr" aria-hidden="true""#);
pub(crate) const INS: Tag = tag("ins", "");
pub(crate) const DEL: Tag = tag("del", "");
pub(crate) const NO_NEWLINE: Tag = tag("span", r#" class="nonewline""#);
