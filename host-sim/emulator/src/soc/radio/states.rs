//! What tasks, time and the air do to the radio's state.

use super::{
    ADDRESS, CCABUSY, CCAIDLE, CCASTOPPED, CRCERROR, CRCOK, DISABLED, EDEND, EDSTOPPED, END, FRAMESTART, Look, PAYLOAD,
    PHYEND, READY, RSSIEND, RXREADY, Radio, Reception, SHORTS, SYNC_FOUND, State, TXREADY, Transmission, bus_error,
    energy, task,
};
use crate::io::{BusError, CYCLES_PER_US};
use crate::memory::Memory;
use crate::phy::{self, Frame, Input, Output};
use crate::soc::events::{NEVER, Refusal, Served};

/// From enabling to ready; MODECNF0 chooses between the usual and the fast one.
const RAMP: [u64; 2] = [129 * CYCLES_PER_US, 40 * CYCLES_PER_US];
const RX_DISABLE: u64 = CYCLES_PER_US / 2;
const TX_DISABLE: u64 = 21 * CYCLES_PER_US;
/// Eight symbols: a look at the channel, or one of several that an energy scan takes.
const LOOK: u64 = 128 * CYCLES_PER_US;
/// How much later the end of something shows in the receiver than it was at the antenna.
const RECEIVER_DELAY: u64 = 22 * CYCLES_PER_US;

impl Radio {
    /// Does a task, or ignores it where the state has no use for it.
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
                self.look_at_channel(now, Look::ClearChannel, LOOK);
                Ok(())
            }
            (task::EDSTART, State::Rx | State::RxIdle) => {
                let times = u64::from(self.registers.energy_count) + 1;
                self.look_at_channel(now, Look::Energy, times * LOOK);
                Ok(())
            }
            (task::CCASTOP, _) => self.stop_looking(now, Look::ClearChannel, CCASTOPPED),
            (task::EDSTOP, _) => self.stop_looking(now, Look::Energy, EDSTOPPED),
            (task::RSSISTOP, _) => {
                self.measuring = false;
                Ok(())
            }
            (0x1C | 0x20, _) => Err(Refusal::Bad("the bit counter is not modelled".into())),
            (..=0x30, _) => Ok(()),
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
            // One that is off already says so once more.
            State::Disabled => return self.happen(now, DISABLED),
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

    /// Breaks off whatever the present state was about.
    pub(super) fn leave(&mut self, now: u64) {
        self.listen(now, false);
        if self.look.take().is_some() {
            self.say(now, Output::AssessAborted);
        }
        if self.transmission.take().is_some() {
            self.say(now, Output::TransmitAborted);
        }
        (self.fetch_at, self.ramp_at, self.measuring, self.reception) = (NEVER, NEVER, false, None);
    }

    fn listen(&mut self, now: u64, listening: bool) {
        if self.listening != listening {
            self.listening = listening;
            let tuning = self.tuning();
            self.say(now, if listening { Output::Listening { tuning } } else { Output::Deaf });
        }
    }

    fn look_at_channel(&mut self, now: u64, look: Look, takes: u64) {
        self.leave(now);
        self.enter(now, State::Rx);
        self.look = Some(look);
        let tuning = self.tuning();
        self.say(now, Output::Assess { tuning, until: now + takes });
    }

    fn stop_looking(&mut self, now: u64, look: Look, event: u32) -> Served<()> {
        if self.look != Some(look) {
            return Ok(());
        }
        self.leave(now);
        self.enter(now, State::RxIdle);
        self.happen(now, event)
    }

    /// A frame that is being received has a power of its own; else the air is asked.
    fn measure(&mut self, now: u64) -> Served<()> {
        if let Some(reception) = &self.reception {
            self.registers.rssi = rssi(reception.dbm);
            return self.happen(now, RSSIEND);
        }
        self.measuring = true;
        let tuning = self.tuning();
        self.say(now, Output::Measure { tuning });
        Ok(())
    }

    /// An event, and the tasks that hang on it.
    fn happen(&mut self, now: u64, event: u32) -> Served<()> {
        self.events.fire(event);
        for (bit, cause, effect) in SHORTS {
            if cause == event && self.events.short(bit) {
                self.perform(now, effect)?;
            }
        }
        Ok(())
    }

    fn happen_all(&mut self, now: u64, events: &[u32]) -> Served<()> {
        events.iter().try_for_each(|&event| self.happen(now, event))
    }

    /// What is due now.
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
                self.happen_all(now, &[READY, RXREADY])
            }
            State::TxRampUp => {
                self.enter(now, State::TxIdle);
                self.happen_all(now, &[READY, TXREADY])
            }
            State::RxDisable | State::TxDisable => {
                self.enter(now, State::Disabled);
                self.happen(now, DISABLED)
            }
            _ => Ok(()),
        }
    }

    /// Fetches the packet and puts it on the air, with its checksum.
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
        self.transmission = Some(Transmission { started_at: now + phy::SYNC, shown: false, ends_at: ends });
        let tuning = self.tuning();
        self.say(now, Output::TransmitBegins { frame, dbm: dbm.cast_signed(), tuning, ends });
        Ok(())
    }

    fn proceed_sending(&mut self, now: u64, transmission: Transmission) -> Served<()> {
        if !transmission.shown {
            if transmission.started_at <= now {
                self.transmission = Some(Transmission { shown: true, ..transmission });
                return self.happen_all(now, &[ADDRESS, FRAMESTART]);
            }
        } else if transmission.ends_at <= now {
            self.transmission = None;
            self.usage.sent += 1;
            self.enter(now, State::TxIdle);
            return self.happen_all(now, &[PAYLOAD, END, PHYEND]);
        }
        Ok(())
    }

    fn proceed_receiving(&mut self, now: u64, memory: &mut Memory) -> Result<(), BusError> {
        let Some(reception) = &mut self.reception else { return Ok(()) };
        if !reception.shown {
            if reception.found_at <= now {
                reception.shown = true;
                return self.happen_all(now, &[SYNC_FOUND, ADDRESS, FRAMESTART]).map_err(bus_error);
            }
        } else if let Some((_, frame, intact)) = reception.end.take_if(|(at, ..)| *at <= now) {
            let dbm = reception.dbm;
            return self.end_reception(now, frame, intact, dbm, memory);
        }
        Ok(())
    }

    /// Stores a frame with its quality behind it, and says whether its checksum fits.
    fn end_reception(
        &mut self,
        now: u64,
        mut frame: Frame,
        intact: bool,
        dbm: i8,
        memory: &mut Memory,
    ) -> Result<(), BusError> {
        if !intact && let Some(hit) = frame.psdu.len().checked_div(2).and_then(|middle| frame.psdu.get_mut(middle)) {
            *hit ^= 0x5A;
        }
        let longest = (self.registers.packet_config[1] & 0xFF) as usize;
        let fits = intact && frame.is_intact() && frame.psdu.len() <= longest;
        let claimed = usize::from(frame.length).min(longest);
        // Of a frame that is shorter than it says the rest is noise, here zeros.
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
        self.happen_all(now, &[PAYLOAD, verdict, END, PHYEND]).map_err(bus_error)
    }

    /// What the air says. Answers to questions that nobody asks any more are ignored.
    pub(super) fn listen_to(&mut self, now: u64, input: Input) -> Served<()> {
        match input {
            Input::FrameFound { dbm } => {
                if self.listening && self.reception.is_none() {
                    let found_at = now + RECEIVER_DELAY;
                    self.reception = Some(Reception { found_at, shown: false, dbm, end: None });
                }
                Ok(())
            }
            Input::FrameEnds { frame, intact, dbm } => {
                if let Some(reception) = self.reception.as_mut().filter(|reception| reception.end.is_none()) {
                    reception.dbm = dbm;
                    reception.end = Some((now + RECEIVER_DELAY, frame, intact));
                }
                Ok(())
            }
            Input::Assessed { dbm, carrier } => {
                let Some(look) = self.look.take() else { return Ok(()) };
                self.enter(now, State::RxIdle);
                let event = match look {
                    Look::ClearChannel if self.is_busy(dbm, carrier) => CCABUSY,
                    Look::ClearChannel => CCAIDLE,
                    Look::Energy => {
                        self.registers.energy = u32::from(energy(dbm));
                        EDEND
                    }
                };
                self.happen(now, event)
            }
            Input::Measured { dbm } => {
                if !std::mem::take(&mut self.measuring) {
                    return Ok(());
                }
                self.registers.rssi = rssi(dbm);
                self.happen(now, RSSIEND)
            }
        }
    }
}

/// RSSISAMPLE is how far below 0 dBm the power is.
fn rssi(dbm: i8) -> u32 {
    u32::from(dbm.min(0).unsigned_abs()).min(127)
}
