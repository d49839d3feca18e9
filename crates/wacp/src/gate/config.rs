//! How much a person is asked: the highway's configuration and its presets.
//!
//! Any mixture is valid; presets are starting points (WACP §8.3). Every gate of
//! every preset ends by itself: a gate without a timeout exists only where an
//! override says so.

use serde::{Deserialize, Serialize};

use super::GateType;
use crate::{escalation, workspace::LONGEST_US};

/// A short wait: a minute.
pub const SHORT_US: u64 = 60_000_000;
/// A medium wait: a quarter of an hour.
pub const MEDIUM_US: u64 = 900_000_000;

/// What happens when nobody answers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    Approve,
    Reject,
    EscalateToCoordinator,
}

/// What one gate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateSetting {
    pub enabled: bool,
    pub fallback: Fallback,
    /// `None` waits for ever: an explicit override, listed as a deviation.
    pub timeout_us: Option<u64>,
}

/// What escalations do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EscalationSetting {
    pub enabled: bool,
    pub fallback: escalation::Fallback,
    /// `None` waits for ever, as in the gated preset.
    pub timeout_us: Option<u64>,
}

/// The whole configuration. Without visibility people read the trails of their
/// own workspaces and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Highway {
    pub conflict_resolution: GateSetting,
    pub envelope_delivery: GateSetting,
    pub escalation: EscalationSetting,
    pub injection: bool,
    pub integration: GateSetting,
    pub task_approval: GateSetting,
    pub visibility: bool,
    pub workspace_abort: GateSetting,
    pub workspace_create: GateSetting,
}

/// WACP §8.3 recommends to start from there.
impl Default for Highway {
    fn default() -> Highway {
        Highway::supervised()
    }
}

impl Highway {
    fn with(
        enabled: &[GateType],
        timeout_us: u64,
        fallback: Fallback,
        escalation: EscalationSetting,
    ) -> Highway {
        let gate = |kind: GateType| GateSetting {
            enabled: enabled.contains(&kind),
            fallback,
            timeout_us: Some(timeout_us),
        };
        Highway {
            conflict_resolution: gate(GateType::ConflictResolution),
            envelope_delivery: gate(GateType::EnvelopeDelivery),
            escalation,
            injection: true,
            integration: gate(GateType::Integration),
            task_approval: gate(GateType::TaskApproval),
            visibility: true,
            workspace_abort: gate(GateType::WorkspaceAbort),
            workspace_create: gate(GateType::WorkspaceCreate),
        }
    }

    /// The person watches and does not block.
    pub fn autonomous() -> Highway {
        Highway::with(
            &[GateType::TaskApproval],
            SHORT_US,
            Fallback::Approve,
            EscalationSetting {
                enabled: true,
                fallback: escalation::Fallback::DelegateToCoordinator,
                timeout_us: Some(SHORT_US),
            },
        )
    }

    /// Plans and merges are asked about; the recommended start.
    pub fn supervised() -> Highway {
        Highway::with(
            &[GateType::TaskApproval, GateType::Integration],
            MEDIUM_US,
            Fallback::EscalateToCoordinator,
            EscalationSetting {
                enabled: true,
                fallback: escalation::Fallback::Reject,
                timeout_us: Some(MEDIUM_US),
            },
        )
    }

    /// Nothing moves without consent; silence is a no.
    pub fn gated() -> Highway {
        Highway::with(
            &GateType::ALL,
            MEDIUM_US,
            Fallback::Reject,
            EscalationSetting {
                enabled: true,
                fallback: escalation::Fallback::Reject,
                timeout_us: None,
            },
        )
    }

    /// No gate at all; for runs that are governed elsewhere.
    pub fn open() -> Highway {
        Highway::with(
            &[],
            SHORT_US,
            Fallback::Approve,
            Highway::autonomous().escalation,
        )
    }

    pub fn gate(&self, kind: GateType) -> &GateSetting {
        match kind {
            GateType::TaskApproval => &self.task_approval,
            GateType::WorkspaceCreate => &self.workspace_create,
            GateType::EnvelopeDelivery => &self.envelope_delivery,
            GateType::Integration => &self.integration,
            GateType::ConflictResolution => &self.conflict_resolution,
            GateType::WorkspaceAbort => &self.workspace_abort,
        }
    }

    pub fn gate_mut(&mut self, kind: GateType) -> &mut GateSetting {
        match kind {
            GateType::TaskApproval => &mut self.task_approval,
            GateType::WorkspaceCreate => &mut self.workspace_create,
            GateType::EnvelopeDelivery => &mut self.envelope_delivery,
            GateType::Integration => &mut self.integration,
            GateType::ConflictResolution => &mut self.conflict_resolution,
            GateType::WorkspaceAbort => &mut self.workspace_abort,
        }
    }

    /// A wait of no time would answer before anyone could.
    pub fn is_valid(&self) -> bool {
        let waits = |timeout: Option<u64>| timeout.is_none_or(|us| (1..=LONGEST_US).contains(&us));
        GateType::ALL
            .into_iter()
            .all(|kind| waits(self.gate(kind).timeout_us))
            && waits(self.escalation.timeout_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (
        Highway,
        &'static [GateType],
        Fallback,
        escalation::Fallback,
        Option<u64>,
    );

    /// WACP §8.3: which gates are on, and what silence means.
    #[test]
    fn the_three_presets_are_what_the_table_says() {
        use GateType as G;
        let cases: [Row; 3] = [
            (
                Highway::autonomous(),
                &[G::TaskApproval],
                Fallback::Approve,
                escalation::Fallback::DelegateToCoordinator,
                Some(SHORT_US),
            ),
            (
                Highway::supervised(),
                &[G::TaskApproval, G::Integration],
                Fallback::EscalateToCoordinator,
                escalation::Fallback::Reject,
                Some(MEDIUM_US),
            ),
            (
                Highway::gated(),
                &G::ALL,
                Fallback::Reject,
                escalation::Fallback::Reject,
                None,
            ),
        ];
        for (highway, enabled, fallback, escalated, waits) in cases {
            for kind in GateType::ALL {
                let gate = highway.gate(kind);
                assert_eq!(gate.enabled, enabled.contains(&kind), "{kind:?}");
                assert_eq!(gate.fallback, fallback);
                assert!(
                    gate.timeout_us.is_some(),
                    "every preset gate ends by itself"
                );
            }
            assert_eq!(highway.escalation.fallback, escalated);
            assert_eq!(highway.escalation.timeout_us, waits);
            assert!(highway.injection && highway.visibility && highway.is_valid());
        }
    }

    #[test]
    fn any_mixture_is_valid_but_a_wait_of_nothing() {
        let mut highway = Highway::autonomous();
        highway.gate_mut(GateType::Integration).enabled = true;
        highway.gate_mut(GateType::Integration).timeout_us = None;
        assert!(highway.is_valid());
        highway.gate_mut(GateType::WorkspaceCreate).timeout_us = Some(0);
        assert!(!highway.is_valid());
    }
}
