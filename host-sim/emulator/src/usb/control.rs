//! A transfer on the control endpoint, from the host's side: a setup packet, perhaps data, and a status packet the other
//! way.

use std::collections::VecDeque;

use super::{Action, Answer, PACKET_MAX};

const DIRECTION_IN: u8 = 0x80;

/// The standard and class requests that a host makes here, by the names of their specifications.
pub mod request {
    pub const SET_ADDRESS: u8 = 5;
    pub const GET_DESCRIPTOR: u8 = 6;
    pub const SET_CONFIGURATION: u8 = 9;
    pub const CDC_SET_LINE_CODING: u8 = 0x20;
    pub const CDC_SET_CONTROL_LINE_STATE: u8 = 0x22;
}

/// The eight bytes of a setup packet.
pub fn setup(request_type: u8, request: u8, value: u16, index: u16, length: u16) -> [u8; 8] {
    let ([v0, v1], [i0, i1], [l0, l1]) = (value.to_le_bytes(), index.to_le_bytes(), length.to_le_bytes());
    [request_type, request, v0, v1, i0, i1, l0, l1]
}

/// How a transfer stands after an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    Running,
    /// The device was not ready.
    Waiting,
    /// What the device sent.
    Done(Vec<u8>),
    /// The device refused.
    Stalled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Setup,
    Data,
    Status,
}

#[derive(Clone, Debug)]
pub struct Transfer {
    setup: [u8; 8],
    /// What is still to be sent.
    rest: VecDeque<u8>,
    received: Vec<u8>,
    stage: Stage,
}

impl Transfer {
    /// A transfer that sends these bytes, or none if the request asks for some.
    pub fn new(setup: [u8; 8], data: &[u8]) -> Self {
        Self { setup, rest: data.iter().copied().collect(), received: Vec::new(), stage: Stage::Setup }
    }

    fn is_in(&self) -> bool {
        self.setup[0] & DIRECTION_IN != 0
    }

    fn length(&self) -> usize {
        u16::from_le_bytes([self.setup[6], self.setup[7]]).into()
    }

    pub fn action(&self) -> Action {
        match (self.stage, self.is_in()) {
            (Stage::Setup, _) => Action::Setup(self.setup),
            (Stage::Data, true) | (Stage::Status, false) => Action::In { endpoint: 0 },
            (Stage::Data, false) => {
                Action::Out { endpoint: 0, bytes: self.rest.iter().copied().take(PACKET_MAX).collect() }
            }
            (Stage::Status, true) => Action::Out { endpoint: 0, bytes: Vec::new() },
        }
    }

    pub fn answered(&mut self, answer: Answer) -> Progress {
        match (answer, self.stage) {
            (Answer::Stall, _) => return Progress::Stalled,
            (Answer::Silence | Answer::Nak, _) => return Progress::Waiting,
            (_, Stage::Setup) => self.stage = if self.length() == 0 { Stage::Status } else { Stage::Data },
            (Answer::Data(bytes), Stage::Data) => {
                self.received.extend_from_slice(&bytes);
                if bytes.len() < PACKET_MAX || self.received.len() >= self.length() {
                    self.stage = Stage::Status;
                }
            }
            (Answer::Ack, Stage::Data) => {
                self.rest.drain(..self.rest.len().min(PACKET_MAX));
                if self.rest.is_empty() {
                    self.stage = Stage::Status;
                }
            }
            (Answer::Ack | Answer::Data(_), Stage::Status) => {
                return Progress::Done(std::mem::take(&mut self.received));
            }
        }
        Progress::Running
    }
}
