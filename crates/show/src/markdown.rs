//! Markdown, from the events of its parser.
//!
//! HTML in it is shown as text, images are links, and nothing is hidden: what
//! the source holds beyond that is listed at the end. A person decides on what
//! they see, so they see all of it.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::{
    code,
    html::Html,
    limits::{CELLS, NESTING},
    place::Place,
    tag,
    unshown::Unshown,
};

/// Writes all of `source`, which the caller has cut to what can be shown.
pub(crate) fn write(html: &mut Html, source: &str) {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut unshown = Unshown::new(source);
    html.open(tag::MARKDOWN);
    let mut writer = Writer {
        html,
        places: Vec::new(),
        code: None,
        columns: Vec::new(),
        column: 0,
        in_head: false,
    };
    for (event, range) in Parser::new_ext(source, options).into_offset_iter() {
        if writer.html.is_full() {
            return;
        }
        unshown.pass(&event, range);
        writer.event(event);
    }
    unshown.write(html);
    html.close();
}

struct Writer<'h> {
    html: &'h mut Html,
    /// The links and images that are open, the outermost first.
    places: Vec<Place>,
    /// The code block that is open: what its fence says, and its text so far.
    code: Option<(String, String)>,
    columns: Vec<Alignment>,
    column: usize,
    in_head: bool,
}

impl Writer<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => {
                self.html.open(tag::CODE);
                self.text(&text);
                self.html.close();
            }
            // HTML is text like any other.
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
            Event::FootnoteReference(name) => self.text(&name),
            Event::SoftBreak => self.html.ours("\n"),
            Event::HardBreak => self.html.line_break(),
            Event::Rule => self.html.rule(),
            Event::TaskListMarker(done) => self.task(done),
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.code {
            return code.push_str(text);
        }
        if let Some(outermost) = self.places.first_mut() {
            outermost.hear(text);
        }
        self.html.text(text);
    }

    fn task(&mut self, done: bool) {
        self.html.within(tag::TASK, |html| {
            html.ours(if done { "☑" } else { "☐" });
        });
        self.html.within(tag::SR, |html| {
            html.ours(if done { "done: " } else { "to do: " });
        });
    }

    /// Opens exactly one thing to be closed, except where `end` says otherwise.
    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.html.open(tag::P),
            Tag::Heading { level, .. } => self.html.open(heading(level)),
            Tag::BlockQuote(_) => self.nest(tag::BLOCKQUOTE),
            Tag::CodeBlock(kind) => {
                let fence = match kind {
                    CodeBlockKind::Fenced(fence) => fence.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((fence, String::new()));
            }
            Tag::HtmlBlock => self.html.open(tag::PRE_HTML),
            Tag::List(Some(start)) if self.html.depth() < NESTING => {
                self.html.open_numbered(start);
            }
            Tag::List(_) => self.nest(tag::UL),
            Tag::Item if self.html.is_inside_written() => self.html.open(tag::LI),
            Tag::Table(columns) => {
                self.columns = columns;
                self.html.open(tag::SCROLL);
                self.html.open(tag::TABLE);
            }
            Tag::TableHead => {
                (self.in_head, self.column) = (true, 0);
                self.html.open(tag::THEAD);
                self.html.open(tag::TR);
            }
            Tag::TableRow => {
                self.column = 0;
                self.html.open(tag::TR);
            }
            Tag::TableCell => self.start_cell(),
            Tag::Emphasis => self.nest(tag::EM),
            Tag::Strong => self.nest(tag::STRONG),
            Tag::Strikethrough => self.nest(tag::S),
            Tag::Link {
                dest_url, title, ..
            } => self.start_place(Place::link(&dest_url, &title, self.html.here())),
            Tag::Image {
                dest_url, title, ..
            } => self.start_place(Place::image(&dest_url, &title, self.html.here())),
            // What the options leave off, and items of a list left out.
            _ => self.html.open(tag::NONE),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::Table => {
                self.html.close(); // tbody
                self.html.close(); // table
                self.html.close(); // div
            }
            TagEnd::TableHead => {
                self.in_head = false;
                self.html.close(); // tr
                self.html.close(); // thead
                self.html.open(tag::TBODY);
            }
            TagEnd::TableCell => {
                self.html.close();
                self.html.quiet(false);
            }
            TagEnd::Link | TagEnd::Image => {
                if let Some(place) = self.places.pop() {
                    place.end(self.html, self.places.is_empty());
                }
            }
            _ => self.html.close(),
        }
    }

    /// Opens what could be nested without end; too deep, only its text is shown.
    fn nest(&mut self, tag: tag::Tag) {
        match self.html.depth() < NESTING {
            true => self.html.open(tag),
            false => self.html.open(tag::NONE),
        }
    }

    fn start_cell(&mut self) {
        if self.column == CELLS {
            self.html.leave_out();
        }
        self.html.quiet(self.column >= CELLS);
        let tag = match self.columns.get(self.column) {
            _ if self.in_head => tag::TH,
            Some(Alignment::Center) => tag::TD_CENTER,
            Some(Alignment::Right) => tag::TD_END,
            _ => tag::TD,
        };
        self.html.open(tag);
        self.column += 1;
    }

    fn start_place(&mut self, place: Place) {
        place.start(self.html, self.places.is_empty());
        self.places.push(place);
    }

    fn end_code(&mut self) {
        let Some((fence, code)) = self.code.take() else {
            return;
        };
        if !fence.is_empty() {
            self.html.within(tag::LANGUAGE, |html| html.text(&fence));
        }
        self.html.open(tag::PRE_CODE);
        self.html.open(tag::CODE_BLOCK);
        code::write(self.html, &code, &fence);
        self.html.close();
        self.html.close();
    }
}

fn heading(level: HeadingLevel) -> tag::Tag {
    let [h3, h4, h5, h6] = tag::HEADINGS;
    match level {
        HeadingLevel::H1 => h3,
        HeadingLevel::H2 => h4,
        HeadingLevel::H3 => h5,
        _ => h6,
    }
}
