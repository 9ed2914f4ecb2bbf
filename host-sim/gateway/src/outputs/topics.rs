//! Topics and messages on the broker, and what Home Assistant needs to discover a sensor.

use serde_json::{Value, json};

use super::lines;
use crate::reading::{Reading, plain};

/// Where the latest value of a quantity is.
pub fn state(reading: &Reading) -> String {
    format!("ringleader/{}/{}/{}", plain(&reading.key.network), reading.key.node, plain(&reading.quantity))
}

pub fn message(reading: &Reading) -> String {
    lines::json(reading).to_string()
}

/// The topic that says whether the gateway is `online` or `offline`.
pub fn availability(gateway: &str) -> String {
    format!("ringleader/{}/state", plain(gateway))
}

/// The topic and the message by which Home Assistant discovers a sensor.
pub fn discovery(reading: &Reading, gateway: &str) -> (String, String) {
    let (network, node, quantity) = (plain(&reading.key.network), reading.key.node, plain(&reading.quantity));
    let id = format!("ringleader_{network}_{node}_{quantity}");
    let mut config = json!({
        "name": quantity.replace('_', " "),
        "unique_id": id,
        "object_id": id,
        "state_topic": state(reading),
        "value_template": "{{ value_json.value }}",
        "json_attributes_topic": state(reading),
        "availability_topic": availability(gateway),
        "state_class": "measurement",
        "device": {
            "identifiers": [format!("ringleader_{network}_{node}")],
            "name": format!("Node {node} ({network})"),
            "manufacturer": "Ringleader",
            "model": "sensor node",
        },
        "origin": { "name": "ringleader", "sw_version": env!("CARGO_PKG_VERSION") },
    });
    if !reading.unit.is_empty() {
        config["unit_of_measurement"] = Value::from(reading.unit.clone());
    }
    let class = match quantity.as_str() {
        name if name.ends_with("temperature") => Some("temperature"),
        "humidity" => Some("humidity"),
        "supply" => Some("voltage"),
        _ => None,
    };
    if let Some(class) = class {
        config["device_class"] = Value::from(class);
    } else {
        // These describe the node itself, not the world around it.
        config["entity_category"] = Value::from("diagnostic");
    }
    (format!("homeassistant/sensor/{id}/config"), config.to_string())
}

#[cfg(test)]
mod tests {
    use host_sim::field::utc::Utc;

    use super::{discovery, state};
    use crate::reading::{Key, Reading};

    #[test]
    fn a_name_adds_no_levels_and_no_wildcards() {
        let key = Key { network: "a/b+#c".into(), node: 3, device: 1, epoch: 1, seq: 1 };
        let (quantity, unit) = ("humidity".into(), "%".into());
        let reading = Reading { key, quantity, value: 40.0, unit, time: Utc(0), is_known: true };
        assert_eq!(state(&reading), "ringleader/a_b__c/3/humidity");
        let (topic, config) = discovery(&reading, "gateway");
        assert_eq!(topic, "homeassistant/sensor/ringleader_a_b__c_3_humidity/config");
        assert!(config.contains("\"device_class\":\"humidity\"") && config.contains("\"unit_of_measurement\":\"%\""));
    }
}
