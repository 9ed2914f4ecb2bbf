//! An encrypted connection to a real broker, with a certificate that the test makes (`openssl`).

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::broker::Mosquitto;
use super::support::folder;

/// A certificate for this machine that has signed itself.
fn make_certificate(folder: &Path) {
    let args = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -keyout broker.key -out \
                broker.pem -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -addext \
                basicConstraints=critical,CA:FALSE";
    let made = Command::new("openssl").args(args.split_whitespace()).current_dir(folder).output();
    let made = made.expect("openssl is installed (Debian: apt-get install openssl)");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// Made-up readings to a broker, until all are there; or as long as it takes to fail.
fn flood(folder: &Path, broker: &str, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringleader-gateway"));
    command.args(["--flood", "200", "--db", "a.sqlite", "--mqtt", broker]).args(more).current_dir(folder);
    command.output().unwrap()
}

#[test]
fn readings_reach_a_broker_over_tls() {
    let folder = folder("tls");
    make_certificate(&folder);
    let settings = format!("certfile {0}/broker.pem\nkeyfile {0}/broker.key\n", folder.display());
    let Some(mosquitto) = Mosquitto::start_with(&folder, &settings) else { return };
    let port = mosquitto.port;
    let output = flood(&folder, &format!("mqtts://localhost:{port}"), &["--ca", "broker.pem"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("200 readings at the broker"), "{said}");
    // Plain text is not understood, and nobody we trust has signed this certificate.
    for broker in [format!("mqtt://localhost:{port}"), format!("mqtts://localhost:{port}")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringleader-gateway"));
        command.args(["--port", "nowhere", "--db", "b.sqlite", "--mqtt", &broker]).current_dir(&folder);
        let mut gateway = command.stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(gateway.stderr.take().unwrap()).lines().map_while(Result::ok);
        let said = { lines }.find(|line| line.starts_with("mqtt:")).unwrap();
        gateway.kill().unwrap();
        gateway.wait().unwrap();
        assert!(said.contains("trying again"), "{broker}: {said}");
    }
}
