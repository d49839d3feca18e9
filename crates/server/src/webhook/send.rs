//! One POST of one answer.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use ::wake::{signature, webhook::CallbackUrl};
use account::AllowRule;
use engine::read::WebhookSecrets;
use reqwest::{Certificate, Client, header, redirect::Policy};
use store::CallbackRow;

use crate::{App, api::agents, auth::Acting, webhook::guard::Guard};

/// For all of it, from looking up the name to the answer's head.
const TIME: Duration = Duration::from_secs(10);

/// Why an attempt did not succeed.
#[derive(Debug)]
pub struct Failure {
    pub http_status: Option<u16>,
    pub reason: String,
    pub retry_after_seconds: Option<i64>,
}

impl From<String> for Failure {
    fn from(reason: String) -> Failure {
        Failure {
            http_status: None,
            reason,
            retry_after_seconds: None,
        }
    }
}

/// The certificates of a PEM text; it must hold at least one.
pub fn certificates(pem: &str) -> Result<Vec<Certificate>, String> {
    match Certificate::from_pem_bundle(pem.as_bytes()) {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err("no certificate found".to_owned()),
    }
}

/// Clients by the rule they keep: to make one is to read every certificate
/// that this machine trusts.
#[derive(Debug, Default)]
pub struct Clients(Mutex<Vec<(AllowRule, Client)>>);

impl Clients {
    const MOST: usize = 64;

    fn of(&self, rule: &AllowRule) -> Result<Client, String> {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = clients.iter().find(|(known, _)| known == rule) {
            return Ok(client.clone());
        }
        if clients.len() >= Self::MOST {
            clients.clear();
        }
        let client = client(rule)?;
        clients.push((rule.clone(), client.clone()));
        Ok(client)
    }
}

/// Connections are not kept: each is to addresses that were checked for it.
fn client(rule: &AllowRule) -> Result<Client, String> {
    let mut client = Client::builder()
        .redirect(Policy::none())
        .no_proxy()
        .https_only(true)
        .pool_max_idle_per_host(0)
        // As the WAKE documents spell them: some receivers look at the letters.
        .http1_title_case_headers()
        .user_agent(concat!("wakeful/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(Guard::of(rule));
    if let Some(pem) = &rule.ca_pem {
        client = client.tls_certs_merge(certificates(pem)?);
    }
    client
        .build()
        .map_err(|error| format!("no connection: {}", cause(&error)))
}

/// Sends the answer as it stands; gives the receiver's status if it is 2xx.
pub async fn send(app: &App, clients: &Clients, row: &CallbackRow) -> Result<u16, Failure> {
    let sent = tokio::time::timeout(TIME, send_whole(app, clients, row)).await;
    sent.unwrap_or_else(|_| Err("no answer: it took longer than 10 s".to_owned().into()))
}

async fn send_whole(app: &App, clients: &Clients, row: &CallbackRow) -> Result<u16, Failure> {
    let shared = app.shared();
    let gone = || "the delivery is gone".to_owned();
    let delivery = shared.delivery(row.delivery_id).await;
    let delivery = delivery.map_err(unreadable)?.ok_or_else(gone)?;
    let told = shared.response(row.delivery_id).await;
    let body = told.map_err(unreadable)?.ok_or_else(gone)?.body;
    let url = delivery.row.callback.as_deref().unwrap_or_default();
    let callback = CallbackUrl::parse(url).map_err(|fault| format!("the callback {fault}"))?;
    let rule = shared.accounts().allow_rule(&callback).cloned();
    let rule = rule.ok_or_else(|| "the host is not on the allowlist".to_owned())?;
    if let Some(address) = callback.literal() {
        // No resolver is asked for it.
        Guard::of(&rule).check(address)?;
    }
    let client = clients.of(&rule)?;

    let secrets = secrets(app, &delivery.agent_id).await?;
    // Receivers compare it with their own clocks.
    let seconds = shared.clock.wall().0.div_euclid(1_000_000);
    let standard: Vec<String> = secrets
        .signing(shared.clock.now())
        .map(|secret| signature::standard(secret, &row.webhook_id, seconds, &body))
        .collect();
    let response = client
        .post(callback.url().clone())
        .header(header::CONTENT_TYPE, "application/json")
        .header("X-Wake-Delivery-Id", row.delivery_id.to_string())
        .header("X-Wake-Signature", signature::wake(&secrets.current, &body))
        .header("webhook-id", &row.webhook_id)
        .header("webhook-timestamp", seconds)
        .header("webhook-signature", standard.join(" "))
        .body(body)
        .send()
        .await
        .map_err(|error| {
            let how_far = match error.is_connect() {
                true => "no connection",
                false => "no answer",
            };
            format!("{how_far}: {}", cause(&error))
        })?;
    let status = response.status();
    if status.is_success() {
        return Ok(status.as_u16());
    }
    let asked = response.headers().get(header::RETRY_AFTER);
    let asked = asked.and_then(|value| value.to_str().ok());
    Err(Failure {
        http_status: Some(status.as_u16()),
        reason: format!("the receiver answered {}", status.as_u16()),
        retry_after_seconds: asked.and_then(|text| retry_after(text, seconds)),
    })
}

fn unreadable(error: store::Error) -> String {
    format!("the answer could not be read: {error}")
}

/// Never unsigned: an agent without a secret gets one, to be shown by rotating it.
async fn secrets(app: &App, agent_id: &str) -> Result<WebhookSecrets, String> {
    if let Some(secrets) = app
        .shared()
        .webhook_secrets(agent_id)
        .await
        .map_err(unreadable)?
    {
        return Ok(secrets);
    }
    let no_secret = || "no secret could be made".to_owned();
    let made = agents::first_secret(app, Acting::system(), agent_id).await;
    match made.map_err(|_| no_secret())? {
        Some(secret) => Ok(WebhookSecrets::new(secret)),
        // Another callback was quicker.
        None => {
            let kept = app.shared().webhook_secrets(agent_id).await;
            kept.map_err(unreadable)?.ok_or_else(no_secret)
        }
    }
}

/// Seconds to wait, which a receiver says as a number or as a date.
fn retry_after(text: &str, now_seconds: i64) -> Option<i64> {
    if let Ok(seconds) = text.parse() {
        return Some(seconds);
    }
    let date = httpdate::parse_http_date(text).ok()?;
    let since = date.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(
        i64::try_from(since.as_secs())
            .ok()?
            .saturating_sub(now_seconds),
    )
}

/// The innermost reason, without the URL, which may carry an agent's secret.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let said = innermost.to_string();
    match said.contains("CaUsedAsEndEntity") {
        true => "the receiver shows the certificate of an authority as its own; give it one that the authority has signed".to_owned(),
        false => said.chars().take(200).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_as_seconds_or_as_a_date() {
        let now = 784_111_000;
        assert_eq!(retry_after("120", now), Some(120));
        assert_eq!(retry_after("-5", now), Some(-5));
        for date in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(retry_after(date, now), Some(777), "{date}");
        }
        assert_eq!(
            retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now + 1000),
            Some(-223)
        );
        for text in ["", "soon", "1.5", "Sun, 99 Nov 1994 08:49:37 GMT"] {
            assert_eq!(retry_after(text, now), None, "{text}");
        }
    }
}
