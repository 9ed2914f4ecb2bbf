//! What a host may ask of a board.

use common::host_link::{ToBoard, ToHost};
use common::protocol::Signal;

use crate::{clock, node, restart, status, storage};

/// Obeys a command.
pub async fn obey(command: ToBoard) {
    match command {
        ToBoard::Ping(number) => super::say(ToHost::Pong(number)),
        ToBoard::GetHello => super::say_hello(),
        ToBoard::GetSnapshot => {
            if let Some(snapshot) = node::snapshot() {
                super::say(ToHost::Snapshot { at_us: clock::now().as_micros(), snapshot });
            }
        }
        ToBoard::SetConfig(page) => storage::ask(storage::Request::SetConfig(page)),
        ToBoard::EraseConfig => storage::ask(storage::Request::EraseConfig),
        ToBoard::Elect => node::tell(node::Told::Signal(Signal::Elect)),
        ToBoard::Identify => status::identify(),
        ToBoard::SetRank(rank) => node::tell(node::Told::Signal(Signal::Rank(rank))),
        ToBoard::Reset { record } => restart::on_purpose(record).await,
        ToBoard::Record(is_wanted) => node::tell(node::Told::Record(is_wanted)),
    }
}
