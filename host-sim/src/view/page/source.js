"use strict";
// The worker: gets the lines of a trace from one of its sources and hands them to the page as columns.
// A run comes from the simulator as WebAssembly, from the program that serves the page, or from a recording.

const WHY = { received: 0, faint: 1, collided: 2, noise: 3, busy: 4 };
// What is weaker than this is lost for its weakness alone.
const FAINT_DBM = -92;
// How much is kept; longer runs end here in the page.
const RECORDS_MAX = 3_000_000;
// How far the simulator plays at once, so that the first frames are there at once.
const STEP_MS = 500;

// The kind of frame that carries readings and their commits: the low two bits of byte 9 (docs/wire.md).
const DATA = 3;

let module = null;
let current = 0;

const wait = () => new Promise((go) => setTimeout(go, 0));

async function unpack(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function instance() {
  const { exports } = new WebAssembly.Instance(module, {});
  const output = () => {
    const [address, length] = [exports.output_address(), exports.output_length()];
    return new TextDecoder().decode(new Uint8Array(exports.memory.buffer, address, length));
  };
  const input = (text) => {
    const bytes = new TextEncoder().encode(text);
    // Asked for first: making room may exchange the memory.
    const room = exports.input(bytes.length);
    new Uint8Array(exports.memory.buffer, room, bytes.length).set(bytes);
  };
  return { exports, output, input };
}

// Whom a frame with readings is for; null for any other frame.
function addressee(psdu) {
  const byte = (at) => parseInt(psdu.slice(2 * at, 2 * at + 2), 16);
  return psdu.startsWith("4188") && (byte(9) & 3) === DATA ? byte(5) | (byte(6) << 8) : null;
}

// Turns lines into columns, and says why frames were lost: that takes knowing what else was on the air.
class Reader {
  constructor(run) {
    this.run = run;
    this.rest = "";
    this.aloft = [];
    this.records = 0;
    this.last = 0;
    this.clear();
  }

  clear() {
    this.frames = { time: [], node: [], length: [] };
    this.receptions = { time: [], from: [], to: [], rssi: [], why: [], data: [] };
    this.states = [];
  }

  read(text) {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop();
    for (const line of lines) if (line) this.line(JSON.parse(line));
  }

  line(record) {
    this.records += 1;
    this.last = record.time_us;
    switch (record.event) {
      case "frame": return this.frame(record);
      case "received": return this.reception(record, WHY.received);
      case "damaged": return this.reception(record, this.why(record));
      case "busy": return this.reception({ ...record, from: record.node, rssi_dbm: 0 }, WHY.busy);
      case "corrupted": return undefined;
      default: this.states.push(record);
    }
  }

  frame({ time_us, node, psdu }) {
    const length = psdu.length / 2;
    this.frames.time.push(time_us);
    this.frames.node.push(node);
    this.frames.length.push(length);
    this.aloft = this.aloft.filter((other) => other.end > time_us - 10_000);
    this.aloft.push({ node, start: time_us, end: time_us + (length + 6) * 32, data: addressee(psdu) });
  }

  reception({ time_us, node, from, rssi_dbm }, why) {
    const { time, to, rssi } = this.receptions;
    time.push(time_us);
    this.receptions.from.push(from);
    to.push(node);
    rssi.push(rssi_dbm);
    this.receptions.why.push(why);
    const own = this.aloft.findLast((frame) => frame.node === from);
    this.receptions.data.push(own?.data === node ? 1 : 0);
  }

  why({ time_us, node, from, rssi_dbm }) {
    const own = this.aloft.findLast((frame) => frame.node === from);
    const start = own ? own.start : time_us;
    const met = this.aloft.some((other) => other.node !== from && other.node !== node && other.end > start && other.start < time_us);
    if (rssi_dbm <= FAINT_DBM) return WHY.faint;
    return met ? WHY.collided : WHY.noise;
  }

  send() {
    const { frames, receptions, states } = this;
    const columns = {
      frames: { time: Float64Array.from(frames.time), node: Uint16Array.from(frames.node), length: Uint8Array.from(frames.length) },
      receptions: {
        time: Float64Array.from(receptions.time), from: Uint16Array.from(receptions.from), to: Uint16Array.from(receptions.to),
        rssi: Int16Array.from(receptions.rssi), why: Uint8Array.from(receptions.why), data: Uint8Array.from(receptions.data),
      },
    };
    const buffers = [...Object.values(columns.frames), ...Object.values(columns.receptions)].map((column) => column.buffer);
    postMessage({ kind: "records", run: this.run, ...columns, states, until: this.last }, buffers);
    this.clear();
  }

  get isFull() {
    return this.records >= RECORDS_MAX;
  }
}

// The simulator in this worker.
async function play(run, text, seed) {
  const { exports, output, input } = instance();
  input(text);
  const actual = seed ?? exports.own_seed();
  const lasts = exports.start(BigInt(actual), 1);
  if (lasts === 0) return postMessage({ kind: "refused", run, why: output() });
  postMessage({ kind: "begun", run, lasts, seed: String(actual), text });
  const reader = new Reader(run);
  reader.read(output());
  for (let at = STEP_MS, more = true; more && !reader.isFull; at += STEP_MS) {
    more = exports.advance(at) === 1;
    reader.read(output());
    reader.last = Math.max(reader.last, Math.min(at, lasts) * 1000);
    reader.send();
    await wait();
    if (run !== current) return;
  }
  if (!reader.isFull) exports.finish();
  end(run, reader, reader.isFull ? "" : output());
}

// The program that serves the page plays.
function stream(run, text, seed, address) {
  return new Promise((done) => {
    fetch(`${address}/run`, { method: "POST", body: JSON.stringify({ text, seed: seed ?? null }) })
      .then((answer) => answer.json())
      .then((begun) => {
        if (begun.error) {
          postMessage({ kind: "refused", run, why: begun.error });
          return done();
        }
        postMessage({ kind: "begun", run, lasts: begun.lasts_ms, seed: begun.seed, text });
        const reader = new Reader(run);
        const events = new EventSource(`${address}/events?run=${begun.run}`);
        const stop = () => {
          events.close();
          done();
        };
        events.onmessage = ({ data }) => {
          if (run !== current) return stop();
          reader.read(`${data}\n`);
          reader.send();
          if (reader.isFull) {
            end(run, reader, "");
            stop();
          }
        };
        events.addEventListener("end", ({ data }) => {
          end(run, reader, data);
          stop();
        });
        events.addEventListener("refused", ({ data }) => {
          postMessage({ kind: "refused", run, why: data });
          stop();
        });
        events.onerror = () => {
          postMessage({ kind: "refused", run, why: "The program that served this page has ended." });
          stop();
        };
      })
      .catch(() => {
        postMessage({ kind: "refused", run, why: "The program that served this page has ended." });
        done();
      });
  });
}

// Boards on cables, as they speak.
function watch(run, address) {
  postMessage({ kind: "begun", run, lasts: 0, seed: "", text: "", live: true });
  const reader = new Reader(run);
  const events = new EventSource(`${address}/live`);
  events.onmessage = ({ data }) => {
    if (reader.isFull) return;
    reader.read(`${data}\n`);
    reader.send();
  };
  // The time goes on while nothing happens.
  events.addEventListener("now", ({ data }) => {
    const { us, dropped } = JSON.parse(data);
    if (reader.isFull || dropped > 0) {
      events.close();
      return end(run, reader, "", true);
    }
    reader.last = Math.max(reader.last, us);
    reader.send();
  });
  events.onerror = () => {
    events.close();
    postMessage({ kind: "refused", run, why: "The program that served this page has ended." });
  };
}

// A recording.
async function replay(run, bytes) {
  const text = new TextDecoder().decode(await unpack(bytes));
  postMessage({ kind: "begun", run, lasts: 0, seed: "", text: "" });
  const reader = new Reader(run);
  for (let at = 0; at < text.length && !reader.isFull; at += 1_000_000) {
    reader.read(text.slice(at, at + 1_000_000));
    reader.send();
    await wait();
  }
  reader.read("\n");
  reader.send();
  end(run, reader, "");
}

function end(run, reader, outcome, isCut = false) {
  postMessage({ kind: "ended", run, outcome: outcome ? JSON.parse(outcome) : null, isFull: reader.isFull || isCut, until: reader.last });
}

async function append(text, fault, address) {
  if (module) {
    const { exports, output, input } = instance();
    input(`${text}\0${fault}`);
    return exports.append() === 1 ? { text: output() } : { error: output() };
  }
  const answer = await fetch(`${address}/append`, { method: "POST", body: JSON.stringify({ text, fault }) });
  return answer.json();
}

onmessage = async ({ data }) => {
  switch (data.kind) {
    case "module": {
      module = await WebAssembly.compile(await unpack(data.bytes));
      const { exports, output } = instance();
      exports.catalogue();
      return postMessage({ kind: "catalogue", scenarios: JSON.parse(output()) });
    }
    case "run":
      current = data.run;
      return module ? play(data.run, data.text, data.seed) : stream(data.run, data.text, data.seed, data.address);
    case "replay":
      current = data.run;
      return replay(data.run, data.bytes);
    case "watch":
      current = data.run;
      return watch(data.run, data.address);
    case "append":
      return postMessage({ kind: "appended", number: data.number, ...(await append(data.text, data.fault, data.address)) });
  }
};
