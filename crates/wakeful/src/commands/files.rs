//! Open files: every connection is one. Whoever opens connections, to the relay
//! or to the rest, known or not, must leave enough of them for everything else.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use server::crowd::Bounds;
use wakelink::relay::Limits;

/// What is left for the store, the pages and the API.
const OTHERS: u64 = 1024;
/// Of these, what is left for the store, callbacks and the log.
const OWN: u64 = 64;

/// From so many files on, others may have what the relay does not use.
const MANY: u64 = 8192;

/// Takes as many open files as the system lets us have, and no more connections
/// to the relay than these allow. Warns only if the operator `asked` for more
/// connections: the default is an upper limit that nobody relies on. Returns how
/// many connections there may be beside those to the relay.
pub fn make_room(link: &mut Limits, asked: bool) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // If it cannot be raised, what there was must do.
    let _ = setrlimit(Resource::Nofile, raised);
    let Some(files) = getrlimit(Resource::Nofile).current else {
        return Bounds::MOST;
    };
    let most = connections(files);
    if link.connections <= most {
        return others(files, link.connections);
    }
    match asked {
        true => tracing::warn!(
            files,
            wanted = link.connections,
            connections = most,
            "the limit of open files is too low for connections under [link]: fewer are allowed"
        ),
        false => tracing::info!(
            files,
            connections = most,
            "connections to the relay are limited by the number of open files"
        ),
    }
    link.connections = most;
    others(files, link.connections)
}

/// How many connections so many files allow beside those to the relay.
fn others(files: u64, link: usize) -> usize {
    let left = files.saturating_sub(link as u64);
    let left = left.saturating_sub(OWN.min(left / 2));
    // Where there are many, the relay hardly ever needs all of its own.
    let left = match files {
        0..MANY => left,
        _ => left.max(files / 4 * 3),
    };
    usize::try_from(left)
        .unwrap_or(usize::MAX)
        .min(Bounds::MOST)
}

/// How many connections to the relay so many files allow.
fn connections(files: u64) -> usize {
    let others = OTHERS.min(files / 2);
    usize::try_from(files - others).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn something_is_always_left_for_others() {
        let found = [0, 128, 1024, 65_536].map(connections);
        assert_eq!(found, [1, 64, 512, 64_512]);
        let found = [(128, 64), (1024, 512), (65_536, 20_000), (65_536, 64_512)]
            .map(|(files, link)| others(files, link));
        assert_eq!(found, [32, 448, 20_000, 20_000]);
    }
}
