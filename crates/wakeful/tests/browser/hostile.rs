//! Hostile content in every field that an agent controls, in a real browser.
//!
//! The payloads are those that `show` is tried with. Each is delivered over the
//! API as an agent's name, provider, headline, summary, details and callback;
//! every fourth delivery is answered, so that the payload is also a feedback
//! and an edited content. The script then opens them all.

use std::path::Path;

use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::{
    flow::Flow,
    guest::Guest,
    harness::{Answer, House},
};

/// The least there is to try.
const LEAST: usize = 500;
/// What an agent may say in each field, in characters; details in bytes.
const AGENT: usize = 128;
const PROVIDER: usize = 64;
const HEADLINE: usize = 120;
const SUMMARY: usize = 280;
const CALLBACK: usize = 120;
const DETAILS: usize = 1 << 20;
/// Above this a payload is one of the huge ones, which a browser takes long for.
const HUGE: usize = 10_000;
/// Small payloads that stand together in one delivery.
const TOGETHER: usize = 20;
/// Delivered at the same time.
const AT_ONCE: usize = 8;
const KINDS: [&str; 4] = ["output", "question", "alert", "update"];
const FORMATS: [&str; 4] = ["text", "markdown", "json", "diff"];
/// Callbacks may go to the port of this machine on which nobody listens.
const DEAF: &str = "localhost:9";

struct Payload {
    name: String,
    /// The form in which it hurts most, or `any`.
    field: String,
    content: String,
}

fn corpus() -> Vec<Payload> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../show/tests/corpus");
    let files = std::fs::read_dir(directory).unwrap();
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|kind| kind == "jsonl"));
    paths.sort();
    let texts = paths.iter().map(std::fs::read_to_string);
    let texts: Vec<String> = texts.map(Result::unwrap).collect();
    texts
        .iter()
        .flat_map(|text| text.lines().map(read))
        .collect()
}

fn read(line: &str) -> Payload {
    let line: Value = serde_json::from_str(line).unwrap();
    let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let parts = line["parts"].as_array().into_iter().flatten();
    let parts = parts.map(|part| {
        let times = usize::try_from(part[1].as_u64().unwrap()).unwrap();
        part[0].as_str().unwrap().repeat(times)
    });
    Payload {
        name: text("name"),
        field: text("field"),
        content: text("payload") + &parts.collect::<String>(),
    }
}

/// At most so many characters, and never only blanks, which the door refuses.
fn cut(text: &str, most: usize) -> String {
    let cut: String = text.chars().take(most).collect();
    match cut.trim().is_empty() {
        true => text.chars().take(most - 1).chain(['.']).collect(),
        false => cut,
    }
}

/// As a JSON string that the door takes.
fn quoted(text: &str) -> String {
    let mut end = text.len();
    loop {
        let quoted = Value::from(&text[..end]).to_string();
        if quoted.len() <= DETAILS {
            return quoted;
        }
        end = text.floor_char_boundary(end * 9 / 10);
    }
}

/// The forms of `details` that a payload is delivered in: each as JSON text,
/// and the format that is said.
fn forms(payload: &Payload, number: usize, full: bool) -> Vec<(String, Option<&'static str>)> {
    let Payload { field, content, .. } = payload;
    let own = FORMATS.into_iter().find(|format| format == field);
    let as_string = |format| (quoted(content), Some(format));
    let mut forms = match full {
        true => FORMATS.map(as_string).to_vec(),
        false => vec![as_string(own.unwrap_or(FORMATS[number % FORMATS.len()]))],
    };
    if field == "json" {
        // Word for word: no library would write half of a pair.
        forms.push((content.clone(), None));
    }
    if full {
        // Every character may take six bytes, and it is there twice.
        let content = cut(content, DETAILS / 16);
        forms.push((json!({ &content: [&content] }).to_string(), None));
    }
    forms
}

/// A delivery with the payload in every field; `details` is JSON text.
fn body(agent: &str, content: &str, number: usize, details: &str, format: Option<&str>) -> String {
    let mut callback = reqwest::Url::parse(&format!("https://{DEAF}")).unwrap();
    callback.set_path(&cut(content, CALLBACK));
    let envelope = json!({
        "agent_id": agent, "type": KINDS[number % KINDS.len()],
        "provider": cut(content, PROVIDER), "headline": cut(content, HEADLINE),
        "summary": cut(content, SUMMARY), "details_format": format,
        "callback_webhook": callback.as_str(), "timeout_seconds": 604_800,
    });
    let envelope = envelope.to_string();
    let (begun, _) = envelope.rsplit_once('}').unwrap();
    format!("{begun},\"details\":{details}}}")
}

/// What became of what was tried.
#[derive(Default)]
struct Tried {
    items: Vec<Value>,
    answered: usize,
    /// What the door rightly does not take, since it is no JSON.
    refused: usize,
}

struct Agent<'h> {
    house: &'h House,
    owner: &'h str,
    full: bool,
}

impl Agent<'_> {
    async fn try_one(&self, number: usize, payload: &Payload) -> Tried {
        // No agent may have a control character in its name, or only blanks.
        let seen = payload.content.replace(char::is_control, ".");
        let agent = cut(&seen, AGENT);
        let key = self.key(&agent).await;
        let mut tried = Tried::default();
        for (details, format) in forms(payload, number, self.full) {
            let at = number + tried.items.len();
            let body = body(&agent, &payload.content, at, &details, format);
            let answer = self.house.post_text("/wake/v1/deliver", &key, body).await;
            if answer.status != 201 {
                let verbatim = payload.field == "json" && format.is_none();
                assert!(verbatim, "{}: {}", payload.name, answer.text());
                tried.refused += 1;
                continue;
            }
            let item = self.item(&answer, &payload.name, &agent, &payload.content);
            if number % 4 == 3 {
                self.answer(item[0].as_str().unwrap(), payload).await;
                tried.answered += 1;
            }
            tried.items.push(item);
        }
        tried
    }

    /// A key for an agent of this name.
    async fn key(&self, agent: &str) -> String {
        let wanted = json!({ "agent_id": agent });
        let answer = self.house.post("/api/v1/keys", self.owner, wanted).await;
        assert_eq!(answer.status, 201, "{agent:?}: {}", answer.text());
        answer.json()["key"].as_str().unwrap().to_owned()
    }

    /// Redirects with the payload as feedback and as part of the new content.
    async fn answer(&self, id: &str, payload: &Payload) {
        let text = cut(&payload.content, HUGE);
        let answer = json!({
            "status": "redirected", "feedback": cut(&text, 2_000),
            "edited_content": format!("first\n{text}\nlast"),
        });
        let answer = self.house.respond(self.owner, id, answer).await;
        assert_eq!(answer.status, 200, "{}: {}", payload.name, answer.text());
    }

    /// Small payloads in one delivery, in every form that can hold many: the
    /// lines of a text, the parts of a Markdown text, names and values of an object.
    async fn try_together(&self, payloads: &[&Payload]) -> Vec<Value> {
        let key = self.key("together").await;
        let contents = payloads.iter().map(|payload| payload.content.as_str());
        let text = contents.clone().collect::<Vec<_>>().join("\n\n");
        let members = contents.map(|content| {
            let value = json!([content, { "in": content }]);
            (content.to_owned(), value)
        });
        let object = Value::Object(members.collect()).to_string();
        let mut items = Vec::new();
        for (details, format) in [
            (quoted(&text), Some("text")),
            (quoted(&text), Some("markdown")),
            (object, None),
        ] {
            let body = body("together", &text, items.len(), &details, format);
            let answer = self.house.post_text("/wake/v1/deliver", &key, body).await;
            assert_eq!(answer.status, 201, "{}", answer.text());
            items.push(self.item(&answer, "many together", "together", &text));
        }
        items
    }

    /// For the script: id, name, agent, how it begins, and whether it must be opened.
    fn item(&self, answer: &Answer, name: &str, agent: &str, content: &str) -> Value {
        let apart = name == "many together" || content.len() > HUGE;
        json!([
            answer.json()["delivery_id"],
            name,
            agent,
            cut(content, HEADLINE),
            apart
        ])
    }
}

#[tokio::test]
async fn nothing_that_an_agent_writes_runs_loads_or_breaks_a_page() {
    let full = std::env::var_os("WAKEFUL_TEST_FULL").is_some();
    let (house, owner) = House::start().await;
    house.allow_host(DEAF, &["127.0.0.0/8", "::1/128"], None);
    let ann = Guest::enter(&house, "ann", &owner).await;
    let agent = Agent {
        house: &house,
        owner: &owner,
        full,
    };
    let all = corpus();
    assert!(all.len() >= LEAST, "only {}", all.len());

    let tried: Vec<Tried> = futures_util::stream::iter(all.iter().enumerate())
        .map(|(number, payload)| agent.try_one(number, payload))
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let refused: usize = tried.iter().map(|one| one.refused).sum();
    let answered: usize = tried.iter().map(|one| one.answered).sum();
    let mut items: Vec<Value> = tried.into_iter().flat_map(|one| one.items).collect();
    let small: Vec<&Payload> = all.iter().filter(|one| one.content.len() <= HUGE).collect();
    for together in small.chunks(TOGETHER) {
        items.extend(agent.try_together(together).await);
    }
    println!(
        "{} payloads in {} deliveries, {answered} of them answered, and {refused} that are no JSON refused at the door",
        all.len(),
        items.len(),
    );
    let more = json!({ "full": full });
    let mut flow = Flow::start("hostile", &house, &[&ann], more);
    flow.until_asked("name the items");
    flow.tell(&Value::Array(items));
    flow.finish();
}
