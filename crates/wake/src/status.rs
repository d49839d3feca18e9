//! The four response statuses of the wire: a closed set.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Pending,
    Approved,
    Rejected,
    Redirected,
}

impl Status {
    pub const ALL: [Status; 4] = [
        Status::Pending,
        Status::Approved,
        Status::Rejected,
        Status::Redirected,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Approved => "approved",
            Status::Rejected => "rejected",
            Status::Redirected => "redirected",
        }
    }

    pub fn parse(text: &str) -> Option<Status> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}
