//! What the layers above never see: fragments of a message that is not whole
//! yet, and control frames. They cost time and are no frames of ours, so they
//! have a pace of their own, from the first byte on; whoever goes faster is
//! closed. Only the heads of frames are looked at (RFC 6455, 5.2).

use std::{
    fmt, io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Instant,
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use wakelink::relay::{Moment, Pace};

/// What the first message of somebody may hold, before it is known who they are:
/// what one takes to say that, several times over.
const FIRST_BYTES: u64 = 4 << 10;

/// The final bit and the code of a frame; a whole text or binary message is
/// counted above.
const FINAL: u8 = 0x80;
const TEXT: u8 = FINAL | 1;
const BINARY: u8 = FINAL | 2;

/// A connection on which pieces of messages are counted.
#[derive(Debug)]
pub struct Metered<S> {
    inner: S,
    heads: Heads,
    pieces: Pace,
    started: Instant,
    over: bool,
}

/// Why reading failed.
#[derive(Debug)]
pub struct TooManyPieces;

impl fmt::Display for TooManyPieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too many fragments or control frames")
    }
}

impl std::error::Error for TooManyPieces {}

/// Why reading failed: a first message that is too long.
#[derive(Debug)]
pub struct FirstTooLong;

impl fmt::Display for FirstTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the first message is too long")
    }
}

impl std::error::Error for FirstTooLong {}

impl<S> Metered<S> {
    pub fn new(inner: S, pieces: Pace) -> Metered<S> {
        Metered {
            inner,
            heads: Heads::default(),
            pieces,
            started: Instant::now(),
            over: false,
        }
    }

    /// Counts what is in these bytes.
    fn note(&mut self, bytes: &[u8]) -> io::Result<()> {
        let pieces = self.heads.pieces_in(bytes);
        // Room would be made for all of it when its head is read.
        if self.heads.announced > FIRST_BYTES && !self.over {
            self.over = true;
            return Err(io::Error::other(FirstTooLong));
        }
        if pieces == 0 || self.over {
            return Ok(());
        }
        let now = Moment(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX));
        if (0..pieces).any(|_| self.pieces.note(now).is_some()) {
            // What still comes is only thrown away.
            self.over = true;
            return Err(io::Error::other(TooManyPieces));
        }
        Ok(())
    }
}

/// Where in a frame one is.
#[derive(Debug, Default)]
struct Heads {
    /// Of the head: what is there of its first bytes, and how many.
    head: [u8; 10],
    known: usize,
    /// Bytes of the frame that are neither of these.
    rest: u64,
    /// Whether a whole message has begun.
    spoke: bool,
    /// What has been announced of a first one, in pieces or whole.
    announced: u64,
}

impl Heads {
    /// How many frames begin here that are no whole messages.
    fn pieces_in(&mut self, mut bytes: &[u8]) -> usize {
        let mut pieces = 0;
        while !bytes.is_empty() {
            if self.rest > 0 {
                let skipped = usize::try_from(self.rest)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                self.rest -= skipped as u64;
                bytes = &bytes[skipped..];
                continue;
            }
            self.head[self.known] = bytes[0];
            self.known += 1;
            bytes = &bytes[1..];
            if let Some(rest) = self.rest_of_frame() {
                let is_whole = matches!(self.head[0] & 0x8f, TEXT | BINARY);
                pieces += usize::from(!is_whole);
                let is_control = self.head[0] & 0x08 != 0;
                if !self.spoke && !is_control {
                    self.announced = self.announced.saturating_add(rest.saturating_sub(4));
                    self.spoke = is_whole;
                }
                (self.known, self.rest) = (0, rest);
            }
        }
        pieces
    }

    /// What follows on its length, once that is known.
    fn rest_of_frame(&self) -> Option<u64> {
        if self.known < 2 {
            return None;
        }
        let mask = if self.head[1] & 0x80 == 0 { 0 } else { 4 };
        let long = |bytes: usize| {
            let length = &self.head[2..2 + bytes];
            let length = length
                .iter()
                .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
            (self.known == 2 + bytes).then_some(length)
        };
        let length = match self.head[1] & 0x7f {
            126 => long(2)?,
            127 => long(8)?,
            short => u64::from(short),
        };
        Some(length.saturating_add(mask))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = room.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, room))?;
        Poll::Ready(self.note(&room.filled()[before..]))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A masked frame of a client.
    fn frame(first: u8, length: usize) -> Vec<u8> {
        let mut frame = vec![first];
        match length {
            short @ 0..126 => frame.push(0x80 | short as u8),
            middle @ 126..0x1_0000 => {
                frame.push(0x80 | 126);
                frame.extend((middle as u16).to_be_bytes());
            }
            long => {
                frame.push(0x80 | 127);
                frame.extend((long as u64).to_be_bytes());
            }
        }
        frame.extend([7; 4]);
        frame.resize(frame.len() + length, 0);
        frame
    }

    #[test]
    fn only_a_first_message_must_be_short() {
        let too_long = |frames: &[Vec<u8>]| {
            let mut heads = Heads::default();
            heads.pieces_in(&frames.concat());
            heads.announced > FIRST_BYTES
        };
        assert!(too_long(&[frame(TEXT, 5_000)]));
        assert!(too_long(&[frame(0x89, 5), frame(0x01, 5_000)]));
        assert!(too_long(&[frame(0x01, 3_000), frame(0x00, 3_000)]));
        assert!(!too_long(&[
            frame(0x89, 5),
            frame(TEXT, 4_000),
            frame(TEXT, 60_000)
        ]));
        assert!(!too_long(&vec![frame(0x89, 100); 100]));
        assert!(!too_long(&vec![frame(0x00, 0); 5_000]));
    }

    #[test]
    fn pieces_are_told_from_whole_messages_however_the_bytes_come() {
        let mut bytes = Vec::new();
        for length in [0, 1, 125, 126, 300, 65_535, 65_536, 70_000] {
            bytes.extend(frame(TEXT, length));
            bytes.extend(frame(BINARY, length));
        }
        assert_eq!(Heads::default().pieces_in(&bytes), 0);
        // The start of a message, its middle and its end; ping, pong, close.
        for piece in [0x01, 0x00, 0x80, 0x89, 0x8a, 0x88] {
            bytes.extend(frame(piece, 5));
        }
        for size in [1, 2, 3, 7, 4096, bytes.len()] {
            let mut heads = Heads::default();
            let found: usize = bytes.chunks(size).map(|some| heads.pieces_in(some)).sum();
            assert_eq!(found, 6, "{size} at a time");
        }
    }
}
