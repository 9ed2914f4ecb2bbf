//! Which boards are asked for the readings of all nodes, and when.
//!
//! A network has one reader at a time, so one board of each is asked: the first that is there. A board that has restarted
//! knows nothing of it any more and is asked again at once, as is the next board where the first is gone.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::boards::PortIndex;

/// How often. A board counts as a reader for two such times and a half.
const AGAIN: Duration = Duration::from_mins(1);

/// A board at a port, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub port: PortIndex,
    pub pan: u16,
    /// The number of its boot.
    pub epoch: Option<u16>,
}

/// By network, whom was asked last and when it is due again.
#[derive(Clone, Debug, Default)]
pub struct Readers(BTreeMap<u16, (Candidate, Instant)>);

impl Readers {
    /// Whom to ask now, of the boards that are there.
    pub fn due(&mut self, now: Instant, there: impl Iterator<Item = Candidate>) -> Vec<PortIndex> {
        let mut first: BTreeMap<u16, Candidate> = BTreeMap::new();
        for candidate in there {
            first.entry(candidate.pan).or_insert(candidate);
        }
        self.0.retain(|pan, _| first.contains_key(pan));
        let mut due = Vec::new();
        for (pan, candidate) in first {
            let is_asked = |(asked, again): &(Candidate, Instant)| *asked == candidate && now < *again;
            if !self.0.get(&pan).is_some_and(is_asked) {
                self.0.insert(pan, (candidate, now + AGAIN));
                due.push(candidate.port);
            }
        }
        due
    }

    /// It could not be asked after all.
    pub fn forget(&mut self, port: PortIndex) {
        self.0.retain(|_, (asked, _)| asked.port != port);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{AGAIN, Candidate, PortIndex, Readers};

    const fn board(port: usize, pan: u16, epoch: u16) -> Candidate {
        Candidate { port: PortIndex(port), pan, epoch: Some(epoch) }
    }

    fn due(readers: &mut Readers, now: Instant, there: &[Candidate]) -> Vec<usize> {
        readers.due(now, there.iter().copied()).into_iter().map(|port| port.0).collect()
    }

    #[test]
    fn one_board_of_each_network_is_asked_once_a_minute() {
        let (start, mut readers) = (Instant::now(), Readers::default());
        let there = [board(0, 7, 1), board(1, 7, 1), board(2, 9, 1)];
        assert_eq!(due(&mut readers, start, &there), [0, 2]);
        assert_eq!(due(&mut readers, start + Duration::from_secs(59), &there), [0; 0]);
        assert_eq!(due(&mut readers, start + AGAIN, &there), [0, 2]);
    }

    #[test]
    fn who_has_forgotten_or_takes_over_is_asked_at_once() {
        let (now, mut readers) = (Instant::now(), Readers::default());
        assert_eq!(due(&mut readers, now, &[board(0, 7, 1), board(1, 7, 1)]), [0]);
        assert_eq!(due(&mut readers, now, &[board(0, 7, 2), board(1, 7, 1)]), [0], "it has restarted");
        assert_eq!(due(&mut readers, now, &[board(1, 7, 1)]), [1], "the first is gone");
        assert_eq!(due(&mut readers, now, &[]), [0; 0]);
        assert_eq!(due(&mut readers, now, &[board(1, 7, 1)]), [1], "it was away");
        readers.forget(PortIndex(1));
        assert_eq!(due(&mut readers, now, &[board(1, 7, 1)]), [1], "it did not hear");
    }
}
