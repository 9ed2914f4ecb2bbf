//! What tasks, time and the air do to the radio's state.

use super::{
    ADDRESS, Assessment, CCABUSY, CCAIDLE, CCASTOPPED, CRCERROR, CRCOK, DISABLED, EDEND, EDSTOPPED, END, FRAMESTART,
    PAYLOAD, PHYEND, READY, RSSIEND, RXREADY, Radio, Reception, ReceptionEnd, SHORTS, SYNC_FOUND, State, TXREADY,
    Transmission, bus_error, energy, task,
};
use crate::io::{BusError, CYCLES_PER_US};
use crate::memory::Memory;
use crate::phy::{self, ASSESSMENT, Frame, Input, Output};
use crate::soc::events::{NEVER, Refusal, Served};

/// From enabling to ready; MODECNF0 chooses between the normal and the fast ramp.
const RAMP: [u64; 2] = [129 * CYCLES_PER_US, 40 * CYCLES_PER_US];
const RX_DISABLE: u64 = CYCLES_PER_US / 2;
const TX_DISABLE: u64 = 21 * CYCLES_PER_US;
/// From the antenna to the events of the receiver.
const RECEIVER_DELAY: u64 = 22 * CYCLES_PER_US;

impl Radio {
    /// Performs a task, or ignores it if it means nothing in the present state.
    pub(super) fn perform(&mut self, now: u64, offset: u32) -> Served<()> {
        match (offset, self.state) {
            (task::TXEN, State::Disabled | State::RxIdle | State::Rx | State::TxIdle) => {
                self.enable(now, State::TxRampUp)
            }
            (task::RXEN, State::Disabled | State::RxIdle | State::TxIdle) => self.enable(now, State::RxRampUp),
            (task::START, State::RxIdle) => {
                self.enter(now, State::Rx);
                self.listen(now, true);
                Ok(())
            }
            (task::START, State::TxIdle) => {
                self.enter(now, State::Tx);
                self.fetch_at = now;
                Ok(())
            }
            (task::STOP, State::Rx) => {
                self.leave(now);
                self.enter(now, State::RxIdle);
                Ok(())
            }
            (task::STOP, State::Tx) => {
                self.leave(now);
                self.enter(now, State::TxIdle);
                Ok(())
            }
            (task::DISABLE, _) => self.disable(now),
            (task::RSSISTART, State::Rx | State::RxIdle) => self.measure(now),
            (task::CCASTART, State::Rx | State::RxIdle) => {
                self.assess_channel(now, Assessment::ClearChannel, ASSESSMENT);
                Ok(())
            }
            (task::EDSTART, State::Rx | State::RxIdle) => {
                let times = u64::from(self.registers.energy_count) + 1;
                self.assess_channel(now, Assessment::Energy, times * ASSESSMENT);
                Ok(())
            }
            (task::CCASTOP, _) => self.stop_assessing(now, Assessment::ClearChannel, CCASTOPPED),
            (task::EDSTOP, _) => self.stop_assessing(now, Assessment::Energy, EDSTOPPED),
            (task::RSSISTOP, _) => {
                self.measuring = false;
                Ok(())
            }
            (task::BCSTART | task::BCSTOP, _) => Err(Refusal::Bad("the bit counter is not modelled".into())),
            (..=task::CCASTOP, _) => Ok(()),
            _ => Err(Refusal::Unknown),
        }
    }

    fn enable(&mut self, now: u64, ramp: State) -> Served<()> {
        if let Some(what) = self.complaint() {
            return Err(Refusal::Bad(what.into()));
        }
        self.leave(now);
        self.enter(now, ramp);
        self.ramp_at = now + RAMP[(self.registers.mode_config & 1) as usize];
        Ok(())
    }

    fn disable(&mut self, now: u64) -> Served<()> {
        let (state, takes) = match self.state {
            // A radio that is already off fires the event again.
            State::Disabled => return self.fire(now, DISABLED),
            State::RxDisable | State::TxDisable => return Ok(()),
            State::RxRampUp | State::RxIdle | State::Rx => (State::RxDisable, RX_DISABLE),
            State::TxRampUp | State::TxIdle | State::Tx => (State::TxDisable, TX_DISABLE),
        };
        self.leave(now);
        self.enter(now, state);
        self.ramp_at = now + takes;
        Ok(())
    }

    fn enter(&mut self, now: u64, state: State) {
        self.account(now);
        self.state = state;
    }

    /// Breaks off whatever the present state was doing.
    pub(super) fn leave(&mut self, now: u64) {
        self.listen(now, false);
        if self.assessing.take().is_some() {
            self.tell_air(now, Output::AssessAborted);
        }
        if self.transmission.take().is_some() {
            self.tell_air(now, Output::TransmitAborted);
        }
        (self.fetch_at, self.ramp_at, self.measuring, self.reception) = (NEVER, NEVER, false, None);
    }

    fn listen(&mut self, now: u64, listening: bool) {
        if self.listening != listening {
            self.listening = listening;
            let tuning = self.tuning();
            self.tell_air(now, if listening { Output::Listening { tuning } } else { Output::Deaf });
        }
    }

    fn assess_channel(&mut self, now: u64, assessment: Assessment, takes: u64) {
        self.leave(now);
        self.enter(now, State::Rx);
        self.assessing = Some(assessment);
        let tuning = self.tuning();
        self.tell_air(now, Output::Assess { tuning, until: now + takes });
    }

    fn stop_assessing(&mut self, now: u64, assessment: Assessment, event: u32) -> Served<()> {
        if self.assessing != Some(assessment) {
            return Ok(());
        }
        self.leave(now);
        self.enter(now, State::RxIdle);
        self.fire(now, event)
    }

    /// During a reception the power of that frame counts. Otherwise the air is asked.
    fn measure(&mut self, now: u64) -> Served<()> {
        if let Some(reception) = &self.reception {
            self.registers.rssi = rssi(reception.dbm);
            return self.fire(now, RSSIEND);
        }
        self.measuring = true;
        let tuning = self.tuning();
        self.tell_air(now, Output::Measure { tuning });
        Ok(())
    }

    /// Fires an event, and performs the tasks that shortcuts connect to it.
    fn fire(&mut self, now: u64, event: u32) -> Served<()> {
        self.events.fire(event);
        for shortcut in SHORTS {
            if shortcut.event == event && self.events.has_short(shortcut.bit) {
                self.perform(now, shortcut.task)?;
            }
        }
        Ok(())
    }

    fn fire_all(&mut self, now: u64, events: &[u32]) -> Served<()> {
        events.iter().try_for_each(|&event| self.fire(now, event))
    }

    /// Does what is due now.
    pub(super) fn proceed(&mut self, now: u64, memory: &mut Memory) -> Result<(), BusError> {
        if self.ramp_at <= now {
            self.ramp_at = NEVER;
            self.end_ramp(now).map_err(bus_error)?;
        }
        if self.fetch_at <= now {
            self.fetch_at = NEVER;
            self.begin_frame(now, memory)?;
        }
        if let Some(transmission) = self.transmission {
            self.proceed_sending(now, transmission).map_err(bus_error)?;
        }
        self.proceed_receiving(now, memory)
    }

    fn end_ramp(&mut self, now: u64) -> Served<()> {
        match self.state {
            State::RxRampUp => {
                self.enter(now, State::RxIdle);
                self.fire_all(now, &[READY, RXREADY])
            }
            State::TxRampUp => {
                self.enter(now, State::TxIdle);
                self.fire_all(now, &[READY, TXREADY])
            }
            State::RxDisable | State::TxDisable => {
                self.enter(now, State::Disabled);
                self.fire(now, DISABLED)
            }
            _ => Ok(()),
        }
    }

    /// Fetches the packet and sends it with its checksum.
    fn begin_frame(&mut self, now: u64, memory: &Memory) -> Result<(), BusError> {
        let mut length = [0];
        memory.dma_read(self.registers.packet, &mut length)?;
        let longest = self.registers.packet_config[1] & 0xFF;
        let psdu_bytes = usize::from(length[0]).min(longest as usize);
        let mut payload = vec![0; psdu_bytes.saturating_sub(2)];
        memory.dma_read(self.registers.packet.wrapping_add(1), &mut payload)?;
        let frame = Frame { length: length[0], ..Frame::new(&payload) };
        let [dbm, _, _, _] = self.registers.power.to_le_bytes();
        let ends = now + frame.airtime();
        self.transmission = Some(Transmission { start_at: now + phy::SYNC, start_fired: false, ends_at: ends });
        let tuning = self.tuning();
        self.tell_air(now, Output::TransmitBegins { frame, dbm: dbm.cast_signed(), tuning, ends });
        Ok(())
    }

    fn proceed_sending(&mut self, now: u64, transmission: Transmission) -> Served<()> {
        if !transmission.start_fired {
            if transmission.start_at <= now {
                self.transmission = Some(Transmission { start_fired: true, ..transmission });
                return self.fire_all(now, &[ADDRESS, FRAMESTART]);
            }
        } else if transmission.ends_at <= now {
            self.transmission = None;
            self.usage.sent += 1;
            self.enter(now, State::TxIdle);
            return self.fire_all(now, &[PAYLOAD, END, PHYEND]);
        }
        Ok(())
    }

    fn proceed_receiving(&mut self, now: u64, memory: &mut Memory) -> Result<(), BusError> {
        let Some(reception) = &mut self.reception else { return Ok(()) };
        if !reception.start_fired {
            if reception.start_at <= now {
                reception.start_fired = true;
                return self.fire_all(now, &[SYNC_FOUND, ADDRESS, FRAMESTART]).map_err(bus_error);
            }
        } else if let Some(end) = reception.end.take_if(|end| end.at <= now) {
            let dbm = reception.dbm;
            return self.end_reception(now, end, dbm, memory);
        }
        Ok(())
    }

    /// Stores a frame, followed by its link quality, and fires CRCOK or CRCERROR.
    fn end_reception(&mut self, now: u64, end: ReceptionEnd, dbm: i8, memory: &mut Memory) -> Result<(), BusError> {
        let ReceptionEnd { mut frame, intact, .. } = end;
        if !intact && let Some(hit) = frame.psdu.len().checked_div(2).and_then(|middle| frame.psdu.get_mut(middle)) {
            *hit ^= 0x5A;
        }
        let longest = (self.registers.packet_config[1] & 0xFF) as usize;
        let fits = intact && frame.is_intact() && frame.psdu.len() <= longest;
        let claimed = usize::from(frame.length).min(longest);
        // A frame that is shorter than its length byte claims ends in noise, here zeros.
        frame.psdu.resize(claimed, 0);
        let (payload, sum) = frame.psdu.split_at(claimed.saturating_sub(2));
        let mut stored = vec![frame.length];
        stored.extend_from_slice(payload);
        stored.push(energy(dbm));
        memory.dma_write(self.registers.packet, &stored)?;
        self.registers.received_crc = sum.iter().rev().fold(0, |crc, &byte| crc << 8 | u32::from(byte));
        self.registers.crc_status = u32::from(fits);
        self.registers.length_status = u32::from(usize::from(frame.length) > longest);
        *(if fits { &mut self.usage.received } else { &mut self.usage.damaged }) += 1;
        self.leave(now);
        self.enter(now, State::RxIdle);
        let verdict = if fits { CRCOK } else { CRCERROR };
        self.fire_all(now, &[PAYLOAD, verdict, END, PHYEND]).map_err(bus_error)
    }

    /// Answers to an assessment or a measurement that was broken off are ignored.
    pub(super) fn apply_input(&mut self, now: u64, input: Input) -> Served<()> {
        match input {
            Input::FrameFound { dbm } => {
                if self.listening && self.reception.is_none() {
                    let start_at = now + RECEIVER_DELAY;
                    self.reception = Some(Reception { start_at, start_fired: false, dbm, end: None });
                }
                Ok(())
            }
            Input::FrameEnds { frame, intact, dbm } => {
                if let Some(reception) = self.reception.as_mut().filter(|reception| reception.end.is_none()) {
                    reception.dbm = dbm;
                    reception.end = Some(ReceptionEnd { at: now + RECEIVER_DELAY, frame, intact });
                }
                Ok(())
            }
            Input::Assessed { dbm, carrier } => {
                let Some(assessment) = self.assessing.take() else { return Ok(()) };
                self.enter(now, State::RxIdle);
                let event = match assessment {
                    Assessment::ClearChannel if self.is_busy(dbm, carrier) => CCABUSY,
                    Assessment::ClearChannel => CCAIDLE,
                    Assessment::Energy => {
                        self.registers.energy = u32::from(energy(dbm));
                        EDEND
                    }
                };
                self.fire(now, event)
            }
            Input::Measured { dbm } => {
                if !std::mem::take(&mut self.measuring) {
                    return Ok(());
                }
                self.registers.rssi = rssi(dbm);
                self.fire(now, RSSIEND)
            }
        }
    }
}

/// RSSISAMPLE counts dB below 0 dBm.
fn rssi(dbm: i8) -> u32 {
    u32::from(dbm.min(0).unsigned_abs()).min(127)
}
