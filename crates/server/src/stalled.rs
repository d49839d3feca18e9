//! Peers that take nothing: a connection on which nothing can be sent for a
//! while is ended, whether it is the socket that is full or a stream of HTTP/2
//! that the other end gives no room.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError, Weak},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Sleep,
};

/// A socket whose writes fail when it takes nothing for `patience`.
#[derive(Debug)]
pub struct Impatient<S> {
    stream: S,
    patience: Duration,
    /// Set while a write waits.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl<S> Impatient<S> {
    pub fn new(stream: S, patience: Duration) -> Impatient<S> {
        Impatient {
            stream,
            patience,
            alarm: None,
        }
    }

    fn check<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.alarm = None;
            return written;
        }
        let patience = self.patience;
        let alarm = self
            .alarm
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        match alarm.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.check(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.check(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.check(context, shut)
    }
}

/// Since when a body waits to be asked for more; `None` while it is us who
/// have nothing more to give.
type Waiting = Mutex<Option<Instant>>;

/// The bodies that are being sent on one connection.
#[derive(Clone, Debug, Default)]
pub struct Bodies(Arc<Mutex<Vec<Weak<Waiting>>>>);

impl Bodies {
    /// The same body, looked after.
    pub fn watch(&self, body: Body) -> Body {
        let waiting = Arc::new(Mutex::new(Some(Instant::now())));
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|waiting| waiting.strong_count() > 0);
        watched.push(Arc::downgrade(&waiting));
        Body::new(Watched { body, waiting })
    }

    /// Whether the other end has taken nothing of one of them for so long.
    pub fn is_stalled(&self, patience: Duration) -> bool {
        let watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.iter().filter_map(Weak::upgrade).any(|waiting| {
            let since = *waiting.lock().unwrap_or_else(PoisonError::into_inner);
            since.is_some_and(|since| since.elapsed() >= patience)
        })
    }
}

#[derive(Debug)]
struct Watched {
    body: Body,
    waiting: Arc<Waiting>,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let since = polled.is_ready().then(Instant::now);
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = since;
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
