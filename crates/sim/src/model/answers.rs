//! What an answer leads to (WACP §8.1).

use wacp::{
    Refusal,
    gate::{Answer, Modification},
    id::GateId,
    workspace::{MAX_TEXT, lifecycle::State},
};

use super::{Facts, Model, Plan, Question, What, rights::is_acceptable};

impl Model {
    /// Whether what is asked could still be done. Whether a workspace could be
    /// created or a merge begun depends on rules outside the model as well.
    pub(super) fn is_possible(&self, question: &Question, facts: &Facts) -> bool {
        let inside = match &question.what {
            What::Approve(task) => self.tasks.get(task.0 as usize) == Some(&Plan::Draft),
            What::Create(_, _, new) => self.works(new.parent),
            What::Deliver(letter) => self.letter(*letter).is_some(),
            What::Merge(id) => self.state(*id) == Some(State::Integrating),
            What::Salvage(id) => self.state(*id) == Some(State::Failed),
            What::Settle {
                workspace,
                conflict,
                rework,
            } => self.can_settle(*workspace, *conflict, *rework),
            What::Abort(id) => self.open(*id).is_some(),
            What::WindDown(request) => self.expect_wind_down(request).broken.is_empty(),
        };
        let decided_outside = matches!(
            question.what,
            What::Create(..) | What::Merge(_) | What::Salvage(_) | What::Settle { .. }
        );
        inside && !(decided_outside && facts.is_void(question.id))
    }

    /// The transition happens.
    pub(super) fn go_ahead(&mut self, question: &Question, facts: &mut Facts) {
        match &question.what {
            What::Approve(task) => self.set_plan(*task, Plan::Approved),
            What::Create(_, by, new) => self.create(*by, new, facts),
            // It arrives when the queues let it, and that is a fact.
            What::Deliver(_) => {}
            What::Merge(id) => self.merge(*id, facts),
            What::Salvage(id) => self.salvage(*id, question.subject, facts),
            What::Settle {
                workspace,
                conflict,
                rework,
            } => self.settle(*workspace, *conflict, *rework, facts),
            What::Abort(id) => self.fail(*id, facts),
            What::WindDown(request) => self.wind_down(request, facts),
        }
    }

    /// The transition does not happen.
    pub(super) fn call_off(&mut self, question: &Question, facts: &mut Facts) {
        match &question.what {
            What::Approve(task) => self.set_plan(*task, Plan::Cancelled),
            What::Deliver(letter) => self.lose(*letter),
            // The work was offered and is not wanted.
            What::Merge(id) => self.fail(*id, facts),
            What::Create(..)
            | What::Salvage(_)
            | What::Settle { .. }
            | What::Abort(_)
            | What::WindDown(_) => {}
        }
    }

    /// Why an answer does not fit its question.
    pub(super) fn misfit(
        question: &Question,
        answer: Answer,
        modification: Option<&Modification>,
    ) -> Option<Refusal> {
        let change = match (answer, modification) {
            (Answer::Modify, Some(change)) => change,
            (Answer::Modify, None) | (_, Some(_)) => return Some(Refusal::InvalidStructure),
            (_, None) => return None,
        };
        let fits = match (&question.what, change) {
            (What::Approve(_), Modification::Task(task)) => {
                let name = task.name.as_deref();
                name.is_none_or(|name| !name.is_empty() && name.chars().count() <= MAX_TEXT)
                    && task.description.as_ref().is_none_or(is_acceptable)
            }
            (What::Create(..), Modification::Workspace(_)) => true,
            (What::Deliver(_), Modification::Payload(payload)) => is_acceptable(payload),
            (What::Settle { .. }, Modification::Resolution(words)) => is_acceptable(words),
            _ => return Some(Refusal::NotModifiable),
        };
        (!fits).then_some(Refusal::InvalidStructure)
    }

    /// A person answers.
    pub(super) fn answer(
        &mut self,
        id: GateId,
        answer: Answer,
        modification: Option<&Modification>,
        facts: &mut Facts,
    ) {
        let Some(question) = self.pending(id).cloned() else {
            return;
        };
        self.gates.retain(|other| other.id != id);
        let question = match modification {
            Some(change) => self.changed(question, change),
            None => question,
        };
        match answer {
            Answer::Reject => self.call_off(&question, facts),
            Answer::Approve | Answer::Modify => {
                if self.is_possible(&question, facts) {
                    self.go_ahead(&question, facts);
                }
            }
        }
    }

    /// What a person changed is what happens; only what they name is changed.
    /// Their own words about a conflict are a resolution, whatever was proposed.
    fn changed(&mut self, mut question: Question, change: &Modification) -> Question {
        match (&mut question.what, change) {
            (What::Deliver(letter), Modification::Payload(payload)) => {
                let mut letters = self.letters.iter_mut();
                if let Some(letter) = letters.find(|other| other.id == *letter) {
                    letter.payload = Some(*payload);
                }
            }
            (What::Settle { rework, .. }, Modification::Resolution(_)) => *rework = false,
            _ => {}
        }
        question
    }
}
