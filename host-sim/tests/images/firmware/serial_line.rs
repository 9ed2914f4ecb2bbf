//! The host link over the serial line.

use common::host_link::{ConfigAnswer, Decoder, Page, ToBoard, ToHost};
use common::types::NodeId;

use super::bench::{Bench, board, config, frame_of, page_of};

const PORT: usize = 0;

/// Sends to the serial port of the board and returns the answer.
fn ask(bench: &mut Bench, ear: &mut Decoder<ToHost>, message: &ToBoard) -> Vec<ToHost> {
    bench.network.board(0).put_serial(PORT, &frame_of(message));
    bench.run_ms(if matches!(message, ToBoard::Ping(_)) { 50 } else { 1_000 });
    heard(bench, ear)
}

fn heard(bench: &mut Bench, ear: &mut Decoder<ToHost>) -> Vec<ToHost> {
    bench.network.board(0).take_serial(PORT).into_iter().filter_map(|byte| ear.push(byte)).collect()
}

#[test]
fn queries_commands_and_configurations_work_over_the_serial_line() {
    let mut bench = Bench::new(vec![board(3)]);
    let mut ear = Decoder::new();
    bench.run_ms(1_000);
    assert!(heard(&mut bench, &mut ear).iter().any(|message| matches!(message, ToHost::Hello(_))));
    // Enough of them for every ring buffer on the way to wrap around.
    for number in 0..200 {
        let answers = ask(&mut bench, &mut ear, &ToBoard::Ping(number));
        assert!(answers.contains(&ToHost::Pong(number)), "{number}: {answers:?}");
    }
    let answers = ask(&mut bench, &mut ear, &ToBoard::GetSnapshot);
    assert!(answers.iter().any(|message| matches!(message, ToHost::Snapshot { .. })), "{answers:?}");

    let page = Page::new(&page_of(&config(77))).expect("it fits");
    let answers = ask(&mut bench, &mut ear, &ToBoard::SetConfig(page));
    assert!(answers.contains(&ToHost::Config(ConfigAnswer::Stored)), "{answers:?}");
    let restarted =
        answers.iter().find_map(|message| if let ToHost::Hello(hello) = message { Some(hello) } else { None });
    let hello = restarted.expect("it starts again with it");
    assert_eq!((hello.id, hello.epoch, hello.demo), (NodeId(77), Some(2), false));
    let answers = ask(&mut bench, &mut ear, &ToBoard::EraseConfig);
    assert!(answers.contains(&ToHost::Config(ConfigAnswer::Erased)), "{answers:?}");
    assert_eq!((ear.damaged(), bench.network.boards()[0].soc().lost_serial(PORT)), (0, 0));
}

#[test]
fn a_hello_after_a_reset_in_the_middle_of_a_frame_is_heard() {
    let mut bench = Bench::new(vec![board(3)]);
    let mut ear = Decoder::new();
    bench.run_ms(1_000);
    heard(&mut bench, &mut ear);
    let mut cut = 0;
    for millis in 1..10 {
        bench.network.board(0).put_serial(PORT, &frame_of(&ToBoard::GetSnapshot));
        bench.run_ms(millis);
        bench.network.board(0).reset();
        heard(&mut bench, &mut ear);
        cut += u32::from(ear.is_within_frame());
        bench.run_ms(200);
        let said = heard(&mut bench, &mut ear);
        assert!(said.iter().any(|message| matches!(message, ToHost::Hello(_))), "after {millis} ms: {said:?}");
    }
    assert!(cut > 0, "no frame was cut");
}
