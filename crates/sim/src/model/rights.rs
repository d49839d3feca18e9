//! Who holds which right, and who may send what to whom (WACP §5.5, §5.6).

use wacp::{
    Refusal,
    content::{Content, MAX_BYTES},
    envelope::{MAX_RIGHTS, NewEnvelope},
    id::WorkspaceId,
    integrity::Check,
    right::RightKind,
    role::EnvelopeType,
    workspace::lifecycle::State,
};

use super::{Expect, Model, ROOT, Right, rules};

impl Model {
    pub(super) fn count(&self, wanted: Right) -> usize {
        self.rights.iter().filter(|right| **right == wanted).count()
    }

    pub(super) fn holds(&self, holder: WorkspaceId, target: WorkspaceId, kind: RightKind) -> bool {
        self.count(Right {
            holder,
            target,
            kind,
        }) > 0
    }

    /// A lasting right is held once or not at all.
    pub(super) fn give(&mut self, right: Right) {
        if right.kind == RightKind::Send && self.count(right) > 0 {
            return;
        }
        self.rights.push(right);
    }

    /// One of them goes.
    pub(super) fn take(&mut self, right: Right) {
        if let Some(at) = self.rights.iter().position(|held| *held == right) {
            self.rights.remove(at);
        }
    }

    /// Those who direct what hangs beneath `parent`: the coordinator, and each
    /// delegate on the way up.
    fn superiors(&self, parent: WorkspaceId) -> Vec<WorkspaceId> {
        let above = |id: &WorkspaceId| *id == parent || self.is_beneath(parent, *id);
        let directs =
            |id: &WorkspaceId| *id == ROOT || self.open(*id).is_some_and(|space| space.delegate);
        self.ids().filter(above).filter(directs).collect()
    }

    /// The rights that a workspace begins with, in this place.
    pub(super) fn connect(&mut self, id: WorkspaceId) {
        let Some(space) = self.open(id) else {
            return;
        };
        let Some(parent) = space.parent.filter(|_| rules::corresponds(space.role)) else {
            return;
        };
        for superior in self.superiors(parent) {
            for (holder, target) in [(superior, id), (id, superior)] {
                let kind = RightKind::Send;
                self.give(Right {
                    holder,
                    target,
                    kind,
                });
            }
        }
    }

    /// A workspace was moved: whoever stands above it now reaches it and all
    /// beneath it. What it had before, it keeps.
    pub(super) fn reconnect(&mut self, id: WorkspaceId) {
        let moved: Vec<_> = self
            .ids()
            .filter(|other| *other == id || self.is_beneath(*other, id))
            .collect();
        let Some(parent) = self.space(id).and_then(|space| space.parent) else {
            return;
        };
        // The coordinator's rights are as old as the workspaces, or revoked.
        let superiors = self.superiors(parent);
        for superior in superiors.into_iter().filter(|id| *id != ROOT) {
            for other in &moved {
                let Some(space) = self.open(*other) else {
                    continue;
                };
                if !rules::corresponds(space.role) {
                    continue;
                }
                for (holder, target) in [(superior, *other), (*other, superior)] {
                    let kind = RightKind::Send;
                    self.give(Right {
                        holder,
                        target,
                        kind,
                    });
                }
            }
        }
    }

    /// Whether roles and places allow it, whatever rights are held.
    fn is_permitted(&self, from: WorkspaceId, to: WorkspaceId, kind: EnvelopeType) -> bool {
        let (Some(sender), Some(receiver)) = (self.open(from), self.open(to)) else {
            return false;
        };
        let directs = kind == EnvelopeType::Directive || kind == EnvelopeType::Feedback;
        let as_delegate = sender.delegate && directs && self.is_beneath(to, from);
        rules::corresponds(receiver.role) && (rules::sends(sender.role, kind) || as_delegate)
    }

    /// What must become of an envelope that an agent sends.
    pub(super) fn expect_send(&self, from: WorkspaceId, new: &NewEnvelope) -> Expect {
        let mut expect = Expect::decided();
        let is_open = self.open(from).is_some();
        expect.rule(!is_open || !self.works(from), Refusal::PermissionDenied);
        let proven = new.check == Check::Valid && new.proof.is_some();
        expect.rule(!proven, Refusal::IntegrityViolation);
        self.check_shape(new, &mut expect);
        self.check_target(new.to, &mut expect);
        let permitted = self.is_permitted(from, new.to, new.envelope_type);
        expect.rule(!permitted, Refusal::PermissionDenied);
        for (kind, target) in new.rights.iter() {
            let is_receive = *kind == RightKind::Receive;
            expect.rule(is_receive, Refusal::ReceiveRightFixed);
            expect.rule(!self.holds(from, *target, *kind), Refusal::NoSendRight);
        }
        let way = self.holds(from, new.to, RightKind::Send)
            || self.holds(from, new.to, RightKind::SendOnce);
        expect.rule(!way, Refusal::NoSendRight);
        expect
    }

    pub(super) fn check_shape(&self, new: &NewEnvelope, expect: &mut Expect) {
        let known = rules::is_registered(new.envelope_type);
        expect.rule(!known, Refusal::InvalidType);
        let answers = new.in_reply_to.is_none_or(|id| self.written.contains(&id));
        let sound = is_acceptable(&new.payload) && new.rights.len() <= MAX_RIGHTS && answers;
        expect.rule(!sound, Refusal::InvalidStructure);
    }

    pub(super) fn check_target(&self, to: WorkspaceId, expect: &mut Expect) {
        match self.state(to) {
            None => expect.rule(true, Refusal::TargetNotFound),
            Some(State::Closed | State::Failed) => expect.rule(true, Refusal::TargetTerminal),
            Some(State::Integrating | State::Conflicted) => {
                expect.rule(true, Refusal::WorkspaceSealed);
            }
            Some(_) => {}
        }
    }
}

pub(super) fn is_acceptable(content: &Content) -> bool {
    content.bytes <= MAX_BYTES
}
