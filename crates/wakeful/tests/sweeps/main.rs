//! `GET /wake/v1/responses`: one sweep instead of many polls.

#[path = "../harness/mod.rs"]
mod harness;

mod every_answer_once;
mod rows;
