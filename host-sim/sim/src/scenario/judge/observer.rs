//! Watches a scenario run: safety, leaders, who notices what, the fingerprint, and the files that are written.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};

use common::link::frame::{Header, Kind};
use common::types::NodeId;

use crate::air::airtime_us;
use crate::air::flash::FlashEvent;
use crate::air::index::{NodeIndex, RadioIndex};
use crate::air::medium::Reception;
use crate::air::pcapng::Capture;
use crate::air::propagation::Point;
use crate::air::trace::{Event, NodeNumber, Trace};
use crate::air::world::Watcher;
use crate::fnv;
use crate::scenario::input::units::seconds;
use crate::scenario::judge::checker::{Safety, View};
use crate::scenario::judge::collection::CollectionCheck;
use crate::scenario::judge::orders::OrdersWatch;
use crate::scenario::judge::scenery::{self, Obstacle, Scenery};
use crate::scenario::report::outcome::Follow;
use crate::scenario::run::drive::id_of;
use crate::scenario::run::program::Program;

/// How many of the last events a failure reports.
const EVENTS_KEPT: usize = 24;

/// Where a run is written down, if anywhere.
#[derive(Default)]
pub struct Recorders {
    /// What happens to the network and to frames, a line of JSON each.
    pub trace: Option<Box<dyn Write>>,
    /// Every frame, for Wireshark.
    pub pcap: Option<Box<dyn Write>>,
    /// Whether the trace also says where nodes are, whom they are linked to, which way leads to the leader, and what it cost.
    pub detail: bool,
}

/// Something that must never happen.
#[derive(Clone, Debug)]
pub struct Violation {
    pub at_us: u64,
    pub node: NodeIndex,
    pub what: String,
}

/// The DATA frames that a node has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSent {
    pub frames: u64,
    pub airtime_us: u64,
}

pub struct Observer {
    safety: Safety,
    pub orders: OrdersWatch,
    /// What each node last looked like, and whom it followed.
    seen: Vec<Option<(View, Option<NodeId>)>>,
    /// Whether a leader has changed since this was last cleared.
    pub leaders_changed: bool,
    /// The first of the run.
    pub violation: Option<Violation>,
    /// Who followed whom from when on.
    pub follows: Vec<Follow>,
    /// The links that the last change concerns: for each end, the other one and whether the link was up there.
    concerned: BTreeMap<NodeIndex, Vec<(NodeId, bool)>>,
    /// When one of those ends first took its link up or down.
    pub noticed_us: Option<u64>,
    /// When a node first let go of the leader it had followed, since the last change.
    pub called_us: Option<u64>,
    /// When a node last changed its leader.
    pub leader_us: u64,
    /// How often a node has let go of a leader, other than by losing its power.
    pub leader_changes: u64,
    /// How many frames nodes have sent.
    pub frames: u64,
    /// What becomes of readings, where any are collected.
    pub collection: Option<CollectionCheck>,
    /// DATA frames of each node, and how long they took.
    pub data_sent: Vec<DataSent>,
    nodes: usize,
    trace: Option<Trace<Box<dyn Write>>>,
    scenery: Option<Scenery>,
    pcap: Option<Capture<Box<dyn Write>>>,
    events: VecDeque<String>,
    digest: u64,
}

impl Observer {
    /// Watches this many nodes; radios with higher numbers are outsiders.
    pub fn new(nodes: usize, radii: Vec<u8>, recorders: Recorders) -> Self {
        Self {
            safety: Safety::new(radii),
            orders: OrdersWatch::default(),
            seen: Vec::new(),
            leaders_changed: true,
            violation: None,
            follows: Vec::new(),
            concerned: BTreeMap::new(),
            noticed_us: None,
            called_us: None,
            leader_us: 0,
            leader_changes: 0,
            frames: 0,
            collection: None,
            data_sent: vec![DataSent::default(); nodes],
            nodes,
            scenery: (recorders.detail && recorders.trace.is_some()).then(Scenery::default),
            trace: recorders.trace.map(Trace::new),
            pcap: recorders.pcap.map(Capture::new),
            events: VecDeque::new(),
            digest: fnv::EMPTY,
        }
    }

    /// What this node claims to be cannot be seen.
    pub fn set_opaque(&mut self, id: NodeId) {
        self.safety.set_opaque(id);
        if let Some(check) = &mut self.collection {
            check.set_opaque(id);
        }
    }

    /// Something happened that must never happen.
    pub fn object(&mut self, world_us: u64, node: NodeIndex, what: String) {
        self.violation.get_or_insert(Violation { at_us: world_us, node, what });
    }

    /// Notes something that happened to the network.
    pub fn note(&mut self, world_us: u64, what: &str) {
        if let Some(trace) = &mut self.trace {
            trace.note(world_us, None, what);
        }
        self.keep(world_us, what);
    }

    fn keep(&mut self, world_us: u64, what: &str) {
        if self.events.len() == EVENTS_KEPT {
            self.events.pop_front();
        }
        self.events.push_back(format!("{:.3} s: {what}", seconds(world_us)));
    }

    /// From now on these links are what a change concerns.
    pub fn watch(&mut self, concerned: BTreeMap<NodeIndex, Vec<(NodeId, bool)>>) {
        self.concerned = concerned;
        self.noticed_us = None;
        self.called_us = None;
    }

    /// A node's power comes or goes. To be called before the world applies it.
    pub fn power(&mut self, world_us: u64, node: NodeIndex, on: bool) {
        if let Some(trace) = &mut self.trace {
            trace.id(world_us, number(node.radio()), id_of(node));
            trace.power(world_us, number(node.radio()), on);
        }
        if !on {
            if let (Some(scenery), Some(trace)) = (&mut self.scenery, &mut self.trace) {
                scenery.forget(world_us, node, trace);
            }
            self.forget(node);
            self.follow(world_us, node, None);
        }
    }

    /// A node is here from now on.
    pub fn place(&mut self, world_us: u64, node: NodeIndex, position: Point) {
        if let (Some(_), Some(trace)) = (&self.scenery, &mut self.trace) {
            trace.write(world_us, Some(number(node.radio())), scenery::place(position));
        }
    }

    /// What a node has used until now.
    pub fn energy(&mut self, world_us: u64, node: NodeIndex, charge_uah: f64, airtime_us: u64) {
        if let (Some(_), Some(trace)) = (&self.scenery, &mut self.trace) {
            trace.write(world_us, Some(number(node.radio())), scenery::energy(charge_uah, airtime_us));
        }
    }

    /// An obstacle to signals appears or disappears.
    pub fn obstacle(&mut self, world_us: u64, obstacle: &Obstacle, on: bool) {
        if let (Some(_), Some(trace)) = (&self.scenery, &mut self.trace) {
            trace.write(world_us, None, obstacle.event(on));
        }
    }

    /// Whether the trace is to have details.
    pub fn has_details(&self) -> bool {
        self.scenery.is_some()
    }

    /// Flushes what was recorded so far.
    pub fn flush(&mut self) {
        if let Some(trace) = &mut self.trace {
            trace.flush();
        }
    }

    /// A memory has gone wrong.
    pub fn note_corruption(&mut self) {
        self.safety.note_corruption();
    }

    /// A member has said something that is not so.
    pub fn note_lie(&mut self) {
        self.safety.note_corruption();
        self.orders.note_lie();
    }

    pub fn reborn(&mut self, node: NodeIndex, id: NodeId) {
        self.safety.reborn(id);
        self.orders.forget(node);
        self.forget(node);
    }

    fn forget(&mut self, node: NodeIndex) {
        if let Some(seen) = self.seen.get_mut(node.0) {
            *seen = None;
        }
    }

    pub fn last_events(&self) -> Vec<String> {
        self.events.iter().cloned().collect()
    }

    /// The fingerprint of all frames so far.
    pub fn digest(&self) -> String {
        format!("{:016x}", self.digest)
    }

    /// Ends the files; the first error that writing them met.
    pub fn finish(&mut self) -> io::Result<()> {
        if let Some(trace) = self.trace.take() {
            trace.finish()?;
        }
        if let Some(pcap) = self.pcap.take() {
            pcap.finish()?;
        }
        Ok(())
    }

    fn note_flash(&mut self, world_us: u64, node: NodeIndex, program: &Program) {
        let Some(flash) = program.flash().filter(|_| self.collection.is_some()) else { return };
        let events = flash.borrow_mut().take_events();
        for event in events {
            self.note_flash_event(world_us, node, event);
        }
    }

    /// Something has happened in the flash of a node or a board.
    pub fn note_flash_event(&mut self, world_us: u64, node: NodeIndex, event: FlashEvent) {
        let Some(check) = &mut self.collection else { return };
        if let Err(what) = check.note(world_us, node, id_of(node), event) {
            self.object(world_us, node, what);
        }
    }

    fn follow(&mut self, world_us: u64, node: NodeIndex, leader: Option<NodeId>) {
        let leader = leader.map(|leader| leader.0);
        self.follows.push(Follow { at_ms: world_us / 1_000, node: id_of(node).0, leader });
    }

    fn mix(&mut self, bytes: &[u8]) {
        self.digest = fnv::extend(self.digest, bytes.iter().copied());
    }
}

/// Whether a frame carries readings or commits.
fn is_data(psdu: &[u8]) -> bool {
    Header::read(psdu).is_ok_and(|header| header.kind == Kind::Data)
}

/// The number of a radio in the files: of a node its id; those of attackers follow.
pub(super) const fn number(radio: RadioIndex) -> NodeNumber {
    NodeNumber(radio.0 + 1)
}

impl Watcher<Program> for Observer {
    fn frame(&mut self, world_us: u64, from: RadioIndex, psdu: &[u8]) {
        self.frames += u64::from(from.0 < self.nodes);
        if let Some(sent) = self.data_sent.get_mut(from.0).filter(|_| is_data(psdu)) {
            sent.frames += 1;
            sent.airtime_us += airtime_us(psdu.len());
        }
        self.mix(&world_us.to_le_bytes());
        self.mix(&(from.0 as u64).to_le_bytes());
        self.mix(psdu);
        if let Some(trace) = &mut self.trace {
            trace.note_frame(world_us, number(from), psdu);
        }
        if let Some(pcap) = &mut self.pcap {
            pcap.record(world_us, number(from), psdu);
        }
    }

    fn reception(&mut self, world_us: u64, from: RadioIndex, reception: Reception) {
        if let Some(trace) = &mut self.trace {
            trace.note_reception(world_us, number(from), number(reception.to), reception);
        }
    }

    fn corrupted(&mut self, world_us: u64, node: NodeIndex, psdu: &[u8]) {
        if let Some(trace) = &mut self.trace {
            trace.note_corrupted(world_us, number(node.radio()), psdu);
        }
    }

    fn busy(&mut self, world_us: u64, node: NodeIndex) {
        if let (Some(_), Some(trace)) = (&self.scenery, &mut self.trace) {
            trace.write(world_us, Some(number(node.radio())), Event::Busy {});
        }
    }

    fn station(&mut self, world_us: u64, node: NodeIndex, program: &Program) {
        self.note_flash(world_us, node, program);
        if let Some(trace) = &mut self.trace {
            trace.note_leader(world_us, number(node.radio()), program.leader());
            if let Some(scenery) = &mut self.scenery {
                scenery.look(world_us, node, program, trace);
            }
        }
        if let Some(links) = self.concerned.get(&node)
            && links.iter().any(|&(peer, was_up)| program.is_linked(peer) != was_up)
        {
            self.noticed_us = Some(world_us);
            self.concerned.clear();
        }
        if let Err(what) = self.orders.look(node, program) {
            self.object(world_us, node, what);
        }
        let now = (program.view(), program.leader());
        if self.seen.len() <= node.0 {
            self.seen.resize(node.0 + 1, None);
        }
        let seen = &mut self.seen[node.0];
        // Saves work: most of what a station receives changes nothing here.
        if *seen == Some(now) {
            return;
        }
        let before = seen.replace(now);
        if before.is_none_or(|before| before.1 != now.1) {
            self.leaders_changed = true;
            self.leader_us = world_us;
            if before.is_some_and(|before| before.1.is_some()) {
                self.called_us.get_or_insert(world_us);
                self.leader_changes += 1;
            }
            self.follow(world_us, node, now.1);
            let id = now.0.id;
            match now.1 {
                Some(leader) => self.keep(world_us, &format!("node {id} follows {leader}")),
                None => self.keep(world_us, &format!("node {id} follows nobody")),
            }
        }
        if let Err(what) = self.safety.check(&now.0) {
            self.object(world_us, node, what);
        }
    }
}
