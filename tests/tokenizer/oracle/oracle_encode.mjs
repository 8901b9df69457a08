#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// Adds to each input its encoding by Hugging Face's own tokenizers.
//   NODE_PATH=DIR/node_modules node oracle_encode.mjs TOKENIZER_JSON < inputs.jsonl > encodings.jsonl
// Input:  {"first": str, "second"?: str, "max_length"?: int, ...}
// Output: the same with "ids", "type_ids", and "offsets" (flat: begin, end, begin, ...).
import {readFileSync} from 'fs';
import {createRequire} from 'module';
import readline from 'readline';
const {Tokenizer} = createRequire((process.env.NODE_PATH || '.') + '/')('tokenizers');
const tokenizer = Tokenizer.fromFile(process.argv[2]);
tokenizer.disablePadding();
const left = JSON.parse(readFileSync(process.argv[2])).truncation?.direction === 'Left';

// Consecutive inputs with the same max_length are encoded together.
let batch = [];
async function flush() {
  if (batch.length === 0) return;
  const limit = batch[0].max_length;
  if (limit) tokenizer.setTruncation(limit, {direction: left ? 'left' : 'right'}); else tokenizer.disableTruncation();
  const encodings = await Promise.all(batch.map(x => tokenizer.encode(x.first, x.second ?? null)));
  const lines = batch.map((x, i) => JSON.stringify({...x, ids: encodings[i].getIds(),
      type_ids: encodings[i].getTypeIds(), offsets: encodings[i].getOffsets().flat()}));
  batch = [];
  if (!process.stdout.write(lines.join('\n') + '\n')) {
    await new Promise(done => process.stdout.once('drain', done));
  }
}
for await (const line of readline.createInterface({input: process.stdin, crlfDelay: Infinity})) {
  const input = JSON.parse(line);
  if (batch.length === 1000 || (batch.length && batch[0].max_length !== input.max_length)) await flush();
  batch.push(input);
}
await flush();
