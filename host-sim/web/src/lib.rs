//! The simulator for a page: plays a scenario from its text and hands out the trace piece by piece.
//!
//! The module imports nothing. A page writes a text to [`input`], calls [`start`], and then [`advance`] until it says that
//! there is no more. After every call, what came of it is the bytes at [`output_address`], [`output_length`] of them:
//! lines of a trace with details, or the reason for a refusal. [`finish`] gives the verdict.
//!
//! An instance plays one run, and its memory goes with it; a page makes another instance for the next run.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use sim::scenario::input::catalogue::BUILT_IN;
use sim::scenario::input::edit;
use sim::scenario::input::read::{no_files, read};
use sim::scenario::judge::observer::Recorders;
use sim::scenario::run::boards::NoBoards;
use sim::scenario::run::session::Session;

/// What the page reads.
#[derive(Clone, Default)]
struct Output(Rc<RefCell<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output {
    fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    fn say(&self, text: &str) {
        self.clear();
        self.0.borrow_mut().extend_from_slice(text.as_bytes());
    }
}

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: Output = Output::default();
    static SESSION: RefCell<Option<Session<'static>>> = const { RefCell::new(None) };
}

fn output() -> Output {
    OUTPUT.with(Clone::clone)
}

/// Makes room for a text of this many bytes, and says where to write it.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        input.clear();
        input.resize(length, 0);
        input.as_mut_ptr()
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn output_address() -> *const u8 {
    output().0.borrow().as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn output_length() -> usize {
    output().0.borrow().len()
}

/// Writes the names, summaries and texts of the scenarios that come with the program, as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn catalogue() {
    let known: Vec<_> = BUILT_IN.iter().map(|(name, text)| serde_json::json!({ "name": name, "text": text })).collect();
    output().say(&serde_json::Value::Array(known).to_string());
}

/// Begins to play the scenario that was written to [`input`], with this seed. Returns how long it lasts in milliseconds, or 0
/// if it is refused; the output then says why.
#[unsafe(no_mangle)]
pub extern "C" fn start(seed: u64, detail: u32) -> f64 {
    let text = INPUT.with_borrow(|input| String::from_utf8_lossy(input).into_owned());
    let scenario = match read("scenario", &text) {
        Ok(scenario) => scenario,
        Err(problem) => {
            output().say(&problem.to_string());
            return 0.0;
        }
    };
    output().clear();
    // The instance ends with the run, so neither needs to be given back.
    let (scenario, boards) = (Box::leak(Box::new(scenario)), Box::leak(Box::new(NoBoards)));
    let recorders = Recorders { trace: Some(Box::new(output())), pcap: None, detail: detail != 0 };
    let session = Session::new(scenario, seed, recorders, boards);
    SESSION.set(Some(session));
    #[expect(clippy::cast_precision_loss, reason = "scenarios last at most 30 days")]
    let lasts_ms = scenario.duration_us as f64 / 1_000.0;
    lasts_ms
}

/// Adds a fault to a scenario: [`input`] has both texts, with a zero byte between. Returns 1 if the output is the new text, 0
/// if it is the reason for a refusal.
#[unsafe(no_mangle)]
pub extern "C" fn append() -> u32 {
    let both = INPUT.with_borrow(|input| String::from_utf8_lossy(input).into_owned());
    let (text, fault) = both.split_once('\0').unwrap_or((&both, ""));
    let (is_right, said) = match edit::append("scenario", text, fault, &no_files) {
        Ok(text) => (1, text),
        Err(problem) => (0, problem.to_string()),
    };
    output().say(&said);
    is_right
}

/// The seed that the scenario at [`input`] names; 1 if it names none or is refused.
#[unsafe(no_mangle)]
pub extern "C" fn own_seed() -> u64 {
    let text = INPUT.with_borrow(|input| String::from_utf8_lossy(input).into_owned());
    read("scenario", &text).map_or(1, |scenario| scenario.seed)
}

/// Plays on until about this time. 1 while there is more to come.
#[unsafe(no_mangle)]
pub extern "C" fn advance(until_ms: f64) -> u32 {
    output().clear();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float cast saturates at both ends")]
    let micros = (until_ms * 1_000.0) as u64;
    SESSION.with_borrow_mut(|session| session.as_mut().is_some_and(|session| session.advance(micros)).into())
}

/// Writes the outcome of the run as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn finish() {
    let Some(session) = SESSION.take() else { return };
    let text = session.finish().ok().and_then(|outcome| serde_json::to_string(&outcome).ok());
    output().say(&text.unwrap_or_default());
}
