//! Provisioning over the cable: sends the configuration to the board and waits for its answer.

use std::time::Duration;

use anyhow::{Context, bail};
use common::host_link::{ConfigAnswer, Page, Refusal, ToBoard, ToHost};

use crate::field::monitor::line::Endpoint;
use crate::field::talk::{Silence, Talk};
use crate::output::printable;

/// A board erases flash before it answers, and may be busy with its radio.
const ANSWER_WAIT: Duration = Duration::from_secs(5);

/// How often it is sent the page. A board whose line nobody has read for a while drops what it cannot say, its answer included,
/// and the same page twice is as good as once.
const ATTEMPTS: u32 = 3;

/// Sends a page to the board at this endpoint and waits for its answer.
pub fn send(endpoint: &Endpoint, page: &[u8]) -> anyhow::Result<()> {
    let message = Page::new(page).ok().map(ToBoard::SetConfig).context("a page fits a frame")?;
    match answer(endpoint, &message)? {
        ConfigAnswer::Stored => Ok(()),
        ConfigAnswer::Refused(refusal) => bail!("the board at {endpoint} refuses the configuration: {}", why(&refusal)),
        ConfigAnswer::NotStored => {
            bail!("the board at {endpoint} cannot store the configuration; its flash may be worn out")
        }
        ConfigAnswer::Erased => {
            bail!("the board at {endpoint} erased its configuration at the request of another host")
        }
    }
}

fn answer(endpoint: &Endpoint, message: &ToBoard) -> anyhow::Result<ConfigAnswer> {
    let mut talk = Talk::open(endpoint)?;
    for attempt in 1.. {
        talk.say(message)?;
        let heard = talk.hear(ANSWER_WAIT, |said| if let ToHost::Config(answer) = said { Some(answer) } else { None });
        match heard {
            Err(Silence::Other { .. }) if attempt < ATTEMPTS => {}
            heard => return heard.with_context(|| format!("waiting for the board at {endpoint}")),
        }
    }
    bail!("waiting for the board at {endpoint}")
}

fn why(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Blank | Refusal::Magic | Refusal::Length(_) | Refusal::Checksum | Refusal::Body => {
            format!("it arrived damaged ({refusal:?}); try again")
        }
        Refusal::Version(version) => {
            format!("its image does not know version {version} of the page; flash an image of this version first")
        }
        Refusal::Field(field) => format!("its image does not accept `{}`", printable(field.as_str())),
    }
}

#[cfg(test)]
mod tests {
    use common::host_link::{Refusal, Text};

    #[test]
    fn a_board_that_refuses_a_page_moves_no_cursor() {
        let said = super::why(&Refusal::Field(Text::start_of("id\u{1b}[2Jx")));
        assert_eq!(said, "its image does not accept `id\\u{1b}[2Jx`");
    }
}
