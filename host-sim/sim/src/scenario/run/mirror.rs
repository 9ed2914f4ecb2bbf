//! What an emulated board has reported over its debug probe. The checker uses this in place of the node.
//!
//! The node's state stays on the board. All that comes out are notices and snapshots, just as a person with a cable
//! would see them. The checker therefore knows a board's leader and its links, but not its height.

use std::collections::BTreeSet;

use common::host_link::{Hello, ToHost};
use common::mac::phy::FRAME_MAX;
use common::node::snapshot::Counters;
use common::notice::{Event, Notice};
use common::time::Instant;
use common::types::NodeId;

use crate::air::soft_state::Tally;
use crate::air::station::{Room, Sent, Station, Transmit};

/// What a board has reported since it was powered on.
#[derive(Clone, Debug)]
pub struct Mirror {
    id: NodeId,
    leader: Option<NodeId>,
    links: BTreeSet<NodeId>,
    is_mute: bool,
    tally: Tally,
    counters: Counters,
    lost: u64,
    defect: Option<String>,
    /// The board's own time in its latest message. It starts again when the board does.
    heard_us: Option<u64>,
}

impl Mirror {
    /// A board that has not reported anything yet.
    pub fn new(id: NodeId) -> Self {
        Self {
            id,
            leader: None,
            links: BTreeSet::new(),
            is_mute: false,
            tally: Tally::default(),
            counters: Counters::default(),
            lost: 0,
            defect: None,
            heard_us: None,
        }
    }

    /// The id that the board was configured with.
    pub fn id(&self) -> NodeId {
        self.id
    }

    pub fn leader(&self) -> Option<NodeId> {
        self.leader
    }

    pub fn links(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.links.iter().copied()
    }

    /// Whether the link to another node is up.
    pub fn is_linked(&self, peer: NodeId) -> bool {
        self.links.contains(&peer)
    }

    /// Whether the board has reported that it only listens.
    pub fn is_mute(&self) -> bool {
        self.is_mute
    }

    /// How many messages the board lost on the way out.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The crash before the last start, if the board reported one.
    pub fn defect(&self) -> Option<&str> {
        self.defect.as_deref()
    }

    pub fn tally(&self) -> Tally {
        let Counters { links_up, links_down, foreign, malformed, forged, replayed, retries, busy, .. } = self.counters;
        Tally {
            ups: u64::from(links_up),
            downs: u64::from(links_down),
            foreign: u64::from(foreign),
            malformed: u64::from(malformed),
            forged: u64::from(forged),
            replayed: u64::from(replayed),
            retries: u64::from(retries),
            unsent: u64::from(busy),
            ..self.tally
        }
    }

    /// Records a message. Returns true if something changed that others may be waiting for.
    pub fn hear(&mut self, message: &ToHost) -> bool {
        match message {
            ToHost::Hello(hello) => self.greet(hello),
            ToHost::Notice { at_us, notice } => {
                self.heard_us = Some(*at_us);
                self.note(*notice)
            }
            ToHost::Snapshot { at_us, snapshot } => {
                self.heard_us = Some(*at_us);
                self.counters = snapshot.counters;
                self.is_mute = snapshot.epoch.is_none();
                let changed = self.leader != snapshot.leader;
                self.leader = snapshot.leader;
                changed
            }
            ToHost::Lost(lost) => {
                self.lost += u64::from(*lost);
                false
            }
            _ => false,
        }
    }

    /// A board says hello when it starts. It also says hello to anyone who plugs in a cable, which carries no news.
    fn greet(&mut self, hello: &Hello) -> bool {
        if self.heard_us.replace(hello.at_us).is_some_and(|before| before <= hello.at_us) {
            return false;
        }
        self.leader = None;
        self.links.clear();
        self.is_mute = hello.epoch.is_none();
        if let Some(crash) = &hello.crash {
            let site = if crash.file.as_str().is_empty() {
                format!("at {:#010x}", crash.pc)
            } else {
                format!("in {}:{}", crash.file, crash.line)
            };
            self.defect = Some(format!("{:?} {site} after {} s", crash.kind, crash.uptime_s));
        }
        true
    }

    fn note(&mut self, notice: Notice) -> bool {
        match notice {
            Notice::Leader(leader) => self.leader = leader,
            Notice::LinkUp(peer) => {
                self.links.insert(peer);
            }
            Notice::LinkDown(peer, _) => {
                self.links.remove(&peer);
            }
            Notice::Event(Event::ElectedSelf) => self.tally.elections += 1,
            Notice::Event(Event::Searching) => self.tally.searches += 1,
            Notice::Fault(_) => self.tally.faults += 1,
            Notice::EpochNeeded => self.is_mute = true,
            _ => return false,
        }
        true
    }
}

/// The board drives its own radio, so the world has nothing to do.
impl Station for Mirror {
    fn handle_start(&mut self, _now: Instant) {}
    fn handle_frame(&mut self, _now: Instant, _psdu: &[u8], _rssi_dbm: f64) {}
    fn handle_sent(&mut self, _now: Instant, _sent: Sent) {}
    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, _now: Instant, _room: Room, _buf: &mut [u8; FRAME_MAX]) -> Option<Transmit> {
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

#[cfg(test)]
mod tests {
    use common::host_link::ToHost;
    use common::node::snapshot::Snapshot;
    use common::notice::{Notice, Reason};
    use common::types::NodeId;

    use super::Mirror;

    #[test]
    fn notices_and_snapshots_make_the_picture() {
        let mut mirror = Mirror::new(NodeId(3));
        let notice = |notice| ToHost::Notice { at_us: 1, notice };
        assert!(mirror.hear(&notice(Notice::Leader(Some(NodeId(5))))));
        assert!(mirror.hear(&notice(Notice::LinkUp(NodeId(5)))));
        assert!(mirror.is_linked(NodeId(5)) && mirror.leader() == Some(NodeId(5)));
        assert!(mirror.hear(&notice(Notice::LinkDown(NodeId(5), Reason::Silent))));
        assert!(!mirror.is_linked(NodeId(5)));
        // A notice may get lost, but the next snapshot includes the leader anyway.
        assert!(!mirror.hear(&ToHost::Lost(2)));
        let snapshot = Snapshot { leader: Some(NodeId(7)), epoch: Some(1), ..Snapshot::default() };
        assert!(mirror.hear(&ToHost::Snapshot { at_us: 2, snapshot }));
        assert_eq!((mirror.leader(), mirror.lost(), mirror.is_mute()), (Some(NodeId(7)), 2, false));
    }
}
