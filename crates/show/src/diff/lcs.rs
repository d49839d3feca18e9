//! What two sequences have in common, in order: Myers' greedy search, with a
//! limit on how different they may be.
//!
//! Not a crate's, because of that limit. What is too different must be refused, at
//! the same place in every run: `similar` (3.2) stops by a clock, which a pure crate
//! has not, and `imara-diff` (0.2) goes on with a worse result. Either would replace
//! these hundred lines alone.

/// Pairs of places where `a` and `b` are the same, rising in both, or none if
/// more than `max_edits` insertions and deletions lie between them.
pub(super) fn common<T: PartialEq>(
    a: &[T],
    b: &[T],
    max_edits: usize,
) -> Option<Vec<(usize, usize)>> {
    let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (rest_a, rest_b) = (&a[head..], &b[head..]);
    let backwards = rest_a.iter().rev().zip(rest_b.iter().rev());
    let tail = backwards.take_while(|(a, b)| a == b).count();
    let (mid_a, mid_b) = (
        &rest_a[..rest_a.len() - tail],
        &rest_b[..rest_b.len() - tail],
    );

    let mut pairs: Vec<_> = (0..head).map(|at| (at, at)).collect();
    let middle = search(mid_a, mid_b, max_edits)?;
    pairs.extend(middle.into_iter().map(|(x, y)| (x + head, y + head)));
    let (end_a, end_b) = (a.len() - tail, b.len() - tail);
    pairs.extend((0..tail).map(|at| (end_a + at, end_b + at)));
    Some(pairs)
}

/// For each number of edits, how far along `a` one can get on each diagonal
/// (`x - y`). Diagonals of `d` edits go from `-d` to `d`.
struct Reach {
    furthest: Vec<usize>,
    edits: usize,
}

impl Reach {
    fn on(&self, diagonal: isize) -> usize {
        let at = diagonal + self.edits as isize;
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        self.furthest.get(at).copied().unwrap_or_default()
    }

    /// Where one more edit leads on `diagonal`, and from which diagonal.
    fn step(&self, diagonal: isize) -> (usize, isize) {
        let edits = self.edits as isize + 1;
        let down = diagonal == -edits
            || (diagonal != edits && self.on(diagonal - 1) < self.on(diagonal + 1));
        match down {
            true => (self.on(diagonal + 1), diagonal + 1),
            false => (self.on(diagonal - 1) + 1, diagonal - 1),
        }
    }
}

fn search<T: PartialEq>(a: &[T], b: &[T], max_edits: usize) -> Option<Vec<(usize, usize)>> {
    if a.is_empty() || b.is_empty() {
        return (a.len() + b.len() <= max_edits).then(Vec::new);
    }
    // The middle begins with a difference, so no edit leads nowhere.
    let mut reaches = vec![Reach {
        furthest: vec![0],
        edits: 0,
    }];
    let goal = a.len() as isize - b.len() as isize;
    for edits in 1..=max_edits.min(a.len() + b.len()) {
        let before = reaches.last()?;
        let mut furthest = vec![0; 2 * edits + 1];
        for place in (0..=2 * edits).step_by(2) {
            let diagonal = place as isize - edits as isize;
            let (mut x, _) = before.step(diagonal);
            let mut y = along_b(x, diagonal);
            while x < a.len() && y < b.len() && a[x] == b[y] {
                (x, y) = (x + 1, y + 1);
            }
            furthest[place] = x;
            if diagonal == goal && x >= a.len() {
                return Some(walk_back(&reaches, x, diagonal));
            }
        }
        reaches.push(Reach { furthest, edits });
    }
    None
}

fn along_b(x: usize, diagonal: isize) -> usize {
    (x as isize - diagonal).max(0) as usize
}

/// The pairs on the way that was found, from its end to its beginning.
fn walk_back(reaches: &[Reach], mut x: usize, mut diagonal: isize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for before in reaches.iter().rev() {
        let (start, from) = before.step(diagonal);
        while x > start {
            x -= 1;
            pairs.push((x, along_b(x, diagonal)));
        }
        (x, diagonal) = (before.on(from), from);
    }
    pairs.reverse();
    pairs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::common;

    /// The length of the longest common subsequence, by the book.
    fn longest(a: &[u8], b: &[u8]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut corner = 0;
            for (at, y) in b.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if x == y {
                    corner + 1
                } else {
                    above.max(row[at])
                };
                corner = above;
            }
        }
        row[b.len()]
    }

    proptest! {
        #[test]
        fn as_much_as_possible_is_found_in_common(
            a in proptest::collection::vec(0u8..4, 0..30),
            b in proptest::collection::vec(0u8..4, 0..30),
        ) {
            let pairs = common(&a, &b, 100).unwrap();
            prop_assert!(pairs.iter().all(|&(x, y)| a[x] == b[y]));
            prop_assert!(pairs.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1));
            prop_assert_eq!(pairs.len(), longest(&a, &b));
        }
    }

    #[test]
    fn too_different_is_not_searched() {
        assert_eq!(common(&[1, 2, 3], &[4, 5, 6], 5), None);
        assert_eq!(common(&[1, 2, 3], &[4, 5, 6], 6), Some(vec![]));
    }
}
