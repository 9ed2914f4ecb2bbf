//! The simulated air as emulated boards see it.
//!
//! Boards count cycles, 64 per microsecond; the world counts whole microseconds. An action of a radio happens in the world
//! in the same microsecond, so that airtimes stay exact. What the world tells a radio arrives at the first cycle of its
//! microsecond: never more than a microsecond early, and never late.

use emulator::io::CYCLES_PER_US;
use emulator::network::{BoardIndex, Ether};
use emulator::phy::{self, Frame, Input, Output, Stamped};
use sim::air::index::NodeIndex;
use sim::air::medium::Tuning;
use sim::air::station::{Station, Watcher};
use sim::air::world::{Heard, RawFrame, Said, World};

/// The delimiter of IEEE 802.15.4.
const DELIMITER: u8 = 0xA7;

/// A channel that no node of the world uses, for radios tuned to anything that is not IEEE 802.15.4.
const ELSEWHERE: u8 = 0;

/// A world lent to the boards for the length of a call.
pub struct WorldEther<'w, S, W> {
    pub world: &'w mut World<S>,
    pub watcher: &'w mut W,
    /// The node of each board, in ascending order.
    pub nodes: &'w [NodeIndex],
}

impl<S: Station, W: Watcher<S>> Ether for WorldEther<'_, S, W> {
    fn tell(&mut self, radio: BoardIndex, Stamped { at, output }: Stamped) {
        let said = match output {
            Output::Listening { tuning } => Said::Listening(channel(tuning)),
            Output::Deaf => Said::Deaf,
            Output::TransmitBegins { frame: Frame { length, psdu }, dbm, tuning, ends } => Said::Transmit {
                frame: RawFrame { length, psdu },
                tuning: Tuning { channel: channel(tuning), tx_dbm: f64::from(dbm) },
                ends_us: ends / CYCLES_PER_US,
            },
            Output::TransmitAborted => Said::TransmitAborted,
            Output::Assess { tuning, until } => {
                Said::Assess { channel: channel(tuning), until_us: until / CYCLES_PER_US }
            }
            Output::AssessAborted => Said::AssessAborted,
            Output::Measure { tuning } => Said::Measure(channel(tuning)),
        };
        if let Some(&node) = self.nodes.get(radio.0) {
            self.world.port_says(at / CYCLES_PER_US, node, said, self.watcher);
        }
    }

    fn next_event(&self) -> u64 {
        self.world.next_event_us().map_or(u64::MAX, |us| us.saturating_mul(CYCLES_PER_US))
    }

    fn advance(&mut self, now: u64, deliver: &mut Vec<(BoardIndex, Input)>) {
        self.world.run_until(now / CYCLES_PER_US, self.watcher);
        let nodes = self.nodes;
        self.world.take_heard(&mut |node, heard| {
            if let Ok(radio) = nodes.binary_search(&node) {
                deliver.push((BoardIndex(radio), input(heard)));
            }
        });
    }
}

fn input(heard: Heard) -> Input {
    match heard {
        Heard::Found { rssi_dbm } => Input::FrameFound { dbm: whole(rssi_dbm) },
        Heard::Ended { frame: RawFrame { length, psdu }, intact, rssi_dbm } => {
            Input::FrameEnds { frame: Frame { length, psdu }, intact, dbm: whole(rssi_dbm) }
        }
        Heard::Assessed { dbm, carrier } => Input::Assessed { dbm: whole(dbm), carrier },
        Heard::Measured { dbm } => Input::Measured { dbm: whole(dbm) },
    }
}

fn channel(tuning: phy::Tuning) -> u8 {
    tuning.channel().filter(|_| tuning.delimiter == DELIMITER).unwrap_or(ELSEWHERE)
}

#[expect(clippy::cast_possible_truncation, reason = "a float cast saturates at both ends")]
fn whole(dbm: f64) -> i8 {
    dbm.round() as i8
}
