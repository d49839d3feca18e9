//! The list under the names of agents, and the agents to choose from. How many
//! deliveries of an agent wait is a kept number, one look-up for each: nothing
//! here counts, and nothing looks through more agents than [`LOOKED_AT`].

use std::ops::Bound;

use engine::Row;
use maud::{Markup, html};
use trail::Micros;

use crate::{
    App, Problem,
    pages::{
        agents::encoded,
        filter::Filter,
        inbox::{Section, row},
        session::Signed,
    },
};

/// Agents to choose from, on one page.
const AGENTS: usize = 50;
/// Agents looked at for it: most may have nothing that waits.
const LOOKED_AT: usize = 2000;

/// One agent's rows, what needs an answer most first.
struct Group<'a> {
    stream: u64,
    rows: Vec<(&'a Row, bool)>,
}

/// The rows of a page under their agents, in the order in which these come up.
pub async fn groups(
    app: &App,
    filter: &Filter,
    sections: impl Iterator<Item = &Section>,
    now: Micros,
    signed: &Signed,
) -> Result<Markup, Problem> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for section in sections {
        for row in &section.rows {
            let shown = (row, section.seen.contains(&row.row.id));
            match groups
                .iter_mut()
                .find(|group| group.stream == row.row.stream)
            {
                Some(group) => group.rows.push(shown),
                None => groups.push(Group {
                    stream: row.row.stream,
                    rows: vec![shown],
                }),
            }
        }
    }
    // Of one agent alone there is no more than the page itself leads on to.
    let streams = match filter.agent {
        Some(_) => Vec::new(),
        None => groups.iter().map(|group| group.stream).collect(),
    };
    let waiting = app.shared().store.waiting(streams).await?;
    Ok(html! {
        @for group in &groups {
            (self::group(group, waiting.get(&group.stream).copied().unwrap_or(0), now, signed))
        }
    })
}

fn group(group: &Group<'_>, waiting: u64, now: Micros, signed: &Signed) -> Markup {
    let title = format!("group-{}", group.stream);
    let agent = group
        .rows
        .first()
        .map(|(row, _)| &*row.agent_id)
        .unwrap_or_default();
    html! {
        section .group aria-labelledby=(title) {
            h2 #(title) { (show::text(agent)) }
            ol .rows {
                @for (row, seen) in &group.rows {
                    @let kind = row.kind().as_str();
                    (self::row(row, *seen, html! { span .kind .(kind) { (kind) } }, now, signed))
                }
            }
            @if waiting > group.rows.len() as u64 {
                p { a href=(of_agent(agent)) { "All of this agent" } }
            }
        }
    }
}

fn of_agent(agent: &str) -> String {
    format!("/?group=agent&agent={}", encoded(agent))
}

/// Agents for whom something waits, by name.
pub async fn choice(app: &App, filter: &Filter) -> Result<Markup, Problem> {
    let accounts = app.shared().accounts();
    let streams = app.shared().agents();
    let after = filter.agents_after.clone();
    let from = after.map_or(Bound::Unbounded, Bound::Excluded);
    let mut agents = accounts.agents.range::<String, _>((from, Bound::Unbounded));
    let known: Vec<(&str, u64)> = agents
        .by_ref()
        .take(LOOKED_AT)
        .filter_map(|(name, _)| Some((name.as_str(), streams.stream(name)?)))
        .collect();
    let numbers = known.iter().map(|(_, stream)| *stream).collect();
    let waiting = app.shared().store.waiting(numbers).await?;
    let mut some = known
        .iter()
        .filter_map(|(name, stream)| Some((*name, *waiting.get(stream)?)));
    let shown: Vec<(&str, u64)> = some.by_ref().take(AGENTS).collect();
    let next = match some.next() {
        Some(_) => shown.last().map(|(name, _)| *name),
        // Perhaps those not looked at have something.
        None => agents.next().and(known.last()).map(|(name, _)| *name),
    };
    Ok(html! {
        nav #agents-choice .agents aria-label="Agents with something open" {
            @for (name, waiting) in &shown {
                a href=(of_agent(name)) { (show::excerpt(name, 60)) " " span .mark { (waiting) } }
            }
            @if let Some(next) = next {
                a href=(format!("/?group=agent&agents_after={}", encoded(next))) { "More agents" }
            }
        }
    })
}
