#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// Times Hugging Face's tokenizers on the lines of a file, on one core, in CPU time.
//   NODE_PATH=DIR/node_modules node oracle_bench.mjs TOKENIZER_JSON FILE ROUNDS
import {createRequire} from 'module';
import {readFileSync} from 'fs';
process.env.RAYON_NUM_THREADS = '1';
const {Tokenizer} = createRequire((process.env.NODE_PATH || '.') + '/')('tokenizers');
const [, , json, file, rounds] = process.argv;
const tokenizer = Tokenizer.fromFile(json);
tokenizer.disableTruncation();
tokenizer.disablePadding();
const text = readFileSync(file, 'utf8');
const lines = text.split('\n').filter(line => line);
const megabytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0) / 1e6;
const seconds = [];
for (let round = 0; round < Number(rounds); ++round) {
  const begin = process.cpuUsage();
  await tokenizer.encodeBatch(lines);  // the results stay in Rust until they are asked for
  const used = process.cpuUsage(begin);
  seconds.push((used.user + used.system) / 1e6);
}
seconds.sort((a, b) => a - b);
console.log(JSON.stringify({mb_per_s: megabytes / seconds[seconds.length >> 1]}));
