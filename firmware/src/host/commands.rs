//! The commands that a board takes from a host.

use common::host_link::{ToBoard, ToHost};
use common::protocol::Signal;

use crate::{clock, node, restart, status, storage};

/// Executes a command without waiting for anything, so that the line keeps receiving.
pub fn execute(command: &ToBoard) {
    match *command {
        ToBoard::Ping(number) => super::say(ToHost::Pong(number)),
        ToBoard::GetHello => super::say_hello(),
        ToBoard::GetSnapshot => {
            if let Some(snapshot) = node::snapshot() {
                super::say(ToHost::Snapshot { at_us: clock::now().as_micros(), snapshot });
            }
        }
        ToBoard::SetConfig(ref page) => storage::ask_for_config(page),
        ToBoard::EraseConfig => storage::ask(storage::Request::EraseConfig),
        ToBoard::Elect => node::tell(node::Told::Signal(Signal::Elect)),
        ToBoard::Identify => status::identify(),
        ToBoard::SetRank(rank) => node::tell(node::Told::Signal(Signal::Rank(rank))),
        ToBoard::Reset { record } => restart::request(record),
        ToBoard::Submit { ticket, command } => node::tell(node::Told::Submit { ticket, command }),
        ToBoard::ReadLog { from } => storage::ask(storage::Request::ReadLog { from }),
        ToBoard::ReleaseLog { before } => storage::ask(storage::Request::ReleaseLog { before }),
        ToBoard::ReadAll => node::tell(node::Told::ReadAll),
        #[cfg(feature = "journal")]
        ToBoard::ReadJournal { from } => storage::ask(storage::Request::ReadJournal { from }),
        ToBoard::Ask(question) => node::tell(node::Told::Ask(question)),
        ToBoard::Record(is_wanted) => node::tell(node::Told::Record(is_wanted)),
    }
}
