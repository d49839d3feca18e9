//! `GET /wake/v1/response/{delivery_id}`, at once or when an answer comes.

use std::time::Duration;

use ::wake::{Fault, Status, limits, sweep::digits};
use axum::{
    extract::{RawQuery, State},
    http::header,
    response::{IntoResponse, Response},
};
use tokio::time::{Instant, timeout_at};

use crate::{
    App, Problem,
    auth::{Agent, record_denial},
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
            let stream = format!("agent/{}", key.agent_id);
            let what = "GET /wake/v1/response of another agent".to_owned();
            record_denial(&app, stream.clone(), stream, what, "outside_scope");
            return Err(Problem::not_found());
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
            let json = [(header::CONTENT_TYPE, "application/json")];
            return Ok((json, told.body).into_response());
        }
    }
}

fn wait(query: &Option<String>) -> Result<Duration, Problem> {
    let Some((_, text)) = query::known(query, &["wait"])?.pop() else {
        return Ok(Duration::ZERO);
    };
    let seconds = digits(&text).filter(|seconds| *seconds <= limits::WAIT_SECONDS);
    Ok(seconds.map(Duration::from_secs).ok_or(Fault::Wait)?)
}
