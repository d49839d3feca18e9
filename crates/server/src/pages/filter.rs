//! What a list shows: read from its address, and chosen in the form above it.

use engine::read::InboxAsk;
use maud::{Markup, html};
use wake::{Kind, Status};

use crate::{App, pages::form::pairs};

/// What is asked for, in the address.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub agent: Option<String>,
    pub kind: Option<Kind>,
    pub status: Option<Status>,
    pub days: Option<i64>,
    /// Only what test keys delivered, or only what others did.
    pub test: Option<bool>,
    pub words: Option<String>,
    pub before: Option<u64>,
    pub snoozed: bool,
    /// Under the names of agents rather than of types.
    pub by_agent: bool,
    /// In the list of agents: those after this one.
    pub agents_after: Option<String>,
}

impl Filter {
    /// Whatever cannot be read is left out: an address is not a form.
    pub fn read(query: &Option<String>) -> Filter {
        let mut filter = Filter::default();
        for (name, value) in pairs(query) {
            match name.as_str() {
                "agent" => filter.agent = Some(value),
                "type" => filter.kind = Kind::parse(&value),
                "status" => filter.status = Status::parse(&value),
                "days" => filter.days = value.parse().ok().filter(|days| *days > 0),
                "tests" => {
                    filter.test = ["no", "only"]
                        .iter()
                        .position(|own| *own == value)
                        .map(|at| at == 1)
                }
                "q" => filter.words = Some(value.chars().take(200).collect()),
                "before" => filter.before = value.parse().ok(),
                "snoozed" => filter.snoozed = true,
                "group" => filter.by_agent = value == "agent",
                "agents_after" => filter.agents_after = Some(value),
                _ => {}
            }
        }
        filter
    }

    pub fn narrows(&self) -> bool {
        self.agent.is_some()
            || self.kind.is_some()
            || self.days.is_some()
            || self.test.is_some()
            || self.words.is_some()
    }

    /// The same address, further down.
    pub fn further(&self, path: &str, before: u64) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let mut add = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        };
        add("agent", self.agent.as_deref());
        add("type", self.kind.map(Kind::as_str));
        add("status", self.status.map(Status::as_str));
        add("days", self.days.map(|days| days.to_string()).as_deref());
        add(
            "tests",
            self.test.map(|only| if only { "only" } else { "no" }),
        );
        add("q", self.words.as_deref());
        add("snoozed", self.snoozed.then_some("1"));
        add("group", self.by_agent.then_some("agent"));
        add("before", Some(&before.to_string()));
        format!("{path}?{}", query.finish())
    }

    pub fn ask(&self, kinds: &[Kind], statuses: &[Status], limit: usize) -> InboxAsk {
        InboxAsk {
            agent_id: self.agent.clone(),
            kinds: kinds.to_vec(),
            statuses: statuses.to_vec(),
            test: self.test,
            search: self.words.clone(),
            aside: None,
            before: self.before,
            limit,
        }
    }
}

pub fn controls(app: &App, filter: &Filter, path: &str) -> Markup {
    let accounts = app.shared().accounts();
    let agents = accounts.agents.keys().take(500);
    html! {
        form .controls method="get" action=(path) role="search" {
            label .unseen-title for="q" { "Search" }
            input #q name="q" type="search" placeholder="Search" value=[filter.words.as_deref()] maxlength="200";
            label .unseen-title for="agent" { "Agent" }
            select #agent name="agent" {
                option value="" { "All agents" }
                @for agent in agents {
                    option value=(agent) selected[filter.agent.as_deref() == Some(agent)] { (show::plain_excerpt(agent, 60)) }
                }
            }
            label .unseen-title for="type" { "Type" }
            select #type name="type" {
                option value="" { "All types" }
                @for kind in Kind::ALL {
                    option value=(kind.as_str()) selected[filter.kind == Some(kind)] { (kind.as_str()) }
                }
            }
            label .unseen-title for="days" { "Age" }
            select #days name="days" {
                @for (days, text) in [("", "Any age"), ("1", "Today"), ("7", "A week"), ("30", "A month")] {
                    option value=(days) selected[filter.days.map(|days| days.to_string()).unwrap_or_default() == days] { (text) }
                }
            }
            label .unseen-title for="tests" { "Tests" }
            select #tests name="tests" {
                option value="" { "With tests" }
                option value="no" selected[filter.test == Some(false)] { "Without tests" }
                option value="only" selected[filter.test == Some(true)] { "Only tests" }
            }
            @if path == "/" {
                label .unseen-title for="group" { "Order" }
                select #group name="group" {
                    option value="" { "By type" }
                    option value="agent" selected[filter.by_agent] { "By agent" }
                }
            }
            @if filter.snoozed { input type="hidden" name="snoozed" value="1"; }
            @if path == "/done" {
                label .unseen-title for="status" { "Answer" }
                select #status name="status" {
                    option value="" { "All answers" }
                    @for status in Status::answers() {
                        option value=(status.as_str()) selected[filter.status == Some(status)] { (status.as_str()) }
                    }
                }
            }
            button { "Show" }
            @if filter.narrows() { a href=(path) { "All" } }
        }
    }
}
