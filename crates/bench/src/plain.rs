//! The plain server: the same JSON in and out as Wakeful over the same HTTP
//! stack, one insert per delivery with group commit, and nothing more.
//!
//! It is what a competent engineer writes in an afternoon, and so the price of
//! HTTP, JSON and a durable row; what Wakeful costs above it is Wakeful's own.
//! It has no authentication, no trail and no views, and must never get them.

pub mod store;
mod wire;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use axum::extract::{Path as UrlPath, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use store::{Answer, Row, Write};
use wire::{Delivery, Given, Receipt, Standing, SweepQuery, Swept};

const SWEEP_MAX: u32 = 200;

const POLL: &str = "SELECT id, status, feedback, edited_content, responded_at, changed_at \
    FROM deliveries WHERE id = ?1";
const SWEEP: &str = "SELECT id, status, feedback, edited_content, responded_at, changed_at \
    FROM deliveries WHERE agent_id = ?1 AND changed_at > ?2 ORDER BY changed_at LIMIT ?3";
const TOTAL: &str = "SELECT count(*) FROM deliveries WHERE agent_id = ?1 AND changed_at > ?2";

#[derive(Clone)]
struct App {
    writer: mpsc::Sender<Write>,
    /// As many as there are threads that serve, so that each finds one.
    readers: Arc<Mutex<Vec<Connection>>>,
}

enum Refusal {
    NotFound,
    Conflict,
    Broken(anyhow::Error),
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Refusal::NotFound => StatusCode::NOT_FOUND.into_response(),
            Refusal::Conflict => StatusCode::CONFLICT.into_response(),
            Refusal::Broken(error) => {
                eprintln!("plain: {error:#}");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Refusal::Broken(error.into())
    }
}

/// Serves until SIGTERM, then closes the store.
pub async fn serve(dir: &Path, listen: SocketAddr) -> Result<()> {
    let (writer, thread) = store::spawn_writer(store::open(dir)?);
    let threads = tokio::runtime::Handle::current().metrics().num_workers();
    let readers = (0..threads)
        .map(|_| store::open_reader(dir))
        .collect::<Result<Vec<_>>>()?;
    let app = App {
        writer,
        readers: Arc::new(Mutex::new(readers)),
    };
    let router = Router::new()
        .route("/readyz", get(|| async { "ready" }))
        .route("/wake/v1/deliver", post(deliver))
        .route("/wake/v1/response/{id}", get(poll))
        .route("/wake/v1/responses", get(sweep))
        .route("/api/v1/inbox/{id}/respond", post(respond))
        .with_state(app);
    let listener = tokio::net::TcpListener::bind(listen)
        .await?
        .tap_io(|stream| _ = stream.set_nodelay(true));
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    axum::serve(listener, router)
        .with_graceful_shutdown(async move { _ = terminate.recv().await })
        .await?;
    _ = thread.join();
    Ok(())
}

async fn deliver(
    State(app): State<App>,
    Json(delivery): Json<Delivery>,
) -> Result<(StatusCode, Json<Receipt>), Refusal> {
    let delivery_id = Uuid::new_v4();
    let row = delivery.into_row(delivery_id);
    let (reply, done) = oneshot::channel();
    app.writer.send(Write::Insert(row, reply)).await?;
    let created_at = done.await?.ok_or(Refusal::Conflict)?;
    let receipt = Receipt {
        delivery_id,
        status: "received",
        created_at: Timestamp::from_microsecond(created_at)?,
    };
    Ok((StatusCode::CREATED, Json(receipt)))
}

async fn respond(
    State(app): State<App>,
    UrlPath(id): UrlPath<Uuid>,
    Json(given): Json<Given>,
) -> Result<Json<Standing>, Refusal> {
    let (reply, done) = oneshot::channel();
    let answer = Answer {
        id,
        status: given.status.name(),
        feedback: given.feedback.clone(),
        edited_content: given.edited_content.as_ref().map(|raw| raw.get().into()),
    };
    let status = answer.status.to_owned();
    app.writer.send(Write::Answer(answer, reply)).await?;
    let changed_at = done.await?.ok_or(Refusal::Conflict)?;
    Ok(Json(Standing {
        delivery_id: id,
        status,
        feedback: given.feedback,
        edited_content: given.edited_content,
        responded_at: Some(Timestamp::from_microsecond(changed_at)?),
        changed_at,
    }))
}

async fn poll(
    State(app): State<App>,
    UrlPath(id): UrlPath<Uuid>,
) -> Result<Json<Standing>, Refusal> {
    let found = app.read(|conn| {
        let mut select = conn.prepare_cached(POLL)?;
        Ok(select
            .query_row([id.as_bytes()], Standing::read)
            .optional()?)
    });
    found?.map(Json).ok_or(Refusal::NotFound)
}

async fn sweep(
    State(app): State<App>,
    Query(query): Query<SweepQuery>,
) -> Result<Json<Swept>, Refusal> {
    let since = query.since.map_or(0, Timestamp::as_microsecond);
    let limit = query.limit.unwrap_or(50).min(SWEEP_MAX);
    let swept = app.read(|conn| {
        let total: i64 = conn
            .prepare_cached(TOTAL)?
            .query_row((&query.agent_id, since), |row| row.get(0))?;
        let deliveries = conn
            .prepare_cached(SWEEP)?
            .query_map((&query.agent_id, since, limit), Standing::read)?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let next_since = match deliveries.last() {
            Some(last) => Some(Timestamp::from_microsecond(last.changed_at)?),
            None => query.since,
        };
        Ok(Swept {
            has_more: total > deliveries.len() as i64,
            deliveries,
            total,
            next_since,
        })
    });
    Ok(Json(swept?))
}

impl App {
    /// Reads on the thread that serves: a lookup takes some ten microseconds,
    /// and handing it to another thread and back took longer than that.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let pooled = self.readers.lock().expect("no reader panics").pop();
        let conn = pooled.context("a connection for each thread")?;
        let result = read(&conn);
        self.readers.lock().expect("no reader panics").push(conn);
        result
    }
}

/// The row that a delivery's JSON makes; the raw measurement and the preload use it.
pub fn row_of(delivery_json: &str) -> Result<Row> {
    Ok(serde_json::from_str::<Delivery>(delivery_json)?.into_row(Uuid::new_v4()))
}
