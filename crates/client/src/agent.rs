//! An agent's side of WAKE.

use std::{collections::HashSet, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt as _,
    time::{Instant, sleep},
};
use uuid::Uuid;
use wake::{Kind, Status};

use crate::server::{Reply, Server, ServerFault};

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
    #[error("the local log cannot be written: {0}")]
    Log(#[from] std::io::Error),
}

/// What to deliver.
#[derive(Clone, Debug, Serialize)]
pub struct Delivery {
    pub r#type: Kind,
    pub headline: String,
    pub summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback_webhook: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<i64>,
}

/// A human's answer.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Answer {
    pub delivery_id: Uuid,
    pub status: Status,
    pub feedback: Option<String>,
    pub edited_content: Option<Value>,
    pub responded_at: Option<trail::Micros>,
}

/// How waiting for an answer ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    Answered(Answer),
    /// Nobody answered in time: proceed with assumptions, and document them.
    TimedOut,
}

/// An agent with its key and its log.
#[derive(Debug)]
pub struct Agent {
    server: Server,
    agent_id: String,
    provider: String,
    log: Option<PathBuf>,
    own: HashSet<Uuid>,
}

impl Agent {
    pub fn new(server: Server, agent_id: &str, provider: &str, log: Option<PathBuf>) -> Agent {
        let (agent_id, provider) = (agent_id.to_owned(), provider.to_owned());
        Agent {
            server,
            agent_id,
            provider,
            log,
            own: HashSet::new(),
        }
    }

    pub async fn deliver(&mut self, delivery: &Delivery) -> Result<Uuid, AgentFault> {
        let mut body = json!(delivery);
        body["agent_id"] = self.agent_id.clone().into();
        body["provider"] = self.provider.clone().into();
        let reply = self
            .request(
                "POST",
                "/wake/v1/deliver",
                Some(body.to_string().into_bytes()),
            )
            .await?;
        let id = reply.json()["delivery_id"]
            .as_str()
            .and_then(|id| Uuid::try_parse(id).ok());
        let id = id.ok_or(AgentFault::Unreadable)?;
        self.own.insert(id);
        self.write_log(&json!({ "delivered": id, "delivery": body }))
            .await?;
        Ok(id)
    }

    /// The answer as it stands, waiting up to `wait` for one.
    pub async fn response(&self, id: Uuid, wait: Duration) -> Result<Answer, AgentFault> {
        let seconds = wait.as_secs().min(WAIT_SECONDS);
        let path = format!("/wake/v1/response/{id}?wait={seconds}");
        let reply = self.request("GET", &path, None).await?;
        let answer: Answer =
            serde_json::from_slice(&reply.body).map_err(|_| AgentFault::Unreadable)?;
        match answer.delivery_id == id {
            true => Ok(answer),
            false => Err(AgentFault::ForeignDelivery),
        }
    }

    /// Waits for an answer, no longer than `timeout`.
    pub async fn wait(&self, id: Uuid, timeout: Duration) -> Result<Outcome, AgentFault> {
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = self.response(id, left).await?;
            if answer.status != Status::Pending {
                self.write_log(&json!({ "answered": answer })).await?;
                return Ok(Outcome::Answered(answer));
            }
            if left.is_zero() {
                self.write_log(&json!({ "timed_out": id })).await?;
                return Ok(Outcome::TimedOut);
            }
            if left.as_secs() == 0 {
                sleep(left).await;
            }
        }
    }

    /// One sweep: answers to our own deliveries after `since`, and the next `since`.
    pub async fn sweep(
        &self,
        since: Option<&str>,
    ) -> Result<(Vec<Answer>, Option<String>), AgentFault> {
        #[derive(Deserialize)]
        struct Page {
            deliveries: Vec<Answer>,
            next_since: Option<String>,
        }
        let path = format!(
            "/wake/v1/responses?agent_id={}&status=approved,rejected,redirected&since={}",
            encode(&self.agent_id),
            encode(since.unwrap_or_default())
        );
        let reply = self.request("GET", &path, None).await?;
        let page: Page = serde_json::from_slice(&reply.body).map_err(|_| AgentFault::Unreadable)?;
        let mut answers = page.deliveries;
        answers.retain(|answer| self.own.contains(&answer.delivery_id));
        for answer in &answers {
            self.write_log(&json!({ "answered": answer })).await?;
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
                let detail = reply.json()["detail"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
                Err(AgentFault::Refused { status, detail })
            }
        }
    }

    async fn write_log(&self, line: &Value) -> Result<(), AgentFault> {
        let Some(path) = &self.log else { return Ok(()) };
        let mut file = tokio::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .await?;
        file.write_all(format!("{line}\n").as_bytes()).await?;
        Ok(file.flush().await?)
    }
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
