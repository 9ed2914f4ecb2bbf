//! Tests of the host with a device that is a few lines of a test.

use super::control::{Progress, Transfer, setup};
use super::{Action, Answer, HostState, UsbHost};

const MS: u64 = 64_000;

/// Lets the host act until a cycle. Returns what it did.
fn run(host: &mut UsbHost, until: u64, mut device: impl FnMut(&Action) -> Answer) -> Vec<Action> {
    let mut actions = Vec::new();
    while host.due() <= until {
        let now = host.due();
        if let Some(action) = host.act(now) {
            host.answered(now, device(&action));
            actions.push(action);
        }
    }
    actions
}

#[test]
fn data_of_any_length_goes_in_packets() {
    for (length, packets) in [(0_u16, 0), (7, 1), (64, 1), (65, 2)] {
        let data: Vec<u8> = (0..length).map(|at| at.to_le_bytes()[0]).collect();
        let mut transfer = Transfer::new(setup(0x21, 0x20, 0, 0, length), &data);
        let (mut sent, mut seen) = (Vec::new(), 0);
        loop {
            let answer = match transfer.action() {
                Action::Setup(_) => Answer::Ack,
                Action::Out { bytes, .. } => {
                    seen += 1;
                    sent.extend(bytes);
                    Answer::Ack
                }
                _ => Answer::Data(Vec::new()),
            };
            if transfer.answered(answer) == Progress::Done(Vec::new()) {
                break;
            }
        }
        assert_eq!((sent, seen), (data, packets));
    }
}

#[test]
fn an_answer_ends_with_a_short_packet_or_with_what_was_asked() {
    for (asked, packets) in [(255, vec![64, 10]), (128, vec![64, 64]), (128, vec![64, 0])] {
        let mut transfer = Transfer::new(setup(0x80, 6, 0x0100, 0, asked), &[]);
        assert_eq!(transfer.answered(Answer::Ack), Progress::Running);
        for &bytes in &packets {
            assert_eq!(transfer.action(), Action::In { endpoint: 0 });
            assert_eq!(transfer.answered(Answer::Data(vec![1; bytes])), Progress::Running);
        }
        assert_eq!(transfer.action(), Action::Out { endpoint: 0, bytes: Vec::new() });
        assert_eq!(transfer.answered(Answer::Nak), Progress::Waiting);
        assert_eq!(transfer.answered(Answer::Ack), Progress::Done(vec![1; packets.iter().sum()]));
    }
}

#[test]
fn a_device_that_never_answers_is_given_up() {
    let mut host = UsbHost::default();
    assert_eq!(host.due(), u64::MAX);
    host.notice(0, true);
    let actions = run(&mut host, 10_000 * MS, |action| match action {
        Action::Setup(_) => Answer::Ack,
        _ => Answer::Nak,
    });
    assert_eq!(actions[0], Action::Reset);
    assert_eq!((host.state(), host.due()), (HostState::Failed, u64::MAX));
    assert!(host.failure().is_some_and(|what| what.contains("not answered in time")));
    assert!((4_000..6_000).contains(&actions.len()), "asked once a millisecond, {} times", actions.len());
    assert!(!host.open(), "there is no port");
}

#[test]
fn a_device_that_refuses_or_talks_nonsense_is_given_up() {
    for answer in [Answer::Stall, Answer::Data(vec![1, 2, 3])] {
        let mut host = UsbHost::default();
        host.notice(0, true);
        run(&mut host, 1_000 * MS, |action| if let Action::Setup(_) = action { Answer::Ack } else { answer.clone() });
        assert!(host.state() == HostState::Failed && host.failure().is_some(), "{answer:?}");
        host.notice(2_000 * MS, false);
        host.notice(3_000 * MS, true);
        assert_eq!((host.state(), host.due()), (HostState::Bouncing, 3_100 * MS));
    }
}
