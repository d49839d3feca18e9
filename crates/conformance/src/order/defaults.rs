//! What is put in where a file says nothing, so that scenarios stay short.

use serde_json::{Value, json};
use wacp::Run;

use super::tables;
use crate::file::Table;

/// What stands for the keys that an order leaves out.
pub fn defaults(name: &str) -> Table {
    let values = match name {
        "start_run" => {
            json!({"agent": "coordinator-1", "directive": "the goal", "taxonomy": "reviewer"})
        }
        "fail_migration" => json!({"error": "it did not start"}),
        "report_degradation" | "suspend" | "reparent" => json!({"reason": "because"}),
        "record_authentication" => json!({"method": "password"}),
        "record_authentication_failure" => json!({"entity": "someone", "context": "sign-in",
            "reason": "because", "source": "192.0.2.1"}),
        "create_workspace" => json!({"parent": "root", "owner": "ann", "directive": "work",
            "authority": ["src/"]}),
        "grant_visibility" => json!({"targets": []}),
        "grant_authority" => json!({"resources": []}),
        "migrate" => json!({"new_agent": "agent-next", "reason": "because"}),
        "terminate_gracefully" => json!({"reason": "because", "payload": "finish up"}),
        "submit_graph" | "decompose" => json!({"tasks": []}),
        "accept" => json!({"strategy": "direct"}),
        "decide_gate" => json!({"proceed": true}),
        "send" | "inject" => json!({"type": "directive", "payload": "words"}),
        "create_checkpoint" => json!({"status": "final", "intent": "what it is"}),
        "answer_escalation" => json!({"type": "directive", "payload": "do this"}),
        _ => json!({}),
    };
    match values {
        Value::Object(table) => table,
        _ => Table::new(),
    }
}

/// Puts in what an order and its parts leave out.
pub fn fill(run: &Run, name: &str, order: &mut Table) {
    for (key, value) in defaults(name) {
        order.entry(key).or_insert(value);
    }
    let words = |key: &str| order.get(key).and_then(Value::as_str);
    match (name, words("resolution")) {
        // An agent that is bound to no workspace: the first one's is `agent-1`.
        ("create_workspace", _) => {
            let free = run.next.workspaces as usize + run.gates.len();
            let agent = json!(format!("agent-{free}"));
            order.entry("agent").or_insert(agent);
        }
        ("resolve_conflict", Some("coordinator_resolve")) => {
            order.entry("content").or_insert(json!("settled"));
        }
        ("resolve_conflict", Some("escalate")) => {
            order.entry("content").or_insert(json!("proposed"));
        }
        _ => {}
    }
    for task in tables(order, "tasks") {
        task.entry("name").or_insert(json!(""));
    }
    if name == "submit_graph" {
        let goal = tables(order, "tasks")
            .next()
            .and_then(|first| first.get("name").cloned());
        let goal = goal.map(|goal| ("root".to_owned(), goal));
        let is_named = order.contains_key("root");
        order.extend(goal.filter(|_| !is_named));
    }
    for conflict in tables(order, "conflicts") {
        let words = json!("they do not fit");
        conflict.entry("description").or_insert(words);
    }
    for key in ["artifacts", "synthesis"] {
        for artifact in tables(order, key) {
            artifact.entry("resource").or_insert(json!(""));
            artifact.entry("content").or_insert(json!(""));
        }
    }
}
