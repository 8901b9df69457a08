#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// ONNX Runtime's side of tools/peers/compare_onnxruntime, on a graph of tools/peers/onnx_graph.py:
//   onnxruntime_bench.mjs GRAPH THREADS time SHAPE...           median times, a JSON line per shape
//   onnxruntime_bench.mjs GRAPH THREADS start                   session and first run, peak memory
//   onnxruntime_bench.mjs GRAPH THREADS states INPUTS OUTPUT    hidden states, one input at a time
import fs from 'fs';
import {createRequire} from 'module';
const onnx = createRequire((process.env.NODE_PATH || '.') + '/')('onnxruntime-node');
const [graph, threads, task, ...rest] = process.argv.slice(2);

const open = () => onnx.InferenceSession.create(graph, {intraOpNumThreads: Number(threads),
    interOpNumThreads: 1, graphOptimizationLevel: 'all', executionMode: 'sequential'});

// The inputs padded to the longest, as ONNX Runtime requires.
function feeds(inputs) {
  const rows = inputs.length, columns = Math.max(...inputs.map(x => x.ids.length));
  const tensor = value => new onnx.Tensor('int32', Int32Array.from({length: rows * columns},
      (_, i) => value(inputs[Math.floor(i / columns)], i % columns) ?? 0), [rows, columns]);
  return {ids: tensor((x, s) => x.ids[s]), type_ids: tensor((x, s) => x.type_ids[s]),
    mask: tensor((x, s) => Number(s < x.ids.length))};
}

// The same inputs as bert-bench.
function inputsOf(shape) {
  const [batch, length] = shape.split('x').map(Number);
  const lengths = shape.startsWith('lengths:') ? shape.slice(8).split(',').map(Number)
      : Array(batch).fill(length);
  return lengths.map((n, b) => ({
    ids: Array.from({length: n}, (_, s) => ((b + 1) * 4099 + s) * 7919 % 30522),
    type_ids: Array.from({length: n}, (_, s) => Number(2 * s > n))}));
}

async function time(session, shape) {
  const feed = feeds(inputsOf(shape)), times = [];
  for (let i = 0; i < 2; ++i) await session.run(feed);
  for (const begin = performance.now(); times.length < 7 || performance.now() - begin < 500;) {
    const start = performance.now();
    await session.run(feed);
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  console.log(JSON.stringify({shape, median_ms: times[times.length >> 1], min_ms: times[0]}));
}

if (task === 'start') {
  const before = process.memoryUsage.rss(), begin = performance.now();
  const session = await open();
  await session.run(feeds([{ids: [101, 2023, 2003, 102], type_ids: [0, 0, 0, 0]}]));
  console.log(JSON.stringify({start_ms: performance.now() - begin,
    peak_bytes: process.resourceUsage().maxRSS * 1024 - before}));
} else {
  const session = await open();
  if (task === 'time') {
    for (const shape of rest) await time(session, shape);
  } else {
    const out = fs.openSync(rest[1], 'w');
    for (const input of JSON.parse(fs.readFileSync(rest[0]))) {
      const [states] = Object.values(await session.run(feeds([input])));
      const {buffer, byteOffset, byteLength} = states.data;
      fs.writeSync(out, new Uint8Array(buffer, byteOffset, byteLength));
    }
    fs.closeSync(out);
  }
}
process.exit(0);
