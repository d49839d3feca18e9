//! Contents as orders spell them, and as answers show them.
//!
//! An order holds what was said, or names it by its SHA-256; the core knows it
//! by a commitment and its size alone. What the commitment of a content is, and
//! where its bytes are kept, is the caller's to say: it keeps the inline bytes
//! that [`prepare`] takes out of an order before that order is decided.

use std::{cell::RefCell, collections::BTreeSet, fmt};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use trail::Hash;

use super::{
    args::{Args, Context, Defaults, Table},
    fault::{Outcome, Why},
    kind::Kind,
    names::Anything,
    order,
    read::{At, Read},
    words::Word,
};
use crate::{
    Principal, Run,
    content::{Content, Format},
    role::Text,
};

/// The most bytes of a content that stands in an order; a longer one is
/// uploaded before.
pub const MAX_INLINE: usize = 64 << 10;

/// A content that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    pub bytes: u64,
    /// What the trail names it by.
    pub hash: Hash,
}

/// Where contents are kept.
pub trait Shelf: fmt::Debug {
    /// The content with this SHA-256, if it is here.
    fn find(&self, sha256: Hash) -> Option<Kept>;

    /// A content that stands in the order, at this JSON pointer. Whoever has
    /// kept it before finds it.
    fn inline(&self, _place: &str, bytes: &[u8]) -> Option<Kept> {
        self.find(sha256(bytes))
    }
}

/// The plain SHA-256 of a content, by which agents name it.
pub fn sha256(bytes: &[u8]) -> Hash {
    Hash(Sha256::digest(bytes).into())
}

/// A SHA-256 as an order spells it.
#[derive(Clone, Copy, Debug)]
pub struct Named(pub Hash);

impl Read for Named {
    fn kind() -> Kind {
        Kind::Sha256
    }
    fn read(value: &Value, at: &At<'_>) -> Outcome<Named> {
        let hash = value.as_str().and_then(Hash::from_hex).map(Named);
        hash.ok_or_else(|| at.fault(Why::WrongKind(Self::kind())))
    }
    fn sample() -> Named {
        Named(Hash::ZERO)
    }
}

/// Markdown, or an object with a format.
pub(crate) fn read(value: &Value, at: &At<'_>) -> Outcome<Content> {
    let (kept, format) = match value {
        Value::String(words) => (inline(words.as_bytes(), at)?, Format::Markdown),
        Value::Object(table) => {
            let args = Args::new(table, at.context, at.place);
            let Word(format) = args.need("format")?;
            let kept = one_of(&args)?;
            args.all_used()?;
            (kept, format)
        }
        _ => return Err(at.fault(Why::WrongKind(Kind::Content))),
    };
    Ok(of(kept, format))
}

fn of(kept: Kept, format: Format) -> Content {
    Content {
        attachments: 0,
        bytes: kept.bytes,
        format,
        hash: kept.hash,
    }
}

/// Words that no key holds, such as those of a reason that an agent reads.
pub(crate) fn words(context: &Context<'_>, words: &str) -> Outcome<Content> {
    let at = At { context, place: "" };
    Ok(of(inline(words.as_bytes(), &at)?, Format::Markdown))
}

/// What stands under `text` or `base64`, or is named by `sha256`.
pub(crate) fn one_of(args: &Args<'_>) -> Outcome<Kept> {
    let text: Option<Text> = args.maybe("text")?;
    let base64: Option<Text> = args.maybe("base64")?;
    let named: Option<Named> = args.maybe("sha256")?;
    if args.is_probe() {
        return Ok(Kept {
            bytes: 0,
            hash: Hash::ZERO,
        });
    }
    let at = At {
        context: args.context,
        place: args.place(),
    };
    match (text, base64, named) {
        (Some(text), None, None) => inline(text.as_bytes(), &at),
        (None, Some(base64), None) => {
            // Four letters hold three bytes: what is far too long is not decoded.
            let bytes = match base64.len() / 4 * 3 > MAX_INLINE + 3 {
                true => return Err(at.fault(Why::TooLong(MAX_INLINE))),
                false => STANDARD.decode(base64.as_bytes()),
            };
            inline(&bytes.map_err(|_| args.wrong("base64", Kind::Text))?, &at)
        }
        (None, None, Some(Named(sha256))) => find(sha256, &at),
        _ => Err(at.fault(Why::NoOneContent)),
    }
}

fn inline(bytes: &[u8], at: &At<'_>) -> Outcome<Kept> {
    if bytes.len() > MAX_INLINE {
        return Err(at.fault(Why::TooLong(MAX_INLINE)));
    }
    let kept = at.context.shelf.inline(at.place, bytes);
    kept.ok_or_else(|| at.fault(Why::UnknownContent(sha256(bytes))))
}

pub(crate) fn find(sha256: Hash, at: &At<'_>) -> Outcome<Kept> {
    let kept = at.context.shelf.find(sha256);
    kept.ok_or_else(|| at.fault(Why::UnknownContent(sha256)))
}

/// What must be done before an order is decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// To be kept: the bytes that stood in the order, each once.
    pub inline: Vec<(Hash, Vec<u8>)>,
    /// To be there already: what the order names without its bytes.
    pub named: BTreeSet<Hash>,
}

/// Looks for every fault that shows without a run, and replaces the contents
/// that stand in the order by their SHA-256.
pub fn prepare(order: &mut Table, by: Principal) -> Outcome<Contents> {
    let taken = Taken::default();
    let run = Run::default();
    order::command(
        &Context {
            run: &run,
            by,
            names: &Anything,
            shelf: &taken,
            defaults: Defaults::default(),
        },
        order,
    )?;
    Ok(taken.strip(order))
}

/// Notes what an order holds.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    inline: RefCell<Vec<(String, Vec<u8>)>>,
    named: RefCell<BTreeSet<Hash>>,
}

impl Shelf for Taken {
    fn find(&self, sha256: Hash) -> Option<Kept> {
        self.named.borrow_mut().insert(sha256);
        Some(Kept {
            bytes: 0,
            hash: sha256,
        })
    }

    fn inline(&self, place: &str, bytes: &[u8]) -> Option<Kept> {
        let held = (place.to_owned(), bytes.to_owned());
        self.inline.borrow_mut().push(held);
        Some(Kept {
            bytes: bytes.len() as u64,
            hash: sha256(bytes),
        })
    }
}

impl Taken {
    pub(crate) fn strip(self, order: &mut Table) -> Contents {
        let mut whole = Value::Object(std::mem::take(order));
        let (mut inline, mut known) = (Vec::new(), BTreeSet::new());
        for (place, bytes) in self.inline.into_inner() {
            let sha256 = sha256(&bytes);
            // Words that no key holds have no place, and are read again.
            match whole.pointer_mut(&place).filter(|_| !place.is_empty()) {
                Some(Value::Object(table)) => {
                    table.remove("text");
                    table.remove("base64");
                    table.insert("sha256".to_owned(), json!(sha256));
                }
                Some(words) => *words = json!({"format": Format::Markdown, "sha256": sha256}),
                None => {}
            }
            if known.insert(sha256) {
                inline.push((sha256, bytes));
            }
        }
        if let Value::Object(table) = whole {
            *order = table;
        }
        Contents {
            inline,
            named: self.named.into_inner(),
        }
    }
}

/// A content as an answer shows it. Without words it is longer than an answer
/// shows, and fetched by its SHA-256.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shown {
    pub format: Format,
    pub bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Hash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// It is no longer kept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
}

impl Shown {
    /// `kept` are its bytes; `None` where they were erased.
    pub fn new(content: &Content, kept: Option<&[u8]>) -> Shown {
        let short = kept.filter(|bytes| bytes.len() <= MAX_INLINE);
        let is_text = content.format != Format::Binary;
        let text = short.and_then(|bytes| std::str::from_utf8(bytes).ok());
        let text = text.filter(|_| is_text).map(str::to_owned);
        let base64 = short.filter(|_| text.is_none());
        Shown {
            format: content.format,
            bytes: content.bytes,
            sha256: kept.map(sha256),
            base64: base64.map(|bytes| STANDARD.encode(bytes)),
            text,
            erased: kept.is_none(),
        }
    }
}
