//! What an agent is told, with a signature that its webhook secret checks.

use ::wake::signature;
use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

use crate::{App, Problem};

/// JSON with `X-Wake-Signature` over its exact bytes, keyed like a callback with
/// the secret of the agent whose key asks.
pub async fn signed(app: &App, agent_id: &str, body: Vec<u8>) -> Result<Response, Problem> {
    let signer = app.shared().signer(agent_id).await?;
    let signature = signer.map(|signer| signer.wake(&body));
    let json = [(header::CONTENT_TYPE, "application/json")];
    let mut response = (json, body).into_response();
    if let Some(Ok(value)) = signature.map(HeaderValue::try_from) {
        response.headers_mut().insert(signature::HEADER, value);
    }
    Ok(response)
}
