//! Plans, checkpoints, and what becomes of them.

use wacp::{
    Command, Principal,
    checkpoint::{Confidence, NewCheckpoint, Status},
    id::{CheckpointId, ConflictId},
    integration::{Acceptance, ConflictType, Declared, Resolution, Salvage, Strategy},
    role::CheckpointType,
    task::{DependsOn, Estimate, NewGraph, NewTask, Status as TaskStatus},
    workspace::{budget::Usage, lifecycle::State},
};

use super::{Kind, kind};
use crate::player::{AT_WORK, Player, artifact, text};

pub const KINDS: &[Kind] = &[
    kind("submit_graph", 18, submit_graph),
    kind("decompose", 8, decompose),
    kind("retry_task", 10, retry_task),
    kind("cancel_task", 5, cancel_task),
    kind("create_checkpoint", 70, create_checkpoint),
    kind("report_usage", 15, report_usage),
    kind("accept", 20, accept),
    kind("revise", 6, revise),
    kind("reject", 6, reject),
    kind("resolve_conflict", 15, resolve_conflict),
    kind("salvage", 8, salvage),
];

fn new_tasks(player: &mut Player<'_>) -> Vec<NewTask> {
    let count = 1 + player.dice.roll(4) - u64::from(player.dice.chance(2));
    let tasks = (0..count).map(|at| {
        let on = match player.dice.roll(40) {
            // Backwards only, or it may be a cycle.
            0 => Some(DependsOn::New(player.dice.roll(count + 1) as u32)),
            1..=2 => Some(DependsOn::Existing(player.task())),
            3..=25 if at > 0 => Some(DependsOn::New(player.dice.roll(at) as u32)),
            _ => None,
        };
        let estimate = player.dice.chance(20).then(|| Estimate {
            cost_micros: None,
            tokens: Some(10),
            wall_time_us: Some(player.dice.roll(20)),
        });
        NewTask {
            resource_estimate: estimate,
            name: player.words("task"),
            ..NewTask::named("task", on.into_iter().collect())
        }
    });
    tasks.collect()
}

fn submit_graph(player: &mut Player<'_>) -> (Principal, Command) {
    let tasks = new_tasks(player);
    let root = u32::from(player.dice.chance(2)) * 9;
    let command = Command::SubmitGraph(NewGraph { root, tasks });
    (Principal::Coordinator, command)
}

fn decompose(player: &mut Player<'_>) -> (Principal, Command) {
    let command = Command::Decompose {
        task: player.task(),
        tasks: new_tasks(player),
    };
    (Principal::Coordinator, command)
}

fn retry_task(player: &mut Player<'_>) -> (Principal, Command) {
    let other = player.task();
    let run = player.run;
    let failed = (0u32..)
        .zip(&run.tasks)
        .filter(|(_, task)| task.status == TaskStatus::Failed);
    let task = player.one_of(failed.map(|(at, _)| wacp::id::TaskId(at)), other);
    (Principal::Coordinator, Command::RetryTask { task })
}

fn cancel_task(player: &mut Player<'_>) -> (Principal, Command) {
    let task = player.task();
    (Principal::Coordinator, Command::CancelTask { task })
}

fn create_checkpoint(player: &mut Player<'_>) -> (Principal, Command) {
    let id = player.in_state(&[State::Active]);
    let command = Command::CreateCheckpoint(Box::new(player.checkpoint_of(id)));
    (Principal::Agent(id), command)
}

impl Player<'_> {
    /// What the agent of a workspace might put down next.
    pub(crate) fn checkpoint_of(&mut self, id: wacp::id::WorkspaceId) -> NewCheckpoint {
        let open = self.run.open(id);
        let mut parent = open.and_then(|open| open.register.head());
        if self.dice.chance(2) {
            parent = Some(CheckpointId(self.dice.roll(9)));
        }
        let inside = open.and_then(|open| open.authority.first());
        let resource = match inside {
            Some(grant) if self.dice.chance(92) => format!("{grant}a"),
            _ => self.resource().to_owned(),
        };
        let observes = open.is_some_and(|open| open.role == wacp::role::Role::Observer);
        let checkpoint_type = match self.dice.roll(30) {
            0 => CheckpointType::Registered(0),
            1 => CheckpointType::Registered(9),
            2 => CheckpointType::Observation,
            _ if observes => CheckpointType::Observation,
            _ => CheckpointType::Artifact,
        };
        let base = self.dice.chance(50).then_some("1");
        let version = self.dice.pick(&["1", "2", "3"]);
        let usage = self.dice.chance(50).then(|| self.usage(20));
        NewCheckpoint {
            check: self.check(),
            checkpoint_type,
            confidence: self.dice.pick(&[Confidence::High, Confidence::Low]),
            content: self.dice.chance(20).then(|| self.content()),
            resource_usage: usage,
            status: self.dice.pick(&[Status::Final, Status::Provisional]),
            ..NewCheckpoint::last(parent, vec![artifact(&resource, base, version)])
        }
    }

    pub(crate) fn usage(&mut self, most: u64) -> Usage {
        let mut some = |percent| {
            let counts = self.dice.chance(percent);
            self.dice.roll(most) * u64::from(counts)
        };
        Usage {
            tokens: some(90),
            context: some(20),
            cost_micros: some(20),
            // Not theirs to tell, and refused.
            trail_bytes: some(2),
            wall_time_us: some(2),
        }
    }

    pub(crate) fn acceptance_of(&mut self, id: wacp::id::WorkspaceId) -> Acceptance {
        let strategies = [Strategy::Direct, Strategy::Layered, Strategy::Evaluated];
        let strategy = self.dice.pick(&strategies);
        let declares = strategy == Strategy::Evaluated && self.dice.chance(40);
        let synthesis = strategy == Strategy::Evaluated && self.dice.chance(30);
        Acceptance {
            check: self.check(),
            conflicts: self.declared(declares),
            synthesis: synthesis.then(|| [artifact("src/s", None, "sum")].into()),
            ..Acceptance::of(id, strategy)
        }
    }

    fn declared(&mut self, declares: bool) -> Vec<Declared> {
        if !declares && !self.dice.chance(3) {
            return Vec::new();
        }
        let types = [
            ConflictType::SemanticContradiction,
            ConflictType::DependencyViolation,
            ConflictType::ConstraintBreach,
            ConflictType::ContentOverlap,
        ];
        let conflict_type = if self.dice.chance(4) {
            types[3]
        } else {
            self.dice.pick(&types[..3])
        };
        vec![Declared {
            conflict_type,
            description: self.words("they disagree"),
            resource: self.dice.chance(50).then(|| text("src/a")),
        }]
    }
}

fn report_usage(player: &mut Player<'_>) -> (Principal, Command) {
    let id = player.in_state(&AT_WORK);
    let totals = player.usage(120);
    (Principal::Agent(id), Command::ReportUsage { totals })
}

fn accept(player: &mut Player<'_>) -> (Principal, Command) {
    let id = player.in_state(&[State::Integrating]);
    let acceptance = player.acceptance_of(id);
    let parent = Principal::Agent(player.parent_of(id));
    let by = player.either(Principal::Coordinator, parent);
    (by, Command::Accept(Box::new(acceptance)))
}

fn revise(player: &mut Player<'_>) -> (Principal, Command) {
    let workspace = player.in_state(&[State::Integrating, State::Conflicted]);
    (Principal::Coordinator, Command::Revise { workspace })
}

fn reject(player: &mut Player<'_>) -> (Principal, Command) {
    let workspace = player.in_state(&[State::Integrating, State::Conflicted]);
    (Principal::Coordinator, Command::Reject { workspace })
}

fn resolve_conflict(player: &mut Player<'_>) -> (Principal, Command) {
    let other = (player.workspace(), ConflictId(0));
    let run = player.run;
    let open = run
        .merges
        .iter()
        .flat_map(|(id, merge)| merge.open.iter().map(|open| (*id, open.id)));
    let (workspace, conflict) = player.one_of(open, other);
    let content = player.content();
    let resolution = match player.dice.roll(3) {
        0 => Resolution::CoordinatorResolve(content),
        1 => Resolution::Escalate(content),
        _ => Resolution::AgentRework,
    };
    let command = Command::ResolveConflict {
        workspace,
        conflict,
        resolution,
    };
    (Principal::Coordinator, command)
}

fn salvage(player: &mut Player<'_>) -> (Principal, Command) {
    let other = player.in_state(&[State::Failed]);
    let run = player.run;
    let left = (0..run.next.workspaces)
        .map(wacp::id::WorkspaceId)
        .filter(|id| run.open(*id).is_none() && wacp::checkpoint::register(run, *id).is_some());
    let workspace = player.one_of(left, other);
    let strategies = [Strategy::Evaluated, Strategy::Evaluated, Strategy::Direct];
    let declares = player.dice.chance(30);
    let salvage = Salvage {
        check: player.check(),
        checkpoint: player
            .dice
            .chance(5)
            .then(|| CheckpointId(player.dice.roll(99))),
        conflicts: player.declared(declares),
        strategy: player.dice.pick(&strategies),
        synthesis: None,
        usable: player.dice.chance(80),
        workspace,
    };
    (Principal::Coordinator, Command::Salvage(Box::new(salvage)))
}
