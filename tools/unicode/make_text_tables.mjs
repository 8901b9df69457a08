#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// Writes tokenizer/unicode/text_tables.cc: the Unicode properties that the normalizers of
// SentencePiece models and the byte-level splitter need beyond BertNormalizer's, as Hugging Face's
// tokenizers define them.
//
//   npm install --prefix DIR tokenizers@0.23.2
//   NODE_PATH=DIR/node_modules node tools/unicode/make_text_tables.mjs > tokenizer/unicode/text_tables.cc
//
// Like make_unicode_tables.mjs, it queries the library itself, one scalar value at a time.
import {createRequire} from 'module';
const hf = createRequire((process.env.NODE_PATH || '.') + '/')('tokenizers');

const END = 0x110000, HANGUL = 0xac00, HANGUL_END = 0xd7a4;
const isSurrogate = c => c >= 0xd800 && c < 0xe000;
const chr = String.fromCodePoint;
const points = s => Array.from(s, x => x.codePointAt(0));

// A Precompiled normalizer that maps one character to "=". It looks up whole graphemes if they are
// short, so what happens to the character's neighbours reveals the grapheme boundaries.
function mapping(character) {
  const units = new Uint32Array(4096), key = Buffer.from(character);
  let node = 0;
  units[0] = 256 << 10;
  key.forEach((byte, i) => {
    const from = units[node] >>> 10;
    node ^= from ^ byte;
    units[node] = (512 << i) << 10 | byte | (i + 1 === key.length ? 256 : 0);
  });
  units[node ^ units[node] >>> 10] = 0x80000000;
  const size = Buffer.alloc(4);
  size.writeUInt32LE(units.byteLength);
  return hf.precompiled([...Buffer.concat([size, Buffer.from(units.buffer), Buffer.from('=\0')])]);
}
const [x, copyright, arabic] = ['X', '\u00a9', '\u0600'].map(mapping);
const [nfd, nfc, nfkd] = [hf.nfdNormalizer(), hf.nfcNormalizer(), hf.nfkdNormalizer()];
const strip = hf.stripAccentsNormalizer();

// Whether each scalar matches a regular expression, which is Oniguruma's there.
async function matching(expression) {
  const tokenizer = hf.Tokenizer.fromString(JSON.stringify({
    version: '1.0', truncation: null, padding: null, normalizer: null, post_processor: null,
    decoder: null, added_tokens: [],
    pre_tokenizer: {type: 'Split', pattern: {Regex: expression}, behavior: 'Isolated', invert: false},
    model: {type: 'WordLevel', unk_token: '?', vocab: {'?': 0}}}));
  const is = new Uint8Array(END);
  for (let base = 0; base < END; base += 0x1000) {
    let text = '\x01';
    for (let c = base; c < base + 0x1000; ++c) text += `${isSurrogate(c) ? '\x01' : chr(c)}\x01`;
    for (const [begin, end] of (await tokenizer.encode(text)).getOffsets()) {
      if (end === begin + 1 && begin % 2 === 1) is[base + (begin - 1) / 2] = 1;
    }
  }
  return is;
}
const [letter, number, space] = [await matching('\\p{L}'), await matching('\\p{N}'), await matching('\\s')];
const white = hf.whitespaceSplitPreTokenizer();

const FLAGS = {extends: 1, prepends: 2, control: 4, pictographic: 8, mark: 16, compatible: 32,
               letter: 64, number: 128};
const flags = new Uint8Array(END), compatible = [], composed = [];
for (let c = 0; c < END; ++c) {
  if (isSurrogate(c)) continue;
  const s = chr(c);
  if (letter[c]) flags[c] |= FLAGS.letter;
  if (number[c]) flags[c] |= FLAGS.number;
  if (space[c] !== (white.preTokenizeString(`a${s}b`).length === 2) * 1 || letter[c] + number[c] + space[c] > 1) {
    throw new Error(`an assumption fails for ${c.toString(16)}`);
  }
  if (x.normalizeString(`X${s}`) === '=') flags[c] |= FLAGS.extends;
  if (c !== 0x58 && x.normalizeString(`${s}X\u0301`).endsWith('\u0301')) flags[c] |= FLAGS.prepends;
  // Scalars of four bytes show no difference, and nothing depends on it.
  if (c < 0x10000 && arabic.normalizeString(`\u0600${s}`) !== '=') flags[c] |= FLAGS.control;
  if (copyright.normalizeString(`\u00a9\u200d${s}`).includes('\u200d')) flags[c] |= FLAGS.pictographic;
  if (strip.normalizeString(s) === '') flags[c] |= FLAGS.mark;
  if (c >= HANGUL && c < HANGUL_END) continue;
  const [d, k] = [nfd.normalizeString(s), nfkd.normalizeString(s)];
  if (k !== d) {
    flags[c] |= FLAGS.compatible;
    compatible.push([c, points(k)]);
  }
  // The pair that composes to c: its decomposition but the last scalar, composed, and the last.
  const parts = points(d);
  if (parts.length < 2 || nfc.normalizeString(d) !== s) continue;
  const first = points(nfc.normalizeString(chr(...parts.slice(0, -1))));
  if (first.length !== 1) throw new Error(`${c.toString(16)} is not composed of two`);
  composed.push([first[0], parts[parts.length - 1], c]);
}
composed.sort((a, b) => a[0] - b[0] || a[1] - b[1]);

function split(bits) {
  const stage1 = [], blocks = new Map();
  for (let c = 0; c < END; c += 1 << bits) {
    const block = flags.subarray(c, c + (1 << bits)).join();
    if (!blocks.has(block)) blocks.set(block, blocks.size);
    stage1.push(blocks.get(block));
  }
  return [stage1, [...blocks.keys()].join().split(',')];
}
const BITS = 7, [stage1, stage2] = split(BITS);

function array(type, name, items) {
  let text = `constexpr ${type} ${name}[${items.length}] = {`, line = '';
  for (const item of items) {
    if (line.length + String(item).length + 1 > 98) { text += `\n${line}`; line = ''; }
    line += `${item},`;
  }
  return `${text}\n${line}};\n`;
}
const pool = [], index = [];
for (const [c, k] of compatible) {
  index.push(`{${c},${pool.length},${k.length}}`);
  pool.push(...k);
}
process.stdout.write(`// SPDX-License-Identifier: Apache-2.0
// Generated by tools/unicode/make_text_tables.mjs.
#include "tokenizer/unicode/text_tables.h"

#include <algorithm>
#include <iterator>

namespace bert::tokenizer::unicode {
namespace {
// clang-format off
constexpr int kBits = ${BITS};
${array(Math.max(...stage1) > 255 ? 'uint16_t' : 'uint8_t', 'kBlock', stage1)}${array('uint8_t', 'kFlags', stage2)}\
struct Compatible { uint32_t c : 24; uint32_t length : 8; uint32_t first; };
${array('Compatible', 'kDecomposed', compatible.map(([c, k], i) =>
    `{${c},${k.length},${index[i].split(',')[1]}}`))}\
${array('char32_t', 'kTextPool', pool)}\
struct Composed { char32_t first, second, c; };
${array('Composed', 'kComposed', composed.map(x => `{${x}}`))}// clang-format on
}  // namespace

uint8_t text_flags(char32_t c) {
  constexpr char32_t kMask = (1u << kBits) - 1;
  return kFlags[(kBlock[c >> kBits] << kBits) + (c & kMask)];
}

std::u32string_view compatible_decomposition(char32_t c) {
  const auto before = [](const Compatible& entry, char32_t x) { return entry.c < x; };
  const auto* const found =
      std::lower_bound(std::begin(kDecomposed), std::end(kDecomposed), c, before);
  if (found == std::end(kDecomposed) || found->c != c) return {};
  return {kTextPool + found->first, found->length};
}

char32_t composition(char32_t first, char32_t second) {
  const auto before = [](const Composed& a, const Composed& b) {
    return a.first != b.first ? a.first < b.first : a.second < b.second;
  };
  const Composed wanted{first, second, 0};
  const auto* const found =
      std::lower_bound(std::begin(kComposed), std::end(kComposed), wanted, before);
  return found != std::end(kComposed) && !before(wanted, *found) ? found->c : 0;
}

}  // namespace bert::tokenizer::unicode
`);
