//! The four response statuses of the wire: a closed set.

trail::closed! {
    Status {
        Pending = "pending",
        Approved = "approved",
        Rejected = "rejected",
        Redirected = "redirected",
    }
}
