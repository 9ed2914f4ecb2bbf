//! A leading board that is to stop hands over before it does, no matter what makes it stop.

use common::host_link::ToBoard;
use common::orders::{Action, Command};
use common::types::NodeId;
use emulator::soc::Pin;

use super::bench::{Bench, config, provisioned};

/// The button for elections.
const ELECT: Pin = Pin::p0(11);

/// How long boards may disagree, or have no leader: an election of four in an ideal air takes a tenth of that.
const GAP_MS: u64 = 100;

/// A command takes this long to be agreed on.
const PATIENCE_MS: u64 = 12_000;

/// Four boards that have had a leader for long enough to know its successors, and the number of the board that leads.
fn four() -> (Bench, usize) {
    let mut bench = Bench::new((1..=4).map(|id| provisioned(u64::from(id), &config(id))).collect());
    let leader = bench.elect(30);
    bench.run_ms(4_000);
    (0..4).for_each(|number| _ = bench.log(number));
    (bench, usize::from(leader.0) - 1)
}

/// Lets time pass until all but the leader follow another; how long they did not agree. The leader itself may have been restarted
/// by then.
fn gap_ms(bench: &mut Bench, leader: usize) -> u64 {
    let mut followed = [NodeId(u16::try_from(leader + 1).expect("four")); 4];
    let (mut longest, mut since) = (0, 0);
    for millis in 1..=PATIENCE_MS {
        bench.run_ms(1);
        for (number, followed) in followed.iter_mut().enumerate() {
            for line in bench.log(number) {
                match line.strip_prefix("leader ").map(str::parse) {
                    Some(Ok(id)) => *followed = NodeId(id),
                    _ if line.starts_with("no leader") => *followed = NodeId(0),
                    _ => {}
                }
            }
        }
        let others: Vec<NodeId> = (0..4).filter(|number| *number != leader).map(|number| followed[number]).collect();
        let agree = others.iter().all(|other| *other == others[0] && other.0 != 0);
        if agree {
            since = millis;
        }
        longest = longest.max(millis - since);
        if agree && usize::from(others[0].0) != leader + 1 {
            return longest;
        }
    }
    panic!("nobody has taken over within {PATIENCE_MS} ms: {followed:?}");
}

#[test]
fn a_leader_whose_button_is_held_hands_over() {
    let (mut bench, leader) = four();
    bench.network.board(leader).drive(ELECT, Some(false));
    bench.run_ms(3_100);
    bench.network.board(leader).drive(ELECT, None);
    let gap = gap_ms(&mut bench, leader);
    assert!(gap <= GAP_MS, "{gap} ms");
    bench.run_ms(3_000);
    assert_ne!(usize::from(bench.elect(1).0), leader + 1, "it follows the one that took over");
}

#[test]
fn a_leader_whose_supply_runs_low_hands_over() {
    let (mut bench, leader) = four();
    bench.network.board(leader).soc_mut().set_supply(2_100);
    let gap = gap_ms(&mut bench, leader);
    assert!(gap <= GAP_MS, "{gap} ms");
}

#[test]
fn a_leader_hands_over_before_it_restarts() {
    let (ready, leader) = four();
    for by_air in [true, false] {
        let mut bench = ready.clone();
        if by_air {
            let target = NodeId(u16::try_from(leader + 1).expect("four"));
            let command = Command::Act { action: Action::Restart, target };
            bench.tell((leader + 1) % 4, &ToBoard::Submit { ticket: 1, command });
        } else {
            bench.tell(leader, &ToBoard::Reset { record: false });
        }
        let gap = gap_ms(&mut bench, leader);
        assert!(gap <= GAP_MS, "{gap} ms, by air: {by_air}");
        assert_eq!(bench.hello(leader).epoch, Some(2), "it restarts, by air: {by_air}");
    }
}
