//! The demo's crew: a researcher who polls, a coder who sweeps, and an analyst
//! who is called back. They use the server over HTTP like anyone else.

use std::{path::Path, sync::Arc, time::Duration};

use account::{
    Actor, Role,
    command::{Command as Ask, NewKey},
    secret::{self, Kind as Secret},
};
use anyhow::Result;
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use client::{Agent, Answer, Outcome, Server};
use engine::command::Account;
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use rustls::{ServerConfig, pki_types::PrivatePkcs8KeyDer};
use serde_json::{Value, json, value::to_raw_value};
use server::{App, api::agents, auth::Acting, pages::LINK_SECONDS};
use tokio::{net::TcpListener, time::sleep};
use tokio_rustls::TlsAcceptor;
use wake::{Delivery, Kind, Status, signature, webhook::HostPattern};

use crate::output::{line, say};

const HUMAN: &str = "demo";
const PAUSE: Duration = Duration::from_secs(20);
/// Characters of a person's words that fit into a summary beside ours.
const QUOTED_CHARS: usize = 160;
const PATIENCE: Duration = Duration::from_secs(3600);

pub struct Crew {
    pub human_token: String,
    /// Where a browser comes in, once.
    pub sign_in: String,
    researcher: Agent,
    coder: Agent,
    analyst: Agent,
    callback: String,
}

impl Crew {
    /// Makes the human, three agents with keys, and a receiver for callbacks.
    pub async fn hire(app: &App, address: &str, data: &Path) -> Result<Crew> {
        let human_token = create_human(app).await?;
        let mut agents = Vec::new();
        for name in ["researcher", "coder", "analyst"] {
            let key = create_key(app, name).await?;
            let server = Server::at(address, Some(key), None)?;
            let log = data.join(format!("{name}.log"));
            agents.push(Agent::new(server, name, "demo", &log)?);
        }
        let secret = agents::new_secret(app, Acting::operator(), "analyst").await;
        let secret = secret.map_err(|problem| anyhow::anyhow!("{problem:?}"))?;
        let callback = listen_for_callbacks(app, secret).await?;
        let [researcher, coder, analyst] = agents
            .try_into()
            .map_err(|_| anyhow::anyhow!("three agents"))?;
        Ok(Crew {
            human_token,
            sign_in: sign_in_link(app).await?,
            researcher,
            coder,
            analyst,
            callback,
        })
    }

    /// Works until it is stopped.
    pub async fn work(self) {
        let Crew {
            researcher,
            coder,
            analyst,
            callback,
            ..
        } = self;
        let report = |name: &str, error: anyhow::Error| say(&format!("{name} stopped: {error:#}"));
        tokio::join!(
            async {
                research(researcher)
                    .await
                    .unwrap_or_else(|error| report("researcher", error))
            },
            async {
                code(coder)
                    .await
                    .unwrap_or_else(|error| report("coder", error))
            },
            async {
                analyse(analyst, callback)
                    .await
                    .unwrap_or_else(|error| report("analyst", error))
            },
        );
    }
}

async fn sign_in_link(app: &App) -> Result<String> {
    let link = Secret::Link.spell(engine::keys::random()?);
    let make = Ask::MakeLink {
        name: HUMAN.to_owned(),
        hash: secret::hash(&link),
        expires_at: app.shared().clock.now().plus_seconds(LINK_SECONDS),
    };
    administer(app, make).await?;
    Ok(format!("{}/sign-in/{link}?next=/", app.settings.address))
}

async fn administer(app: &App, command: Ask) -> Result<()> {
    app.engine
        .submit(Account::Administer {
            actor: Actor::Operator,
            command,
        })
        .await?;
    Ok(())
}

async fn create_human(app: &App) -> Result<String> {
    let token = Secret::User.spell(engine::keys::random()?);
    let (name, role) = (HUMAN.to_owned(), Some(Role::Owner));
    let token_hash = secret::hash(&token);
    let token_id = "tok_demo".to_owned();
    administer(
        app,
        Ask::CreateUser {
            name,
            role,
            token_id,
            token_hash,
        },
    )
    .await?;
    Ok(token)
}

async fn create_key(app: &App, agent_id: &str) -> Result<String> {
    let key = Secret::LiveKey.spell(engine::keys::random()?);
    let new = NewKey {
        agent_id: agent_id.to_owned(),
        owner: Some(HUMAN.to_owned()),
        key_id: format!("key_{agent_id}"),
        hash: secret::hash(&key),
        test: false,
        orchestrates: Vec::new(),
        rate: None,
    };
    administer(app, Ask::CreateKey(new)).await?;
    Ok(key)
}

/// An HTTPS receiver on this machine, allowed by name, network and certificate.
async fn listen_for_callbacks(app: &App, secret: String) -> Result<String> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let certificate = made.cert.pem();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.into()], key.into())?;
    let tls = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let receiver = Router::new()
        .route("/wake-callback", post(receive))
        .with_state(secret);
    let receiver = TowerToHyperService::new(receiver);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (tls, receiver) = (tls.clone(), receiver.clone());
            tokio::spawn(async move {
                if let Ok(stream) = tls.accept(stream).await {
                    let serving = http1::Builder::new();
                    let _ = serving
                        .serve_connection(TokioIo::new(stream), receiver)
                        .await;
                }
            });
        }
    });
    administer(
        app,
        Ask::AllowWebhook {
            pattern: HostPattern::parse(&format!("localhost:{port}"))?,
            networks: vec!["127.0.0.0/8".parse()?, "::1/128".parse()?],
            ca_pem: Some(certificate),
        },
    )
    .await?;
    Ok(format!("https://localhost:{port}/wake-callback"))
}

async fn receive(State(secret): State<String>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let expected = signature::wake(&secret, &body);
    let given = headers
        .get("x-wake-signature")
        .and_then(|value| value.to_str().ok());
    if given != Some(expected.as_str()) {
        return StatusCode::UNAUTHORIZED;
    }
    match serde_json::from_slice(&body) {
        Ok(answer) => {
            act("analyst, called back", &answer);
            StatusCode::NO_CONTENT
        }
        Err(_) => StatusCode::BAD_REQUEST,
    }
}

fn act(who: &str, answer: &Answer) {
    let feedback = answer
        .feedback
        .as_deref()
        .map(|text| format!(": {}", line(text)));
    say(&format!(
        "  {who}: {}{}",
        answer.status.as_str(),
        feedback.unwrap_or_default()
    ));
}

fn delivery(kind: Kind, headline: &str, summary: &str, details: Value) -> Result<Delivery> {
    Ok(Delivery {
        details: Some(to_raw_value(&details)?),
        timeout_seconds: Some(PATIENCE.as_secs() as i64),
        ..Delivery::new(kind, headline, summary)
    })
}

/// Delivers, then polls for that one answer, and asks again as it was told to.
async fn research(mut agent: Agent) -> Result<()> {
    let mut told = None;
    loop {
        let id = agent.deliver(&question(told.take())?).await?;
        match agent
            .wait(id, PATIENCE, Some("Hansa, which is closer"))
            .await?
        {
            Outcome::Answered(answer) => {
                act("researcher, polling", &answer);
                told = Some(answer).filter(|answer| answer.status == Status::Redirected);
            }
            Outcome::TimedOut | Outcome::NotYet => {
                say("  researcher: no answer, going on with Hansa");
            }
        }
        sleep(PAUSE).await;
    }
}

/// The researcher's question: the first one, or the one that takes up a redirect.
fn question(told: Option<Answer>) -> Result<Delivery> {
    let options = "## Options\n\n| | Nordwind | Hansa |\n|---|---|---|\n| price | 41 200 | 44 900 |\n| distance | 310 km | 40 km |\n\nWithout an answer I recommend **Hansa**.";
    let Some(told) = told else {
        return delivery(
            Kind::Question,
            "Two suppliers fit; one is cheaper, one is closer",
            "Which of the two should the comparison recommend?",
            json!(options),
        );
    };
    let summary = match told.feedback.as_deref() {
        Some(words) => {
            let words: String = line(words).chars().take(QUOTED_CHARS).collect();
            format!("You wrote: \"{words}\". Is this the comparison you mean?")
        }
        None => "I took over what you changed. Is this the comparison you mean?".to_owned(),
    };
    let mut question = delivery(
        Kind::Question,
        "The comparison again, as you redirected it",
        &summary,
        json!(options),
    )?;
    if told.edited_content.is_some() {
        question.details = told.edited_content;
    }
    Ok(question)
}

/// Delivers several things and sweeps for all answers at once.
async fn code(mut agent: Agent) -> Result<()> {
    let mut since: Option<String> = None;
    let diff = "--- a/src/retry.rs\n+++ b/src/retry.rs\n@@ -12,3 +12,3 @@\n fn delay(attempt: u32) -> Duration {\n-    Duration::from_secs(2u64.pow(attempt))\n+    Duration::from_secs(2u64.pow(attempt.min(6)))\n }\n";
    agent
        .deliver(&delivery(
            Kind::Output,
            "Fixed the endless retry; the tests pass",
            "One line caps the back-off at about a minute.",
            json!(diff),
        )?)
        .await?;
    agent
        .deliver(&delivery(
            Kind::Update,
            "Half of the modules are documented",
            "Twelve of twenty-four modules now say what they keep.",
            json!({ "done": 12, "all": 24 }),
        )?)
        .await?;
    loop {
        let (answers, next) = agent.sweep(since.as_deref()).await?;
        for answer in &answers {
            act("coder, sweeping", answer);
        }
        since = next.or(since);
        sleep(Duration::from_secs(3)).await;
    }
}

/// Delivers and is called back.
async fn analyse(mut agent: Agent, callback: String) -> Result<()> {
    let mut alert = delivery(
        Kind::Alert,
        "Caught an unusual refund pattern early",
        "Refunds to one account rose from 2 to 31 in an hour; shall I pause them?",
        json!({ "account": "A-7731", "refunds": { "usual": 2, "now": 31 }, "proposal": "pause refunds to this account" }),
    )?;
    alert.callback_webhook = Some(callback);
    agent.deliver(&alert).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirected_question_is_not_asked_again_in_the_same_words() {
        let answer = |feedback: Option<&str>, edited: Option<&str>| Answer {
            delivery_id: uuid::Uuid::nil(),
            status: Status::Redirected,
            feedback: feedback.map(str::to_owned),
            edited_content: edited.map(|text| to_raw_value(text).unwrap()),
            responded_at: None,
            content_erased: false,
        };
        let first = question(None).unwrap();
        let long = "Only by rail. ".repeat(1000);
        let words = question(Some(answer(Some(&long), None))).unwrap();
        assert_ne!(words.headline, first.headline);
        assert!(words.summary.contains("Only by rail."), "{}", words.summary);
        assert!(words.summary.chars().count() <= wake::limits::SUMMARY);
        let changed = question(Some(answer(None, Some("Nordwind")))).unwrap();
        assert_ne!(changed.headline, first.headline);
        assert_eq!(changed.details.unwrap().get(), "\"Nordwind\"");
    }
}
