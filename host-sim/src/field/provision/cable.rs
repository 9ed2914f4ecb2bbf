//! Provisioning over the cable: sends the configuration to the board and waits for its answer.

use std::time::Duration;

use anyhow::{Context, bail};
use common::host_link::{ConfigAnswer, Page, Refusal, ToBoard, ToHost};

use crate::field::monitor::line::Endpoint;
use crate::field::talk::Talk;

/// A board erases flash before it answers, and may be busy with its radio.
const ANSWER_WAIT: Duration = Duration::from_secs(15);

/// Sends a page to the board at this endpoint and waits for its answer.
pub fn send(endpoint: &Endpoint, page: &[u8]) -> anyhow::Result<()> {
    let message = Page::new(page).ok().map(ToBoard::SetConfig).context("a page fits a frame")?;
    let mut talk = Talk::open(endpoint)?;
    talk.say(&message)?;
    let answer = |said| if let ToHost::Config(answer) = said { Some(answer) } else { None };
    match talk.answer(ANSWER_WAIT, answer)? {
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

fn why(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Blank | Refusal::Magic | Refusal::Length(_) | Refusal::Checksum | Refusal::Body => {
            format!("it arrived damaged ({refusal:?}); try again")
        }
        Refusal::Version(version) => {
            format!("its image does not know version {version} of the page; flash an image of this version first")
        }
        Refusal::Field(field) => format!("its image does not accept `{field}`"),
    }
}
