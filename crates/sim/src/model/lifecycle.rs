//! How workspaces move, end, and take others with them (WACP §6.3, §6.5).

use trail::Micros;
use wacp::{
    gate::{GateType, Subject},
    id::WorkspaceId,
    workspace::lifecycle::State,
};

use super::{Facts, Model, ROOT, What, has_ended, is_at_work, rules};

impl Model {
    /// A workspace enters a state.
    pub(super) fn enter(&mut self, id: WorkspaceId, to: State, facts: &mut Facts) {
        let Some(space) = self.spaces.get_mut(id.0 as usize) else {
            return;
        };
        // Without its moment the states will differ, and that is found out.
        let Some(at) = facts.moment(id) else {
            return;
        };
        if rules::is_timed(space.state) {
            space.timed_us += (at.0 - space.since.0).max(0) as u64;
        }
        match (space.state, to) {
            (_, State::Migrating) => space.unbound_since = Some(at),
            (State::Suspended, _) => space.unbound_since = space.unbound_since.map(|_| at),
            _ => {}
        }
        let is_pause = to == State::Suspended || to == State::Migrating;
        space.before = is_pause.then_some(space.state);
        space.state = to;
        space.since = at;
        if to == State::Integrating {
            space.grace_ends = None;
        }
    }

    /// A workspace fails, and with it those beneath it that have its owner;
    /// the others go to the root, unless the root is gone.
    pub(super) fn fail(&mut self, id: WorkspaceId, facts: &mut Facts) {
        if self.open(id).is_none() {
            return;
        }
        self.give_up_salvages_into(id);
        self.enter(id, State::Failed, facts);
        self.end(id);
        let Some(owner) = self.space(id).map(|space| space.owner) else {
            return;
        };
        let root_is_gone = self.open(ROOT).is_none();
        for child in self.children(id) {
            let same = self.space(child).is_some_and(|space| space.owner == owner);
            if same || root_is_gone {
                self.fail(child, facts);
            } else {
                self.hand_over(child, facts);
            }
        }
    }

    /// To the root; in the middle of a merge there is nothing to hand over.
    pub(super) fn hand_over(&mut self, child: WorkspaceId, facts: &mut Facts) {
        match self.state(child) {
            Some(State::Conflicted) => self.fail(child, facts),
            _ => self.move_to(child, ROOT),
        }
    }

    /// Elsewhere a merge is another question.
    pub(super) fn move_to(&mut self, id: WorkspaceId, parent: WorkspaceId) {
        let merge = (GateType::Integration, Subject::Workspace(id));
        self.settled
            .retain(|(kind, subject, _)| (*kind, *subject) != merge);
        self.drop_questions(|question| (question.gate_type, question.subject) == merge);
        self.spaces[id.0 as usize].parent = Some(parent);
    }

    /// A merge succeeded.
    pub(super) fn close(&mut self, id: WorkspaceId, facts: &mut Facts) {
        self.enter(id, State::Closed, facts);
        self.end(id);
    }

    /// What an ended workspace leaves: no rights, no letters, no questions.
    fn end(&mut self, id: WorkspaceId) {
        self.drop_letters(id);
        self.rights
            .retain(|right| right.holder != id && right.target != id);
        let conflicts = std::mem::take(&mut self.spaces[id.0 as usize].conflicts);
        for conflict in conflicts {
            self.forget_conflict(conflict);
        }
        self.drop_questions(|question| question.what.workspace() == Some(id));
        self.settled.retain(|(_, subject, _)| {
            !matches!(subject, Subject::Workspace(about) | Subject::WindDown(about, _) if *about == id)
        });
        if id == ROOT {
            self.drop_questions(|_| true);
            self.settled.clear();
        }
    }

    /// The agent is done: nothing more is read, nothing more begun beneath.
    pub(super) fn complete(&mut self, id: WorkspaceId, facts: &mut Facts) {
        self.enter(id, State::Integrating, facts);
        self.give_up_salvages_into(id);
        self.drop_letters(id);
        // It can still be aborted; but nothing can be created beneath it.
        self.gates.retain(|question| {
            question.what.workspace() != Some(id) || question.gate_type == GateType::WorkspaceAbort
        });
        for child in self.children(id) {
            self.hand_over(child, facts);
        }
    }

    pub(super) fn children(&self, id: WorkspaceId) -> Vec<WorkspaceId> {
        let is_child = |child: &WorkspaceId| {
            self.open(*child)
                .is_some_and(|space| space.parent == Some(id))
        };
        self.ids().filter(is_child).collect()
    }

    /// Letters in an inbox that nobody reads any more, and their questions.
    fn drop_letters(&mut self, to: WorkspaceId) {
        let gone: Vec<_> = self.letters.iter().filter(|l| l.to == to).collect();
        let gone: Vec<_> = gone.iter().map(|letter| letter.id).collect();
        self.letters.retain(|letter| letter.to != to);
        self.drop_questions(|question| match question.what {
            What::Deliver(letter) => gone.contains(&letter),
            _ => false,
        });
    }

    fn give_up_salvages_into(&mut self, target: WorkspaceId) {
        for source in self.ids() {
            if self.spaces[source.0 as usize].salvaged_into == Some(target) {
                self.give_up_salvage(source);
            }
        }
    }

    pub(super) fn give_up_salvage(&mut self, source: WorkspaceId) {
        let space = &mut self.spaces[source.0 as usize];
        space.salvaged_into = None;
        for conflict in std::mem::take(&mut space.conflicts) {
            self.forget_conflict(conflict);
        }
    }

    /// A conflict is over: nothing more is asked about it.
    pub(super) fn forget_conflict(&mut self, gone: wacp::id::ConflictId) {
        self.drop_questions(|question| match question.what {
            What::Settle { conflict, .. } => conflict == gone,
            _ => false,
        });
        self.settled
            .retain(|(_, subject, _)| !matches!(subject, Subject::Conflict(id, _) if *id == gone));
    }

    /// The server was down for so long: nothing of that counts.
    pub(super) fn put_off(&mut self, downtime_us: u64) {
        let by = downtime_us as i64;
        for space in &mut self.spaces {
            space.since.0 += by;
            space.unbound_since.iter_mut().for_each(|at| at.0 += by);
            space.grace_ends.iter_mut().for_each(|ends| ends.0 += by);
        }
        for question in &mut self.gates {
            question.due.iter_mut().for_each(|due| due.0 += by);
        }
    }

    /// When a workspace fails by itself: idle too long, or too long at work.
    pub(super) fn timeout(&self, id: WorkspaceId) -> Option<Micros> {
        let space = self.open(id).filter(|_| id != ROOT)?;
        let left = match space.state {
            State::Idle => self.idle_us,
            state if rules::is_timed(state) => space.timeout_us.saturating_sub(space.timed_us),
            _ => return None,
        };
        Some(Micros(space.since.0.saturating_add(left as i64)))
    }

    /// When a workspace fails because nobody came to the work that has begun, or
    /// in another's place.
    pub(super) fn binding(&self, id: WorkspaceId) -> Option<Micros> {
        let space = self.open(id).filter(|_| id != ROOT)?;
        let needs = is_at_work(space.state) || space.state == State::Migrating;
        let since = space.unbound_since.filter(|_| needs)?;
        Some(Micros(since.0.saturating_add(self.idle_us as i64)))
    }

    pub(super) fn grace(&self, id: WorkspaceId) -> Option<Micros> {
        self.open(id)?.grace_ends
    }

    /// Whether a workspace can have children, and send.
    pub(super) fn works(&self, id: WorkspaceId) -> bool {
        self.state(id)
            .is_some_and(|state| is_at_work(state) || (id == ROOT && state == State::Idle))
    }

    pub(super) fn is_over(&self) -> bool {
        self.state(ROOT).is_some_and(has_ended)
    }
}
