//! How long the server takes for a page, among few deliveries and among many,
//! and how large the page is. One person, one connection: what they wait for.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::child::{self, Running};
use crate::connection::Connection;
use crate::wakeful::Wakeful;

/// Each page is asked for this often; the median and the slowest but one in a
/// hundred are told.
const TIMES: usize = 400;
/// The aim for the list of what needs an answer, whatever is stored.
const AIM: Duration = Duration::from_millis(10);

pub struct Plan {
    pub wakeful: PathBuf,
    pub preloads: Vec<u64>,
    pub dir: PathBuf,
}

/// Whether the aim was met.
pub fn run(plan: &Plan) -> Result<bool> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:>10} | {:<26} | {:>9} | {:>9} | {:>10} | {:>9}",
        "stored", "page", "p50", "p99", "server CPU", "size"
    )?;
    let mut met = true;
    for preload in &plan.preloads {
        let data = tempfile::tempdir_in(&plan.dir)?;
        met &= measure(plan, *preload, data.path(), &mut out)?;
    }
    writeln!(
        out,
        "the inbox within {} ms: {}",
        AIM.as_millis(),
        if met { "yes" } else { "NO" }
    )?;
    Ok(met)
}

fn measure(plan: &Plan, preload: u64, data: &Path, out: &mut impl Write) -> Result<bool> {
    let wakeful = Wakeful {
        program: plan.wakeful.clone(),
    };
    let credentials = wakeful.create(data)?;
    eprintln!("filling a store with {preload} deliveries");
    wakeful.preload(data, &credentials.owner_token, preload)?;
    let addr = child::free_addr()?;
    let log = data.join("log");
    let running = Running::start(&mut wakeful.serve(data, addr)?, addr, &log)?;
    let link = wakeful.sign_in_link(data)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let met = runtime.block_on(async {
        let mut browser = Browser::sign_in(addr, &link).await?;
        let item = browser.newest(&credentials.owner_token).await?;
        let item = format!("/items/{item}");
        let mut met = true;
        let pages = [
            "/",
            "/?type=output",
            "/?group=agent",
            "/done",
            "/?q=figures",
            "/trail",
            "/trail?stream=admin",
            // Found nowhere: as far as one request looks.
            "/trail?q=no+such+words",
            &item,
        ];
        for page in pages {
            let (mut times, mut size) = (Vec::with_capacity(TIMES), 0);
            let cpu_before = running.process().cpu()?;
            for _ in 0..TIMES {
                let began = Instant::now();
                size = browser.get(page).await?.len();
                times.push(began.elapsed());
            }
            let cpu = running.process().cpu()?.saturating_sub(cpu_before) / TIMES as u32;
            times.sort_unstable();
            let (p50, p99) = (times[TIMES / 2], times[TIMES * 99 / 100]);
            let name = if page == item { "/items/{id}" } else { page };
            writeln!(
                out,
                "{preload:>10} | {name:<26} | {:>6.2} ms | {:>6.2} ms | {:>7} us | {:>6.1} kB",
                p50.as_secs_f64() * 1e3,
                p99.as_secs_f64() * 1e3,
                cpu.as_micros(),
                size as f64 / 1e3
            )?;
            met &= page != "/" || p50 <= AIM;
        }
        anyhow::Ok(met)
    })?;
    running.stop()?;
    Ok(met)
}

/// A connection and its session.
struct Browser {
    connection: Connection,
    addr: SocketAddr,
    cookie: String,
}

impl Browser {
    async fn sign_in(addr: SocketAddr, link: &str) -> Result<Browser> {
        let path = link
            .find("/sign-in/")
            .and_then(|at| link.get(at..))
            .context("a link to sign in with")?;
        let mut browser = Browser {
            connection: Connection::open(addr).await?,
            addr,
            cookie: String::new(),
        };
        let form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\n";
        let request = browser.request("POST", path, form);
        let answer = browser.connection.exchange(request.as_bytes()).await?;
        ensure!(answer.status == 303, "signing in gave {}", answer.status);
        let cookie = answer.header("set-cookie").context("a cookie")?;
        browser.cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        Ok(browser)
    }

    fn request(&self, method: &str, path: &str, headers: &str) -> String {
        let (addr, cookie) = (self.addr, &self.cookie);
        format!("{method} {path} HTTP/1.1\r\nHost: {addr}\r\nCookie: {cookie}\r\n{headers}\r\n")
    }

    async fn get(&mut self, path: &str) -> Result<&[u8]> {
        let request = self.request("GET", path, "");
        let answer = self.connection.exchange(request.as_bytes()).await?;
        if answer.status != 200 {
            bail!("{path} gave {}", answer.status);
        }
        Ok(answer.body)
    }

    async fn newest(&mut self, token: &str) -> Result<String> {
        let token = format!("Authorization: Bearer {token}\r\n");
        let request = self.request("GET", "/api/v1/inbox?limit=1&status=pending", &token);
        let answer = self.connection.exchange(request.as_bytes()).await?;
        let page: Value = serde_json::from_slice(answer.body)?;
        let id = page["items"][0]["id"].as_str();
        id.map(str::to_owned).context("a delivery in the store")
    }
}
