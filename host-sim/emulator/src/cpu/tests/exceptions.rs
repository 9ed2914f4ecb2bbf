//! Interrupts, their priorities and masks, frames, sleep and events.

use super::*;

const PEND_SV_AND_SYS_TICK_PRIORITIES: u32 = 0xE000_ED20;
const ICSR: u32 = 0xE000_ED04;

#[test]
fn a_more_urgent_interrupt_preempts_a_handler() {
    let low = [say(1), lines(0b11), say(3), lines(0), vec![RETURN]].concat();
    let high = [say(2), lines(0b01), vec![RETURN]].concat();
    let main = [lines(0b01), vec![NOP], say(4)].concat();
    let mut machine = Machine::new(&main, &[(16, &low), (17, &high)]).enable(0, 0x80).enable(1, 0x40);
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [1, 2, 3, 4]);
    assert_eq!(machine.cpu.counts().tail_chained, 0);
}

#[test]
fn an_equally_urgent_interrupt_waits_and_is_chained() {
    let first = [say(1), lines(0b11), say(2), lines(0b10), vec![RETURN]].concat();
    let second = [say(3), lines(0), vec![RETURN]].concat();
    let main = [vec![set(4, 77)], lines(0b01), vec![NOP], log(4).to_vec()].concat();
    let mut machine = Machine::new(&main, &[(16, &first), (17, &second)]).enable(0, 0x80).enable(1, 0x80);
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [1, 2, 3, 77]);
    assert_eq!(machine.cpu.counts().tail_chained, 1);
    assert_eq!(machine.cpu.counts().exceptions, 2);
    assert_eq!(machine.cpu.register(13), STACK_TOP, "one frame, and it is gone");
}

#[test]
fn a_line_that_stays_high_comes_again() {
    let handler = [log(7).to_vec(), vec![0x3701 /* adds r7, #1 */, 0x2F03 /* cmp r7, #3 */, 0xD100 /* bne over */]];
    let handler = [handler.concat(), vec![0x6025 /* str r5, [r4] */, RETURN]].concat();
    let main = [vec![NOP, NOP], say(9)].concat();
    let mut machine = Machine::new(&main, &[(16, &handler)]).enable(0, 0);
    machine.board.lines = 1;
    machine.cpu.state.r[4] = LINES;
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [0, 1, 2, 9], "until the handler lowers the line");
}

#[test]
fn basepri_holds_back_what_is_not_more_urgent() {
    let handler = [say(1), lines(0), vec![RETURN]].concat();
    let basepri = |value| vec![set(0, value), 0xF380, 0x8811];
    let main = [basepri(0x40), lines(1), vec![NOP, NOP], say(2), basepri(0), vec![NOP], say(3)].concat();
    let mut masked = Machine::new(&main, &[(16, &handler)]).enable(0, 0x40);
    masked.run_to_breakpoint();
    assert_eq!(masked.log(), [2, 1, 3]);
    let mut urgent = Machine::new(&main, &[(16, &handler)]).enable(0, 0x20);
    urgent.run_to_breakpoint();
    assert_eq!(urgent.log(), [1, 2, 3]);
}

#[test]
fn basepri_max_only_gets_stricter() {
    let max = |value| vec![set(0, value), 0xF380, 0x8812, 0xF3EF, 0x8011, 0xF848, 0x0B04];
    let main = [max(0x80), max(0xA0), max(0x40), max(0)].concat();
    let mut machine = Machine::new(&main, &[]);
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [0x80, 0x80, 0x40, 0x40]);
}

#[test]
fn wfi_wakes_under_primask_without_a_handler() {
    let handler = [log(7).to_vec(), lines(0), vec![RETURN]].concat();
    let main = [vec![set(7, 0), CPSID, WFI, set(7, 5), CPSIE, NOP], say(6)].concat();
    let mut machine = Machine::new(&main, &[(16, &handler)]).enable(0, 0);
    assert_eq!(machine.run(100), Stop::Sleeping);
    assert!(machine.cpu.is_sleeping());
    assert_eq!(machine.run(100), Stop::Sleeping, "nothing happened");
    let slept_until = machine.cpu.now() + 1000;
    machine.cpu.advance_to(slept_until);
    machine.board.lines = 1;
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [5, 6], "first what follows WFI, then the handler");
    assert!(machine.cpu.instructions() < 30, "sleep is no instruction");
}

#[test]
fn events_are_remembered_until_wfe() {
    let main = [vec![SEV, WFE], say(1), vec![WFE], say(2)].concat();
    let handler = [say(7), lines(0), vec![RETURN]].concat();
    let mut machine = Machine::new(&main, &[(16, &handler)]).enable(0, 0);
    assert_eq!(machine.run(100), Stop::Sleeping);
    assert_eq!(machine.log(), [1]);
    machine.board.lines = 1;
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [1, 7, 2], "an exception is an event");
}

#[test]
fn a_pending_interrupt_is_an_event_where_asked_for() {
    let main = [poke(0xE000_ED10, 1 << 4), vec![WFE], say(1)].concat();
    let mut machine = Machine::new(&main, &[]);
    assert_eq!(machine.run(100), Stop::Sleeping);
    machine.board.lines = 1;
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [1], "it is not enabled, so no handler ran");
}

#[test]
fn sleep_on_exit_waits_after_the_last_handler() {
    let main = [poke(0xE000_ED10, 1 << 1), lines(1), vec![NOP], say(1)].concat();
    let handler = [say(7), lines(0), vec![RETURN]].concat();
    let mut machine = Machine::new(&main, &[(16, &handler)]).enable(0, 0);
    assert_eq!(machine.run(100), Stop::Sleeping);
    assert_eq!(machine.log(), [7]);
    machine.board.lines = 1;
    assert_eq!(machine.run(100), Stop::Sleeping);
    assert_eq!(machine.log(), [7, 7]);
}

#[test]
fn floating_point_state_is_part_of_the_frame() {
    let switch_on = poke(0xE000_ED88, 0xF << 20);
    let one = vec![0xEEB7, 0x0A00]; // vmov.f32 s0, #1.0
    let double = vec![0xEE30, 0x0A00]; // vadd.f32 s0, s0, s0
    let read = vec![0xEE10, 0x2A10, 0xF848, 0x2B04]; // vmov r2, s0, and log it
    let handler = [vec![0x466B /* mov r3, sp */, 0xF848, 0x3B04, 0xF848, 0xEB04], double.clone(), double];
    let handler = [handler.concat(), lines(0), vec![RETURN]].concat();
    let main = [switch_on, lines(1), vec![NOP], one, lines(1), vec![NOP], read].concat();
    let mut machine = Machine::new(&main, &[(16, &handler)]).enable(0, 0);
    machine.run_to_breakpoint();
    let one = 1_f32.to_bits();
    let expected = [STACK_TOP - 0x20, 0xFFFF_FFF9, STACK_TOP - 0x68, 0xFFFF_FFE9, one];
    assert_eq!(machine.log(), expected, "a short frame before the first use, a long one after it");
    assert_eq!(machine.cpu.lowest_stack_pointer(), STACK_TOP - 0x68);
}

#[test]
fn frames_are_aligned_to_eight_bytes() {
    let main = [vec![0xB081 /* sub sp, #4 */], lines(1), vec![NOP, 0x466A /* mov r2, sp */], log(2).to_vec()].concat();
    let handler = [vec![0x466B], log(3).to_vec(), lines(0), vec![RETURN]].concat();
    let mut machine = Machine::new(&main, &[(16, &handler)]).enable(0, 0);
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [STACK_TOP - 4 - 0x24, STACK_TOP - 4]);
}

#[test]
fn pend_sv_runs_after_everything_more_urgent() {
    let priorities = poke(PEND_SV_AND_SYS_TICK_PRIORITIES, 0x00E0_0000);
    let main = [priorities, lines(1), vec![NOP], say(3)].concat();
    let handler = [poke(ICSR, 1 << 28), say(1), lines(0), vec![RETURN]].concat();
    let pend_sv = [say(2), vec![RETURN]].concat();
    let mut machine = Machine::new(&main, &[(16, &handler), (14, &pend_sv)]).enable(0, 0x40);
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [1, 2, 3]);
    assert_eq!(machine.cpu.counts().tail_chained, 1);
}

#[test]
fn svc_calls_and_returns_behind_itself() {
    let main = [vec![SVC], say(2)].concat();
    let handler = [say(1), vec![RETURN]].concat();
    let mut machine = Machine::new(&main, &[(11, &handler)]);
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [1, 2]);
}

#[test]
fn the_system_timer_ticks_every_reload_plus_one_cycles() {
    let main = [poke(0xE000_E014, 49), poke(0xE000_E018, 0), poke(0xE000_E010, 3), vec![FOREVER]].concat();
    let tick = [vec![0x3701 /* adds r7, #1 */, RETURN]].concat();
    let mut machine = Machine::new(&main, &[(15, &tick)]);
    assert_eq!(machine.run(1040), Stop::TimeReached);
    assert_eq!(machine.cpu.register(7), 20);
}

#[test]
fn an_exception_breaks_a_reservation() {
    let exclusive = |between: Vec<u16>| {
        let load = vec![0xE854, 0x3F00]; // ldrex r3, [r4]
        let store = vec![0xE844, 0x3200]; // strex r2, r3, [r4]
        [constant(4, LOG + 0x100).to_vec(), load, between, store, log(2).to_vec()].concat()
    };
    let handler = [lines(0), vec![RETURN]].concat();
    let main = [exclusive(vec![NOP]), exclusive([lines(1), vec![NOP]].concat()), exclusive(vec![0xF3BF, 0x8F2F])];
    let mut machine = Machine::new(&main.concat(), &[(16, &handler)]).enable(0, 0);
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [0, 1, 1], "undisturbed, after an exception, after CLREX");
}

#[test]
fn an_it_block_survives_an_interrupt_at_every_place() {
    // cmp r0, r0; itete eq; then four additions of 1, 2, 4 and 8, of which the first and the third count.
    let block = [0x4280, 0xBF0B, 0x3701, 0x3702, 0x3704, 0x3708];
    let handler = [vec![set(0, 1), 0x2800 /* cmp r0, #0 */], lines(0), vec![RETURN]].concat();
    for place in 0..7 {
        let mut machine = Machine::new(&block, &[(16, &handler)]).enable(0, 0);
        machine.run(place);
        machine.board.lines = 1;
        machine.run_to_breakpoint();
        assert_eq!(machine.cpu.register(7), 5, "interrupted after {place} instructions");
        assert_eq!(machine.cpu.counts().exceptions, 1);
    }
}

#[test]
fn a_thread_on_the_process_stack_leaves_the_main_stack_to_handlers() {
    let process_top = RAM_START + 0x800;
    let switch = vec![0xF380, 0x8809, set(0, 2), 0xF380, 0x8814]; // msr psp, r0; msr control, 2
    let main = [constant(0, process_top).to_vec(), switch, lines(1), vec![NOP, 0x466A], log(2).to_vec()].concat();
    let handler = [vec![0x466B], log(3).to_vec(), log(14).to_vec(), lines(0), vec![RETURN]].concat();
    let mut machine = Machine::new(&main, &[(16, &handler)]).enable(0, 0);
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [STACK_TOP, 0xFFFF_FFFD, process_top]);
    assert_eq!(machine.cpu.lowest_stack_pointer(), STACK_TOP, "the process stack is another one");
}

#[test]
fn the_vector_table_can_be_moved() {
    let main = [poke(0xE000_ED08, 0x2000), lines(1), vec![NOP], say(2)].concat();
    let handler = [say(1), lines(0), vec![RETURN]].concat();
    let mut machine = Machine::new(&main, &[(20, &handler)]).enable(0, 0);
    let target = (HANDLERS + 20 * HANDLER_ROOM) | 1;
    assert!(machine.memory.load_flash(0x2000 + 4 * 16, &target.to_le_bytes()));
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [1, 2]);
}

#[test]
fn nvic_registers_enable_pend_and_rank() {
    let main = [
        poke(0xE000_E400, 0x2040_6080),
        poke(0xE000_E100, 0b1111),
        vec![CPSID],
        poke(0xE000_E200, 0b1011),
        poke(0xE000_EF00, 2),
        poke(0xE000_E280, 0b0001),
        vec![CPSIE, NOP],
        say(9),
    ]
    .concat();
    let [a, b, c, d] = [1, 2, 3, 4].map(|number| [say(number), vec![RETURN]].concat());
    let mut machine = Machine::new(&main, &[(16, &a), (17, &b), (18, &c), (19, &d)]);
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [4, 3, 2, 9], "the first was taken back, the others come by priority");
    assert_eq!(machine.system(0xE000_E400), 0x2040_6080);
    assert_eq!(machine.system(0xE000_E180), 0b1111);
}
