//! The text output: a line for every event, and on a terminal a table of the boards below.

use std::fmt::Write as _;
use std::io::{self, Write};

use common::host_link::Quantity;

use super::boards::{BOARDS_MAX, Boards, Known};
use super::describe::{self, Weight};
use super::watch::{Happening, Watch, What};
use crate::output::{counted, counted_as};

/// A terminal or any other writer.
#[derive(Debug)]
pub struct Screen<W: Write> {
    out: W,
    /// Whether it supports colours and can be overwritten.
    is_terminal: bool,
    is_verbose: bool,
    /// Lines of the table at the bottom.
    table_lines: usize,
    is_cut: bool,
    size: Size,
}

/// Of a terminal. A row that wrapped would take more lines than were counted, and a table that is higher than the terminal
/// cannot be reached with its cursor: the next table would leave parts of this one behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub lines: usize,
}

impl Size {
    /// For terminals that do not report theirs.
    pub const USUAL: Self = Self { columns: 80, lines: 24 };
}

impl<W: Write> Screen<W> {
    pub fn new(out: W, is_terminal: bool, is_verbose: bool) -> Self {
        Self { out, is_terminal, is_verbose, table_lines: 0, is_cut: false, size: Size::USUAL }
    }

    /// The terminal has this size now.
    pub fn set_size(&mut self, size: Size) {
        self.size = size;
    }

    /// Shows what happened; on a terminal the table follows it.
    pub fn show(&mut self, happened: &[Happening], watch: &Watch) -> io::Result<()> {
        let mut text = self.erase();
        for happening in happened.iter().filter(|happening| self.is_verbose || weight(happening) != Weight::Detail) {
            text.push_str(&self.line(happening, watch));
        }
        if self.is_terminal {
            self.draw(&table(watch.boards()), &mut text);
        }
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// What removes the table from a terminal; nothing if there is none.
    fn erase(&self) -> String {
        if self.table_lines > 0 { format!("\x1b[{}A\x1b[J", self.table_lines) } else { String::new() }
    }

    /// As much of the table as the terminal has room for.
    fn draw(&mut self, table: &str, text: &mut String) {
        let count = table.lines().count();
        // The cursor waits below it.
        let room = self.size.lines.saturating_sub(1).max(1);
        self.is_cut = count > room;
        let shown = if self.is_cut { room - 1 } else { count };
        for line in table.lines().take(shown) {
            text.extend(line.chars().take(self.size.columns));
            text.push('\n');
        }
        if self.is_cut {
            let more = format!("and {} that the terminal has no room for", counted(count - shown, "line"));
            text.extend(more.chars().take(self.size.columns));
            text.push('\n');
        }
        self.table_lines = count.min(room);
    }

    /// Prints the final table, unless a terminal shows it already.
    pub fn finish(&mut self, watch: &Watch) -> io::Result<()> {
        if !self.is_terminal || self.is_cut {
            let text = self.erase() + &table(watch.boards());
            self.out.write_all(text.as_bytes())?;
        }
        self.out.flush()
    }

    fn line(&self, happening: &Happening, watch: &Watch) -> String {
        let Happening { time_us, port, what, .. } = happening;
        let endpoint = watch.endpoint(*port).map_or(String::new(), ToString::to_string);
        let who = watch.boards().at(*port).map_or_else(|| endpoint.clone(), |board| format!("node {}", board.id));
        let said = match what {
            What::Opened => format!("{endpoint} is open"),
            What::Waiting(error) => format!("waiting for {endpoint}: {error}{}", hint(&endpoint)),
            What::Gone(_) => format!("{endpoint} is gone; waiting for it to come back"),
            What::Said(message) => describe::message(message),
            What::Damaged(count) => format!("{} so far at {endpoint}", counted(*count, "damaged frame")),
        };
        let (begin, end) = match (self.is_terminal, weight(happening)) {
            (true, Weight::Alarm) => ("\x1b[31m", "\x1b[0m"),
            (true, Weight::Detail) => ("\x1b[2m", "\x1b[0m"),
            _ => ("", ""),
        };
        let (seconds, millis) = (time_us / 1_000_000, time_us / 1_000 % 1_000);
        format!("{seconds:>6}.{millis:03} s  {begin}{who:<12} {said}{end}\n")
    }
}

fn weight(happening: &Happening) -> Weight {
    match &happening.what {
        What::Said(message) => describe::weight(message),
        What::Opened | What::Waiting(_) => Weight::News,
        What::Gone(_) | What::Damaged(_) => Weight::Alarm,
    }
}

fn hint(endpoint: &str) -> &'static str {
    if endpoint.starts_with("socket:") { "; is the server running? (see `ringleader monitor --help`)" } else { "" }
}

pub fn table(boards: &Boards) -> String {
    let mut text = rows(boards.all());
    if boards.refused() > 0 {
        let ignored = counted_as(boards.refused(), "hello was", "hellos were");
        let _ = writeln!(text, "{ignored} ignored: {BOARDS_MAX} boards are watched already");
    }
    text.push_str(&boards.gathered().table());
    text
}

fn rows(boards: &[Known]) -> String {
    if boards.is_empty() {
        return "no board has identified itself yet\n".into();
    }
    let mut text = format!(
        "{:>5}  {:>6}  {:>5}  {:>5}  {:>5}  {:>7}  {:>6}  {:>6}  {}\n",
        "id", "leader", "links", "heard", "boot", "temp", "supply", "lost", "board"
    );
    for board in boards {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let reading = |quantity| board.readings.get(&quantity).map(|&value| f64::from(value));
        let leader = or_dash(board.leader.map(|id| if id == board.id { format!("*{id}") } else { id.to_string() }));
        let links = or_dash(board.snapshot.map(|snapshot| snapshot.links_up.to_string()));
        let heard = or_dash(board.snapshot.map(|snapshot| snapshot.heard.to_string()));
        let epoch = or_dash(board.hello.epoch.map(|epoch| epoch.to_string()));
        let temperature = or_dash(reading(Quantity::DieTemperature).map(|value| format!("{:.1} °C", value / 100.0)));
        let supply = or_dash(reading(Quantity::Supply).map(|value| format!("{:.2} V", value / 1_000.0)));
        // Few boards have a sensor of the air, so it has no column of its own.
        let sensor = [Quantity::AirTemperature, Quantity::Humidity].map(|one| {
            board.readings.get(&one).map_or(String::new(), |&value| format!("  {}", describe::reading(one, value)))
        });
        let state = match (board.is_seen, board.hello.demo) {
            (false, _) => "  (not seen)",
            (true, true) => "  DEMO NETWORK",
            (true, false) => "",
        };
        let _ = writeln!(
            text,
            "{:>5}  {leader:>6}  {links:>5}  {heard:>5}  {epoch:>5}  {temperature:>7}  {supply:>6}  {:>6}  {:?} {:016x}{}{state}",
            board.id,
            board.lost,
            board.hello.board,
            board.hello.chip,
            sensor.concat()
        );
    }
    text
}
