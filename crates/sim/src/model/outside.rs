//! Reasons that rules outside the model may have: budgets, forms, depth of the
//! tree, what a merge finds. Where one of them may be given, the model does not
//! insist on acceptance.

use wacp::{Refusal, workspace::budget::Dimension};

/// What only budgets, trees too deep, names and forms have to say about a new
/// workspace.
pub const CREATION: &[Refusal] = &[
    Refusal::TimeoutRequired,
    Refusal::AgentRequired,
    Refusal::AgentBound,
    Refusal::TooLong,
    Refusal::InvalidStructure,
    Refusal::CapacityExhausted,
    Refusal::TreeTooDeep,
    Refusal::VisibilityNotContained,
    Refusal::AuthorityNotContained,
    Refusal::BudgetNotContained(Dimension::Tokens),
    Refusal::UnknownTask,
    Refusal::InvalidTaskStatus,
    Refusal::TaskNotReady,
];
/// The same about one that a person changed at its gate; and its parent, owner
/// or cause may not be what they were.
pub const CHANGED_CREATION: &[Refusal] = &[
    Refusal::MissingCapability,
    Refusal::CapacityExhausted,
    Refusal::AgentBound,
    Refusal::TreeTooDeep,
    Refusal::VisibilityNotContained,
    Refusal::AuthorityNotContained,
    Refusal::BudgetNotContained(Dimension::Tokens),
    Refusal::InvalidTaskStatus,
    Refusal::TaskNotReady,
    Refusal::InvalidState,
    Refusal::UserNotActive,
];
pub const MERGES: &[Refusal] = &[
    Refusal::InvalidState,
    Refusal::OutsideAuthority,
    Refusal::NoFinalCheckpoint,
    Refusal::IntegrationUnderWay,
    Refusal::InvalidStructure,
    Refusal::TooLong,
    Refusal::StrategyCannotDetect,
];
pub const SALVAGE: &[Refusal] = &[
    Refusal::InvalidState,
    Refusal::OutsideAuthority,
    Refusal::PermissionDenied,
    Refusal::SalvageNeedsEvaluated,
    Refusal::NothingToSalvage,
    Refusal::UnknownCheckpoint,
    Refusal::IntegrationUnderWay,
    Refusal::InvalidStructure,
    Refusal::TooLong,
    Refusal::StrategyCannotDetect,
];
pub const PLACES: &[Refusal] = &[
    Refusal::TreeTooDeep,
    Refusal::VisibilityNotContained,
    Refusal::AuthorityNotContained,
    Refusal::BudgetNotContained(Dimension::Tokens),
];
pub const PLANS: &[Refusal] = &[
    Refusal::EmptyGraph,
    Refusal::TooManyTasks,
    Refusal::InvalidStructure,
    Refusal::InvalidEstimate,
    Refusal::UnknownTask,
    Refusal::OtherGraph,
    Refusal::Cycle,
    Refusal::InvalidTaskStatus,
];
pub const CHECKPOINTS: &[Refusal] = &[
    Refusal::IntegrityViolation,
    Refusal::InvalidType,
    Refusal::InvalidStructure,
    Refusal::PermissionDenied,
    Refusal::NotChainHead,
    Refusal::OutsideAuthority,
    Refusal::TooManyArtifacts,
    Refusal::TooLong,
];
pub const ANSWERS: &[Refusal] = &[
    Refusal::PermissionDenied,
    Refusal::UnknownEscalation,
    Refusal::UserNotActive,
    Refusal::MissingCapability,
    Refusal::WrongScope,
    Refusal::InvalidType,
    Refusal::InvalidStructure,
    Refusal::WorkspaceSealed,
];
