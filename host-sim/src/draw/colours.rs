//! A colour for each leader; no two leaders share one.

/// Colours that colour-blind readers can tell apart (after Okabe and Ito).
const FIRST: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#636363"];

/// The golden angle in degrees: hues that far apart never meet again.
const GOLDEN: f64 = 137.508;

/// The colour of the leader with this rank. After the first eight, hue and lightness vary instead.
pub(super) fn colour(rank: usize) -> String {
    FIRST.get(rank).map_or_else(
        || {
            let turns = super::svg::as_f64(rank);
            let lightness = [38, 62, 50][rank % 3];
            format!("hsl({:.1},{}%,{lightness}%)", turns * GOLDEN % 360.0, if rank.is_multiple_of(2) { 70 } else { 45 })
        },
        |&colour| colour.to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn no_two_leaders_share_a_colour() {
        let all: BTreeSet<String> = (0..1_000).map(super::colour).collect();
        assert_eq!(all.len(), 1_000);
    }
}
