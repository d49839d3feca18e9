//! WakeLink's one endpoint: sockets of devices and of people's clients, between
//! which packets pass that nobody here can read. What is decided is decided in
//! `wakelink::relay`; here is how it is done.
//!
//! ```text
//! open ──► seats ──► authenticate ──► rooms ──► connection ◄──► outbox
//!                                                   │
//!                                                  wire
//! ```
//!
//! Nothing that passes is logged, kept or put on the trail; `traffic` counts.

mod authenticate;
mod connection;
mod frames;
mod greeting;
mod membership;
mod meter;
pub mod open;
mod outbox;
mod rooms;
mod seats;
pub mod sessions;
pub mod traffic;
mod wire;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::broadcast;
use trail::Micros;
use wakelink::relay::{Limits, Lockout, Moment, Session};

use crate::{App, Problem, api::fresh};
pub use seats::Right;

/// How long connections may take to end with the server.
const GOODBYE: Duration = Duration::from_secs(3);

/// Changes of presence that a page may be late by; then it misses some.
const PRESENCES: usize = 1024;

#[derive(Debug)]
pub struct Link {
    pub limits: Limits,
    started: Instant,
    pub sessions: Box<dyn sessions::Sessions>,
    lockout: Mutex<Lockout>,
    rooms: rooms::Rooms,
    seats: Arc<seats::Seats>,
    pub traffic: traffic::Ledger,
    presence: broadcast::Sender<Presence>,
}

/// A device came or went: for its owner's pages. Clients are told by the relay.
#[derive(Clone, Debug)]
pub struct Presence {
    pub owner: Arc<str>,
    pub agent_id: Arc<str>,
    pub online: bool,
}

/// A session that was just opened.
#[derive(Debug)]
pub struct Opened {
    pub token: String,
    pub session: Arc<Session>,
}

impl Link {
    pub fn new(limits: Limits) -> Link {
        Link {
            started: Instant::now(),
            sessions: Box::new(sessions::InMemory::new(limits.sessions_per_person)),
            lockout: Mutex::default(),
            rooms: rooms::Rooms::default(),
            seats: Arc::default(),
            traffic: traffic::Ledger::default(),
            presence: broadcast::Sender::new(PRESENCES),
            limits,
        }
    }

    pub fn now(&self) -> Moment {
        Moment(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn instant(&self, moment: Moment) -> tokio::time::Instant {
        (self.started + Duration::from_nanos(moment.0)).into()
    }

    fn lockout<T>(&self, look: impl FnOnce(&mut Lockout) -> T) -> T {
        look(&mut self.lockout.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note_presence(&self, owner: &Arc<str>, agent_id: &Arc<str>, online: bool) {
        // Nobody may be looking.
        let _ = self.presence.send(Presence {
            owner: Arc::clone(owner),
            agent_id: Arc::clone(agent_id),
            online,
        });
    }

    /// Every device's coming and going from now on.
    pub fn presences(&self) -> broadcast::Receiver<Presence> {
        self.presence.subscribe()
    }

    /// Connections now.
    pub fn connections(&self) -> usize {
        self.seats.count()
    }

    /// Whether someone's device is connected now.
    pub fn is_online(&self, owner: &str, agent_id: &str) -> bool {
        self.rooms.is_online(owner, agent_id)
    }

    /// A session for someone with this right, who asked for it or not.
    pub async fn open_session(
        &self,
        owner: Arc<str>,
        right: seats::Right,
        unasked: bool,
    ) -> Result<Opened, Problem> {
        let now = self.now();
        let (token, hash) = fresh::draw(account::secret::Kind::LinkSession)?;
        let session = self.new_session(now);
        let held = sessions::Held {
            owner,
            right,
            session: Arc::clone(&session),
            unasked,
        };
        self.sessions.keep(hash, held, now).await;
        Ok(Opened { token, session })
    }

    fn new_session(&self, now: Moment) -> Arc<Session> {
        let expires_at = now.plus_seconds(self.limits.session_seconds);
        Arc::new(Session::new(self.limits.session_requests, expires_at))
    }

    /// When a session that is opened now ends, by the clock on the wall.
    pub fn session_end(&self, now: Micros) -> Micros {
        now.plus_seconds(i64::try_from(self.limits.session_seconds).unwrap_or(i64::MAX))
    }
}

/// Ends connections whose token was revoked, as soon as it was. Runs until the
/// server ends.
pub async fn watch(app: App) {
    let mut changed = app.shared().accounts_changed();
    while changed.changed().await.is_ok() {
        let accounts = app.shared().accounts();
        app.link.seats.end_where_revoked(&accounts);
    }
}

/// Ends all connections, and puts on the trail what was not there yet.
pub async fn stop(app: &App) {
    app.link.seats.close();
    let _ = tokio::time::timeout(GOODBYE, app.link.seats.emptied()).await;
    traffic::record(app, true).await;
}
