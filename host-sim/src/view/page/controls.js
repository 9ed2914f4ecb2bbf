"use strict";
// Mouse, touch, keyboard and the controls of the page.

const app = new App();
const stage = byId("stage");
const tools = app.tools;

const where = (event) => {
  const box = stage.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};
stage.addEventListener("pointerdown", (event) => {
  stage.setPointerCapture(event.pointerId);
  tools.down(...where(event));
});
stage.addEventListener("pointermove", (event) => {
  if (event.buttons) tools.drag(...where(event));
  const over = tools.name === "select" && app.picture.size && app.picture.nodeAt(app.moment.network, ...where(event));
  stage.style.cursor = tools.name !== "select" ? "crosshair" : over ? (app.canAct ? "grab" : "pointer") : "default";
});
stage.addEventListener("pointerup", () => tools.up());
stage.addEventListener("pointercancel", () => tools.take("select"));

for (const button of document.querySelectorAll("[data-tool]")) {
  button.onclick = () => {
    tools.take(button.dataset.tool);
    if (app.canAct) stage.focus({ preventScroll: true });
  };
}
const kill = () => app.selected !== null && app.act(FAULTS.crash([app.idOf(app.selected)]));
const restart = () => {
  if (app.selected === null) return;
  if (app.isLive) app.order("restart");
  else app.act(FAULTS.restart([app.idOf(app.selected)]));
};
const identify = () => app.order("identify");
const elect = () => app.order("elect");
// Follows what happens now.
const present = () => {
  if (!app.isLive) return;
  app.go(app.store.until);
  app.play();
};
byId("identify").onclick = identify;
byId("elect").onclick = elect;
byId("now").onclick = present;
byId("kill").onclick = kill;
byId("restart").onclick = restart;
byId("play").onclick = () => (app.playing ? app.pause() : app.play());
byId("step").onclick = () => app.step(1);
byId("back").onclick = () => app.step(-1);
byId("scrub").oninput = ({ target }) => {
  app.pause();
  app.moment.go((Number(target.value) / 1000) * app.lasts);
  target.setAttribute("aria-valuetext", seconds(app.moment.time));
};
for (const speed of SPEEDS) byId("speed").append(new Option(`${speed}×`, String(speed)));
byId("speed").value = "1";
byId("speed").onchange = ({ target }) => (app.speed = Number(target.value));
byId("seed").onchange = ({ target }) => {
  if (/^\d+$/.test(target.value) && app.canAct) app.start(app.text, target.value, 0);
  else target.value = app.seed;
};
byId("scenario").onchange = ({ target }) => {
  const chosen = app.scenarios.find(({ name }) => name === target.value);
  if (!chosen) return;
  app.selected = null;
  app.named(chosen.text);
  app.start(chosen.text, null, 0);
  app.play();
};

// The scenario as a file: `ringleader run` plays the same to the byte.
byId("export").onclick = () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([app.text], { type: "application/toml" }));
  link.download = `${app.name}.toml`;
  link.click();
  app.hint(`Saved. Play it again with: ringleader run ${app.name}.toml --seed ${app.seed}`);
};
byId("share").onclick = async () => {
  const hash = await pack(JSON.stringify({ text: app.text, seed: app.seed, time: Math.round(app.moment.time) }));
  history.replaceState(null, "", `#${hash}`);
  try {
    await navigator.clipboard.writeText(location.href);
    app.hint("The link is copied, and is this page's address now.");
  } catch {
    app.hint("The link is this page's address now; copy it from there.");
  }
};

// Light or dark: as the system has it, until one chooses.
const dark = matchMedia("(prefers-color-scheme: dark)");
const setTheme = (isDark) => (document.documentElement.dataset.theme = isDark ? "dark" : "light");
setTheme(dark.matches);
dark.onchange = () => setTheme(dark.matches);
byId("theme").onclick = () => setTheme(document.documentElement.dataset.theme !== "dark");

// The node that lies furthest along in a direction, among those near the selected one.
function neighbour([dx, dy]) {
  const nodes = [...app.moment.network.nodes.values()].filter((node) => node.x !== null);
  const here = app.moment.network.nodes.get(app.selected);
  if (!here) return nodes.sort((a, b) => a.number - b.number)[0];
  let [best, least] = [here, Infinity];
  for (const node of nodes) {
    const [x, y] = [node.x - here.x, node.y - here.y];
    const along = x * dx + y * dy;
    const aside = Math.abs(x * dy - y * dx);
    if (node !== here && along > 0.01 && aside <= along * 2 && along + 2 * aside < least) [best, least] = [node, along + 2 * aside];
  }
  return best;
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const KEYS = {
  k: kill, r: restart, i: identify, e: elect, n: present, m: () => tools.carry(), v: () => tools.take("select"), w: () => tools.take("wall"),
  j: () => tools.take("jam"), s: () => tools.take("split"), ".": () => app.step(1), ",": () => app.step(-1),
  " ": () => byId("play").click(),
  "+": () => faster(1), "-": () => faster(-1),
};
function faster(by) {
  const at = Math.min(Math.max(SPEEDS.indexOf(app.speed) + by, 0), SPEEDS.length - 1);
  app.speed = SPEEDS[at];
  byId("speed").value = String(app.speed);
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { target, key } = event;
  if (target.matches("input:not(#scrub), select") || (target.matches("button") && (key === " " || key === "Enter"))) return;
  const isStage = target === stage;
  if (isStage && tools.key(key)) return event.preventDefault();
  if (isStage && ARROWS[key]) {
    app.select(neighbour(ARROWS[key])?.number ?? null);
    return event.preventDefault();
  }
  const does = KEYS[key.toLowerCase()];
  if (does) {
    does();
    event.preventDefault();
  }
});

const canChoose = config.mode === "wasm" || config.mode === "stream";
document.querySelector(".scenario").hidden = !canChoose;
for (const element of [...document.querySelectorAll("[data-tool]:not([data-tool=select])"), byId("lasting"), byId("export"), byId("share"), byId("seed")]) {
  element.disabled = config.mode === "trace" || config.mode === "live";
}
const isLive = config.mode === "live";
for (const id of ["identify", "elect", "now"]) byId(id).hidden = !isLive;
byId("kill").hidden = isLive;
if (isLive) byId("restart").title = "Start the board again (R)";
if (config.mode === "wasm") app.worker.postMessage({ kind: "module", bytes: embedded("module") });
else if (config.mode === "stream") app.offer(config.scenarios);
else app.begin();
requestAnimationFrame((now) => app.tick(now));
