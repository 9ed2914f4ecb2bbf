"use strict";
// Draws the network: links by quality, ways to the leader, clusters by colour, frames, obstacles.

// Okabe and Ito's colours, which the colour-blind can tell apart; a light and a dark reading of each.
const HUES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7f7f7f"];
const LOST = { faint: "#999999", collided: "#d55e00", noise: "#cc79a7", busy: "#e69f00" };
// How long a frame is shown, in seconds of whoever looks.
const LINGER_S = 0.45;

class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.paint = canvas.getContext("2d");
    this.view = { scale: 1, x: 0, y: 0 };
    this.fitted = "";
  }

  // Leaders get their colours in the order in which they first lead many, so that a run looks the same every time. Whoever
  // leads hardly more than itself is pale. No two leaders share a colour: after the eighth, hues are a golden angle apart.
  colour(leader) {
    if (leader === null) return this.theme.idle;
    const at = this.store.leading.get(leader);
    if (at === undefined) return `hsl(${Math.round((leader * 137.5) % 360)} 22% 58%)`;
    return at < HUES.length ? HUES[at] : `hsl(${Math.round((at * 137.5 + 20) % 360)} 55% ${at % 2 ? 38 : 62}%)`;
  }

  readTheme() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    this.theme = { paper: of("--stage"), ink: of("--ink"), soft: of("--soft"), line: of("--line"), idle: of("--idle"), accent: of("--accent"), warn: of("--warn") };
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.fitted = "";
    }
    this.paint.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.size = { width, height };
  }

  // Fits all places into the window. Nodes without places stand on a circle.
  fit(store, network) {
    if (!store.hasPlaces) {
      const nodes = [...network.nodes.values()].sort((a, b) => a.number - b.number);
      nodes.forEach((node, at) => {
        const angle = (at / Math.max(nodes.length, 1)) * 2 * Math.PI - Math.PI / 2;
        node.x = 20 * Math.cos(angle);
        node.y = 20 * Math.sin(angle);
      });
    }
    const bounds = store.hasPlaces && store.bounds ? store.bounds : { left: -22, right: 22, top: -22, bottom: 22 };
    const wanted = JSON.stringify([bounds, this.size]);
    if (this.fitted === wanted || this.frozen) return;
    this.fitted = wanted;
    const [wide, high] = [Math.max(bounds.right - bounds.left, 1), Math.max(bounds.bottom - bounds.top, 1)];
    const margin = Math.min(56, this.size.width * 0.12);
    const scale = Math.min((this.size.width - 2 * margin) / wide, (this.size.height - 2 * margin) / high, 60);
    this.view = {
      scale,
      x: this.size.width / 2 - (scale * (bounds.left + bounds.right)) / 2,
      y: this.size.height / 2 - (scale * (bounds.top + bounds.bottom)) / 2,
    };
  }

  screen(x, y) {
    return [this.view.x + x * this.view.scale, this.view.y + y * this.view.scale];
  }

  world(x, y) {
    return [(x - this.view.x) / this.view.scale, (y - this.view.y) / this.view.scale];
  }

  radius(network) {
    return network.nodes.size > 40 ? 11 : network.nodes.size > 20 ? 13 : 16;
  }

  nodeAt(network, x, y) {
    let best = null;
    let nearest = (this.radius(network) + 8) ** 2;
    for (const node of network.nodes.values()) {
      if (node.x === null) continue;
      const [nodeX, nodeY] = this.screen(node.x, node.y);
      const distance = (nodeX - x) ** 2 + (nodeY - y) ** 2;
      if (distance < nearest) [nearest, best] = [distance, node];
    }
    return best;
  }

  draw(moment, options) {
    this.readTheme();
    this.resize();
    const { paint, size } = this;
    const { network, store } = moment;
    this.store = store;
    this.fit(store, network);
    paint.fillStyle = this.theme.paper;
    paint.fillRect(0, 0, size.width, size.height);
    this.ids = new Map();
    for (const node of network.nodes.values()) this.ids.set(node.id, node);
    this.drawSplits(network);
    this.drawLinks(moment);
    this.drawObstacles(network);
    this.drawFrames(moment, options.speed);
    for (const node of network.nodes.values()) if (node.x !== null) this.drawNode(network, node, options);
    this.drawTool(options.tool);
    this.drawScale();
  }

  // The link between two nodes: the better it is, the stronger its line. An arrow points to the next node on the way.
  drawLinks({ network, strength, time }) {
    const { paint, theme } = this;
    const links = new Map();
    for (const node of network.nodes.values()) {
      for (const id of node.links) {
        const other = this.ids.get(id);
        if (other) links.set(pair(node.number, other.number), [node, other]);
      }
    }
    // Recordings that tell no links: whoever was heard lately.
    if (links.size === 0) {
      for (const [key, heard] of strength) {
        const [a, b] = [network.nodes.get(Math.floor(key / 65536)), network.nodes.get(key % 65536)];
        if (a?.on && b?.on && time - heard.time < 4e6) links.set(key, [a, b]);
      }
    }
    for (const [key, [a, b]] of links) {
      if (a.x === null || b.x === null) continue;
      const quality = Math.min(Math.max(((strength.get(key)?.rssi ?? -88) + 95) / 40, 0.05), 1);
      paint.strokeStyle = theme.line;
      paint.globalAlpha = 0.25 + 0.6 * quality;
      paint.lineWidth = 0.6 + 2.2 * quality;
      paint.setLineDash(quality < 0.2 ? [3, 4] : []);
      this.stroke(this.screen(a.x, a.y), this.screen(b.x, b.y));
    }
    paint.setLineDash([]);
    paint.globalAlpha = 1;
    for (const node of network.nodes.values()) {
      const next = node.parent === null ? null : this.ids.get(node.parent);
      if (next && node.on && node.x !== null && next.x !== null) this.arrow(network, node, next);
    }
  }

  stroke([fromX, fromY], [toX, toY]) {
    this.paint.beginPath();
    this.paint.moveTo(fromX, fromY);
    this.paint.lineTo(toX, toY);
    this.paint.stroke();
  }

  arrow(network, node, next) {
    const { paint } = this;
    const [fromX, fromY] = this.screen(node.x, node.y);
    const [toX, toY] = this.screen(next.x, next.y);
    const length = Math.hypot(toX - fromX, toY - fromY) || 1;
    const [alongX, alongY] = [(toX - fromX) / length, (toY - fromY) / length];
    const radius = this.radius(network);
    const [tipX, tipY] = [toX - alongX * (radius + 4), toY - alongY * (radius + 4)];
    paint.strokeStyle = paint.fillStyle = this.colour(node.leader);
    paint.lineWidth = 2.5;
    this.stroke([fromX + alongX * radius, fromY + alongY * radius], [tipX - alongX * 6, tipY - alongY * 6]);
    paint.beginPath();
    paint.moveTo(tipX, tipY);
    paint.lineTo(tipX - alongX * 9 - alongY * 5, tipY - alongY * 9 + alongX * 5);
    paint.lineTo(tipX - alongX * 9 + alongY * 5, tipY - alongY * 9 - alongX * 5);
    paint.fill();
  }

  drawNode(network, node, { selected, dragged }) {
    const { paint, theme } = this;
    const radius = this.radius(network);
    const at = dragged?.number === node.number ? [dragged.x, dragged.y] : [node.x, node.y];
    const [x, y] = this.screen(...at);
    const colour = node.unseen ? theme.idle : this.colour(node.leader);
    const leads = node.on && node.leader === node.id;
    paint.beginPath();
    paint.arc(x, y, radius, 0, 2 * Math.PI);
    paint.fillStyle = node.on ? (node.leader === null ? theme.paper : colour) : theme.paper;
    paint.fill();
    paint.lineWidth = leads ? 3.5 : 2;
    paint.strokeStyle = node.on ? (leads ? theme.ink : colour) : theme.idle;
    paint.setLineDash(node.on && !node.unseen ? [] : [3, 3]);
    paint.stroke();
    paint.setLineDash([]);
    paint.fillStyle = node.on && node.leader !== null ? "#ffffff" : theme.soft;
    paint.font = `600 ${radius > 12 ? 13 : 11}px system-ui, sans-serif`;
    paint.textAlign = "center";
    paint.textBaseline = "middle";
    if (node.on && node.leader !== null) {
      paint.strokeStyle = "rgba(0,0,0,.55)";
      paint.lineWidth = 2.5;
      paint.strokeText(node.id, x, y + 0.5);
    }
    paint.fillText(node.id, x, y + 0.5);
    if (!node.on) {
      paint.strokeStyle = theme.warn;
      paint.lineWidth = 2.5;
      this.stroke([x - radius, y + radius], [x + radius, y - radius]);
    }
    if (leads) this.crown(x, y - radius - 3);
    if (selected === node.number) {
      paint.beginPath();
      paint.arc(x, y, radius + 6, 0, 2 * Math.PI);
      paint.lineWidth = 2.5;
      paint.strokeStyle = theme.accent;
      paint.stroke();
    }
  }

  crown(x, y) {
    const { paint } = this;
    paint.beginPath();
    paint.moveTo(x - 9, y);
    for (const [dx, dy] of [[-10, -10], [-4.5, -5], [0, -12], [4.5, -5], [10, -10], [9, 0]]) paint.lineTo(x + dx, y + dy);
    paint.closePath();
    paint.fillStyle = "#f2b701";
    paint.strokeStyle = this.theme.ink;
    paint.lineWidth = 1.2;
    paint.fill();
    paint.stroke();
  }

  cross(x, y, size, colour, width) {
    this.paint.strokeStyle = colour;
    this.paint.lineWidth = width;
    this.stroke([x - size, y - size], [x + size, y + size]);
    this.stroke([x - size, y + size], [x + size, y - size]);
  }

  // Frames in flight: a ring around the sender, a dot to each who hears it, a mark where it was lost.
  drawFrames({ store, network, time }, speed) {
    const { paint } = this;
    const linger = Math.max(LINGER_S * 1e6 * Math.min(Math.max(speed, 0.002), 1), 2000);
    const { time: times, node: senders } = store.frames;
    for (let at = times.until(time) - 1; at >= 0 && time - times.values[at] < linger; at -= 1) {
      const node = network.nodes.get(senders.values[at]);
      if (!node || node.x === null) continue;
      const age = (time - times.values[at]) / linger;
      const [x, y] = this.screen(node.x, node.y);
      paint.globalAlpha = 0.55 * (1 - age);
      paint.strokeStyle = this.colour(node.leader);
      paint.lineWidth = 2;
      paint.beginPath();
      paint.arc(x, y, this.radius(network) + 22 * age, 0, 2 * Math.PI);
      paint.stroke();
    }
    const { time: ends, from, to, why, data } = store.receptions;
    const last = ends.until(time);
    const first = Math.max(ends.until(time - linger), last - 700);
    for (let at = first; at < last; at += 1) {
      const [sender, receiver] = [network.nodes.get(from.values[at]), network.nodes.get(to.values[at])];
      if (!sender || !receiver || sender.x === null || receiver.x === null) continue;
      const age = (time - ends.values[at]) / linger;
      const [start, end] = [this.screen(sender.x, sender.y), this.screen(receiver.x, receiver.y)];
      if (data.values[at] && why.values[at] === 0) this.drawReading(start, end, age);
      else this.drawReception(start, end, age, why.values[at], this.colour(sender.leader));
    }
    paint.globalAlpha = 1;
  }

  // A reading on its way, or its commit on the way back: only to the one it is for.
  drawReading([fromX, fromY], [toX, toY], age) {
    const { paint, theme } = this;
    const along = Math.min(age * 1.4, 1);
    const [x, y] = [fromX + (toX - fromX) * along, fromY + (toY - fromY) * along];
    paint.globalAlpha = 1 - age * age;
    paint.fillStyle = theme.ink;
    paint.beginPath();
    for (const [dx, dy] of [[0, -6], [6, 0], [0, 6], [-6, 0]]) paint.lineTo(x + dx, y + dy);
    paint.fill();
  }

  drawReception([fromX, fromY], [toX, toY], age, why, colour) {
    const { paint } = this;
    if (why === 0) {
      const along = Math.min(age * 1.4, 1);
      paint.globalAlpha = 0.8 * (1 - age);
      paint.fillStyle = colour;
      paint.beginPath();
      paint.arc(fromX + (toX - fromX) * along, fromY + (toY - fromY) * along, 2.2, 0, 2 * Math.PI);
      paint.fill();
      return;
    }
    const along = why === 4 ? 0 : 0.72;
    const [x, y] = [fromX + (toX - fromX) * along, fromY + (toY - fromY) * along - (why === 4 ? 26 : 0)];
    paint.globalAlpha = why === 1 ? 0.5 * (1 - age) : 1 - age;
    const mark = LOST[WHY[why]];
    if (why === 1) {
      paint.fillStyle = mark;
      paint.fillRect(x - 1.5, y - 1.5, 3, 3);
    } else if (why === 4) {
      paint.fillStyle = mark;
      paint.fillRect(x - 4, y - 4, 8, 8);
    } else if (why === 3) {
      paint.strokeStyle = mark;
      paint.lineWidth = 2;
      this.stroke([x - 4, y], [x + 4, y]);
      this.stroke([x, y - 4], [x, y + 4]);
    } else {
      this.cross(x, y, 3.5, mark, 2);
    }
  }

  drawSplits(network) {
    const { paint, theme } = this;
    for (const { nodes } of network.obstacles.filter(({ kind }) => kind === "split")) {
      for (const id of nodes) {
        const node = this.ids.get(id);
        if (!node || node.x === null) continue;
        const [x, y] = this.screen(node.x, node.y);
        paint.beginPath();
        paint.arc(x, y, this.radius(network) + 13, 0, 2 * Math.PI);
        paint.fillStyle = theme.warn;
        paint.globalAlpha = 0.16;
        paint.fill();
        paint.globalAlpha = 0.8;
        paint.strokeStyle = theme.warn;
        paint.lineWidth = 1.2;
        paint.setLineDash([2, 3]);
        paint.stroke();
        paint.setLineDash([]);
        paint.globalAlpha = 1;
      }
    }
  }

  drawObstacles(network) {
    const { paint, theme } = this;
    for (const { kind, points } of network.obstacles) {
      if (kind === "wall") {
        paint.strokeStyle = theme.ink;
        paint.lineWidth = 6;
        paint.lineCap = "round";
        this.stroke(this.screen(...points[0]), this.screen(...points[1]));
        paint.lineCap = "butt";
      } else if (kind === "noise" || kind === "attacker") {
        const [x, y] = this.screen(...points[0]);
        paint.strokeStyle = kind === "noise" ? LOST.noise : theme.warn;
        paint.lineWidth = 2;
        for (const ring of [7, 15, 24]) {
          paint.globalAlpha = 1 - ring / 34;
          paint.beginPath();
          paint.arc(x, y, ring, 0, 2 * Math.PI);
          paint.stroke();
        }
        paint.globalAlpha = 1;
        if (kind === "attacker") this.cross(x, y, 4, theme.warn, 2);
      }
    }
  }

  // What the tool in hand is about to do.
  drawTool(tool) {
    if (!tool) return;
    const { paint, theme } = this;
    paint.strokeStyle = theme.accent;
    paint.lineWidth = 2;
    paint.setLineDash([5, 4]);
    if (tool.from && tool.to) {
      const [from, to] = [this.screen(...tool.from), this.screen(...tool.to)];
      if (tool.name === "split") paint.strokeRect(from[0], from[1], to[0] - from[0], to[1] - from[1]);
      else this.stroke(from, to);
    }
    paint.setLineDash([]);
    if (tool.cursor) {
      const [x, y] = this.screen(...tool.cursor);
      this.stroke([x - 10, y], [x + 10, y]);
      this.stroke([x, y - 10], [x, y + 10]);
    }
  }

  // How long a metre is.
  drawScale() {
    const { paint, size, theme, view } = this;
    const metres = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].findLast((length) => length * view.scale <= 110) ?? 1;
    const [x, y] = [14, size.height - 14];
    paint.strokeStyle = paint.fillStyle = theme.soft;
    paint.lineWidth = 1.5;
    this.stroke([x, y], [x + metres * view.scale, y]);
    paint.font = "11px system-ui, sans-serif";
    paint.textAlign = "left";
    paint.textBaseline = "bottom";
    paint.fillText(`${metres} m`, x, y - 3);
  }
}
