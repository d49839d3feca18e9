//! One connection, from its first frame to its last. One task reads, routes and
//! writes: what it hears it puts into others' outboxes, and what is in its own
//! it sends. It never waits for anybody else.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_util::{Sink as _, Stream as _};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Sleep,
};
use tokio_tungstenite::{WebSocketStream, tungstenite::Message};
use wakelink::{
    Frame, Side,
    frame::AuthResponse,
    relay::{
        BadFrame, Code, Ending, Envelope, Incoming, Moment, Pace, Patience, Refusal, Session, Tick,
    },
};

use super::{
    authenticate::Admitted,
    frames::Frames,
    greeting::{End, broken, farewell, greet},
    membership::Membership,
    outbox::{Bundle, Next},
    rooms::{Handle, Room},
    seats::Seat,
    wire::Wire,
};
use crate::App;

/// Frames read before others have their turn.
const READ_FRAMES: usize = 256;
const PING: &str = r#"{"type":"ping"}"#;

pub async fn serve<S>(app: App, seat: Seat, mut socket: WebSocketStream<Wire<S>>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    // Boxed, what is over and what may yet come take no room in between.
    let end = match Box::pin(greet(&app, &seat, &mut socket)).await {
        Err(end) => end,
        Ok(admitted) => {
            let mut connection = Connection::join(app, &seat, admitted, socket);
            let end = poll_fn(|context| connection.poll(context)).await;
            // From here on nothing reaches it, and its owner knows.
            socket = connection.socket;
            end
        }
    };
    if let End::By(ending) = end {
        Box::pin(farewell(&seat, &mut socket, ending)).await;
    }
}

/// Somebody who is in.
struct Connection<'s, S> {
    seat: &'s Seat,
    socket: WebSocketStream<Wire<S>>,
    side: Side,
    member: Membership,
    session: Arc<Session>,
    patience: Patience,
    pace: Pace,
    /// Of new sessions with devices.
    sid_pace: Pace,
    /// Nothing is read before this moment.
    read_from: Option<Moment>,
    /// Heard, and not handed over yet.
    bundle: Bundle,
    /// There is something on the wire that is perhaps not sent yet.
    unflushed: bool,
    /// The other side has said that it goes: nothing more is said to it.
    closing: bool,
    alarm: Pin<Box<Sleep>>,
}

impl<'s, S: AsyncRead + AsyncWrite + Unpin> Connection<'s, S> {
    fn join(
        app: App,
        seat: &'s Seat,
        admitted: Admitted,
        mut socket: WebSocketStream<Wire<S>>,
    ) -> Connection<'s, S> {
        let Admitted {
            side,
            agent_id,
            room,
            session,
            session_token,
        } = admitted;
        let now = app.link.now();
        let response = Frame::AuthResponse(AuthResponse::Authenticated {
            session_token,
            expires_in: session.seconds_left(now),
            max_requests: session.requests_left(),
        });
        let mut first_words = Frames::of(&response.text());
        let member = Membership::join(app, seat, agent_id, room, &mut first_words);
        socket.get_mut().send(first_words);
        let link = &member.app.link;
        let patience = Patience::new(&link.limits, now);
        let pace = Pace::new(link.limits.frames_per_second, link.limits.frames_at_once);
        let sid_pace = Pace::new(link.limits.sids_per_second, link.limits.sids_at_once);
        let first = patience.next().min(session.expires_at());
        let alarm = Box::pin(tokio::time::sleep_until(link.instant(first)));
        Connection {
            seat,
            socket,
            side,
            member,
            session,
            patience,
            pace,
            sid_pace,
            read_from: None,
            bundle: Bundle::default(),
            unflushed: true,
            closing: false,
            alarm,
        }
    }

    fn app(&self) -> &App {
        &self.member.app
    }

    fn room(&self) -> &Room {
        &self.member.room
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<End> {
        self.seat.outbox.register(context.waker());
        let now = self.app().link.now();
        if let Err(end) = self.look_at_the_clock(now) {
            return Poll::Ready(end);
        }
        let heard = self.poll_read(context, now);
        self.bundle.hand_over();
        if let Poll::Ready(Err(end)) = heard {
            return Poll::Ready(end);
        }
        match self.poll_write(context) {
            Poll::Ready(Err(end)) => return Poll::Ready(end),
            Poll::Ready(Ok(())) => {}
            // It does not read what is sent to it: the end does not wait.
            Poll::Pending => {
                if let Some(ending) = self.seat.outbox.ending() {
                    return Poll::Ready(End::By(ending));
                }
            }
        }
        let due = self.poll_alarm(context);
        if heard.is_ready() || due.is_ready() {
            // There is more to do, after others had their turn.
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Pings, and the end of the session.
    fn look_at_the_clock(&mut self, now: Moment) -> Result<(), End> {
        if self.read_from.is_some_and(|from| from <= now) {
            self.read_from = None;
        }
        if now >= self.session.expires_at() {
            self.tell(Code::SessionExpired, None);
            return Err(End::By(Ending::SessionExpired));
        }
        match self.patience.tick(&self.member.app.link.limits, now) {
            Tick::Nothing => {}
            Tick::Ping => drop(self.seat.outbox.push(PING)),
            Tick::End(ending) => return Err(End::By(ending)),
        }
        Ok(())
    }

    /// Ready when it is time to look at the clock again.
    fn poll_alarm(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let next = self.patience.next().min(self.session.expires_at());
        let next = self.read_from.map_or(next, |from| next.min(from));
        let next = self.app().link.instant(next);
        if self.alarm.deadline() != next {
            self.alarm.as_mut().reset(next);
        }
        self.alarm.as_mut().poll(context)
    }

    /// Reads what is there. Ready if there may be more.
    fn poll_read(&mut self, context: &mut Context<'_>, now: Moment) -> Poll<Result<(), End>> {
        for _ in 0..READ_FRAMES {
            if self.read_from.is_some() {
                return Poll::Pending;
            }
            let heard = ready!(Pin::new(&mut self.socket).poll_next(context));
            match heard {
                None => return Poll::Ready(Err(End::Gone)),
                Some(Err(error)) => return Poll::Ready(Err(broken(&error))),
                Some(Ok(message)) => self.hear(message, now)?,
            }
        }
        Poll::Ready(Ok(()))
    }

    fn hear(&mut self, message: Message, now: Moment) -> Result<(), End> {
        self.slow_down(now);
        match message {
            Message::Text(text) => self.hear_text(&text, now),
            Message::Binary(_) => self.bad(&BadFrame {
                why: "Only text frames are taken here",
                request_id: None,
            }),
            // The answer is made already, and goes out with the next flush.
            Message::Ping(_) => {
                self.unflushed = true;
                Ok(())
            }
            Message::Close(_) => {
                self.closing = true;
                Ok(())
            }
            Message::Pong(_) | Message::Frame(_) => Ok(()),
        }
    }

    /// Counts a frame; who speaks too fast is heard later.
    fn slow_down(&mut self, now: Moment) {
        let own = self.pace.note(now);
        let shared = self.room().pace.note(now);
        self.read_from = own.max(shared);
    }

    fn hear_text(&mut self, text: &str, now: Moment) -> Result<(), End> {
        match Incoming::read(self.side, text) {
            Err(bad) => return self.bad(&bad),
            Ok(Incoming::Pong) => {
                self.patience.pong();
                return Ok(());
            }
            Ok(Incoming::Relay(envelope)) => {
                self.spend(envelope.request_id.as_deref(), now)?;
                self.relay(&envelope, now);
            }
            Ok(Incoming::Packet { sid, request_id }) => {
                self.spend(request_id.as_deref(), now)?;
                self.packet(&sid, request_id.as_deref(), text);
            }
        }
        self.patience.good();
        Ok(())
    }

    fn bad(&mut self, bad: &BadFrame) -> Result<(), End> {
        let frame = Code::BadFrame.frame_in_words(bad.why, bad.request_id.as_deref());
        self.seat.outbox.push(&frame.text());
        match self.patience.bad(&self.member.app.link.limits) {
            Some(ending) => Err(End::By(ending)),
            None => Ok(()),
        }
    }

    fn spend(&self, request_id: Option<&str>, now: Moment) -> Result<(), End> {
        self.session.spend(now).map_err(|over| {
            self.tell(over.code(), request_id);
            End::By(over.ending())
        })
    }

    fn tell(&self, code: Code, request_id: Option<&str>) {
        let frame = code.frame(request_id).text();
        self.seat.outbox.push(&frame);
    }

    fn relay(&mut self, envelope: &Envelope<'_>, now: Moment) {
        let (agent_id, sid) = (&*envelope.agent_id, envelope.sid());
        let place = self.seat.place;
        let more = self.socket.get_ref().ahead();
        let (member, bundle) = (&self.member, &mut self.bundle);
        let is_registered = || {
            let accounts = member.app.shared().accounts();
            accounts.has_device(&member.room.owner, agent_id)
        };
        let mut to_device = |to: &Handle| {
            if let Some(traffic) = &to.traffic {
                traffic.to_device(envelope.payload.len());
            }
            // If it can take no more it is closed, and its owner is told so.
            bundle.add(&to.outbox, &envelope.payload, more);
        };
        let board = member.room.board();
        let refusal = match board.relay(place, agent_id, sid.as_deref(), is_registered) {
            Ok(passage) if !passage.binds => return to_device(passage.to),
            Ok(_) => {
                drop(board);
                // A device has more work with a new session than with a packet.
                self.read_from = self.read_from.max(self.sid_pace.note(now));
                let mut board = member.room.change();
                // Somebody may have been faster.
                board.bind(place, agent_id, sid.as_deref().unwrap_or_default());
                match board.relay(place, agent_id, sid.as_deref(), is_registered) {
                    Ok(passage) => return to_device(passage.to),
                    Err(refusal) => refusal,
                }
            }
            Err(refusal) => {
                drop(board);
                refusal
            }
        };
        self.refuse(refusal, agent_id, envelope.request_id.as_deref());
    }

    fn refuse(&self, refusal: Refusal, agent_id: &str, request_id: Option<&str>) {
        if refusal != Refusal::UnknownAgent {
            let now = self.app().shared().clock.now();
            let traffic = self
                .app()
                .link
                .traffic
                .of(agent_id, &self.room().owner, now);
            traffic.refused();
        }
        self.tell(refusal.code(), request_id);
    }

    fn packet(&mut self, sid: &str, request_id: Option<&str>, text: &str) {
        let board = self.member.room.board();
        match board.packet(self.seat.place, sid) {
            Ok(to) => {
                match (&self.member.traffic, &to.traffic) {
                    (Some(own), _) => own.from_device(text.len()),
                    (None, Some(theirs)) => theirs.to_device(text.len()),
                    (None, None) => {}
                }
                let more = self.socket.get_ref().ahead();
                self.bundle.add(&to.outbox, text, more);
            }
            Err(refusal) => {
                drop(board);
                if let Some(own) = &self.member.traffic {
                    own.refused();
                }
                let frame = refusal.code().frame_about(sid, request_id);
                self.seat.outbox.push(&frame.text());
            }
        }
    }

    /// Sends what is there. Ready when all of it is sent.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<Result<(), End>> {
        loop {
            if self.unflushed {
                let flushed = ready!(Pin::new(&mut self.socket).poll_flush(context));
                flushed.map_err(|_| End::Gone)?;
                self.unflushed = false;
            }
            if self.closing {
                return Poll::Ready(Ok(()));
            }
            match self.seat.outbox.next() {
                Next::Nothing => return Poll::Ready(Ok(())),
                Next::End(ending) => return Poll::Ready(Err(End::By(ending))),
                Next::Send(frames) => {
                    self.socket.get_mut().send(frames);
                    self.unflushed = true;
                }
            }
        }
    }
}
