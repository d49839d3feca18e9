//! What a run starts with: limits, highway and taxonomy.

use serde_json::{Value, json};
use wacp::{
    Principal, Run,
    gate::{GateType, config::Highway},
    role::Taxonomy,
    wire::{self, Context, Defaults},
    workspace::Limits,
};

use super::{
    names::{Names, Words},
    shelf::Shelf,
    spelling::none_is_null,
    trouble,
};
use crate::{Outcome, file::Table};

/// Reads a setting as the wire does; what is no setting of ours is refused.
fn read<T>(
    key: &'static str,
    value: Option<Value>,
    setting: fn(&wire::Args<'_>, &'static str) -> wire::Outcome<T>,
) -> Outcome<T> {
    let mut table = Table::new();
    table.extend(value.map(|value| (key.to_owned(), value)));
    to_wire(&mut table);
    let names = Names::new();
    let context = Context {
        run: &Run::default(),
        by: Principal::Runtime,
        names: &Words(&names),
        shelf: &Shelf::default(),
        defaults: Defaults::default(),
    };
    let args = wire::Args::new(&table, &context, "");
    setting(&args, key).map_err(trouble)
}

pub fn limits(table: Option<&Table>) -> Outcome<Limits> {
    let limits = table.map(|table| json!(table));
    read("limits", limits, wire::setting::limits)
}

/// Without gates, unless the file names some.
pub fn highway(value: Option<&Value>) -> Outcome<Highway> {
    let value = value.cloned().unwrap_or(json!(OPEN));
    read("highway", Some(value), wire::setting::highway)
}

pub fn taxonomy(value: Option<&Value>) -> Outcome<Taxonomy> {
    let value = value.cloned().unwrap_or(json!(REVIEWER));
    read("taxonomy", Some(value), wire::setting::taxonomy)
}

/// A highway of these files alone: autonomous without its gate.
const OPEN: &str = "open";
const REVIEWER: &str = "reviewer";

/// Puts the words of files for settings into the wire's.
pub fn to_wire(order: &mut Table) {
    if let Some(highway) = order.get_mut("highway") {
        if *highway == json!(OPEN) {
            *highway = json!({});
        }
        if let Value::Object(table) = highway {
            opened(table);
        }
    }
    if let Some(taxonomy) = order.get_mut("taxonomy") {
        match taxonomy.as_str() {
            Some("base") => *taxonomy = json!({}),
            Some(REVIEWER) => *taxonomy = json!(Taxonomy::with_reviewer()),
            _ => {}
        }
    }
}

fn opened(table: &mut Table) {
    let preset = table.entry("preset").or_insert(json!(OPEN));
    if *preset == json!(OPEN) {
        *preset = json!("autonomous");
        let off = json!({"enabled": false});
        table.entry("task_approval").or_insert(off);
    }
    let gates = GateType::ALL.map(|kind| json!(kind));
    let gates = gates.iter().filter_map(Value::as_str);
    for key in gates.chain(["escalation"]) {
        if let Some(Value::Object(gate)) = table.get_mut(key) {
            none_is_null(gate, "timeout");
        }
    }
}
