//! The page of boards on cables: what it is told, and what it tells them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;

use common::host_link::{ToBoard, ToHost};
use common::notice::Notice;
use common::types::NodeId;
use host_sim::field::monitor::line::Endpoint;
use host_sim::field::monitor::watch::Options;
use host_sim::view::live::Live;
use host_sim::view::serve::{Served, Server, What};
use sim::air::trace::{Event, NodeNumber, Record, parse_line};

use super::fake_board::{FakeBoard, PATIENCE};
use super::{folder, script};

/// Serves boards at these ports until the test ends; the address.
fn serve(ports: &[&Path]) -> String {
    let endpoints = ports.iter().map(|port| Endpoint::Serial(port.to_path_buf())).collect();
    let live = Live::watch(endpoints, Options::default()).unwrap();
    let what = What::Live(live);
    let shown = Served { name: "boards".into(), file: String::new(), text: String::new(), seed: None, what };
    let server = Server::new(shown).unwrap();
    let address = server.address();
    std::thread::spawn(move || server.run());
    address
}

/// Asks for something below the page's address, and leaves the answer to be read.
fn request(address: &str, method: &str, path: &str, body: &str) -> BufReader<TcpStream> {
    let (host, token) = address.strip_prefix("http://").and_then(|rest| rest.split_once('/')).unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    let token = token.trim_end_matches('/');
    write!(stream, "{method} /{token}{path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{body}")
        .unwrap();
    BufReader::new(stream)
}

fn post(address: &str, path: &str, body: &str) -> String {
    let mut answer = String::new();
    request(address, "POST", path, body).read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// Reads the stream until a record is as wanted.
fn await_record(stream: &mut impl BufRead, wanted: impl Fn(&Record) -> bool) -> Record {
    loop {
        let mut line = String::new();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "the stream has ended");
        let Some(data) = line.strip_prefix("data: ").filter(|data| data.contains("time_us")) else { continue };
        let record = parse_line(1, data).unwrap();
        if wanted(&record) {
            return record;
        }
    }
}

#[test]
fn a_page_is_told_what_boards_report_and_they_what_it_wants() {
    let folder = folder("live");
    let (port, none) = (folder.join("a"), folder.join("none"));
    let board = FakeBoard::plug_in(&port, script(5, Some(7)));
    let address = serve(&[&port, &none]);
    let mut page = String::new();
    request(&address, "GET", "/", "").read_to_string(&mut page).unwrap();
    assert!(page.contains("\"mode\":\"live\""));
    let mut stream = request(&address, "GET", "/live", "");
    await_record(&mut stream, |record| record.event == Event::Leader { leader: Some(NodeId(7)) });
    board.say(&ToHost::Notice { at_us: 9_000_000, notice: Notice::Leader(Some(NodeId(5))) });
    let led = |record: &Record| record.event == Event::Leader { leader: Some(NodeId(5)) };
    let record = await_record(&mut stream, led);
    assert_eq!(record.node, Some(NodeNumber(0)));
    // A browser that opens the page later sees all of it.
    await_record(&mut request(&address, "GET", "/live", ""), led);
    assert_eq!(post(&address, "/tell", r#"{"node":0,"order":"identify"}"#), r#"{"does":"blinks"}"#);
    board.await_command(&ToBoard::Identify);
    assert_eq!(post(&address, "/tell", r#"{"node":0,"order":"restart"}"#), r#"{"does":"starts again"}"#);
    board.await_command(&ToBoard::Reset { record: false });
    for (body, says) in [
        ("", "not understood"),
        (r#"{"node":0,"order":"explode"}"#, "not understood"),
        (r#"{"node":1,"order":"elect"}"#, "no cable"),
    ] {
        let said = post(&address, "/tell", body);
        assert!(said.contains("\"error\"") && said.contains(says), "{said}");
    }
}
