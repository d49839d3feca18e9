//! The first words and the last ones.

use std::{future::poll_fn, task::Poll, time::Duration};

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        self, Message, Utf8Bytes,
        error::ProtocolError,
        protocol::{CloseFrame, frame::coding::CloseCode},
    },
};
use wakelink::{Frame, relay::Ending};

use super::{
    authenticate::{Admitted, authenticate},
    meter::{FirstTooLong, TooManyPieces},
    outbox::Next,
    seats::Seat,
    wire::Wire,
};
use crate::App;

/// For the last words, and for the other side to take them.
const FAREWELL: Duration = Duration::from_secs(2);
/// What is still read, and thrown away, of what the other side had on its way.
const DISCARDED: usize = 1 << 20;

/// How a connection came to its end.
#[derive(Debug)]
pub enum End {
    /// We say so, and why.
    By(Ending),
    /// The other side has gone.
    Gone,
}

/// The first frame, and the answer to it.
pub async fn greet<S>(
    app: &App,
    seat: &Seat,
    socket: &mut WebSocketStream<Wire<S>>,
) -> Result<Admitted, End>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let patience = Duration::from_secs(app.link.limits.auth_seconds);
    let first = tokio::time::timeout(patience, first_text(seat, socket));
    let first = first.await.map_err(|_| End::By(Ending::NoAuth))??;
    let Ok(Frame::Auth(auth)) = Frame::read(&first) else {
        return Err(End::By(Ending::NotAuth));
    };
    let admitted = authenticate(app, seat, &auth).await;
    if admitted.is_ok() {
        socket.get_mut().admit();
    }
    admitted.map_err(|response| {
        seat.outbox.push(&Frame::AuthResponse(response).text());
        End::By(Ending::Refused)
    })
}

async fn first_text<S>(seat: &Seat, socket: &mut WebSocketStream<Wire<S>>) -> Result<Utf8Bytes, End>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        let heard = poll_fn(|context| {
            seat.outbox.register(context.waker());
            if let Some(ending) = seat.outbox.ending() {
                return Poll::Ready(Err(End::By(ending)));
            }
            socket.poll_next_unpin(context).map(Ok)
        });
        match heard.await? {
            Some(Ok(Message::Text(text))) => return Ok(text),
            Some(Ok(Message::Binary(_))) => return Err(End::By(Ending::NotAuth)),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(broken(&error)),
            None => return Err(End::Gone),
        }
    }
}

/// What an error on the socket means.
pub fn broken(error: &tungstenite::Error) -> End {
    match error {
        tungstenite::Error::Capacity(_) => End::By(Ending::TooLarge),
        tungstenite::Error::Utf8(_) => End::By(Ending::NotUtf8),
        // Gone without a word is no fault of what was said.
        tungstenite::Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => End::Gone,
        tungstenite::Error::Protocol(_) => End::By(Ending::NotWebSocket),
        tungstenite::Error::Io(error)
            if error
                .get_ref()
                .is_some_and(|error| error.is::<FirstTooLong>()) =>
        {
            End::By(Ending::TooLarge)
        }
        tungstenite::Error::Io(error)
            if error
                .get_ref()
                .is_some_and(|error| error.is::<TooManyPieces>()) =>
        {
            End::By(Ending::TooManyPieces)
        }
        _ => End::Gone,
    }
}

/// The last words: what was still to be said, the reason, and time to take it.
pub async fn farewell<S>(seat: &Seat, socket: &mut WebSocketStream<Wire<S>>, ending: Ending)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let words = last_words(seat, socket, ending);
    let _ = tokio::time::timeout(FAREWELL, words).await;
}

async fn last_words<S>(seat: &Seat, socket: &mut WebSocketStream<Wire<S>>, ending: Ending)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    seat.outbox.end(ending);
    while ending.lets_the_rest_out()
        && let Next::Send(frames) = seat.outbox.next()
    {
        socket.get_mut().send(frames);
        if socket.flush().await.is_err() {
            return;
        }
    }
    let frame = CloseFrame {
        code: CloseCode::from(ending.close_code()),
        reason: Utf8Bytes::from_static(ending.reason()),
    };
    if socket.send(Message::Close(Some(frame))).await.is_err() {
        return;
    }
    // To close now, with something unread, would take the last words back.
    let io = socket.get_mut();
    io.admit();
    let _ = io.shutdown().await;
    let mut room = vec![0; 4096];
    let mut discarded = 0;
    while discarded < DISCARDED {
        match io.read(&mut room).await {
            Ok(0) | Err(_) => break,
            Ok(read) => discarded += read,
        }
    }
}
