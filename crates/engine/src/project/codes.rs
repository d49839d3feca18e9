//! Numbers in rows for the words of the rooms. A code is a place in a closed list,
//! which only grows at its end. The store gives no row with another one.

use inbox::event::Channel;

const _: () = assert!(wake::Kind::ALL.len() == store::KINDS);
const _: () = assert!(wake::Status::ALL.len() == store::STATUSES);
const _: () = assert!(wake::DetailsFormat::ALL.len() == store::FORMATS);
const _: () = assert!(Channel::ALL.len() == store::CHANNELS);
// What waits has no verdict.
const _: () = assert!(inbox::Verdict::ALL.len() == store::STATUSES - 1);

fn known<T: Copy>(all: &[T], place: usize) -> T {
    let word = all.get(place).copied();
    word.expect("the store refuses a row with a code that is not known")
}

pub fn kind_code(kind: wake::Kind) -> u8 {
    kind as u8
}

pub fn kind(code: u8) -> wake::Kind {
    known(&wake::Kind::ALL, usize::from(code))
}

pub fn status_code(status: wake::Status) -> u8 {
    status as u8
}

pub fn status(code: u8) -> wake::Status {
    known(&wake::Status::ALL, usize::from(code))
}

pub fn verdict_code(verdict: inbox::Verdict) -> u8 {
    verdict as u8 + 1
}

pub fn verdict(code: u8) -> inbox::Verdict {
    known(&inbox::Verdict::ALL, usize::from(code).wrapping_sub(1))
}

pub fn format_code(format: wake::DetailsFormat) -> u8 {
    format as u8
}

pub fn format(code: u8) -> Option<wake::DetailsFormat> {
    Some(known(&wake::DetailsFormat::ALL, usize::from(code)))
}

pub fn channel_code(channel: Channel) -> u8 {
    channel as u8
}

pub fn channel(code: u8) -> Channel {
    known(&Channel::ALL, usize::from(code))
}
