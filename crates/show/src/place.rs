//! One link or image of a Markdown text, from its beginning to its end.
//!
//! Only the outermost becomes a link, since links cannot hold links; what is
//! inside another, or leads where no link may, has its address beside it.

use crate::{
    cut::clip,
    html::Html,
    limits::LINK_TEXT_BYTES,
    link::{Target, write_address},
    near::Here,
    tag,
    unseen::is_unseen,
};

pub(crate) struct Place {
    /// None for what may not be a link.
    target: Option<Target>,
    address: String,
    title: String,
    is_image: bool,
    /// The text it is shown with, as far as it can be seen.
    text: String,
}

impl Place {
    pub fn link(address: &str, title: &str, here: &Here) -> Place {
        Place {
            target: Target::parse(address, here),
            address: address.to_owned(),
            title: title.to_owned(),
            is_image: false,
            text: String::new(),
        }
    }

    /// An image is never loaded: loading it would tell that someone looked.
    pub fn image(address: &str, title: &str, here: &Here) -> Place {
        Place {
            is_image: true,
            ..Place::link(address, title, here)
        }
    }

    /// Opens one element.
    pub fn start(&self, html: &mut Html, outermost: bool) {
        match &self.target {
            Some(target) if outermost => html.open_link(target),
            _ => html.open(tag::NONE),
        }
        if self.is_image {
            html.within(tag::IMAGE, |html| html.ours("image: "));
        }
    }

    /// Takes note of text inside the link.
    pub fn hear(&mut self, text: &str) {
        let room = LINK_TEXT_BYTES.saturating_sub(self.text.len());
        let heard = clip(text, room).chars().filter(|&c| !is_unseen(c));
        self.text.extend(heard);
    }

    /// Closes the element and says where it leads.
    pub fn end(&self, html: &mut Html, outermost: bool) {
        html.close();
        if !self.title.is_empty() {
            html.ours(" ");
            html.within(tag::LINK_TITLE, |html| {
                html.ours("“");
                html.text(&self.title);
                html.ours("”");
            });
        }
        match &self.target {
            Some(target) if outermost => target.write_leads(html, &self.text),
            _ if self.address.is_empty() => {}
            _ => {
                html.ours(" ");
                html.within(tag::NO_LINK, |html| {
                    html.ours("(");
                    write_address(html, &self.address);
                    html.ours(")");
                });
            }
        }
    }
}
