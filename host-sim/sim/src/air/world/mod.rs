//! Nodes with radios and clocks of their own, and one queue of events in whole microseconds.

use common::mac::Mac;
use common::mac::phy::FRAME_MAX;
use common::rng::Rng;
use common::time::Instant;

use super::clock::LocalClock;
use super::index::{NodeIndex, PerNode, RadioIndex};
use super::medium::{Medium, Reception, Tuning};
use super::propagation::Point;
pub use super::station::{Access, Nobody, Room, Sent, Station, Transmit, Usage, Watcher};
use super::timing::RadioTiming;

mod agenda;
mod disturbances;
mod intruder;
mod port;
mod radio;
mod receive;
mod send;

use agenda::{Agenda, Entry, Event};
use disturbances::Disturbances;
use intruder::Intruders;
pub use intruder::RawFrame;
use port::Ports;
pub use port::{Heard, Said};
use radio::{NEVER, Phase, Radio, Radios, Slot};

/// A tick of a driver's counter, rounded up.
const TICK_US: u64 = 31;

/// A medium with stations on it.
#[derive(Clone, Debug)]
pub struct World<S> {
    medium: Medium,
    timing: RadioTiming,
    stations: PerNode<S>,
    /// What each station asked for when it was last called: asking again before the next call would take twice the time.
    deadlines: PerNode<Instant>,
    clocks: PerNode<LocalClock>,
    radios: Radios,
    /// Nodes whose radio somebody else drives.
    ports: Ports,
    intruders: Intruders,
    disturbances: Disturbances,
    agenda: Agenda,
    now_us: u64,
    events: u64,
    seed: u64,
    /// Empty between two deliveries; kept for its memory.
    receptions: Vec<Reception>,
    /// What a station writes its next frame to.
    scratch: [u8; FRAME_MAX],
}

impl<S: Station> World<S> {
    pub fn new(medium: Medium, timing: RadioTiming, seed: u64) -> Self {
        Self {
            medium,
            timing,
            stations: PerNode::default(),
            deadlines: PerNode::default(),
            clocks: PerNode::default(),
            radios: Radios::default(),
            ports: Ports::default(),
            intruders: Intruders::default(),
            disturbances: Disturbances::new(seed),
            agenda: Agenda::default(),
            now_us: 0,
            events: 0,
            seed,
            receptions: Vec::new(),
            scratch: [0; FRAME_MAX],
        }
    }

    /// Adds a station that is off. Stations come before every other radio on the medium.
    ///
    /// # Panics
    ///
    /// Where another radio was added before.
    pub fn add(&mut self, position: Point, tuning: Tuning, drift_ppm: i32, station: S) -> NodeIndex {
        let node = NodeIndex(self.radios.len());
        assert_eq!(
            self.medium.add(position, tuning),
            node.radio(),
            "stations must be added before intruders and sources of noise"
        );
        self.deadlines.push(deadline_of(&station));
        self.stations.push(station);
        self.clocks.push(LocalClock::new(drift_ppm, 0));
        self.radios.add(Rng::stream(self.seed ^ 0xC5, node.0 as u64));
        node
    }

    pub fn now_us(&self) -> u64 {
        self.now_us
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    pub fn len(&self) -> usize {
        self.radios.len()
    }

    pub fn is_empty(&self) -> bool {
        self.radios.len() == 0
    }

    pub fn station(&self, node: NodeIndex) -> &S {
        &self.stations[node]
    }

    pub fn is_on(&self, node: NodeIndex) -> bool {
        self.radios[node].on
    }

    pub fn medium(&self) -> &Medium {
        &self.medium
    }

    /// The medium, to be changed: positions, walls, tuning.
    pub fn medium_mut(&mut self) -> &mut Medium {
        &mut self.medium
    }

    pub fn mac(&self, node: NodeIndex) -> &Mac {
        self.radios.mac(node)
    }

    /// What a radio has done until now.
    pub fn usage(&self, node: NodeIndex) -> Usage {
        self.radios.usage(node, self.now_us)
    }

    /// Switches a station on, as it is: its clock starts at zero.
    pub fn power_on(&mut self, node: NodeIndex, watcher: &mut impl Watcher<S>) {
        self.radios.begin_life(node, self.now_us);
        let clock = &mut self.clocks[node];
        *clock = LocalClock::new(clock.drift_ppm(), self.now_us);
        if !self.ports.has(node) {
            self.listen(node, true);
        }
        self.call(node, watcher, S::handle_start);
        self.keep_deadline(node);
    }

    /// Cuts a station's power. A frame that it was sending breaks off, and fails its checksum wherever it was being received.
    pub fn power_off(&mut self, node: NodeIndex, watcher: &mut impl Watcher<S>) {
        self.listen(node, false);
        self.cut_port(node, watcher);
        if let Some((on, _, psdu)) = self.radios.end_sending(node) {
            self.deliver(node.radio(), on, &RawFrame::honest(psdu), false, watcher);
        }
        self.medium.abort_cca(node.radio());
        self.radios.end_life(node, self.now_us);
    }

    /// Makes a station's clock run fast by this many millionths, or slow where negative.
    pub fn set_drift(&mut self, node: NodeIndex, drift_ppm: i32) {
        self.clocks[node].set_drift(self.now_us, drift_ppm);
        if self.radios[node].on {
            self.set_deadline(node);
            self.radios[node].turn_at = NEVER;
            self.set_turn(node);
        }
    }

    /// By how many millionths a station's clock runs fast.
    pub fn drift_ppm(&self, node: NodeIndex) -> i32 {
        self.clocks[node].drift_ppm()
    }

    /// Gives this share of the received frames wrong bits and a right checksum from now on.
    pub fn set_corruption(&mut self, share: f64) {
        self.disturbances.corruption = share;
    }

    /// Loses this share of the receptions from now on, independently, whatever the radio model says.
    pub fn set_loss(&mut self, share: f64) {
        self.disturbances.loss = share;
    }

    /// Makes stations wake later than they asked from now on, each time by half to one and a half times this.
    pub fn set_wake_jitter(&mut self, mean_us: u32) {
        self.disturbances.wake_jitter_us = mean_us;
    }

    /// Replaces a station that is off, for its next life.
    pub fn replace(&mut self, node: NodeIndex, station: S) -> S {
        self.deadlines[node] = deadline_of(&station);
        std::mem::replace(&mut self.stations[node], station)
    }

    /// Gives a station an input other than a frame or a timeout.
    pub fn tell(&mut self, node: NodeIndex, watcher: &mut impl Watcher<S>, what: impl FnOnce(&mut S, Instant)) {
        if self.radios[node].on {
            self.call(node, watcher, what);
        }
    }

    /// Runs until this time of the world; everything due by then has happened.
    pub fn run_until(&mut self, until_us: u64, watcher: &mut impl Watcher<S>) {
        while let Some(entry) = self.agenda.pop(until_us) {
            self.now_us = entry.at_us;
            let index = entry.index as usize;
            if entry.event == Event::Injected {
                self.events += 1;
                self.injected(RadioIndex(index), watcher);
                continue;
            }
            if entry.event == Event::Found {
                self.ports.tell_found(self.now_us, &self.medium);
                continue;
            }
            let node = NodeIndex(index);
            let state = &self.radios[node];
            if state.life == entry.life && (state.round == entry.round || !entry.event.may_break_off()) {
                self.events += 1;
                self.happen(node, entry.event, watcher);
            }
        }
        self.now_us = self.now_us.max(until_us);
    }

    fn happen(&mut self, node: NodeIndex, event: Event, watcher: &mut impl Watcher<S>) {
        match event {
            Event::Wake => {
                if self.radios[node].wake_at == self.now_us {
                    self.radios[node].wake_at = NEVER;
                    self.call(node, watcher, S::handle_timeout);
                    self.keep_deadline(node);
                }
            }
            Event::Turn => {
                if self.radios[node].turn_at == self.now_us {
                    self.take_turn(node, watcher);
                }
            }
            Event::AssessmentBegins => self.assessment_begins(node),
            Event::AssessmentDone => self.assessment_done(node, watcher),
            Event::Send => self.send(node, Slot::Frame, watcher),
            Event::SendAnswer => self.send(node, Slot::Answer, watcher),
            Event::SendDone => self.send_done(node, watcher),
            Event::Ready => {
                let state = &mut self.radios[node];
                if state.phase == Phase::Deaf && state.ready_at <= self.now_us {
                    state.phase = Phase::Free;
                    self.listen(node, true);
                }
            }
            Event::PortSent => self.port_sent(node, watcher),
            Event::PortAssessed => self.port_assessed(node),
            Event::Injected | Event::Found => {}
        }
    }

    fn schedule(&mut self, at_us: u64, node: NodeIndex, event: Event) {
        let Radio { life, round, .. } = self.radios[node];
        self.push(at_us, node.radio(), life, round, event);
    }

    fn schedule_intruder(&mut self, at_us: u64, radio: RadioIndex) {
        self.push(at_us, radio, 0, 0, Event::Injected);
    }

    fn push(&mut self, at_us: u64, radio: RadioIndex, life: u32, round: u32, event: Event) {
        let index = u32::try_from(radio.0).unwrap_or(u32::MAX);
        self.agenda.push(Entry { at_us, order: 0, index, life, round, event });
    }

    fn listen(&mut self, node: NodeIndex, listening: bool) {
        self.medium.listen(node.radio(), listening);
        self.radios.listen(node, self.now_us, listening);
    }

    /// The radio is deaf for a while.
    fn be_deaf(&mut self, node: NodeIndex, lasts_us: u64) {
        self.listen(node, false);
        let state = &mut self.radios[node];
        state.phase = Phase::Deaf;
        state.ready_at = self.now_us + lasts_us;
        self.schedule(self.now_us + lasts_us, node, Event::Ready);
    }

    /// Schedules the next wake-up of a station that still has the deadline it had before it was called or switched on.
    fn keep_deadline(&mut self, node: NodeIndex) {
        if self.radios[node].wake_at == NEVER {
            self.set_deadline(node);
        }
    }

    /// Schedules a station's wake-up after its deadline has changed.
    #[inline(never)]
    fn set_deadline(&mut self, node: NodeIndex) {
        // The counter that wakes a driver fires at its next tick at the earliest, even for a deadline that has passed.
        let first_tick = |deadline| self.clocks[node].when(deadline).max(self.now_us + TICK_US);
        let mut wake_at = self.stations[node].poll_timeout().map_or(NEVER, first_tick);
        if wake_at != NEVER {
            wake_at += self.disturbances.wake_delay_us();
        }
        if wake_at != self.radios[node].wake_at {
            self.radios[node].wake_at = wake_at;
            if wake_at != NEVER {
                self.schedule(wake_at, node, Event::Wake);
            }
        }
    }

    /// Gives a station one input, and takes the frames and the deadline that follow from it.
    fn call(&mut self, node: NodeIndex, watcher: &mut impl Watcher<S>, input: impl FnOnce(&mut S, Instant)) {
        let now = self.clocks[node].show(self.now_us);
        self.call_at(node, now, watcher, input);
    }

    /// The same where the caller has read the station's clock already.
    #[inline]
    fn call_at(
        &mut self,
        node: NodeIndex,
        now: Instant,
        watcher: &mut impl Watcher<S>,
        input: impl FnOnce(&mut S, Instant),
    ) {
        input(&mut self.stations[node], now);
        self.take_frames(node, now, watcher);
        let deadline = deadline_of(&self.stations[node]);
        if deadline != self.deadlines[node] {
            self.deadlines[node] = deadline;
            self.set_deadline(node);
        }
        watcher.station(self.now_us, node, &self.stations[node]);
    }
}

fn deadline_of(station: &impl Station) -> Instant {
    station.poll_timeout().unwrap_or(Instant::NEVER)
}

#[cfg(test)]
mod tests;
