//! Five ways to look at a run: as a whole, one workspace in time, who wrote to
//! whom, what people did, and two runs side by side. Each is made of what its
//! reader may see and nothing else.

use std::collections::BTreeSet;

use trail::Micros;

use super::{Fold, Visible, body};
use crate::{
    checkpoint::Artifact,
    event::{Entry, Event},
    id::{ArtifactId, CheckpointId, WorkspaceId},
    workspace::lifecycle::{State, Trigger},
};

mod comparison;
mod highway;
mod messages;
mod overview;

pub use comparison::{Comparison, compare};
pub use highway::{AnsweredBy, GateLine, HighwayActivity};
pub use messages::{Message, Messages};
pub use overview::Overview;

/// One step of a workspace's life. Its local trail, step by step, is the
/// workspace in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    pub time: Micros,
    pub event_type: &'static str,
    pub change: Option<(State, State, Trigger)>,
}

impl Moment {
    pub fn of(entry: &Entry) -> Moment {
        Moment {
            time: entry.time,
            event_type: entry.event.event_type(),
            change: match &entry.event {
                Event::WorkspaceStateChanged(e) => Some((e.from_state, e.to_state, e.trigger)),
                _ => None,
            },
        }
    }
}

/// The artifact with this number, if it stands in this entry: whose it is, in
/// which checkpoint, and what.
pub fn artifact<'e>(
    entry: Visible<'e>,
    id: ArtifactId,
) -> Option<(WorkspaceId, CheckpointId, &'e Artifact)> {
    match &entry.entry().event {
        Event::CheckpointCreated(e) => {
            let at = id.0.checked_sub(e.first_artifact.0)?;
            let artifact = e.artifacts.get(usize::try_from(at).ok()?)?;
            Some((e.workspace, e.checkpoint, artifact))
        }
        _ => None,
    }
}

/// The names of body fields that occur, for whoever builds a query.
#[derive(Clone, Debug, Default)]
pub struct KnownFields(pub BTreeSet<String>);

impl Fold for KnownFields {
    fn push(&mut self, entry: Visible<'_>) {
        if let serde_json::Value::Object(map) = body(&entry.event) {
            self.0.extend(map.into_iter().map(|(name, _)| name));
        }
    }
}
