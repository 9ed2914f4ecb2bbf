"use strict";
// What happened, in order of time, and what the network looked like at any moment of it.

const WHY = ["received", "faint", "collided", "noise", "busy"];
// A picture of the state is kept every so many changes, so that going back is quick.
const KEEP_EVERY = 1500;

// A column that grows.
class Column {
  constructor(Kind) {
    this.Kind = Kind;
    this.values = new Kind(1024);
    this.length = 0;
  }

  append(more) {
    if (this.length + more.length > this.values.length) {
      const larger = new this.Kind(Math.max(this.values.length * 2, this.length + more.length));
      larger.set(this.values.subarray(0, this.length));
      this.values = larger;
    }
    this.values.set(more, this.length);
    this.length += more.length;
  }

  // How many are at most this; for columns in order.
  until(limit) {
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.values[middle] <= limit) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

class Node {
  constructor(number) {
    this.number = number;
    this.id = number;
    this.x = null;
    this.y = null;
    this.on = false;
    this.unseen = false;
    this.leader = null;
    this.parent = null;
    this.links = new Set();
  }

  copy() {
    const copy = Object.assign(new Node(this.number), this);
    copy.links = new Set(this.links);
    return copy;
  }
}

class Network {
  constructor() {
    this.nodes = new Map();
    this.obstacles = [];
  }

  copy() {
    const copy = new Network();
    for (const [number, node] of this.nodes) copy.nodes.set(number, node.copy());
    copy.obstacles = [...this.obstacles];
    return copy;
  }

  node(number) {
    let node = this.nodes.get(number);
    if (!node) this.nodes.set(number, (node = new Node(number)));
    return node;
  }

  byId(id) {
    for (const node of this.nodes.values()) if (node.id === id) return node;
    return null;
  }

  apply(record) {
    if (record.event === "obstacle") return this.obstacle(record);
    if (record.node === null) return;
    const node = this.node(record.node);
    if (node.unseen && record.event !== "unseen") {
      node.unseen = false;
      node.on = true;
    }
    switch (record.event) {
      case "id": node.id = record.id; break;
      case "power_on": node.on = true; break;
      case "power_off":
        node.on = false;
        node.leader = node.parent = null;
        node.links.clear();
        break;
      case "unseen": node.unseen = true; break;
      case "leader":
        node.on = true;
        node.leader = record.leader;
        break;
      case "parent": node.parent = record.parent; break;
      case "link":
        if (record.up) node.links.add(record.peer);
        else node.links.delete(record.peer);
        break;
      case "place":
        node.x = record.x_mm / 1000;
        node.y = record.y_mm / 1000;
        break;
    }
  }

  obstacle({ kind, points_mm, nodes, on }) {
    const key = JSON.stringify([kind, points_mm, nodes]);
    if (on) {
      this.obstacles.push({ key, kind, nodes, points: points_mm.map(([x, y]) => [x / 1000, y / 1000]) });
    } else {
      const at = this.obstacles.findIndex((other) => other.key === key);
      if (at >= 0) this.obstacles = this.obstacles.toSpliced(at, 1);
    }
  }
}

class Store {
  constructor() {
    this.frames = { time: new Column(Float64Array), node: new Column(Uint16Array), length: new Column(Uint8Array) };
    this.receptions = {
      time: new Column(Float64Array), from: new Column(Uint16Array), to: new Column(Uint16Array),
      rssi: new Column(Int16Array), why: new Column(Uint8Array), data: new Column(Uint8Array),
    };
    this.states = [];
    this.kept = [{ count: 0, network: new Network() }];
    this.latest = new Network();
    // Seconds by node: charge so far in microampere-hours, and time on the air in each.
    this.charge = new Map();
    this.airtime = new Map();
    this.story = [];
    this.reigns = [];
    // Who has led many, in the order in which they first did.
    this.leading = new Map();
    this.until = 0;
    this.hasPlaces = false;
    this.bounds = null;
  }

  append({ frames, receptions, states, until }) {
    for (const name in frames) this.frames[name].append(frames[name]);
    for (const name in receptions) this.receptions[name].append(receptions[name]);
    frames.time.forEach((time, at) => this.count(frames.node[at], time, (frames.length[at] + 6) * 32));
    for (const record of states) this.state(record);
    this.until = Math.max(this.until, until);
  }

  count(node, time, lasts) {
    const second = Math.floor(time / 1e6);
    let seconds = this.airtime.get(node);
    if (!seconds) this.airtime.set(node, (seconds = []));
    seconds[second] = (seconds[second] ?? 0) + lasts;
  }

  state(record) {
    this.states.push(record);
    this.latest.apply(record);
    if (this.states.length % KEEP_EVERY === 0) this.kept.push({ count: this.states.length, network: this.latest.copy() });
    switch (record.event) {
      case "place": this.widen(record.x_mm / 1000, record.y_mm / 1000); break;
      case "obstacle": for (const [x, y] of record.points_mm) this.widen(x / 1000, y / 1000, true); break;
      case "energy": {
        let samples = this.charge.get(record.node);
        if (!samples) this.charge.set(record.node, (samples = []));
        samples.push([record.time_us / 1e6, record.charge_nah / 1000]);
        break;
      }
      case "note": case "power_off": case "unseen": case "leader": this.tell(record); break;
      case "power_on": if (record.time_us > 0) this.tell(record); break;
    }
    if (record.event === "leader" || record.event === "power_off") this.reign(record.time_us);
  }

  tell(record) {
    const name = record.node === null ? "" : `Node ${this.latest.node(record.node).id}`;
    const words = {
      note: () => (name ? `${name}: ${record.text}` : record.text),
      power_on: () => `${name} is on`,
      power_off: () => `${name} is off`,
      unseen: () => `${name} is out of sight`,
      leader: () => (record.leader === null ? `${name} follows nobody` : record.leader === this.latest.node(record.node).id ? `${name} leads` : `${name} follows ${record.leader}`),
    };
    this.story.push({ time: record.time_us, kind: record.event, text: words[record.event]() });
  }

  // How many follow whom from now on; changes of one moment are one.
  reign(time) {
    const followers = new Map();
    for (const node of this.latest.nodes.values()) {
      if (node.on && node.leader !== null) followers.set(node.leader, (followers.get(node.leader) ?? 0) + 1);
    }
    const many = Math.max(2, this.latest.nodes.size / 6);
    for (const [leader, count] of followers) if (count >= many && !this.leading.has(leader)) this.leading.set(leader, this.leading.size);
    const last = this.reigns.at(-1);
    if (last && last.time === time) last.followers = followers;
    else this.reigns.push({ time, followers });
  }

  widen(x, y, isObstacle = false) {
    if (!isObstacle) this.hasPlaces = true;
    const { left, right, top, bottom } = this.bounds ?? { left: x, right: x, top: y, bottom: y };
    this.bounds = { left: Math.min(left, x), right: Math.max(right, x), top: Math.min(top, y), bottom: Math.max(bottom, y) };
  }

  // How many state records have happened by this time.
  statesUntil(time) {
    let [low, high] = [0, this.states.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.states[middle].time_us <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The network at a moment.
  at(time) {
    const count = this.statesUntil(time);
    const kept = this.kept.findLast((one) => one.count <= count);
    const network = kept.network.copy();
    for (let at = kept.count; at < count; at += 1) network.apply(this.states[at]);
    return { network, count };
  }
}

// The moment that is shown. Going on is cheap; going back starts from a kept picture.
class Moment {
  constructor(store) {
    this.store = store;
    this.time = 0;
    this.network = new Network();
    this.count = 0;
    // By pair of nodes: how strong the last frame between them was, and when.
    this.strength = new Map();
    this.heard = 0;
  }

  go(time) {
    if (time < this.time) {
      ({ network: this.network, count: this.count } = this.store.at(time));
      this.strength.clear();
      this.heard = this.store.receptions.time.until(time - 5e6);
    } else {
      const states = this.store.states;
      for (; this.count < states.length && states[this.count].time_us <= time; this.count += 1) this.network.apply(states[this.count]);
    }
    this.time = time;
    const { time: times, from, to, rssi, why } = this.store.receptions;
    const until = times.until(time);
    for (this.heard = Math.max(this.heard, times.until(time - 5e6)); this.heard < until; this.heard += 1) {
      const at = this.heard;
      if (why.values[at] === 0) this.strength.set(pair(from.values[at], to.values[at]), { rssi: rssi.values[at], time: times.values[at] });
    }
  }
}

const pair = (a, b) => (a < b ? a * 65536 + b : b * 65536 + a);
