//! A run by the wire alone: what its orders answer, and what its mail says.

use serde_json::{Value, json};
use wacp::{
    Principal, Refusal, gate::config::Highway, id::WorkspaceId, wire::fault::Why,
    workspace::lifecycle::State,
};

use super::door::{Door, Turned};

const COORDINATOR: Principal = Principal::Coordinator;

fn agent(number: u32) -> Principal {
    Principal::Agent(WorkspaceId(number))
}

fn plan() -> Value {
    json!({"do": "submit_graph", "tasks": [
        {"name": "read", "description": "Both of them.", "priority": "elevated",
            "resource_estimate": {"tokens": 500, "wall_time": "5m"}},
        {"name": "judge", "depends_on": ["read"]}]})
}

fn reader(task: &str) -> Value {
    json!({"do": "create_workspace", "agent": "reader", "task": task, "directive": "Read both.",
        "context": {"format": "json", "text": "{\"in\": \"EUR\"}"}, "visibility": ["offers/"],
        "authority": ["out/"], "mounts": ["ruler"], "budget": {"tokens": 900}, "timeout": "2h"})
}

fn result(about: &str) -> Value {
    json!({"do": "create_checkpoint", "status": "final", "intent": "Read.",
        "artifacts": [{"resource": about, "text": "B is dearer."}]})
}

/// Every order that the design shows, in a run that people approve.
#[test]
fn a_plan_is_approved_worked_on_and_merged() {
    let mut door = Door::new(Highway::supervised());
    let bob = Principal::User(door.world.bob);
    let asked = door.ok(COORDINATOR, plan());
    assert_eq!(
        asked,
        json!({"result": "asked", "graph": "p0", "tasks": {"judge": "t1", "read": "t0"},
            "gates": ["g0", "g1"]})
    );
    door.approve();
    let goal = door.world.run.graphs[0].root_task;
    assert_eq!(goal.to_string(), "t1", "the last that no other depends on");

    let made = door.ok(COORDINATOR, reader("t0"));
    assert_eq!(
        made,
        json!({"result": "done", "workspace": "w1", "status": "idle"})
    );
    let sent = door.ok(
        COORDINATOR,
        json!({"do": "send", "to": "w1", "type": "directive", "payload": "Begin with A."}),
    );
    assert_eq!(
        (&sent["result"], &sent["envelope"]),
        (&json!("done"), &json!("e1"))
    );
    let taken = door.ok(agent(1), json!({"do": "acknowledge", "envelope": "e1"}));
    assert_eq!(taken["status"], "active");

    let stuck = json!({"do": "emit", "signal": "blocked", "reason": "B has no price."});
    let stuck = door.ok(agent(1), stuck);
    assert_eq!(stuck["status"], "blocked");
    door.ok(
        bob,
        json!({"do": "inject", "to": "w1", "payload": "It costs two.", "type": "feedback"}),
    );
    let on = door.ok(agent(1), json!({"do": "emit", "signal": "started"}));
    assert_eq!(on["status"], "active");
    let made = door.ok(agent(1), result("out/a.md"));
    assert_eq!(
        (&made["checkpoint"], &made["artifacts"]),
        (&json!("c0"), &json!(["a0"]))
    );
    let done = door.ok(agent(1), json!({"do": "emit", "signal": "complete"}));
    assert_eq!(done["status"], "integrating");
    let merged = door.ok(
        COORDINATOR,
        json!({"do": "accept", "workspace": "w1", "strategy": "layered"}),
    );
    assert_eq!(
        merged,
        json!({"result": "asked", "gates": ["g2"], "status": "integrating"})
    );
    door.approve();
    assert_eq!(door.world.state(WorkspaceId(1)), State::Closed);

    let more = door.ok(
        COORDINATOR,
        json!({"do": "decompose", "task": "t1", "tasks": [{"name": "summary"}]}),
    );
    assert_eq!(
        (&more["result"], &more["tasks"]),
        (&json!("asked"), &json!({"summary": "t2"}))
    );
    door.approve();
    let shut = door.ok(COORDINATOR, json!({"do": "shut_down"}));
    assert_eq!(shut["status"], "closed");
}

#[test]
fn mail_says_what_an_agent_must_hear() {
    let mut door = Door::new(Highway::open());
    let bob = Principal::User(door.world.bob);
    door.ok(COORDINATOR, plan());
    door.ok(COORDINATOR, reader("t0"));
    door.ok(
        COORDINATOR,
        json!({"do": "send", "to": "w1", "type": "directive", "payload": "Begin.",
            "priority": "urgent"}),
    );
    door.ok(agent(1), json!({"do": "acknowledge", "envelope": "e1"}));
    door.ok(
        bob,
        json!({"do": "inject", "to": "w1", "payload": "Faster."}),
    );
    door.ok(
        agent(1),
        json!({"do": "emit", "signal": "blocked", "reason": "No price."}),
    );
    let bye =
        json!({"do": "terminate_gracefully", "workspace": "w1", "grace": "60s", "reason": "Late."});
    door.ok(COORDINATOR, bye);

    let mail = door.mail(WorkspaceId(1));
    let said: Vec<&Value> = mail.iter().map(|item| &item["payload"]["text"]).collect();
    assert_eq!(said, ["Begin.", "Faster.", "Late."]);
    let (first, people, last) = (&mail[0], &mail[1], &mail[2]);
    assert_eq!(
        (
            &first["kind"],
            &first["from"],
            &first["type"],
            &first["priority"],
            &first["origin"]
        ),
        (
            &json!("envelope"),
            &json!("w0"),
            &json!("directive"),
            &json!("urgent"),
            &json!("agent")
        )
    );
    assert!(first["timestamp"].is_string() && first["in_reply_to"].is_null());
    assert!(first.get("by").is_none() && first.get("intent").is_none());
    assert_eq!(
        (&people["origin"], &people["by"]),
        (&json!("human"), &json!("bob"))
    );
    assert_eq!(
        (&last["intent"], &last["grace"]),
        (&json!("graceful_termination"), &json!("1m"))
    );
    let mut up = door.mail(WorkspaceId::ROOT).into_iter();
    let blocked = up.find(|item| item["type"] == "blocked").unwrap();
    assert_eq!(
        (&blocked["kind"], &blocked["from"], &blocked["reason"]),
        (&json!("signal"), &json!("w1"), &json!("No price."))
    );
}

#[test]
fn a_delegate_hears_who_answered_at_its_gate() {
    let mut highway = Highway::open();
    highway.integration.enabled = true;
    let mut door = Door::new(highway);
    door.ok(
        COORDINATOR,
        json!({"do": "create_workspace", "agent": "lead", "directive": "Lead.", "delegate": true,
            "authority": ["out/"]}),
    );
    door.ok(
        COORDINATOR,
        json!({"do": "send", "to": "w1", "type": "directive", "payload": "Go."}),
    );
    // Its own part of the tree is where it makes others.
    door.ok(
        agent(1),
        json!({"do": "create_workspace", "agent": "hand", "directive": "Help.", "authority": ["out/"]}),
    );
    assert!(door.world.run.is_beneath(WorkspaceId(2), WorkspaceId(1)));
    door.ok(
        agent(1),
        json!({"do": "send", "to": "w2", "type": "directive", "payload": "Go."}),
    );
    door.ok(agent(2), result("out/b.md"));
    door.ok(agent(2), json!({"do": "emit", "signal": "complete"}));
    let asked = door.ok(
        agent(1),
        json!({"do": "accept", "workspace": "w2", "strategy": "direct"}),
    );
    assert_eq!(asked["gates"], json!(["g0"]));
    door.approve();
    let mut mail = door.mail(WorkspaceId(1)).into_iter();
    let answer = mail.find(|item| item["kind"] == "gate").unwrap();
    assert_eq!(
        answer,
        json!({"kind": "gate", "gate": "g0", "type": "integration", "answer": "approve",
            "by": "bob", "task": null, "workspace": "w2", "envelope": null})
    );
}

#[test]
fn a_list_names_what_its_orders_make() {
    let mut door = Door::new(Highway::open());
    let mut planned = plan();
    planned["as"] = json!("plan");
    let mut made = reader("@plan.read");
    made["as"] = json!("w");
    let directive = json!({"do": "send", "to": "@w", "type": "directive", "payload": "Begin."});
    let answers = door.send(COORDINATOR, json!({"orders": [planned, made, directive]}));
    let answers = answers.unwrap();
    assert_eq!(
        (&answers[1]["workspace"], &answers[2]["envelope"]),
        (&json!("w1"), &json!("e1"))
    );
    assert_eq!(door.world.state(WorkspaceId(1)), State::Active);
    let owner = door.world.run.open(WorkspaceId(1)).unwrap().owner;
    assert_eq!(
        owner.user(),
        Some(door.world.ann),
        "by default the agent's owner"
    );

    // A name is its own list's.
    let resume = json!({"do": "resume", "workspace": "@w"});
    let Err(Turned::Away(fault)) = door.send(COORDINATOR, resume) else {
        panic!("nothing is called so any more");
    };
    assert!(matches!(fault.why, Why::UnknownName(_)), "{fault}");
}

#[test]
fn a_name_or_a_content_that_is_not_there_is_told_from_what_the_rules_refuse() {
    let mut door = Door::new(Highway::open());
    door.ok(COORDINATOR, plan());
    door.ok(COORDINATOR, reader("t0"));
    let code = |door: &mut Door, order: Value| match door.send(COORDINATOR, order).unwrap_err() {
        Turned::Away(fault) => fault.code(),
        Turned::Down(refusal) => refusal.code(),
    };
    let transfer = |to| json!({"do": "transfer_ownership", "workspace": "w1", "to": to});
    assert_eq!(code(&mut door, transfer("zoe")), "unknown_person");
    let send = |payload| json!({"do": "send", "to": "w1", "type": "directive", "payload": payload});
    let missing = json!({"format": "markdown", "sha256": "0".repeat(64)});
    assert_eq!(code(&mut door, send(missing)), "unknown_content");
    let rumour = json!({"do": "send", "to": "w1", "type": "rumour", "payload": "x"});
    assert_eq!(code(&mut door, rumour), Refusal::InvalidType.code());
    let stranger = json!({"do": "resume", "workspace": "w99"});
    assert_eq!(code(&mut door, stranger), Refusal::TargetNotFound.code());
    let early = reader("t1");
    assert_eq!(code(&mut door, early), "agent_bound");
    // Who counts what is used is no agent's to say.
    let mut counted = reader("t1");
    counted["metered"] = json!(true);
    assert_eq!(code(&mut door, counted), "unknown_key");
    let mut early = reader("t1");
    early["agent"] = json!("judge");
    assert_eq!(code(&mut door, early), "task_not_ready");
    let migrate =
        json!({"do": "migrate", "workspace": "w1", "new_agent": "other", "reason": "Silent."});
    assert_eq!(code(&mut door, migrate), "invalid_state");
}

#[test]
fn a_checkpoint_stands_on_the_one_before_unless_it_says_otherwise() {
    let mut door = Door::new(Highway::open());
    door.ok(COORDINATOR, plan());
    door.ok(COORDINATOR, reader("t0"));
    door.ok(
        COORDINATOR,
        json!({"do": "send", "to": "w1", "type": "directive", "payload": "Go."}),
    );
    door.ok(agent(1), result("out/a"));
    let second = door.ok(agent(1), result("out/a"));
    assert_eq!(second["checkpoint"], "c1");
    let mut fork = result("out/a");
    fork["parent"] = Value::Null;
    let refused = door.send(agent(1), fork).unwrap_err();
    assert_eq!(refused, Turned::Down(Refusal::NotChainHead));
}
