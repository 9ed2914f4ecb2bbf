//! Readings and orders for the fuzzer: members say of both what they like, and the node measures, logs and submits.

use common::data::block::Sample;
use common::data::log_entry::ENTRY_MAX;
use common::data::origin::Recovered;
use common::data::{Chore, Done};
use common::link::body::{Entry, Rel};
use common::link::frame::Kind;
use common::mac::phy::FRAME_MAX;
use common::orders::{Command, Register};
use common::types::NodeId;

use super::{Driven, Script, config, operate};

/// The first byte of a message for the orders.
const FOR_ORDERS: u8 = 2;

/// Chores that a driver gets at once: one for each frame that waits and each block of the window, generously counted.
const CHORES_MAX: u32 = 64;

/// As `algorithms`, with a node that collects, and members that speak of readings and orders.
pub fn services(bytes: &[u8]) -> u32 {
    let mut script = Script(bytes);
    let mut driven = Driven::of(&config(&mut script));
    driven.node.handle_recovered(Recovered { store: 5, next: 9, base: 3, oldest: 4 });
    operate(driven, script, special).node.snapshot().counters.links_up
}

/// Takes two operations of sixteen for orders, three for readings and one for the driver.
fn special(driven: &mut Driven, operation: u8, counter: u32, script: &mut Script<'_>) -> bool {
    let from = 2 + u16::from(operation >> 4);
    match operation & 15 {
        3 => receive_order(driven, from, counter, script),
        6 => submit(driven, script),
        7 | 8 => receive_data(driven, from, counter, script),
        13 => measure(driven, script),
        _ => return false,
    }
    true
}

/// A message of the orders over a link, numbered as the node expects it.
fn receive_order(driven: &mut Driven, from: u16, counter: u32, script: &mut Script<'_>) {
    let known = driven.node.links().table().iter().find(|(_, neighbour)| neighbour.id == NodeId(from));
    let Some(session) = known.map(|(_, neighbour)| neighbour.session.clone()) else { return };
    let (echo, number, ack) = (session.mine().echo(), session.expected(), session.oldest());
    let length = script.byte() & 31;
    let mut message = vec![FOR_ORDERS, 1 + script.byte() % 6];
    message.extend((0..length).map(|_| script.byte()));
    let rel = Rel {
        answer: length & 1 == 1,
        entries: [Entry { id: driven.node.id(), echo, number, ack }].into_iter().collect(),
        messages: [message.into_iter().collect()].into_iter().collect(),
        ..Rel::default()
    };
    let mut buf = [0; FRAME_MAX];
    let length = rel.write(false, &mut buf).expect("it fits");
    let header = driven.header(from, Kind::Rel, counter, script);
    driven.receive(header, &buf[..length], -60);
}

/// Readings, gaps, commits, questions of both kinds, answers and copies: a sensible first byte, and then anything.
fn receive_data(driven: &mut Driven, from: u16, counter: u32, script: &mut Script<'_>) {
    let length = usize::from(script.byte()) % 106;
    let first = [1, 2, 3, 4, 5, 6, 7, 0xF8][usize::from(script.byte() % 8)];
    let mut body = vec![first, script.byte()];
    body.extend((2..length).map(|_| script.byte()));
    let header = driven.header(from, Kind::Data, counter, script);
    driven.receive(header, &body, -60);
}

fn submit(driven: &mut Driven, script: &mut Script<'_>) {
    let registers = [Register::SAMPLE, Register::SEND];
    let register = registers[usize::from(script.byte() & 1)];
    // Too many at once, or out of its range: refused, and that is all.
    let _ = driven.node.submit(driven.now, Command::Set { register, value: u32::from(script.half()) });
    while driven.node.poll_outcome().is_some() {}
}

/// The driver measures; its flash works or not from then on, and may have had to overwrite blocks.
fn measure(driven: &mut Driven, script: &mut Script<'_>) {
    let twist = script.byte();
    driven.is_flash_good = twist & 4 == 0;
    if twist.is_multiple_of(4) {
        let mut sample = Sample::default();
        sample.values[usize::from(twist >> 5)] = Some(i32::from(script.half()));
        driven.node.handle_sample(driven.now, sample);
    }
    if twist & 8 == 8 {
        driven.node.handle_overwritten(u32::from(script.byte()));
    }
}

impl Driven {
    /// Does what the node wants done with its flash, and says how that went.
    pub(super) fn work(&mut self) {
        let (mut buf, mut chores) = ([0; ENTRY_MAX], 0);
        while let Some(chore) = self.node.poll_chore(self.now, &mut buf) {
            chores += 1;
            assert!(chores <= CHORES_MAX, "chores without end");
            let done = match chore {
                Chore::Store { .. } => Done::Stored(self.is_flash_good),
                Chore::Log { .. } => Done::Logged(self.is_flash_good),
                Chore::Fetch { .. } => Done::Fetched(
                    Some(&[1, 0, 5, 0, 0, 0, 0, 1, 0, 1, 4]).filter(|_| self.is_flash_good).map(|block| &block[..]),
                ),
                Chore::Release { .. } => continue,
            };
            self.node.handle_done(self.now, done);
        }
        let custody = self.node.data().custody();
        assert!(custody.start <= custody.end, "{custody:?}");
    }
}
