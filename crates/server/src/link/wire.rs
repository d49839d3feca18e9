//! The bytes of one connection, below its WebSocket. It reads more at once than
//! an idle connection has room for, and writes many frames at once; between
//! the two, it holds no memory.
//!
//! What it is given to write are whole frames, by whoever writes: packets pass
//! in bundles, beside what the WebSocket says of its own accord.

use std::{
    cell::RefCell,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::frames::Frames;

/// Read at once. What one sends faster than it may is held here, too.
const READ_BYTES: usize = 32 << 10;
/// Read at once of somebody who has not said who they are.
const FIRST_BYTES: usize = 1 << 10;
/// Waits to be sent, at the most, before the WebSocket may add to it.
const UNSENT_BYTES: usize = 64 << 10;

thread_local! {
    /// Where all connections of a thread read to, one after the other.
    static ROOM: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into());
}

#[derive(Debug)]
pub struct Wire<S> {
    stream: S,
    /// Read at once.
    most: usize,
    read: Rest,
    unsent: Rest,
}

/// Bytes of which the first are done with; no room when all of them are.
#[derive(Debug, Default)]
struct Rest {
    bytes: Vec<u8>,
    done: usize,
}

impl Rest {
    /// Only powers of two are asked for: an allocator keeps some room for every
    /// size that ever was.
    fn of(part: &[u8]) -> Rest {
        let mut bytes = Vec::with_capacity(part.len().next_power_of_two());
        bytes.extend_from_slice(part);
        Rest { bytes, done: 0 }
    }

    fn left(&self) -> &[u8] {
        &self.bytes[self.done..]
    }

    fn is_empty(&self) -> bool {
        self.left().is_empty()
    }

    fn advance(&mut self, count: usize) {
        self.done += count;
        if self.is_empty() {
            *self = Rest::default();
        }
    }

    fn add(&mut self, bytes: Vec<u8>) {
        match self.is_empty() {
            true => *self = Rest { bytes, done: 0 },
            false => self.bytes.extend_from_slice(&bytes),
        }
    }
}

impl<S> Wire<S> {
    pub fn new(stream: S) -> Wire<S> {
        Wire {
            stream,
            most: FIRST_BYTES,
            read: Rest::default(),
            unsent: Rest::default(),
        }
    }

    /// It is known who they are: from now on more is read at once.
    pub fn admit(&mut self) {
        self.most = READ_BYTES;
    }

    /// Bytes that are here already, and not taken yet.
    pub fn ahead(&self) -> usize {
        self.read.left().len()
    }

    /// Whether all is sent that was to be.
    pub fn is_clear(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Takes frames, to send them with the next flush.
    pub fn send(&mut self, frames: Frames) {
        self.unsent.add(frames.into_bytes());
    }
}

impl<S: AsyncWrite + Unpin> Wire<S> {
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.is_clear() {
            let stream = Pin::new(&mut self.stream);
            match ready!(stream.poll_write(context, self.unsent.left()))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                sent => self.unsent.advance(sent),
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        if !wire.read.is_empty() {
            let count = wire.ahead().min(into.remaining());
            into.put_slice(&wire.read.left()[..count]);
            wire.read.advance(count);
            return Poll::Ready(Ok(()));
        }
        ROOM.with_borrow_mut(|room| {
            let mut room = ReadBuf::new(&mut room[..wire.most]);
            ready!(Pin::new(&mut wire.stream).poll_read(context, &mut room))?;
            let read = room.filled();
            let (now, later) = read.split_at(read.len().min(into.remaining()));
            into.put_slice(now);
            if !later.is_empty() {
                wire.read = Rest::of(later);
            }
            Poll::Ready(Ok(()))
        })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    /// Takes all of it or nothing: there must be no half of a frame before what
    /// is sent in between.
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        if wire.unsent.left().len() >= UNSENT_BYTES {
            ready!(wire.poll_send(context))?;
        }
        wire.unsent.add(bytes.to_vec());
        // The WebSocket does not ask for its very last frame to be flushed.
        match wire.poll_send(context) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(bytes.len())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        ready!(wire.poll_send(context))?;
        Pin::new(&mut wire.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        ready!(wire.poll_send(context))?;
        Pin::new(&mut wire.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{SinkExt as _, StreamExt as _};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio_tungstenite::{
        WebSocketStream,
        tungstenite::{Message, protocol::Role},
    };

    fn frames(texts: &[&str]) -> Frames {
        let mut frames = Frames::default();
        texts.iter().for_each(|text| frames.push(text));
        frames
    }

    #[tokio::test]
    async fn what_is_read_at_once_comes_piece_by_piece_and_leaves_nothing() {
        let (mut far, near) = tokio::io::duplex(1 << 20);
        let mut wire = Wire::new(near);
        wire.admit();
        let sent: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
        far.write_all(&sent).await.unwrap();
        drop(far);
        let mut piece = [0; 1000];
        wire.read_exact(&mut piece).await.unwrap();
        assert_eq!(piece, sent[..1000]);
        assert_eq!(wire.ahead(), READ_BYTES - 1000);
        let mut rest = Vec::new();
        wire.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, sent[1000..]);
        assert_eq!(wire.read.bytes.capacity(), 0);
    }

    #[tokio::test]
    async fn little_is_read_at_once_of_somebody_who_is_not_known() {
        let (mut far, near) = tokio::io::duplex(1 << 20);
        let mut wire = Wire::new(near);
        far.write_all(&[b'x'; 100_000]).await.unwrap();
        wire.read_u8().await.unwrap();
        assert_eq!(wire.ahead(), FIRST_BYTES - 1);
    }

    #[tokio::test]
    async fn bundles_and_the_sockets_own_words_come_in_order_though_the_way_is_narrow() {
        // Far less than a frame passes at once.
        let (far, near) = tokio::io::duplex(7);
        let mut far = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
        let mut near = WebSocketStream::from_raw_socket(Wire::new(near), Role::Server, None).await;
        let long = "x".repeat(70_000);
        let middle = "y".repeat(200);
        near.get_mut().send(frames(&["first", "", &middle]));
        near.get_mut().send(frames(&[&long]));
        let speak = async {
            near.send(Message::Ping("now".into())).await.unwrap();
            assert!(near.get_ref().is_clear());
            near.get_mut().send(frames(&["last"]));
            near.flush().await.unwrap();
            near
        };
        let hear = async {
            let mut heard = Vec::new();
            for _ in 0..6 {
                heard.push(far.next().await.unwrap().unwrap());
            }
            heard
        };
        let (near, heard) = tokio::join!(speak, hear);
        let texts = ["first", "", &middle, &long].map(Message::text);
        assert_eq!(heard[..4], texts);
        assert_eq!(heard[4], Message::Ping("now".into()));
        assert_eq!(heard[5], Message::text("last"));
        assert_eq!(near.get_ref().unsent.bytes.capacity(), 0);
    }
}
