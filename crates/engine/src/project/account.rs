//! Rows of people, agents, keys and rules, and what passed between devices and
//! their owners; and the accounts out of their rows.

use std::sync::Arc;

use account::{Event, Gone, State, event::RelaysCounted};
use store::{AccountRow, RelayedChange, RelayedRow, batch::account::Batch};
use trail::Micros;

use crate::StartFault;

pub fn project(event: &Event, time: Micros, accounts: &mut Arc<State>, batch: &mut Batch) {
    if let Event::RelaysCounted(counted) = event {
        batch.relayed.push(relayed(counted));
    }
    if event.changes_accounts() {
        batch.relayed.extend(no_longer_relayed(event));
        // Copied once in a batch: when readers hold what was published.
        let gone = Arc::make_mut(accounts).apply(event, time);
        batch.accounts.extend(gone.iter().map(gone_row));
        batch.accounts.extend(account_rows(accounts, event));
    }
}

fn relayed(counted: &RelaysCounted) -> RelayedChange {
    let more = RelayedRow {
        owner: counted.owner.clone(),
        agent_id: counted.agent_id.clone(),
        seen_at: counted.seen_at,
        to_device: counted.to_device,
        to_device_bytes: counted.to_device_bytes,
        from_device: counted.from_device,
        from_device_bytes: counted.from_device_bytes,
        refused: counted.refused,
    };
    RelayedChange::More(more)
}

fn no_longer_relayed(event: &Event) -> Option<RelayedChange> {
    let (owner, agent_id) = match event {
        Event::AgentRemoved(gone) => (&gone.owner, &gone.agent_id),
        Event::DeviceTokenRevoked(gone) => (&gone.owner, &gone.agent_id),
        _ => return None,
    };
    Some(RelayedChange::Gone {
        owner: owner.clone(),
        agent_id: agent_id.clone(),
    })
}

/// Accounts from their rows.
pub fn read(rows: Vec<AccountRow>) -> Result<State, StartFault> {
    let mut state = State::default();
    for AccountRow { kind, id, body } in rows {
        let body = body.unwrap_or_default();
        let read = match kind.as_str() {
            "user" => insert(&mut state.users, &id, &body),
            "token" => insert(&mut state.tokens, &id, &body),
            "agent" => insert(&mut state.agents, &id, &body),
            "key" => insert(&mut state.keys, &id, &body),
            "allow" => insert(&mut state.allowlist, &id, &body),
            "retention" => insert_known(&mut state.retention, wake::Kind::parse(&id), &body),
            "rate" => insert_known(&mut state.rates, account::KeyKind::parse(&id), &body),
            "session" => insert(&mut state.sessions, &id, &body),
            "link" => insert(&mut state.links, &id, &body),
            _ => Ok(()),
        };
        read.map_err(|error| StartFault::Damaged(format!("account {kind} {id}: {error}")))?;
    }
    state.reindex();
    Ok(state)
}

fn insert<T: serde::de::DeserializeOwned>(
    map: &mut std::collections::BTreeMap<String, T>,
    id: &str,
    body: &str,
) -> serde_json::Result<()> {
    map.insert(id.to_owned(), serde_json::from_str(body)?);
    Ok(())
}

/// The same for a row whose id is a word of a closed set; others are left out.
fn insert_known<K: Ord, T: serde::de::DeserializeOwned>(
    map: &mut std::collections::BTreeMap<K, T>,
    id: Option<K>,
    body: &str,
) -> serde_json::Result<()> {
    if let Some(id) = id {
        map.insert(id, serde_json::from_str(body)?);
    }
    Ok(())
}

fn gone_row(gone: &Gone) -> AccountRow {
    match gone {
        Gone::Token(id) => row::<account::Token>("token", id, None),
        Gone::Key(id) => row::<account::Key>("key", id, None),
    }
}

/// The rows of what an event of the account streams names, as it is after it.
fn account_rows(after: &State, event: &Event) -> Vec<AccountRow> {
    match event {
        Event::UserCreated(e) => vec![row("user", &e.name, after.users.get(&e.name))],
        Event::RoleSet(e) => vec![row("user", &e.name, after.users.get(&e.name))],
        Event::UserStateSet(e) => vec![row("user", &e.name, after.users.get(&e.name))],
        Event::TokenIssued(e) => vec![row("token", &e.token_id, after.tokens.get(&e.token_id))],
        Event::SignInLinkMade(e) => vec![row("link", &e.name, after.links.get(&e.name))],
        Event::SessionOpened(e) => vec![
            row("session", &e.session_id, after.sessions.get(&e.session_id)),
            row("link", &e.name, after.links.get(&e.name)),
        ],
        Event::SessionClosed(e) => vec![row::<account::Session>("session", &e.session_id, None)],
        Event::AgentAdded(e) => vec![row("agent", &e.agent_id, after.agents.get(&e.agent_id))],
        Event::AgentRemoved(e) => vec![row::<account::Agent>("agent", &e.agent_id, None)],
        Event::DeviceTokenIssued(e) => {
            vec![row("agent", &e.agent_id, after.agents.get(&e.agent_id))]
        }
        Event::DeviceTokenRevoked(e) => {
            vec![row("agent", &e.agent_id, after.agents.get(&e.agent_id))]
        }
        Event::KeyCreated(e) => vec![row("key", &e.key_id, after.keys.get(&e.key_id))],
        Event::KeyExpirySet(e) => vec![row("key", &e.key_id, after.keys.get(&e.key_id))],
        Event::KeyRevoked(e) => vec![row("key", &e.key_id, after.keys.get(&e.key_id))],
        Event::WebhookAllowed(e) => {
            let pattern = e.pattern.to_string();
            vec![row("allow", &pattern, after.allowlist.get(&pattern))]
        }
        Event::WebhookRemoved(e) => vec![row::<account::AllowRule>("allow", &e.pattern, None)],
        Event::RetentionSet(e) => {
            let kept = after.retention.get(&e.r#type);
            vec![row("retention", e.r#type.as_str(), kept)]
        }
        Event::RateSet(e) => vec![row("rate", e.keys.as_str(), after.rates.get(&e.keys))],
        _ => Vec::new(),
    }
}

fn row<T: serde::Serialize>(kind: &str, id: &str, thing: Option<&T>) -> AccountRow {
    let body = thing.map(|thing| {
        serde_json::to_string(thing).expect("account state has string keys and cannot fail")
    });
    AccountRow {
        kind: kind.to_owned(),
        id: id.to_owned(),
        body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn created(name: &str) -> Event {
        let (name, role) = (name.to_owned(), account::Role::Reviewer);
        account::event::UserCreated { name, role }.into()
    }

    fn issued(token_id: &str) -> Event {
        account::event::TokenIssued {
            hash: trail::Hash([token_id.len() as u8; 32]),
            name: "ann".to_owned(),
            token_id: token_id.to_owned(),
        }
        .into()
    }

    #[test]
    fn a_batch_of_events_copies_the_accounts_at_most_once() {
        let mut accounts = Arc::new(State::default());
        let mut batch = Batch::default();
        let published = Arc::clone(&accounts);
        project(&created("ann"), Micros(1), &mut accounts, &mut batch);
        let copy = Arc::as_ptr(&accounts);
        assert_ne!(copy, Arc::as_ptr(&published), "readers keep what they have");
        for event in [created("bob"), issued("tok"), issued("token")] {
            project(&event, Micros(2), &mut accounts, &mut batch);
            assert_eq!(copy, Arc::as_ptr(&accounts), "{event:?}");
        }
    }

    #[test]
    fn a_new_token_takes_away_the_row_of_the_one_before() {
        let mut accounts = Arc::new(State::default());
        let mut batch = Batch::default();
        for event in [created("ann"), issued("tok"), issued("token")] {
            project(&event, Micros(1), &mut accounts, &mut batch);
        }
        let rows = batch.accounts.iter().skip(2);
        let rows: Vec<_> = rows.map(|row| (&*row.id, row.body.is_some())).collect();
        assert_eq!(rows, [("tok", false), ("token", true)]);
    }
}
