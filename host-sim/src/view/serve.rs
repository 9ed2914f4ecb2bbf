//! Serves the page to a browser on this machine and plays the runs that it asks for.
//!
//! Only this machine can connect, and only requests with the address's random part are answered. The name in the request is
//! checked too: a page from elsewhere whose own name resolves to this machine gets no answer.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use sim::air::trace::NodeNumber;
use sim::scenario::input::edit;
use sim::scenario::input::plan::Scenario;
use sim::scenario::input::read::read_with;
use sim::scenario::input::toml_section::Problem;
use sim::scenario::judge::observer::Recorders;
use sim::scenario::report::outcome::Outcome;
use sim::scenario::run::boards::{Boards, NoBoards};
use sim::scenario::run::session::Session;

use super::http::{self, Request};
use super::live::Live;
use super::page::{self, Origin, Show};
use crate::emulated;
use crate::field::command::Order;

/// The runs that can still be asked for; older ones are forgotten.
const RUNS_KEPT: usize = 16;
/// How far a run is played before what happened is sent, in simulated microseconds.
const STEP_US: u64 = 250_000;
/// How often a page of boards on cables is told the time.
const PULSE: Duration = Duration::from_millis(200);
/// A browser that sends or takes nothing for this long is gone.
const PATIENCE: Duration = Duration::from_secs(30);

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

#[derive(Clone)]
pub struct Served {
    pub name: String,
    /// The file that the scenario is in, by which others that it names are found.
    pub file: String,
    pub text: String,
    pub seed: Option<u64>,
    pub what: What,
}

#[derive(Clone)]
pub enum What {
    /// The scenario, played by simulated nodes.
    Scenario,
    /// The scenario, played by emulated boards that run this ELF file.
    Boards(Arc<[u8]>),
    /// A recording.
    Trace(String),
    /// Boards on cables.
    Live(Arc<Live>),
}

pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
}

struct Shared {
    served: Served,
    /// The random part of the address.
    token: String,
    port: u16,
    runs: Mutex<Runs>,
}

#[derive(Default)]
struct Runs {
    asked: u64,
    kept: BTreeMap<u64, (Scenario, u64)>,
}

impl Server {
    /// Listens on a port that is free.
    pub fn new(served: Served) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let random = || getrandom::u64().map_err(|error| io::Error::other(error.to_string()));
        let token = format!("{:016x}{:016x}", random()?, random()?);
        Ok(Self { listener, shared: Arc::new(Shared { served, token, port, runs: Mutex::default() }) })
    }

    /// Where the page is.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.shared.port, self.shared.token)
    }

    /// Serves until the program ends.
    pub fn run(self) -> io::Result<()> {
        for stream in self.listener.incoming() {
            let shared = Arc::clone(&self.shared);
            // A browser that leaves in the middle of an answer is no failure.
            thread::Builder::new().name("view".into()).spawn(move || stream.and_then(|stream| shared.serve(stream)))?;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Play {
    text: String,
    /// As text, or as a number.
    seed: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Append {
    text: String,
    fault: String,
}

/// An order to a board.
#[derive(Deserialize)]
struct Tell {
    /// Its number in the trace.
    node: NodeNumber,
    order: Order,
}

#[derive(Serialize)]
struct Begun {
    run: u64,
    lasts_ms: f64,
    seed: String,
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let Some(request) = http::read(&stream)? else {
            return http::answer(&mut stream, "400 Bad Request", TEXT, "not understood\n");
        };
        let (status, kind, body) = match self.admit(&request) {
            Err(status) => (status, TEXT, format!("{status}\n")),
            Ok(path) => match (request.method.as_str(), path) {
                ("GET", "/") => ("200 OK", "text/html; charset=utf-8", self.page()),
                ("POST", "/run") => ("200 OK", JSON, self.begin(&request.body)),
                ("POST", "/append") => ("200 OK", JSON, self.append(&request.body)),
                ("GET", path) if path.starts_with("/events?run=") => return self.play(path, &mut stream),
                ("GET", "/live") => return self.relate(&mut stream),
                ("POST", "/tell") => ("200 OK", JSON, self.tell(&request.body)),
                _ => ("404 Not Found", TEXT, "there is no such page\n".to_owned()),
            },
        };
        http::answer(&mut stream, status, kind, &body)
    }

    /// The path behind the random part, if the request is authorised.
    fn admit<'r>(&self, request: &'r Request) -> Result<&'r str, &'static str> {
        let hosts = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        let is_own =
            |origin: &String| origin.strip_prefix("http://").is_some_and(|host| hosts.iter().any(|own| own == host));
        if !hosts.contains(&request.host) || !request.origin.as_ref().is_none_or(is_own) {
            return Err("403 Forbidden");
        }
        let path = request.path.strip_prefix('/').and_then(|path| path.strip_prefix(self.token.as_str()));
        path.filter(|path| path.starts_with('/')).ok_or("404 Not Found")
    }

    fn page(&self) -> String {
        let Served { name, text, seed, what, .. } = &self.served;
        let address = format!("/{}", self.token);
        let origin = match what {
            What::Scenario | What::Boards(_) => Origin::Stream { address: &address },
            What::Trace(trace) => Origin::Trace(trace),
            What::Live(_) => Origin::Live { address: &address },
        };
        page::html(Show { name, text, seed: *seed, origin })
    }

    fn read(&self, text: &str) -> Result<Scenario, Problem> {
        read_with(&self.served.file, text, &|path: &Path| std::fs::read_to_string(path))
    }

    /// Keeps a scenario to be played.
    fn begin(&self, body: &str) -> String {
        let Ok(Play { text, seed }) = serde_json::from_str(body) else { return refusal("not understood") };
        let scenario = match self.read(&text) {
            Ok(scenario) => scenario,
            Err(problem) => return refusal(&problem.to_string()),
        };
        let seed = match seed {
            None => Some(scenario.seed),
            Some(serde_json::Value::String(digits)) => digits.parse().ok(),
            Some(number) => number.as_u64(),
        };
        let Some(seed) = seed else { return refusal("the seed is not a whole number") };
        #[expect(clippy::cast_precision_loss, reason = "scenarios last at most 30 days")]
        let lasts_ms = scenario.duration_us as f64 / 1_000.0;
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.asked += 1;
        let run = runs.asked;
        runs.kept.insert(run, (scenario, seed));
        while runs.kept.len() > RUNS_KEPT {
            runs.kept.pop_first();
        }
        serde_json::to_string(&Begun { run, lasts_ms, seed: seed.to_string() }).unwrap_or_default()
    }

    fn append(&self, body: &str) -> String {
        let Ok(Append { text, fault }) = serde_json::from_str(body) else { return refusal("not understood") };
        match edit::append(&self.served.file, &text, &fault, &|path: &Path| std::fs::read_to_string(path)) {
            Ok(text) => json!({ "text": text }).to_string(),
            Err(problem) => refusal(&problem.to_string()),
        }
    }

    /// Plays a run as fast as the browser takes it.
    fn play(&self, path: &str, stream: &mut TcpStream) -> io::Result<()> {
        let run = path.rsplit_once('=').and_then(|(_, run)| run.parse::<u64>().ok());
        let kept = run.and_then(|run| self.runs.lock().unwrap_or_else(PoisonError::into_inner).kept.get(&run).cloned());
        let Some((scenario, seed)) = kept else {
            return http::answer(stream, "404 Not Found", TEXT, "there is no such run\n");
        };
        http::head(stream, "200 OK", "text/event-stream", None)?;
        let boards: anyhow::Result<Box<dyn Boards>> = match &self.served.what {
            What::Boards(elf) => emulated::run::boards(&scenario, seed, elf),
            _ => Ok(Box::new(NoBoards)),
        };
        let mut boards = match boards {
            Ok(boards) => boards,
            Err(why) => {
                write!(stream, "event: refused\ndata: {}\n\n", format!("{why:#}").replace('\n', " "))?;
                return stream.flush();
            }
        };
        let outcome = play(&scenario, seed, boards.as_mut(), |lines| send(stream, lines))?;
        let outcome = serde_json::to_string(&outcome).unwrap_or_default();
        write!(stream, "event: end\ndata: {outcome}\n\n")?;
        stream.flush()
    }
}

impl Shared {
    /// Tells what boards on cables report, until the page is closed.
    fn relate(&self, stream: &mut TcpStream) -> io::Result<()> {
        let What::Live(live) = &self.served.what else {
            return http::answer(stream, "404 Not Found", TEXT, "no boards are watched here\n");
        };
        http::head(stream, "200 OK", "text/event-stream", None)?;
        let mut known = 0;
        loop {
            let news = live.news(known, PULSE);
            known = news.known;
            if !news.lines.is_empty() {
                send(stream, &news.lines)?;
            }
            // The page's clock goes on while nothing happens, and a page that is gone is noticed.
            write!(stream, "event: now\ndata: {}\n\n", json!({ "us": news.now_us, "dropped": news.dropped }))?;
            stream.flush()?;
        }
    }

    fn tell(&self, body: &str) -> String {
        let What::Live(live) = &self.served.what else { return refusal("no boards are watched here") };
        let Ok(Tell { node, order }) = serde_json::from_str(body) else { return refusal("not understood") };
        match live.tell(node, order) {
            Ok(()) => json!({ "does": order.effect() }).to_string(),
            Err(why) => refusal(&why),
        }
    }
}

fn refusal(why: &str) -> String {
    json!({ "error": why }).to_string()
}

/// Lines as one event of a stream.
fn send(stream: &mut impl Write, lines: &str) -> io::Result<()> {
    let mut event = String::with_capacity(lines.len() + lines.len() / 8);
    for line in lines.lines() {
        event.push_str("data: ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');
    stream.write_all(event.as_bytes())?;
    stream.flush()
}

/// What a run has written and nobody has taken yet.
#[derive(Clone, Debug, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Plays a scenario and hands out its trace with details, some lines at a time.
fn play(
    scenario: &Scenario,
    seed: u64,
    boards: &mut dyn Boards,
    mut give: impl FnMut(&str) -> io::Result<()>,
) -> io::Result<Outcome> {
    let written = Written::default();
    let recorders = Recorders { trace: Some(Box::new(written.clone())), detail: true, ..Recorders::default() };
    let mut session = Session::new(scenario, seed, recorders, boards);
    let mut more = true;
    while more {
        more = session.advance(session.now_us() + STEP_US);
        let bytes = std::mem::take(&mut *written.0.lock().unwrap_or_else(PoisonError::into_inner));
        if !bytes.is_empty() {
            give(&String::from_utf8_lossy(&bytes))?;
        }
    }
    session.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::{Request, Served, Shared, What};

    fn shared() -> Shared {
        let text =
            "name = \"t\"\nduration = \"20 s\"\n[topology]\nkind = \"line\"\nnodes = 2\nspacing = \"9 m\"\n".to_owned();
        let served = Served { name: "t".into(), file: "t.toml".into(), text, seed: None, what: What::Scenario };
        Shared { served, token: "0123abcd".into(), port: 8080, runs: Mutex::default() }
    }

    #[test]
    fn only_who_knows_the_address_and_asks_by_it_is_answered() {
        let ask = |host: &str, origin: Option<&str>, path: &str| {
            let request =
                Request { host: host.into(), origin: origin.map(Into::into), path: path.into(), ..Request::default() };
            shared().admit(&request).map(str::to_owned)
        };
        let (here, page) = ("127.0.0.1:8080", "/0123abcd/run");
        assert_eq!(ask(here, None, page), Ok("/run".to_owned()));
        assert_eq!(ask("localhost:8080", Some("http://localhost:8080"), page), Ok("/run".to_owned()));
        for host in ["", "127.0.0.1", "127.0.0.1:80", "elsewhere:8080"] {
            assert_eq!(ask(host, None, page), Err("403 Forbidden"), "{host}");
        }
        for origin in ["null", "http://elsewhere", "https://127.0.0.1:8080", "http://127.0.0.1:8080.elsewhere"] {
            assert_eq!(ask(here, Some(origin), page), Err("403 Forbidden"), "{origin}");
        }
        for path in ["/", "/run", "/0123abc/run", "/0123abcdrun", "/0123abcd"] {
            assert_eq!(ask(here, None, path), Err("404 Not Found"), "{path}");
        }
    }

    #[test]
    fn what_is_asked_for_is_kept_or_refused_with_a_reason() {
        let shared = shared();
        let text = serde_json::to_string(&shared.served.text).unwrap();
        let begun = shared.begin(&format!("{{\"text\":{text},\"seed\":\"18446744073709551615\"}}"));
        assert_eq!(begun, r#"{"run":1,"lasts_ms":20000.0,"seed":"18446744073709551615"}"#);
        for (body, says) in [
            ("", "not understood"),
            ("{\"text\":\"name = 1\",\"seed\":null}", "t.toml:1: "),
            (&format!("{{\"text\":{text},\"seed\":\"x\"}}"), "not a whole number"),
            (&format!("{{\"text\":{text},\"seed\":-1}}"), "not a whole number"),
        ] {
            let said = shared.begin(body);
            assert!(said.starts_with("{\"error\"") && said.contains(says), "{said}");
        }
        let fault = "[[fault]]\\nkind = \\\"crash\\\"\\nat = \\\"3 s\\\"\\nnodes = [2]\\n";
        let longer = shared.append(&format!("{{\"text\":{text},\"fault\":\"{fault}\"}}"));
        assert!(longer.starts_with("{\"text\"") && longer.contains("[[fault]]"), "{longer}");
        for _ in 0..40 {
            shared.begin(&format!("{{\"text\":{text},\"seed\":1}}"));
        }
        assert_eq!(shared.runs.lock().unwrap().kept.len(), super::RUNS_KEPT, "older ones are forgotten");
    }
}
