//! Requests whose end can be read in two ways. In each stands `SECOND`, a request
//! that is part of a body to one reader and a request of its own to another.
//!
//! What hyper 1.12 takes beyond the letter of RFC 9112, and why it yields no
//! second request here:
//!
//! - A length beside `chunked`: the length is dropped before we see it, the body
//!   is read as chunks, and the connection ends with this request (RFC 9112, 6.3).
//! - The same length said twice in two headers counts as one.
//! - Lines of the head may end in a bare LF, and empty lines may come before the
//!   request line (RFC 9112, 2.2 allows both).
//! - White space after a chunk's size, and extensions of a chunk, are read and
//!   ignored; a bare CR or LF in them is refused. Sizes may begin with zeros.
//! - `Transfer-Encoding` may be a list that ends in `chunked`, or stand in several
//!   headers: `transport.rs` refuses both with 400 and closes.

/// How the server itself, without a proxy, takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// 400, or the end of the connection.
    Refused,
    /// As one request.
    Once,
}

use Taken::{Once, Refused};

/// Name, how it is taken, the lines of the head after the request line and the
/// host, and what follows the head.
pub type Framing = (&'static str, Taken, &'static str, &'static str);

/// Stands for the second request.
pub const SECOND: &str = "SECOND";

const CHUNKED_SECOND: &str = "0\r\n\r\nSECOND";
/// The second request inside of one chunk, whose size is put for `SIZE`.
const IN_CHUNK: &str = "SIZE\r\nSECOND\r\n0\r\n\r\n";

pub const FRAMINGS: &[Framing] = &[
    // Two lengths.
    (
        "a length and chunked",
        Once,
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        CHUNKED_SECOND,
    ),
    (
        "chunked and a length",
        Once,
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        CHUNKED_SECOND,
    ),
    (
        "chunked and a length of everything",
        Once,
        "Transfer-Encoding: chunked\r\nContent-Length: ALL\r\n",
        CHUNKED_SECOND,
    ),
    (
        "a short length and one chunk",
        Once,
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        IN_CHUNK,
    ),
    (
        "two lengths",
        Refused,
        "Content-Length: 0\r\nContent-Length: ALL\r\n",
        SECOND,
    ),
    (
        "two lengths, the long one first",
        Refused,
        "Content-Length: ALL\r\nContent-Length: 0\r\n",
        SECOND,
    ),
    (
        "the same length twice",
        Once,
        "Content-Length: ALL\r\nContent-Length: ALL\r\n",
        SECOND,
    ),
    (
        "a list of lengths",
        Refused,
        "Content-Length: 0, ALL\r\n",
        SECOND,
    ),
    (
        "a list of the same length",
        Refused,
        "Content-Length: ALL, ALL\r\n",
        SECOND,
    ),
    // Lengths that are no numbers.
    (
        "a length with a plus",
        Refused,
        "Content-Length: +ALL\r\n",
        SECOND,
    ),
    (
        "a length with a minus",
        Refused,
        "Content-Length: -1\r\n",
        SECOND,
    ),
    (
        "a length in hex",
        Refused,
        "Content-Length: 0x10\r\n",
        SECOND,
    ),
    (
        "a length with an underscore",
        Refused,
        "Content-Length: 1_0\r\n",
        SECOND,
    ),
    (
        "a length with a space inside",
        Refused,
        "Content-Length: 1 0\r\n",
        SECOND,
    ),
    (
        "a length with a letter",
        Refused,
        "Content-Length: 0a\r\n",
        SECOND,
    ),
    (
        "a length with a fraction",
        Refused,
        "Content-Length: 0.0\r\n",
        SECOND,
    ),
    ("an empty length", Refused, "Content-Length:\r\n", SECOND),
    (
        "a length beyond 64 bits",
        Refused,
        "Content-Length: 18446744073709551616\r\n",
        SECOND,
    ),
    (
        "a length that wraps to zero",
        Refused,
        "Content-Length: 36893488147419103232\r\n",
        SECOND,
    ),
    (
        "a length with leading zeros",
        Once,
        "Content-Length: 000ALL\r\n",
        SECOND,
    ),
    // Names that are nearly names.
    (
        "a space before the colon of the length",
        Refused,
        "Content-Length : ALL\r\n",
        SECOND,
    ),
    (
        "a tab before the colon of the length",
        Refused,
        "Content-Length\t: ALL\r\n",
        SECOND,
    ),
    (
        "a space before the colon of chunked",
        Refused,
        "Transfer-Encoding : chunked\r\n",
        CHUNKED_SECOND,
    ),
    (
        "a space before the name",
        Refused,
        " Transfer-Encoding: chunked\r\n",
        CHUNKED_SECOND,
    ),
    (
        "an NUL in the name",
        Refused,
        "Transfer\0-Encoding: chunked\r\n",
        CHUNKED_SECOND,
    ),
    (
        "a vertical tab in the value",
        Refused,
        "Transfer-Encoding: \u{b}chunked\r\n",
        CHUNKED_SECOND,
    ),
    (
        "a folded line",
        Refused,
        "Transfer-Encoding:\r\n chunked\r\n",
        CHUNKED_SECOND,
    ),
    (
        "a folded line beside a length",
        Refused,
        "Content-Length: 5\r\nX: y\r\n Transfer-Encoding: chunked\r\n",
        CHUNKED_SECOND,
    ),
    (
        "a bare CR in a line",
        Refused,
        "X: y\rTransfer-Encoding: chunked\r\n",
        CHUNKED_SECOND,
    ),
    (
        "a bare LF before chunked",
        Once,
        "X: y\nTransfer-Encoding: chunked\r\n",
        IN_CHUNK,
    ),
    (
        "a name without a colon",
        Refused,
        "Transfer-Encoding chunked\r\n",
        CHUNKED_SECOND,
    ),
    (
        "an empty name",
        Refused,
        ": chunked\r\nContent-Length: ALL\r\n",
        SECOND,
    ),
    // Codings.
    (
        "chunked, chunked",
        Refused,
        "Transfer-Encoding: chunked, chunked\r\n",
        CHUNKED_SECOND,
    ),
    (
        "chunked, chunked, in one chunk",
        Refused,
        "Transfer-Encoding: chunked, chunked\r\n",
        IN_CHUNK,
    ),
    (
        "chunked twice",
        Refused,
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        CHUNKED_SECOND,
    ),
    (
        "chunked and identity",
        Refused,
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        CHUNKED_SECOND,
    ),
    (
        "identity and chunked",
        Refused,
        "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
        CHUNKED_SECOND,
    ),
    (
        "identity, chunked",
        Refused,
        "Transfer-Encoding: identity, chunked\r\n",
        CHUNKED_SECOND,
    ),
    (
        "chunked, identity",
        Refused,
        "Transfer-Encoding: chunked, identity\r\n",
        CHUNKED_SECOND,
    ),
    (
        "gzip, chunked",
        Refused,
        "Transfer-Encoding: gzip, chunked\r\n",
        CHUNKED_SECOND,
    ),
    (
        "chunked with a parameter",
        Refused,
        "Transfer-Encoding: chunked;q=1\r\n",
        CHUNKED_SECOND,
    ),
    (
        "chunked in quotes",
        Refused,
        "Transfer-Encoding: \"chunked\"\r\n",
        CHUNKED_SECOND,
    ),
    (
        "xchunked beside a length",
        Refused,
        "Transfer-Encoding: xchunked\r\nContent-Length: ALL\r\n",
        SECOND,
    ),
    (
        "identity beside a length",
        Refused,
        "Transfer-Encoding: identity\r\nContent-Length: ALL\r\n",
        SECOND,
    ),
    (
        "an empty coding beside a length",
        Refused,
        "Transfer-Encoding:\r\nContent-Length: ALL\r\n",
        SECOND,
    ),
    (
        "a comma and chunked",
        Refused,
        "Transfer-Encoding: , chunked\r\n",
        CHUNKED_SECOND,
    ),
    (
        "chunked and a comma",
        Refused,
        "Transfer-Encoding: chunked,\r\n",
        CHUNKED_SECOND,
    ),
    (
        "chunked in capitals",
        Once,
        "Transfer-Encoding: CHUNKED\r\n",
        IN_CHUNK,
    ),
    (
        "chunked after a tab",
        Once,
        "Transfer-Encoding:\tchunked\r\n",
        IN_CHUNK,
    ),
    // Chunks.
    (
        "a size with a plus",
        Refused,
        "Transfer-Encoding: chunked\r\n",
        "+0\r\n\r\nSECOND",
    ),
    (
        "a size with a minus",
        Refused,
        "Transfer-Encoding: chunked\r\n",
        "-1\r\n\r\nSECOND",
    ),
    (
        "a size with 0x",
        Refused,
        "Transfer-Encoding: chunked\r\n",
        "0x0\r\n\r\nSECOND",
    ),
    (
        "an empty size",
        Refused,
        "Transfer-Encoding: chunked\r\n",
        "\r\n\r\nSECOND",
    ),
    (
        "a size that overflows",
        Refused,
        "Transfer-Encoding: chunked\r\n",
        "10000000000000000\r\n\r\nSECOND",
    ),
    (
        "a space before the size",
        Refused,
        "Transfer-Encoding: chunked\r\n",
        " SIZE\r\nSECOND\r\n0\r\n\r\n",
    ),
    (
        "a space after the size",
        Once,
        "Transfer-Encoding: chunked\r\n",
        "SIZE \r\nSECOND\r\n0\r\n\r\n",
    ),
    (
        "zeros before the size",
        Once,
        "Transfer-Encoding: chunked\r\n",
        "0000SIZE\r\nSECOND\r\n0\r\n\r\n",
    ),
    (
        "an extension",
        Once,
        "Transfer-Encoding: chunked\r\n",
        "SIZE;a=b\r\nSECOND\r\n0\r\n\r\n",
    ),
    (
        "an extension with a bare LF",
        Refused,
        "Transfer-Encoding: chunked\r\n",
        "1;a\nb\r\nX\r\n0\r\n\r\nSECOND",
    ),
    (
        "a size that ends in a bare LF",
        Refused,
        "Transfer-Encoding: chunked\r\n",
        "SIZE\nSECOND\r\n0\r\n\r\n",
    ),
    (
        "a size that ends in a bare CR",
        Refused,
        "Transfer-Encoding: chunked\r\n",
        "SIZE\rSECOND\r\n0\r\n\r\n",
    ),
    (
        "a chunk that ends in two other bytes",
        Refused,
        "Transfer-Encoding: chunked\r\n",
        "1\r\nXYZ0\r\n\r\nSECOND",
    ),
    (
        "a chunk without an end",
        Refused,
        "Transfer-Encoding: chunked\r\n",
        "1\r\nX0\r\n\r\nSECOND",
    ),
    (
        "a trailer that is a length",
        Once,
        "Transfer-Encoding: chunked\r\nConnection: close\r\n",
        "0\r\nContent-Length: 9\r\n\r\nSECOND",
    ),
];
