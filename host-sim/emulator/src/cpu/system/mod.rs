//! The system control block and the debug unit's cycle counter: registers that configure the processor and tell about it.

mod registers;

use super::trap::Fault;

/// CFSR: an address register holds the address of the fault.
const MMFAR_VALID: u32 = 1 << 7;
const BFAR_VALID: u32 = 1 << 15;

const HFSR_VECTOR: u32 = 1 << 1;
const HFSR_FORCED: u32 = 1 << 30;
const HFSR_DEBUG: u32 = 1 << 31;

const CCR_EARLY_THREAD: u32 = 1;
const CCR_TRAPS_UNALIGNED: u32 = 1 << 3;
const CCR_TRAPS_DIVISION: u32 = 1 << 4;
const CCR_ALIGNS_STACK: u32 = 1 << 9;

const SCR_SLEEP_ON_EXIT: u32 = 1 << 1;
const SCR_EVENT_ON_PENDING: u32 = 1 << 4;

const FPCCR_AUTOMATIC: u32 = 1 << 31;
const FPCCR_LAZY: u32 = 1 << 30;

const CYCCNT_ENABLE: u32 = 1;

#[derive(Clone)]
pub struct System {
    pub vector_table: u32,
    pub reset_requested: bool,
    sleep_control: u32,
    configuration: u32,
    fault_status: u32,
    hard_fault_status: u32,
    debug_fault_status: u32,
    memory_fault_address: u32,
    bus_fault_address: u32,
    coprocessors: u32,
    fp_context_control: u32,
    fp_context_address: u32,
    pub fp_default_status: u32,
    debug_control: u32,
    auxiliary_control: u32,
    trace_control: u32,
    /// The cycle counter, less the cycles so far, while it counts; its value while it does not.
    cycle_counter: u32,
}

impl Default for System {
    fn default() -> Self {
        Self {
            vector_table: 0,
            reset_requested: false,
            sleep_control: 0,
            configuration: CCR_ALIGNS_STACK,
            fault_status: 0,
            hard_fault_status: 0,
            debug_fault_status: 0,
            memory_fault_address: 0,
            bus_fault_address: 0,
            coprocessors: 0,
            fp_context_control: FPCCR_AUTOMATIC | FPCCR_LAZY,
            fp_context_address: 0,
            fp_default_status: 0,
            debug_control: 0,
            auxiliary_control: 0,
            trace_control: 0,
            cycle_counter: 0,
        }
    }
}

impl System {
    pub fn sends_event_on_pending(&self) -> bool {
        self.sleep_control & SCR_EVENT_ON_PENDING != 0
    }

    pub fn sleeps_on_exit(&self) -> bool {
        self.sleep_control & SCR_SLEEP_ON_EXIT != 0
    }

    pub fn aligns_stack(&self) -> bool {
        self.configuration & CCR_ALIGNS_STACK != 0
    }

    pub fn allows_early_thread(&self) -> bool {
        self.configuration & CCR_EARLY_THREAD != 0
    }

    pub fn traps_unaligned(&self) -> bool {
        self.configuration & CCR_TRAPS_UNALIGNED != 0
    }

    pub fn traps_division_by_zero(&self) -> bool {
        self.configuration & CCR_TRAPS_DIVISION != 0
    }

    /// Whether floating-point instructions are switched on.
    pub fn has_fp(&self, privileged: bool) -> bool {
        match self.coprocessors >> 20 & 0b1111 {
            0b1111 => true,
            0b0101 => privileged,
            _ => false,
        }
    }

    /// Whether the first floating-point instruction of a program makes its registers part of every frame.
    pub fn saves_fp_state(&self) -> bool {
        self.fp_context_control & FPCCR_AUTOMATIC != 0
    }

    pub fn note_fault(&mut self, fault: Fault, address: u32) {
        self.fault_status |= fault.status();
        match fault {
            Fault::DataViolation => {
                self.fault_status |= MMFAR_VALID;
                self.memory_fault_address = address;
            }
            Fault::DataBusError => {
                self.fault_status |= BFAR_VALID;
                self.bus_fault_address = address;
            }
            Fault::DebugEvent => {
                self.hard_fault_status |= HFSR_DEBUG;
                self.debug_fault_status |= 1 << 1;
            }
            _ => {}
        }
    }

    /// A hard fault stands in for another exception.
    pub fn note_forced(&mut self) {
        self.hard_fault_status |= HFSR_FORCED;
    }

    pub fn note_vector_fault(&mut self) {
        self.hard_fault_status |= HFSR_VECTOR;
    }

    fn counts_cycles(&self) -> bool {
        self.trace_control & CYCCNT_ENABLE != 0
    }

    fn cycles(&self, awake: u64) -> u32 {
        let running = if self.counts_cycles() { low_word(awake) } else { 0 };
        self.cycle_counter.wrapping_add(running)
    }

    fn set_cycles(&mut self, value: u32, awake: u64) {
        let running = if self.counts_cycles() { low_word(awake) } else { 0 };
        self.cycle_counter = value.wrapping_sub(running);
    }

    fn set_trace_control(&mut self, value: u32, awake: u64) {
        let cycles = self.cycles(awake);
        self.trace_control = value & CYCCNT_ENABLE;
        self.set_cycles(cycles, awake);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the counter has 32 bits and wraps around")]
fn low_word(count: u64) -> u32 {
    count as u32
}
