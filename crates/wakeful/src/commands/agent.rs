//! Acting as an agent from a shell.

use std::{io::Read as _, path::PathBuf, time::Duration};

use anyhow::{Context as _, Result, bail};
use client::{Answer, Log, Page, Received, Reply, encode};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use uuid::Uuid;
use wake::{Body, Status};

use crate::{
    Ending,
    cli::{Deliver, Place, Responses},
    connect::{As, Connection, connect, explain},
    content, house,
    output::{line, lines, print, print_body, say, short_content, table},
    prefix::{self, Named},
};

pub async fn deliver(place: &Place, deliver: Deliver) -> Result<Ending> {
    let details = deliver.details.clone().map(read_details).transpose()?;
    let delivery = match deliver.delivery(details) {
        Ok(delivery) => delivery,
        Err(fault) => {
            say(&format!("wakeful: {fault}"));
            return Ok(Ending::Refused);
        }
    };
    let body = Body {
        agent_id: &deliver.agent,
        provider: &deliver.provider,
        delivery: &delivery,
    };
    let mut log = open_log()?;
    let connection = connect(place, As::Agent).await?;
    let headers: Vec<(&str, &str)> = deliver
        .idempotency_key
        .as_deref()
        .map(|key| ("idempotency-key", key))
        .into_iter()
        .collect();
    let bytes = serde_json::to_vec(&body)?;
    if let Some(field) = client::secret_in(&bytes, connection.token()) {
        connection.close().await;
        say(&format!(
            "Not sent: \"{field}\" contains a key, a token or a webhook secret. Leave it out."
        ));
        return Ok(Ending::Refused);
    }
    let bytes = Some(bytes);
    let reply = request(&connection, "POST", "/wake/v1/deliver", &headers, bytes).await;
    connection.close().await;
    let reply = match reply? {
        Ok(reply) => reply,
        Err(ending) => return Ok(ending),
    };
    let received: Received = read(&reply)?;
    let id = received.delivery_id.to_string();
    log.delivered(&received, &body, delivery.timeout_seconds)
        .with_context(|| format!("delivered as {id}, but could not keep the log"))?;
    match place.json {
        true => print_body(&reply.body),
        false => print(&id),
    }
    match deliver.wait {
        Some(wait) => response(place, &id, wait, deliver.assume.as_deref()).await,
        None => Ok(Ending::Done),
    }
}

fn read<T: DeserializeOwned>(reply: &Reply) -> Result<T> {
    serde_json::from_slice(&reply.body).context("the server's answer cannot be read")
}

/// One request as an agent must make it (WAKE, "Agent Behaviour Requirements"):
/// on 429 it waits as long as it is told, tries once more, and then says so.
async fn request(
    connection: &Connection,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<Vec<u8>>,
) -> Result<std::result::Result<Reply, Ending>> {
    let mut reply = connection
        .request(method, path, headers, body.clone())
        .await?;
    if reply.status == 429 {
        let seconds = reply.retry_after_seconds.unwrap_or(60);
        say(&format!(
            "Too many requests; trying once more in {seconds} s."
        ));
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        reply = connection.request(method, path, headers, body).await?;
        if reply.status == 429 {
            say("Still too many: raise one alert with your human, and do not loop.");
        }
    }
    explain(reply)
}

/// The agent's log, which is the agent's and not the server's: never in a data
/// directory, where body keys and retention rules would not reach it.
fn log_file() -> Result<PathBuf> {
    match std::env::var_os("WAKE_LOG").filter(|file| !file.is_empty()) {
        Some(file) => Ok(PathBuf::from(file)),
        None => Ok(house::state_directory()?.join("agent.log")),
    }
}

fn open_log() -> Result<Log> {
    let file = log_file()?;
    Log::open(&file)
        .with_context(|| format!("could not open the log {}; set WAKE_LOG", file.display()))
}

/// The log, and what it says of earlier deliveries.
fn recall_log() -> Result<Log> {
    let mut log = open_log()?;
    log.recall().context("could not read the log")?;
    Ok(log)
}

/// Notes how it stands with a delivery: answered, or its time is over.
fn keep(log: &mut Log, answer: &Answer, is_over: bool, assume: Option<&str>) -> Result<()> {
    let id = answer.delivery_id;
    match answer.status {
        Status::Pending if is_over || log.is_overdue(id) => log.timed_out(id, assume),
        Status::Pending => Ok(()),
        _ => log.answered(answer),
    }
    .context("could not keep the log")
}

/// Says which answers are not to be acted on (WAKE: an agent verifies each id).
fn warn_of_foreign(log: &Log, answers: &[Answer]) -> Result<()> {
    let foreign = answers
        .iter()
        .filter(|a| !log.is_own(a.delivery_id))
        .count();
    if foreign > 0 {
        say(&format!(
            "{foreign} of {} not in {}: act only on answers to your own deliveries.",
            answers.len(),
            log_file()?.display()
        ));
    }
    Ok(())
}

fn read_details(text: String) -> Result<Box<RawValue>> {
    let text = match text.as_str() {
        "-" => {
            let mut input = String::new();
            std::io::stdin()
                .read_to_string(&mut input)
                .context("could not read standard input")?;
            input
        }
        _ => text,
    };
    content::read("--details", &text)
}

/// The id of one of our own deliveries, which the log knows: an agent has no
/// business with others'.
fn find_own(log: &Log, text: &str) -> Result<std::result::Result<String, Ending>> {
    let prefix = match prefix::read(text) {
        Ok(Some(prefix)) => prefix,
        Ok(None) => return Ok(Ok(text.to_owned())),
        Err(ending) => return Ok(Err(ending)),
    };
    let own = log.own_within(&prefix.range()).into_iter();
    let found = own.map(|id| Named {
        id: id.to_string(),
        headline: None,
    });
    let nothing = format!("no delivery in {}", log_file()?.display());
    let named = prefix::only_one(text, found.collect(), &nothing);
    Ok(named.map(|named| named.id))
}

pub async fn response(place: &Place, id: &str, wait: u64, assume: Option<&str>) -> Result<Ending> {
    let mut log = recall_log()?;
    let id = match find_own(&log, id)? {
        Ok(id) => id,
        Err(ending) => return Ok(ending),
    };
    let id = id.as_str();
    let connection = connect(place, As::Agent).await?;
    // Whoever said how long they wait does not wait longer.
    let own = Uuid::try_parse(id).ok().and_then(|id| log.time_left(id));
    // Without a `timeout_seconds` the wait is all the time there is.
    let is_whole = own.map_or(wait > 0, |own| own <= Duration::from_secs(wait));
    let mut left = own.map_or(wait, |own| wait.min(own.as_millis().div_ceil(1000) as u64));
    let (reply, answer) = loop {
        let now = left.min(wake::limits::WAIT_SECONDS);
        let path = format!("/wake/v1/response/{}?wait={now}", encode(id));
        left -= now;
        let reply = match request(&connection, "GET", &path, &[], None).await? {
            Ok(reply) => reply,
            Err(ending) => {
                connection.close().await;
                return Ok(ending);
            }
        };
        let answer: Answer = read(&reply)?;
        if left == 0 || answer.status != Status::Pending {
            break (reply, answer);
        }
    };
    connection.close().await;
    if Uuid::try_parse(id).ok() != Some(answer.delivery_id) {
        bail!("the server answered for another delivery than {id}: do not act on it");
    }
    let is_over = is_whole || log.is_overdue(answer.delivery_id);
    keep(&mut log, &answer, is_over, assume)?;
    match place.json {
        true => print_body(&reply.body),
        false => show_answer(&answer),
    }
    if wait > 0 && answer.status == Status::Pending {
        say(match (is_over, assume) {
            (false, _) => {
                "No answer yet, and its time is not over: wait again. This is no approval."
            }
            (true, Some(_)) => {
                "No answer in time: go on with what you assumed. This is no approval."
            }
            (true, None) => {
                "No answer in time: go on with your best assumptions and document them. This is no approval."
            }
        });
    }
    warn_of_foreign(&log, std::slice::from_ref(&answer))?;
    Ok(Ending::Done)
}

fn show_answer(answer: &Answer) {
    print(answer.status.as_str());
    if let Some(feedback) = &answer.feedback {
        print(&format!("feedback: {}", lines(feedback)));
    }
    if let Some(edited) = &answer.edited_content {
        print(&format!("edited: {}", short_content(edited)));
    }
    if answer.content_erased {
        print("The content was erased.");
    }
}

pub async fn responses(place: &Place, responses: Responses) -> Result<Ending> {
    let mut query = Vec::new();
    let limit = responses.limit.map(|limit| limit.to_string());
    // A variable that is empty is not set.
    let agent = responses.agent.filter(|agent| !agent.is_empty());
    for (name, value) in [
        ("agent_id", agent),
        ("status", responses.status),
        ("since", responses.since),
        ("limit", limit),
    ] {
        if let Some(value) = value {
            query.push(format!("{name}={}", encode(&value)));
        }
    }
    let mut log = recall_log()?;
    let connection = connect(place, As::Agent).await?;
    let path = format!("/wake/v1/responses?{}", query.join("&"));
    let reply = request(&connection, "GET", &path, &[], None).await;
    connection.close().await;
    let reply = match reply? {
        Ok(reply) => reply,
        Err(ending) => return Ok(ending),
    };
    let page: Page = read(&reply)?;
    for answer in &page.deliveries {
        if log.is_own(answer.delivery_id) {
            keep(&mut log, answer, false, None)?;
        }
    }
    match place.json {
        true => print_body(&reply.body),
        false => show_page(&log, &page),
    }
    warn_of_foreign(&log, &page.deliveries)?;
    Ok(Ending::Done)
}

fn show_page(log: &Log, page: &Page) {
    let row = |answer: &Answer| {
        let id = answer.delivery_id;
        let mark = match answer.status {
            _ if !log.is_own(id) => " (not in your log)",
            Status::Pending if log.is_overdue(id) => " (no longer waited for)",
            _ => "",
        };
        vec![
            id.to_string(),
            format!("{}{mark}", answer.status.as_str()),
            answer
                .responded_at
                .map_or("-".to_owned(), |at| at.to_string()),
            line(answer.feedback.as_deref().unwrap_or("-")),
        ]
    };
    if page.deliveries.is_empty() {
        say("No delivery matches.");
    }
    table(&page.deliveries.iter().map(row).collect::<Vec<_>>());
    if let Some(next) = &page.next_since {
        say(&format!(
            "{} in all; next: --since {}",
            page.total,
            line(next)
        ));
    }
}
