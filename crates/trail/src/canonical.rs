//! Canonical JSON (RFC 8785) for what we write ourselves: headers and `facts`.
//!
//! A type is canonical by construction: its fields are declared in the order
//! of their names, it holds no floats and no integer above 2^53 − 1, and
//! `serde_json`'s string escapes are the ones the RFC asks for. So writing is
//! plain serialisation. `check` proves it for bytes: tests call it for every
//! registered event, and verification calls it for what it reads.

use serde::Serialize;

use crate::json;

/// The largest integer that every JSON reader agrees on.
pub const MAX_INTEGER: i64 = (1 << 53) - 1;

/// Serialises a type whose fields are declared in name order.
pub fn to_vec<T: Serialize>(value: &T) -> Vec<u8> {
    let bytes = serde_json::to_vec(value).expect("our own types have string keys and cannot fail");
    debug_assert!(
        is_canonical(&bytes),
        "fields must be declared in name order: {}",
        String::from_utf8_lossy(&bytes)
    );
    bytes
}

/// Whether the bytes are exactly what RFC 8785 would write for their value.
pub fn is_canonical(bytes: &[u8]) -> bool {
    json::scan(bytes, json::Rules::CANONICAL).is_ok()
}
