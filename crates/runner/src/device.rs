//! A device's life on the relay: connect, answer, and when the line or the
//! server is gone, come back. Sessions end with the connection they were made
//! on; clients say hello again.

use std::time::Duration;

use client::{
    Server,
    link::{Auth, Backoff, LinkFault, SILENCE, Socket},
};
use tokio::time::{Instant, sleep};
use wakelink::{
    Hello, Secret,
    device::{Heard, Sessions},
    ewsp::Draw,
};

use crate::Hands;

/// Hellos that are answered in one second. The relay lets in whoever has a token
/// of the owner's; they must not take all of the device's time.
const HELLOS: u32 = 64;

/// How many hellos were answered lately.
#[derive(Debug, Default)]
struct Hellos {
    second: u64,
    answered: u32,
}

impl Hellos {
    /// Whether one more is answered.
    fn may_answer(&mut self, now: Duration) -> bool {
        if self.second != now.as_secs() {
            *self = Hellos {
                second: now.as_secs(),
                answered: 0,
            };
        }
        self.answered += 1;
        self.answered <= HELLOS
    }
}

/// How patient a device is.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    pub backoff: Backoff,
    /// A connection that lasted so long was good: the next wait is short.
    pub good_after: Duration,
    /// Before a token is tried again that was good once and is now refused.
    /// Twice as long each time it is refused again, up to the longest wait:
    /// a house full of such devices must not lock its own address out.
    pub refused: Duration,
    pub refused_longest: Duration,
    /// A line on which nothing is heard for so long is dead, whatever the
    /// system says.
    pub silence: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            backoff: Backoff::default(),
            good_after: Duration::from_secs(30),
            refused: Duration::from_secs(300),
            refused_longest: Duration::from_secs(3600),
            silence: SILENCE,
        }
    }
}

impl Timing {
    /// The wait after so many refusals in a row.
    fn after_refusals(&self, count: u32) -> Duration {
        let doubled = 1_u32
            .checked_shl(count.saturating_sub(1))
            .unwrap_or(u32::MAX);
        self.refused
            .saturating_mul(doubled)
            .min(self.refused_longest)
    }
}

/// Why a device stopped.
#[derive(Debug)]
pub enum Ended {
    /// It was told to.
    Stopped,
    /// The server never took its token.
    Refused(LinkFault),
}

pub struct Device {
    pub server: Server,
    pub agent_id: String,
    pub token: String,
    pub secret: Secret,
    pub hands: Hands,
    pub timing: Timing,
}

/// Its token stays out of what is printed.
impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device")
            .field("agent_id", &self.agent_id)
            .finish_non_exhaustive()
    }
}

impl Device {
    /// Stays on the relay until `stop` is over.
    pub async fn run(&self, stop: impl Future<Output = ()>) -> Ended {
        tokio::pin!(stop);
        tokio::select! {
            () = &mut stop => Ended::Stopped,
            fault = self.stay() => Ended::Refused(fault),
        }
    }

    /// Ends only if the token was never good.
    async fn stay(&self) -> LinkFault {
        let mut backoff = self.timing.backoff;
        let mut was_admitted = false;
        let mut refusals = 0;
        loop {
            let started = Instant::now();
            let fault = self.connection(&mut was_admitted).await;
            refusals = match &fault {
                LinkFault::Refused { .. } => refusals + 1,
                _ => 0,
            };
            let was_good = started.elapsed() >= self.timing.good_after;
            if was_good || matches!(fault, LinkFault::UsedUp { .. }) {
                backoff.reset();
            }
            let mut wait = backoff.next(random_share());
            if let LinkFault::Refused {
                retry_after_seconds,
                ..
            } = &fault
            {
                // Seed 004 has one failed `auth_response`, about the token, with
                // `retry_after` in a lock-out alone; docs/wakelink.md gives every
                // other a code. So this one is about the token, and nothing mends
                // a token. The sentence is for people and decides nothing.
                if !was_admitted && retry_after_seconds.is_none() {
                    return fault;
                }
                let told = retry_after_seconds.map(Duration::from_secs);
                wait += told.unwrap_or_else(|| self.timing.after_refusals(refusals));
            }
            tracing::warn!(
                wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                "offline: {fault}"
            );
            sleep(wait).await;
        }
    }

    /// One connection, from its beginning to its end.
    async fn connection(&self, was_admitted: &mut bool) -> LinkFault {
        let auth = Auth::device(&self.agent_id, &self.token);
        let mut socket = match Socket::connect(&self.server, auth).await {
            Ok((socket, _)) => socket.patient(self.timing.silence),
            Err(fault) => return fault,
        };
        *was_admitted = true;
        tracing::info!(agent_id = %self.agent_id, server = self.server.base(), "online");
        let mut sessions = Sessions::new(&self.agent_id, self.secret.clone());
        let mut hellos = Hellos::default();
        let connected = Instant::now();
        loop {
            let text = match socket.next().await {
                Ok(text) => text,
                Err(fault) => return fault,
            };
            if Hello::read(&text).is_ok() && !hellos.may_answer(connected.elapsed()) {
                tracing::debug!("a hello too many was dropped");
                continue;
            }
            for reply in self.replies(&mut sessions, &text, connected).await {
                if let Err(fault) = socket.send(reply).await {
                    return fault;
                }
            }
        }
    }

    /// What to say to a text that the relay passed on. What is refused gets no
    /// answer, and its sender learns nothing.
    async fn replies(
        &self,
        sessions: &mut Sessions,
        text: &str,
        connected: Instant,
    ) -> Vec<String> {
        let Some(draw) = fresh_draw() else {
            tracing::error!("the system gives no random bytes");
            return Vec::new();
        };
        match sessions.hear(text, connected.elapsed(), || draw) {
            Ok(Heard::Hello(texts)) => texts.into(),
            Ok(Heard::Confirmed) => Vec::new(),
            Ok(Heard::Content { sid, content }) => {
                let answer = self.hands.answer(&content).await;
                match sessions.say(sid, &answer.bytes()) {
                    Ok(text) => vec![text],
                    Err(refusal) => {
                        tracing::debug!("an answer was not sealed: {refusal}");
                        Vec::new()
                    }
                }
            }
            Err(refusal) => {
                tracing::debug!("a packet was dropped: {refusal}");
                Vec::new()
            }
        }
    }
}

fn fresh_draw() -> Option<Draw> {
    let mut bytes = [0; 64];
    getrandom::fill(&mut bytes).ok()?;
    Some(Draw::new(&bytes))
}

/// Without random bytes, all wait equally long: worse, and still right.
fn random_share() -> u32 {
    getrandom::u32().unwrap_or(u32::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_hellos_are_answered_in_a_second() {
        let mut hellos = Hellos::default();
        for second in [0, 1, 5] {
            let now = Duration::from_millis(second * 1000 + 300);
            let answered = (0..1000).filter(|_| hellos.may_answer(now)).count();
            assert_eq!(answered, HELLOS as usize);
        }
    }

    #[test]
    fn a_token_that_stays_refused_is_tried_less_and_less_often() {
        let timing = Timing::default();
        let waits = [1, 2, 3, 4, 5, 6, 40, u32::MAX].map(|count| timing.after_refusals(count));
        let expected = [300, 600, 1200, 2400, 3600, 3600, 3600, 3600].map(Duration::from_secs);
        assert_eq!(waits, expected);
    }
}
