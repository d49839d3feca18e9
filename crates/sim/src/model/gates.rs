//! Questions: when they are asked, when not again, when they are void, and
//! what silence means (WACP §8).

use trail::Micros;
use wacp::{
    Refusal,
    command::Principal,
    gate::{GateType, Subject, config::Fallback},
    id::WorkspaceId,
};

use super::{Facts, Model, Question, What};

/// How a question stands before it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing to ask, or it was answered with yes before.
    Free,
    Asks,
    /// It waits already.
    Waits,
    /// Silence was a no, and stays one.
    FellBack,
}

impl What {
    /// The workspace that a question is about: of one that does not exist yet,
    /// its parent. A letter's receiver is looked up by those who need it.
    pub fn workspace(&self) -> Option<WorkspaceId> {
        match self {
            What::Create(_, _, new) => Some(new.parent),
            What::Merge(id) | What::Salvage(id) | What::Abort(id) => Some(*id),
            What::Settle { workspace, .. } => Some(*workspace),
            What::WindDown(request) => Some(request.workspace),
            What::Approve(_) | What::Deliver(_) => None,
        }
    }
}

impl Model {
    /// How things stand, for whoever comes with it, with a question of a gate
    /// that is on.
    pub(super) fn asking(&self, by: Principal, gate_type: GateType, subject: Subject) -> Standing {
        // What does not exist yet is a new question each time.
        if subject == Subject::Proposal {
            return Standing::Asks;
        }
        let same =
            |question: &&Question| question.gate_type == gate_type && question.subject == subject;
        if self.gates.iter().find(same).is_some() {
            return Standing::Waits;
        }
        let before = self
            .settled
            .iter()
            .find(|(kind, about, _)| *kind == gate_type && *about == subject);
        match before {
            None => Standing::Asks,
            Some((_, _, Fallback::Reject)) => Standing::FellBack,
            Some((_, _, Fallback::Approve)) => Standing::Free,
            // Handed to the coordinator: its wanting it still is a yes, and
            // everyone else waits for that.
            Some((_, _, Fallback::EscalateToCoordinator)) => match by {
                Principal::Coordinator => Standing::Free,
                _ => Standing::Waits,
            },
        }
    }

    /// The same, where the gate may be off.
    pub(super) fn standing(
        &self,
        by: Principal,
        gate_type: GateType,
        subject: Subject,
    ) -> Standing {
        match self.highway.gate(gate_type).enabled {
            true => self.asking(by, gate_type, subject),
            false => Standing::Free,
        }
    }

    /// Why a gated order is refused at once.
    pub(super) fn refusal(standing: Standing) -> Option<Refusal> {
        match standing {
            Standing::Free | Standing::Asks => None,
            Standing::Waits => Some(Refusal::GatePending),
            Standing::FellBack => Some(Refusal::GateFellBack),
        }
    }

    /// A question is put to the people; its time begins.
    pub(super) fn ask(
        &mut self,
        gate_type: GateType,
        subject: Subject,
        what: What,
        facts: &mut Facts,
    ) {
        let Some((id, at)) = facts.gate() else {
            return;
        };
        let setting = self.highway.gate(gate_type);
        let due = setting
            .timeout_us
            .map(|us| Micros(at.0.saturating_add(us as i64)));
        self.gates.push(Question {
            id,
            gate_type,
            subject,
            what,
            fallback: setting.fallback,
            due,
        });
    }

    /// The coordinator goes on with what was handed to it.
    pub(super) fn take_up(&mut self, gate_type: GateType, subject: Subject) {
        self.handed
            .retain(|question| question.gate_type != gate_type || question.subject != subject);
    }

    /// Questions that nobody needs to answer any more.
    pub(super) fn drop_questions(&mut self, is_void: impl Fn(&Question) -> bool) {
        self.gates.retain(|question| !is_void(question));
        self.handed.retain(|question| !is_void(question));
    }

    pub(super) fn pending(&self, id: wacp::id::GateId) -> Option<&Question> {
        self.gates.iter().find(|question| question.id == id)
    }

    /// Nobody answered in time.
    pub(super) fn fall_back(&mut self, question: Question, facts: &mut Facts) {
        self.gates.retain(|other| other.id != question.id);
        // What is hindered for now stays a question, unless silence is a yes.
        let may_be_void = question.fallback == Fallback::Approve || facts.is_void(question.id);
        if may_be_void && !self.is_possible(&question, facts) {
            return;
        }
        // A plan or a letter is never proposed again, a merge, a resolution or
        // an abort may be.
        let again = matches!(
            question.gate_type,
            GateType::Integration | GateType::ConflictResolution | GateType::WorkspaceAbort
        );
        if again {
            let settled = (question.gate_type, question.subject, question.fallback);
            self.settled.push(settled);
        }
        match question.fallback {
            Fallback::Approve => self.go_ahead(&question, facts),
            Fallback::Reject => self.call_off(&question, facts),
            Fallback::EscalateToCoordinator => self.handed.push(question),
        }
    }
}
