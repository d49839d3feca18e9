//! Changes that nobody thought of: of rows, and of an export.

use crate::{
    NOT_CHECKED,
    data::{Change, Data},
    filled, is_listed, verify,
};
use engine::{Keys, Vault, proof};
use trail::{Keyring, export_reader::verify_export};

/// Numbers that look random and come again with the same seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

fn rounds() -> usize {
    match std::env::var_os("WAKEFUL_TEST_FULL").is_some() {
        true => 1000,
        false => 60,
    }
}

#[tokio::test]
async fn no_random_change_of_a_row_goes_unnoticed() {
    let filled = filled::data().await;
    let data = Data::open(filled.path());
    let mut dice = Dice(0x5eed_2001);
    let tables = data.tables();
    let mut made = 0;
    while made < rounds() {
        let (table, columns) = &tables[dice.below(tables.len())];
        let at = dice.below(columns.len());
        let rows = data.rows(table);
        if rows.len() < 2 || is_listed(NOT_CHECKED, table, &columns[at]) {
            continue;
        }
        let (one, other) = (dice.below(rows.len()), dice.below(rows.len()));
        if rows[one][at] == rows[other][at] {
            continue;
        }
        let change = Change::between(
            table,
            &columns[at],
            columns.clone(),
            &rows[one],
            &rows[other],
            at,
        );
        let copy = filled.copy();
        if !change.apply(&Data::open(copy.path())) {
            continue;
        }
        made += 1;
        let verified = verify(copy.path()).await;
        assert!(
            verified.is_err(),
            "{change}, row {one} like {other}: not noticed"
        );
    }
}

#[tokio::test]
async fn no_random_change_of_an_export_goes_unnoticed() {
    let filled = filled::data().await;
    let keys = Keys::open(filled.path()).unwrap();
    let store = store::open_read_only(&filled.path().into(), None).unwrap();
    let vault = Vault::new(&keys.seal, &[]);
    let mut file = Vec::new();
    proof::export(
        store.as_ref(),
        &vault,
        keys.log.verifier(),
        &mut file,
        &|_, _| {},
    )
    .await
    .unwrap();
    let ring = Keyring::new(keys.log.verifier().clone());
    verify_export(&file[..], &ring, [], 1).unwrap();
    let lines: Vec<String> = String::from_utf8(file)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    let mut dice = Dice(0x5eed_2002);
    for round in 0..rounds() {
        let changed = change(&lines, &mut dice);
        if changed == lines {
            continue;
        }
        let text = changed.join("\n") + "\n";
        let verified = verify_export(text.as_bytes(), &ring, [], 1);
        assert!(verified.is_err(), "round {round}: not noticed");
    }
}

fn change(lines: &[String], dice: &mut Dice) -> Vec<String> {
    let mut lines = lines.to_vec();
    let (one, other) = (dice.below(lines.len()), dice.below(lines.len()));
    match dice.below(6) {
        0 => drop(lines.remove(one)),
        1 => lines.swap(one, other),
        2 => lines.insert(one, lines[other].clone()),
        // Content that is cut out, wherever there is some.
        3 | 4 => {
            let name = ["details", "feedback", "edited_content"][dice.below(3)];
            let name = format!("\"{name}\":{{\"bytes\":");
            let with: Vec<usize> = (0..lines.len())
                .filter(|at| lines[*at].contains(&name))
                .collect();
            let line = &mut lines[with[dice.below(with.len())]];
            let start = line.find(&name).unwrap() + name.len() - "{\"bytes\":".len();
            let end = start + line[start..].find('}').unwrap() + 1;
            line.replace_range(start..end, "null");
        }
        _ => {
            // One character becomes another of its kind.
            let line = &mut lines[one];
            let at = dice.below(line.len());
            let old = line.as_bytes()[at];
            let new = match old {
                b'0'..=b'8' | b'a'..=b'e' | b'A'..=b'Y' => old + 1,
                b'9' => b'0',
                b'f'..=b'z' => old - 1,
                _ => return lines,
            };
            line.replace_range(at..at + 1, std::str::from_utf8(&[new]).unwrap());
        }
    }
    lines
}
