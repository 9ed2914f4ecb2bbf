// Plays a scenario with the module in Node and prints its trace, as a page would get it:
// node play.mjs web.wasm scenario.toml SEED UNTIL_MS
import { readFileSync, writeSync } from "node:fs";

const [module, scenario, seed, until] = process.argv.slice(2);
const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(module)), {});

const output = () => new Uint8Array(exports.memory.buffer, exports.output_address(), exports.output_length());

function print() {
  let bytes = output();
  while (bytes.length > 0) bytes = bytes.subarray(writeSync(1, bytes));
}

const text = readFileSync(scenario);
// Asked for first: making room may exchange the memory.
const room = exports.input(text.length);
new Uint8Array(exports.memory.buffer, room, text.length).set(text);
if (exports.start(BigInt(seed), 1) === 0) {
  console.error(new TextDecoder().decode(output()));
  process.exit(1);
}
print();
for (let at = 0; at < Number(until); ) {
  at = Math.min(at + 700, Number(until));
  exports.advance(at);
  print();
}
