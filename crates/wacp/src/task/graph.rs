//! Plans are submitted, refined, approved, retried and withdrawn.

use std::sync::Arc;

use super::{DependsOn, NewGraph, NewTask, Status, Task, set_status};
use crate::{
    command::Principal,
    event::{ApprovalSource, GraphCreated, TaskApproved, TaskCreated},
    gate::{self, GateType, Proposal, Subject, TaskModification, Verdict},
    id::{GraphId, TaskId},
    rejection::Refusal,
    role::delegation::coordinator_only,
    stage::{Decision, Stage},
    state::Run,
    workspace::{end, is_long, lifecycle::Reason},
};

/// Tasks of one submission, and of one graph.
pub const MAX_TASKS: usize = 10_000;
/// Dependencies of one task.
pub const MAX_DEPENDENCIES: usize = 1_000;

pub fn submit(stage: &mut Stage<'_>, principal: Principal, new: &NewGraph) -> Decision {
    coordinator_only(stage, principal, None)?;
    check(stage.before(), None, &new.tasks)?;
    if new.root as usize >= new.tasks.len() {
        return Err(Refusal::UnknownTask);
    }
    let graph = stage.new_graph();
    let ids: Vec<TaskId> = new.tasks.iter().map(|_| stage.new_task()).collect();
    stage.push(
        None,
        GraphCreated {
            graph,
            root_task: ids[new.root as usize],
            task_count: ids.len() as u32,
        },
    );
    create(stage, graph, None, &new.tasks, &ids)
}

/// A task is broken down while work goes on: the new tasks join its graph as
/// drafts and are asked about like all others.
pub fn decompose(
    stage: &mut Stage<'_>,
    principal: Principal,
    task: TaskId,
    new: &[NewTask],
) -> Decision {
    coordinator_only(stage, principal, None)?;
    let parent = stage.before().task(task).ok_or(Refusal::UnknownTask)?;
    if parent.status.is_terminal() {
        return Err(Refusal::InvalidTaskStatus);
    }
    check(stage.before(), Some(parent), new)?;
    let ids: Vec<TaskId> = new.iter().map(|_| stage.new_task()).collect();
    create(stage, parent.graph, Some(task), new, &ids)
}

fn check(run: &Run, parent: Option<&Task>, new: &[NewTask]) -> Result<(), Refusal> {
    if new.is_empty() {
        return Err(Refusal::EmptyGraph);
    }
    let known = parent.map_or(0, |task| {
        run.graphs
            .get(task.graph.0 as usize)
            .map_or(0, |graph| graph.tasks.len())
    });
    if new.len() + known > MAX_TASKS {
        return Err(Refusal::TooManyTasks);
    }
    for task in new {
        if task.name.is_empty() || is_long(&task.name) || !task.description.is_acceptable() {
            return Err(Refusal::InvalidStructure);
        }
        if task
            .resource_estimate
            .is_some_and(|estimate| !estimate.is_valid())
        {
            return Err(Refusal::InvalidEstimate);
        }
        if task.depends_on.len() > MAX_DEPENDENCIES {
            return Err(Refusal::TooManyTasks);
        }
        for dependency in &task.depends_on {
            match dependency {
                DependsOn::New(at) if (*at as usize) < new.len() => {}
                DependsOn::New(_) => return Err(Refusal::UnknownTask),
                DependsOn::Existing(id) => {
                    let graph = run.task(*id).ok_or(Refusal::UnknownTask)?.graph;
                    if parent.map(|task| task.graph) != Some(graph) {
                        return Err(Refusal::OtherGraph);
                    }
                }
            }
        }
    }
    if has_cycle(new) {
        Err(Refusal::Cycle)
    } else {
        Ok(())
    }
}

/// What exists depends on nothing new, so a cycle can only be among the new.
fn has_cycle(new: &[NewTask]) -> bool {
    let mut waiting = vec![0u32; new.len()];
    let mut dependents = vec![Vec::new(); new.len()];
    for (at, task) in new.iter().enumerate() {
        for dependency in &task.depends_on {
            if let DependsOn::New(on) = dependency {
                dependents[*on as usize].push(at);
                waiting[at] += 1;
            }
        }
    }
    let mut free: Vec<usize> = (0..new.len()).filter(|at| waiting[*at] == 0).collect();
    let mut done = 0;
    while let Some(at) = free.pop() {
        done += 1;
        for dependent in &dependents[at] {
            waiting[*dependent] -= 1;
            if waiting[*dependent] == 0 {
                free.push(*dependent);
            }
        }
    }
    done < new.len()
}

fn create(
    stage: &mut Stage<'_>,
    graph: GraphId,
    parent_task: Option<TaskId>,
    new: &[NewTask],
    ids: &[TaskId],
) -> Decision {
    let dependencies: Vec<Arc<[TaskId]>> = new
        .iter()
        .map(|task| {
            let depends_on = task.depends_on.iter();
            let named = depends_on.map(|dependency| match dependency {
                DependsOn::New(at) => ids[*at as usize],
                DependsOn::Existing(id) => *id,
            });
            named.collect()
        })
        .collect();
    for ((task, id), depends_on) in new.iter().zip(ids).zip(&dependencies) {
        stage.push(
            None,
            Box::new(TaskCreated {
                depends_on: depends_on.clone(),
                description: task.description,
                graph,
                name: task.name.clone(),
                parent_task,
                priority: task.priority,
                resource_estimate: task.resource_estimate,
                task: *id,
            }),
        );
    }
    for ((task, id), depends_on) in new.iter().zip(ids).zip(dependencies) {
        let proposal = Proposal::TaskApproval {
            depends_on,
            description: task.description,
            graph,
            name: task.name.clone(),
            parent_task,
            priority: task.priority,
            resource_estimate: task.resource_estimate,
            task: *id,
        };
        ask(stage, *id, proposal)?;
    }
    Ok(())
}

fn ask(stage: &mut Stage<'_>, task: TaskId, proposal: Proposal) -> Decision {
    match gate::guard(stage, GateType::TaskApproval, Subject::Task(task), proposal)? {
        Verdict::Paused => {}
        Verdict::Proceed => approve(stage, task, ApprovalSource::Configuration, None),
    }
    Ok(())
}

/// Draft becomes pending, with what a person changed.
pub fn approve(
    stage: &mut Stage<'_>,
    task: TaskId,
    source: ApprovalSource,
    modification: Option<&TaskModification>,
) {
    let changed = modification.cloned().unwrap_or_default();
    stage.push(
        None,
        TaskApproved {
            description: changed.description,
            name: changed.name,
            priority: changed.priority,
            resource_estimate: changed.resource_estimate,
            source,
            task,
        },
    );
    set_status(stage, task, Status::Pending, None);
}

pub fn retry(stage: &mut Stage<'_>, principal: Principal, task: TaskId) -> Decision {
    coordinator_only(stage, principal, None)?;
    match stage.before().task(task).map(|task| task.status) {
        None => Err(Refusal::UnknownTask),
        Some(Status::Failed) => {
            set_status(stage, task, Status::Pending, None);
            Ok(())
        }
        Some(_) => Err(Refusal::InvalidTaskStatus),
    }
}

pub fn cancel(stage: &mut Stage<'_>, principal: Principal, task: TaskId) -> Decision {
    coordinator_only(stage, principal, None)?;
    let known = stage.before().task(task).ok_or(Refusal::UnknownTask)?;
    if known.status.is_terminal() {
        return Err(Refusal::InvalidTaskStatus);
    }
    // Where aborts are gated, the workspace at work is asked about first; the
    // task can be withdrawn once it has ended.
    if let Some(workspace) = known
        .workspace
        .filter(|id| stage.before().open(*id).is_some())
    {
        let proposal = Proposal::WorkspaceAbort {
            workspace,
            reason: None,
        };
        let subject = Subject::Workspace(workspace);
        if gate::guard(stage, GateType::WorkspaceAbort, subject, proposal)? == Verdict::Paused {
            return Ok(());
        }
    }
    cancel_now(stage, task);
    Ok(())
}

/// Withdraws a task: its question is closed and its workspace ends.
pub fn cancel_now(stage: &mut Stage<'_>, task: TaskId) {
    let run = stage.before();
    let Some(known) = run.task(task) else {
        return;
    };
    gate::invalidate(stage, known.gate);
    let at_work = known.workspace.filter(|id| run.open(*id).is_some());
    set_status(stage, task, Status::Cancelled, at_work);
    if let Some(workspace) = at_work {
        end::fail(stage, workspace, Reason::TaskCancelled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(edges: &[&[u32]]) -> Vec<NewTask> {
        edges
            .iter()
            .map(|on| NewTask::named("t", on.iter().map(|at| DependsOn::New(*at)).collect()))
            .collect()
    }

    #[test]
    fn cycles_are_found_and_only_cycles() {
        let cases: &[(&[&[u32]], bool)] = &[
            (&[&[]], false),
            (&[&[0]], true),
            (&[&[], &[0], &[0], &[1, 2]], false),
            (&[&[1], &[0]], true),
            (&[&[2], &[0], &[1]], true),
            (&[&[], &[0], &[1, 3], &[2]], true),
        ];
        for (edges, cyclic) in cases {
            assert_eq!(has_cycle(&tasks(edges)), *cyclic, "{edges:?}");
        }
    }
}
