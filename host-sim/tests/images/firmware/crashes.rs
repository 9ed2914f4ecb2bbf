//! Crashes. A test overwrites a function of the image in flash. The board must leave a record, restart and report it, and
//! restart ever more slowly if it keeps crashing.

use common::host_link::{Crash, CrashKind, ResetReason, ToHost, Warning};

use super::bench::{Bench, SERIAL, any, config, program, provisioned};

/// The function that takes bytes from a host: a test decides when it runs.
const ACCEPT: &str = "14CommandDecoder6accept";

/// The address of the function whose mangled name contains `part`.
fn function(part: &str) -> u32 {
    let program = program();
    let mut found =
        program.image().symbols.iter().filter(|symbol| symbol.name.contains(part) && !symbol.name.starts_with('$'));
    let function = found.next().unwrap_or_else(|| panic!("the image has no function {part}"));
    function.address & !1
}

/// Replaces the first instructions of a function, and returns the old ones.
fn patch(bench: &mut Bench, address: u32, halves: &[u16]) -> Vec<u8> {
    let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
    let board = bench.network.board(0);
    let before = board.memory().flash()[address as usize..][..bytes.len()].to_vec();
    assert!(board.load_flash(address, &bytes));
    before
}

fn running() -> Bench {
    let mut bench = Bench::new(vec![provisioned(1, &config(1))]);
    assert_eq!(bench.hello(0).crash, None);
    bench.run_ms(2_000);
    bench
}

/// Breaks the function, lets it run, and returns what the next boot reports.
fn crash_with(bench: &mut Bench, halves: &[u16], limit_ms: u64) -> (ResetReason, Crash) {
    patch(bench, function(ACCEPT), halves);
    bench.said(0);
    bench.network.board(0).put_serial(SERIAL, &[1]);
    let hello = bench
        .wait_for(0, limit_ms, |message| if let ToHost::Hello(hello) = message { Some(hello.clone()) } else { None });
    (hello.reset, hello.crash.expect("the next boot tells what was"))
}

#[test]
fn a_panic_is_recorded_and_told() {
    let mut bench = running();
    let (at, panic) = (function(ACCEPT), function("panic_fmt"));
    // A load of the program counter from behind the instruction, wherever that is aligned.
    let [low, high] = [panic | 1, (panic | 1) >> 16].map(|half| u16::try_from(half & 0xFFFF).expect("a half"));
    let jump =
        if at.is_multiple_of(4) { vec![0xF8DF, 0xF000, low, high] } else { vec![0xBF00, 0xF8DF, 0xF000, low, high] };
    let (reset, crash) = crash_with(&mut bench, &jump, 3_000);
    assert_eq!((reset, crash.kind, crash.in_a_row), (ResetReason::Software, CrashKind::Panic, 1));
    assert!(crash.uptime_s >= 1 && crash.pc != 0, "{crash:?}");
    assert!(any(&bench.log(0), "panic: called from"));
}

#[test]
fn a_hard_fault_is_recorded_with_its_place() {
    let mut bench = running();
    let (reset, crash) = crash_with(&mut bench, &[0xDE00], 3_000);
    assert_eq!((reset, crash.kind), (ResetReason::Software, CrashKind::HardFault));
    assert_eq!(crash.pc, function(ACCEPT), "an undefined instruction");
}

#[test]
fn a_stack_that_overflows_is_told_from_a_fault() {
    let mut bench = running();
    // Pushes nine registers in an endless loop.
    let (reset, crash) = crash_with(&mut bench, &[0xB5FF, 0xE7FD], 3_000);
    assert_eq!((reset, crash.kind), (ResetReason::Software, CrashKind::StackOverflow));
}

#[test]
fn a_thread_that_hangs_is_ended_by_the_watchdog() {
    let mut bench = running();
    let (reset, crash) = crash_with(&mut bench, &[0xE7FE], 12_000);
    assert_eq!((reset, crash.kind), (ResetReason::Watchdog, CrashKind::Stuck));
    assert_eq!(bench.network.boards()[0].counts().watchdog_resets, 1);
}

#[test]
fn a_radio_that_does_not_get_on_is_ended_by_the_watchdog() {
    let mut bench = running();
    // The interrupt in which the radio's driver runs returns at once.
    let handler = function("EGU1_SWI1");
    let before = patch(&mut bench, handler, &[0x4770]);
    bench.log(0);
    for _ in 0..20 {
        bench.run_ms(1_000);
        if any(&bench.log(0), "the radio makes no progress") {
            assert!(bench.network.board(0).load_flash(handler, &before));
            let hello =
                bench.wait_for(
                    0,
                    10_000,
                    |message| {
                        if let ToHost::Hello(hello) = message { Some(hello.clone()) } else { None }
                    },
                );
            assert_eq!(hello.reset, ResetReason::Watchdog);
            assert_eq!(hello.crash.map(|crash| crash.kind), Some(CrashKind::Stuck));
            bench.run_ms(500);
            assert!(any(&bench.log(0), "the radio"), "the next boot names the part");
            return;
        }
    }
    panic!("nobody noticed");
}

#[test]
fn a_board_that_crashes_at_once_waits_longer_each_time() {
    let mut bench = running();
    patch(&mut bench, function(ACCEPT), &[0xDE00]);
    let mut waits = Vec::new();
    for _ in 0..4 {
        bench.said(0);
        bench.network.board(0).put_serial(SERIAL, &[1]);
        bench.hello(0);
        bench.run_ms(100);
        assert!(bench.said(0).contains(&ToHost::Warning(Warning::ResetLoop)));
        let log = bench.log(0);
        let line = log.iter().find(|line| line.contains("keeping quiet")).unwrap_or_else(|| panic!("{log:?}"));
        waits.push(line.clone());
        // It is still quiet, and nothing of it is on the air.
        bench.network.ether_mut().sent.clear();
        bench.run_ms(1_500);
        assert!(bench.network.ether_mut().sent.is_empty());
    }
    let seconds = ["for 2 s after 1 ", "for 4 s after 2 ", "for 8 s after 3 ", "for 16 s after 4 "];
    assert!(waits.iter().zip(seconds).all(|(line, wait)| line.contains(wait)), "{waits:?}");
    assert_eq!(bench.network.boards()[0].counts().watchdog_resets, 0);

    // The log says how a person ends the waiting, and that works.
    assert!(waits[3].contains("press reset or pull the plug"), "{waits:?}");
    bench.run_ms(2_000);
    bench.network.power_off(0);
    bench.network.power_on(0);
    assert!(is_on_the_air(&mut bench), "{:?}", bench.log(0));
}

/// Whether the board sends within three seconds of its start.
fn is_on_the_air(bench: &mut Bench) -> bool {
    bench.network.ether_mut().sent.clear();
    bench.run_ms(3_000);
    !bench.network.ether_mut().sent.is_empty()
}

#[test]
fn a_pulled_plug_is_not_punished_and_a_supply_that_breaks_down_is() {
    let mut bench = running();
    for seconds in [3, 10, 30] {
        bench.run_ms(seconds * 1_000);
        bench.network.power_off(0);
        bench.run_ms(500);
        bench.network.power_on(0);
        assert!(is_on_the_air(&mut bench), "{:?}", bench.log(0));
    }
    assert!(!any(&bench.log(0), "keeping quiet"));
    for _ in 0..3 {
        bench.network.power_off(0);
        bench.network.power_on(0);
        bench.run_ms(1_000);
    }
    assert!(any(&bench.log(0), "keeping quiet for 4 s after 2 in a row"));
}
