//! A reading as one line: JSON, CSV, or the line protocol of InfluxDB and Telegraf.

use serde_json::json;

use crate::reading::Reading;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Jsonl,
    Csv,
    Influx,
}

impl Format {
    pub fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Influx => "influx",
        }
    }

    /// The first line of a file.
    pub fn header(self) -> &'static str {
        match self {
            Self::Csv => "time,network,node,device,epoch,seq,quantity,value,unit\n",
            Self::Jsonl | Self::Influx => "",
        }
    }

    /// With its line break.
    pub fn line(self, reading: &Reading) -> String {
        match self {
            Self::Jsonl => format!("{}\n", json(reading)),
            Self::Csv => csv(reading),
            Self::Influx => influx(reading),
        }
    }
}

/// What a line of JSON and a message on a broker have in common.
pub fn json(reading: &Reading) -> serde_json::Value {
    let Reading { key, quantity, value, unit, time, is_known } = reading;
    let mut line = json!({
        "time": time.to_string(),
        "network": key.network,
        "node": key.node,
        "device": key.device,
        "epoch": key.epoch,
        "seq": key.seq,
        "quantity": quantity,
        "value": value,
        "unit": unit,
    });
    if !is_known {
        line["time_is"] = "at the latest".into();
    }
    line
}

fn csv(reading: &Reading) -> String {
    let Reading { key, quantity, value, unit, time, .. } = reading;
    let [network, quantity, unit] = [&key.network, quantity, unit].map(|text| cell(text));
    format!("{time},{network},{},{},{},{},{quantity},{value},{unit}\n", key.node, key.device, key.epoch, key.seq)
}

/// Quotes a field that contains a comma, a quote or a line break.
fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// One point per reading: the measurement `ringleader`, with the quantity as its field.
fn influx(reading: &Reading) -> String {
    let Reading { key, quantity, value, time, .. } = reading;
    let network = tag(&key.network);
    let nanoseconds = i128::from(time.0) * 1_000;
    format!(
        "ringleader,device={},network={network},node={} {}={value} {nanoseconds}\n",
        key.device,
        key.node,
        tag(quantity)
    )
}

fn tag(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // A line break has no escape.
            '\n' | '\r' => escaped.push('_'),
            ',' | '=' | ' ' | '\\' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use host_sim::field::utc::Utc;

    use super::Format;
    use crate::reading::{Key, Reading};

    fn reading(network: &str) -> Reading {
        let key = Key { network: network.into(), node: 3, device: 48_879, epoch: 7, seq: 42 };
        let time = Utc(1_795_080_600_250_000);
        Reading { key, quantity: "air_temperature".into(), value: 21.4, unit: "°C".into(), time, is_known: true }
    }

    #[test]
    fn a_reading_is_a_line_of_each_kind() {
        let one = reading("garden");
        assert_eq!(Format::Csv.line(&one), "2026-11-19T09:30:00.250Z,garden,3,48879,7,42,air_temperature,21.4,°C\n");
        assert_eq!(
            Format::Influx.line(&one),
            "ringleader,device=48879,network=garden,node=3 air_temperature=21.4 1795080600250000000\n"
        );
        let back: serde_json::Value = serde_json::from_str(&Format::Jsonl.line(&one)).unwrap();
        assert_eq!(
            (back["value"].as_f64(), back["unit"].as_str(), back["seq"].as_u64()),
            (Some(21.4), Some("°C"), Some(42))
        );
    }

    #[test]
    fn names_of_networks_break_no_line() {
        let one = reading("my \"big\" garden,\nbehind=the house");
        let line = Format::Csv.line(&one);
        assert!(line.contains("\"my \"\"big\"\" garden,\nbehind=the house\""), "{line}");
        let line = Format::Influx.line(&one);
        assert!(line.contains("network=my\\ \"big\"\\ garden\\,_behind\\=the\\ house,node=3 "), "{line}");
        assert_eq!(line.lines().count(), 1);
        assert_eq!(Format::Jsonl.line(&one).lines().count(), 1);
    }
}
