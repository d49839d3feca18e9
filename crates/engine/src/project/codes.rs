//! Numbers in rows for the words of the rooms. A code is a place in a closed list,
//! which only grows at its end.

pub fn kind_code(kind: wake::Kind) -> u8 {
    kind as u8
}

pub fn kind(code: u8) -> wake::Kind {
    wake::Kind::ALL
        .get(usize::from(code))
        .copied()
        .unwrap_or(wake::Kind::Update)
}

const _: () = assert!(wake::Status::ALL.len() == store::STATUSES);

pub fn status_code(status: wake::Status) -> u8 {
    status as u8
}

pub fn status(code: u8) -> wake::Status {
    wake::Status::ALL
        .get(usize::from(code))
        .copied()
        .unwrap_or(wake::Status::Pending)
}

pub fn verdict_code(verdict: inbox::Verdict) -> u8 {
    verdict as u8 + 1
}

pub fn verdict(code: u8) -> inbox::Verdict {
    let place = usize::from(code.saturating_sub(1));
    inbox::Verdict::ALL
        .get(place)
        .copied()
        .unwrap_or(inbox::Verdict::Rejected)
}

pub fn format_code(format: wake::DetailsFormat) -> u8 {
    format as u8
}

pub fn format(code: u8) -> Option<wake::DetailsFormat> {
    wake::DetailsFormat::ALL.get(usize::from(code)).copied()
}

pub fn channel_code(channel: inbox::event::Channel) -> u8 {
    channel as u8
}

pub fn channel(code: u8) -> inbox::event::Channel {
    use inbox::event::Channel;
    match code {
        1 => Channel::Page,
        2 => Channel::Terminal,
        _ => Channel::Api,
    }
}
