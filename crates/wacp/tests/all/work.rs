//! Tasks: plans, readiness, retries and withdrawal.

use wacp::{
    Command, Event, Principal, Refusal,
    event::ApprovalSource,
    gate::config::Highway,
    id::{GraphId, TaskId, WorkspaceId},
    signal::SignalType,
    task::{DependsOn, Estimate, NewGraph, NewTask, Status, ready},
    workspace::{NewWorkspace, lifecycle::State},
};

use crate::world::{ROOT, World};

/// a; b and c after a; d after b and c.
fn diamond() -> NewGraph {
    let on = |list: &[u32]| list.iter().map(|at| DependsOn::New(*at)).collect();
    NewGraph {
        root: 3,
        tasks: vec![
            NewTask::named("a", vec![]),
            NewTask::named("b", on(&[0])),
            NewTask::named("c", on(&[0])),
            NewTask::named("d", on(&[1, 2])),
        ],
    }
}

fn submit(world: &mut World, graph: NewGraph) {
    world.ok(Principal::Coordinator, Command::SubmitGraph(graph));
}

fn status(world: &World, task: TaskId) -> Status {
    world.run.task(task).unwrap().status
}

fn ready_now(world: &World) -> Vec<TaskId> {
    ready(&world.run, GraphId(0)).collect()
}

fn assign(world: &mut World, task: TaskId) -> WorkspaceId {
    let new = NewWorkspace {
        task: Some(task),
        ..world.worker_of(ROOT)
    };
    let id = world.create(new);
    assert_eq!(status(world, task), Status::Assigned);
    world.direct(id);
    assert_eq!(status(world, task), Status::InProgress);
    id
}

fn finish(world: &mut World, id: WorkspaceId) {
    world.checkpoint(id, vec![]);
    world.emit(id, SignalType::Complete);
}

fn accept(world: &mut World, id: WorkspaceId) {
    let accept = wacp::integration::Acceptance::of(id, wacp::integration::Strategy::Direct);
    world.ok(Principal::Coordinator, Command::Accept(Box::new(accept)));
}

#[test]
fn tasks_become_ready_as_what_they_depend_on_is_done() {
    let mut world = World::open();
    submit(&mut world, diamond());
    let [a, b, c, d] = [0, 1, 2, 3].map(TaskId);
    assert_eq!(ready_now(&world), [a]);
    let early = NewWorkspace {
        task: Some(b),
        ..world.worker_of(ROOT)
    };
    let refused = world.refused(
        Principal::Coordinator,
        Command::CreateWorkspace(Box::new(early)),
    );
    assert_eq!(refused, Refusal::TaskNotReady);
    let w = assign(&mut world, a);
    finish(&mut world, w);
    assert_eq!(status(&world, a), Status::Completed);
    assert_eq!(ready_now(&world), [b, c]);
    assert!(world.run.task(a).unwrap().checkpoint.is_some());
    accept(&mut world, w);
    assert_eq!(status(&world, a), Status::Integrated);
    for task in [b, c] {
        let w = assign(&mut world, task);
        finish(&mut world, w);
        accept(&mut world, w);
    }
    assert_eq!(ready_now(&world), [d]);
}

#[test]
fn a_failed_task_is_tried_again_and_remembers_every_attempt() {
    let mut world = World::open();
    submit(&mut world, diamond());
    let task = TaskId(0);
    let first = assign(&mut world, task);
    world.emit(first, SignalType::Failed);
    assert_eq!(status(&world, task), Status::Failed);
    world.ok(Principal::Coordinator, Command::RetryTask { task });
    assert_eq!(status(&world, task), Status::Pending);
    let second = assign(&mut world, task);
    finish(&mut world, second);
    world.ok(
        Principal::Coordinator,
        Command::Revise { workspace: second },
    );
    assert_eq!(status(&world, task), Status::Failed);
    world.ok(Principal::Coordinator, Command::RetryTask { task });
    let third = assign(&mut world, task);
    assert_eq!(
        world.run.task(task).unwrap().history,
        [first, second, third]
    );
    let attempts: Vec<u32> = world
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::TaskAssigned(e) => Some(e.attempt_number),
            _ => None,
        })
        .collect();
    assert_eq!(attempts, [1, 2, 3]);
    let running = Command::RetryTask { task };
    assert_eq!(
        world.refused(Principal::Coordinator, running),
        Refusal::InvalidTaskStatus
    );
}

#[test]
fn one_task_has_one_workspace_at_a_time() {
    let mut world = World::open();
    submit(&mut world, diamond());
    assign(&mut world, TaskId(0));
    let second = NewWorkspace {
        task: Some(TaskId(0)),
        ..world.worker_of(ROOT)
    };
    let refused = world.refused(
        Principal::Coordinator,
        Command::CreateWorkspace(Box::new(second)),
    );
    assert_eq!(refused, Refusal::InvalidTaskStatus);
}

#[test]
fn cancelling_a_task_ends_its_workspace_and_its_question() {
    let mut world = World::open();
    submit(&mut world, diamond());
    let id = assign(&mut world, TaskId(0));
    world.ok(
        Principal::Coordinator,
        Command::CancelTask { task: TaskId(0) },
    );
    assert_eq!(status(&world, TaskId(0)), Status::Cancelled);
    assert_eq!(world.state(id), State::Failed);
    assert_eq!(world.count("task_failed"), 0, "withdrawn is not failed");
    let again = Command::CancelTask { task: TaskId(0) };
    assert_eq!(
        world.refused(Principal::Coordinator, again),
        Refusal::InvalidTaskStatus
    );

    let mut world = World::with(Highway::supervised());
    submit(&mut world, diamond());
    assert_eq!(world.run.gates.len(), 4);
    world.ok(
        Principal::Coordinator,
        Command::CancelTask { task: TaskId(2) },
    );
    assert_eq!(world.run.gates.len(), 3);
}

#[test]
fn a_plan_that_makes_no_sense_is_refused_whole() {
    let mut world = World::open();
    submit(&mut world, diamond());
    let one = |depends_on| NewGraph {
        root: 0,
        tasks: vec![NewTask::named("x", depends_on)],
    };
    let estimate = Estimate {
        cost_micros: None,
        tokens: None,
        wall_time_us: Some(0),
    };
    let cases = [
        (
            NewGraph {
                root: 0,
                tasks: vec![],
            },
            Refusal::EmptyGraph,
        ),
        (one(vec![DependsOn::New(0)]), Refusal::Cycle),
        (one(vec![DependsOn::New(7)]), Refusal::UnknownTask),
        (
            one(vec![DependsOn::Existing(TaskId(0))]),
            Refusal::OtherGraph,
        ),
        (
            one(vec![DependsOn::Existing(TaskId(70))]),
            Refusal::UnknownTask,
        ),
        (
            NewGraph {
                root: 5,
                ..one(vec![])
            },
            Refusal::UnknownTask,
        ),
        (
            NewGraph {
                root: 0,
                tasks: vec![NewTask {
                    resource_estimate: Some(estimate),
                    ..NewTask::named("x", vec![])
                }],
            },
            Refusal::InvalidEstimate,
        ),
        (
            NewGraph {
                root: 0,
                tasks: vec![NewTask::named("", vec![])],
            },
            Refusal::InvalidStructure,
        ),
        (
            NewGraph {
                root: 0,
                tasks: vec![NewTask::named("x", vec![]); 10_001],
            },
            Refusal::TooManyTasks,
        ),
    ];
    let before = world.run.tasks.len();
    for (graph, expected) in cases {
        assert_eq!(
            world.refused(Principal::Coordinator, Command::SubmitGraph(graph)),
            expected
        );
    }
    assert_eq!(world.run.tasks.len(), before);
}

#[test]
fn subtasks_join_the_same_graph_as_drafts() {
    let mut world = World::with(Highway::autonomous());
    submit(&mut world, diamond());
    world.pass(61 * crate::world::SECOND);
    assert_eq!(
        status(&world, TaskId(0)),
        Status::Pending,
        "approved by silence"
    );
    let approved = world.entries.iter().find_map(|entry| match &entry.event {
        Event::TaskApproved(e) => Some(e.source),
        _ => None,
    });
    assert_eq!(approved, Some(ApprovalSource::TimeoutAutoApprove));
    let tasks = vec![NewTask::named("a1", vec![DependsOn::Existing(TaskId(0))])];
    world.ok(
        Principal::Coordinator,
        Command::Decompose {
            task: TaskId(0),
            tasks,
        },
    );
    let new = world.run.task(TaskId(4)).unwrap();
    assert_eq!(
        (new.graph, new.parent_task, new.status),
        (GraphId(0), Some(TaskId(0)), Status::Draft)
    );
    assert_eq!(world.run.gates.len(), 1, "the new one is asked about");
    assert_eq!(
        status(&world, TaskId(0)),
        Status::Pending,
        "the parent is not done by it"
    );
}
