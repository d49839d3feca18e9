//! A run as bytes, and a run from bytes: what is loaded in place of the entries
//! that made it.
//!
//! Equal runs have equal bytes, so the hash that `trail_snapshot_created` puts
//! on the trail is also that of a run that was replayed up to there. The totals
//! in [`crate::Measured`] are no part of it: no entry tells them, and after a
//! crash the next report says them all again. Who lets go of a run without a
//! crash keeps them beside the snapshot.

use trail::Hash;

use crate::state::Run;

/// What the bytes begin with. Another form of the state is another number.
const VERSION: &[u8] = b"wacp-snapshot/1\n";

/// Why bytes are no snapshot to go on from; then the whole trail is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("the snapshot is not the one that the trail names")]
    Changed,
    #[error("the snapshot is of another version")]
    OtherVersion,
    #[error("the snapshot does not spell a run")]
    Malformed,
}

pub fn write(run: &Run) -> Vec<u8> {
    let mut bytes = VERSION.to_vec();
    serde_json::to_writer(&mut bytes, run).expect("every run has a spelling");
    bytes
}

/// What the trail records of a snapshot.
pub fn hash(bytes: &[u8]) -> Hash {
    Hash::of("wacp/snapshot/1", &[bytes])
}

/// The run, if these are the bytes that `hash` names.
pub fn read(bytes: &[u8], hash: Hash) -> Result<Run, Unreadable> {
    if self::hash(bytes) != hash {
        return Err(Unreadable::Changed);
    }
    let spelled = bytes.strip_prefix(VERSION);
    let spelled = spelled.ok_or(Unreadable::OtherVersion)?;
    serde_json::from_slice(spelled).map_err(|_| Unreadable::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_the_trail_does_not_name_or_that_are_of_another_version_are_refused() {
        let bytes = write(&Run::default());
        assert_eq!(read(&bytes, hash(&bytes)), Ok(Run::default()));
        assert_eq!(read(&bytes, Hash::ZERO), Err(Unreadable::Changed));
        let mut later = bytes.clone();
        later[VERSION.len() - 2] = b'2';
        assert_eq!(read(&later, hash(&bytes)), Err(Unreadable::Changed));
        assert_eq!(read(&later, hash(&later)), Err(Unreadable::OtherVersion));
        let short = &bytes[..bytes.len() - 1];
        assert_eq!(read(short, hash(short)), Err(Unreadable::Malformed));
    }
}
