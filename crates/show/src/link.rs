//! Where links lead, and saying so beside each.
//!
//! A [`Target`] is the only thing that can become an `href`. It is an absolute
//! `http`, `https` or `mailto` address, written out again by the parser that
//! judged it, so a browser cannot read it as something else. The host is shown
//! in ASCII: letters that look alike cannot pose as another name.

use url::Url;

use crate::{
    cut::first_chars,
    html::Html,
    limits::{ADDRESS_CHARS, URL_BYTES},
    near::Here,
    tag,
};

#[derive(Debug)]
pub(crate) struct Target {
    url: Url,
}

impl Target {
    /// Reads an address; anything else than the three schemes is none, and
    /// nothing is that leads to this machine or near it.
    pub fn parse(address: &str, here: &Here) -> Option<Target> {
        if address.len() > URL_BYTES {
            return None;
        }
        let url = Url::parse(address).ok()?;
        let leads_somewhere = match url.scheme() {
            "http" | "https" => url.host_str().is_some_and(|host| !host.is_empty()),
            "mailto" => !url.path().is_empty(),
            _ => false,
        };
        let is_link = leads_somewhere && url.as_str().len() <= URL_BYTES && !here.is_near(&url);
        is_link.then_some(Target { url })
    }

    /// As [`Target::parse`], for text that says itself that it is a web address.
    pub fn parse_web(text: &str, here: &Here) -> Option<Target> {
        let is_web = text.starts_with("https://") || text.starts_with("http://");
        let is_bare = !text.contains(|c: char| c.is_whitespace() || c.is_control());
        match is_web && is_bare {
            true => Target::parse(text, here),
            false => None,
        }
    }

    pub fn href(&self) -> &str {
        self.url.as_str()
    }

    /// A link with its own address as its text.
    pub fn write_bare(&self, html: &mut Html, text: &str) {
        html.open_link(self);
        html.text(text);
        html.close();
        self.write_leads(html, text);
    }

    /// Says where the link leads that was shown with `text`.
    pub fn write_leads(&self, html: &mut Html, text: &str) {
        html.ours(" ");
        let poses = !self.url.username().is_empty() || self.url.password().is_some();
        let elsewhere = poses || self.is_other_than(text);
        let tag = match elsewhere {
            true => tag::LEADS_ELSEWHERE,
            false => tag::LEADS,
        };
        html.within(tag, |html| {
            if elsewhere {
                html.ours("really leads to ");
            }
            self.write_place(html);
            if poses {
                html.ours(", what stands before the @ is a user name");
            }
        });
    }

    fn write_place(&self, html: &mut Html) {
        let Some(host) = self.url.host_str() else {
            html.ours("mail to ");
            write_address(html, self.url.path());
            if self.url.query().is_some() {
                html.ours(" with more filled in");
            }
            return;
        };
        html.text(host);
        if let Some(port) = self.url.port() {
            html.ours(":");
            html.number(port.into());
        }
    }

    /// Whether `text` names another place than this one.
    fn is_other_than(&self, text: &str) -> bool {
        let text = text.trim();
        let alone = !text.contains(char::is_whitespace);
        let Some(host) = self.url.host_str() else {
            return text.contains('@') && alone && !self.url.path().contains(text);
        };
        text.split_whitespace().any(|word| {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/');
            match named_url(word) {
                Some(named) if alone => !same_url(&named, &self.url),
                Some(named) => !belongs(host, named.host_str().unwrap_or_default()),
                None => named_host(word, alone).is_some_and(|named| !belongs(host, &named)),
            }
        })
    }
}

/// An address that is no link, cut where it goes on and on.
pub(crate) fn write_address(html: &mut Html, address: &str) {
    let shown = first_chars(address, ADDRESS_CHARS);
    html.text(shown);
    if shown.len() < address.len() {
        html.ours("…");
    }
}

/// A word that is an address with its scheme.
fn named_url(word: &str) -> Option<Url> {
    let scheme_end = word.find("://")?;
    let scheme = word[..scheme_end].to_ascii_lowercase();
    let known = matches!(scheme.as_str(), "http" | "https");
    Url::parse(word).ok().filter(|_| known)
}

/// Endings that make a word a place even within a sentence.
const COMMON_ENDINGS: &[&str] = &[
    "com", "org", "net", "gov", "edu", "io", "dev", "app", "co", "ai", "bank", "uk", "de", "fr",
    "eu", "us", "info",
];

/// Endings that are rather files than places.
const FILE_ENDINGS: &[&str] = &[
    "md", "rs", "py", "js", "ts", "tsx", "jsx", "go", "rb", "sh", "java", "c", "h", "cpp", "cs",
    "php", "css", "html", "json", "toml", "yaml", "yml", "xml", "txt", "lock", "sql", "pdf", "png",
    "jpg", "svg", "csv", "log", "zip", "diff", "patch",
];

/// The host that a word without a scheme names, in ASCII.
fn named_host(word: &str, alone: bool) -> Option<String> {
    let place = word.split(['/', '?', '#']).next()?;
    if !place.contains(['.', '。', '．', '｡']) {
        return None;
    }
    let url = Url::parse(&format!("http://{place}")).ok()?;
    let host = url.domain()?;
    let (_, ending) = host.rsplit_once('.')?;
    let is_place = ending.len() > 1
        && !ending.bytes().all(|b| b.is_ascii_digit())
        && (COMMON_ENDINGS.contains(&ending)
            || host.starts_with("www.")
            || ending.starts_with("xn--")
            || (alone && !FILE_ENDINGS.contains(&ending)));
    is_place.then(|| host.to_owned())
}

/// Whether `host` is what is called `named`, or lies under it.
fn belongs(host: &str, named: &str) -> bool {
    let host = host.strip_prefix("www.").unwrap_or(host);
    let named = named.strip_prefix("www.").unwrap_or(named);
    host.strip_suffix(named)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Whether two addresses are one, apart from a slash at the end.
fn same_url(named: &Url, real: &Url) -> bool {
    let bare = |url: &Url| url.as_str().trim_end_matches('/').to_owned();
    bare(named) == bare(real)
}

#[cfg(test)]
mod tests {
    use super::Target;
    use crate::near::Here;

    fn parse(address: &str) -> Option<Target> {
        Target::parse(address, &Here::default())
    }

    #[test]
    fn only_three_schemes_are_links() {
        for good in [
            "http://a.example",
            "HTTPS://a.example/x",
            "mailto:a@b.example",
        ] {
            assert!(parse(good).is_some(), "{good}");
        }
        for bad in [
            "javascript:alert(1)",
            "java\tscript:alert(1)",
            "\u{1}javascript:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "/logout",
            "//evil.example",
            "\\\\evil.example",
            "file:///etc/passwd",
            "ftp://a.example/",
            "blob:https://a.example/x",
            "mailto:",
            "http://",
            "https:///",
            "",
        ] {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn text_that_names_another_place_is_noticed() {
        let other = |text, href| parse(href).unwrap().is_other_than(text);
        for (text, href) in [
            ("https://bank.example/", "https://evil.example/"),
            ("bank.com", "https://evil.example/"),
            ("see www.bank.example now", "https://evil.example/"),
            (
                "log in at bank.com, please",
                "https://bank.com.evil.example/",
            ),
            ("https://bank.example/a", "https://bank.example/b"),
            ("раураl.com", "https://paypal.com/"),
            ("boss@bank.example", "mailto:thief@evil.example"),
            ("bank。com", "https://evil.example"),
        ] {
            assert!(other(text, href), "{text} -> {href}");
        }
        for (text, href) in [
            ("the report", "https://a.example/report"),
            ("https://a.example", "https://a.example/"),
            ("a.example", "https://www.a.example/x"),
            ("docs at example.com", "https://docs.example.com/x"),
            ("README.md", "https://a.example/README.md"),
            ("version 1.2.3", "https://a.example/"),
            ("crates/show/src/link.rs", "https://a.example/"),
            ("e.g. this", "https://a.example/"),
            ("a@b.example", "mailto:a@b.example"),
        ] {
            assert!(!other(text, href), "{text} -> {href}");
        }
    }
}
