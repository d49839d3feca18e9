//! WakeLink from a shell: pair with a device, be one, ask one for something.
//! Secrets come from files that only their owner can read and from standard
//! input, never from arguments, which everyone on the machine can see.

mod ask;
pub mod cli;
mod config;
mod device;
mod pair;
mod private;
mod qr;
mod register;
mod unit;
mod watch;

use anyhow::Result;
use cli::Link;
use wakelink::Command;

use crate::{Ending, cli::Place};

pub async fn link(place: &Place, command: Link) -> Result<Ending> {
    match command {
        Link::Add { device, token_file } => {
            register::add(place, device.as_deref(), token_file.as_deref()).await
        }
        Link::Token {
            device,
            renew,
            token_file,
        } => register::token(place, &device, renew, token_file.as_deref()).await,
        Link::Remove { device } => register::remove(place, &device).await,
        Link::Pair(given) => pair::pair(place, &given),
        Link::Device(given) if given.print_unit => unit::print_unit(place, &given),
        Link::Device(given) => device::device(place, &given).await,
        Link::Send {
            device,
            command,
            how,
        } => {
            let fields = ask::read_command(&command)?;
            ask::ask(place, &device, fields, &how).await
        }
        Link::Wake {
            device,
            target,
            how,
        } => {
            let fields = Command::Wake { target }.fields();
            ask::ask(place, &device, fields, &how).await
        }
        Link::Status { device } => watch::status(place, device.as_deref()).await,
        Link::Watch => watch::watch(place).await,
    }
}
