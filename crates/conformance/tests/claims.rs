//! What the report may claim (WACP §12.1–12.3).
#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, path::PathBuf, sync::OnceLock};

use conformance::{
    Trouble,
    evidence::{Evidence, Standing},
    file::Scenario,
    register::{Deviation, Deviations, Register},
};

/// What lies in the tree, played once.
fn real() -> &'static Evidence {
    static REAL: OnceLock<Evidence> = OnceLock::new();
    REAL.get_or_init(|| {
        let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        Evidence::gather(&here.join("../wacp/conformance")).unwrap_or_else(|why| panic!("{why}"))
    })
}

/// A register of one statement for each level and owner.
fn small() -> Evidence {
    let mut text = String::new();
    for level in 1..=3 {
        for owner in ["core", "trail", "runtime"] {
            let id = format!("{level}-{owner}");
            text += &format!(
                "[[statement]]\nid = \"{id}\"\nsection = \"1\"\nlevel = {level}\n\
                 owner = \"{owner}\"\nkind = \"rule\"\nsays = \"something\"\n"
            );
        }
    }
    let register = Register::read(&text).unwrap();
    let proves: Vec<_> = register.statement.iter().map(|it| &it.id).collect();
    let all = format!("title = \"all\"\nproves = {proves:?}\n");
    Evidence {
        results: vec![(Scenario::read("all", &all).unwrap(), None)],
        disputed: Vec::new(),
        deviations: Deviations::default(),
        missing: Default::default(),
        refusals: BTreeMap::new(),
        register,
    }
}

fn claims(evidence: &Evidence) -> [bool; 3] {
    [1, 2, 3].map(|level| evidence.may_claim(level))
}

#[test]
fn a_level_needs_every_statement_of_it_and_of_those_below() {
    let evidence = small();
    assert_eq!(claims(&evidence), [true; 3]);
    for statement in evidence.register.statement.clone() {
        let mut without = small();
        without.results[0].0.proves.retain(|id| *id != statement.id);
        // Whoever owns it, and whatever lies above it.
        let expected = [1, 2, 3].map(|level| level < statement.level);
        assert_eq!(claims(&without), expected, "without {}", statement.id);
        assert_eq!(without.core_is_proven(), statement.owner != "core");
    }
}

#[test]
fn there_are_three_levels_and_each_holds_those_below() {
    let evidence = real();
    let levels: std::collections::BTreeSet<_> = evidence
        .register
        .statement
        .iter()
        .map(|it| it.level)
        .collect();
    assert_eq!(Vec::from_iter(levels), [1, 2, 3]);
    let text = evidence.markdown();
    for level in 1..=3 {
        assert!(text.contains(&format!("- Level {level}: ")));
    }
    assert!(!text.contains("Level 4"));
    let claims = claims(evidence);
    assert!(claims.is_sorted_by(|lower, higher| lower >= higher));
}

#[test]
fn a_statement_with_a_failing_scenario_or_a_missing_test_is_not_proven() {
    let mut evidence = small();
    evidence.results[0].1 = Some(Trouble::Broken("no".into()));
    let first = evidence.register.statement[0].clone();
    assert_eq!(evidence.standing(&first), Standing::Failing);
    assert_eq!(claims(&evidence), [false; 3]);

    let mut evidence = small();
    evidence.register.statement[0].proven_by = vec!["crates/a.rs::nowhere".into()];
    let first = evidence.register.statement[0].clone();
    assert_eq!(evidence.standing(&first), Standing::Proven);
    evidence.missing.insert("crates/a.rs::nowhere".into());
    assert_eq!(evidence.standing(&first), Standing::Failing);
}

#[test]
fn what_is_disputed_keeps_its_level_from_being_claimed() {
    let mut evidence = small();
    let text = "title = \"so it says\"\nproves = [\"2-core\"]\n";
    let disputed = Scenario::read("disputed", text).unwrap();
    let why = Some(Trouble::Broken("we do not".into()));
    evidence.disputed.push((disputed, why));
    assert_eq!(claims(&evidence), [true, false, false]);
    assert!(
        evidence
            .markdown()
            .contains("| disputed | so it says | 2-core |")
    );
}

#[test]
fn the_report_states_the_levels_and_lists_every_deviation() {
    let mut evidence = small();
    evidence.deviations.deviation.push(Deviation {
        about: "colour".into(),
        source: "it is red".into(),
        ours: "it is blue".into(),
        why: "we had no red".into(),
        statements: vec!["1-core".into()],
    });
    let text = evidence.markdown();
    assert!(text.contains("- Level 3: claimed"));
    assert!(text.contains("| colour | it is red | it is blue | we had no red | 1-core |"));
    let real = real();
    let text = real.markdown();
    for deviation in &real.deviations.deviation {
        assert!(text.contains(&deviation.about), "{}", deviation.about);
    }
}

#[test]
fn every_deviation_says_what_we_do_instead_and_why() {
    let deviations = &real().deviations.deviation;
    assert!(!deviations.is_empty());
    for it in deviations {
        for said in [&it.about, &it.source, &it.ours, &it.why] {
            assert!(!said.trim().is_empty(), "{} does not say all", it.about);
        }
    }
}

/// What may be left out is no statement, so nothing depends on it.
#[test]
fn the_register_holds_duties_alone() {
    let kinds = [
        "rule",
        "prohibition",
        "field",
        "constant",
        "table-row",
        "definition-with-force",
    ];
    for statement in &real().register.statement {
        assert!(kinds.contains(&&*statement.kind), "{}", statement.id);
        assert!(!statement.says.contains("OPTIONAL") || statement.section == "12.1");
        // What is not the core's says why, and the core has no excuse.
        let reason = statement.reason.is_some();
        let owners = ["core", "trail", "runtime", "coordinator"];
        assert!(owners.contains(&&*statement.owner), "{}", statement.id);
        let elsewhere = ["runtime", "coordinator"].contains(&&*statement.owner);
        assert!(reason || !elsewhere, "{}", statement.id);
        assert!(!reason || statement.owner != "core", "{}", statement.id);
    }
}

#[test]
fn every_refusal_has_a_scenario_and_every_core_statement_is_proven() {
    let evidence = real();
    let bare = evidence
        .refusals
        .iter()
        .filter(|(_, shown)| shown.is_empty());
    assert_eq!(Vec::from_iter(bare), []);
    let open = evidence.register.statement.iter().filter(|it| {
        it.owner == "core"
            && !matches!(
                evidence.standing(it),
                Standing::Proven | Standing::Elsewhere
            )
    });
    assert_eq!(Vec::from_iter(open.map(|it| &it.id)), Vec::<&String>::new());
    assert_eq!(Vec::from_iter(&evidence.missing), Vec::<&String>::new());
}

#[test]
fn what_is_open_says_why() {
    let evidence = real();
    let open = evidence.open();
    for statement in &open {
        assert!(statement.reason.is_some(), "{}", statement.id);
    }
    let text = evidence.markdown();
    for statement in open {
        assert!(text.contains(&statement.says), "{}", statement.id);
    }
}

#[test]
fn the_committed_report_is_the_one_that_is_made_now() {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let committed = std::fs::read_to_string(here.join("../../docs/conformance-wacp.md")).unwrap();
    assert!(
        committed == real().markdown(),
        "run cargo xtask conformance --write"
    );
}
