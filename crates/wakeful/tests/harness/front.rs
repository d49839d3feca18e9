//! A real proxy from Debian in front of a server under test: it speaks HTTPS to
//! the world and proves to the server that it is the proxy.

use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

use crate::harness::{PROXY_SECRET, until};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Nginx,
    Haproxy,
}

impl Kind {
    pub const ALL: [Kind; 2] = [Kind::Nginx, Kind::Haproxy];
}

/// A path that the proxy itself answers: what reaches the server under it has
/// been smuggled past the proxy. The server counts requests for it apart.
pub const HIDDEN: &str = "/wake/v1/responses";

pub struct Front {
    child: Child,
    _directory: TempDir,
    /// Where it speaks HTTPS.
    pub https: SocketAddr,
    /// Where it takes the same without TLS: for bytes that no client would send.
    pub bare: SocketAddr,
}

impl Front {
    /// Starts one before the server at this address, with a certificate for
    /// localhost and its key as PEM.
    pub async fn start(kind: Kind, server: &str, certificate: &str, key: &str) -> Front {
        let directory = tempfile::tempdir().unwrap();
        let [https, bare] = [free(), free()];
        let server = server.rsplit('/').next().unwrap();
        let write = |name: &str, content: &str| {
            std::fs::write(directory.path().join(name), content).unwrap();
        };
        write("cert.pem", certificate);
        write("key.pem", key);
        write("both.pem", &format!("{certificate}\n{key}"));
        let child = match kind {
            Kind::Nginx => {
                write("nginx.conf", &nginx(directory.path(), server, https, bare));
                let mut command = program("nginx");
                command.arg("-p").arg(directory.path());
                command.args(["-c", "nginx.conf", "-e", "error.log"]);
                command
            }
            Kind::Haproxy => {
                write(
                    "haproxy.cfg",
                    &haproxy(directory.path(), server, https, bare),
                );
                let mut command = program("haproxy");
                command.arg("-q").arg("-db").arg("-f");
                command.arg(directory.path().join("haproxy.cfg"));
                command
            }
        }
        .stdin(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{kind:?} does not start ({error}): run cargo xtask test"));
        let front = Front {
            child,
            _directory: directory,
            https,
            bare,
        };
        until("the proxy listens", || async {
            [https, bare]
                .iter()
                .all(|at| TcpStream::connect(at).is_ok())
        })
        .await;
        front
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Debian keeps them where only an administrator's shell looks.
fn program(name: &str) -> Command {
    let there = Path::new("/usr/sbin").join(name);
    match there.is_file() {
        true => Command::new(there),
        false => Command::new(name),
    }
}

/// An address that nobody listens on.
fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

fn nginx(directory: &Path, server: &str, https: SocketAddr, bare: SocketAddr) -> String {
    let directory = directory.display();
    // The places where Debian's nginx would put what it buffers are not ours.
    let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let places = places.map(|what| format!("{what}_temp_path {directory}/{what};"));
    format!(
        "daemon off; master_process off; pid {directory}/pid; error_log {directory}/error.log;
         worker_rlimit_nofile 8192; events {{ worker_connections 4096; }}
         http {{
           access_log off; {}
           map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
           upstream wakeful {{ server {server}; keepalive 8; }}
           server {{
             listen {bare}; listen {https} ssl;
             ssl_certificate {directory}/cert.pem; ssl_certificate_key {directory}/key.pem;
             client_max_body_size 2m;
             location = {HIDDEN} {{ return 404; }}
             location / {{
               proxy_pass http://wakeful;
               proxy_http_version 1.1; proxy_request_buffering off;
               proxy_set_header Host $http_host;
               proxy_set_header Upgrade $http_upgrade;
               proxy_set_header Connection $connection_upgrade;
               proxy_set_header X-Forwarded-Proto https;
               proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
               proxy_set_header Wakeful-Proxy-Secret {PROXY_SECRET};
               proxy_read_timeout 75s;
             }}
           }}
         }}",
        places.join(" ")
    )
}

fn haproxy(directory: &Path, server: &str, https: SocketAddr, bare: SocketAddr) -> String {
    let directory = directory.display();
    format!(
        "global
    maxconn 4096
defaults
    mode http
    option http-keep-alive
    http-reuse always
    timeout connect 5s
    timeout client 75s
    timeout server 75s
frontend world
    bind {https} ssl crt {directory}/both.pem
    bind {bare}
    http-request deny deny_status 404 if {{ path {HIDDEN} }}
    http-request set-header X-Forwarded-Proto https
    http-request set-header Wakeful-Proxy-Secret {PROXY_SECRET}
    option forwardfor
    default_backend wakeful
backend wakeful
    server wakeful {server}
"
    )
}
