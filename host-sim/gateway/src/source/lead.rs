//! `--lead`: makes the board on the cable the leader, and keeps it so.
//!
//! With heights any node may elect itself, and the later election wins; in a hierarchy it also needs the best rank. A
//! ring elects by its members' ids, so a board cannot be made its leader.

use std::time::{Duration, Instant};

use common::host_link::ToBoard;
use common::names::Algorithm;
use common::types::NodeId;

/// How long to wait before asking again: an election among many nodes takes seconds.
const AGAIN: Duration = Duration::from_secs(20);

/// The best rank there is.
const BEST_RANK: u8 = 0;

#[derive(Clone, Debug, Default)]
pub struct Lead {
    asked: Option<Instant>,
    is_refusal_told: bool,
}

/// What is to be done about who leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    Nothing,
    Say(Vec<ToBoard>),
    /// This algorithm cannot be told who leads. Reported once.
    Refuse(Algorithm),
}

impl Lead {
    /// The board is there, has this id and algorithm, and follows that leader.
    pub fn look(&mut self, now: Instant, id: NodeId, algorithm: Algorithm, leader: Option<NodeId>) -> Wanted {
        // A board without a leader is about to find one.
        let is_due = self.asked.is_none_or(|asked| now.saturating_duration_since(asked) >= AGAIN);
        if leader.is_none_or(|leader| leader == id) || !is_due {
            return Wanted::Nothing;
        }
        match algorithm {
            Algorithm::Height => {
                self.asked = Some(now);
                Wanted::Say(vec![ToBoard::Elect])
            }
            Algorithm::Hierarchy => {
                self.asked = Some(now);
                Wanted::Say(vec![ToBoard::SetRank(BEST_RANK), ToBoard::Elect])
            }
            _ if std::mem::replace(&mut self.is_refusal_told, true) => Wanted::Nothing,
            other => Wanted::Refuse(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use common::host_link::ToBoard;
    use common::names::Algorithm;
    use common::types::NodeId;

    use super::{AGAIN, Lead, Wanted};

    const SELF: NodeId = NodeId(5);
    const OTHER: Option<NodeId> = Some(NodeId(9));

    #[test]
    fn it_elects_itself_while_another_leads_and_not_too_often() {
        let (now, mut lead) = (Instant::now(), Lead::default());
        assert_eq!(lead.look(now, SELF, Algorithm::Height, None), Wanted::Nothing);
        assert_eq!(lead.look(now, SELF, Algorithm::Height, OTHER), Wanted::Say(vec![ToBoard::Elect]));
        assert_eq!(lead.look(now, SELF, Algorithm::Height, OTHER), Wanted::Nothing);
        assert_eq!(lead.look(now + AGAIN, SELF, Algorithm::Height, Some(SELF)), Wanted::Nothing);
        let ranked = Wanted::Say(vec![ToBoard::SetRank(0), ToBoard::Elect]);
        assert_eq!(lead.look(now + AGAIN, SELF, Algorithm::Hierarchy, OTHER), ranked);
    }

    #[test]
    fn a_ring_is_told_once_that_it_cannot_be_asked() {
        let (now, mut lead) = (Instant::now(), Lead::default());
        assert_eq!(lead.look(now, SELF, Algorithm::Hs, OTHER), Wanted::Refuse(Algorithm::Hs));
        assert_eq!(lead.look(now, SELF, Algorithm::Hs, OTHER), Wanted::Nothing);
    }
}
