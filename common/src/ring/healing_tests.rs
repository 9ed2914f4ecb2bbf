//! Whatever a keeper's state is made to be, the ring is right again in bounded time.

use std::vec::Vec;

use super::number::Number;
use super::routes::age_max;
use super::wire::NOBODY;
use super::{RingKeeper, RingOutput};
use crate::config::Timings;
use crate::members::{Members, Position, RingOrder};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::types::{NodeId, RingPlace};

const SIZE: u8 = 5;

/// Keepers in a line, each linked to those beside it; hellos are never lost and election messages not sent.
struct Line {
    now: Instant,
    keepers: Vec<RingKeeper>,
    /// Whom each driver believes alive, and its place.
    told: Vec<(Members, RingPlace)>,
}

fn id(position: u8) -> NodeId {
    NodeId(10 + u16::from(position))
}

impl Line {
    fn new() -> Self {
        let ids: Vec<NodeId> = (0..SIZE).map(id).collect();
        let order = RingOrder::new(&ids).unwrap();
        let keeper = |position| {
            let mut keeper = RingKeeper::new(id(position), order.clone(), Timings::ALWAYS_ON).unwrap();
            keeper.set_epoch(3);
            keeper.start(Instant::ZERO);
            for beside in [position.wrapping_sub(1), position + 1] {
                if beside < SIZE {
                    keeper.link_up(Instant::ZERO, id(beside));
                }
            }
            keeper
        };
        let alone = |position| (Members::of(Position(position)), RingPlace { left: id(position), right: id(position) });
        Self { now: Instant::ZERO, keepers: (0..SIZE).map(keeper).collect(), told: (0..SIZE).map(alone).collect() }
    }

    /// A second: everybody says a hello, deadlines come due.
    fn pass_a_second(&mut self) {
        for position in 0..SIZE {
            self.now = self.now + Duration::from_millis(1_000 / u64::from(SIZE));
            let now = self.now;
            let mut room = [0; 64];
            let length = self.keepers[usize::from(position)].tell(now, &mut room);
            for beside in [position.wrapping_sub(1), position + 1].into_iter().filter(|&beside| beside < SIZE) {
                self.keepers[usize::from(beside)].receive_hello(now, id(position), &room[..length]);
            }
            for (keeper, (alive, place)) in self.keepers.iter_mut().zip(&mut self.told) {
                while keeper.poll_timeout().is_some_and(|at| at <= now) {
                    keeper.timeout(now);
                }
                while keeper.poll_transmit().is_some() {}
                while let Some(output) = keeper.poll_output(now) {
                    match output {
                        RingOutput::MemberUp(member) => *alive = alive.with(keeper.roster.position(member).unwrap()),
                        RingOutput::MemberDown(member) => {
                            *alive = alive.without(keeper.roster.position(member).unwrap());
                        }
                        RingOutput::Place(now) => *place = now,
                        _ => {}
                    }
                }
            }
        }
    }

    fn is_right(&self) -> bool {
        let all = (0..SIZE).map(Position).fold(Members::default(), Members::with);
        (0..SIZE).zip(&self.keepers).zip(&self.told).all(|((position, keeper), (alive, place))| {
            let (left, right) = (id((position + SIZE - 1) % SIZE), id((position + 1) % SIZE));
            let leads_on = (0..SIZE).filter(|&to| to != position).all(|to| {
                let next = keeper.routes.next(Position(to));
                next == Some(Position(if to < position { position - 1 } else { position + 1 }))
            });
            *alive == all && *place == RingPlace { left, right } && keeper.place() == *place && leads_on
        })
    }
}

fn instant(rng: &mut Rng, now: Instant) -> Instant {
    match rng.below(4) {
        0 => Instant::NEVER,
        1 => Instant::ZERO,
        2 => now + Duration::from_millis(u64::from(rng.below(u32::MAX))),
        _ => Instant::from_micros(rng.next_u64() / 2),
    }
}

fn members(rng: &mut Rng) -> Members {
    (0..SIZE).map(Position).filter(|_| rng.below(2) == 0).fold(Members::default(), Members::with)
}

fn byte(rng: &mut Rng) -> u8 {
    let any = u8::try_from(rng.below(256)).unwrap();
    if rng.below(2) == 0 { any % SIZE } else { any }
}

/// Sets one field of a keeper to any value.
fn corrupt(keeper: &mut RingKeeper, rng: &mut Rng, now: Instant) {
    let count = u16::try_from(rng.below(0x1_0000)).unwrap();
    let number = Number { epoch: byte(rng), count };
    let (position, any) = (Position(byte(rng) % SIZE), byte(rng));
    match rng.below(12) {
        0 => keeper.routes.corrupt(position, number, byte(rng), Position(any), byte(rng)),
        1 => keeper.roster.corrupt(instant(rng, now), members(rng)),
        2 => keeper.losses.corrupt(instant(rng, now), position, any, members(rng)),
        3 => keeper.disturbance.corrupt(instant(rng, now), instant(rng, now), any),
        4 => keeper.watch.corrupt(instant(rng, now), instant(rng, now), number, Position(any)),
        5 => keeper.news.corrupt(instant(rng, now), members(rng), Position(any)),
        6 => keeper.routes.set_own(keeper.roster.own(), number),
        // Every route at once.
        _ => (0..SIZE).map(Position).for_each(|position| {
            keeper.routes.corrupt(position, number, byte(rng), Position(byte(rng)), byte(rng));
        }),
    }
    if keeper.watch.watched() == NOBODY && rng.below(2) == 0 {
        keeper.set_leader(now, Some(id(any % SIZE)));
    }
}

#[test]
fn any_state_heals() {
    let mut rng = Rng::new(7);
    let bound = u32::from(age_max(usize::from(SIZE))) + 20;
    let mut worst = 0;
    for run in 0..400 {
        let mut line = Line::new();
        (0..10).for_each(|_| line.pass_a_second());
        assert!(line.is_right(), "run {run} before");
        for _ in 0..=rng.below(2) {
            let victim = usize::from(byte(&mut rng) % SIZE);
            let now = line.now;
            corrupt(&mut line.keepers[victim], &mut rng, now);
        }
        line.pass_a_second();
        let took = (0..bound).find(|_| {
            line.pass_a_second();
            line.is_right()
        });
        assert!(took.is_some(), "run {run}: {:?}", line.told);
        // It stays so.
        (0..10).for_each(|_| line.pass_a_second());
        assert!(line.is_right(), "run {run}, later");
        worst = worst.max(took.unwrap_or(0));
    }
    std::println!("at most {worst} s");
}
