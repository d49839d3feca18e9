//! What agents, people and the operator ask for: mostly apt, sometimes not.

use std::sync::LazyLock;

use account::{
    Actor, Command as Ask, KeyKind, Presented, Rate, Reviewer, Role, State, command::NewKey,
    secret::SecretHash,
};
use engine::{
    Command,
    command::{Account, Attempt, Deliver, Inbox, Wake},
};
use inbox::{Answer, ItemId, Person, Request, Verdict, event::Channel};
use trail::{Hash, Micros};
use uuid::Uuid;
use wake::{Kind, NewDelivery, Status, limits, webhook::HostPattern};

use super::model::Model;
use crate::dice::Dice;

const PEOPLE: [&str; 5] = ["ann", "bob", "cat", "dan", "eve"];
const AGENTS: [&str; 3] = ["north", "south", "west"];
const PATTERN: &str = "a.example";
/// Items that people look at most.
const RECENT: usize = 24;

/// What a new house begins with.
pub fn first() -> Vec<Command> {
    let key = |agent: &str, test| {
        Ask::CreateKey(NewKey {
            agent_id: agent.to_owned(),
            owner: None,
            key_id: format!("key_{agent}"),
            hash: Hash::of("sim", &[agent.as_bytes()]).0,
            test,
            orchestrates: Vec::new(),
            rate: None,
        })
    };
    let commands = [
        user("ann", Role::Owner),
        user("bob", Role::Reviewer),
        user("cat", Role::Viewer),
        key("north", false),
        key("south", false),
        key("west", true),
        allow(),
    ];
    let operator = |command| Account::Administer {
        actor: Actor::Operator,
        command,
    };
    commands.into_iter().map(operator).map(Into::into).collect()
}

fn user(name: &str, role: Role) -> Ask {
    Ask::CreateUser {
        name: name.to_owned(),
        role: Some(role),
        token_id: format!("tok_{name}"),
        token_hash: token_of(name),
    }
}

/// The token by which somebody was recognised; they may have another one now.
pub fn token_of(name: &str) -> SecretHash {
    Hash::of("sim", &[name.as_bytes()]).0
}

fn allow() -> Ask {
    Ask::AllowWebhook {
        pattern: HostPattern::parse(PATTERN).expect("it is a host"),
        networks: Vec::new(),
        ca_pem: None,
    }
}

/// Draws one command.
pub fn draw(dice: &mut Dice, model: &Model, now: Micros) -> Command {
    match dice.roll(100) {
        0..34 => deliver(dice, model).into(),
        34..76 => at_an_item(dice, model, now).into(),
        76..85 => attempt(dice, model).into(),
        85..87 => {
            let (callback, delivery_id) = callback(dice, model);
            let actor = actor(dice);
            let replay = Wake::ReplayCallback {
                actor,
                callback,
                delivery_id,
            };
            replay.into()
        }
        87..91 => {
            let (actor, delivery_id) = (actor(dice), item(dice, model));
            Wake::EraseNow { actor, delivery_id }.into()
        }
        _ => {
            let (actor, command) = (actor(dice), administer(dice, model, now));
            Account::Administer { actor, command }.into()
        }
    }
}

/// What a person does with an item.
fn at_an_item(dice: &mut Dice, model: &Model, now: Micros) -> Inbox {
    match dice.roll(42) {
        0..26 => Inbox::Respond {
            person: person(dice),
            item: ItemId::Delivery(open_item(dice, model)),
            request: request(dice),
        },
        26..34 => undo(dice, model),
        34..39 => Inbox::See {
            name: dice.pick(&PEOPLE).to_owned(),
            item: ItemId::Delivery(item(dice, model)),
        },
        _ => Inbox::Snooze {
            name: dice.pick(&PEOPLE).to_owned(),
            item: ItemId::Delivery(item(dice, model)),
            until: dice
                .chance(70)
                .then(|| now.plus_seconds(dice.roll(9000) as i64)),
        },
    }
}

fn actor(dice: &mut Dice) -> Actor {
    match dice.chance(70) {
        true => Actor::Operator,
        false => Actor::person(dice.pick(&PEOPLE)),
    }
}

/// Somebody who may answer, or could once: what has been taken from them since
/// is for the engine to notice.
fn person(dice: &mut Dice) -> Person {
    let name = dice.pick(&PEOPLE[..4]);
    recognised(dice, name)
}

fn recognised(dice: &mut Dice, name: &str) -> Person {
    let presented = Presented::Token(token_of(name));
    let reviewer = Reviewer::recognise(&EARLIER, presented, Micros(0));
    let channel = dice.pick(&[Channel::Api, Channel::Page, Channel::Terminal]);
    Person::new(reviewer.expect("everybody was an owner once"), channel)
}

/// The accounts by which people were recognised: all of them are owners.
static EARLIER: LazyLock<State> = LazyLock::new(|| {
    let mut state = State::default();
    for name in PEOPLE {
        let events = account::decide(&state, &user(name, Role::Owner), Micros(0));
        for event in events.expect("the names are fit") {
            state.apply(&event, Micros(0));
        }
    }
    state
});

/// Mostly one of the latest items, sometimes any, seldom one that is not there.
fn item(dice: &mut Dice, model: &Model) -> Uuid {
    let many = model.items.len();
    if many == 0 || dice.rarely(10) {
        return Uuid::from_u128(u128::from(dice.throw()));
    }
    let among = if dice.chance(80) {
        many.min(RECENT)
    } else {
        many
    };
    model.items[many - 1 - dice.roll(among as u64) as usize].id
}

/// One of the latest that wait for an answer, or any.
fn open_item(dice: &mut Dice, model: &Model) -> Uuid {
    let latest = model.items.iter().rev().take(RECENT);
    let open = latest.filter(|item| item.status == Status::Pending && item.hold.is_none());
    let open: Vec<Uuid> = open.map(|item| item.id).collect();
    match open.is_empty() || dice.chance(30) {
        true => item(dice, model),
        false => dice.pick(&open),
    }
}

/// Mostly by the one whose answer is held.
fn undo(dice: &mut Dice, model: &Model) -> Inbox {
    let held = model.items.iter().rev().take(2 * RECENT);
    let held: Vec<_> = held
        .filter_map(|item| Some((item.id, item.hold.as_ref()?)))
        .collect();
    if held.is_empty() || dice.chance(20) {
        return Inbox::Undo {
            person: person(dice),
            item: ItemId::Delivery(item(dice, model)),
        };
    }
    let (delivery_id, hold) = dice.pick(&held);
    let person = match dice.chance(70) {
        true => recognised(dice, &hold.by),
        false => person(dice),
    };
    let item = ItemId::Delivery(delivery_id);
    Inbox::Undo { person, item }
}

fn request(dice: &mut Dice) -> Request {
    let verdict = dice.pick(&Verdict::ALL);
    let has_text = verdict.needs_text() || dice.chance(30);
    let feedback = has_text.then(|| format!("\"because {}\"", dice.roll(1000)).into_bytes());
    Request {
        answer: Answer {
            verdict,
            feedback,
            edited_content: None,
        },
        hold_seconds: dice.pick(&[0, 0, 1, 5, 10, 30]),
    }
}

fn key(dice: &mut Dice, model: &Model) -> String {
    let nth = dice.roll(model.accounts.keys.len() as u64 + 1) as usize;
    let key = model.accounts.keys.keys().nth(nth);
    key.cloned().unwrap_or_else(|| "key_none".to_owned())
}

fn deliver(dice: &mut Dice, model: &Model) -> Wake {
    // A key that works, most of the time.
    let key_id = match dice.chance(90) {
        true => format!("key_{}", dice.pick(&AGENTS)),
        false => key(dice, model),
    };
    let agent = model
        .accounts
        .keys
        .get(&key_id)
        .map_or("north", |key| &key.agent);
    let agent = if dice.rarely(15) { "somebody" } else { agent };
    let kind = dice.pick(&Kind::ALL).as_str();
    let mut more = String::new();
    if dice.chance(50) {
        more += &format!(",\"details\":\"text {}\"", dice.roll(1000));
    }
    if dice.chance(40) {
        more += ",\"callback_webhook\":\"https://a.example/x\"";
    }
    if dice.chance(40) {
        more += &format!(",\"timeout_seconds\":{}", dice.pick(&[60, 90, 600, 7200]));
    }
    let body = format!(
        r#"{{"agent_id":"{agent}","provider":"p","type":"{kind}","headline":"h","summary":"s"{more}}}"#
    );
    let delivery = NewDelivery::parse(body.as_bytes(), limits::DETAILS_BYTES);
    // The same few names come again, with the same body or another.
    let name = dice.chance(30).then(|| format!("once-{}", dice.roll(40)));
    let digest = Hash::of("sim", &[&[dice.pick(&[0, 0, 0, 1])]]);
    Wake::Deliver(Deliver {
        key_id,
        delivery: delivery.expect("the body is a delivery"),
        idempotency: name.map(|name| (name, digest)),
    })
}

/// One that is owed, if there is one.
fn callback(dice: &mut Dice, model: &Model) -> (u64, Uuid) {
    let nth = dice.roll(model.callbacks.len().min(RECENT) as u64 + 1) as usize;
    let row = model.callbacks.iter().rev().nth(nth);
    let none = (u64::MAX >> 1, Uuid::nil());
    row.map_or(none, |(no, row)| (*no, row.delivery_id))
}

fn attempt(dice: &mut Dice, model: &Model) -> Wake {
    let (callback, delivery_id) = callback(dice, model);
    let http_status = dice.pick(&[None, Some(200), Some(200), Some(500), Some(410)]);
    let failed = http_status != Some(200);
    Wake::RecordAttempt(Attempt {
        callback,
        delivery_id,
        http_status,
        error: failed.then(|| "refused".to_owned()),
        took_ms: 3,
        retry_after_seconds: dice.chance(20).then_some(120),
        random: dice.throw(),
    })
}

fn administer(dice: &mut Dice, model: &Model, now: Micros) -> Ask {
    let name = dice.pick(&PEOPLE).to_owned();
    let fresh = format!("key_{}", model.size);
    match dice.roll(26) {
        0 => Ask::CreateUser {
            token_id: format!("tok_{name}_{}", model.size),
            token_hash: token_of(&name),
            role: dice.pick(&[None, Some(Role::Reviewer), Some(Role::Owner)]),
            name,
        },
        1..3 => Ask::SetRole {
            name,
            role: dice.pick(&Role::ALL),
        },
        3..5 => Ask::SuspendUser { name },
        5..9 => Ask::ResumeUser { name },
        9 => Ask::CreateKey(NewKey {
            agent_id: dice.pick(&AGENTS).to_owned(),
            owner: None,
            hash: Hash::of("sim", &[fresh.as_bytes()]).0,
            key_id: fresh,
            test: dice.chance(30),
            orchestrates: Vec::new(),
            rate: rate(dice),
        }),
        10 => Ask::RevokeKey {
            key_id: added_key(dice, model),
        },
        11..13 => Ask::RotateKey {
            key_id: added_key(dice, model),
            new_hash: Hash::of("sim", &[fresh.as_bytes()]).0,
            new_key_id: fresh,
            old_expires_at: now.plus_seconds(dice.roll(7200) as i64),
        },
        13 => Ask::RemoveWebhook {
            pattern: PATTERN.to_owned(),
        },
        14..17 => allow(),
        17..19 => Ask::SetRetention {
            kind: dice.pick(&Kind::ALL),
            days: dice.pick(&[None, Some(1), Some(2), Some(7)]),
        },
        19..21 => Ask::ResumeUser { name },
        21 => Ask::IssueToken {
            token_id: format!("tok_{name}_{}", model.size),
            token_hash: token_of(dice.pick(&[&fresh, &name, &name])),
            name,
        },
        _ => Ask::SetRate {
            keys: dice.pick(&KeyKind::ALL),
            rate: rate(dice),
        },
    }
}

/// A key that was made later: those of the beginning go on working.
fn added_key(dice: &mut Dice, model: &Model) -> String {
    let added = |key_id: &&String| !AGENTS.iter().any(|agent| key_id.ends_with(agent));
    let keys: Vec<&String> = model.accounts.keys.keys().filter(added).collect();
    let nth = dice.roll(keys.len() as u64 + 1) as usize;
    keys.get(nth)
        .map_or("key_none".to_owned(), |key| (*key).clone())
}

fn rate(dice: &mut Dice) -> Option<Rate> {
    let burst = dice.pick(&[1, 3, 20, 200]);
    let per_hour = dice.pick(&[10, 100, 5000]);
    dice.chance(60).then_some(Rate { burst, per_hour })
}
