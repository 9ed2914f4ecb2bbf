//! Faults, their escalation, the MPU, and what ends a run.

use super::*;

const CFSR: u32 = 0xE000_ED28;
const HFSR: u32 = 0xE000_ED2C;
const SHCSR: u32 = 0xE000_ED24;
const FORCED: u32 = 1 << 30;

/// Stops with the stacked program counter in the log.
fn report() -> Vec<u16> {
    vec![0x9806 /* ldr r0, [sp, #24] */, 0xF848, 0x0B04, BKPT]
}

#[test]
fn a_fault_without_its_handler_is_a_hard_fault() {
    let mut machine = Machine::new(&[NOP, UDF], &[(3, &report())]);
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [MAIN + 2]);
    assert_eq!((machine.system(CFSR), machine.system(HFSR)), (1 << 16, FORCED));
    assert_eq!(machine.cpu.exception(), 3);
    let fault = machine.cpu.last_fault().expect("it is remembered");
    assert_eq!(fault.pc, MAIN + 2);
}

#[test]
fn a_fault_goes_to_its_handler_where_that_is_enabled() {
    let main = [poke(SHCSR, 7 << 16), vec![UDF]].concat();
    let mut machine = Machine::new(&main, &[(6, &report())]);
    machine.run_to_breakpoint();
    assert_eq!(machine.cpu.exception(), 6);
    assert_eq!((machine.system(CFSR), machine.system(HFSR)), (1 << 16, 0));
}

#[test]
fn a_fault_that_may_not_preempt_escalates() {
    let main = [poke(SHCSR, 7 << 16), vec![CPSID, UDF]].concat();
    let mut machine = Machine::new(&main, &[(3, &report())]);
    machine.run_to_breakpoint();
    assert_eq!(machine.system(HFSR), FORCED);
    let mut machine = Machine::new(&[CPSID, SVC], &[(3, &report())]);
    machine.run_to_breakpoint();
    assert_eq!(machine.system(HFSR), FORCED);
}

#[test]
fn a_fault_in_a_hard_fault_locks_up() {
    let mut machine = Machine::new(&[UDF], &[(3, &[NOP, UDF])]);
    let Stop::LockedUp(trouble) = machine.run(100) else { panic!("it went on") };
    assert_eq!(trouble.pc, HANDLERS + 3 * HANDLER_ROOM + 2);
    assert!(trouble.what.contains("0x00000200"), "the first fault is told, too: {trouble}");
    assert!(matches!(machine.run(100), Stop::LockedUp(_)), "only a reset helps");
}

#[test]
fn an_access_to_nothing_is_a_bus_fault_with_its_address() {
    let main = [constant(1, 0x3000_0010).to_vec(), vec![load(0, 1)]].concat();
    let mut machine = Machine::new(&main, &[(3, &report())]);
    machine.run_to_breakpoint();
    assert_eq!(machine.system(CFSR), 1 << 9 | 1 << 15);
    assert_eq!(machine.system(0xE000_ED38), 0x3000_0010);
}

#[test]
fn a_stack_that_grows_below_ram_faults() {
    let main =
        [constant(0, RAM_START + 8).to_vec(), vec![0x4685 /* mov sp, r0 */, 0xB50F /* push r0-r3, lr */]].concat();
    let mut machine = Machine::new(&main, &[(3, &[BKPT])]);
    machine.run_to_breakpoint();
    assert_eq!(machine.cpu.exception(), 3);
    // The frame does not fit either, which is noted and does not keep the handler from running.
    assert_eq!(machine.system(CFSR) & (1 << 9 | 1 << 12), 1 << 9 | 1 << 12);
}

/// 32 bytes that nobody may touch below the stack, and the default map elsewhere.
fn guard(address: u32) -> Vec<u16> {
    [poke(0xE000_ED9C, address | 1 << 4), poke(0xE000_EDA0, 4 << 1 | 1), poke(0xE000_ED94, 5)].concat()
}

#[test]
fn a_guard_below_the_stack_stops_a_push() {
    let bottom = STACK_TOP - 0x40;
    let main = [guard(bottom), vec![0xB088 /* sub sp, #32 */, 0xB40F, 0xB40F /* push r0-r3, then again */]].concat();
    let mut machine = Machine::new(&main, &[(3, &[BKPT])]);
    machine.run_to_breakpoint();
    assert_eq!(machine.cpu.exception(), 3);
    assert_eq!(machine.system(CFSR) & (1 << 1 | 1 << 7), 1 << 1 | 1 << 7);
    assert_eq!(machine.system(0xE000_ED34) & !31, bottom);
}

#[test]
fn a_guard_hit_by_an_exceptions_frame_faults_with_its_own_status() {
    let bottom = STACK_TOP - 0x40;
    let main = [guard(bottom), vec![0xB084 /* sub sp, #16 */], lines(1), vec![NOP, NOP]].concat();
    let enabled = [poke(SHCSR, 1 << 16), main].concat();
    let handler = [0xB500, BKPT];
    let mut machine = Machine::new(&enabled, &[(4, &handler)]).enable(0, 0x80);
    machine.run(200);
    // The guard still holds in the handler, whose own push hits it again.
    assert_eq!(machine.system(CFSR) & 1 << 4, 1 << 4);
    assert!(machine.cpu.counts().faults >= 1);
}

#[test]
fn code_that_the_mpu_forbids_is_not_executed() {
    let region = [poke(0xE000_ED9C, RAM_START | 1 << 4), poke(0xE000_EDA0, 1 << 28 | 3 << 24 | 11 << 1 | 1)].concat();
    let jump = [constant(2, RAM_START + 1).to_vec(), vec![0x4710 /* bx r2 */]].concat();
    let main = [region, poke(0xE000_ED94, 5), jump].concat();
    let mut machine = Machine::new(&main, &[(3, &report())]);
    machine.run_to_breakpoint();
    assert_eq!(machine.system(CFSR), 1);
    assert_eq!(machine.log(), [RAM_START]);
}

#[test]
fn jumps_to_even_addresses_and_bad_returns_fault() {
    let main = [constant(2, 0x300).to_vec(), vec![0x4710]].concat();
    let mut machine = Machine::new(&main, &[(3, &report())]);
    machine.run_to_breakpoint();
    assert_eq!((machine.system(CFSR), machine.log()), (1 << 17, vec![0x300]));
    let handler = [constant(2, 0xFFFF_FFF1).to_vec(), vec![0x4710]].concat();
    let mut machine = Machine::new(&[SVC], &[(11, &handler), (3, &[BKPT])]);
    machine.run_to_breakpoint();
    assert_eq!(machine.system(CFSR), 1 << 18, "there is no handler to return to");
}

#[test]
fn divisions_and_unaligned_accesses_fault_where_asked_for() {
    let divide = [vec![set(0, 7), set(1, 0)], vec![0xFBB0, 0xF2F1], log(2).to_vec()].concat();
    let mut machine = Machine::new(&divide, &[(3, &[BKPT])]);
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [0]);
    let mut machine = Machine::new(&[poke(0xE000_ED14, 0x210), divide].concat(), &[(3, &[BKPT])]);
    machine.run_to_breakpoint();
    assert_eq!(machine.system(CFSR), 1 << 25);

    let unaligned = [constant(1, RAM_START + 2).to_vec(), vec![load(0, 1)], say(1)].concat();
    let mut machine = Machine::new(&unaligned, &[(3, &[BKPT])]);
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [1], "a single load may be unaligned");
    let mut machine = Machine::new(&[poke(0xE000_ED14, 0x208), unaligned].concat(), &[(3, &[BKPT])]);
    machine.run_to_breakpoint();
    assert_eq!(machine.system(CFSR), 1 << 24);
    let list = [constant(1, RAM_START + 2).to_vec(), vec![0xC90C /* ldm r1!, r2-r3 */]].concat();
    let mut machine = Machine::new(&list, &[(3, &[BKPT])]);
    machine.run_to_breakpoint();
    assert_eq!(machine.system(CFSR), 1 << 24, "a list may never be");
    assert_eq!(machine.cpu.register(1), RAM_START + 2, "nothing has moved");
}

#[test]
fn floating_point_needs_to_be_switched_on() {
    let mut machine = Machine::new(&[0xEEB7, 0x0A00], &[(3, &report())]);
    machine.run_to_breakpoint();
    assert_eq!(machine.system(CFSR), 1 << 19);
}

#[test]
fn what_is_not_modelled_ends_the_run_with_its_place() {
    let peripheral = [constant(1, 0x4000_1504).to_vec(), vec![load(0, 1)]].concat();
    let Stop::Error(trouble) = Machine::new(&peripheral, &[]).run(100) else { panic!("it went on") };
    assert_eq!((trouble.pc, trouble.what.as_str()), (MAIN + 8, "access to 0x40001504: TEST, register is not modelled"));
    let system = [constant(1, 0xE000_EFF0).to_vec(), vec![load(0, 1)]].concat();
    let Stop::Error(trouble) = Machine::new(&system, &[]).run(100) else { panic!("it went on") };
    assert!(trouble.what.contains("the system control space, register 0xff0"), "{trouble}");
    // VSEL is for later floating-point units.
    let Stop::Error(trouble) = Machine::new(&[0xFE00, 0x0A00], &[]).run(100) else { panic!("it went on") };
    assert!(trouble.to_string().contains("0xfe000a00"), "{trouble}");
}

#[test]
fn a_breakpoint_is_a_fault_without_a_debugger() {
    let mut machine = Machine::new(&[BKPT], &[(3, &[FOREVER])]);
    assert_eq!(machine.run(10), Stop::Breakpoint { pc: MAIN });
    machine.cpu.set_breakpoints_fault(true);
    assert_eq!(machine.run(10), Stop::TimeReached);
    assert_eq!((machine.cpu.exception(), machine.system(HFSR)), (3, 1 << 31));
}

#[test]
fn a_reset_request_needs_its_key() {
    let main = [poke(0xE000_ED0C, 4), say(1), poke(0xE000_ED0C, 0x05FA_0004), say(2)].concat();
    let mut machine = Machine::new(&main, &[]);
    assert_eq!(machine.run(100), Stop::SystemReset);
    assert_eq!(machine.log(), [1]);
    let before = machine.cpu.now();
    machine.cpu.reset(&machine.memory);
    assert_eq!((machine.cpu.register(15), machine.cpu.now()), (MAIN, before));
}
