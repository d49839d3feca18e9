//! Listening, and ending well: requests in flight are finished, whoever waits
//! is let go, then the writer ends.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    time::Duration,
};

use axum::Router;
use axum_server::{Handle, tls_rustls::RustlsConfig};
use hyper_util::rt::TokioTimer;
use tokio::net::UnixListener;

use crate::{App, failures, routes, transport::Listener, webhook};

/// A client that sends no request holds a connection for this long at most.
const HEADER_TIME: Duration = Duration::from_secs(15);
/// Requests in flight may take this long after the signal; the whole of an
/// orderly end stays within 10 s.
const GRACE: Duration = Duration::from_secs(8);
/// Administration in flight, after that.
const SOCKET_GRACE: Duration = Duration::from_secs(1);

/// Where to listen.
#[derive(Debug)]
pub struct Bound {
    tcp: TcpListener,
    tls: Option<RustlsConfig>,
    socket: Option<(UnixListener, PathBuf)>,
}

impl Bound {
    pub fn new(listen: SocketAddr, tls: Option<RustlsConfig>) -> io::Result<Bound> {
        let tcp = TcpListener::bind(listen)?;
        tcp.set_nonblocking(true)?;
        Ok(Bound {
            tcp,
            tls,
            socket: None,
        })
    }

    /// Adds the owner-only socket for administration.
    pub fn with_socket(mut self, path: PathBuf) -> io::Result<Bound> {
        // The data directory is locked, so a socket that is there is left over.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = UnixListener::bind(&path)?;
        let owner_only = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&path, owner_only)?;
        self.socket = Some((socket, path));
        Ok(self)
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}

/// Serves until `shutdown` ends.
pub async fn serve(app: App, bound: Bound, shutdown: impl Future<Output = ()>) -> io::Result<()> {
    let Bound { tcp, tls, socket } = bound;
    let handle = Handle::new();
    let background = [
        tokio::spawn(webhook::run(app.clone())),
        tokio::spawn(failures::run(app.clone())),
    ];
    let listener = if tls.is_some() {
        Listener::Tls
    } else {
        Listener::Plain
    };
    let service =
        routes::router(app.clone(), listener).into_make_service_with_connect_info::<SocketAddr>();
    let public = {
        let handle = handle.clone();
        async move {
            match tls {
                Some(tls) => {
                    let mut server = axum_server::from_tcp_rustls(tcp, tls)?.handle(handle);
                    let http = server.http_builder();
                    http.http1()
                        .timer(TokioTimer::new())
                        .header_read_timeout(HEADER_TIME);
                    http.http2()
                        .timer(TokioTimer::new())
                        .max_concurrent_streams(256);
                    server.serve(service).await
                }
                None => {
                    let mut server = axum_server::from_tcp(tcp)?.handle(handle);
                    let http = server.http_builder();
                    http.http1()
                        .timer(TokioTimer::new())
                        .header_read_timeout(HEADER_TIME);
                    server.serve(service).await
                }
            }
        }
    };
    let public = tokio::spawn(public);
    let socket_path = socket.as_ref().map(|(_, path)| path.clone());
    let mut local = tokio::spawn(serve_socket(app.clone(), socket));

    shutdown.await;
    tracing::info!("stopping");
    app.stopping.send_replace(true);
    handle.graceful_shutdown(Some(GRACE));
    let ended = public
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)));
    if tokio::time::timeout(SOCKET_GRACE, &mut local)
        .await
        .is_err()
    {
        local.abort();
    }
    if let Some(path) = socket_path {
        let _ = std::fs::remove_file(path);
    }
    failures::flush(&app).await;
    background.iter().for_each(tokio::task::JoinHandle::abort);
    app.engine.stop().await;
    ended
}

async fn serve_socket(app: App, socket: Option<(UnixListener, PathBuf)>) {
    let Some((listener, _)) = socket else {
        return;
    };
    let router: Router = routes::router(app.clone(), Listener::Local);
    let stopped = async move { app.stopped().await };
    let served = axum::serve(listener, router)
        .with_graceful_shutdown(stopped)
        .await;
    if let Err(error) = served {
        tracing::error!(%error, "the administration socket failed");
    }
}
