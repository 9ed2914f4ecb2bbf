//! Code that changes, counters, and other things around instructions.

use super::super::decode::decode;
use super::super::op::Op;
use super::*;

#[test]
fn code_in_ram_may_change_under_way() {
    // Writes "movs r2, #1; bx lr" to RAM, calls it, changes the number to 2 and calls it again.
    let write = |half: u32| [constant(0, half).to_vec(), vec![0x6020 /* str r0, [r4] */]].concat();
    let call = vec![0x47A8 /* blx r5 */, 0xF848, 0x2B04];
    let place = [constant(4, RAM_START).to_vec(), constant(5, RAM_START | 1).to_vec()].concat();
    let main = [place, write(0x4770_2201), call.clone(), write(0x4770_2202), call].concat();
    let mut machine = Machine::new(&main, &[]);
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [1, 2]);
}

#[test]
fn flash_that_was_programmed_is_decoded_anew() {
    let routine = 0x3000;
    let place = [constant(4, routine).to_vec(), constant(5, routine | 1).to_vec()].concat();
    let call = vec![0x47A8, 0xF848, 0x2B04];
    // The flash holds "movs r2, #3"; clearing a bit makes it "movs r2, #1".
    let main = [place, call.clone(), constant(0, 0x4770_2201).to_vec(), vec![0x6020], call].concat();
    let mut machine = Machine::new(&main, &[]);
    assert!(machine.memory.load_flash(routine, &0x4770_2203_u32.to_le_bytes()));
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [3, 3], "a store is a request; nobody here writes it");
    assert_eq!(machine.board.writes, [(routine, 0x4770_2201)], "the flash controller was asked");

    assert!(machine.memory.program_flash(routine, &[1, 0x22, 0x70, 0x47]));
    machine.cpu.reset(&machine.memory);
    machine.cpu.state.r[8] = LOG;
    machine.run_to_breakpoint();
    assert_eq!(machine.log(), [1, 1], "what the flash controller did is seen");
}

#[test]
fn the_cycle_counter_counts_cycles() {
    let read =
        [constant(4, 0xE000_1004).to_vec(), vec![0x6822 /* ldr r2, [r4] */], vec![NOP; 7], vec![0x6823]].concat();
    let main = [poke(0xE000_EDFC, 1 << 24), poke(0xE000_1000, 1), read, vec![0x1A9A /* subs r2, r3, r2 */]].concat();
    let mut ideal = Machine::new(&main, &[]);
    ideal.run_to_breakpoint();
    assert_eq!(ideal.cpu.register(2), 8);
    // The load takes two cycles and leaves time to fetch; seven short instructions from flash take one and a half each.
    let mut timed = Machine::with(Cycles::Uncached, &main, &[]);
    timed.run_to_breakpoint();
    assert_eq!(timed.cpu.register(2), 2 + 10);
}

#[test]
fn running_in_slices_changes_nothing() {
    let handler = [say(7), lines(0), vec![RETURN]].concat();
    let main = [lines(1), say(1), lines(1), say(2)].concat();
    for cycles in [Cycles::Ideal, Cycles::Cached, Cycles::Uncached] {
        let build = || {
            let mut machine = Machine::with(cycles, &main, &[(16, &handler)]).enable(0, 0);
            machine.board.cache = true;
            machine
        };
        let mut whole = build();
        whole.run_to_breakpoint();
        let mut sliced = build();
        loop {
            let until = sliced.cpu.now() + 1;
            if sliced.run(1) != Stop::TimeReached {
                break;
            }
            assert_eq!(sliced.cpu.now(), until, "a run never lasts longer than it was told to");
        }
        assert_eq!(sliced.log(), whole.log());
        assert_eq!((sliced.cpu.now(), sliced.cpu.awake()), (whole.cpu.now(), whole.cpu.awake()), "{cycles:?}");
    }
}

#[test]
fn the_lowest_stack_pointer_is_remembered() {
    let main = [0xB500, 0xB090 /* sub sp, #64 */, 0xB010 /* add sp, #64 */, 0xF85D, 0xEB04];
    let mut machine = Machine::new(&main, &[]);
    machine.run_to_breakpoint();
    assert_eq!(machine.cpu.register(13), STACK_TOP);
    assert_eq!(machine.cpu.lowest_stack_pointer(), STACK_TOP - 68);
}

#[test]
fn time_goes_on_over_a_reset() {
    let mut machine = Machine::new(&[NOP, NOP], &[]);
    machine.run_to_breakpoint();
    machine.cpu.advance_to(1000);
    let instructions = machine.cpu.instructions();
    machine.cpu.reset(&machine.memory);
    assert_eq!((machine.cpu.now(), machine.cpu.instructions()), (1000, instructions));
    machine.cpu.advance_to(10);
    assert_eq!(machine.cpu.now(), 1000, "time never goes back");
}

#[test]
fn every_encoding_can_be_decoded() {
    let mut unknown = 0_u32;
    for first in 0..=u16::MAX {
        for second in [0x0000, 0x0A10, 0x0BFF, 0x5A5A, 0x8000, 0xB7FE, 0xF0F0, 0xFB80, 0xFFFF] {
            unknown += u32::from(matches!(decode(MAIN, first, second).op, Op::Unknown { .. }));
        }
    }
    assert!(unknown > 0, "there are encodings that mean nothing");
}
