//! One request, from its connection to its answer: what it holds while it is
//! being answered, and what changes once it is known who asks.

use std::sync::{Arc, Mutex, PoisonError};

use axum::http::request::Parts;
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    App, Problem,
    crowd::{Asking, Guest, Owner},
    limits::is_write,
};

/// Goes with the request as an extension, and ends with its answer.
#[derive(Clone, Debug, Default)]
pub struct Visit(Arc<Held>);

#[derive(Debug, Default)]
struct Held {
    guest: Option<Arc<Guest>>,
    _asking: Option<Asking>,
    /// A stranger's place, or that of whoever reads.
    place: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Visit {
    /// A request on this connection.
    pub fn on(guest: Option<&Arc<Guest>>) -> Visit {
        Visit(Arc::new(Held {
            guest: guest.cloned(),
            _asking: guest.map(|guest| guest.asks()),
            place: Mutex::default(),
        }))
    }

    /// Holds this instead of what was held before.
    pub fn hold(&self, place: Option<OwnedSemaphorePermit>) {
        *self.0.place.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }

    fn of(parts: &Parts) -> Visit {
        parts.extensions.get().cloned().unwrap_or_default()
    }

    fn recognise(&self, owner: Owner<'_>) -> Result<(), Problem> {
        match &self.0.guest {
            Some(guest) => guest.recognise(owner),
            None => Ok(()),
        }
    }
}

/// An agent was recognised by its key: its connection is no stranger's.
pub fn is_agent(parts: &Parts, key_id: &str) -> Result<(), Problem> {
    let visit = Visit::of(parts);
    visit.hold(None);
    visit.recognise(Owner::Agent(key_id))
}

/// A person was recognised: a read takes one of their places.
pub async fn is_person(parts: &Parts, app: &App, name: &str) -> Result<(), Problem> {
    let visit = Visit::of(parts);
    visit.hold(None);
    visit.recognise(Owner::Person(name))?;
    if !is_write(&parts.method) {
        visit.hold(Some(app.limits.place_to_read(name).await?));
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
