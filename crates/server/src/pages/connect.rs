//! Connecting an agent: a fresh test key, and what to paste where. The line at
//! the end lights up when the agent's first delivery arrives.

use ::wake::{
    Framework,
    environment::Environment,
    framework::{AGENT, DELIVERING, RUN, VARIABLES},
    prompt::Prompt,
};
use account::KeyKind;
use axum::{
    extract::{RawQuery, State},
    response::Response,
};
use maud::{Markup, html};

use crate::{
    App, Problem,
    api::keys::{self, Created, Wanted},
    pages::{
        agents::{encoded, newest},
        form::pairs,
        layout::{copied, page as layout, token},
        owner::{Owner, OwnerForm, fault, kept, refused},
        settings::never_erased,
        when,
    },
};

pub async fn page(
    State(app): State<App>,
    owner: Owner,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let asked = pairs(&query).find(|(name, _)| name == "agent");
    let main = match asked {
        Some((_, agent_id)) => html! {
            h1 { "Connecting " bdi { (show::text(&agent_id)) } }
            (arrival(&app, &agent_id).await?)
            p { a href="/connect" { "Connect another agent" } }
        },
        None => begin(&app, &owner, None),
    };
    Ok(layout(&owner.signed, "/connect", "Connect an agent", main))
}

fn begin(app: &App, owner: &Owner, problem: Option<&Problem>) -> Markup {
    let first = app.shared().accounts().agents.is_empty();
    html! {
        h1 { @if first { "Connect your first agent" } @else { "Connect an agent" } }
        (fault(problem))
        p { "Give it a name. You get a key for trying things out, and lines to paste that already hold it." }
        form .narrow method="post" action="/connect" {
            (token(&owner.signed))
            label for="agent" { "Agent id " span .hint { "such as research-01" } }
            input #agent name="agent_id" maxlength="128" autocapitalize="none" spellcheck="false" required autofocus;
            button .main { "Make a key" }
        }
        (never_erased())
        p .hint { "What is delivered with a test key is marked as a test. For real work, " a href="/agents" { "create a live key" } "." }
    }
}

pub async fn connect(
    State(app): State<App>,
    OwnerForm { owner, form }: OwnerForm,
) -> Result<Response, Problem> {
    let wanted = Wanted {
        agent_id: form.text("agent_id").trim().to_owned(),
        test: true,
        ..Wanted::default()
    };
    let shown = |main| layout(&owner.signed, "/connect", "Connect an agent", main);
    Ok(match keys::make(&app, &owner.admin, wanted).await {
        Ok(made) => shown(snippets(&app, &made).await?),
        Err(problem) => refused(&problem, shown(begin(&app, &owner, Some(&problem)))),
    })
}

async fn snippets(app: &App, made: &Created) -> Result<Markup, Problem> {
    let address = app.settings.address.as_str();
    let prompt = Prompt {
        address,
        agent_id: &made.agent_id,
    };
    let mut secrets = vec![("Key", made.key.as_str())];
    if let Some(secret) = &made.webhook_secret {
        secrets.push(("Secret that signs callbacks", secret));
    }
    let ways = [
        ("curl", curl(address, &made.agent_id)),
        ("Python", python(address, &made.agent_id)),
        ("Node", node(address, &made.agent_id)),
    ];
    Ok(html! {
        h1 { "Connecting " bdi { (show::text(&made.agent_id)) } }
        (kept(&format!("/connect?agent={}", encoded(&made.agent_id)), &secrets))
        (allowance(app))
        h2 { "1. Give it the key" }
        p { "As lines of its " code { ".env" } " file:" }
        (copied(&variables(address, made)))
        @if made.webhook_secret.is_none() {
            p .hint {
                "The secret that signs callbacks was shown with this agent's first key and is the same as before. "
                "If it is lost, make a new one under " a href="/webhooks" { "Webhooks" } "."
            }
        }
        p { "Or in a shell:" }
        (copied(&environment(address, made)))
        h2 { "2. Deliver something" }
        @for (name, text) in ways {
            details open[name == "curl"] {
                summary { (name) }
                @if name == "Python" { p .hint { "It needs httpx: " code { "pip install httpx" } } }
                (copied(&text))
            }
        }
        (never_erased())
        (arrival(app, &made.agent_id).await?)
        h2 { "3. Teach it when to ask" }
        p .hint {
            "Make this the system prompt, or choose what the agent is built with: then you also get code that delivers and waits. Nothing of it holds a secret."
        }
        details {
            summary { "System prompt" }
            (copied(&prompt.text()))
        }
        (frameworks(&prompt))
    })
}

/// The prompt in the form of each framework, and the code that goes with it.
pub fn frameworks(prompt: &Prompt<'_>) -> Markup {
    html! {
        @for framework in Framework::ALL {
            details data-framework=(framework.as_str()) {
                summary { (framework.title()) }
                p .hint { "Save the prompt as " code { (framework.prompt_file()) } ". " (framework.place()) }
                (copied(&framework.prompt(prompt)))
                p .hint { "Save what delivers and waits as " code { (DELIVERING) } ". " (VARIABLES) }
                (copied(&framework.delivering()))
                p .hint { "Give both to the agent, for example as " code { (AGENT) } ". " (RUN) }
                (copied(framework.agent()))
            }
        }
    }
}

/// How much a test key may deliver, by the rate that is in force.
fn allowance(app: &App) -> Markup {
    let rate = app.shared().accounts().usual_rate(KeyKind::Test);
    let deliveries = if rate.burst == 1 {
        "delivery"
    } else {
        "deliveries"
    };
    html! {
        p .hint {
            "This key allows " (rate.burst) " " (deliveries) " at once and " (rate.per_hour)
            " an hour. Beyond that an agent is told to wait."
        }
    }
}

/// Whether something has come from an agent.
async fn arrival(app: &App, agent_id: &str) -> Result<Markup, Problem> {
    let now = app.shared().clock.now();
    let here = format!("/connect?agent={}", encoded(agent_id));
    Ok(match newest(app, agent_id).await? {
        Some(row) => html! {
            p .waiting .arrived role="status" {
                "It has arrived, " (when::ago(row.row.created_at, now)) ", the latest of this agent: "
                a href=(format!("/items/{}", row.row.id)) { bdi { (show::text(&row.row.headline)) } }
            }
        },
        None => html! {
            p .waiting role="status" data-waiting-for=(agent_id) {
                "Nothing has arrived yet. "
                a href=(here) target="_blank" rel="noopener" { "Has it arrived?" }
            }
        },
    })
}

/// A word of a shell, whatever is in it.
fn word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A string of JSON, which Python and JavaScript read as the same string.
fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What to paste into a `.env` file.
fn variables(address: &str, made: &Created) -> String {
    let environment = Environment {
        address: Some(address),
        key: &made.key,
        webhook_secret: made.webhook_secret.as_deref(),
        agent_id: &made.agent_id,
    };
    environment.text()
}

/// The same for a shell.
fn environment(address: &str, made: &Created) -> String {
    let endpoint = format!("{address}/wake/v1");
    let mut variables = vec![
        ("WAKE_ENDPOINT", endpoint.as_str()),
        ("WAKE_AGENT_ID", &made.agent_id),
        ("WAKE_API_KEY", &made.key),
    ];
    if let Some(secret) = &made.webhook_secret {
        variables.push(("WAKE_WEBHOOK_SECRET", secret));
    }
    let line = |(name, value): (&str, &str)| format!("export {name}={}\n", word(value));
    variables.into_iter().map(line).collect()
}

const HEADLINE: &str = "Connected and ready to work";
const SUMMARY: &str = "This is my first delivery. Answer it to see how that works.";

fn curl(address: &str, agent_id: &str) -> String {
    let agent = string(agent_id);
    let body = format!(
        "{{\"agent_id\": {agent}, \"provider\": \"curl\", \"type\": \"question\",\n    \
         \"headline\": \"{HEADLINE}\",\n    \"summary\": \"{SUMMARY}\"}}"
    );
    let (url, body) = (word(&format!("{address}/wake/v1/deliver")), word(&body));
    format!(
        "curl {url} \\\n  -H \"Authorization: Bearer $WAKE_API_KEY\" \\\n  \
         -H 'Content-Type: application/json' \\\n  -d {body}\n"
    )
}

fn python(address: &str, agent_id: &str) -> String {
    let (address, agent) = (string(address), string(agent_id));
    format!(
        r#"# pip install httpx
import os, httpx

wake = httpx.Client(
    base_url={address},
    headers={{"Authorization": "Bearer " + os.environ["WAKE_API_KEY"]}},
    timeout=90,
)
sent = wake.post("/wake/v1/deliver", json={{
    "agent_id": {agent}, "provider": "python", "type": "question",
    "headline": "{HEADLINE}",
    "summary": "{SUMMARY}",
}})
sent.raise_for_status()
path = "/wake/v1/response/" + sent.json()["delivery_id"]
while True:
    answer = wake.get(path, params={{"wait": 60}}).raise_for_status().json()
    if answer["status"] != "pending":
        break
print(answer["status"], answer.get("feedback"))
"#
    )
}

fn node(address: &str, agent_id: &str) -> String {
    let (address, agent) = (string(address), string(agent_id));
    format!(
        r#"// node agent.mjs
const wake = async (path, body) => {{
  const response = await fetch({address} + path, {{
    method: body ? "POST" : "GET",
    headers: {{
      Authorization: `Bearer ${{process.env.WAKE_API_KEY}}`,
      "Content-Type": "application/json",
    }},
    body: body && JSON.stringify(body),
  }});
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}};
const {{ delivery_id }} = await wake("/wake/v1/deliver", {{
  agent_id: {agent}, provider: "node", type: "question",
  headline: "{HEADLINE}",
  summary: "{SUMMARY}",
}});
let answer;
do answer = await wake(`/wake/v1/response/${{delivery_id}}?wait=60`);
while (answer.status === "pending");
console.log(answer.status, answer.feedback);
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_an_agent_is_called_it_stays_inside_its_quotes() {
        let shell = curl("https://h", "it's \"me\" $(x)");
        assert!(
            shell.contains(r#""agent_id": "it'\''s \"me\" $(x)","#),
            "{shell}"
        );
        assert!(shell.starts_with("curl 'https://h/wake/v1/deliver' "));
        for code in [python("https://h", "a\"\\"), node("https://h", "a\"\\")] {
            assert!(code.contains(r#": "a\"\\","#), "{code}");
        }
    }
}
