//! Provisioning over the cable: the board is told its configuration and says what it made of it.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use common::host_link::{ConfigAnswer, Decoder, FRAME_BYTES_MAX, Page, Refusal, ToBoard, ToHost, encode};

use crate::field::monitor::line::{self, Line, Place};

/// A board erases flash before it answers, and may be busy with its radio.
const ANSWER_WAIT: Duration = Duration::from_secs(5);

/// Sends a page to the board at this place and waits for its answer.
pub fn send(place: &Place, page: &[u8]) -> anyhow::Result<()> {
    let mut line = Line::open(place).with_context(|| format!("cannot open {place}"))?;
    let message = Page::new(page).ok().map(ToBoard::SetConfig).context("a page fits a frame")?;
    let mut buf = [0; FRAME_BYTES_MAX];
    let frame = encode(&message, &mut buf).ok().context("a message fits its frame")?;
    // The zero in front ends whatever the board may have got from the line before.
    line.write(&[0]).and_then(|()| line.write(frame)).with_context(|| format!("cannot send to {place}"))?;
    match await_answer(&mut line).with_context(|| format!("waiting for the board at {place}"))? {
        ConfigAnswer::Stored => Ok(()),
        ConfigAnswer::Refused(refusal) => bail!("the board at {place} refuses the configuration: {}", why(&refusal)),
        ConfigAnswer::NotStored => {
            bail!("the board at {place} cannot store the configuration; its flash may be worn out")
        }
        ConfigAnswer::Erased => {
            bail!("the board at {place} has erased its configuration, as somebody else asked it to")
        }
    }
}

fn await_answer(line: &mut Line) -> anyhow::Result<ConfigAnswer> {
    let deadline = Instant::now() + ANSWER_WAIT;
    let mut decoder = Decoder::<ToHost>::new();
    let mut buf = [0; 1_024];
    let mut heard = false;
    loop {
        while let Some(count) = line.read(&mut buf).context("the line is gone")? {
            for message in buf.get(..count).unwrap_or_default().iter().filter_map(|&byte| decoder.push(byte)) {
                heard = true;
                if let ToHost::Config(answer) = message {
                    return Ok(answer);
                }
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let seconds = ANSWER_WAIT.as_secs();
            bail!(match (heard, decoder.damaged()) {
                (true, _) => format!("it speaks, but has not answered within {seconds} s"),
                (false, 0) =>
                    format!("nothing was heard within {seconds} s: is this the right port, and does the image run?"),
                (false, _) =>
                    "what arrives are no frames of this version: the image on the board is older or newer, or \
                               something else speaks there"
                        .to_owned(),
            });
        }
        line::wait(std::iter::once(&*line), left);
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
