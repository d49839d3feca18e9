//! The way of an envelope: written, perhaps asked about, delivered in the order
//! of its channel, taken (WACP §4.2).

use wacp::{
    Refusal,
    content::Content,
    envelope::{MAX_TAKEN, NewEnvelope, Priority},
    id::{EnvelopeId, WorkspaceId},
    right::RightKind,
    workspace::lifecycle::State,
};

use super::{Expect, Facts, Letter, Model, Right, What, Writer, facts::Later};

impl Model {
    /// An envelope is on its way: a right that is good for one is used up.
    pub(super) fn write(&mut self, from: WorkspaceId, new: &NewEnvelope, id: EnvelopeId) {
        if !self.holds(from, new.to, RightKind::Send) {
            self.take(Right {
                holder: from,
                target: new.to,
                kind: RightKind::SendOnce,
            });
        }
        self.post(
            Writer::Agent(from),
            id,
            new.to,
            new.priority,
            Some(new.payload),
        );
        if let Some(letter) = self.letters.last_mut() {
            letter.rights = new.rights.to_vec();
        }
    }

    pub(super) fn post(
        &mut self,
        writer: Writer,
        id: EnvelopeId,
        to: WorkspaceId,
        priority: Priority,
        payload: Option<Content>,
    ) {
        self.written.insert(id);
        self.letters.push(Letter {
            id,
            writer,
            to,
            is_blocking: priority == Priority::Blocking,
            payload,
            rights: Vec::new(),
            deliveries: 0,
        });
    }

    pub(super) fn letter(&self, id: EnvelopeId) -> Option<&Letter> {
        self.letters.iter().find(|letter| letter.id == id)
    }

    /// A letter leaves its inbox, and nobody needs to answer for it.
    pub(super) fn lose(&mut self, gone: EnvelopeId) {
        self.letters.retain(|letter| letter.id != gone);
        self.drop_questions(|question| matches!(question.what, What::Deliver(id) if id == gone));
    }

    pub(super) fn expect_acknowledgement(&self, id: WorkspaceId, envelope: EnvelopeId) -> Expect {
        let mut expect = Expect::decided();
        self.living(id, &mut expect);
        let Some(space) = self.open(id) else {
            return expect;
        };
        let is_paused = matches!(space.state, State::Suspended | State::Migrating);
        expect.rule(is_paused, Refusal::InvalidState);
        match self.letter(envelope).filter(|letter| letter.to == id) {
            Some(letter) => expect.rule(letter.deliveries == 0, Refusal::NotDelivered),
            // Once more is no harm.
            None => {
                let again = space.taken.contains(&envelope);
                expect.rule(!again, Refusal::UnknownEnvelope);
            }
        }
        expect
    }

    pub(super) fn acknowledge(&mut self, id: WorkspaceId, envelope: EnvelopeId) {
        if self.letter(envelope).is_none() {
            return;
        }
        self.lose(envelope);
        let taken = &mut self.spaces[id.0 as usize].taken;
        taken.push(envelope);
        if taken.len() > MAX_TAKEN {
            taken.remove(0);
        }
    }

    /// Whether an envelope must be delivered now: its receiver listens, nobody
    /// has to be asked, nothing blocks the inbox, and what the same sender
    /// wrote before has arrived and is not being sent again.
    fn is_next(&self, letter: &Letter) -> bool {
        let listens = matches!(
            self.state(letter.to),
            Some(State::Idle | State::Active | State::Blocked)
        );
        if letter.deliveries > 0 || !listens {
            return false;
        }
        let mut questions = self.gates.iter().chain(&self.handed);
        if questions.any(|question| matches!(question.what, What::Deliver(id) if id == letter.id)) {
            return false;
        }
        let mut inbox = self.letters.iter().filter(|other| other.to == letter.to);
        !inbox.any(|other| {
            let blocks = other.is_blocking && other.deliveries > 0;
            let is_before = other.writer == letter.writer && other.id < letter.id;
            blocks || (is_before && other.deliveries != 1)
        })
    }

    /// What came of it elsewhere. Everything that is delivered had to be, and
    /// nothing that had to be is left.
    pub(super) fn follow(&mut self, facts: &mut Facts) -> Result<(), String> {
        while let Some(later) = facts.later.pop_front() {
            match later {
                Later::Delivered(id) => {
                    if !self.letter(id).is_some_and(|letter| self.is_next(letter)) {
                        return Err(format!("{id} should not have been delivered"));
                    }
                    self.deliver(id, facts);
                }
                Later::Redelivered(id) => {
                    let mut letters = self.letters.iter_mut();
                    if let Some(letter) = letters.find(|letter| letter.id == id) {
                        letter.deliveries += 1;
                    }
                }
                Later::Exhausted(id) => self.lose(id),
                Later::Exceeded(id) => self.fail(id, facts),
            }
        }
        match self.letters.iter().find(|letter| self.is_next(letter)) {
            Some(left) => Err(format!("{} should have been delivered", left.id)),
            None => Ok(()),
        }
    }

    /// An envelope arrives, and the rights in it, if its sender still has them
    /// and they lead to someone who is still there. The first one begins the
    /// work.
    fn deliver(&mut self, id: EnvelopeId, facts: &mut Facts) {
        let Some(at) = self.letters.iter().position(|letter| letter.id == id) else {
            return;
        };
        let letter = &mut self.letters[at];
        letter.deliveries = 1;
        let (to, writer) = (letter.to, letter.writer);
        for (kind, target) in std::mem::take(&mut letter.rights) {
            let Writer::Agent(from) = writer else {
                continue;
            };
            if !self.holds(from, target, kind) || self.open(target).is_none() {
                continue;
            }
            let held = Right {
                holder: from,
                target,
                kind,
            };
            if kind == RightKind::SendOnce {
                self.take(held);
            }
            self.give(Right { holder: to, ..held });
        }
        if self.state(to) == Some(State::Idle) {
            self.enter(to, State::Active, facts);
        }
    }
}
