//! Who may ask and what they see.
//!
//! `routes.rs` lists every path once, with its handler and its description;
//! the router and `/openapi.json` are both made from that list. Permissions are
//! extractor types (`auth.rs`): a handler that takes a [`auth::Decider`] cannot
//! be reached by anyone who may not decide.

mod again;
pub mod api;
pub mod auth;
pub mod body;
mod code;
pub mod crowd;
pub mod failures;
pub mod feed;
pub mod fields;
pub mod limits;
pub mod link;
pub mod listen;
pub mod lockout;
pub mod loopback;
pub mod metrics;
pub mod openapi;
pub mod pages;
pub mod path;
pub mod problem;
pub mod proxy;
pub mod query;
pub mod routes;
mod schemas;
pub mod serve;
pub mod settings;
pub mod stalled;
pub mod strangers;
pub mod tls;
pub mod transport;
pub mod tries;
pub mod turns;
pub mod unsent;
pub mod visit;
pub mod wake;
pub mod walk;
pub mod webhook;

use std::{ops::Deref, sync::Arc};

use engine::Engine;
use tokio::sync::watch;

pub use problem::Problem;
pub use settings::Settings;

/// What every handler gets.
#[derive(Clone, Debug)]
pub struct App(Arc<House>);

#[derive(Debug)]
pub struct House {
    pub engine: Engine,
    pub settings: Settings,
    pub metrics: metrics::Metrics,
    pub failures: failures::Failures,
    /// What forms have done and pages have yet to say.
    pub news: pages::News,
    pub limits: limits::Limits,
    pub bodies: body::Rooms,
    /// Held while an agent's webhook secret is read, changed and written, so
    /// that of two rotations at once none is lost.
    pub rotating: tokio::sync::Mutex<()>,
    pub walks: walk::Walks,
    /// What those who watch the trail grow are told.
    pub feed: feed::Feed,
    pub link: link::Link,
    /// Becomes true when the server is about to end: whoever waits stops waiting.
    pub stopping: watch::Sender<bool>,
}

impl App {
    pub fn new(engine: Engine, settings: Settings) -> App {
        App(Arc::new(House {
            engine,
            link: link::Link::new(settings.link.clone()),
            limits: limits::Limits::new(settings.people.clone()),
            settings,
            metrics: metrics::Metrics::default(),
            failures: failures::Failures::default(),
            news: pages::News::default(),
            bodies: body::Rooms::default(),
            rotating: tokio::sync::Mutex::default(),
            walks: walk::Walks::default(),
            feed: feed::Feed::default(),
            stopping: watch::Sender::new(false),
        }))
    }
}

impl Deref for App {
    type Target = House;

    fn deref(&self) -> &House {
        &self.0
    }
}

impl House {
    /// Ends when the server is about to end.
    pub async fn stopped(&self) {
        // An error means that the sender is gone, which is the end too.
        let _ = self
            .stopping
            .subscribe()
            .wait_for(|stopping| *stopping)
            .await;
    }

    pub fn shared(&self) -> &engine::Shared {
        self.engine.shared()
    }
}
