//! What instructions cost, with small programs whose cycles the processor's manual tells.

use super::*;

/// In RAM, where nothing waits for flash.
const CODE: u32 = RAM_START + 0x400;
/// Where r1 and r4 point: at a word that holds its own address.
const DATA: u32 = RAM_START + 0x200;

/// The cycles that a program takes. It ends with a branch or behind its last instruction.
fn cycles_with(registers: &[(usize, u32)], code: &[u16]) -> u64 {
    let mut machine = Machine::with(Cycles::Uncached, &[], &[(11, &[RETURN])]);
    for (index, half) in (0..).zip(code.iter().chain(&[BKPT; 8])) {
        assert!(machine.memory.write_ram(CODE + 2 * index, Width::Half, u32::from(*half)));
    }
    assert!(machine.memory.write_ram(DATA, Width::Word, DATA));
    let coprocessors = 0xE000_ED88;
    super::super::Core { cpu: &mut machine.cpu, memory: &mut machine.memory, io: &mut machine.board }
        .write_system(coprocessors, Width::Word, 0xF << 20)
        .expect("a register");
    machine.cpu.state.pc = CODE;
    (machine.cpu.state.r[1], machine.cpu.state.r[4]) = (DATA, DATA);
    for &(register, value) in registers {
        machine.cpu.state.r[register] = value;
    }
    machine.run_to_breakpoint();
    // The breakpoint counts as one.
    machine.cpu.now() - 1
}

fn cycles(code: &[u16]) -> u64 {
    cycles_with(&[], code)
}

#[test]
fn arithmetic_takes_one_cycle() {
    assert_eq!(cycles(&[]), 0);
    assert_eq!(cycles(&[NOP, set(0, 1), 0x1840 /* adds r0, r0, r1 */, 0x4348 /* muls r0, r1 */]), 4);
    assert_eq!(cycles(&[0xFBA1, 0x2300 /* umull r2, r3, r1, r0 */]), 1);
    assert_eq!(cycles(&[0xFB01, 0x3200 /* mla r2, r1, r0, r3 */]), 2);
}

#[test]
fn loads_share_a_cycle_with_their_neighbours() {
    assert_eq!(cycles(&[load(0, 1), NOP]), 3);
    assert_eq!(cycles(&[load(0, 1), load(2, 1), load(3, 1), NOP]), 5, "three loads take four");
    assert_eq!(cycles(&[load(1, 4), load(0, 1), NOP]), 5, "the second needs the first");
    assert_eq!(cycles(&[0xF851, 0x0B04 /* ldr r0, [r1], #4 */, load(2, 4), NOP]), 5, "a base that moves");
    assert_eq!(cycles(&[0x3104 /* adds r1, #4 */, load(0, 1), NOP]), 5, "an address fresh from arithmetic");
    assert_eq!(cycles_with(&[(1, DATA + 1)], &[load(0, 1), NOP]), 4, "not aligned");
}

#[test]
fn stores_leave_their_data_to_a_buffer() {
    assert_eq!(cycles(&[store(0, 1), store(2, 1), store(3, 1), NOP]), 4);
    assert_eq!(cycles_with(&[(2, 0)], &[0x5088 /* str r0, [r1, r2] */, NOP]), 3, "not with a register as offset");
}

#[test]
fn lists_take_one_cycle_and_one_for_each_register() {
    assert_eq!(cycles(&[0xC90C /* ldmia r1!, {r2, r3} */]), 3);
    assert_eq!(cycles(&[0xB40F /* push {r0-r3} */, 0xBC0F /* pop {r0-r3} */]), 10);
    assert_eq!(cycles(&[0xE9D1, 0x2300 /* ldrd r2, r3, [r1] */]), 3);
}

#[test]
fn a_division_ends_early() {
    let divide = |n, m| cycles_with(&[(1, n), (2, m)], &[0xFBB1, 0xF0F2 /* udiv r0, r1, r2 */]);
    assert_eq!((divide(3, 1000), divide(1000, 0), divide(u32::MAX, 1)), (2, 2, 12));
    assert!((3..12).contains(&divide(1000, 10)));
    let signed = |n: i32, m: i32| {
        cycles_with(&[(1, n.cast_unsigned()), (2, m.cast_unsigned())], &[0xFB91, 0xF0F2 /* sdiv r0, r1, r2 */])
    };
    assert_eq!((signed(-3, 1000), signed(i32::MIN, -1)), (2, 12));
}

#[test]
fn a_branch_refills_the_pipeline_where_it_is_taken() {
    let compare = 0x4280; // cmp r0, r0
    assert_eq!(cycles(&[compare, 0xD1FF /* bne to the next but one */, NOP]), 3, "not taken");
    assert_eq!(cycles(&[compare, 0xD000 /* beq over the NOP */, NOP]), 3, "taken");
    assert_eq!(cycles(&[0xE000 /* b over the NOP */, NOP]), 2);
    assert_eq!(cycles(&[0xE000, NOP, 0xEA81, 0x0002 /* eor r0, r1, r2 */]), 3, "a long one at a whole word");
    assert_eq!(cycles(&[NOP, 0xE000, NOP, 0xEA81, 0x0002]), 5, "a long one across two words");
    assert_eq!(cycles_with(&[(0, (CODE + 4) | 1)], &[0x4700 /* bx r0 */, NOP]), 3);
    assert_eq!(cycles_with(&[(0, (CODE + 6) | 1)], &[0xB401 /* push {r0} */, 0xBD00 /* pop {pc} */, NOP]), 2 + 2 + 3);
    assert_eq!(cycles_with(&[(0, 3)], &[0x3801 /* subs r0, #1 */, 0xD1FD /* bne back */]), 3 * 3 - 1, "a loop");
}

#[test]
fn what_an_it_block_skips_takes_a_cycle() {
    let skipped = [0x4280 /* cmp r0, r0 */, 0xBF18 /* it ne */, load(0, 1)];
    assert_eq!(cycles(&skipped), 3);
}

#[test]
fn floating_point_takes_what_the_manual_says() {
    for (code, expected) in [
        ([0xEE30, 0x0A00], 1 /* vadd.f32 */),
        ([0xEE20, 0x0A00], 1 /* vmul.f32 */),
        ([0xEE00, 0x0A00], 3 /* vmla.f32 */),
        ([0xEE80, 0x0A00], 14 /* vdiv.f32 */),
        ([0xEEB1, 0x0AC0], 14 /* vsqrt.f32 */),
        ([0xED91, 0x0A00], 2 /* vldr s0, [r1] */),
        ([0xED91, 0x0B00], 3 /* vldr d0, [r1] */),
        ([0xEC91, 0x0A04], 5 /* vldmia r1, {s0-s3} */),
    ] {
        assert_eq!(cycles(&code), expected, "{code:X?}");
    }
}

#[test]
fn an_exception_takes_twelve_cycles_in_and_twelve_out() {
    // The handler lies in flash: its only instruction waits for it, and is a branch to a register.
    let handler = 1 + 2 + 2;
    assert_eq!(cycles(&[SVC]), 1 + 12 + handler + 12);
    let with_registers = cycles(&[0xEE30, 0x0A00, SVC]);
    assert_eq!(with_registers, 1 + 1 + 12 + handler + 12 + 2 * 17, "and the floating-point registers");
}

#[test]
fn chained_handlers_save_the_time_in_between() {
    let quiet = |line| [lines(line), vec![RETURN]].concat();
    let (first, second) = (quiet(0b10), quiet(0));
    let time = |both: bool| {
        let main = [lines(if both { 0b11 } else { 0b01 }), vec![NOP]].concat();
        let mut machine = Machine::with(Cycles::Uncached, &main, &[(16, &first), (17, &second)]).enable(0, 0);
        if both {
            machine = machine.enable(1, 0);
        }
        machine.run_to_breakpoint();
        (machine.cpu.now(), machine.cpu.counts())
    };
    let ((alone, _), (chained, counts)) = (time(false), time(true));
    assert_eq!((counts.exceptions, counts.tail_chained), (2, 1));
    let body = 2 * 3 + 2 * 3;
    assert!(chained - alone >= 6 && chained - alone < 6 + 2 * body, "{alone} and {chained}");
}

#[test]
fn data_from_flash_waits_whatever_the_cache_does() {
    assert_eq!(cycles_with(&[(1, 0)], &[load(0, 1), NOP]), 5);
    assert_eq!(cycles_with(&[(1, 0)], &[load(0, 1), load(2, 1), NOP]), 8);
}

/// The cycles of a loop of eight long additions, from flash.
fn turns_of_a_loop(setting: Cycles, cache: bool, turns: u16) -> u64 {
    let body = [0xEB00, 0x0001].repeat(8); // add r0, r0, r1
    let back = [0x3A01 /* subs r2, #1 */, 0xD1EE /* bne to the first addition */];
    let main = [&[set(2, turns), NOP][..], &body, &back].concat();
    let mut machine = Machine::with(setting, &main, &[]);
    machine.board.cache = cache;
    machine.run_to_breakpoint();
    machine.cpu.now()
}

#[test]
fn a_loop_in_the_cache_waits_for_nothing_after_its_first_turn() {
    let per_turn = |setting, cache| turns_of_a_loop(setting, cache, 11) - turns_of_a_loop(setting, cache, 10);
    assert_eq!(per_turn(Cycles::Ideal, true), 10);
    assert_eq!(per_turn(Cycles::Cached, true), 8 + 1 + 2);
    // Nine words, of three cycles each, and two wait states after the branch.
    let slow = per_turn(Cycles::Uncached, true);
    assert!((26..=30).contains(&slow), "{slow}");
    assert_eq!(per_turn(Cycles::Cached, false), slow, "the program left the cache off");
}
