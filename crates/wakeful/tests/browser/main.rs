//! The pages in a real browser, as people use them: each test starts a server,
//! and a script in `flows/` drives Chromium against it.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../harness/mod.rs"]
mod harness;

mod attacks;
mod audit;
mod coming_in;
mod deciding;
mod flow;
mod guest;
mod hostile;
mod house;
mod pictures;
mod security;
mod tls;
mod truths;
