//! One delivery, as the model keeps it.

use inbox::Verdict;
use store::Erased;
use trail::Micros;
use uuid::Uuid;
use wake::{Kind, Status};

#[derive(Clone, Debug)]
pub struct Item {
    pub id: Uuid,
    pub no: u64,
    pub agent: String,
    pub kind: Kind,
    pub created_at: Micros,
    pub changed_at: Micros,
    pub timeout_at: Option<Micros>,
    pub timed_out: bool,
    pub status: Status,
    pub answered_by: Option<String>,
    pub hold: Option<Hold>,
    pub has_callback: bool,
    pub erased: Erased,
    /// What is left of the texts.
    pub details: Option<Vec<u8>>,
    pub feedback: Option<Vec<u8>>,
}

#[derive(Clone, Debug)]
pub struct Hold {
    pub by: String,
    pub verdict: Verdict,
    pub until: Micros,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    pub delivery_id: Uuid,
    pub attempts: u32,
    pub next_at: Option<Micros>,
}

impl Item {
    pub fn due_at(&self) -> Option<Micros> {
        let waits = self.status == Status::Pending && !self.timed_out;
        let hold = self.hold.as_ref().map(|hold| hold.until);
        hold.into_iter()
            .chain(self.timeout_at.filter(|_| waits))
            .min()
    }

    pub fn is_over(&self) -> bool {
        self.status != Status::Pending || (self.timed_out && self.hold.is_none())
    }

    /// The moment from which the days of a rule count.
    pub fn kept_since(&self) -> Option<Micros> {
        match (self.status, self.kind) {
            (Status::Pending, _) if self.hold.is_some() => None,
            (Status::Pending, Kind::Update) => Some(self.created_at),
            (Status::Pending, _) => self.timeout_at.filter(|_| self.timed_out),
            _ => Some(self.changed_at),
        }
    }

    pub fn erase(&mut self) {
        self.erased = Erased::All;
        self.details = None;
        self.feedback = None;
    }
}

pub fn status(verdict: Verdict) -> Status {
    match verdict {
        Verdict::Approved => Status::Approved,
        Verdict::Rejected => Status::Rejected,
        Verdict::Redirected => Status::Redirected,
    }
}

pub fn verdict(status: Status) -> Verdict {
    match status {
        Status::Rejected => Verdict::Rejected,
        Status::Redirected => Verdict::Redirected,
        Status::Approved | Status::Pending => Verdict::Approved,
    }
}
