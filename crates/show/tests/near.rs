//! Links to this machine, to its networks and to other ports of this server are
//! shown, with their addresses, and are no links.

use show::{Format, Here};

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn markdown(here: &Here, address: &str) -> String {
    let text = format!("See [the result]({address}) now");
    show::details_on(here, &json(&text), Format::Markdown)
        .body
        .0
}

fn in_json(here: &Here, address: &str) -> String {
    let object = format!("{{\"at\":{}}}", json(address));
    show::details_on(here, &object, None).body.0
}

fn is_link(here: &Here, address: &str) -> bool {
    let (shown, object) = (markdown(here, address), in_json(here, address));
    assert!(shown.contains("the result"), "{shown}");
    let is_link = shown.contains("<a href=");
    if !is_link {
        let visible = shown.replace("&amp;", "&").replace("&#39;", "'");
        assert!(visible.contains(address), "{address} is hidden: {shown}");
        assert!(object.contains(address), "{address} is hidden: {object}");
    }
    let web = address.starts_with("http://") || address.starts_with("https://");
    assert_eq!(object.contains("<a href="), is_link && web, "{object}");
    is_link
}

/// Each in a spelling that some browser reads as this machine or its network.
const NEAR: [&str; 61] = [
    "http://localhost/",
    "http://localhost:9999/x?y=z",
    "HTTP://LOCALHOST:1/",
    "https://localhost/",
    "http://localhost./",
    "http://evil.localhost/",
    "http://a.b.LocalHost.:80/",
    "http://localhost.localdomain:81/",
    "http://ip6-localhost:81/",
    "http://loc%61lhost:9/",
    "http://ｌｏｃａｌｈｏｓｔ:9/",
    "http://localhost。/",
    "http://user:pw@localhost:9/",
    "http://example.com@127.0.0.1/",
    "http:localhost:9/",
    "http:\\localhost:9/",
    "http:/127.0.0.1:9/",
    "http://127.0.0.1/",
    "http://127.0.0.1:7378/",
    "http://127.1/",
    "http://127.255.255.254/",
    "http://2130706433/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://0x7f000001/",
    "http://0x7f.0.0.0x1/",
    "http://0x7F.1/",
    "http://127.0.0.1./",
    "http://127。0。0。1/",
    "http://①②⑦.0.0.1/",
    "http://0/",
    "http://0.0.0.0:9/",
    "http://0.1.2.3/",
    "http://[::1]/",
    "http://[::1]:9/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::10.0.0.1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:c0a8:101::1]/",
    "http://[::ffff:192.168.0.1]/",
    "http://10.0.0.1/",
    "http://10.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://0xac100001/",
    "http://192.168.178.1/",
    "http://3232235521/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://100.127.255.255/",
    "http://255.255.255.255/",
    "http://[fc00::1]/",
    "http://[fdab::1]:81/",
    "http://[fe80::1]/",
    "http://[febf::1]/",
    "http://[fec0::1]/",
];

#[test]
fn what_leads_to_this_machine_or_its_networks_is_no_link() {
    let here = Here::default().and("https://wake.example.com");
    for address in NEAR {
        for here in [&Here::default(), &here] {
            assert!(!is_link(here, address), "{address}");
        }
    }
}

#[test]
fn what_leads_elsewhere_stays_a_link() {
    let here = Here::default().and("https://wake.example.com");
    for address in [
        "https://a.example/",
        "http://a.example:8080/x",
        "https://localhost.example.com/",
        "https://notlocalhost/",
        "https://mylocalhost.com/",
        "http://126.255.255.255/",
        "http://128.0.0.1/",
        "http://11.0.0.1/",
        "http://172.15.0.1/",
        "http://172.32.0.1/",
        "http://192.167.1.1/",
        "http://192.169.1.1/",
        "http://169.253.1.1/",
        "http://100.63.0.1/",
        "http://100.128.0.1/",
        "http://8.8.8.8/",
        "http://[2001:db8::1]/",
        "http://[::ffff:8.8.8.8]/",
        "http://[fbff::1]/",
        "http://[fe00::1]/",
        "mailto:ann@localhost",
    ] {
        assert!(is_link(&here, address), "{address}");
    }
}

#[test]
fn this_server_is_a_link_and_its_other_ports_are_none() {
    for (own, same, other) in [
        (
            "https://wake.example.com",
            &[
                "https://wake.example.com/items/1",
                "https://WAKE.example.com.:443/",
            ][..],
            &[
                "http://wake.example.com/",
                "https://wake.example.com:8443/",
                "https://Wake.Example.com.:8443/",
                "http://user@wake.example.com:81/",
                "https://wake.ex%61mple.com:8443/",
            ][..],
        ),
        (
            "http://127.0.0.1:7377",
            &[
                "http://127.0.0.1:7377/",
                "http://127.1:7377/x",
                "http://2130706433:7377/",
            ],
            &[
                "http://127.0.0.1:7378/",
                "http://127.0.0.1/",
                "http://localhost:7377/",
            ],
        ),
        (
            "http://[::1]:7377",
            &["http://[::1]:7377/"],
            &["http://[::1]:80/", "http://[0::1]/"],
        ),
        (
            "https://203.0.113.7:7377",
            &[
                "https://203.0.113.7:7377/",
                "https://[::ffff:203.0.113.7]:7377/",
            ],
            &[
                "https://203.0.113.7/",
                "http://3405803783:1/",
                "http://[::ffff:cb00:7107]/",
            ],
        ),
    ] {
        let here = Here::default().and(own);
        for address in same {
            assert!(is_link(&here, address), "{address} on {own}");
        }
        for address in other {
            assert!(!is_link(&here, address), "{address} on {own}");
        }
    }
    // Both names of a server that has two.
    let here = Here::default()
        .and("http://127.0.0.1:7377")
        .and("http://localhost:7377")
        .and("no address");
    assert!(is_link(&here, "http://localhost:7377/items/1"));
    assert!(is_link(&here, "http://127.0.0.1:7377/items/1"));
    assert!(!is_link(&here, "http://localhost:7378/items/1"));
}

#[test]
fn an_image_and_a_bare_address_are_no_other() {
    let text = "![x](http://127.0.0.1:9/) <http://10.0.0.1/> [r]\n\n[r]: http://[::1]:9/ \"t\"";
    let shown = show::details(&json(text), Format::Markdown).body.0;
    assert!(!shown.contains("<a "), "{shown}");
    for address in ["http://127.0.0.1:9/", "http://10.0.0.1/", "http://[::1]:9/"] {
        assert!(shown.contains(address), "{shown}");
    }
}
