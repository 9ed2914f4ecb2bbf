//! What the faults of a scenario do to a board's flash.

use sim::scenario::input::plan::Scenario;

use super::support::{Heights, hold, image, last_reign};

const LINE: Heights =
    Heights { name: "flash", seconds: 34, topology: "line", nodes: 3, spacing_m: 10, agreement_within_s: 14 };

fn returns(flash: &str) -> Scenario {
    LINE.with(&format!(
        r#"
[[fault]]
kind = "crash"
nodes = [2]
at = "8 s"
for = "4 s"
flash = "{flash}"
"#
    ))
}

#[test]
fn a_board_whose_write_is_torn_loses_its_power_in_it_and_starts_again() {
    let (outcome, boards) = hold(&returns("torn"), 1, &image(true));
    assert!(outcome.changes.iter().any(|change| change.what.contains("lost power in the middle of a write")));
    assert_eq!(boards[1].power_ons, 3);
    assert!(matches!(last_reign(&outcome)[..], [(_, 3)]), "{:?}", last_reign(&outcome));
}

#[test]
fn a_board_whose_flash_is_worn_out_only_listens() {
    let (outcome, boards) = hold(&returns("failing"), 1, &image(true));
    assert_eq!(boards[1].power_ons, 2);
    assert_eq!(outcome.components, 1, "it is not part of any component");
    assert!(last_reign(&outcome).iter().any(|&(_, followers)| followers == 2), "{:?}", last_reign(&outcome));
}

#[test]
fn a_board_whose_storage_is_erased_joins_again() {
    let (outcome, boards) = hold(&returns("erased"), 1, &image(true));
    assert_eq!((boards[1].power_ons, boards[1].software_resets), (2, 1));
    assert!(matches!(last_reign(&outcome)[..], [(_, 3)]), "{:?}", last_reign(&outcome));
}
