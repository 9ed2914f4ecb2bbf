//! `ringleader demo`, and `ringleader` without arguments.

use std::process::ExitCode;
#[cfg(unix)]
use std::time::{Duration, Instant};

#[cfg(unix)]
use super::stage::{Stage, draw, window};
use crate::lab::demo::{Request, Scene, play};
use crate::outln;
use crate::output;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
On a terminal it plays for about twenty seconds, on the simulated air: a ring, then a network whose nodes
walk about. Any key skips the rest. Elsewhere, and with --plain, it prints a longer story on the ideal network.

In the pictures a leader is in brackets, [7], and a dead node is an x. The same seed shows the same story.")]
pub struct Args {
    /// The seed of the whole story
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Nodes on the ring and in the ad hoc network, for --plain and --json
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u16).range(4..=40))]
    pub nodes: u16,
    /// Play five times as fast
    #[arg(long)]
    pub fast: bool,
    /// Print the story as text even on a terminal
    #[arg(long)]
    pub plain: bool,
    /// Print only the summary, as JSON
    #[arg(long)]
    pub json: bool,
}

impl Default for Args {
    fn default() -> Self {
        Self { seed: 1, nodes: 12, fast: false, plain: false, json: false }
    }
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    #[cfg(unix)]
    if !args.plain
        && !args.json
        && let Some(stage) = Stage::enter()
    {
        let told = show(&stage, args);
        drop(stage);
        outln!("{told}{NEXT}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let stage = play(Request { seed: args.seed, nodes: args.nodes, quiet: args.json });
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&stage.scenes)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print(&stage.story())?;
    outln!("Summary (seed {})", args.seed)?;
    outln!("  {:<44} {:>8} {:>7}  leader", "what happened", "messages", "rounds")?;
    for Scene { title, messages, rounds, leaders } in &stage.scenes {
        let leaders = leaders.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        outln!("  {title:<44} {messages:>8} {rounds:>7}  {leaders}")?;
    }
    outln!("\nThe same code runs on the boards. Next: ringleader table, ringleader study, ringleader --help.")?;
    Ok(ExitCode::SUCCESS)
}

/// What to type next, after the film.
#[cfg(unix)]
const NEXT: &str = "
The same code runs on the boards. Next:
  ringleader view                  the same in the browser, where you pull the plugs
  ringleader run mesh25            a mesh of 25 on the simulated air, checked
  ringleader board boards5         the firmware image on five emulated boards
  ringleader --help                everything else";

/// How long each frame of the film is shown.
#[cfg(unix)]
const FRAME_MS: u64 = 80;
/// How far apart boards appear.
#[cfg(unix)]
const APPEAR_MS: u64 = 120;

/// Plays the film, and returns what it showed.
#[cfg(unix)]
fn show(stage: &Stage, args: &Args) -> String {
    use crate::lab::film::screen::Screen;
    let scenes = crate::lab::film::scenes(args.seed);
    let hurry = if args.fast { 5 } else { 1 };
    let mut next = Instant::now();
    'film: for scene in &scenes {
        let mut screen = Screen::new(&scene.records);
        let boards = scene.records.iter().filter_map(|record| record.node).max().unwrap_or_default().0 as u64;
        for beat in &scene.beats {
            let opening_ms = if beat.is_opening { boards * APPEAR_MS } else { 0 };
            let mut passed_ms = 0;
            while passed_ms < opening_ms + beat.lasts_ms {
                let share = passed_ms.saturating_sub(opening_ms);
                let time_us = beat.from_us + (beat.to_us - beat.from_us) * share / beat.lasts_ms;
                screen.go(time_us);
                let appeared = if passed_ms < opening_ms { passed_ms / APPEAR_MS } else { u64::MAX };
                let appeared = usize::try_from(appeared).unwrap_or(usize::MAX);
                let mut text = screen.draw(window(), time_us, scene.title, &beat.caption, appeared);
                text.push_str("\nAny key skips.");
                if output::written(draw(&text)).is_err() || output::is_closed() {
                    break 'film;
                }
                next += Duration::from_millis(FRAME_MS / hurry);
                if stage.wait(next) {
                    break 'film;
                }
                passed_ms += FRAME_MS;
            }
        }
    }
    let mut told = String::new();
    for scene in &scenes {
        told.push_str(scene.title);
        for beat in &scene.beats {
            told.push_str("\n  ");
            told.push_str(&beat.caption);
        }
        told.push('\n');
    }
    told
}
