//! Text frames as they go over the wire (RFC 6455, 5.2): whole ones, not
//! masked, one after the other.

/// What one frame costs beside its bytes, so that empty ones are not for free.
const OVERHEAD: usize = 64;
/// The longest head of a frame there is.
const HEAD_BYTES: usize = 10;

#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    count: usize,
}

impl Frames {
    pub fn of(text: &str) -> Frames {
        let mut frames = Frames::default();
        frames.push(text);
        frames
    }

    pub fn push(&mut self, text: &str) {
        /// The last of its kind, and text.
        const TEXT: u8 = 0x81;
        self.expect(text.len());
        self.bytes.push(TEXT);
        match text.len() {
            short @ 0..126 => self.bytes.push(short as u8),
            middle @ 126..0x1_0000 => {
                self.bytes.push(126);
                self.bytes.extend((middle as u16).to_be_bytes());
            }
            long => {
                self.bytes.push(127);
                self.bytes.extend((long as u64).to_be_bytes());
            }
        }
        self.bytes.extend_from_slice(text.as_bytes());
        self.count += 1;
    }

    /// Makes room for a text of so many bytes, or a few. Only powers of two are
    /// asked for: an allocator keeps some room for every size that ever was.
    pub fn expect(&mut self, bytes: usize) {
        let needed = self.bytes.len() + HEAD_BYTES + bytes;
        if needed > self.bytes.capacity() {
            let more = needed.next_power_of_two() - self.bytes.len();
            self.bytes.reserve_exact(more);
        }
    }

    pub fn append(&mut self, others: &Frames) {
        self.bytes.extend_from_slice(&others.bytes);
        self.count += others.count;
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// What they count for while they wait.
    pub fn cost(&self) -> usize {
        self.bytes.len() + self.count * OVERHEAD
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_tungstenite::tungstenite::{
        Message,
        protocol::{Role, WebSocket},
    };

    #[test]
    fn another_library_reads_them_whatever_their_length() {
        let texts = [0, 1, 125, 126, 127, 65_535, 65_536, 70_000]
            .map(|length| "é".repeat(length / 2) + &"x".repeat(length % 2));
        let mut frames = Frames::default();
        for text in &texts {
            frames.push(text);
        }
        frames.append(&Frames::of("the end"));
        assert_eq!(frames.count(), texts.len() + 1);
        let read = std::io::Cursor::new(frames.into_bytes());
        let mut socket = WebSocket::from_raw_socket(read, Role::Client, None);
        for text in &texts {
            assert_eq!(socket.read().unwrap(), Message::text(text));
        }
        assert_eq!(socket.read().unwrap(), Message::text("the end"));
    }
}
