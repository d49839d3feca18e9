//! `GET /wake/v1/responses`: one sweep instead of many polls.
#![allow(clippy::unwrap_used)]

#[path = "../harness/mod.rs"]
mod harness;

mod every_answer_once;
mod rows;
