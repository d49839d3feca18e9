//! Being a device.

use anyhow::{Context as _, Result, bail};
use client::Server;
use runner::{Device, Ended, Timing};

use crate::{
    Ending,
    cli::Place,
    commands::shutdown,
    link::{cli, config, private},
    output::{line, say},
};

pub async fn device(place: &Place, given: &cli::Device) -> Result<Ending> {
    let config = config::read(place, given)?;
    let Some(secret) = private::read_secret(&config.agent_id, &config.secret_file)? else {
        bail!(
            "there is no secret in {}: make one with `wakeful link pair {}`",
            config.secret_file.display(),
            config.agent_id
        );
    };
    let token = private::read_device_token(&config.token_file)?;
    let ca = config.server_ca.as_ref().map(|file| {
        std::fs::read(file).with_context(|| format!("could not read {}", file.display()))
    });
    let ca = ca.transpose()?;
    let device = Device {
        server: Server::at(&config.server, None, ca.as_deref())?,
        agent_id: config.agent_id,
        token: token.to_string(),
        secret,
        hands: config.hands,
        timing: Timing::default(),
    };
    match device.run(shutdown()?).await {
        Ended::Stopped => Ok(Ending::Done),
        Ended::Refused(fault) => {
            say(&format!("wakeful: {}", line(&fault.to_string())));
            Ok(Ending::Refused)
        }
    }
}
