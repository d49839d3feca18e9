//! The checker itself: a checker that lets everything pass proves nothing.

mod checker;

#[test]
fn good_html_passes_and_its_text_is_read() {
    let html = "<p dir=\"auto\">a &lt;b&gt; <a href=\"https://a.example/\" \
                rel=\"noopener noreferrer nofollow\" target=\"_blank\" dir=\"auto\">c</a><br></p>";
    assert_eq!(checker::read(html), Ok("a <b> c".to_owned()));
}

#[test]
fn whatever_is_not_ours_is_refused() {
    for bad in [
        "<script>x</script>",
        "<p onclick=\"x\">x</p>",
        "<p dir=auto>x</p>",
        "<p dir=\"auto\" dir=\"auto\">x</p>",
        "<p class=\"other\">x</p>",
        "<p style=\"x\">x</p>",
        "<p>x",
        "</p>",
        "<p><em>x</p></em>",
        "<P>x</P>",
        "<p >x</p>",
        "<img src=\"x\">",
        "<a href=\"https://a.example\">x</a>",
        "<a href=\"javascript:x\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">x</a>",
        "<a href=\"/x\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">x</a>",
        "a & b",
        "a &nbsp; b",
        "a > b",
        "a \" b",
        "a \u{202E} b",
        "a \u{0} b",
        "<p><p>x</p></p>",
        "<table><td>x</td></table>",
        "<li>x</li>",
        "<span title=\"anything\">x</span>",
        "<p",
    ] {
        assert!(checker::read(bad).is_err(), "{bad}");
    }
}
