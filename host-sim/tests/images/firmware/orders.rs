//! Commands in one order, with the image: what one board is told by its cable, all do.

use common::host_link::{Quantity, ToBoard, ToHost};
use common::orders::{Action, Command, Outcome, Register};
use common::types::NodeId;

use super::bench::{Bench, config, provisioned};

const TICKET: u32 = 77;

fn boards(count: u16) -> Bench {
    Bench::new((1..=count).map(|id| provisioned(u64::from(id), &config(id))).collect())
}

/// Submits a command at a board and waits for its end.
fn submit(bench: &mut Bench, number: usize, command: Command) -> Outcome {
    bench.tell(number, &ToBoard::Submit { ticket: TICKET, command });
    bench.wait_for(number, 45_000, |message| match message {
        ToHost::Submitted { ticket: TICKET, outcome } if outcome.is_final() => Some(*outcome),
        _ => None,
    })
}

/// How often a board has said its supply since it was last asked.
fn measurements(bench: &mut Bench, number: usize) -> usize {
    let is_supply = |message: &&ToHost| matches!(message, ToHost::Reading { quantity: Quantity::Supply, .. });
    bench.said(number).iter().filter(is_supply).count()
}

#[test]
fn a_command_at_one_board_reaches_all() {
    let mut bench = boards(5);
    bench.elect(30);
    let sample = |value| Command::Set { register: Register::SAMPLE, value };
    assert_eq!(submit(&mut bench, 3, sample(1_000)), Outcome::Applied { by: 5, of: 5 });
    (0..5).for_each(|number| _ = bench.said(number));
    bench.run_ms(6_000);
    for number in 0..5 {
        let count = measurements(&mut bench, number);
        assert!((5..=7).contains(&count), "board {number} measured {count} times in six seconds");
    }
    assert_eq!(submit(&mut bench, 0, sample(10)), Outcome::Refused, "out of range");
}

#[test]
fn one_board_is_found_and_restarted_through_another() {
    let mut bench = boards(3);
    bench.elect(30);
    let act = |action| Command::Act { action, target: NodeId(3) };
    (0..3).for_each(|number| _ = bench.log(number));
    assert_eq!(submit(&mut bench, 0, act(Action::Identify)), Outcome::Applied { by: 3, of: 3 });
    let logs: Vec<Vec<String>> = (0..3).map(|number| bench.log(number)).collect();
    let blinks: Vec<bool> = logs.iter().map(|log| log.iter().any(|line| line.contains("identifying"))).collect();
    assert_eq!(blinks, [false, false, true]);
    bench.tell(0, &ToBoard::Submit { ticket: TICKET, command: act(Action::Restart) });
    bench.run_ms(2_000);
    let boot = bench.hello(2).epoch;
    assert_eq!(boot, Some(2), "it restarts");
    bench.run_ms(8_000);
    assert_eq!(bench.snapshot(2).epoch, Some(2), "and only once, although it hears of the order again");
    assert_eq!(bench.snapshot(0).epoch, Some(1));
}

#[test]
fn what_was_ordered_holds_although_all_boards_lose_their_power() {
    let mut bench = boards(3);
    bench.elect(30);
    let sample = Command::Set { register: Register::SAMPLE, value: 1_000 };
    assert_eq!(submit(&mut bench, 1, sample), Outcome::Applied { by: 3, of: 3 });
    // It is in flash two seconds later.
    bench.run_ms(2_500);
    (0..3).for_each(|number| bench.network.power_off(number));
    bench.run_ms(1_000);
    (0..3).for_each(|number| bench.network.power_on(number));
    bench.elect(30);
    (0..3).for_each(|number| _ = bench.said(number));
    bench.run_ms(6_000);
    for number in 0..3 {
        let count = measurements(&mut bench, number);
        assert!((5..=7).contains(&count), "board {number} measured {count} times in six seconds");
    }
}

#[test]
fn a_board_is_made_leader_through_another() {
    let mut bench = boards(3);
    let leader = bench.elect(30);
    let next = NodeId(leader.0 % 3 + 1);
    let other = usize::from(next.0 % 3);
    let elect = Command::Act { action: Action::Elect, target: next };
    let outcome = submit(&mut bench, other, elect);
    assert!(matches!(outcome, Outcome::Applied { .. }), "{outcome}");
    bench.run_ms(3_000);
    for number in 0..3 {
        assert_eq!(bench.snapshot(number).leader, Some(next), "board {number}");
    }
}
