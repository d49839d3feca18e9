//! One POST of one answer.

use std::time::Duration;

use ::wake::{signature, webhook::CallbackUrl};
use reqwest::{Certificate, Client, header, redirect::Policy};
use store::CallbackRow;

use crate::{App, api::agents, webhook::guard};

/// From the first byte to the last.
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

/// Sends the answer as it stands; gives the receiver's status if it is 2xx.
pub async fn send(app: &App, row: &CallbackRow) -> Result<u16, Failure> {
    let shared = app.shared();
    let unreadable = |error: store::Error| format!("the answer could not be read: {error}");
    let found = shared.response(row.delivery_id).await.map_err(unreadable)?;
    let (delivery, body) = found.ok_or_else(|| "the delivery is gone".to_owned())?;
    let url = delivery.row.callback.as_deref().unwrap_or_default();
    let callback = CallbackUrl::parse(url).map_err(|fault| format!("the callback {fault}"))?;
    let rule = guard::rule(&shared.accounts(), &callback)
        .ok_or_else(|| "the host is not on the allowlist".to_owned())?;
    let addresses = guard::addresses(&callback, &rule).await?;

    let secrets = match shared
        .webhook_secrets(&delivery.agent_id)
        .await
        .map_err(unreadable)?
    {
        Some(secrets) => secrets,
        None => {
            // Never unsigned: an agent without a secret gets one, to be shown by rotating it.
            let made = agents::new_secret(app, "system".to_owned(), &delivery.agent_id).await;
            let secret = made.map_err(|_| "no secret could be made".to_owned())?;
            engine::read::WebhookSecrets::new(secret)
        }
    };
    let now = shared.clock.now();
    let seconds = now.0.div_euclid(1_000_000);
    let standard: Vec<String> = secrets
        .signing(now)
        .map(|secret| signature::standard(secret, &row.webhook_id, seconds, &body))
        .collect();

    let mut client = Client::builder()
        .redirect(Policy::none())
        .no_proxy()
        .timeout(TIME)
        .https_only(true)
        .user_agent(concat!("wakeful/", env!("CARGO_PKG_VERSION")))
        .resolve_to_addrs(callback.url().host_str().unwrap_or_default(), &addresses);
    if let Some(pem) = &rule.ca_pem {
        client = client.tls_certs_merge(certificates(pem)?);
    }
    let client = client
        .build()
        .map_err(|error| format!("no connection: {}", cause(&error)))?;
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
        .map_err(|error| format!("no answer: {}", cause(&error)))?;
    let status = response.status();
    if status.is_success() {
        return Ok(status.as_u16());
    }
    let retry_after = response.headers().get(header::RETRY_AFTER);
    let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
    Err(Failure {
        http_status: Some(status.as_u16()),
        reason: format!("the receiver answered {}", status.as_u16()),
        retry_after_seconds: retry_after,
    })
}

/// The innermost reason, without the URL, which may carry an agent's secret.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    match error.is_timeout() {
        true => "it took longer than 10 s".to_owned(),
        false => innermost.to_string().chars().take(200).collect(),
    }
}
