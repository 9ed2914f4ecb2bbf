//! The worst that can arrive over the air.

use super::support::{Heights, hold, image, last_reign};

const BOARDS: Heights =
    Heights { name: "hostile-boards", seconds: 40, topology: "ring", nodes: 4, spacing_m: 12, agreement_within_s: 12 };

const HOSTILE: &str = r#"
[[fault]]
kind = "attack"
place = [0, 0]
power = "8 dBm"
frames = ["length", "random", "truncate", "flip", "replay"]
interval = "12 ms"
at = "5 s"
for = "8 s"
[[fault]]
kind = "jam"
place = [0, 0]
power = "20 dBm"
at = "16 s"
for = "6 s"
[[fault]]
kind = "corrupt"
share = "5 %"
at = "5 s"
for = "8 s"
"#;

#[test]
fn malformed_lengths_forged_frames_and_saturating_noise_are_survived() {
    let (outcome, boards) = hold(&BOARDS.with(HOSTILE), 3, &image(true));
    assert!(outcome.nodes.iter().all(|node| node.malformed > 20), "{:?}", outcome.nodes);
    assert!(outcome.nodes.iter().all(|node| node.corrupted > 0), "{:?}", outcome.nodes);
    assert!(outcome.refused > 100, "{} frames refused", outcome.refused);
    assert!(matches!(last_reign(&outcome)[..], [(_, 4)]), "{:?}", last_reign(&outcome));
    assert!(boards.iter().all(|board| board.software_resets == 1), "no board restarted");
}
