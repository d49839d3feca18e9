//! Every maximum of what is shown, in one place.
//!
//! Nothing here is a rule for agents: what is over a limit is left out of the
//! page with a note that says so, and the exact text is one click away.

/// Text shown of one piece of content. More than this nobody reads in a page,
/// and a browser still lays it out at once.
pub const TEXT_BYTES: usize = 256 << 10;
/// Lines shown of one piece of content, for the same reason.
pub const LINES: usize = 5_000;
/// HTML made of one piece of content. Ordinary content stays far below; it
/// stops text in which every character needs a mark of eighty bytes.
pub const MARKUP_BYTES: usize = 4 << 20;

/// Elements made of one piece of content, in the raw form too. A browser lays
/// out so many in about half a second; a diff of 4 000 lines has as many.
pub const ELEMENTS: usize = 20_000;
/// Elements inside one that takes its direction from its content. For each, a
/// browser looks for that direction again, so the time grows with the square:
/// 2 000 in one paragraph take a tenth of a second, 60 000 took twenty.
pub const ELEMENTS_IN_AUTO: usize = 2_000;
/// Marks of unseen and piled up characters in one piece of content. Each breaks
/// the text around it into pieces that a browser shapes and places one by one,
/// and nobody reads so many.
pub const MARKS: usize = 2_000;

/// Text shown in the raw form: what `details` may have unless the operator
/// allows more, so that by default the raw form is whole.
pub const RAW_BYTES: usize = 1 << 20;
/// HTML made of the raw form; a quotation mark alone takes six bytes.
pub const RAW_MARKUP_BYTES: usize = 8 << 20;

/// Combining marks on one letter. No living script piles up more.
pub const COMBINING_MARKS: usize = 5;

/// The same where a text must be exact, in an editor: for more, a browser takes
/// time that grows with the square.
pub const EDITED_COMBINING_MARKS: usize = 100;
/// Lines in an editor, which lays out all of them: about half a second.
pub const EDITED_LINES: usize = 20_000;

/// A longer address is not made a link: common servers refuse it anyway.
pub const URL_BYTES: usize = 2_048;
/// What is shown of an address that is no link, and of where a mail goes.
pub const ADDRESS_CHARS: usize = 300;
/// Text of one link that is compared with where the link leads.
pub const LINK_TEXT_BYTES: usize = 2_048;

/// Elements inside each other in Markdown. Browsers flatten at 512; a person
/// is lost long before.
pub const NESTING: usize = 64;
/// Cells shown of one row of a table.
pub const CELLS: usize = 500;
/// What stands in the source but not in the text, shown at the end.
pub const UNSHOWN_BYTES: usize = 8 << 10;

/// Members and items shown of one JSON text.
pub const JSON_NODES: usize = 5_000;
/// Levels shown of one JSON text.
pub const JSON_DEPTH: usize = 64;
/// Levels read at all. The door refuses more than 127; deeper is shown as text.
pub const JSON_DEPTH_READ: usize = 512;
/// Levels that are open at first: the shape is seen without a click.
pub const JSON_OPEN_LEVELS: usize = 2;
/// The same for what has only a few members, and hides little room.
pub const JSON_OPEN_LEVELS_SMALL: usize = 5;
/// So few.
pub const JSON_SMALL: usize = 3;
/// A longer string or number is folded, with this much of it in the fold.
pub const JSON_SHORT_CHARS: usize = 200;
/// What is shown of one unfolded string or number.
pub const JSON_STRING_BYTES: usize = 64 << 10;

/// A longer text is not read as a diff but shown as text.
pub const DIFF_BYTES: usize = 1 << 20;
/// Unchanged lines around a change, as `diff -u` has them.
pub const CONTEXT_LINES: usize = 3;
/// Changed lines that are looked for between two texts; the work grows with
/// the square. With more, the whole middle counts as replaced.
pub const LINE_EDITS: usize = 1_000;
/// A longer line is not compared word by word.
pub const WORD_LINE_BYTES: usize = 2_000;
/// Changed words that are looked for between two lines.
pub const WORD_EDITS: usize = 100;
/// Steps for comparing words in one diff; afterwards lines stand without marks.
pub const WORD_STEPS: usize = 2_000_000;

/// So many unseen characters are listed by their lines.
pub const UNSEEN_LISTED: usize = 50;
