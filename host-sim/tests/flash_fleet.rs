//! `ringleader flash --fleet` with a probe-rs of the test's own, which keeps what boards have in files.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use emulator::images;
use host_sim::field::flash::image::Image;

/// `read`, `download` and `reset` as probe-rs has them. The image's build id is in `build`, at the address that is in
/// `build-address`. A board is "unplugged" while a file says so.
const PROBE_RS: &str = r#"#!/bin/sh
step=$1; probe=$5; shift 5
state="$STATE/$(echo "$probe" | tr ':' '_')"
echo "$step $probe $*" >> "$STATE/calls"
if [ -e "$state.unplugged" ]; then echo "no probe $probe" >&2; exit 1; fi
erased() { i=0; while [ $i -lt "$1" ]; do printf 'ff '; i=$((i + 1)); done; }
case $step in
read)
    if [ "$2" = "$(cat "$STATE/build-address")" ]; then
        if [ -e "$state.elf" ]; then cat "$STATE/build"; else erased "$3"; fi
    elif [ -e "$state.hex" ]; then
        grep -v '^:0[02]0000' "$state.hex" | sed 's/^:........//; s/..$//' | tr -d '\n' | sed 's/../& /g'
    else erased "$3"; fi ;;
download)
    if [ "$1" = "--binary-format" ]; then cp "$3" "$state.hex"; else cp "$1" "$state.elf"; rm -f "$state.hex"; fi ;;
esac
"#;

const FLEET: &str = "network = \"garden\"\nkey_file = \"garden.key\"\nring = [1, 2, 3]\n
[[node]]\nid = 1\nprobe = \"1366:1015:1\"\n
[[node]]\nid = 2\nprobe = \"1366:1015:2\"\n
[[node]]\nid = 3\nprobe = \"1366:1015:3\"\n";

struct Desk {
    folder: PathBuf,
    image: Image,
}

impl Desk {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("flash").join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("state")).unwrap();
        let image = Image::parse(images::elf("firmware").unwrap().to_vec()).unwrap();
        let digits: Vec<String> = image.build.0.iter().map(|byte| format!("{byte:02x}")).collect();
        for (file, text) in [
            ("state/build", digits.join(" ")),
            ("state/build-address", format!("{:#x}", image.build_address)),
            ("garden.key", "00112233445566778899aabbccddeeff\n".into()),
            ("fleet.toml", FLEET.into()),
            ("probe-rs", PROBE_RS.into()),
        ] {
            std::fs::write(folder.join(file), text).unwrap();
        }
        std::fs::write(folder.join("dk.elf"), &image.elf).unwrap();
        std::fs::set_permissions(folder.join("probe-rs"), std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder, image }
    }

    /// Exit code, and everything that it said.
    fn flash(&self, more: &str) -> (Option<i32>, String) {
        let args = format!("flash --fleet fleet.toml --image nrf52840-dk=dk.elf {more}");
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new(env!("CARGO_BIN_EXE_ringleader"))
            .args(args.split_whitespace())
            .current_dir(&self.folder)
            .env("PATH", format!("{}:{path}", self.folder.display()))
            .env("STATE", self.folder.join("state"))
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    }

    fn calls(&self) -> Vec<String> {
        let calls = std::fs::read_to_string(self.folder.join("state/calls")).unwrap_or_default();
        let _ = std::fs::remove_file(self.folder.join("state/calls"));
        calls.lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_fleet_is_flashed_proven_and_resumed() {
    let desk = Desk::new("resumed");
    let unplugged = desk.folder.join("state/1366_1015_2.unplugged");
    std::fs::write(&unplugged, "").unwrap();
    let (code, said) = desk.flash("");
    assert_eq!(code, Some(1), "{said}");
    for line in [
        "node 2: LEFT: ",
        "no probe 1366:1015:2",
        "done: 1, 3\nleft: 2\n",
        "to continue: ringleader flash --fleet fleet.toml --only 2 --archive images --out pages --image nrf52840-dk=dk.elf",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let kept = desk.folder.join(format!("images/{}.elf", desk.image.build));
    assert_eq!(std::fs::read(&kept).unwrap(), desk.image.elf, "the archive");
    // Each board has its own page.
    let page = |id: u16| std::fs::read(desk.folder.join(format!("state/1366_1015_{id}.hex"))).unwrap();
    assert_ne!(page(1), page(3));
    let resets = desk.calls().iter().filter(|call| call.starts_with("reset")).count();
    assert_eq!(resets, 2);

    std::fs::remove_file(&unplugged).unwrap();
    let (code, said) = desk.flash("");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("node 1: has image") && said.contains("done: 1, 2, 3\n3 boards.\n"), "{said}");
    let written: Vec<String> = desk.calls().into_iter().filter(|call| !call.starts_with("read")).collect();
    assert!(written.iter().all(|call| call.contains("1366:1015:2")), "only what was left: {written:?}");
}

#[test]
fn an_image_that_does_not_arrive_is_noticed() {
    let desk = Desk::new("unproven");
    std::fs::write(desk.folder.join("state/build"), "00 00 00 00 00 00 00 00").unwrap();
    let (code, said) = desk.flash("--only 1");
    assert!(code == Some(1) && said.contains("the image was written, but its build id"), "{said}");
    let (code, said) = desk.flash("--only 9");
    assert!(code == Some(1) && said.contains("no [[node]] has the id 9"), "{said}");
    let (code, said) = desk.flash("--image toaster=dk.elf");
    assert!(code == Some(1) && said.contains("there is no board \"toaster\""), "{said}");
}

#[test]
fn a_board_on_a_port_is_asked_what_it_runs() {
    let desk = Desk::new("port");
    let fleet = FLEET.replace("probe = \"1366:1015:2\"", "port = \"nowhere\"");
    std::fs::write(desk.folder.join("fleet.toml"), fleet).unwrap();
    let (code, said) = desk.flash("--only 2");
    assert_eq!(code, Some(1));
    assert!(said.contains("cannot open nowhere") && said.contains("takes no image over a cable"), "{said}");
    assert_eq!(desk.calls(), [""; 0], "no probe is touched");
}
