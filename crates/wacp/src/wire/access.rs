//! Who gives which order, and by which way it reaches the core.
//!
//! The table says of each command of the core who it admits; the core itself
//! decides for the one who asks, and records a denial. So an order of the wire
//! is given to the core in the name of whoever sent it, admitted here or not;
//! what has another way is not read at all.

use std::fmt;

trail::closed! {
    /// A kind of principal.
    Asker {
        Coordinator = "coordinator",
        /// The agent of another workspace.
        Agent = "agent",
        Person = "person",
        Meter = "meter",
        Operator = "operator",
        Runtime = "runtime",
    }
}

trail::closed! {
    /// How a command reaches the core.
    Way {
        /// Sent as an order.
        Order = "order",
        /// A person answers in the inbox.
        Inbox = "inbox",
        /// Asked before something is shown.
        Read = "read",
        /// The server alone gives it.
        Server = "server",
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Order => "send it to the run's orders",
            Way::Inbox => "a person answers in the inbox",
            Way::Read => "read the workspace or the trail by GET",
            Way::Server => "the server does it by itself",
        })
    }
}

/// One command of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub name: &'static str,
    pub way: Way,
    /// Whom the core admits, some of them only for what is theirs.
    pub by: &'static [Asker],
}

impl Access {
    pub fn of(name: &str) -> Option<&'static Access> {
        ACCESS.iter().find(|access| access.name == name)
    }

    pub fn admits(&self, asker: Asker) -> bool {
        self.by.contains(&asker)
    }
}

const fn row(name: &'static str, way: Way, by: &'static [Asker]) -> Access {
    Access { name, way, by }
}

use Asker::{Agent, Coordinator, Meter, Operator, Person, Runtime};

/// What the coordinator alone decides.
const ALONE: &[Asker] = &[Coordinator];
/// What a person with the capability does as well.
const MANAGED: &[Asker] = &[Coordinator, Person];
/// What a delegate does in its part of the tree.
const MERGED: &[Asker] = &[Coordinator, Agent];
/// What only who works can say.
const WORKED: &[Asker] = &[Agent];
const SPOKEN: &[Asker] = &[Coordinator, Agent];
const SEEN: &[Asker] = &[Coordinator, Agent, Person, Runtime];
const OPERATED: &[Asker] = &[Operator, Runtime];
const WITHIN: &[Asker] = &[Runtime];

/// Every command of the core.
pub const ACCESS: &[Access] = &[
    row("start_run", Way::Server, WITHIN),
    row("tick", Way::Server, WITHIN),
    row("acknowledge", Way::Order, &[Coordinator, Agent, Runtime]),
    row("complete_migration", Way::Server, WITHIN),
    row("fail_migration", Way::Server, WITHIN),
    row("fail_creation", Way::Server, WITHIN),
    row("meter_usage", Way::Order, &[Meter, Runtime]),
    row("report_violation", Way::Server, WITHIN),
    row("recover", Way::Server, WITHIN),
    row("report_degradation", Way::Server, WITHIN),
    row("shut_down", Way::Order, &[Coordinator, Runtime]),
    row("compact", Way::Server, WITHIN),
    row("record_snapshot", Way::Server, WITHIN),
    row("record_authentication_failure", Way::Server, WITHIN),
    row("record_authentication", Way::Server, WITHIN),
    row(
        "create_workspace",
        Way::Order,
        &[Coordinator, Agent, Person],
    ),
    row("grant_visibility", Way::Order, ALONE),
    row("grant_authority", Way::Order, ALONE),
    row("set_priority", Way::Order, ALONE),
    row("set_group_priority", Way::Order, ALONE),
    row("raise_budget", Way::Order, MANAGED),
    row("suspend", Way::Order, MANAGED),
    row("resume", Way::Order, MANAGED),
    row("migrate", Way::Order, ALONE),
    row("abort", Way::Order, MANAGED),
    row("abort_group", Way::Order, ALONE),
    row("terminate_gracefully", Way::Order, ALONE),
    row("transfer_ownership", Way::Order, MANAGED),
    row("reparent", Way::Order, ALONE),
    row("approve_delegation", Way::Order, MANAGED),
    row("create_right", Way::Order, ALONE),
    row("revoke_right", Way::Order, ALONE),
    row("submit_graph", Way::Order, ALONE),
    row("decompose", Way::Order, ALONE),
    row("retry_task", Way::Order, ALONE),
    row("cancel_task", Way::Order, ALONE),
    row("accept", Way::Order, MERGED),
    row("revise", Way::Order, MERGED),
    row("reject", Way::Order, MERGED),
    row("resolve_conflict", Way::Order, MERGED),
    row("salvage", Way::Order, MERGED),
    row("emit", Way::Order, SPOKEN),
    row("send", Way::Order, SPOKEN),
    row("create_checkpoint", Way::Order, WORKED),
    row("report_usage", Way::Order, WORKED),
    row("read", Way::Read, SEEN),
    row("read_trail", Way::Read, SEEN),
    row("resolve_gate", Way::Inbox, &[Person]),
    row("inject", Way::Order, &[Person]),
    row("answer_escalation", Way::Inbox, &[Person]),
    row("decide_gate", Way::Order, ALONE),
    // An owner of the server is the run's operator: it asks in that name.
    row("create_user", Way::Server, OPERATED),
    row("change_user", Way::Order, &[Operator, Person, Runtime]),
    row("grant_capability", Way::Order, OPERATED),
    row("revoke_capability", Way::Order, OPERATED),
];

/// The orders of the wire, in the order of the table.
pub fn orders() -> impl Iterator<Item = &'static Access> {
    ACCESS.iter().filter(|access| access.way == Way::Order)
}
