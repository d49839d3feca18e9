//! Open files: every connection is one. Whoever opens connections to the relay,
//! known or not, must leave enough of them for everything else.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use wakelink::relay::Limits;

/// What is left for the store, the pages and the API.
const OTHERS: u64 = 1024;

/// Takes as many open files as the system lets us have, and no more connections
/// to the relay than these allow. Warns only if the operator `asked` for more
/// connections: the default is an upper limit that nobody relies on.
pub fn make_room(link: &mut Limits, asked: bool) {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // If it cannot be raised, what there was must do.
    let _ = setrlimit(Resource::Nofile, raised);
    let Some(files) = getrlimit(Resource::Nofile).current else {
        return;
    };
    let most = connections(files);
    if link.connections <= most {
        return;
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
    }
}
