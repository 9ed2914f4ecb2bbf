//! What comes from the air at its worst.

use super::support::{hold, image, last_reign, scenario};

const HOSTILE: &str = r#"
name = "hostile-boards"
duration = "40 s"
[topology]
kind = "ring"
nodes = 4
spacing = "12 m"
[radio]
model = "plain"
[protocol]
kind = "height"
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
[expect]
agreement_within = "12 s"
"#;

#[test]
fn malformed_lengths_forged_frames_and_saturating_noise_are_survived() {
    let (outcome, boards) = hold(&scenario(HOSTILE), 3, &image(true));
    assert!(outcome.nodes.iter().all(|node| node.malformed > 20), "{:?}", outcome.nodes);
    assert!(outcome.nodes.iter().all(|node| node.corrupted > 0), "{:?}", outcome.nodes);
    assert!(outcome.refused > 100, "{} frames refused", outcome.refused);
    assert!(matches!(last_reign(&outcome), [(_, 4)]), "{:?}", last_reign(&outcome));
    assert!(boards.iter().all(|board| board.software_resets == 1), "nobody was made to start again");
}
