//! An agent's side of WAKE.

use std::{io, path::Path, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep};
use uuid::Uuid;
use wake::{Body, Delivery, Status};

use crate::{
    log::{Log, Received},
    server::{Reply, Server, ServerFault},
};

/// How long one long poll waits.
const WAIT_SECONDS: u64 = 30;

#[derive(Debug, thiserror::Error)]
pub enum AgentFault {
    #[error(transparent)]
    Server(#[from] ServerFault),
    #[error("the key was refused (401): stop, and ask your human to rotate it")]
    KeyRefused,
    #[error("still refused (429) after waiting once: raise one alert and do not loop")]
    RateLimited,
    #[error("refused ({status}): {detail}")]
    Refused { status: u16, detail: String },
    #[error("the server answered for a delivery that is not ours")]
    ForeignDelivery,
    #[error("the server's answer cannot be read")]
    Unreadable,
    #[error("not sent: \"{field}\" contains a key, a token or a webhook secret; leave it out")]
    Secret { field: String },
    #[error("the local log cannot be kept: {0}")]
    Log(#[from] io::Error),
    #[error("delivered as {id}, but the local log cannot be kept: {fault}")]
    NotLogged { id: Uuid, fault: io::Error },
}

/// A human's answer.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Answer {
    pub delivery_id: Uuid,
    pub status: Status,
    pub feedback: Option<String>,
    /// As the human wrote it: an object or a string.
    pub edited_content: Option<Box<RawValue>>,
    pub responded_at: Option<trail::Micros>,
    /// What was written was erased.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub content_erased: bool,
}

/// How waiting for an answer ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    Answered(Answer),
    /// Nobody answered in time: proceed with assumptions, and document them.
    TimedOut,
    /// The wait ended before the delivery's `timeout_seconds`: there is still time
    /// to answer. Wait again.
    NotYet,
}

/// One page of a sweep.
#[derive(Clone, Debug, Deserialize)]
pub struct Page {
    pub deliveries: Vec<Answer>,
    pub total: u64,
    pub next_since: Option<String>,
}

/// An agent with its key and its log.
#[derive(Debug)]
pub struct Agent {
    server: Server,
    agent_id: String,
    provider: String,
    log: Log,
}

impl Agent {
    /// Opens the log first: deliveries of earlier processes are in it, and their
    /// answers are ours too.
    pub fn new(
        server: Server,
        agent_id: &str,
        provider: &str,
        log: &Path,
    ) -> Result<Agent, AgentFault> {
        let mut log = Log::open(log)?;
        log.recall()?;
        Ok(Agent {
            server,
            agent_id: agent_id.to_owned(),
            provider: provider.to_owned(),
            log,
        })
    }

    pub async fn deliver(&mut self, delivery: &Delivery) -> Result<Uuid, AgentFault> {
        let body = Body {
            agent_id: &self.agent_id,
            provider: &self.provider,
            delivery,
        };
        let bytes = serde_json::to_vec(&body).map_err(io::Error::from)?;
        if let Some(field) = secret_in(&bytes, self.server.token()) {
            return Err(AgentFault::Secret { field });
        }
        let reply = self
            .request("POST", "/wake/v1/deliver", Some(bytes))
            .await?;
        let received: Received =
            serde_json::from_slice(&reply.body).map_err(|_| AgentFault::Unreadable)?;
        let id = received.delivery_id;
        self.log
            .delivered(&received, &body, delivery.timeout_seconds)
            .map_err(|fault| AgentFault::NotLogged { id, fault })?;
        Ok(id)
    }

    /// The answer as it stands, waiting up to `wait` for one.
    pub async fn response(&mut self, id: Uuid, wait: Duration) -> Result<Answer, AgentFault> {
        let seconds = wait.as_secs().min(WAIT_SECONDS);
        let path = format!("/wake/v1/response/{id}?wait={seconds}");
        let reply = self.request("GET", &path, None).await?;
        let answer: Answer =
            serde_json::from_slice(&reply.body).map_err(|_| AgentFault::Unreadable)?;
        if answer.delivery_id != id {
            return Err(AgentFault::ForeignDelivery);
        }
        if answer.status != Status::Pending {
            self.log.answered(&answer)?;
        }
        Ok(answer)
    }

    /// Waits for an answer, no longer than `timeout` and no longer than the
    /// delivery's own `timeout_seconds`. When those are over the log notes on what
    /// `assumption` the agent goes on, or that none was given. For a delivery
    /// without them, `timeout` is the time there is.
    pub async fn wait(
        &mut self,
        id: Uuid,
        timeout: Duration,
        assumption: Option<&str>,
    ) -> Result<Outcome, AgentFault> {
        let own = self.log.time_left(id).unwrap_or(timeout);
        let is_whole = own <= timeout;
        let deadline = Instant::now() + timeout.min(own);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = self.response(id, left).await?;
            if answer.status != Status::Pending {
                return Ok(Outcome::Answered(answer));
            }
            if left.is_zero() && !is_whole {
                return Ok(Outcome::NotYet);
            }
            if left.is_zero() {
                self.log.timed_out(id, assumption)?;
                return Ok(Outcome::TimedOut);
            }
            if left.as_secs() == 0 {
                sleep(left).await;
            }
        }
    }

    /// One sweep: answers to our own deliveries after `since`, and the next `since`.
    pub async fn sweep(
        &mut self,
        since: Option<&str>,
    ) -> Result<(Vec<Answer>, Option<String>), AgentFault> {
        let answers: Vec<&str> = Status::answers().map(Status::as_str).collect();
        let path = format!(
            "/wake/v1/responses?agent_id={}&status={}&since={}",
            encode(&self.agent_id),
            answers.join(","),
            encode(since.unwrap_or_default())
        );
        let reply = self.request("GET", &path, None).await?;
        let page: Page = serde_json::from_slice(&reply.body).map_err(|_| AgentFault::Unreadable)?;
        let mut answers = page.deliveries;
        answers.retain(|answer| self.log.is_own(answer.delivery_id));
        for answer in &answers {
            self.log.answered(answer)?;
        }
        Ok((answers, page.next_since))
    }

    /// On 429: waits as told, tries once more, then gives up.
    async fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Reply, AgentFault> {
        let mut reply = self.server.request(method, path, &[], body.clone()).await?;
        if reply.status == 429 {
            sleep(Duration::from_secs(reply.retry_after_seconds.unwrap_or(60))).await;
            reply = self.server.request(method, path, &[], body).await?;
        }
        match reply.status {
            200..300 => Ok(reply),
            401 => Err(AgentFault::KeyRefused),
            429 => Err(AgentFault::RateLimited),
            status => {
                let detail = reply.problem().detail.unwrap_or_default();
                Err(AgentFault::Refused { status, detail })
            }
        }
    }
}

/// The field of a delivery that contains the key in use, or anything that is
/// spelled like a secret: it must not be sent.
pub fn secret_in(body: &[u8], key: Option<&str>) -> Option<String> {
    let is_key = |text: &str| key.is_some_and(|key| text.contains(key));
    wake::secret::field_with(body, |text| wake::secret::is_in(text) || is_key(text))
}

/// Percent-encodes everything but unreserved characters.
pub fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
