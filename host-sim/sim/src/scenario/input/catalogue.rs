//! The scenarios that come with the program, by name.

use crate::scenario::input::plan::Scenario;
use crate::scenario::input::read::read;
use crate::scenario::input::toml_section::Problem;

/// Name and text of each scenario that is built in.
pub const BUILT_IN: [(&str, &str); 35] = [
    ("ring16", include_str!("../../../../../scenarios/ring16.toml")),
    ("ring64-with-dead-nodes", include_str!("../../../../../scenarios/ring64-with-dead-nodes.toml")),
    ("thin32", include_str!("../../../../../scenarios/thin32.toml")),
    ("strewn32", include_str!("../../../../../scenarios/strewn32.toml")),
    ("two-restart", include_str!("../../../../../scenarios/two-restart.toml")),
    ("bully12", include_str!("../../../../../scenarios/bully12.toml")),
    ("desk24", include_str!("../../../../../scenarios/desk24.toml")),
    ("regicide16", include_str!("../../../../../scenarios/regicide16.toml")),
    ("wifi-ring12", include_str!("../../../../../scenarios/wifi-ring12.toml")),
    ("mesh25", include_str!("../../../../../scenarios/mesh25.toml")),
    ("mesh16", include_str!("../../../../../scenarios/mesh16.toml")),
    ("partition-merge", include_str!("../../../../../scenarios/partition-merge.toml")),
    ("merge100", include_str!("../../../../../scenarios/merge100.toml")),
    ("mobile40", include_str!("../../../../../scenarios/mobile40.toml")),
    ("weak-link", include_str!("../../../../../scenarios/weak-link.toml")),
    ("saturation", include_str!("../../../../../scenarios/saturation.toml")),
    ("dense60", include_str!("../../../../../scenarios/dense60.toml")),
    ("room80", include_str!("../../../../../scenarios/room80.toml")),
    ("hidden-terminals", include_str!("../../../../../scenarios/hidden-terminals.toml")),
    ("hub17", include_str!("../../../../../scenarios/hub17.toml")),
    ("wifi-interference", include_str!("../../../../../scenarios/wifi-interference.toml")),
    ("crash-storm", include_str!("../../../../../scenarios/crash-storm.toml")),
    ("field36", include_str!("../../../../../scenarios/field36.toml")),
    ("hostile", include_str!("../../../../../scenarios/hostile.toml")),
    ("bad-flash", include_str!("../../../../../scenarios/bad-flash.toml")),
    ("wild-clocks", include_str!("../../../../../scenarios/wild-clocks.toml")),
    ("boards5", include_str!("../../../../../scenarios/boards5.toml")),
    ("frlle-load", include_str!("../../../../../scenarios/frlle-load.toml")),
    ("collect16", include_str!("../../../../../scenarios/collect16.toml")),
    ("collect36", include_str!("../../../../../scenarios/collect36.toml")),
    ("collect-day", include_str!("../../../../../scenarios/collect-day.toml")),
    ("orders16", include_str!("../../../../../scenarios/orders16.toml")),
    ("orders-partition", include_str!("../../../../../scenarios/orders-partition.toml")),
    ("fleet16", include_str!("../../../../../scenarios/fleet16.toml")),
    ("mixed", include_str!("../../../../../scenarios/mixed.toml")),
];

/// A scenario that comes with the program; none if none has this name.
pub fn built_in(name: &str) -> Option<Result<Scenario, Problem>> {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    Some(read(&format!("{name} (built in)"), text))
}
