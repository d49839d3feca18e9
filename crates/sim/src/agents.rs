//! What everyone does of their own accord: agents work, the coordinator plans
//! and judges, people answer, or do not.
//!
//! Each sees the run as it is when they act, and knows nothing else.

use wacp::{
    Command, Effect, Order, Principal, Run,
    content::Content,
    effect::Notice,
    envelope::NewEnvelope,
    id::{EnvelopeId, SignalId, TaskId, UserId, WorkspaceId},
    role::{EnvelopeType, Role},
    signal::SignalType,
    task::{DependsOn, NewGraph, NewTask, is_dispatchable},
    user::UserState,
    workspace::{NewWorkspace, budget::Dimension, lifecycle::State},
};

use crate::{
    dice::Dice,
    errands::{Errand, Intent},
    orders::emission,
    player::{Player, text},
};

/// What follows, and about how long it takes.
pub type Next = Vec<(u64, Errand)>;

const MOMENT: u64 = 100_000;
const WHILE: u64 = 5_000_000;
const SOON: u64 = 15_000_000;
const MINUTES: u64 = 120_000_000;

/// How somebody takes what they are told. `signal` says what a signal was.
pub fn told(
    effect: &Effect,
    signal: impl Fn(SignalId) -> Option<(WorkspaceId, SignalType)>,
    dice: &mut Dice,
) -> Next {
    let intend = |after: u64, intent: Intent| (after, Errand::Do(intent));
    let mut next = Vec::new();
    match effect {
        Effect::BindAgent { workspace, .. } => {
            next.push(intend(MOMENT, Intent::Begin(*workspace)));
            next.push(intend(MOMENT, Intent::Bind(*workspace)));
        }
        Effect::UnbindAgent { workspace } => {
            next.push(intend(MINUTES, Intent::Resume(*workspace)));
        }
        Effect::Deliver { to, envelope, .. } => {
            next.push(intend(MOMENT, Intent::Take(*to, *envelope)));
            next.push(intend(WHILE, Intent::Work(*to)));
        }
        Effect::DeliverSignal { signal: id, .. } => {
            if let Some((from, kind)) = signal(*id) {
                let heard = match kind {
                    SignalType::Ready | SignalType::Blocked => Some(Intent::Direct(from)),
                    SignalType::Complete => Some(Intent::Judge(from)),
                    SignalType::Failed => Some(Intent::Retry(from)),
                    _ => None,
                };
                next.extend(heard.map(|intent| intend(WHILE, intent)));
            }
        }
        Effect::RequestFinish { to, .. } => next.push(intend(WHILE, Intent::Work(*to))),
        Effect::ReportUndeliverable { from, .. } => {
            next.push(intend(WHILE, Intent::Work(*from)));
        }
        // Some are never answered.
        Effect::ShowGate { gate } if dice.chance(75) => {
            next.push(intend(SOON, Intent::Answer(*gate)));
        }
        Effect::ShowEscalation { user, signal } if dice.chance(75) => {
            next.push(intend(SOON, Intent::Reply(*user, *signal)));
        }
        Effect::TellCoordinator(notice) => next.extend(noticed(notice, dice)),
        // The world writes snapshots of its own accord.
        Effect::TakeSnapshot { .. }
        | Effect::ShowGate { .. }
        | Effect::ShowEscalation { .. }
        | Effect::HideGate { .. }
        | Effect::HideEscalation { .. }
        | Effect::ReportAnswer { .. }
        | Effect::ReportEscalation { .. } => {}
    }
    next
}

fn noticed(notice: &Notice, dice: &mut Dice) -> Option<(u64, Errand)> {
    let intent = match notice {
        Notice::BudgetLow { workspace } => Intent::Raise(*workspace, dice.pick(&Dimension::ALL)),
        Notice::Silent { workspace } | Notice::OwnerGone { workspace } => {
            Intent::Direct(*workspace)
        }
        Notice::GateHandedOver { gate } if dice.chance(85) => Intent::Decide(*gate),
        Notice::CreationRejected => Intent::Plan,
        _ => return None,
    };
    Some((WHILE, Errand::Do(intent)))
}

/// What somebody orders now that they get to it, and what they mean to do then.
pub fn act(intent: Intent, run: &Run, dice: &mut Dice) -> (Option<Order>, Next) {
    let mut player = Player { run, dice };
    let mut next = Vec::new();
    let order = match intent {
        Intent::Plan => {
            next.push((WHILE, Errand::Do(Intent::Plan)));
            plan(&mut player)
        }
        Intent::Begin(id) => begin(run, id),
        Intent::Direct(id) => direct(&mut player, id),
        Intent::Take(id, envelope) => take(&mut player, id, envelope),
        Intent::Work(id) => work(&mut player, id, &mut next),
        Intent::Judge(id) => judge(&mut player, id),
        Intent::Retry(id) => retry(&mut player, id),
        Intent::Bind(id) => bind(&mut player, id),
        Intent::Resume(workspace) => (run.state_of(workspace) == Some(State::Suspended))
            .then(|| Order::new(Principal::Coordinator, Command::Resume { workspace })),
        Intent::Answer(gate) => {
            let by = Principal::User(UserId(1));
            Some(Order::new(by, player.answer_to(gate)))
        }
        Intent::Reply(user, signal) => {
            Some(Order::new(Principal::User(user), player.answer_for(signal)))
        }
        Intent::Decide(gate) => {
            let proceed = player.dice.chance(70);
            let command = Command::DecideGate { gate, proceed };
            Some(Order::new(Principal::Coordinator, command))
        }
        Intent::Raise(workspace, dimension) => raise(&mut player, workspace, dimension),
    };
    (order, next)
}

fn plan(player: &mut Player<'_>) -> Option<Order> {
    let run = player.run;
    let by = Principal::Coordinator;
    if run.open_count > 20 {
        return None;
    }
    let mut tasks = (0..run.tasks.len() as u32).map(TaskId);
    let task = tasks.find(|id| is_dispatchable(run, *id).is_ok());
    if task.is_some() || player.dice.chance(50) {
        let new = NewWorkspace {
            task,
            owner: someone(run),
            parent: WorkspaceId::ROOT,
            ..player.new_workspace()
        };
        return Some(Order::new(by, Command::CreateWorkspace(Box::new(new))));
    }
    let tasks = vec![
        NewTask::named("first", vec![]),
        NewTask::named("second", vec![DependsOn::New(0)]),
    ];
    let graph = NewGraph { root: 1, tasks };
    Some(Order::new(by, Command::SubmitGraph(graph)))
}

/// Somebody who is there.
fn someone(run: &Run) -> Option<UserId> {
    let mut users = (0u32..).map(UserId).zip(&run.users);
    let active = users.find(|(_, user)| user.state == UserState::Active);
    active.map(|(id, _)| id)
}

fn begin(run: &Run, id: WorkspaceId) -> Option<Order> {
    let idle = run.state_of(id) == Some(State::Idle);
    idle.then(|| Order::new(Principal::Agent(id), emission(SignalType::Ready)))
}

fn direct(player: &mut Player<'_>, id: WorkspaceId) -> Option<Order> {
    let open = player.run.open(id)?;
    let delegate = Principal::Agent(open.parent?);
    let kind = match open.state {
        State::Idle => EnvelopeType::Directive,
        _ => EnvelopeType::Feedback,
    };
    let new = NewEnvelope::to(id, kind, Content::markdown("work"));
    let by = player.either(Principal::Coordinator, delegate);
    Some(Order::new(by, Command::Send(Box::new(new))))
}

/// At least once is the runtime's, at most once the agent's: what was taken
/// already is acknowledged again and not worked on again.
fn take(player: &mut Player<'_>, workspace: WorkspaceId, envelope: EnvelopeId) -> Option<Order> {
    player.run.open(workspace)?;
    let by = player.either(Principal::Agent(workspace), Principal::Runtime);
    let command = Command::Acknowledge {
        workspace,
        envelope,
    };
    Some(Order::new(by, command))
}

fn work(player: &mut Player<'_>, id: WorkspaceId, next: &mut Next) -> Option<Order> {
    let open = player.run.open(id)?;
    if id == WorkspaceId::ROOT {
        return None;
    }
    if player.dice.chance(85) {
        next.push((WHILE, Errand::Do(Intent::Work(id))));
    }
    let by = Principal::Agent(id);
    let command = match open.state {
        State::Blocked if player.dice.chance(60) => emission(SignalType::Started),
        State::Blocked => emission(SignalType::Escalation),
        State::Active => at_work(player, id)?,
        _ => return None,
    };
    Some(Order::new(by, command))
}

fn at_work(player: &mut Player<'_>, id: WorkspaceId) -> Option<Command> {
    let open = player.run.open(id)?;
    let is_done = open.register.last_final().is_some();
    Some(match player.dice.roll(20) {
        0..=6 => Command::CreateCheckpoint(Box::new(player.checkpoint_of(id))),
        7..=9 if open.role == Role::Worker => {
            let to = open.parent?;
            let new = NewEnvelope::to(to, EnvelopeType::Query, Content::markdown("how?"));
            Command::Send(Box::new(new))
        }
        10..=11 if open.delegate => {
            let new = NewWorkspace {
                owner: None,
                task: None,
                cause: None,
                authority: open.authority.clone(),
                parent: id,
                ..player.new_workspace()
            };
            Command::CreateWorkspace(Box::new(new))
        }
        12 => emission(SignalType::Blocked),
        13 if player.dice.chance(30) => emission(SignalType::Failed),
        14 => {
            let totals = player.usage(60);
            Command::ReportUsage { totals }
        }
        15..=19 if is_done => emission(SignalType::Complete),
        _ => emission(SignalType::Started),
    })
}

fn judge(player: &mut Player<'_>, id: WorkspaceId) -> Option<Order> {
    let open = player.run.open(id)?;
    let delegate = Principal::Agent(open.parent?);
    let by = player.either(Principal::Coordinator, delegate);
    let command = match player.dice.roll(20) {
        0 => Command::Revise { workspace: id },
        1 => Command::Reject { workspace: id },
        _ => Command::Accept(Box::new(player.acceptance_of(id))),
    };
    Some(Order::new(by, command))
}

fn retry(player: &mut Player<'_>, id: WorkspaceId) -> Option<Order> {
    let task = player.run.workspace(id)?.task()?;
    let command = Command::RetryTask { task };
    Some(Order::new(Principal::Coordinator, command))
}

fn bind(player: &mut Player<'_>, workspace: WorkspaceId) -> Option<Order> {
    let state = player.run.state_of(workspace)?;
    let command = if state != State::Migrating || player.dice.chance(90) {
        Command::Bind { workspace }
    } else {
        let error = text("no answer");
        Command::FailMigration { workspace, error }
    };
    Some(Order::new(Principal::Runtime, command))
}

fn raise(player: &mut Player<'_>, workspace: WorkspaceId, dimension: Dimension) -> Option<Order> {
    let meter = player.run.open(workspace)?.meter.as_deref()?;
    let limit = meter.limits.limit(dimension)? + 20 + player.dice.roll(50);
    let command = Command::RaiseBudget {
        workspace,
        dimension,
        limit,
    };
    Some(Order::new(Principal::Coordinator, command))
}
