//! What `--json` prints fits its schema. `RINGLEADER_WRITE_SCHEMAS=1` regenerates the schemas from what is printed;
//! look at
//! the difference before you commit it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

#[cfg(unix)]
use crate::monitor::fake_board::FakeBoard;
#[cfg(unix)]
use crate::monitor::script;

/// A schema, and commands whose output must fit it. Between them they show every field with and without a value.
const PRINTED: [(&str, &[&str]); 24] = [
    (
        "run",
        &[
            "run mesh16 --json",
            "run partition-merge --json --check-determinism",
            "run late.toml --json",
            "run services.toml --json",
            "run apart.toml --json",
            "run frlle-load --json",
        ],
    ),
    (
        "sweep",
        &[
            "sweep mesh16 --seeds 0..2 --json",
            "sweep late.toml --seeds 0..2 --json",
            "sweep services.toml --seeds 0..2 --json",
            "sweep apart.toml --seeds 0..2 --json",
            "merge shard.json --json",
        ],
    ),
    ("fleet", &["fleet --json --port PORT"]),
    // What becomes of a command depends on its register, see the fake board.
    (
        "set",
        &[
            "set --list --json",
            "set sample=1s --json --port PORT",
            "set user1=1 --json --port PORT",
            "set user2=1 --json --port PORT",
            "set user3=1 --json --port PORT",
        ],
    ),
    ("identify", &["identify --json --port PORT", "identify 7 --json --port PORT"]),
    ("elect", &["elect --json --port PORT", "elect 7 --json --port PORT"]),
    ("restart", &["restart --json --port PORT", "restart 7 --json --port PORT"]),
    ("rank", &["rank 3 --json --port PORT"]),
    ("scenarios", &["scenarios --json"]),
    ("swarm", &["swarm --seeds 0..3 --json"]),
    ("check", &["check trace.jsonl --json", "check open.jsonl --json"]),
    ("links", &["links trace.jsonl --json"]),
    ("conform", &["conform GOLDEN/hs.json --json", "conform GOLDEN/frlle.json --json"]),
    ("study", &["study --seeds 2 --sizes 8 --graph line --json"]),
    ("hierarchy", &["hierarchy --nodes 10 --json"]),
    ("stress-hierarchy", &["stress hierarchy --runs 3 --json"]),
    ("stress-lies", &["stress lies --runs 6 --json"]),
    ("table", &["table --json"]),
    ("size", &["size IMAGE --json", "size IMAGE --json --max-flash 1 --max-ram 999999"]),
    ("demo", &["demo --json"]),
    ("board", &["board desk.toml --elf IMAGE --json", "board late.toml --all --elf IMAGE --json"]),
    ("bench-air", &["bench air --nodes 16 --seconds 1 --json"]),
    (
        "bench-elections",
        &["bench elections --seeds 1 --only ring16 --json", "bench elections --seeds 1 --only mesh16 --json"],
    ),
    ("bench-nodes", &["bench nodes --nodes 9 --seconds 60 --runs 1 --json"]),
];

/// Those that take half a minute each, only where `RINGLEADER_DEEP` asks for them.
const LONG: [(&str, &[&str]); 2] =
    [("bench-boards", &["bench boards --elf IMAGE --json"]), ("bench-core", &["bench core --nodes 100 --json"])];

/// Two boards on a desk.
const DESK: &str = "name = \"desk\"\nduration = \"15 s\"\n[topology]\nkind = \"line\"\nnodes = 2\nspacing = \"3 m\"\n\
                    [radio]\nmodel = \"plain\"\n[protocol]\nkind = \"height\"\n[[node]]\nid = 1\nkind = \"board\"\n";

/// Nobody agrees within half a second.
const LATE: &str = "name = \"late\"\nduration = \"5 s\"\n[topology]\nkind = \"line\"\nnodes = 4\nspacing = \"9 m\"\n\
                    [radio]\nmodel = \"plain\"\n[protocol]\nkind = \"height\"\n[expect]\nagreement_within = \"10 ms\"\n\
                    [[fault]]\nkind = \"crash\"\nnodes = [2]\nat = \"2 s\"\n\
                    [[fault]]\nkind = \"restart\"\nnodes = [2]\nat = \"2.1 s\"\n";

/// What the leader is for.
const SERVICES: &str = "name = \"services\"\nduration = \"40 s\"\n[topology]\nkind = \"line\"\nnodes = 3\nspacing = \"9 m\"\n\
                        [radio]\nmodel = \"plain\"\n[collect]\nevery = \"2 s\"\nsample = \"1 s\"\n[fleet]\nevery = \"10 s\"\n\
                        [[command]]\nat = \"12 s\"\nnode = 2\nset = \"sample=1s\"\n";

/// Nobody hears anybody, and one is off for a while: nothing is detected, gathered or listed.
const APART: &str = "name = \"apart\"\nduration = \"25 s\"\n[topology]\nkind = \"line\"\nnodes = 2\nspacing = \"900 m\"\n\
                     [radio]\nmodel = \"plain\"\n[collect]\nevery = \"2 s\"\nsample = \"1 s\"\n[fleet]\nevery = \"10 s\"\n\
                     [[command]]\nat = \"12 s\"\nnode = 2\nset = \"sample=1s\"\n\
                     [[fault]]\nkind = \"crash\"\nnodes = [1]\nat = \"0 s\"\n\
                     [[fault]]\nkind = \"restart\"\nnodes = [1]\nat = \"5 s\"\n";

fn schemas() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas")
}

fn printed(folder: &Path, command: &str) -> Value {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let words = command.split_whitespace().map(|word| {
        word.replace("GOLDEN", &golden.to_string_lossy())
            .replace("IMAGE", &folder.join("image.elf").to_string_lossy())
            .replace("PORT", &folder.join("port").to_string_lossy())
    });
    let output = Command::new(env!("CARGO_BIN_EXE_ringleader")).args(words).current_dir(folder).output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{command}: {error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The schema of all these values.
fn schema_of(values: &[&Value]) -> Value {
    let mut kinds: BTreeSet<&str> = values.iter().map(|value| kind(value)).collect();
    if kinds.contains("number") {
        kinds.remove("integer");
    }
    let mut schema = Map::new();
    match kinds.iter().copied().collect::<Vec<_>>()[..] {
        [] => return json!({}),
        [one] => schema.insert("type".into(), one.into()),
        _ => schema.insert("type".into(), kinds.iter().copied().collect::<Vec<_>>().into()),
    };
    let items: Vec<&Value> = values.iter().filter_map(|value| value.as_array()).flatten().collect();
    if kinds.contains("array") {
        schema.insert("items".into(), schema_of(&items));
    }
    let objects: Vec<&Map<String, Value>> = values.iter().filter_map(|value| value.as_object()).collect();
    if kinds.contains("object") {
        let keys: BTreeSet<&String> = objects.iter().flat_map(|object| object.keys()).collect();
        // Names of fields are words; others are what is counted.
        if keys.iter().any(|key| key.contains(' ') || key.bytes().all(|byte| byte.is_ascii_digit())) {
            let all: Vec<&Value> = objects.iter().flat_map(|object| object.values()).collect();
            schema.insert("additionalProperties".into(), schema_of(&all));
            return schema.into();
        }
        let always = keys.iter().filter(|key| objects.iter().all(|object| object.contains_key(**key)));
        schema.insert("required".into(), always.map(|key| (**key).clone()).collect::<Vec<_>>().into());
        let field = |key: &String| objects.iter().filter_map(|object| object.get(key)).collect::<Vec<_>>();
        let fields = keys.iter().map(|&key| (key.clone(), schema_of(&field(key))));
        schema.insert("properties".into(), Value::Object(fields.collect()));
    }
    schema.into()
}

/// Where a value does not fit a schema: the words of JSON Schema that `schema_of` writes.
fn misfits(schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => return,
    };
    let is_one = kinds.contains(&kind(value)) || kind(value) == "integer" && kinds.contains(&"number");
    if !is_one {
        found.push(format!("{at} is {} and not {kinds:?}", kind(value)));
    }
    for (item, number) in value.as_array().into_iter().flatten().zip(0..) {
        misfits(&schema["items"], item, &format!("{at}[{number}]"), found);
    }
    if let Value::Object(object) = value {
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        found.extend(required.filter(|key| !object.contains_key(*key)).map(|key| format!("{at} lacks {key}")));
        for (key, field) in object {
            match schema["properties"].get(key).or(schema.get("additionalProperties")) {
                Some(inner) => misfits(inner, field, &format!("{at}.{key}"), found),
                None => found.push(format!("{at}.{key} is not in the schema")),
            }
        }
    }
}

#[test]
fn what_is_printed_fits_its_schema() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schemas");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("late.toml"), LATE).unwrap();
    std::fs::write(folder.join("desk.toml"), DESK).unwrap();
    std::fs::write(folder.join("services.toml"), SERVICES).unwrap();
    std::fs::write(folder.join("apart.toml"), APART).unwrap();
    #[cfg(unix)]
    let _board = FakeBoard::plug_in(&folder.join("port"), script(5, None));
    std::fs::write(folder.join("image.elf"), emulator::images::elf("firmware").unwrap()).unwrap();
    let shard = printed(&folder, "sweep mesh16 --seeds 0..2 --json");
    std::fs::write(folder.join("shard.json"), shard.to_string()).unwrap();
    printed(&folder, "run mesh16 --json --trace trace.jsonl");
    let open = "{\"time_us\":0,\"node\":0,\"event\":\"id\",\"id\":5}\n{\"time_us\":60000000,\"node\":0,\"event\":\"power_on\"}\n";
    std::fs::write(folder.join("open.jsonl"), open).unwrap();
    let is_deep = std::env::var_os("RINGLEADER_DEEP").is_some();
    for (name, commands) in PRINTED.into_iter().chain(LONG.into_iter().filter(|_| is_deep)) {
        let values: Vec<Value> = commands.iter().map(|command| printed(&folder, command)).collect();
        hold(name, &values);
    }
}

/// Every line that the monitor prints is a record of a trace. Those of the format's own description are of every kind.
#[test]
fn lines_of_traces_fit_their_schema() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schemas-lines");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let described = include_str!("../sim/src/air/trace.rs");
    let lines = described.lines().filter_map(|line| line.strip_prefix("//! ")).filter(|line| line.starts_with('{'));
    let mut values: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    printed(&folder, "run partition-merge --json --trace trace.jsonl --detail");
    let trace = std::fs::read_to_string(folder.join("trace.jsonl")).unwrap();
    values.extend(trace.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
    #[cfg(unix)]
    {
        use crate::monitor::fake_board::{FakeBoard, Script};
        let _board =
            FakeBoard::plug_in(&folder.join("port"), Script { id: 5, epoch: 1, leader: Some(5), stores: true });
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringleader"));
        let output = command.args(["monitor", "--port", "port", "--json", "--for", "1"]).current_dir(&folder).output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        let said: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(said.iter().any(|line| line["event"] == "leader"), "{text}");
        values.extend(said);
    }
    hold("monitor", &values);
}

/// Holds what was printed to its schema, or makes the schema of it.
fn hold(name: &str, values: &[Value]) {
    let path = schemas().join(format!("{name}.json"));
    let is_to_be_made = std::env::var_os("RINGLEADER_WRITE_SCHEMAS").is_some();
    if is_to_be_made {
        let mut schema = schema_of(&values.iter().collect::<Vec<_>>());
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        schema["title"] =
            format!("ringleader {} --json", name.replacen("bench-", "bench ", 1).replacen("stress-", "stress ", 1))
                .into();
        std::fs::write(&path, serde_json::to_string_pretty(&schema).unwrap() + "\n").unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let schema: Value = serde_json::from_str(&text).unwrap();
    for (value, number) in values.iter().zip(1..) {
        let mut found = Vec::new();
        misfits(&schema, value, "output", &mut found);
        found.truncate(5);
        assert!(found.is_empty(), "output {number} of {name} does not fit {}: {found:?}", path.display());
    }
    if !is_to_be_made {
        let said = Command::new(env!("CARGO_BIN_EXE_ringleader")).args(["schema", name]).output().unwrap();
        assert_eq!(String::from_utf8(said.stdout).unwrap(), text, "`ringleader schema {name}`");
    }
}

#[test]
fn a_misfit_is_noticed() {
    let schema = schema_of(&[&json!({"a": 1, "b": [1.5, null]}), &json!({"a": 2})]);
    let check = |value: Value| {
        let mut found = Vec::new();
        misfits(&schema, &value, "it", &mut found);
        found
    };
    assert!(check(json!({"a": 3, "b": [2, null]})).is_empty());
    assert_eq!(check(json!({"a": "x"})), ["it.a is string and not [\"integer\"]"]);
    assert_eq!(check(json!({"b": []})), ["it lacks a"]);
    assert_eq!(check(json!({"a": 1, "c": 1})), ["it.c is not in the schema"]);
}
