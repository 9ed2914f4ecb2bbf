//! What commands print: results to standard output, everything else to standard error.
//!
//! A closed pipe (`| head`) does not affect the exit code: the rest of the output is dropped and the command runs to its
//! end. Any other failure to write a result is an error. Failures to write to standard error are ignored.

use std::fmt::{self, Display};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::Context;

/// Whether standard output turned out to be a closed pipe.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// The columns that the progress line on screen takes.
static PROGRESS: AtomicUsize = AtomicUsize::new(0);

/// Prints to standard output like `print!`, but returns the error.
#[macro_export]
macro_rules! out {
    ($($text:tt)*) => { $crate::output::print(&::std::format!($($text)*)) };
}

/// Prints a line to standard output like `println!`, but returns the error.
#[macro_export]
macro_rules! outln {
    ($($text:tt)*) => { $crate::output::print(&(::std::format!($($text)*) + "\n")) };
}

/// Prints a line to standard error.
#[macro_export]
macro_rules! note {
    ($($text:tt)*) => { $crate::output::note(::std::format_args!($($text)*)) };
}

/// A number with its noun, which is plural unless there is exactly one: "1 node", "2 nodes". For nouns that take an `s`.
pub fn counted(count: impl Copy + Display + PartialEq + From<u8>, noun: &str) -> String {
    counted_as(count, noun, &format!("{noun}s"))
}

/// The same for any other noun: "1 mismatch", "2 mismatches".
pub fn counted_as(count: impl Copy + Display + PartialEq + From<u8>, singular: &str, plural: &str) -> String {
    let noun = if count == 1.into() { singular } else { plural };
    format!("{count} {noun}")
}

/// A text that came from elsewhere, such as a board, fit to be shown: whatever could move the cursor, change the terminal or
/// reorder the line is escaped.
pub fn printable(text: &str) -> String {
    let is_hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{61C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}')
    };
    text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        if is_hidden(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
        shown
    })
}

/// Prints a text to standard output; see the module's documentation for closed pipes.
pub fn print(text: &str) -> anyhow::Result<()> {
    if is_closed() {
        return Ok(());
    }
    clear_progress();
    let mut out = io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Turns the result of writing to standard output into the command's, with closed pipes as success.
pub fn written(result: io::Result<()>) -> anyhow::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            CLOSED.store(true, Ordering::Relaxed);
            Ok(())
        }
        other => other.context("cannot write to standard output"),
    }
}

/// Whether standard output is a closed pipe, so that a command that only prints may stop.
pub fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// See [`note!`](crate::note).
pub fn note(line: fmt::Arguments<'_>) {
    clear_progress();
    // There is nowhere left to report this.
    let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// Shows progress, overwriting what was shown before. Only on a terminal: in a file it would be noise.
pub fn progress(line: &str) {
    let mut err = io::stderr().lock();
    if err.is_terminal() {
        let width = line.chars().count();
        let before = PROGRESS.swap(width, Ordering::Relaxed);
        let _ = err.write_all(over(line, width.max(before)).as_bytes());
    }
}

/// Removes the progress line, if there is one. Anything printed or noted does so first.
pub fn clear_progress() {
    let width = PROGRESS.swap(0, Ordering::Relaxed);
    if width > 0 {
        let _ = io::stderr().lock().write_all(over("", width).as_bytes());
    }
}

/// Pads the text to this many columns and returns the cursor to the start of the line.
fn over(line: &str, width: usize) -> String {
    format!("{line:width$}\r")
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    #[test]
    fn singular_and_plural_agree_with_the_count() {
        let phrases = [0_usize, 1, 2, 11, 21].map(|count| super::counted(count, "node"));
        assert_eq!(phrases, ["0 nodes", "1 node", "2 nodes", "11 nodes", "21 nodes"]);
        let phrases = [1_u64, 2].map(|count| super::counted_as(count, "retry", "retries"));
        assert_eq!(phrases, ["1 retry", "2 retries"]);
    }

    #[test]
    fn text_from_elsewhere_cannot_steer_the_terminal() {
        let hostile = "\x1b]0;title\x07 a\r\n\u{9b}2J \u{202e}b\u{61c} °C";
        assert_eq!(super::printable(hostile), "\\u{1b}]0;title\\u{7} a\\r\\n\\u{9b}2J \\u{202e}b\\u{61c} °C");
    }

    #[test]
    fn a_progress_line_is_overwritten_completely() {
        assert_eq!(super::over("7 of 9", 10), "7 of 9    \r");
        assert_eq!(super::over("", 3), "   \r");
    }

    #[test]
    fn a_closed_pipe_is_the_only_failure_that_is_not_an_error() {
        let error = super::written(Err(Error::from(ErrorKind::StorageFull))).unwrap_err();
        assert!(format!("{error:#}").starts_with("cannot write to standard output: "), "{error:#}");
        assert!(!super::is_closed());
        assert!(super::written(Err(Error::from(ErrorKind::BrokenPipe))).is_ok());
        assert!(super::is_closed());
    }
}
