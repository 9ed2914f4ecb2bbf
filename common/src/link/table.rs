//! The neighbour table: fixed slots, so that sets of slots stay true while neighbours come and go.
//!
//! Most frames are hellos that change nothing, and after each of them the links ask who is linked and what is due next. The
//! table keeps both answers, so that it need not go through all neighbours each time.

use super::neighbour::{Due, Neighbour};
use super::pool::{Slot, Slots};
use crate::config::Config;
use crate::limits::{LINKS_ENOUGH, TABLE_MAX};
use crate::time::Instant;
use crate::types::NodeId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    slots: [Option<Neighbour>; TABLE_MAX],
    /// Whose link is up.
    linked: Slots,
    /// A link has come up or gone down since this was last cleared, and the layer above may not know yet.
    pub has_turned: bool,
    /// What is due next, of all neighbours; none where it has to be worked out again.
    due: Option<Due>,
    /// Those beside this node on the configured ring; 0 where there is none.
    beside: [NodeId; 2],
    /// This node has lost its last link or its last way to the leader, and its election has not been told yet.
    pub seeks: bool,
}

/// What the hello of a node without a slot tells.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "what a hello tells; each is independent of the others")]
pub struct Newcomer {
    /// It follows another leader.
    pub dissents: bool,
    /// It is strong enough for a link.
    pub is_strong: bool,
    /// It has a slot for this node.
    pub names_me: bool,
    /// It stands beside this node on the ring.
    pub is_beside: bool,
}

/// Those beside a node on its ring; nobody in a mesh.
pub fn those_beside(config: &Config) -> [NodeId; 2] {
    let order = config.ring.as_ref().filter(|_| config.algorithm.needs_ring());
    let right = order.and_then(|ring| ring.after(config.id).next());
    let left = order.and_then(|ring| ring.after(config.id).last());
    [left, right].map(|id| id.unwrap_or(NodeId(0)))
}

impl Table {
    /// A node on a ring wants links to those beside it before others. Where two that stand beside each other hear each other, an
    /// election crosses from one to the other in one hop and needs no route. In a crowd, where a node has links to few of those
    /// that it hears, they would hardly ever choose each other by chance.
    pub const fn new(beside: [NodeId; 2]) -> Self {
        Self {
            slots: [const { None }; TABLE_MAX],
            linked: Slots(0),
            has_turned: false,
            due: None,
            beside,
            seeks: false,
        }
    }

    pub fn is_preferred(&self, id: NodeId) -> bool {
        self.beside.contains(&id)
    }

    #[cfg_attr(target_os = "none", inline(never))]
    pub fn get(&self, slot: Slot) -> Option<&Neighbour> {
        self.slots.get(slot.0)?.as_ref()
    }

    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut Neighbour> {
        self.due = None;
        self.touch(slot)
    }

    /// As [`get_mut`](Self::get_mut), but keeps what is due next. A caller that changes what is due of the neighbour reports
    /// it with [`moved`](Self::moved).
    #[cfg_attr(target_os = "none", inline(never))]
    pub fn touch(&mut self, slot: Slot) -> Option<&mut Neighbour> {
        self.slots.get_mut(slot.0)?.as_mut()
    }

    /// What was due of one neighbour at `before` is now due at `after`.
    pub fn moved(&mut self, before: Due, after: Due) {
        // If this neighbour may have been the next of all, the next has to be worked out again.
        self.due = self.due.filter(|next| before.is_after(*next) || before == after).map(|next| next.min(after));
    }

    /// What is due next, by what each neighbour says.
    pub fn due(&self, of: impl Fn(&Neighbour) -> Due) -> Due {
        self.due.unwrap_or_else(|| self.iter().map(|(_, neighbour)| of(neighbour)).fold(Due::NEVER, Due::min))
    }

    /// As [`due`](Self::due), and keeps it until a neighbour changes.
    pub fn keep_due(&mut self, of: impl Fn(&Neighbour) -> Due) -> Due {
        let due = self.due(of);
        self.due = Some(due);
        due
    }

    /// What is due next has to be worked out again.
    pub fn forget_due(&mut self) {
        self.due = None;
    }

    /// Notes that the link of the neighbour at a slot has come up or gone down.
    pub fn note_link(&mut self, slot: Slot) {
        let is_up = self.get(slot).is_some_and(|neighbour| neighbour.session.is_up());
        self.has_turned = true;
        self.linked = self.linked.without(Slots::of(slot));
        if is_up {
            self.linked = self.linked.with(Slots::of(slot));
        }
    }

    /// Protects these neighbours' links from being given up to make room for others.
    pub fn pin(&mut self, is_pinned: impl Fn(NodeId) -> bool) {
        for neighbour in self.slots.iter_mut().flatten() {
            neighbour.is_pinned = is_pinned(neighbour.id) || self.beside.contains(&neighbour.id);
        }
    }

    pub fn find(&self, id: NodeId) -> Option<Slot> {
        self.iter().find(|(_, neighbour)| neighbour.id == id).map(|(slot, _)| slot)
    }

    /// All neighbours with their slots.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &Neighbour)> {
        self.slots.iter().enumerate().filter_map(|(slot, kept)| Some((Slot(slot), kept.as_ref()?)))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Slot, &mut Neighbour)> {
        self.due = None;
        self.slots.iter_mut().enumerate().filter_map(|(slot, kept)| Some((Slot(slot), kept.as_mut()?)))
    }

    /// Those whose link is up.
    pub fn linked(&self) -> impl Iterator<Item = (Slot, &Neighbour)> {
        self.linked.iter().filter_map(|slot| Some((slot, self.get(slot)?)))
    }

    pub fn links(&self) -> usize {
        self.linked.len()
    }

    /// Whether a neighbour's link is up.
    pub fn is_linked(&self, id: NodeId) -> bool {
        self.linked().any(|(_, neighbour)| neighbour.id == id)
    }

    /// The slots of those whose link is up.
    pub fn linked_slots(&self) -> Slots {
        self.linked
    }

    /// A slot without a neighbour.
    pub fn free(&self) -> Option<Slot> {
        self.slots.iter().position(Option::is_none).map(Slot)
    }

    /// Gives a slot to a neighbour.
    pub fn put(&mut self, slot: Slot, neighbour: Neighbour) {
        if let Some(kept) = self.slots.get_mut(slot.0) {
            *kept = Some(neighbour);
            self.due = None;
            self.note_link(slot);
        }
    }

    pub fn clear(&mut self, slot: Slot) {
        if let Some(kept) = self.slots.get_mut(slot.0) {
            *kept = None;
            self.due = None;
            self.note_link(slot);
        }
    }

    /// Whether this node wants a link: it hears the neighbour well, the link is not held down, and there is room, or the
    /// neighbour must be let in because its network has another leader.
    pub fn is_wanted(&self, now: Instant, slot: Slot, links_max: usize) -> bool {
        let Some(neighbour) = self.get(slot) else { return false };
        if neighbour.session.is_up() {
            return true;
        }
        // A link that this node or its neighbour has lost, and without which it may have no way to the leader.
        let insists = neighbour.insists && neighbour.breaks > 0;
        let is_sought = self.seeks || insists;
        let must_enter = neighbour.is_pinned || neighbour.is_alone || neighbour.dissents() || insists;
        let links = self.links();
        let has_room = links < LINKS_ENOUGH || (must_enter && links < links_max);
        // Any link is better than none, and the first of a node decides how soon it is one of the network.
        let is_first = links == 0 || neighbour.is_alone;
        let is_heard = neighbour.quality.is_good()
            || ((self.is_preferred(neighbour.id) || neighbour.dissents() || is_sought) && neighbour.quality.is_fair())
            || (is_first && neighbour.quality.is_strong() && neighbour.quality.eighths() > 0);
        // Where there may be no other way, a link that broke is held down only until the neighbour is heard steadily again: what
        // broke it is over, however often it did. Where there is none any more, two hellos of four are enough: the election is told
        // soon, and islands unseat everybody's leader.
        let is_needed = is_first || neighbour.dissents();
        let is_over = is_needed && neighbour.quality.is_steady() || is_sought && neighbour.quality.is_fair();
        let is_held = neighbour.held_until > now && (neighbour.is_twin || !is_over);
        is_heard && !is_held && (has_room || (must_enter && self.redundant().is_some()))
    }

    /// The slot that a newcomer may have in a full table. Its neighbour has no link, is not pinned, and the layer above knows
    /// that it is down. It was also silent for two of its intervals, or is too faint for a link while the newcomer is not, or
    /// follows the same leader while the newcomer does not, or does not name this node while the newcomer does: a link needs
    /// a slot at both ends, and in a crowd two nodes hardly ever choose each other by chance. Those with a single link are the
    /// islands that unseat a leader when it breaks.
    pub fn weakest(&self, now: Instant, newcomer: Newcomer) -> Option<Slot> {
        let is_idle = |neighbour: &Neighbour| {
            let is_silent = now.since(neighbour.heard_at) > neighbour.interval().times(2);
            let is_faint = newcomer.is_strong && !neighbour.quality.is_strong();
            let is_one_sided = newcomer.names_me && neighbour.unlisted > 0;
            let agrees = neighbour.dissent == 0;
            is_silent || is_faint || is_one_sided || newcomer.is_beside || (newcomer.dissents && agrees)
        };
        let mut idle = self.iter().filter(|(_, neighbour)| {
            !neighbour.session.is_up() && neighbour.news.down.is_none() && !neighbour.is_pinned && is_idle(neighbour)
        });
        let first = idle.next()?;
        let weakest =
            idle.fold(first, |weakest, other| if other.1.heard_at < weakest.1.heard_at { other } else { weakest });
        Some(weakest.0)
    }

    /// The link that can best be spared: not pinned, and to a neighbour that shares at least two others with this node.
    pub fn redundant(&self) -> Option<Slot> {
        let spare = self.linked().filter(|(_, neighbour)| !neighbour.is_pinned && neighbour.shared >= 2);
        spare.max_by_key(|(_, neighbour)| neighbour.shared).map(|(slot, _)| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::{Due, Neighbour, Newcomer, Slot, Table, those_beside};
    use crate::config::{Config, Protection};
    use crate::limits::TABLE_MAX;
    use crate::link::frame::FrameNumber;
    use crate::link::patience::{Patience, Watch};
    use crate::link::quality::Quality;
    use crate::link::session::{Incarnation, Session};
    use crate::members::RingOrder;
    use crate::names::Algorithm;
    use crate::rng::Rng;
    use crate::time::{Duration, Instant};
    use crate::types::NodeId;

    fn due(neighbour: &Neighbour) -> Due {
        let patience =
            Patience { attempts: 10, suspect_eighths: 14, hold_down_ms: 2_000, slack_ms: 0, watch: Watch::NOBODY };
        neighbour.due(patience)
    }

    fn neighbour(rng: &mut Rng, is_up: bool) -> Neighbour {
        let (mine, theirs) = (Incarnation { epoch: 1, token: 1 }, Incarnation { epoch: 2, token: 2 });
        let mut session = Session::new(mine);
        session.receive_hello(theirs, mine.echo(), is_up, true, || 3);
        session.receive_answer(is_up, is_up);
        let heard_at = Instant::from_millis(u64::from(rng.below(4_000)));
        Neighbour::new(NodeId(7), session, Quality::new(0, -50), FrameNumber { epoch: 2, counter: 1 }, heard_at)
    }

    #[test]
    fn what_is_kept_is_what_looking_at_everybody_finds() {
        let mut rng = Rng::new(5);
        let mut table = Table::new([NodeId(0); 2]);
        for step in 0..50_000 {
            let slot = Slot(usize::try_from(rng.below(20)).unwrap_or(0) % TABLE_MAX);
            let time = Instant::from_millis(u64::from(rng.below(6_000)));
            match rng.below(8) {
                0 => {
                    let is_up = rng.below(2) == 0;
                    table.put(slot, neighbour(&mut rng, is_up));
                }
                1 => table.clear(slot),
                2 => table.get_mut(slot).into_iter().for_each(|neighbour| neighbour.ack_due = time),
                3 => {
                    table.get_mut(slot).into_iter().for_each(|neighbour| neighbour.session.down(4));
                    table.note_link(slot);
                }
                _ => {
                    let Some(neighbour) = table.touch(slot) else { continue };
                    let before = due(neighbour);
                    neighbour.heard_at = time;
                    neighbour.interval_log2 = if rng.below(4) == 0 { 9 } else { 10 };
                    let after = due(neighbour);
                    table.moved(before, after);
                }
            }
            let found = table.iter().map(|(_, neighbour)| due(neighbour)).fold(Due::NEVER, Due::min);
            assert_eq!(table.due(due), found, "after {step} steps");
            let up = table.iter().filter(|(_, neighbour)| neighbour.session.is_up());
            assert!(table.linked().map(|(slot, _)| slot).eq(up.map(|(slot, _)| slot)), "after {step} steps");
            table.keep_due(due);
        }
    }

    #[test]
    fn a_link_that_broke_is_let_in_at_once_where_either_end_seeks_a_way() {
        let now = Instant::from_millis(10_000);
        let mut rng = Rng::new(1);
        let mut table = Table::new([NodeId(0); 2]);
        // As many links as are enough.
        for slot in 1..=crate::limits::LINKS_ENOUGH {
            table.put(Slot(slot), Neighbour { is_pinned: true, ..neighbour(&mut rng, true) });
        }
        let mut lost = Neighbour { is_alone: false, ..neighbour(&mut rng, false) };
        lost.hold(now, Duration::from_millis(2_000));
        lost.quality.lose();
        for number in [1, 3] {
            lost.quality.note_hello(number, -50);
        }
        let is_wanted = |lost: &Neighbour, seeks: bool, links: usize| {
            let mut table = table.clone();
            (links..crate::limits::LINKS_ENOUGH).for_each(|slot| table.clear(Slot(slot + 1)));
            table.seeks = seeks;
            table.put(Slot(0), lost.clone());
            table.is_wanted(now, Slot(0), crate::limits::NEIGHBOURS_MAX)
        };
        let enough = crate::limits::LINKS_ENOUGH;
        assert!(!is_wanted(&lost, false, 1), "it is held down");
        assert!(is_wanted(&lost, true, 1), "but not where this node seeks a way");
        assert!(!is_wanted(&lost, true, enough), "which it does not find beyond those that are enough");
        let insisting = Neighbour { insists: true, ..lost.clone() };
        assert!(
            is_wanted(&insisting, false, 1) && is_wanted(&insisting, false, enough),
            "nor where the neighbour does"
        );
        assert!(!is_wanted(&Neighbour { is_twin: true, ..insisting.clone() }, false, 1), "a twin is shunned");
        let stranger = Neighbour { breaks: 0, held_until: Instant::ZERO, ..insisting };
        assert!(!is_wanted(&stranger, false, enough), "a stranger that wants a link has lost none");
    }

    #[test]
    fn the_faint_give_their_slot_to_who_can_have_a_link() {
        let mut table = Table::new([NodeId(0); 2]);
        let now = Instant::from_millis(100);
        for id in 1..=u16::try_from(TABLE_MAX).unwrap_or(0) {
            let session = Session::new(Incarnation { epoch: 1, token: 1 });
            let strength = if id == 7 { -91 } else { -60 };
            let mut other = Neighbour::new(
                NodeId(id),
                session,
                Quality::new(0, strength),
                FrameNumber { epoch: 1, counter: 1 },
                now,
            );
            other.dissent = 9;
            table.put(Slot(usize::from(id - 1)), other);
        }
        assert_eq!(table.free(), None);
        let newcomer = Newcomer { dissents: true, is_strong: false, names_me: false, is_beside: false };
        assert_eq!(table.weakest(now, newcomer), None, "a faint newcomer");
        assert_eq!(table.weakest(now, Newcomer { is_strong: true, ..newcomer }), Some(Slot(6)));
        let needed = Newcomer { is_strong: true, dissents: false, names_me: true, ..newcomer };
        assert_eq!(table.weakest(now, needed), Some(Slot(6)), "all others name this node");
        table.touch(Slot(6)).into_iter().for_each(|faint| faint.quality = Quality::new(0, -60));
        assert_eq!(table.weakest(now, needed), None);
        table.touch(Slot(9)).into_iter().for_each(|other| other.unlisted = 1);
        assert_eq!(
            table.weakest(now, needed),
            Some(Slot(9)),
            "one that does not name this node makes way for one that does"
        );
        assert_eq!(table.weakest(now, Newcomer { names_me: false, ..needed }), None);
        let beside = Newcomer { is_beside: true, dissents: false, ..newcomer };
        assert!(table.weakest(now, beside).is_some(), "one that stands beside this node on the ring finds a slot");
        table.pin(|_| true);
        assert_eq!(table.weakest(now, beside), None, "but not that of another");
    }

    #[test]
    fn a_node_prefers_those_beside_it_on_the_configured_ring() {
        let ring = RingOrder::new(&[4, 9, 2, 7, 5].map(NodeId)).unwrap();
        let mut config = Config::on_ring(NodeId(9), 1, Protection::Open, Algorithm::Hs, ring);
        let preferred = |config: &Config| {
            let table = Table::new(those_beside(config));
            (1..10).filter(|&id| table.is_preferred(NodeId(id))).collect::<std::vec::Vec<_>>()
        };
        assert_eq!(preferred(&config), [2, 4]);
        config.algorithm = Algorithm::Hierarchy;
        assert_eq!(preferred(&config), [], "only where the ring matters");
    }
}
