"use strict";
// Puts the page together: what is shown when, and what the controls do.

const byId = (id) => document.getElementById(id);
const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
const EVENTS_SHOWN = 120;

const config = JSON.parse(byId("config").textContent);
// A worker has no address of its own to begin from.
const address = location.origin + config.address;
const seconds = (time) => `${(time / 1e6).toFixed(3)} s`;

function embedded(id) {
  const letters = atob(byId(id).textContent.trim());
  return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
}

class App {
  constructor() {
    this.picture = new Picture(byId("stage"));
    this.tools = new Tools(this.picture, this);
    this.store = new Store();
    this.moment = new Moment(this.store);
    this.text = "";
    this.seed = "";
    this.lasts = 1e6;
    this.speed = 1;
    this.playing = false;
    this.selected = null;
    this.run = 0;
    this.asked = 0;
    this.replies = new Map();
    this.isLive = false;
    this.original = "";
    const code = new Blob([byId("source").textContent], { type: "text/javascript" });
    this.worker = new Worker(URL.createObjectURL(code));
    this.worker.onmessage = ({ data }) => this.hear(data);
  }

  // Faults are for scenarios: what is recorded has happened, and boards on cables are told instead.
  get canAct() {
    return this.text !== "";
  }

  idOf(number) {
    return this.moment.network.nodes.get(number).id;
  }

  hear(message) {
    if (message.kind === "catalogue") return this.offer(message.scenarios);
    if (message.kind === "appended") {
      this.replies.get(message.number)?.(message);
      return this.replies.delete(message.number);
    }
    if (message.run !== this.run) return undefined;
    switch (message.kind) {
      case "refused": return this.refused(message.why);
      case "begun": return this.begun(message);
      case "records":
        this.incoming.append(message);
        return this.arrive();
      case "ended": return this.ended(message);
    }
  }

  // Plays a text from its start, and shows this moment of it as soon as it is there.
  start(text, seed, time) {
    this.run += 1;
    this.wanted = { time };
    this.verdict("", false);
    document.documentElement.dataset.state = "loading";
    if (config.mode === "trace") this.worker.postMessage({ kind: "replay", run: this.run, bytes: embedded("trace") });
    else if (config.mode === "live") this.worker.postMessage({ kind: "watch", run: this.run, address });
    else this.worker.postMessage({ kind: "run", run: this.run, text, seed, address });
  }

  begun({ lasts, seed, text, live }) {
    this.incoming = new Store();
    this.isLive = Boolean(live);
    Object.assign(this.wanted, { lasts: lasts * 1000, seed, text });
    this.arrive();
  }

  arrive(isOver = false) {
    const { incoming, wanted } = this;
    if (incoming === this.store) {
      if (!wanted.lasts) this.lasts = Math.max(this.store.until, 1e6);
      return;
    }
    if (incoming.until < wanted.time && !isOver) return;
    this.store = incoming;
    this.moment = new Moment(incoming);
    this.lasts = wanted.lasts || Math.max(incoming.until, 1e6);
    this.text = wanted.text;
    this.seed = wanted.seed;
    byId("seed").value = wanted.seed;
    this.go(this.isLive ? incoming.until : Math.min(wanted.time, this.lasts));
    if (!this.moment.network.nodes.has(this.selected)) this.selected = null;
    document.documentElement.dataset.state = "playing";
  }

  ended({ outcome, isFull, until }) {
    this.incoming.until = Math.max(this.incoming.until, until);
    this.arrive(true);
    if (!this.wanted.lasts || isFull) this.lasts = Math.max(this.incoming.until, 1e6);
    const all = this.isLive ? "`ringleader monitor --record` keeps all of it" : "`ringleader run` plays all of it";
    if (isFull) this.verdict(`The page keeps only the beginning of so long a run; ${all}.`, false);
    if (outcome) {
      const failure = outcome.failure;
      this.verdict(failure ? `Failed at ${(failure.at_ms / 1000).toFixed(3)} s: ${failure.what}` : "All checks held to the end.", Boolean(failure));
    }
    document.documentElement.dataset.state = "ended";
  }

  refused(why) {
    this.verdict(why, true);
    document.documentElement.dataset.state = "refused";
  }

  verdict(text, isBad) {
    byId("verdict").textContent = text;
    byId("verdict").classList.toggle("bad", isBad);
  }

  // Tells the selected board on a cable to do something.
  async order(order) {
    const node = this.moment.network.nodes.get(this.selected);
    if (!this.isLive || !node) return;
    try {
      const answer = await fetch(`${address}/tell`, { method: "POST", body: JSON.stringify({ node: node.number, order }) });
      const { does, error } = await answer.json();
      this.hint(error ? `Board ${node.id}: ${error}.` : `Board ${node.id} ${does}.`);
    } catch {
      this.hint("The program that served this page has ended.");
    }
  }

  // Does something to the network: the scenario with one more fault, from its start, shown from this moment on.
  async act(body) {
    if (!this.canAct) return;
    const time = Math.round(this.moment.time / 1000) * 1000;
    const number = (this.asked += 1);
    const reply = new Promise((done) => this.replies.set(number, done));
    this.worker.postMessage({ kind: "append", number, text: this.text, fault: fault(time, body), address });
    const { text, error } = await reply;
    if (error) return this.hint(error);
    this.hint("");
    this.start(text, this.seed, time);
  }

  go(time) {
    this.moment.go(Math.min(Math.max(time, 0), this.lasts));
    byId("scrub").value = String(Math.round((this.moment.time / this.lasts) * 1000));
    byId("scrub").setAttribute("aria-valuetext", seconds(this.moment.time));
  }

  // To the next or the previous thing that happened.
  step(direction) {
    this.pause();
    const { time: frames } = this.store.frames;
    const { time } = this.moment;
    const at = frames.until(time);
    const state = this.store.statesUntil(time);
    const candidates = direction > 0
      ? [at < frames.length ? frames.values[at] : Infinity, this.store.states[state]?.time_us ?? Infinity]
      : [this.before(frames, time), this.store.states.slice(Math.max(state - 200, 0), state).findLast((one) => one.time_us < time)?.time_us ?? 0];
    const next = direction > 0 ? Math.min(...candidates) : Math.max(...candidates);
    this.go(Number.isFinite(next) ? next : this.lasts);
  }

  before(column, time) {
    const at = column.until(time - 1);
    return at > 0 ? column.values[at - 1] : 0;
  }

  play() {
    if (!this.isLive && this.moment.time >= this.lasts) this.go(0);
    this.playing = true;
    this.shownPlaying();
  }

  pause() {
    this.playing = false;
    this.shownPlaying();
  }

  shownPlaying() {
    byId("play").toggleAttribute("data-playing", this.playing);
    byId("play").setAttribute("aria-label", this.playing ? "Pause" : "Play");
  }

  select(number) {
    this.selected = number;
  }

  hint(text) {
    byId("hint").textContent = text ?? "";
  }

  // One frame of the screen.
  tick(now) {
    const passed = Math.min(now - (this.ticked ?? now), 100) * 1000;
    this.ticked = now;
    if (this.playing) {
      const next = this.moment.time + passed * this.speed;
      // Not further than is known yet.
      this.go(Math.min(next, this.store.until));
      if (!this.isLive && this.moment.time >= this.lasts) this.pause();
    } else {
      this.moment.go(this.moment.time);
    }
    this.show();
    requestAnimationFrame((later) => this.tick(later));
  }

  show() {
    const { moment, picture, tools } = this;
    const tool = tools.shape ? tools.shape : null;
    picture.draw(moment, { speed: this.speed, selected: this.selected, dragged: tools.dragged, tool });
    drawTimeline(byId("timeline"), picture, this.store, this.lasts, moment.time);
    byId("clock").textContent = seconds(moment.time);
    // Text and charts need not follow every frame.
    if (this.ticked - (this.told ?? -1000) > 160) {
      this.told = this.ticked;
      this.tell();
    }
  }

  tell() {
    const { network, time } = this.moment;
    const nodes = [...network.nodes.values()];
    const followers = new Map();
    for (const node of nodes) if (node.on && node.leader !== null) followers.set(node.leader, (followers.get(node.leader) ?? 0) + 1);
    const leaders = [...followers].sort((a, b) => b[1] - a[1]);
    const on = nodes.filter((node) => node.on).length;
    const isOff = (id) => nodes.some((node) => node.id === id && !node.on);
    const led = leaders.slice(0, 4).map(([id, count]) => `${id}${isOff(id) ? ", which is off," : ""} leads ${count}`).join(", ");
    const more = leaders.length > 4 ? ` and ${leaders.length - 4} more` : "";
    byId("summary").textContent = `${on} of ${nodes.length} nodes on. ${led ? `Node ${led}${more}.` : "Nobody leads yet."}`;
    byId("selected").textContent = this.describe(network.nodes.get(this.selected));
    for (const id of ["kill", "restart"]) byId(id).disabled = !(this.canAct || this.isLive) || this.selected === null;
    for (const id of ["identify", "elect"]) byId(id).disabled = this.selected === null;
    byId("kill").disabled ||= !network.nodes.get(this.selected)?.on;
    drawChart(byId("energy"), this.picture, currents(this.store), this.lasts, time, network, this.selected);
    drawChart(byId("airtime"), this.picture, airtimes(this.store, network.nodes), this.lasts, time, network, this.selected);
    this.tellEvents(time);
  }

  describe(node) {
    if (!node) return this.canAct || this.isLive ? "Click a node, or choose one with the arrow keys." : "";
    const state = node.unseen ? "out of sight" : !node.on ? "off" : node.leader === null ? "follows nobody" : node.leader === node.id ? "leads" : `follows ${node.leader}`;
    const way = node.parent === null ? "" : ` by way of ${node.parent}`;
    const links = node.links.size === 1 ? "1 link" : `${node.links.size} links`;
    return `Node ${node.id} ${state}${way}; ${links}.`;
  }

  tellEvents(time) {
    let count = this.store.story.length;
    if (count && this.store.story[count - 1].time > time) count = this.store.story.findIndex((one) => one.time > time);
    const list = byId("events");
    const key = `${this.run} ${count}`;
    if (list.dataset.key === key) return;
    list.dataset.key = key;
    const shown = this.store.story.slice(Math.max(count - EVENTS_SHOWN, 0), count).reverse();
    list.replaceChildren(...shown.map(({ time: at, kind, text }) => {
      const [item, button, when, what] = ["li", "button", "time", "span"].map((name) => document.createElement(name));
      when.textContent = seconds(at);
      what.textContent = text;
      what.className = kind;
      button.append(when, what);
      button.onclick = () => {
        this.pause();
        this.go(at);
      };
      item.append(button);
      return item;
    }));
  }

  // The scenarios that come with the simulator.
  offer(scenarios) {
    this.scenarios = scenarios;
    const choice = byId("scenario");
    for (const { name } of scenarios) choice.append(new Option(name, name));
    choice.value = "";
    this.begin();
  }

  async begin() {
    let [text, seed, time] = [config.text, config.seed, 0];
    if (location.hash.length > 1 && config.mode !== "trace" && config.mode !== "live") {
      try {
        ({ text, seed, time } = await unpackLink(location.hash));
        this.original = "";
      } catch {
        this.hint("This link is damaged; here is the scenario that the page came with.");
      }
    }
    this.named(text);
    this.start(text, seed, time);
    if (time === 0) this.play();
  }

  named(text) {
    const name = /^name\s*=\s*"([^"]*)"/m.exec(text)?.[1] ?? config.name;
    byId("name").textContent = name;
    document.title = `${name}: Ringleader`;
    const isKnown = Boolean(this.scenarios?.some((known) => known.name === name));
    byId("scenario").value = isKnown ? name : "";
    byId("name").hidden = isKnown;
    this.name = name;
  }
}
