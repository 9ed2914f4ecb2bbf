//! Same code, same bytes: the calls of a board's node, repeated to a node on the PC, make it send the same frames.

use common::host_link::Call;
use host_sim::cli::scenario_file::find;
use host_sim::emulated::report::BoardReport;
use host_sim::field::rerun::rerun;

use super::support::{hold, image, scenario};

/// Replays a board's record on the PC; returns how many frames were the same.
fn replay(board: &BoardReport) -> usize {
    assert_eq!(board.lost_messages, 0, "the record has no gaps");
    let same = rerun(&board.config, &[], &board.calls).expect("the record begins with the start of the node");
    same.unwrap_or_else(|difference| panic!("node {}: {difference}", board.id)).frames
}

#[test]
fn a_boards_record_gives_the_same_frames_on_the_pc() {
    let ring = find("boards5").unwrap();
    let mesh = scenario(
        "name = \"record\"\nduration = \"20 s\"\n[topology]\nkind = \"line\"\nnodes = 3\nspacing = \"20 m\"\n\
         [radio]\nmodel = \"usual\"\n[protocol]\nkind = \"hierarchy\"\n",
    );
    for (scenario, id, least) in [(&ring, 2, 50), (&mesh, 2, 20)] {
        let mut image = image(true);
        image.record.insert(id);
        let (_, boards) = hold(scenario, 4, &image);
        let board = boards.iter().find(|board| board.id == id).expect("it is a board");
        let received = board.calls.iter().filter(|(_, call)| matches!(call, Call::Frame { .. })).count();
        let frames = replay(board);
        assert!(frames > least && received > least, "{}: {frames} frames sent, {received} received", scenario.name);
    }
}
