//! One request, from its connection to its answer: what it holds while it is
//! being answered, and what changes once it is known who asks.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{extract::FromRequestParts, http::request::Parts, response::Response};
use tokio::sync::{Notify, OwnedSemaphorePermit};

use crate::{
    App, Problem,
    crowd::{Asking, Guest, Owner},
    limits::{Holder, is_write},
    strangers,
    transport::Peer,
    unsent::Whose,
};

/// Goes with the request as an extension, and ends with its answer.
#[derive(Clone, Debug, Default)]
pub struct Visit(Arc<Held>);

#[derive(Debug, Default)]
struct Held {
    peer: Option<Peer>,
    guest: Option<Arc<Guest>>,
    _asking: Option<Asking>,
    place: Mutex<Option<Place>>,
    whose: Mutex<Option<Whose>>,
}

#[derive(Debug)]
enum Place {
    Stranger(strangers::Place),
    /// Of whoever reads.
    Reader(#[expect(dead_code, reason = "it is held")] OwnedSemaphorePermit),
}

impl Visit {
    /// A request of this peer, on this connection.
    pub fn of(peer: Peer, guest: Option<&Arc<Guest>>) -> Visit {
        Visit(Arc::new(Held {
            peer: Some(peer),
            guest: guest.cloned(),
            _asking: guest.map(|guest| guest.asks()),
            place: Mutex::default(),
            whose: Mutex::default(),
        }))
    }

    /// Holds this instead of what was held before.
    fn hold(&self, place: Option<Place>) {
        *self.0.place.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }

    /// Takes a stranger's place, until it is known who asks.
    pub fn is_strangers(&self, place: strangers::Place) {
        self.hold(Some(Place::Stranger(place)));
    }

    /// Notified when a stranger's place is given to another request.
    pub fn leave(&self) -> Option<Arc<Notify>> {
        let place = self.0.place.lock().unwrap_or_else(PoisonError::into_inner);
        match &*place {
            Some(Place::Stranger(place)) => Some(place.leave()),
            _ => None,
        }
    }

    /// All that a stranger had to say has arrived: nobody waits for them now.
    pub fn said_all(&self) {
        self.hold(None);
    }

    /// Who asks; one is missing only where no listener has taken the request.
    pub fn peer(parts: &Parts) -> Option<Peer> {
        parts.extensions.get::<Visit>()?.0.peer
    }

    fn from(parts: &Parts) -> Visit {
        parts.extensions.get().cloned().unwrap_or_default()
    }

    /// Counts what it answers, until that is sent, for whoever was recognised.
    pub async fn count(&self, app: &App, response: Response) -> Response {
        match (self.whose(), &self.0.guest) {
            (Some(whose), Some(guest)) => app.limits.unsent.count(&whose, guest, response).await,
            _ => response,
        }
    }

    fn whose(&self) -> Option<Whose> {
        let whose = self.0.whose.lock();
        whose.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_of(&self, whose: Whose) {
        *self.0.whose.lock().unwrap_or_else(PoisonError::into_inner) = Some(whose);
    }

    fn recognise(&self, owner: Owner<'_>) -> Result<(), Problem> {
        match &self.0.guest {
            Some(guest) => guest.recognise(owner),
            None => Ok(()),
        }
    }
}

impl FromRequestParts<App> for Visit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Visit, Infallible> {
        Ok(Visit::from(parts))
    }
}

/// An agent was recognised by its key: its connection is no stranger's.
pub fn is_agent(parts: &Parts, key_id: &str) -> Result<(), Problem> {
    let visit = Visit::from(parts);
    visit.hold(None);
    visit.is_of(Whose::Agent(key_id.to_owned()));
    visit.recognise(Owner::Agent(key_id))
}

/// A person was recognised: a read takes one of their places.
pub async fn is_person(parts: &Parts, app: &App, holder: &Holder) -> Result<(), Problem> {
    let visit = Visit::from(parts);
    visit.hold(None);
    visit.is_of(Whose::Person(holder.clone()));
    visit.recognise(match holder {
        Holder::Person(name) => Owner::Person(name),
        Holder::Cookie { person, session_id } => Owner::Cookie { person, session_id },
    })?;
    if !is_write(&parts.method) {
        let place = app.limits.place_to_read(holder).await?;
        visit.hold(Some(Place::Reader(place)));
    }
    Ok(())
}

/// A person's program asks for a change, and pays for it.
pub fn pays(parts: &Parts, app: &App, name: &str) -> Result<(), Problem> {
    match is_write(&parts.method) {
        true => {
            let now = app.shared().clock.now();
            app.limits.take_write(name, parts.uri.path(), 1, now)
        }
        false => Ok(()),
    }
}
