//! Nodes whose radio somebody else drives: a port to the air, as plain data.
//!
//! The world drives the radios of its stations, with back-offs and turn-rounds. It does not drive a port: whoever is behind
//! it, such as an emulated board, says what its radio does at each moment and is told what the air does to it. Both share one
//! medium, so they hear each other, collide with each other and wait for each other.

use std::collections::BTreeMap;

use super::{Event, RawFrame, World};
use crate::air::SYNC_US;
use crate::air::index::{NodeIndex, RadioIndex};
use crate::air::medium::{Found, Medium, OnAir, Reception, Tuning};
use crate::air::station::{Station, Watcher};

/// What the radio behind a port does.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// Its receiver is on and waits for a frame on this channel.
    Listening(u8),
    /// Its receiver is off; a frame that it was receiving is lost.
    Deaf,
    /// The first bit of a frame leaves its antenna.
    Transmit {
        frame: RawFrame,
        tuning: Tuning,
        /// When its last bit will have left.
        ends_us: u64,
    },
    TransmitAborted,
    /// It assesses this channel from now on.
    Assess {
        channel: u8,
        until_us: u64,
    },
    AssessAborted,
    /// It asks for the power on this channel at this moment.
    Measure(u8),
}

/// What the air does to the radio behind a port.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// Preamble and delimiter of a frame that it has locked on to are over.
    Found { rssi_dbm: f64 },
    Ended {
        frame: RawFrame,
        /// Whether every bit arrived as it was sent.
        intact: bool,
        rssi_dbm: f64,
    },
    /// The result of its assessment.
    Assessed {
        /// Mean power, noise included.
        dbm: f64,
        /// Whether there was a frame that it could have decoded.
        carrier: bool,
    },
    Measured {
        /// Power, noise included.
        dbm: f64,
    },
}

#[derive(Clone, Debug, Default)]
struct Port {
    sending: Option<(OnAir, RawFrame)>,
    /// It was told of the frame that it has locked on to.
    found: bool,
}

/// All ports, and what they have not been told yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Ports {
    open: BTreeMap<NodeIndex, Port>,
    /// In order.
    heard: Vec<(NodeIndex, Heard)>,
}

impl Ports {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether somebody else drives this node's radio. Most worlds have no ports at all, and every reception asks.
    #[inline]
    pub fn has(&self, node: NodeIndex) -> bool {
        !self.open.is_empty() && self.open.contains_key(&node)
    }

    fn tell(&mut self, node: NodeIndex, heard: Heard) {
        self.heard.push((node, heard));
    }

    /// Tells every port that locked on to a frame whose preamble ends now.
    pub fn tell_found(&mut self, now_us: u64, medium: &Medium) {
        for (&node, port) in &mut self.open {
            if !port.found
                && let Some(rssi_dbm) = medium.found_dbm(now_us, node.radio())
            {
                port.found = true;
                self.heard.push((node, Heard::Found { rssi_dbm }));
            }
        }
    }

    /// The port has lost the frame that it had locked on to, or is through with it. Whether it was told of one.
    fn forget_found(&mut self, node: NodeIndex) -> bool {
        self.open.get_mut(&node).is_some_and(|port| std::mem::take(&mut port.found))
    }

    fn begin_sending(&mut self, node: NodeIndex, on: OnAir, frame: RawFrame) {
        if let Some(port) = self.open.get_mut(&node) {
            port.sending = Some((on, frame));
        }
    }

    fn end_sending(&mut self, node: NodeIndex) -> Option<(OnAir, RawFrame)> {
        self.open.get_mut(&node)?.sending.take()
    }
}

impl<S: Station> World<S> {
    /// Leaves this node's radio to somebody else. To be called before the node is switched on.
    pub fn open_port(&mut self, node: NodeIndex) {
        self.ports.open.insert(node, Port::default());
    }

    /// When the world next has anything to do, or to tell a port.
    pub fn next_event_us(&self) -> Option<u64> {
        if self.ports.heard.is_empty() { self.agenda.next_us() } else { Some(self.now_us) }
    }

    /// What the ports have to be told, in order.
    pub fn take_heard(&mut self, tell: &mut impl FnMut(NodeIndex, Heard)) {
        for (node, heard) in self.ports.heard.drain(..) {
            tell(node, heard);
        }
    }

    /// The radio behind a port does something, now or later than everything that has happened.
    pub fn port_says(&mut self, at_us: u64, node: NodeIndex, said: Said, watcher: &mut impl Watcher<S>) {
        if !self.ports.has(node) {
            return;
        }
        self.now_us = self.now_us.max(at_us);
        match said {
            Said::Listening(channel) => {
                self.tune_port(node, channel, None);
                self.listen(node, true);
            }
            Said::Deaf => {
                self.listen(node, false);
                self.ports.forget_found(node);
            }
            Said::Transmit { frame, tuning, ends_us } => self.port_sends(node, frame, tuning, ends_us, watcher),
            Said::TransmitAborted => self.cut_port(node, watcher),
            Said::Assess { channel, until_us } => {
                self.tune_port(node, channel, None);
                self.medium.begin_cca(self.now_us, node.radio());
                self.schedule(until_us.max(self.now_us), node, Event::PortAssessed);
            }
            Said::AssessAborted => {
                self.medium.abort_cca(node.radio());
                self.radios[node].round += 1;
            }
            Said::Measure(channel) => {
                self.tune_port(node, channel, None);
                let dbm = self.medium.power_at(node.radio()).dbm();
                self.ports.tell(node, Heard::Measured { dbm });
            }
        }
    }

    /// Begins a frame on the medium. Ports have to be told when its preamble is over.
    pub(super) fn begin_frame(&mut self, from: RadioIndex) -> OnAir {
        let on = self.medium.begin_frame(self.now_us, from);
        if !self.ports.is_empty() {
            self.push(self.now_us + SYNC_US, RadioIndex(0), 0, 0, Event::Found);
        }
        on
    }

    /// A frame ends at a port that had locked on to it.
    pub(super) fn port_receives(
        &mut self,
        node: NodeIndex,
        Reception { rssi_dbm, intact, .. }: Reception,
        frame: &RawFrame,
        watcher: &mut impl Watcher<S>,
    ) {
        // No receiver has seen anything of a frame that broke off in its preamble.
        if !self.ports.forget_found(node) {
            return;
        }
        self.count(node, intact, frame);
        let mut frame = frame.clone();
        if intact
            && frame.has_good_length()
            && let Some(corrupted) = self.perhaps_corrupt(node, &frame.psdu, watcher)
        {
            frame.psdu = corrupted;
        }
        self.ports.tell(node, Heard::Ended { frame, intact, rssi_dbm });
    }

    pub(super) fn port_sent(&mut self, node: NodeIndex, watcher: &mut impl Watcher<S>) {
        if let Some((on, frame)) = self.ports.end_sending(node) {
            self.deliver(node.radio(), on, &frame, true, watcher);
        }
    }

    pub(super) fn port_assessed(&mut self, node: NodeIndex) {
        if let Some(Found { mean, carrier }) = self.medium.take_cca(self.now_us, node.radio()) {
            self.ports.tell(node, Heard::Assessed { dbm: mean.dbm(), carrier });
        }
    }

    /// Breaks off the frame that a port sends: it fails its checksum wherever it was being received.
    pub(super) fn cut_port(&mut self, node: NodeIndex, watcher: &mut impl Watcher<S>) {
        self.ports.forget_found(node);
        if let Some((on, frame)) = self.ports.end_sending(node) {
            self.radios[node].round += 1;
            self.deliver(node.radio(), on, &frame, false, watcher);
        }
    }

    fn port_sends(
        &mut self,
        node: NodeIndex,
        frame: RawFrame,
        tuning: Tuning,
        ends_us: u64,
        watcher: &mut impl Watcher<S>,
    ) {
        self.tune_port(node, tuning.channel, Some(tuning.tx_dbm));
        watcher.frame(self.now_us, node.radio(), &frame.psdu);
        let on = self.begin_frame(node.radio());
        let usage = self.radios.usage_mut(node);
        usage.sent += 1;
        usage.tx_us += self.timing.tx_ramp_us + ends_us.saturating_sub(self.now_us);
        self.ports.begin_sending(node, on, frame);
        self.schedule(ends_us.max(self.now_us + 1), node, Event::PortSent);
    }

    /// Retunes only where something differs, since every reach is computed again afterwards.
    fn tune_port(&mut self, node: NodeIndex, channel: u8, tx_dbm: Option<f64>) {
        let before = self.medium.tuning(node.radio());
        let tuning = Tuning { channel, tx_dbm: tx_dbm.unwrap_or(before.tx_dbm) };
        if tuning != before {
            self.medium.retune(node.radio(), tuning);
        }
    }
}

#[cfg(test)]
mod tests {
    use common::types::NodeId;

    use super::{Heard, SYNC_US, Said};
    use crate::air::airtime_us;
    use crate::air::index::NodeIndex;
    use crate::air::medium::{Medium, Tuning};
    use crate::air::propagation::{Point, Propagation};
    use crate::air::timing::RadioTiming;
    use crate::air::world::{Nobody, RawFrame, World};
    use crate::scenario::run::mirror::Mirror;

    const TUNING: Tuning = Tuning { channel: 15, tx_dbm: 0.0 };
    const AIRTIME_US: u64 = airtime_us(10);

    /// Two ports ten metres apart; the second one listens.
    fn pair() -> World<Mirror> {
        let mut world = World::new(Medium::new(Propagation::plain(1), None, 1), RadioTiming::FIRMWARE, 1);
        for number in 0..2_u16 {
            let mirror = Mirror::new(NodeId(number + 1));
            let node = world.add(Point::new(10.0 * f64::from(number), 0.0), TUNING, 0, mirror);
            world.open_port(node);
            world.power_on(node, &mut Nobody);
        }
        world.port_says(0, NodeIndex(1), Said::Listening(15), &mut Nobody);
        world
    }

    fn transmit(begins_us: u64) -> Said {
        let frame = RawFrame { length: 10, psdu: (0..10).collect() };
        Said::Transmit { frame, tuning: TUNING, ends_us: begins_us + AIRTIME_US }
    }

    /// Something that a port hears.
    #[derive(Debug, PartialEq)]
    struct Told {
        /// The time of the event that told it.
        at_us: u64,
        node: NodeIndex,
        heard: Heard,
    }

    const LISTENER: NodeIndex = NodeIndex(1);

    /// What the ports hear until a time.
    fn heard(world: &mut World<Mirror>, until_us: u64) -> Vec<Told> {
        let mut all = Vec::new();
        while let Some(next) = world.next_event_us().filter(|&next| next <= until_us) {
            world.run_until(next, &mut Nobody);
            world.take_heard(&mut |node, heard| all.push(Told { at_us: next, node, heard }));
        }
        all
    }

    #[test]
    fn a_frame_is_found_after_its_preamble_and_ends_with_its_bytes() {
        let mut world = pair();
        world.port_says(100, NodeIndex(0), transmit(100), &mut Nobody);
        let all = heard(&mut world, 10_000);
        let [found, ended] = &all[..] else { panic!("{all:?}") };
        let (Heard::Found { rssi_dbm }, Heard::Ended { frame, intact, .. }) = (&found.heard, &ended.heard) else {
            panic!("{all:?}");
        };
        assert_eq!((found.at_us, ended.at_us), (100 + SYNC_US, 100 + AIRTIME_US));
        assert_eq!((found.node, ended.node), (LISTENER, LISTENER));
        assert!(*intact && frame.psdu == (0..10).collect::<Vec<u8>>() && (-75.0..-65.0).contains(rssi_dbm), "{all:?}");
        assert_eq!((world.usage(NodeIndex(0)).sent, world.usage(NodeIndex(1)).received), (1, 1));
    }

    #[test]
    fn a_frame_that_breaks_off_is_damaged_and_one_that_does_so_in_its_preamble_was_never_there() {
        for (breaks_off_us, told) in [(100, 0), (300, 2)] {
            let mut world = pair();
            world.port_says(0, NodeIndex(0), transmit(0), &mut Nobody);
            let mut all = heard(&mut world, breaks_off_us);
            world.port_says(breaks_off_us, NodeIndex(0), Said::TransmitAborted, &mut Nobody);
            all.extend(heard(&mut world, 10_000));
            assert_eq!(all.len(), told, "{all:?}");
            assert!(!all.iter().any(|told| matches!(told.heard, Heard::Ended { intact: true, .. })), "{all:?}");
        }
    }

    #[test]
    fn an_assessment_gives_power_and_carrier_apart() {
        let mut world = pair();
        let assess = |from: u64| Said::Assess { channel: 15, until_us: from + 128 };
        world.port_says(0, NodeIndex(1), Said::Deaf, &mut Nobody);
        world.port_says(0, NodeIndex(1), assess(0), &mut Nobody);
        let quiet = heard(&mut world, 200);
        let [Told { at_us: 128, node: LISTENER, heard: Heard::Assessed { dbm, carrier: false } }] = quiet[..] else {
            panic!("{quiet:?}");
        };
        assert!(dbm < -95.0, "{quiet:?}");
        world.port_says(200, NodeIndex(0), transmit(200), &mut Nobody);
        world.port_says(300, NodeIndex(1), assess(300), &mut Nobody);
        world.port_says(300, NodeIndex(1), Said::Measure(15), &mut Nobody);
        let loud = heard(&mut world, 500);
        assert!(loud.iter().all(|told| told.node == LISTENER) && loud[1].at_us == 428, "{loud:?}");
        assert!(matches!(loud[0].heard, Heard::Measured { dbm } if dbm > -75.0), "{loud:?}");
        assert!(matches!(loud[1].heard, Heard::Assessed { dbm, carrier: true } if dbm > -75.0), "{loud:?}");
        world.port_says(1_000, NodeIndex(1), assess(1_000), &mut Nobody);
        world.port_says(1_050, NodeIndex(1), Said::AssessAborted, &mut Nobody);
        assert_eq!(heard(&mut world, 2_000), [], "nobody asks any more");
    }

    #[test]
    fn a_port_without_power_hears_and_sends_nothing() {
        let mut world = pair();
        world.port_says(0, NodeIndex(0), transmit(0), &mut Nobody);
        world.run_until(200, &mut Nobody);
        world.power_off(NodeIndex(0), &mut Nobody);
        world.power_off(NodeIndex(1), &mut Nobody);
        world.take_heard(&mut |_, _| ());
        assert_eq!(heard(&mut world, 5_000), []);
    }
}
