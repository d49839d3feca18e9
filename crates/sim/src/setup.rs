//! How a run begins: any mixture of gates, a coordinator ready to work, a few
//! people, one of whom may do everything.

use std::sync::Arc;

use wacp::{
    Command, Order, Principal,
    content::Content,
    escalation,
    gate::{
        GateType,
        config::{Fallback, Highway},
    },
    id::UserId,
    role::Taxonomy,
    signal::SignalType,
    user::Capability,
    workspace::{Limits, NewRun},
};

use crate::{dice::Dice, orders, player::text};

fn highway(dice: &mut Dice) -> Highway {
    let mut highway = dice.pick(&[
        Highway::open(),
        Highway::autonomous(),
        Highway::supervised(),
        Highway::gated(),
    ]);
    let fallbacks = [
        Fallback::Approve,
        Fallback::Reject,
        Fallback::EscalateToCoordinator,
    ];
    for kind in GateType::ALL {
        if dice.chance(30) {
            let gate = highway.gate_mut(kind);
            gate.enabled = !gate.enabled;
            gate.fallback = dice.pick(&fallbacks);
        }
        // Waiting for ever is possible, where somebody says so.
        if dice.rarely(8) {
            highway.gate_mut(kind).timeout_us = None;
        }
    }
    if dice.chance(20) {
        highway.escalation.fallback = escalation::Fallback::Approve;
    }
    if dice.chance(5) {
        highway.escalation.enabled = false;
    }
    if dice.chance(5) {
        highway.injection = false;
    }
    highway
}

pub fn new_run(dice: &mut Dice) -> NewRun {
    NewRun {
        agent: text("coordinator"),
        directive: Content::markdown("goal"),
        highway: highway(dice),
        limits: Limits {
            max_open_workspaces: 10 + dice.roll(40) as u32,
            ..Limits::default()
        },
        taxonomy: Taxonomy::with_reviewer(),
    }
}

/// The first orders of a run.
pub fn beginning(dice: &mut Dice) -> Vec<Order> {
    let start = Command::StartRun(Box::new(new_run(dice)));
    let mut orders = vec![
        Order::new(Principal::Runtime, start),
        Order::new(Principal::Coordinator, orders::emission(SignalType::Ready)),
    ];
    for name in ["ann", "bob", "cid"] {
        let create = Command::CreateUser {
            name: text(name),
            capabilities: match name {
                "bob" => Capability::ALL.into(),
                _ => Arc::from([]),
            },
        };
        orders.push(Order::new(Principal::Operator, create));
    }
    for capability in Capability::ALL {
        if dice.chance(40) {
            let user = UserId(0);
            let grant = Command::GrantCapability { user, capability };
            orders.push(Order::new(Principal::Administrator(UserId(1)), grant));
        }
    }
    orders
}
