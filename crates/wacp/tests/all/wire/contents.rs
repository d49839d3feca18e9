//! Contents leave an order before it is decided, and nothing of it changes.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use wacp::{
    Principal,
    content::{Content, Format},
    wire::content::{Contents, MAX_INLINE, Shown, prepare, sha256},
};

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(table) => table,
        other => panic!("{other}"),
    }
}

fn prepared(order: Value) -> (Value, Contents) {
    let mut order = object(order);
    let contents = prepare(&mut order, Principal::Coordinator).unwrap();
    (Value::Object(order), contents)
}

#[test]
fn what_stands_in_an_order_is_taken_out_once_and_named_by_its_sha256() {
    let hex = |text: &str| sha256(text.as_bytes()).to_hex();
    let base = hex("before");
    let (order, contents) = prepared(json!({"do": "create_checkpoint", "status": "final",
        "intent": "same", "content": {"format": "json", "base64": "e30="},
        "artifacts": [{"resource": "a", "text": "same", "base": base},
            {"resource": "b", "sha256": hex("uploaded"), "base": null}]}));
    assert_eq!(
        order,
        json!({"do": "create_checkpoint", "status": "final",
            "intent": {"format": "markdown", "sha256": hex("same")},
            "content": {"format": "json", "sha256": hex("{}")},
            "artifacts": [{"resource": "a", "sha256": hex("same"), "base": base},
                {"resource": "b", "sha256": hex("uploaded"), "base": null}]})
    );
    let kept: BTreeSet<&[u8]> = contents
        .inline
        .iter()
        .map(|(_, bytes)| &bytes[..])
        .collect();
    assert_eq!(contents.inline.len(), 2, "the same words are kept once");
    assert_eq!(kept, BTreeSet::from([&b"same"[..], &b"{}"[..]]));
    let named = ["before", "uploaded"].map(|text| sha256(text.as_bytes()));
    assert_eq!(contents.named, BTreeSet::from(named));
    // Nothing is left to be taken out.
    let (again, contents) = prepared(order.clone());
    assert_eq!(again, order);
    assert_eq!(contents.inline, []);
}

#[test]
fn a_request_to_finish_says_its_reason_where_it_has_no_words() {
    let (order, contents) = prepared(
        json!({"do": "terminate_gracefully", "workspace": "w1", "grace": "60s", "reason": "Late."}),
    );
    assert_eq!(order["reason"], "Late.");
    assert_eq!(contents.inline, [(sha256(b"Late."), b"Late.".to_vec())]);
}

#[test]
fn a_long_content_is_uploaded_before() {
    let send = |payload: Value| {
        let order = json!({"do": "send", "to": "w1", "type": "directive", "payload": payload});
        prepare(&mut object(order), Principal::Coordinator).map_err(|fault| fault.code())
    };
    let (fits, long) = ("x".repeat(MAX_INLINE), "x".repeat(MAX_INLINE + 1));
    assert!(send(json!(fits)).is_ok());
    assert_eq!(send(json!(long)), Err("content_too_long"));
    let base64 = |bytes: usize| json!({"format": "binary", "base64": "A".repeat(bytes / 3 * 4)});
    assert_eq!(send(base64(MAX_INLINE + 30)), Err("content_too_long"));
    assert!(send(base64(MAX_INLINE - 30)).is_ok());
}

#[test]
fn an_answer_shows_text_where_it_is_text_and_says_what_was_erased() {
    let content = |format, bytes: &[u8]| Content {
        attachments: 0,
        bytes: bytes.len() as u64,
        format,
        hash: trail::Hash::ZERO,
    };
    let shown = |format, bytes: &[u8], is_kept: bool| {
        let shown = Shown::new(&content(format, bytes), is_kept.then_some(bytes));
        serde_json::to_value(shown).unwrap()
    };
    let hex = |bytes: &[u8]| sha256(bytes).to_hex();
    assert_eq!(
        shown(Format::Markdown, b"hello", true),
        json!({"format": "markdown", "bytes": 5, "sha256": hex(b"hello"), "text": "hello"})
    );
    for (format, bytes) in [
        (Format::Binary, &b"hello"[..]),
        (Format::Json, b"\xff\xfe123"),
    ] {
        let shown = shown(format, bytes, true);
        assert!(
            shown.get("text").is_none() && shown["base64"].is_string(),
            "{shown}"
        );
    }
    assert_eq!(
        shown(Format::Yaml, b"gone", false),
        json!({"format": "yaml", "bytes": 4, "erased": true})
    );
    let long = vec![b'x'; MAX_INLINE + 1];
    let shown = shown(Format::Markdown, &long, true);
    assert_eq!(
        shown,
        json!({"format": "markdown", "bytes": long.len(), "sha256": hex(&long)})
    );
}
