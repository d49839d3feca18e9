//! How task events change the plans.

use super::{Graph, Status, Task};
use crate::{
    event::{Entry, Event},
    state::Run,
};

pub(crate) fn apply(run: &mut Run, entry: &Entry) {
    match &entry.event {
        Event::GraphCreated(e) => {
            run.next.graphs = run.next.graphs.max(e.graph.0.saturating_add(1));
            run.graphs.push(Graph {
                root_task: e.root_task,
                tasks: Vec::with_capacity(e.task_count as usize),
            });
        }
        Event::TaskCreated(e) => {
            run.next.tasks = run.next.tasks.max(e.task.0.saturating_add(1));
            if let Some(graph) = run.graphs.get_mut(e.graph.0 as usize) {
                graph.tasks.push(e.task);
            }
            run.tasks.push(Task {
                graph: e.graph,
                name: e.name.clone(),
                description: e.description,
                priority: e.priority,
                resource_estimate: e.resource_estimate,
                depends_on: e.depends_on.clone(),
                parent_task: e.parent_task,
                status: Status::Draft,
                workspace: None,
                history: Vec::new(),
                checkpoint: None,
                gate: None,
            });
        }
        Event::TaskApproved(e) => {
            if let Some(task) = run.task_mut(e.task) {
                task.gate = None;
                if let Some(name) = &e.name {
                    task.name = name.clone();
                }
                task.description = e.description.unwrap_or(task.description);
                task.priority = e.priority.unwrap_or(task.priority);
                task.resource_estimate = e.resource_estimate.or(task.resource_estimate);
            }
        }
        Event::TaskAssigned(e) => {
            if let Some(task) = run.task_mut(e.task) {
                task.workspace = Some(e.workspace);
                task.history.push(e.workspace);
            }
        }
        Event::TaskStatusChanged(e) => {
            if let Some(task) = run.task_mut(e.task) {
                task.status = e.to_status;
                let gate = task.gate.filter(|_| e.to_status == Status::Cancelled);
                // Nothing works on a task that waits or is over.
                if matches!(
                    e.to_status,
                    Status::Pending | Status::Integrated | Status::Cancelled
                ) {
                    task.workspace = None;
                }
                // A question handed to the coordinator is closed with the task.
                if let Some(gate) = gate {
                    run.escalated_gates.remove(&gate);
                }
            }
        }
        Event::TaskCompleted(e) => {
            if let Some(task) = run.task_mut(e.task) {
                task.checkpoint = e.checkpoint;
            }
        }
        _ => {}
    }
}
