//! A stranger as a scenario's text, which `ringleader run` takes like any other.

use std::fmt::Write as _;

use super::stranger::{Blow, Event, Measuring, Position, Side, Stranger, Target};
use crate::air::index::NodeIndex;
use crate::scenario::input::plan::Scenario;
use crate::scenario::input::read::read;

/// What a wall between rooms takes, in dB.
const WALL_DB: u64 = 100;

/// What a link loses while it has broken down, in dB.
const FADE_DB: u64 = 60;

impl Stranger {
    /// The scenario of this stranger.
    ///
    /// # Panics
    ///
    /// Where the reader refuses it, which is a bug of the generator.
    pub fn scenario(&self) -> Scenario {
        let name = format!("stranger {}", self.seed);
        read(&name, &self.text()).unwrap_or_else(|problem| panic!("{problem}\n{}", self.text()))
    }

    /// The text of its scenario.
    pub fn text(&self) -> String {
        let mut text = self.head();
        for event in &self.events {
            text.push_str(&event_text(event));
        }
        let _ = writeln!(text, "\n[expect]\nagreement_within_ms = {}", self.within_ms);
        if self.is_calm {
            let steady_ms = self.last_change_ms() + self.within_ms;
            let _ = writeln!(text, "leader_changes = 0\nsteady_from_ms = {steady_ms}");
        }
        text
    }

    /// Everything before the faults.
    fn head(&self) -> String {
        let features: Vec<&str> = self.features.iter().map(|feature| feature.name()).collect();
        let count = self.positions.len();
        let mut text = format!(
            "name = \"stranger-{}\"\nsummary = \"{count} node{} with {}: {}\"\nseed = {}\nduration_ms = {}\n",
            self.seed,
            if count == 1 { "" } else { "s" },
            self.algorithm.name(),
            if features.is_empty() { "nothing else".to_owned() } else { features.join(", ") },
            self.seed,
            self.last_change_ms() + self.within_ms + self.quiet_ms
        );
        let positions: Vec<String> = self.positions.iter().map(|&position| point(position)).collect();
        let _ = writeln!(text, "\n[topology]\npositions = [{}]", positions.join(", "));
        let air = self.air;
        let _ = writeln!(text, "\n[radio]\nmodel = \"{}\"", air.model);
        for (key, amount) in
            [("loss_percent", air.loss_percent), ("drift_ppm", air.drift_ppm), ("wake_jitter_us", air.wake_jitter_us)]
        {
            if amount > 0 {
                let _ = writeln!(text, "{key} = {amount}");
            }
        }
        if air.is_slow {
            text.push_str("timing = \"embassy\"\n");
        }
        if let Some(fades) = air.bursts {
            let _ = writeln!(
                text,
                "\n[radio.bursts]\ngood_ms = {}\nbad_ms = {}\nloss_db = {FADE_DB}",
                fades.good_ms, fades.bad_ms
            );
        }
        if let Some(wifi) = air.wifi {
            let _ = writeln!(text, "\n[radio.wifi]\nat = {}\nduty_percent = {}", point(wifi.at), wifi.duty_percent);
        }
        let _ = writeln!(text, "\n[protocol]\nkind = \"{}\"", self.algorithm.name());
        if !self.radii.is_empty() {
            let _ = writeln!(text, "radii = {:?}", self.radii);
        }
        if let Some(Measuring { nodes: count, every_ms }) = self.measuring {
            let from: Vec<usize> = (1..=count).collect();
            let _ = writeln!(text, "\n[collect]\nevery_ms = {every_ms}\nsample_ms = {every_ms}\nfrom = {from:?}");
        }
        if let Some(walking) = self.walking {
            let _ = writeln!(
                text,
                "\n[mobility]\nkind = \"waypoint\"\nspeed_min_mps = 1\nspeed_max_mps = 3\nside_m = {}\nuntil_ms = {}",
                walking.side_m, walking.until_ms
            );
        }
        for &Side { start, end } in &self.walls {
            let _ = writeln!(
                text,
                "\n[[fault]]\nkind = \"wall\"\nstart = {}\nend = {}\nloss_db = {WALL_DB}\nat_s = 0",
                point(start),
                point(end)
            );
        }
        text
    }
}

fn point(Position { x_dm, y_dm }: Position) -> String {
    let metres = |dm: i64| {
        let sign = if dm < 0 { "-" } else { "" };
        format!("{sign}{}.{}", dm.unsigned_abs() / 10, dm.unsigned_abs() % 10)
    };
    format!("[{}, {}]", metres(x_dm), metres(y_dm))
}

fn nodes(list: &[NodeIndex]) -> String {
    let ids: Vec<String> = list.iter().map(|node| (node.0 + 1).to_string()).collect();
    format!("nodes = [{}]", ids.join(", "))
}

fn who(target: &Target) -> String {
    match target {
        Target::Nodes(list) => nodes(list),
        Target::Leader => "who = \"leader\"".to_owned(),
        Target::Random => "who = \"random\"".to_owned(),
    }
}

fn event_text(Event { at_ms, for_ms, blow }: &Event) -> String {
    let once = format!("at_ms = {at_ms}\nfor_ms = {for_ms}");
    let body = match blow {
        Blow::Crash { who: target, flash } => {
            format!("kind = \"crash\"\n{}\nflash = \"{flash}\"\n{once}", who(target))
        }
        Blow::Churn { every_ms, off_ms } => format!(
            "kind = \"crash\"\nwho = \"random\"\nevery_ms = {every_ms}\nfrom_ms = {at_ms}\nuntil_ms = {}\nfor_ms = {off_ms}",
            at_ms + for_ms
        ),
        Blow::Partition { nodes: list } => format!("kind = \"partition\"\n{}\n{once}", nodes(list)),
        Blow::Drift { nodes: list, ppm } => format!("kind = \"drift\"\n{}\ndrift_ppm = {ppm}\n{once}", nodes(list)),
        Blow::CorruptFrames { percent } => format!("kind = \"corrupt\"\nshare_percent = {percent}\n{once}"),
        Blow::CorruptState { who: target } => format!("kind = \"corrupt-state\"\n{}\nat_ms = {at_ms}", who(target)),
        Blow::Lie { who: target } => format!("kind = \"lie\"\n{}\n{once}", who(target)),
        Blow::Attack { at, interval_ms } => {
            format!("kind = \"attack\"\nplace = {}\ninterval_ms = {interval_ms}\n{once}", point(*at))
        }
        Blow::Noise { at, dbm } => format!("kind = \"jam\"\nplace = {}\npower_dbm = {dbm}\n{once}", point(*at)),
    };
    format!("\n[[fault]]\n{body}\n")
}
