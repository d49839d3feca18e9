//! The least that a relay can be on the same WebSocket library: the first frame
//! names a pair, and whatever either of the two sends then goes to the other.
//! No accounts, no tokens, no limits, no presence, nothing read.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Result;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::{
    WebSocketStream, accept_async_with_config,
    tungstenite::{Message, protocol::WebSocketConfig},
};

use super::road::{Files, acceptor};

type Waiting<S> = Arc<Mutex<HashMap<String, WebSocketStream<S>>>>;

pub async fn serve(listen: SocketAddr, read_bytes: usize, tls: Option<Files>) -> Result<()> {
    let listener = TcpListener::bind(listen).await?;
    let tls = tls.as_ref().map(acceptor).transpose()?;
    // To write, the library's own.
    let config = WebSocketConfig::default().read_buffer_size(read_bytes);
    let (waiting, waiting_tls) = (Waiting::default(), Waiting::default());
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        // Whoever goes away in the middle is ordinary.
        match tls.clone() {
            None => {
                let waiting = Arc::clone(&waiting);
                tokio::spawn(async move { _ = greet(stream, config, &waiting).await });
            }
            Some(tls) => {
                let waiting = Arc::clone(&waiting_tls);
                tokio::spawn(async move {
                    if let Ok(stream) = tls.accept(stream).await {
                        _ = pair(stream, config, &waiting).await;
                    }
                });
            }
        }
    }
}

async fn greet(
    stream: TcpStream,
    config: WebSocketConfig,
    waiting: &Waiting<TcpStream>,
) -> Result<()> {
    let mut peek = [0; 12];
    let read = stream.peek(&mut peek).await?;
    match peek[..read].starts_with(b"GET /readyz") {
        true => ready(stream).await,
        false => pair(stream, config, waiting).await,
    }
}

async fn pair<S>(stream: S, config: WebSocketConfig, waiting: &Waiting<S>) -> Result<()>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut socket = accept_async_with_config(stream, Some(config)).await?;
    let Some(Ok(Message::Text(name))) = socket.next().await else {
        return Ok(());
    };
    let name = name.as_str().to_owned();
    socket.send(Message::text("welcome")).await?;
    let other = {
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match waiting.remove(&name) {
            Some(other) => other,
            None => {
                waiting.insert(name, socket);
                return Ok(());
            }
        }
    };
    let (to_one, from_one) = socket.split();
    let (to_other, from_other) = other.split();
    tokio::spawn(from_one.forward(to_other));
    from_other.forward(to_one).await?;
    Ok(())
}

async fn ready(mut stream: TcpStream) -> Result<()> {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    stream.write_all(answer).await?;
    Ok(())
}
