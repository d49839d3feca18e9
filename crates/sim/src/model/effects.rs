//! Parts of what accepted orders do.

use trail::Micros;
use wacp::{
    Principal,
    content::Content,
    envelope::{NewEnvelope, Priority},
    gate::{GateType, Subject},
    id::{ConflictId, EnvelopeId, TaskId, WorkspaceId},
    integration::{Resolution, Salvage},
    signal::SignalType,
    workspace::{NewWorkspace, WindDown, lifecycle::State},
};

use super::{
    Facts, Model, Plan, Question, ROOT, Space, What, Writer,
    gates::Standing,
    rules::{self, Does},
};

/// What can be due, as far as the model goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    Timeout(WorkspaceId),
    Binding(WorkspaceId),
    Grace(WorkspaceId),
    Gate(wacp::id::GateId),
}

impl Model {
    /// The earliest thing that is due; at the same moment workspaces before
    /// gates.
    pub(super) fn due(&self) -> Option<(Micros, Due)> {
        let timeouts = self
            .ids()
            .filter_map(|id| Some((self.timeout(id)?, Due::Timeout(id))));
        let bindings = self
            .ids()
            .filter_map(|id| Some((self.binding(id)?, Due::Binding(id))));
        let graces = self
            .ids()
            .filter_map(|id| Some((self.grace(id)?, Due::Grace(id))));
        let gates = self.gates.iter();
        let gates = gates.filter_map(|question| Some((question.due?, Due::Gate(question.id))));
        timeouts
            .chain(bindings)
            .chain(graces)
            .chain(gates)
            .min_by_key(|(at, _)| *at)
    }

    pub(super) fn emit(&mut self, by: Principal, signal: SignalType, facts: &mut Facts) {
        let id = match by {
            Principal::Agent(id) => id,
            _ => ROOT,
        };
        let Some(state) = self.state(id) else { return };
        match rules::effect(state, signal) {
            Does::Moves(State::Failed) => self.fail(id, facts),
            Does::Moves(State::Integrating) => self.complete(id, facts),
            Does::Moves(to) => self.enter(id, to, facts),
            Does::Nothing | Does::Denied => {}
        }
        self.begin_with_directive(id, facts);
    }

    /// The agent reads its mail for the first time.
    pub(super) fn bind(&mut self, id: WorkspaceId, facts: &mut Facts) {
        let Some(space) = self.open(id).filter(|space| space.unbound_since.is_some()) else {
            return;
        };
        match (space.state, space.before) {
            (State::Migrating, Some(before)) => self.enter(id, before, facts),
            _ => self.begin_with_directive(id, facts),
        }
        self.spaces[id.0 as usize].unbound_since = None;
    }

    /// Who receives no envelopes begins with the directive of its creation.
    fn begin_with_directive(&mut self, id: WorkspaceId, facts: &mut Facts) {
        if let Some(envelope) = facts.envelope() {
            self.post(Writer::Runtime, envelope, id, Priority::Normal, None);
        }
    }

    /// An agent writes; perhaps a person is asked before it arrives.
    pub(super) fn send(
        &mut self,
        from: WorkspaceId,
        new: &NewEnvelope,
        id: EnvelopeId,
        facts: &mut Facts,
    ) {
        self.write(from, new, id);
        let (kind, subject) = (GateType::EnvelopeDelivery, Subject::Envelope(id));
        if self.standing(Principal::Coordinator, kind, subject) == Standing::Asks {
            self.ask(kind, subject, What::Deliver(id), facts);
        }
    }

    /// A workspace is to finish. Observers read no envelopes; they are told
    /// otherwise.
    pub(super) fn wind_down(&mut self, request: &WindDown, facts: &mut Facts) {
        if let Some(began) = facts.wind_down_began {
            let ends = Micros(began.0.saturating_add(request.grace_us as i64));
            self.spaces[request.workspace.0 as usize].grace_ends = Some(ends);
        }
        if let Some(id) = facts.envelope() {
            self.send(ROOT, &request.envelope(), id, facts);
        }
    }

    /// A person writes; what is written to the coordinator may be the cause of
    /// a workspace.
    pub(super) fn inject(
        &mut self,
        by: Principal,
        id: EnvelopeId,
        to: WorkspaceId,
        priority: Priority,
        payload: Content,
    ) {
        let Principal::User(user) = by else { return };
        self.post(Writer::Person(user), id, to, priority, Some(payload));
        if to == ROOT {
            self.injected.push((id, user));
        }
    }

    /// Asks before an abort, where that is wished; says whether to go on.
    pub(super) fn may_abort(&mut self, id: WorkspaceId, facts: &mut Facts) -> bool {
        let (kind, subject) = (GateType::WorkspaceAbort, Subject::Workspace(id));
        match self.standing(Principal::Coordinator, kind, subject) {
            Standing::Asks => {
                self.ask(kind, subject, What::Abort(id), facts);
                false
            }
            _ => true,
        }
    }

    pub(super) fn create(&mut self, by: Principal, new: &NewWorkspace, facts: &mut Facts) {
        let (Some(id), Ok((owner, originator))) = (facts.workspace(), self.parties(by, new)) else {
            return;
        };
        let Some(since) = facts.moment(id) else {
            return;
        };
        self.spaces.push(Space {
            state: State::Idle,
            before: None,
            role: new.role,
            delegate: new.delegate,
            may_make_delegates: false,
            parent: Some(new.parent),
            owner,
            originator,
            task: new.task,
            group: new.group.clone(),
            unbound_since: Some(since),
            timeout_us: new.timeout_us,
            timed_us: 0,
            since,
            grace_ends: None,
            conflicts: Vec::new(),
            taken: Vec::new(),
            checkpoints: Vec::new(),
            salvaged_into: None,
        });
        self.connect(id);
    }

    /// A merge begins; what it finds is outside the model.
    pub(super) fn merge(&mut self, id: WorkspaceId, facts: &mut Facts) {
        if facts.is_damaged {
            self.fail(id, facts);
        } else if facts.conflicts.is_empty() {
            self.close(id, facts);
        } else {
            self.enter(id, State::Conflicted, facts);
            self.spaces[id.0 as usize].conflicts = std::mem::take(&mut facts.conflicts);
        }
    }

    /// What a failed workspace left is merged; unless that is over at once, its
    /// conflicts are open.
    /// What silence said about it was said of this one, and is used.
    pub(super) fn salvage(&mut self, id: WorkspaceId, subject: Subject, facts: &mut Facts) {
        self.settled.retain(|(_, about, _)| *about != subject);
        if facts.is_merged {
            return;
        }
        let target = self.salvage_target(id);
        let space = &mut self.spaces[id.0 as usize];
        space.salvaged_into = Some(target);
        space.conflicts = std::mem::take(&mut facts.conflicts);
    }

    fn salvage_target(&self, id: WorkspaceId) -> WorkspaceId {
        let parent = self.space(id).and_then(|space| space.parent);
        let alive = parent.filter(|parent| self.open(*parent).is_some());
        alive.unwrap_or(ROOT)
    }

    /// Which checkpoint goes where: another one, or elsewhere, is another
    /// question. `None`: there is nothing to ask about.
    pub(super) fn salvage_subject(&self, salvage: &Salvage) -> Option<Subject> {
        let id = salvage.workspace;
        let left = &self.space(id)?.checkpoints;
        let last_final = left.iter().rev().find(|(_, is_final)| *is_final);
        let last = last_final
            .or(left.last())
            .map(|(checkpoint, _)| *checkpoint);
        let checkpoint = salvage.checkpoint.or(last)?;
        Some(Subject::Salvage(id, self.salvage_target(id), checkpoint))
    }

    pub(super) fn propose(
        &mut self,
        by: Principal,
        workspace: WorkspaceId,
        conflict: ConflictId,
        resolution: &Resolution,
        facts: &mut Facts,
    ) {
        let kind = GateType::ConflictResolution;
        let subject = Subject::Conflict(conflict, resolution.strategy());
        let rework = matches!(resolution, Resolution::AgentRework);
        let standing = match resolution {
            Resolution::Escalate(_) => self.asking(by, kind, subject),
            _ => self.standing(by, kind, subject),
        };
        if standing == Standing::Asks {
            let what = What::Settle {
                workspace,
                conflict,
                rework,
            };
            self.ask(kind, subject, what, facts);
        } else {
            self.take_up(kind, subject);
            self.settle(workspace, conflict, rework, facts);
        }
    }

    /// A conflict is settled; with the last one the merge is over. If one
    /// needs the work done again, all of it is.
    pub(super) fn settle(
        &mut self,
        id: WorkspaceId,
        conflict: ConflictId,
        rework: bool,
        facts: &mut Facts,
    ) {
        let is_salvage = self.spaces[id.0 as usize].salvaged_into.is_some();
        if rework {
            match is_salvage {
                true => self.give_up_salvage(id),
                false => self.fail(id, facts),
            }
            return;
        }
        let space = &mut self.spaces[id.0 as usize];
        space.conflicts.retain(|other| *other != conflict);
        let is_last = space.conflicts.is_empty();
        self.forget_conflict(conflict);
        if is_last {
            match is_salvage {
                true => self.spaces[id.0 as usize].salvaged_into = None,
                false => self.close(id, facts),
            }
        }
    }

    pub(super) fn set_plan(&mut self, task: TaskId, plan: Plan) {
        if let Some(known) = self.tasks.get_mut(task.0 as usize) {
            *known = plan;
        }
        self.drop_questions(|question| matches!(question.what, What::Approve(id) if id == task));
    }

    pub(super) fn tick(&mut self, now: Micros, facts: &mut Facts) {
        // These come from outside the model.
        let outside = [
            "budget_warning",
            "budget_exceeded",
            "liveness_warning",
            "escalation_timeout",
            "envelope_redelivered",
            "envelope_undeliverable",
        ];
        if outside.contains(&facts.first) {
            return;
        }
        match self.due() {
            Some((at, due)) if at <= now => match due {
                Due::Timeout(id) | Due::Binding(id) | Due::Grace(id) => self.fail(id, facts),
                Due::Gate(id) => {
                    let question: Option<Question> = self.pending(id).cloned();
                    if let Some(question) = question {
                        self.fall_back(question, facts);
                    }
                }
            },
            _ => {}
        }
    }
}
