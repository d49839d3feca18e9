//! The orders of one body, in the order in which they are taken.

use serde_json::Value;
use trail::KeyName;

use crate::{
    role::Text,
    wire::{Fault, Outcome, Table, fault::Why, kind::Kind},
};

/// Orders of one list; more are sent in parts.
pub const MAX_ORDERS: usize = 256;

/// One order of a list, and the name that later ones give what it makes.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    pub name: Option<Text>,
    pub order: Table,
}

/// The orders of a body: one, or `{"orders": […]}`.
pub fn list(body: Value) -> Outcome<Vec<Sent>> {
    let not_an_order = || Fault::new("", Why::NotAnOrder);
    let Value::Object(mut table) = body else {
        return Err(not_an_order());
    };
    let Some(orders) = table.remove("orders") else {
        return Ok(vec![sent(table)?]);
    };
    let Value::Array(orders) = orders else {
        return Err(not_an_order());
    };
    if let Some(key) = table.keys().next() {
        let why = Why::UnknownKey(KeyName::new(key));
        return Err(Fault::new("", why));
    }
    if orders.is_empty() {
        return Err(Fault::new("", Why::EmptyList));
    }
    if orders.len() > MAX_ORDERS {
        return Err(Fault::new("", Why::TooManyOrders(MAX_ORDERS)));
    }
    let mut read: Vec<Sent> = Vec::with_capacity(orders.len());
    for (index, order) in orders.into_iter().enumerate() {
        let one = match order {
            Value::Object(table) => sent(table),
            _ => Err(not_an_order()),
        };
        let one = one.map_err(|fault| fault.at(index))?;
        let is_taken = |sent: &Sent| sent.name.is_some() && sent.name == one.name;
        if let (Some(name), true) = (&one.name, read.iter().any(is_taken)) {
            let why = Why::NameTaken(KeyName::new(name));
            return Err(Fault::new("", why).at(index));
        }
        read.push(one);
    }
    Ok(read)
}

fn sent(mut order: Table) -> Outcome<Sent> {
    let name = match order.remove("as") {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) => Some(Text::from(name)),
        Some(_) => return Err(Fault::new("as", Why::WrongKind(Kind::Text))),
    };
    Ok(Sent { name, order })
}
