//! What a run starts with: limits, highway and taxonomy.

use serde_json::{Value, json};
use wacp::{Run, role::Taxonomy, workspace::Limits};

use super::{
    args::{Args, word},
    names::Names,
};
use crate::{Outcome, Trouble, broken, file::Table};

pub(crate) fn taxonomy_of(run: &Run) -> Taxonomy {
    run.setup
        .as_deref()
        .map_or_else(Taxonomy::base, |setup| setup.started.taxonomy.clone())
}

pub fn limits(table: Option<&Table>, names: &Names) -> Outcome<Limits> {
    let mut limits = Limits::default();
    if let Some(table) = table {
        let args = Args::new(table, names);
        if let Some(percent) = args.number("budget_warning_percent")? {
            limits.budget_warning_percent = u8::try_from(percent).unwrap_or(u8::MAX);
        }
        if let Some(us) = args.length("idle_timeout")? {
            limits.idle_timeout_us = us;
        }
        if let Some(us) = args.length("redelivery_base")? {
            limits.redelivery_base_us = us;
        }
        if let Some(open) = args.number("max_open_workspaces")? {
            limits.max_open_workspaces = u32::try_from(open).unwrap_or(u32::MAX);
        }
        // What is no limit of ours is a constant, or nothing at all.
        if let Err(trouble) = args.all_used() {
            return Err(Trouble::Malformed(trouble.to_string()));
        }
    }
    Ok(limits)
}

pub fn highway(value: Option<&Value>, names: &Names) -> Outcome<wacp::gate::config::Highway> {
    use wacp::gate::{GateType, config::Highway};
    let preset = |name: &str| match name {
        "open" => Ok(Highway::open()),
        "autonomous" => Ok(Highway::autonomous()),
        "supervised" => Ok(Highway::supervised()),
        "gated" => Ok(Highway::gated()),
        _ => Err(Trouble::Malformed(format!("preset = {name}"))),
    };
    let timeout = |args: &Args<'_>, before: Option<u64>| match args.get("timeout") {
        Some(Value::String(text)) if text == "none" => Ok(None),
        Some(_) => args.length("timeout"),
        None => Ok(before),
    };
    let table = match value {
        None => return Ok(Highway::open()),
        Some(Value::String(name)) => return preset(name),
        Some(Value::Object(table)) => table,
        Some(_) => return broken("`highway` must be a preset or a table"),
    };
    let args = Args::new(table, names);
    let mut highway = preset(args.string("preset")?.unwrap_or("open"))?;
    highway.injection = args.flag("injection", highway.injection)?;
    highway.visibility = args.flag("visibility", highway.visibility)?;
    if let Some(escalation) = args.inner("escalation")? {
        let setting = &mut highway.escalation;
        setting.enabled = escalation.flag("enabled", setting.enabled)?;
        setting.timeout_us = timeout(&escalation, setting.timeout_us)?;
        setting.fallback = escalation.word("fallback")?.unwrap_or(setting.fallback);
        escalation.all_used()?;
    }
    for kind in GateType::ALL {
        let name = json!(kind);
        let Some(gate) = args.inner(name.as_str().unwrap_or_default())? else {
            continue;
        };
        let setting = highway.gate_mut(kind);
        setting.enabled = gate.flag("enabled", true)?;
        setting.timeout_us = timeout(&gate, setting.timeout_us)?;
        setting.fallback = gate.word("fallback")?.unwrap_or(setting.fallback);
        gate.all_used()?;
    }
    match args.all_used() {
        Ok(()) => Ok(highway),
        // A gate of another type: the set is closed.
        Err(trouble) => Err(Trouble::Malformed(trouble.to_string())),
    }
}

pub fn taxonomy(value: Option<&Value>) -> Outcome<Taxonomy> {
    match value {
        None => Ok(Taxonomy::with_reviewer()),
        Some(Value::String(name)) if name == "base" => Ok(Taxonomy::base()),
        Some(Value::String(name)) if name == "reviewer" => Ok(Taxonomy::with_reviewer()),
        Some(value) => {
            let mut whole = json!(Taxonomy::base());
            if let (Some(whole), Some(given)) = (whole.as_object_mut(), value.as_object()) {
                for (key, value) in given {
                    whole.insert(key.clone(), value.clone());
                }
            }
            word("taxonomy", &whole)
        }
    }
}
