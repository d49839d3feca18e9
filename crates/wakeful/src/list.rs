//! The inbox as a list that fits the terminal: how old, what, from whom, the
//! headline; and the id whole, so that it can be copied.

use trail::Micros;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Columns between two cells.
const GAP: usize = 2;
/// Longer names of agents are cut on a terminal.
const AGENT: usize = 20;
/// Where less than this would be left of the headline, the id gets its own line.
const HEADLINE: usize = 40;

/// One item; every cell is safe to print.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub age: String,
    pub kind: String,
    pub agent: String,
    /// What is special about it; often nothing.
    pub note: String,
    pub headline: String,
    pub id: String,
}

/// The lines, for a terminal of this width or for no terminal at all.
pub fn lay_out(rows: Vec<Row>, terminal: Option<usize>) -> Vec<String> {
    let mut heads = Vec::new();
    for row in &rows {
        let agent = match terminal {
            Some(_) => cut(&row.agent, AGENT),
            None => row.agent.clone(),
        };
        heads.push([row.age.clone(), row.kind.clone(), agent, row.note.clone()]);
    }
    let heads = align(&heads);
    let head = heads.first().map_or(0, |head| head.width());
    let longest = rows.iter().map(|row| row.headline.width()).max();
    let longest = longest.unwrap_or_default();
    let id = rows.first().map_or(0, |row| row.id.width());
    let beside = terminal.map_or(longest, |all| all.saturating_sub(head + GAP + id));
    let oldest = rows.iter().map(|row| row.age.width()).max();
    let indent = oldest.unwrap_or_default() + GAP;
    let one_line = beside >= longest.min(HEADLINE);
    let mut lines = Vec::new();
    for (row, head) in rows.iter().zip(&heads) {
        match (one_line, terminal) {
            (true, _) => {
                let room = beside.min(longest);
                let headline = pad(&cut(&row.headline, room), room + GAP);
                lines.push(format!("{head}{headline}{}", row.id));
            }
            (false, all) => {
                let room = all.unwrap_or(usize::MAX).saturating_sub(head.width());
                let headline = cut(&row.headline, room.max(HEADLINE / 2));
                lines.push(format!("{head}{headline}"));
                lines.push(format!("{:indent$}{}", "", row.id));
            }
        }
    }
    lines
}

/// Cells under each other, a gap after each; a column of nothing takes no room.
pub fn align<R: AsRef<[String]>>(rows: &[R]) -> Vec<String> {
    let columns = rows.iter().map(|row| row.as_ref().len()).max();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.as_ref().get(column));
        cells.map(|cell| cell.width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.unwrap_or(0)).map(width).collect();
    let line = |row: &R| {
        let cells = row.as_ref().iter().zip(&widths);
        let padded = cells.filter(|(_, width)| **width > 0);
        padded.map(|(cell, width)| pad(cell, width + GAP)).collect()
    };
    rows.iter().map(line).collect()
}

fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.width());
    format!("{text}{:missing$}", "")
}

/// At most so many columns, with a mark where something was left out.
fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let fits = text.chars().take_while(|c| {
        let width = c.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    });
    fits.chain(['…']).collect()
}

/// How long ago, in one unit.
pub fn age(then: Micros, now: Micros) -> String {
    match (now.0 - then.0) / Micros::SECOND / 60 {
        ..1 => "now".to_owned(),
        minutes @ 1..60 => format!("{minutes}m"),
        minutes @ 60..1440 => format!("{}h", minutes / 60),
        minutes => format!("{}d", minutes / 1440),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        let row = |age: &str, agent: &str, headline: &str| Row {
            age: age.to_owned(),
            kind: "question".to_owned(),
            agent: agent.to_owned(),
            note: String::new(),
            headline: headline.to_owned(),
            id: "c7c0b633-bccf-4b8b-95ba-ccfc89a6051f".to_owned(),
        };
        let long = "Two suppliers fit; one is cheaper, one is closer, and both answer within a day";
        vec![
            row("5m", "研究員", "市場報告が完成しました"),
            row("12h", "a", long),
        ]
    }

    /// In columns, where the id begins on each line that has one.
    fn ids(lines: &[String]) -> Vec<usize> {
        let place = |line: &String| line.find("c7c0b633").map(|at| line[..at].width());
        lines.iter().filter_map(place).collect()
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let lines = lay_out(rows(), None);
        assert_eq!(lines.len(), 2);
        let ids = ids(&lines);
        assert_eq!(ids[0], ids[1], "{lines:#?}");
        assert!(lines[1].contains("both answer within a day"));
    }

    #[test]
    fn every_line_fits_the_terminal_and_no_id_is_cut() {
        for width in 60..200 {
            let lines = lay_out(rows(), Some(width));
            assert_eq!(ids(&lines).len(), 2, "{lines:#?}");
            for line in &lines {
                assert!(line.width() <= width, "{width}: {line:?}");
                assert!(!line.contains("c7c0b633") || line.ends_with("ccfc89a6051f"));
            }
        }
        assert_eq!(lay_out(rows(), Some(80)).len(), 4);
        assert_eq!(lay_out(rows(), Some(120)).len(), 2);
        assert_eq!(ids(&lay_out(rows(), Some(80))), [5, 5], "under each other");
    }

    #[test]
    fn an_age_is_one_number_and_a_unit() {
        let minutes = |n: i64| age(Micros(0), Micros(n * 60 * Micros::SECOND));
        for (n, said) in [
            (-5, "now"),
            (0, "now"),
            (59, "59m"),
            (61, "1h"),
            (1439, "23h"),
            (1440, "1d"),
            (144_000, "100d"),
        ] {
            assert_eq!(minutes(n), said);
        }
    }
}
