//! How nodes move.

use std::collections::BTreeMap;

use common::rng::Rng;

use crate::air::index::NodeIndex;
use crate::air::propagation::Point;
use crate::maths;
use crate::scenario::input::plan::{Groups, Mobility, Wander, Waypoint, unit};

/// The random stream of all movement, and the first numbers within it for group centres and for group members. Nodes
/// that walk on their own use the numbers below those.
const WALKING: u64 = 0x3A1C;
const CENTRES: u64 = 1 << 32;
const MEMBERS: u64 = 2 << 32;

#[derive(Clone, Debug)]
pub enum Walk {
    /// Every node walks to one random point after another.
    Alone(Wander, Vec<Walker>),
    /// Nodes move in groups whose centres walk to random points.
    Together(Wander, Vec<Walker>, Vec<Member>),
    /// Nodes follow the listed ways. Nodes without a way stay where they are.
    Listed(BTreeMap<NodeIndex, Vec<Waypoint>>),
}

/// A group that moves together, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GroupIndex(usize);

#[derive(Clone, Debug)]
pub struct Walker {
    rng: Rng,
    at: Point,
    target: Point,
    speed: f64,
    area: Area,
}

#[derive(Clone, Copy, Debug)]
enum Area {
    /// A square with this side and one corner at the origin.
    Square(f64),
    /// A disc of this radius around the origin.
    Disc(f64),
}

#[derive(Clone, Debug)]
pub struct Member {
    group: GroupIndex,
    /// Its assigned position, relative to the group's centre.
    offset: Point,
    /// Its current position, relative to the assigned one.
    stroll: Walker,
}

impl Walk {
    /// Starts the nodes at these positions.
    pub fn new(plan: &Mobility, positions: &[Point], seed: u64) -> Self {
        let plan = match plan {
            Mobility::Random(wander) => *wander,
            Mobility::Listed(ways) => return Self::Listed(ways.clone()),
        };
        let walker = |number: u64, at: Point, area: Area| {
            let mut walker = Walker { rng: Rng::stream(seed ^ WALKING, number), at, target: at, speed: 1.0, area };
            walker.turn(plan);
            walker
        };
        let square = Area::Square(plan.side);
        let Some(Groups { count, wander }) = plan.groups else {
            let alone = positions.iter().enumerate().map(|(node, &at)| walker(node as u64, at, square));
            return Self::Alone(plan, alone.collect());
        };
        let groups = strips(positions, count);
        let centre_of = |group: GroupIndex| {
            let own: Vec<Point> =
                positions.iter().zip(&groups).filter(|&(_, of)| *of == group).map(|(position, _)| *position).collect();
            let share = 1.0 / f64::from(u32::try_from(own.len().max(1)).unwrap_or(u32::MAX));
            own.iter().fold(Point::ORIGIN, |sum, at| Point::new(sum.x + at.x * share, sum.y + at.y * share))
        };
        let centres: Vec<Walker> =
            (0..count).map(|group| walker(CENTRES + group as u64, centre_of(GroupIndex(group)), square)).collect();
        let member = |(node, (&position, &group)): (usize, (&Point, &GroupIndex))| {
            let centre = centres[group.0].at;
            let offset = Point::new(position.x - centre.x, position.y - centre.y);
            Member { group, offset, stroll: walker(MEMBERS + node as u64, Point::ORIGIN, Area::Disc(wander)) }
        };
        let members = positions.iter().zip(&groups).enumerate().map(member).collect();
        Self::Together(plan, centres, members)
    }

    /// A node was carried from one position to another, and walks on from there.
    pub fn put(&mut self, node: NodeIndex, from: Point, to: Point) {
        match self {
            Self::Alone(_, walkers) => {
                if let Some(walker) = walkers.get_mut(node.0) {
                    walker.at = to;
                }
            }
            Self::Together(_, _, members) => {
                if let Some(member) = members.get_mut(node.0) {
                    let Point { x, y } = member.offset;
                    member.offset = Point::new(x + to.x - from.x, y + to.y - from.y);
                }
            }
            Self::Listed(_) => {}
        }
    }

    /// Advances by this many seconds to the present time, and returns who moved, and to where.
    pub fn pass(&mut self, now_us: u64, seconds: f64) -> Vec<(NodeIndex, Point)> {
        match self {
            Self::Alone(plan, walkers) => {
                for walker in &mut *walkers {
                    walker.walk(seconds, *plan);
                }
                NodeIndex::first(walkers.len()).zip(walkers.iter().map(|walker| walker.at)).collect()
            }
            Self::Together(plan, centres, members) => {
                for centre in &mut *centres {
                    centre.walk(seconds, *plan);
                }
                let position = |member: &mut Member| {
                    member.stroll.walk(seconds, *plan);
                    let (centre, stroll) = (centres[member.group.0].at, member.stroll.at);
                    Point::new(centre.x + member.offset.x + stroll.x, centre.y + member.offset.y + stroll.y)
                };
                NodeIndex::first(members.len()).zip(members.iter_mut().map(position)).collect()
            }
            Self::Listed(ways) => ways.iter().filter_map(|(&node, way)| Some((node, along(way, now_us)?))).collect(),
        }
    }
}

/// The group of each node. The groups are strips of the field from left to right, and differ in size by at most one
/// node.
fn strips(positions: &[Point], count: usize) -> Vec<GroupIndex> {
    let mut order: Vec<usize> = (0..positions.len()).collect();
    order.sort_by(|&a, &b| positions[a].x.total_cmp(&positions[b].x).then(a.cmp(&b)));
    let mut groups = vec![GroupIndex(0); positions.len()];
    for (rank, &node) in order.iter().enumerate() {
        groups[node] = GroupIndex(rank * count / positions.len());
    }
    groups
}

/// The position on a way at some time: on the straight line between two of its points, or at an end before and after.
fn along(way: &[Waypoint], now_us: u64) -> Option<Point> {
    let next = way.partition_point(|point| point.at_us <= now_us);
    let &Waypoint { at_us: to_us, position: to } = way.get(next).or(way.last())?;
    let &Waypoint { at_us: from_us, position: from } = way.get(next.saturating_sub(1))?;
    if next == 0 || to_us <= now_us {
        return Some(to);
    }
    #[expect(clippy::cast_precision_loss, reason = "times of a run are far below 2^52 microseconds")]
    let share = (now_us - from_us) as f64 / (to_us - from_us) as f64;
    Some(Point::new(from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share))
}

impl Walker {
    fn walk(&mut self, seconds: f64, plan: Wander) {
        let (dx, dy) = (self.target.x - self.at.x, self.target.y - self.at.y);
        let (left, step) = (maths::hypot(dx, dy), self.speed * seconds);
        if left <= step {
            self.at = self.target;
            self.turn(plan);
        } else {
            self.at = Point::new(self.at.x + dx * step / left, self.at.y + dy * step / left);
        }
    }

    fn turn(&mut self, plan: Wander) {
        let (a, b) = (unit(&mut self.rng), unit(&mut self.rng));
        self.target = match self.area {
            Area::Square(side) => Point::new(a * side, b * side),
            Area::Disc(radius) => {
                let (distance, angle) = (radius * a.sqrt(), std::f64::consts::TAU * b);
                Point::new(distance * maths::cos(angle), distance * maths::sin(angle))
            }
        };
        self.speed = plan.speed.least + unit(&mut self.rng) * (plan.speed.most - plan.speed.least);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Groups, Mobility, NodeIndex, Point, Walk, Wander, Waypoint, strips};
    use crate::scenario::input::plan::SpeedRange;
    use crate::scenario::input::units::micros;

    const ALONE: Wander = Wander { groups: None, speed: SpeedRange { least: 1.0, most: 2.0 }, side: 50.0, until_us: 0 };

    fn distance(a: Point, b: Point) -> f64 {
        (a.x - b.x).hypot(a.y - b.y)
    }

    #[test]
    fn walkers_keep_their_speed() {
        let positions = [Point::ORIGIN, Point::new(10.0, 5.0)];
        let mut walk = Walk::new(&Mobility::Random(ALONE), &positions, 3);
        let mut before = positions.to_vec();
        for _ in 0..500 {
            let now: Vec<_> = walk.pass(0, 0.2).into_iter().map(|(_, position)| position).collect();
            assert!(before.iter().zip(&now).all(|(&a, &b)| distance(a, b) <= 0.4 + 1e-9));
            before = now;
        }
        assert_ne!(before, positions);
    }

    #[test]
    fn groups_go_their_own_ways_and_their_members_stay_together() {
        let positions: Vec<Point> = (0..8).map(|node| Point::new(f64::from(node) * 5.0, f64::from(node % 2))).collect();
        let plan = Wander { groups: Some(Groups { count: 2, wander: 1.5 }), ..ALONE };
        let mut walk = Walk::new(&Mobility::Random(plan), &positions, 3);
        let (mut nearest, mut farthest, mut strayed) = (f64::INFINITY, 0.0_f64, 0.0_f64);
        for _ in 0..2_000 {
            let now: Vec<_> = walk.pass(0, 0.2).into_iter().map(|(_, position)| position).collect();
            for (a, b) in [(0, 3), (1, 2), (4, 7), (5, 6)] {
                let change = distance(now[a], now[b]) - distance(positions[a], positions[b]);
                assert!(change.abs() <= 3.0 + 1e-9, "both have strayed by up to 1.5 m");
                strayed = strayed.max(change.abs());
            }
            let apart = distance(now[0], now[7]);
            (nearest, farthest) = (nearest.min(apart), farthest.max(apart));
        }
        assert!(strayed > 1.0 && nearest < 20.0 && farthest > 40.0, "{strayed} {nearest} {farthest}");
    }

    #[test]
    fn groups_are_strips_of_the_field() {
        let positions = [(9.0, 0.0), (1.0, 8.0), (5.0, 2.0), (1.0, 0.0), (7.0, 1.0)].map(|(x, y)| Point { x, y });
        let strips = |count| strips(&positions, count).iter().map(|group| group.0).collect::<Vec<_>>();
        assert_eq!(strips(2), [1, 0, 0, 0, 1]);
        assert_eq!(strips(5), [4, 0, 2, 1, 3]);
        assert_eq!(strips(1), [0; 5]);
    }

    #[test]
    fn listed_ways_are_walked_at_their_times() {
        let point = |seconds, x, y| Waypoint { at_us: micros(seconds), position: Point { x, y } };
        let way = vec![point(1.0, 0.0, 0.0), point(3.0, 10.0, 0.0), point(3.0, 10.0, 9.0), point(4.0, 0.0, 9.0)];
        let plan = Mobility::Listed(BTreeMap::from([(NodeIndex(2), way)]));
        assert_eq!(plan.until_us(), 4_000_000);
        let mut walk = Walk::new(&plan, &[Point::new(5.0, 5.0); 3], 1);
        let mut at = |seconds: f64| walk.pass(micros(seconds), 0.2)[0];
        assert_eq!(at(0.5), (NodeIndex(2), Point::ORIGIN));
        assert_eq!(at(2.0), (NodeIndex(2), Point::new(5.0, 0.0)));
        assert_eq!(at(3.0), (NodeIndex(2), Point::new(10.0, 9.0)), "two points at one time are a jump");
        assert_eq!(at(3.5), (NodeIndex(2), Point::new(5.0, 9.0)));
        assert_eq!(at(9.0), (NodeIndex(2), Point::new(0.0, 9.0)));
    }
}
