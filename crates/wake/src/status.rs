//! The four response statuses of the wire: a closed set.

trail::closed! {
    /// How it stands with a delivery, as its agent is told.
    Status {
        Pending = "pending",
        Approved = "approved",
        Rejected = "rejected",
        Redirected = "redirected",
    }
}

impl Status {
    /// Every status that is an answer.
    pub fn answers() -> impl Iterator<Item = Status> {
        let all = Status::ALL.into_iter();
        all.filter(|status| *status != Status::Pending)
    }
}
