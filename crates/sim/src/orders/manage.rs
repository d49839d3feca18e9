//! What whoever manages workspaces orders about them.

use std::sync::Arc;

use wacp::{
    Command, Principal,
    id::WorkspaceId,
    workspace::{Band, Seen, WindDown, budget::Dimension, lifecycle::State},
};

use super::{Kind, kind};
use crate::player::{AT_WORK, Player, text};

pub const KINDS: &[Kind] = &[
    kind("create_workspace", 95, create_workspace),
    kind("grant_visibility", 12, grant_visibility),
    kind("grant_authority", 8, grant_authority),
    kind("set_priority", 6, set_priority),
    kind("set_group_priority", 3, set_group_priority),
    kind("raise_budget", 14, raise_budget),
    kind("suspend", 20, suspend),
    kind("resume", 20, resume),
    kind("migrate", 16, migrate),
    kind("abort", 14, abort),
    kind("abort_group", 2, abort_group),
    kind("terminate_gracefully", 7, terminate_gracefully),
    kind("transfer_ownership", 10, transfer_ownership),
    kind("reparent", 12, reparent),
    kind("approve_delegation", 8, approve_delegation),
    kind("read", 8, read),
    kind("read_trail", 8, read_trail),
];

const BEFORE_THE_END: [State; 3] = [State::Idle, State::Active, State::Blocked];

fn create_workspace(player: &mut Player<'_>) -> (Principal, Command) {
    let new = player.new_workspace();
    let delegate = Principal::Agent(new.parent);
    let by = match player.dice.roll(10) {
        0 => player.human(),
        1..=5 => Principal::Coordinator,
        _ => player.either(delegate, Principal::Coordinator),
    };
    (by, Command::CreateWorkspace(Box::new(new)))
}

fn grant_visibility(player: &mut Player<'_>) -> (Principal, Command) {
    let workspace = player.in_state(&BEFORE_THE_END);
    let targets: Arc<[Seen]> = match player.dice.roll(20) {
        0 => Arc::from([]),
        1..=4 => Arc::from([Seen::Resource(text(player.resource()))]),
        _ => Arc::from([Seen::Workspace(player.workspace())]),
    };
    let command = Command::GrantVisibility {
        workspace,
        targets,
        reason: player.dice.chance(30).then(|| player.words("to compare")),
    };
    (Principal::Coordinator, command)
}

fn grant_authority(player: &mut Player<'_>) -> (Principal, Command) {
    let resource = player.dice.pick(&["docs/", "src/deep/", "src/more/"]);
    let command = Command::GrantAuthority {
        workspace: player.in_state(&[State::Idle]),
        resources: if player.dice.chance(4) {
            Arc::from([])
        } else {
            Arc::from([text(resource)])
        },
    };
    (Principal::Coordinator, command)
}

const BANDS: [Band; 3] = [Band::Critical, Band::Interactive, Band::Background];

fn set_priority(player: &mut Player<'_>) -> (Principal, Command) {
    let command = Command::SetPriority {
        workspace: player.in_state(&AT_WORK),
        priority: player.dice.pick(&BANDS),
    };
    (Principal::Coordinator, command)
}

fn group(player: &mut Player<'_>) -> wacp::role::Text {
    let unknown = player.dice.chance(8);
    text(if unknown { "nobody" } else { "g" })
}

fn set_group_priority(player: &mut Player<'_>) -> (Principal, Command) {
    let command = Command::SetGroupPriority {
        group: group(player),
        priority: player.dice.pick(&BANDS),
    };
    (Principal::Coordinator, command)
}

fn abort_group(player: &mut Player<'_>) -> (Principal, Command) {
    let group = group(player);
    (Principal::Coordinator, Command::AbortGroup { group })
}

fn raise_budget(player: &mut Player<'_>) -> (Principal, Command) {
    let other = (player.workspace(), player.dice.pick(&Dimension::ALL));
    let run = player.run;
    let all = (0..run.next.workspaces).map(WorkspaceId);
    let limited = all.flat_map(|id| {
        let meter = run.open(id).and_then(|open| open.meter.as_deref());
        let limited = Dimension::ALL
            .into_iter()
            .filter(move |d| meter.is_some_and(|meter| meter.limits.limit(*d).is_some()));
        limited.map(move |dimension| (id, dimension))
    });
    let (workspace, dimension) = player.one_of(limited, other);
    let old = run
        .open(workspace)
        .and_then(|open| open.meter.as_deref()?.limits.limit(dimension));
    let limit = match old {
        Some(old) if player.dice.chance(85) => old + 1 + player.dice.roll(50),
        _ => player.dice.roll(1000),
    };
    let human = player.human();
    let command = Command::RaiseBudget {
        workspace,
        dimension,
        limit,
    };
    (player.either(Principal::Coordinator, human), command)
}

fn suspend(player: &mut Player<'_>) -> (Principal, Command) {
    let command = Command::Suspend {
        workspace: player.in_state(&AT_WORK),
        reason: player.words("wait"),
    };
    let human = player.human();
    (player.either(Principal::Coordinator, human), command)
}

fn resume(player: &mut Player<'_>) -> (Principal, Command) {
    let workspace = player.in_state(&[State::Suspended]);
    let human = player.human();
    let by = player.either(Principal::Coordinator, human);
    (by, Command::Resume { workspace })
}

fn migrate(player: &mut Player<'_>) -> (Principal, Command) {
    let command = Command::Migrate {
        workspace: player.in_state(&AT_WORK),
        new_agent: player.agent(),
        reason: player.words("a better one"),
    };
    (Principal::Coordinator, command)
}

fn abort(player: &mut Player<'_>) -> (Principal, Command) {
    let command = Command::Abort {
        workspace: player.workspace(),
        reason: player.dice.chance(50).then(|| player.words("no use")),
    };
    let human = player.human();
    (player.either(Principal::Coordinator, human), command)
}

fn terminate_gracefully(player: &mut Player<'_>) -> (Principal, Command) {
    let workspace = player.in_state(&AT_WORK);
    let grace_us = if player.dice.chance(4) { 0 } else { 10_000_000 };
    let reason = player.words("late");
    let mut request = WindDown::of(workspace, grace_us, reason, player.content());
    request.check = player.check();
    let command = Command::TerminateGracefully(Box::new(request));
    (Principal::Coordinator, command)
}

fn transfer_ownership(player: &mut Player<'_>) -> (Principal, Command) {
    let command = Command::TransferOwnership {
        workspace: player.workspace(),
        to: player.user(),
        reason: player.dice.chance(50).then(|| player.words("on leave")),
    };
    let human = player.human();
    (player.either(Principal::Coordinator, human), command)
}

fn reparent(player: &mut Player<'_>) -> (Principal, Command) {
    let other = player.workspace();
    let run = player.run;
    let under_root = run.open_children(WorkspaceId::ROOT);
    let command = Command::Reparent {
        workspace: player.one_of(under_root, other),
        parent: player.in_state(&AT_WORK),
        reason: player.words("an orphan"),
    };
    (Principal::Coordinator, command)
}

fn approve_delegation(player: &mut Player<'_>) -> (Principal, Command) {
    let other = player.workspace();
    let run = player.run;
    let all = (0..run.next.workspaces).map(WorkspaceId);
    let delegates = all.filter(|id| run.open(*id).is_some_and(|open| open.delegate));
    let delegate = player.one_of(delegates, other);
    let human = player.human();
    let by = player.either(Principal::Coordinator, human);
    (by, Command::ApproveDelegation { delegate })
}

/// Agents mostly read what is theirs, and sometimes what is not.
fn reader(player: &mut Player<'_>) -> (Principal, WorkspaceId) {
    let id = player.in_state(&AT_WORK);
    let target = if player.dice.chance(50) {
        id
    } else {
        player.workspace()
    };
    let human = player.human();
    (player.either(Principal::Agent(id), human), target)
}

fn read(player: &mut Player<'_>) -> (Principal, Command) {
    let (by, workspace) = reader(player);
    let command = Command::Read {
        workspace,
        resource: player.dice.chance(50).then(|| text(player.resource())),
    };
    (by, command)
}

fn read_trail(player: &mut Player<'_>) -> (Principal, Command) {
    let (by, workspace) = reader(player);
    let workspace = (!player.dice.chance(10)).then_some(workspace);
    (by, Command::ReadTrail { workspace })
}
