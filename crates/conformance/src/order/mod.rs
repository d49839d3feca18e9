//! An order as a file spells it, as a command of ours.
//!
//! The core reads it (`wacp::wire`); here it is only put into the wire's words:
//! what a file leaves out is put in, and what a file says in its own way is
//! said in the wire's. What no wire carries is read in `own`.

use serde_json::{Value, json};
use wacp::{
    Command, Principal, Run,
    wire::{
        self, Context, Defaults, Fault,
        access::{Access, Way},
        fault::Why,
    },
};

use self::{names::Words, proof::Claims, shelf::Shelf};
use crate::{Outcome, Trouble, file::Table};

mod args;
mod defaults;
mod names;
mod own;
mod proof;
mod setting;
mod shelf;
mod spelling;

pub use self::{
    args::Args,
    defaults::defaults,
    names::{Names, artifact_hash, id, principal},
    setting::{highway, limits, taxonomy},
};

/// Reads one order. `by`, `do`, `after` and what is expected are the player's.
pub fn command(
    run: &Run,
    by: Principal,
    name: &str,
    order: &Table,
    names: &Names,
) -> Outcome<Command> {
    let mut order = order.clone();
    let claims = Claims::take(name, &mut order);
    let mut shelf = Shelf::default();
    defaults::fill(run, name, &mut order);
    spelling::to_wire(name, &mut order, &mut shelf)?;
    let context = Context {
        run,
        by,
        names: &Words(names),
        shelf: &shelf,
        defaults: Defaults {
            metered: claims.is_metered(),
            ..Defaults::default()
        },
    };
    let mut command = match Access::of(name) {
        Some(access) if access.way != Way::Order => own::command(&context, name, &order),
        _ => {
            order.insert("do".to_owned(), json!(name));
            wire::order::command(&context, &order)
        }
    }
    .map_err(trouble)?;
    claims.prove(by, &mut command, names)?;
    Ok(command)
}

/// The keys of an order.
pub fn keys(name: &str) -> Vec<&'static str> {
    let own = proof::keys(name).iter().copied();
    let keys = match Access::of(name) {
        Some(access) if access.way != Way::Order => own::keys(name),
        _ => wire::order::keys(name),
    };
    keys.into_iter().map(|key| key.name).chain(own).collect()
}

/// Closed sets, settings and addresses are refused by every implementation;
/// anything else is a slip of the pen.
fn trouble(fault: Fault) -> Trouble {
    let is_closed = matches!(fault.why, Why::UnknownOrder(_) | Why::UnknownWord(_));
    let place = fault.place.split('/').next().unwrap_or_default();
    let is_setting = matches!(place, "highway" | "limits" | "taxonomy" | "to");
    match is_closed || is_setting {
        true => Trouble::Malformed(fault.to_string()),
        false => Trouble::Broken(fault.to_string()),
    }
}

/// A part of an order that is a table, or a list of them.
fn tables<'a>(order: &'a mut Table, key: &str) -> impl Iterator<Item = &'a mut Table> {
    let items = match order.get_mut(key) {
        Some(Value::Array(items)) => &mut items[..],
        Some(one) => std::slice::from_mut(one),
        None => &mut [],
    };
    items.iter_mut().filter_map(Value::as_object_mut)
}
