//! Provisioning over the cable: sends the configuration to the board and waits for its answer.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use common::host_link::{ConfigAnswer, Decoder, FRAME_BYTES_MAX, Page, Refusal, ToBoard, ToHost, encode};

use crate::field::monitor::line::{self, Endpoint, Line};

/// A board erases flash before it answers, and may be busy with its radio.
const ANSWER_WAIT: Duration = Duration::from_secs(5);

/// Sends a page to the board at this endpoint and waits for its answer.
pub fn send(endpoint: &Endpoint, page: &[u8]) -> anyhow::Result<()> {
    let mut line = Line::open(endpoint).with_context(|| format!("cannot open {endpoint}"))?;
    let message = Page::new(page).ok().map(ToBoard::SetConfig).context("a page fits a frame")?;
    let mut buf = [0; FRAME_BYTES_MAX];
    let frame = encode(&message, &mut buf).ok().context("a message fits its frame")?;
    // The leading zero terminates any partial frame the board may hold.
    line.write(&[0]).and_then(|()| line.write(frame)).with_context(|| format!("cannot send to {endpoint}"))?;
    match await_answer(&mut line).with_context(|| format!("waiting for the board at {endpoint}"))? {
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
                (true, _) => format!("it is running but did not answer within {seconds} s"),
                (false, 0) =>
                    format!("it sent nothing within {seconds} s: is this the right port, and is the image running?"),
                (false, _) =>
                    "it sent no valid frames: the image on the board is older or newer than this program, or \
                    something else is at this port"
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
