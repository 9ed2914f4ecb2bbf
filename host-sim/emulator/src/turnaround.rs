//! How many cycles a board takes from the end of a frame to the decision to answer it at a set time.
//!
//! An acknowledgement is due a fixed time after the frame it answers, so these cycles are what decides whether the processor is
//! fast enough. The decision is the moment at which the program sets the timer that starts the transmitter.

/// Answers that are remembered; later ones are not.
const KEPT_MAX: usize = 10_000;

/// What one board took for each of its timed answers.
#[derive(Clone, Debug, Default)]
pub struct Turnaround {
    frame_end: Option<u64>,
    taken: Vec<u64>,
    decided: u64,
}

impl Turnaround {
    pub(crate) fn frame_ends(&mut self, now: u64) {
        self.frame_end = Some(now);
    }

    pub(crate) fn send_timed(&mut self, now: u64) {
        self.decided += 1;
        if let Some(end) = self.frame_end.take()
            && self.taken.len() < KEPT_MAX
        {
            self.taken.push(now - end);
        }
    }

    /// Cycles for each answer, in the order of time.
    pub fn taken(&self) -> &[u64] {
        &self.taken
    }

    /// How many answers were decided on.
    pub fn decided(&self) -> u64 {
        self.decided
    }
}

/// The distribution of some answers' cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// How many answers there are.
    pub count: usize,
    /// The fewest cycles.
    pub min: u64,
    /// Half of the answers took no more.
    pub median: u64,
    /// Nine tenths took no more.
    pub p90: u64,
    pub p99: u64,
    pub max: u64,
}

impl Spread {
    /// None if there are no answers.
    pub fn of(mut taken: Vec<u64>) -> Option<Self> {
        taken.sort_unstable();
        let at = |percent: usize| taken.get((taken.len().max(1) - 1) * percent / 100).copied();
        Some(Self { count: taken.len(), min: at(0)?, median: at(50)?, p90: at(90)?, p99: at(99)?, max: at(100)? })
    }
}

#[cfg(test)]
mod tests {
    use super::{Spread, Turnaround};

    #[test]
    fn each_answer_counts_from_the_last_frame_and_once() {
        let mut turnaround = Turnaround::default();
        turnaround.send_timed(5);
        turnaround.frame_ends(10);
        turnaround.frame_ends(100);
        turnaround.send_timed(130);
        turnaround.send_timed(140);
        turnaround.frame_ends(200);
        turnaround.send_timed(210);
        assert_eq!(turnaround.taken(), [30, 10]);
        let spread = Spread { count: 2, min: 10, median: 10, p90: 10, p99: 10, max: 30 };
        assert_eq!(Spread::of(turnaround.taken().to_vec()), Some(spread));
        assert_eq!(Spread::of(Vec::new()), None);
    }
}
