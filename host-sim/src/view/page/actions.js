"use strict";
// What one does to the network. Every action is a fault of the scenario, at the moment that is shown.

const number = (value) => String(Number(value.toFixed(2)));
const point = ([x, y]) => `[${number(x)}, ${number(y)}]`;

// The faults as a scenario has them.
const FAULTS = {
  crash: (ids) => `kind = "crash"\nnodes = [${ids.join(", ")}]\n`,
  restart: (ids) => `kind = "restart"\nnodes = [${ids.join(", ")}]\n`,
  move: (id, place) => `kind = "move"\nnodes = [${id}]\nto = [${point(place)}]\n`,
  wall: (from, to, lasting) => `kind = "wall"\nstart = ${point(from)}\nend = ${point(to)}\n${lasting}`,
  jam: (place, lasting) => `kind = "jam"\nplace = ${point(place)}\n${lasting || 'for = "60 s"\n'}`,
  split: (ids, lasting) => `kind = "partition"\nnodes = [${ids.join(", ")}]\n${lasting}`,
};

const fault = (time, body) => `[[fault]]\nat = "${Math.round(time / 1000)} ms"\n${body}`;

// A link carries the scenario, its seed and the moment; nothing of it is sent to any server.
async function pack(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpackLink(hash) {
  const letters = atob(hash.replace(/^#/, "").replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

// The tools: each turns what the mouse or the keyboard does into faults.
class Tools {
  constructor(picture, app) {
    this.picture = picture;
    this.app = app;
    this.name = "select";
    this.dragged = null;
    this.moving = false;
    this.shape = null;
  }

  get lasting() {
    const seconds = document.getElementById("lasting").value;
    return seconds ? `for = "${seconds} s"\n` : "";
  }

  take(name) {
    this.name = name;
    this.shape = this.dragged = null;
    this.moving = this.picture.frozen = false;
    for (const button of document.querySelectorAll("[data-tool]")) {
      button.setAttribute("aria-pressed", String(button.dataset.tool === name));
    }
    const hints = {
      select: "",
      wall: "Drag a line, or set two points with the arrow keys and Enter.",
      jam: "Click where the jammer is to be, or set it with the arrow keys and Enter.",
      split: "Drag a box around the nodes to cut off, or set two corners with the arrow keys and Enter.",
    };
    this.app.hint(hints[name]);
  }

  down(x, y) {
    const place = this.picture.world(x, y);
    if (this.name === "select") {
      const node = this.picture.nodeAt(this.app.moment.network, x, y);
      this.app.select(node ? node.number : null);
      if (node && this.app.canAct) {
        this.pressed = { x, y };
        this.dragged = { number: node.number, x: node.x, y: node.y, moved: false };
      }
    } else {
      this.picture.frozen = true;
      this.shape = { name: this.name, from: place, to: place };
    }
  }

  drag(x, y) {
    const place = this.picture.world(x, y);
    if (this.dragged && (this.dragged.moved || Math.hypot(x - this.pressed.x, y - this.pressed.y) > 5)) {
      this.picture.frozen = true;
      Object.assign(this.dragged, { x: place[0], y: place[1], moved: true });
    }
    if (this.shape) this.shape.to = place;
  }

  up() {
    const { dragged, shape } = this;
    this.dragged = this.shape = null;
    this.picture.frozen = false;
    if (dragged?.moved) this.app.act(FAULTS.move(this.app.idOf(dragged.number), [dragged.x, dragged.y]));
    if (shape) this.finish(shape);
  }

  finish({ name, from, to }) {
    const long = Math.hypot(to[0] - from[0], to[1] - from[1]);
    if (name === "jam") {
      this.app.act(FAULTS.jam(to, this.lasting));
    } else if (name === "wall") {
      if (long < 0.5) return this.app.hint("A wall needs two ends: drag from one to the other.");
      this.app.act(FAULTS.wall(from, to, this.lasting));
    } else if (name === "split") {
      const between = (value, a, b) => value >= Math.min(a, b) && value <= Math.max(a, b);
      const nodes = [...this.app.moment.network.nodes.values()];
      const ids = nodes.filter(({ x, y }) => x !== null && between(x, from[0], to[0]) && between(y, from[1], to[1])).map(({ id }) => id);
      if (ids.length === 0 || ids.length === nodes.length) return this.app.hint("Drag the box around some of the nodes, not none and not all.");
      this.app.act(FAULTS.split(ids, this.lasting));
    }
    this.take("select");
  }

  // The cross that the arrow keys move.
  cursor() {
    const node = this.app.moment.network.nodes.get(this.app.selected);
    const { width, height } = this.picture.size;
    return node && node.x !== null ? [node.x, node.y] : this.picture.world(width / 2, height / 2);
  }

  // True where the key was meant for a tool.
  key(key) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = steps[key];
    const metres = Math.max(1, Math.round(14 / this.picture.view.scale));
    if (this.moving && this.dragged) {
      if (step) Object.assign(this.dragged, { x: this.dragged.x + step[0] * metres, y: this.dragged.y + step[1] * metres, moved: true });
      else if (key === "Enter") this.moving = false, this.up();
      else if (key === "Escape") this.take("select");
      else return false;
      return true;
    }
    if (this.name === "select") return false;
    this.shape ??= { name: this.name, cursor: this.cursor() };
    if (step) {
      this.picture.frozen = true;
      this.shape.cursor = [this.shape.cursor[0] + step[0] * metres, this.shape.cursor[1] + step[1] * metres];
      if (this.shape.from) this.shape.to = this.shape.cursor;
    } else if (key === "Enter") {
      if (this.name === "jam" || this.shape.from) {
        const shape = { name: this.name, from: this.shape.from ?? this.shape.cursor, to: this.shape.cursor };
        this.shape = null;
        this.picture.frozen = false;
        this.finish(shape);
      } else {
        this.shape.from = this.shape.to = this.shape.cursor;
      }
    } else if (key === "Escape") {
      this.take("select");
    } else {
      return false;
    }
    return true;
  }

  // Begins to move the selected node with the arrow keys.
  carry() {
    const node = this.app.moment.network.nodes.get(this.app.selected);
    if (!node || !this.app.canAct) return;
    this.take("select");
    this.moving = this.picture.frozen = true;
    this.dragged = { number: node.number, x: node.x, y: node.y, moved: false };
    this.app.hint("Arrow keys move the node; Enter puts it down, Escape leaves it.");
  }
}
