//! A typed client. [`Server`] sends requests to a server wherever it listens;
//! [`Agent`] is an agent's side of WAKE and keeps the nine rules an agent must
//! keep: it waits no longer than it said, acts only on answers to its own
//! deliveries, keeps a log, refuses plain HTTP outside this machine, and on 429
//! waits, tries once more, and then says so. [`link`] is WakeLink from the
//! outside.

mod agent;
pub mod link;
mod log;
mod server;

pub use agent::{Agent, AgentFault, Answer, Outcome, Page, encode, secret_in};
pub use log::{Log, Received};
pub use server::{ANSWER_BYTES, Problem, Reply, Server, ServerFault};
