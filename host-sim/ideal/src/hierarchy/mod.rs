//! Hierarchies of leaders that form and change: single stories, and what many changes cost and move.

mod churn;
mod density;
mod field;
mod story;

pub use churn::{
    Bars, Broken, CHANGES, Churn, DEGREE, GRAPHS, GraphSize, INSTANCES, Measured, RADII, Row, measure, measure_bars,
};
pub use density::Density;
pub use field::{Change, Cost, Field, HierarchyNet, moved};
pub use story::{Line, Request, Story};

#[cfg(test)]
mod tests {
    use common::election::hierarchy::Radii;

    use super::{Request, Story};
    use crate::graph::Kind;

    #[test]
    fn every_story_stays_well_formed_and_tells_what_happened() {
        for kind in Kind::ALL {
            for (seed, radii) in [(1, &[1][..]), (2, &[2]), (3, &[1, 2, 4])] {
                let request = Request { kind, nodes: 20, radii: Radii::new(radii).unwrap(), seed, changes: 12 };
                let story = Story::tell(request).unwrap();
                assert_eq!(story.lines.len(), 13, "{kind:?}: {:?}", story.lines);
                assert!(story.lines.iter().any(|line| line.what.starts_with("leader")), "{kind:?}");
                assert_eq!(story.lines, Story::tell(request).unwrap().lines);
            }
        }
    }
}
