//! `GET /wake/v1/response/{delivery_id}`, at once or when an answer comes.

use std::time::Duration;

use ::wake::{Fault, Status, limits, sweep::digits};
use account::{Actor, Key};
use axum::{
    extract::{RawQuery, State},
    response::Response,
};
use tokio::time::{Instant, timeout_at};

use super::signed;
use crate::{
    App, Problem,
    api::inbox,
    auth::{Agent, record_denial},
    code::Code,
    path::{self, Path},
    query,
};

pub async fn response(
    State(app): State<App>,
    agent: Agent,
    Path(delivery_id): Path,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let key = &agent.0;
    app.limits.take_read(key, app.shared().clock.now())?;
    let id = path::delivery_id(&delivery_id)?;
    let wait = wait(&query)?;
    let deadline = Instant::now() + wait;
    loop {
        // Subscribed before looking, so that no answer falls in between.
        let subscribed = (!wait.is_zero()).then(|| app.shared().wait_for(id));
        let answered = subscribed.as_ref().map(|answered| answered.notified());
        let found = app.shared().response(id).await?;
        let told = found.ok_or_else(Problem::not_found)?;
        if !key.may_read(&told.agent_id) {
            return Err(outside_scope(&app, key));
        }
        let over = match answered.filter(|_| told.status == Status::Pending) {
            None => true,
            Some(answered) => tokio::select! {
                waited = timeout_at(deadline, answered) => waited.is_err(),
                () = app.stopped() => true,
            },
        };
        if over {
            if !wait.is_zero() {
                agent.still_works(&app)?;
            }
            return signed(&app, &key.agent_id, told.body).await;
        }
    }
}

/// Records the denial. To the asker it looks as if there were no such delivery.
fn outside_scope(app: &App, key: &Key) -> Problem {
    let what = "GET /wake/v1/response of another agent".to_owned();
    record_denial(
        app,
        Actor::agent(&key.agent_id),
        what,
        Code::OutsideScope.as_str(),
    );
    Problem::not_found()
}

/// `GET /wake/v1/response/{delivery_id}/receipt`: the proof of the answer, or of
/// the delivery as long as no answer is final. Only for the agent's own keys.
pub async fn receipt(
    State(app): State<App>,
    Agent(key): Agent,
    Path(delivery_id): Path,
) -> Result<Response, Problem> {
    app.limits.take_read(&key, app.shared().clock.now())?;
    let row = inbox::find(&app, &delivery_id).await?;
    match *row.agent_id == *key.agent_id {
        true => inbox::receipt_of(&app, &row).await,
        false => Err(outside_scope(&app, &key)),
    }
}

fn wait(query: &Option<String>) -> Result<Duration, Problem> {
    let Some((_, text)) = query::known(query, &["wait"])?.pop() else {
        return Ok(Duration::ZERO);
    };
    let seconds = digits(&text).filter(|seconds| *seconds <= limits::WAIT_SECONDS);
    Ok(seconds.map(Duration::from_secs).ok_or(Fault::Wait)?)
}
