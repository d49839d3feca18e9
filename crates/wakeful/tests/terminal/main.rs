//! Nothing the terminal says is false: what the program prints, and where.
#![allow(clippy::unwrap_used)]

#[path = "../harness/mod.rs"]
mod harness;

mod errors;
mod hostile;
mod lists;
mod manual;
mod places;
mod prefixes;
mod scene;
mod starting;
mod values;
mod variables;
