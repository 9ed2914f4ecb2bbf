//! Sessions, checked exhaustively: two nodes with the core's own [`common::link::session::Session`] and every order of what
//! can happen between them, within bounds.
//!
//! Covered: frames lost at any moment but not reordered or repeated, at most `window` of them under way in each direction
//! (a frame is made at one moment and arrives at another); answers that overtake frames; links taken down by either end,
//! wanted again at once or only later; neighbours forgotten; reboots; messages both ways, bundled, repeated and
//! acknowledged in all three ways; questions without messages. And an outsider that records every frame of every boot and
//! plays any of them at any later time, in any order and as often as it likes, to either node, which accepts it where it does
//! not know better: frame numbers count only for as long as the node knows their sender. Answers are bound to a random challenge,
//! so that old ones are of no use. What is bounded is how many frames the nodes send, or where they send without end, how many
//! of those the outsider keeps. Not covered: tokens that start over, which end the epoch, and epochs that do, of which there are
//! 65,534.

#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test stops where it fails")]

mod end;
#[path = "../support/fold.rs"]
mod fold;
mod outsider;
mod pair;
mod search;

use end::{Echo, Trust};
use outsider::Recorder;
use pair::{Action, Budget, Pair};
use search::search;

const NOTHING: Budget = Budget { downs: 0, evictions: 0, reboots: 0, letters: [0, 0], frames: Budget::UNBOUNDED };

/// More states than this do not fit the memory of an ordinary PC.
const MOST: usize = 40_000_000;

fn check(name: &str, window: usize, budget: Budget) {
    let pair =
        Pair { compare: Echo::Whole, trust: Trust::Proven, budget, window, recorder: Recorder::Nobody, is_live: true };
    match search(&pair, MOST) {
        Ok(states) => println!("{name}: {states} states, window {window}, {budget:?}"),
        Err((path, breach)) => panic!("{name}: {breach}: {path:?}"),
    }
}

/// Somebody has the time for more: `RINGLEADER_DEEP=1 cargo test -p common --test link_model`.
fn is_deep() -> bool {
    std::env::var_os("RINGLEADER_DEEP").is_some()
}

#[test]
fn sessions_agree_although_links_are_taken_down() {
    check("one message each way", 1, Budget { downs: 2, letters: [1, 1], ..NOTHING });
    check("two frames under way", 2, Budget { downs: 1, letters: [1, 0], ..NOTHING });
    check("bundles", 1, Budget { downs: 1, letters: [2, 1], ..NOTHING });
    if is_deep() {
        check("two frames under way, one message each way", 2, Budget { downs: 1, letters: [1, 1], ..NOTHING });
        check("bundles and two downs", 1, Budget { downs: 2, letters: [2, 2], ..NOTHING });
    }
}

#[test]
fn sessions_agree_although_nodes_reboot() {
    check("one message each way", 1, Budget { reboots: 1, letters: [1, 1], ..NOTHING });
    check("two frames under way", 2, Budget { reboots: 1, letters: [1, 0], ..NOTHING });
    if is_deep() {
        check("two boots, and a down", 1, Budget { reboots: 2, downs: 1, letters: [1, 1], ..NOTHING });
        check("two frames under way, and a down", 2, Budget { reboots: 1, downs: 1, letters: [1, 0], ..NOTHING });
    }
}

#[test]
fn sessions_agree_although_neighbours_are_forgotten() {
    check("and the link taken down", 1, Budget { evictions: 1, downs: 1, letters: [1, 1], ..NOTHING });
    check("two frames under way", 2, Budget { evictions: 1, downs: 1, ..NOTHING });
    check("everything", 1, Budget { evictions: 1, downs: 1, reboots: 1, letters: [1, 0], ..NOTHING });
    if is_deep() {
        check("everything", 1, Budget { evictions: 1, downs: 2, reboots: 1, letters: [1, 1], ..NOTHING });
        check("everything, bundles", 1, Budget { evictions: 1, downs: 1, reboots: 1, letters: [2, 2], ..NOTHING });
    }
}

#[test]
fn an_echo_without_the_epoch_is_not_enough() {
    let budget = Budget { reboots: 1, letters: [1, 1], downs: 1, ..NOTHING };
    for is_live in [true, false] {
        let found = search(
            &Pair {
                compare: Echo::WithoutEpoch,
                trust: Trust::Proven,
                budget,
                window: 2,
                recorder: Recorder::Nobody,
                is_live,
            },
            MOST,
        );
        let (path, breach) = found.expect_err("the mutant breaks a promise");
        println!("a counterexample of {} steps: {breach}: {path:?}", path.len());
    }
}

#[test]
fn an_outsider_that_has_recorded_everything_brings_no_link_up_and_no_message_through() {
    let all = Recorder::Everything;
    keep_out("a board that restarts", all, Budget { reboots: 1, frames: 7, ..NOTHING });
    keep_out("two restarts", all, Budget { reboots: 2, frames: 5, ..NOTHING });
    keep_out("a neighbour that is forgotten", all, Budget { evictions: 1, downs: 1, frames: 7, ..NOTHING });
    keep_out("messages", all, Budget { reboots: 1, letters: [1, 0], frames: 6, ..NOTHING });
    if is_deep() {
        keep_out("a board that restarts", all, Budget { reboots: 1, frames: 9, ..NOTHING });
        keep_out("two restarts", all, Budget { reboots: 2, frames: 7, ..NOTHING });
        keep_out("a neighbour that is forgotten", all, Budget { evictions: 1, downs: 1, frames: 9, ..NOTHING });
        keep_out("messages", all, Budget { reboots: 1, letters: [1, 0], frames: 7, ..NOTHING });
    }
}

#[test]
fn an_outsider_that_has_recorded_any_one_frame_brings_no_link_up_however_much_is_sent() {
    let one = Recorder::Some(1);
    keep_out("a board that restarts", one, Budget { reboots: 1, ..NOTHING });
    if is_deep() {
        keep_out("a neighbour that is forgotten", one, Budget { evictions: 1, downs: 1, ..NOTHING });
        keep_out("messages", one, Budget { reboots: 1, letters: [1, 0], ..NOTHING });
        keep_out("two restarts", one, Budget { reboots: 2, ..NOTHING });
        keep_out("a board that restarts, two frames", Recorder::Some(2), Budget { reboots: 1, ..NOTHING });
    }
}

/// Only safety: that honest frames lead to agreement is checked without the outsider.
fn keep_out(name: &str, recorder: Recorder, budget: Budget) {
    let pair = Pair { compare: Echo::Whole, trust: Trust::Proven, budget, window: 1, recorder, is_live: false };
    match search(&pair, MOST) {
        Ok(states) => println!("{name}: {states} states, {recorder:?}, {budget:?}"),
        Err((path, breach)) => panic!("{name}: {breach}: {path:?}"),
    }
}

#[test]
fn without_challenges_an_outsider_brings_up_a_link_to_a_board_that_is_gone() {
    let (budget, recorder) = (Budget { reboots: 1, frames: 6, ..NOTHING }, Recorder::Everything);
    let pair = Pair { compare: Echo::WithoutEpoch, trust: Trust::Blind, budget, window: 1, recorder, is_live: false };
    let (path, breach) = search(&pair, MOST).expect_err("the mutant breaks a promise");
    println!("a counterexample of {} steps: {breach}: {path:?}", path.len());
    assert!(
        matches!(path.last(), Some(Action::Replay(..))) && breach.contains("has not answered"),
        "{breach}: {path:?}"
    );
}
