//! A picture to be scanned, drawn with characters: two rows of it to a line.

use qrcode::{Color, EcLevel, QrCode};

/// Light modules around it, without which scanners do not see it.
const QUIET: isize = 4;

/// The lines of a picture; none if the text is too long for one.
pub fn lines(text: &str) -> Option<Vec<String>> {
    let code = QrCode::with_error_correction_level(text, EcLevel::M).ok()?;
    let width = isize::try_from(code.width()).ok()?;
    let is_dark = |x: isize, y: isize| {
        let inside = (0..width).contains(&x) && (0..width).contains(&y);
        inside && code[(x.unsigned_abs(), y.unsigned_abs())] == Color::Dark
    };
    let rows = (-QUIET..width + QUIET).step_by(2);
    let line = |y: isize| {
        let columns = -QUIET..width + QUIET;
        columns
            .map(|x| match (is_dark(x, y), is_dark(x, y + 1)) {
                (true, true) => '█',
                (true, false) => '▀',
                (false, true) => '▄',
                (false, false) => ' ',
            })
            .collect()
    };
    Some(rows.map(line).collect())
}

/// The same on a terminal: black on white, whatever its own colours are.
pub fn coloured(lines: &[String]) -> String {
    let lines = lines
        .iter()
        .map(|line| format!("\u{1b}[38;5;16;48;5;231m{line}\u{1b}[0m"));
    lines.collect::<Vec<_>>().join("\n")
}
