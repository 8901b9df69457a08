#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// Writes tokenizer/unicode/unicode_tables.cc: Unicode properties as Hugging Face's tokenizers
// define them.
//
//   npm install --prefix DIR tokenizers@0.23.2
//   NODE_PATH=DIR/node_modules node tools/unicode/make_unicode_tables.mjs > tokenizer/unicode/unicode_tables.cc
//
// Those tokenizers mix tables of several ages: categories and decompositions are older than in any
// Unicode library in use today; case and white space are Rust's own, and recent. No single version
// of the standard gives the same tokens, so each property is read from the library itself, one
// scalar value at a time, through a component that depends only on that property.
import {createRequire} from 'module';
const hf = createRequire((process.env.NODE_PATH || '.') + '/')('tokenizers');

const END = 0x110000;
const isSurrogate = c => c >= 0xd800 && c < 0xe000;
const chr = String.fromCodePoint;
const points = s => Array.from(s, x => x.codePointAt(0));

const nothing = {cleanText: false, handleChineseChars: false, stripAccents: false, lowercase: false};
const clean = hf.bertNormalizer({...nothing, cleanText: true});
const chinese = hf.bertNormalizer({...nothing, handleChineseChars: true});
const strip = hf.bertNormalizer({...nothing, stripAccents: true});
const [nfd, lower] = [hf.nfdNormalizer(), hf.lowercase()];
const [spaces, words] = [hf.whitespaceSplitPreTokenizer(), hf.bertPreTokenizer()];
const digits = hf.digitsPreTokenizer(true);

// Only the order of canonical combining classes matters. Two marks after a letter reveal it: they
// are swapped if the second's class is smaller and neither is 0.
const swaps = (a, b) => nfd.normalizeString(`x${chr(a)}${chr(b)}`) === `x${chr(b)}${chr(a)}`;
const [LOWEST, HIGHEST] = [0x334, 0x345];  // classes 1 and 240
const isNonStarter = c => swaps(c, LOWEST) || swaps(HIGHEST, c);

// \w of the regular expressions that implement single_word of added tokens.
async function wordCharacters() {
  const tokenizer = hf.Tokenizer.fromString(JSON.stringify({
    version: '1.0', truncation: null, padding: null, normalizer: null, post_processor: null,
    decoder: null, pre_tokenizer: {type: 'WhitespaceSplit'},
    added_tokens: [{id: 1, content: 'Q', single_word: true, lstrip: false, rstrip: false,
                    normalized: false, special: false}],
    model: {type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##',
            max_input_chars_per_word: 100, vocab: {'[UNK]': 0, Q: 1}}}));
  const is = new Uint8Array(END).fill(1);
  for (let base = 0; base < END; base += 0x1000) {
    let text = '';
    for (let c = base; c < base + 0x1000; ++c) if (!isSurrogate(c)) text += `${chr(c)}Q\n`;
    const encoding = await tokenizer.encode(text);
    const [ids, offsets] = [encoding.getIds(), encoding.getOffsets()];
    const found = new Set(ids.flatMap((id, i) => id === 1 ? [offsets[i][0]] : []));
    for (let c = base, at = 1; c < base + 0x1000; ++c) {
      if (isSurrogate(c)) continue;
      if (found.has(at)) is[c] = 0;  // Q matched after c, so c is not a word character
      at += 3;
    }
  }
  return is;
}

const FLAGS = {dropped: 1, space: 2, punctuation: 4, chinese: 8, nonspacing: 16, word: 32, mapped: 64,
               numeric: 128};
const flags = new Uint8Array(END), rank = new Uint8Array(END);
const lowers = new Map(), decompositions = new Map(), nonStarters = [];
const word = await wordCharacters();
for (let c = 0; c < END; ++c) {
  if (isSurrogate(c)) continue;
  const s = chr(c), between = `a${s}b`;
  if (clean.normalizeString(s) === '') flags[c] |= FLAGS.dropped;
  if (spaces.preTokenizeString(between).length === 2) flags[c] |= FLAGS.space;
  if (words.preTokenizeString(between).length === 3) flags[c] |= FLAGS.punctuation;
  if (chinese.normalizeString(s) === ` ${s} `) flags[c] |= FLAGS.chinese;
  if (word[c]) flags[c] |= FLAGS.word;
  if (digits.preTokenizeString(between).length === 3) flags[c] |= FLAGS.numeric;
  const [d, l] = [nfd.normalizeString(s), lower.normalizeString(s)];
  if (l !== s) lowers.set(c, points(l));
  if (d === s) {
    if (strip.normalizeString(s) === '') flags[c] |= FLAGS.nonspacing;
    if (isNonStarter(c)) nonStarters.push(c);
  } else if (c < 0xac00 || c > 0xd7a3) {
    decompositions.set(c, points(d));
  } else {  // Hangul syllables are decomposed by arithmetic
    const i = c - 0xac00, jamo = [0x1100 + Math.floor(i / 588), 0x1161 + Math.floor(i % 588 / 28)];
    if (i % 28) jamo.push(0x11a7 + i % 28);
    if (d !== chr(...jamo)) throw new Error(`Hangul ${c.toString(16)}`);
  }
}

const classes = [];  // lists of scalars, in ascending order of class
for (const c of nonStarters) {
  let i = 0;
  while (i < classes.length && swaps(c, classes[i][0])) ++i;
  if (i < classes.length && !swaps(classes[i][0], c)) classes[i].push(c);
  else classes.splice(i, 0, [c]);
}
classes.forEach((list, i) => list.forEach(c => rank[c] = i + 1));

// Assumptions of the C++ code.
for (let c = 0; c < END; ++c) {
  const holds = ok => { if (!ok) throw new Error(`an assumption fails for ${c.toString(16)}`); };
  holds(!rank[c] || !(flags[c] & (FLAGS.space | FLAGS.punctuation | FLAGS.chinese)));
  holds(!(lowers.get(c)?.length > 1) || (c === 0x130 && String(lowers.get(c)) === '105,775'));
  const d = decompositions.get(c) ?? [];
  holds(d.length <= 4 && d.every((x, i) => i === 0 || rank[x] === 0 || rank[x] >= rank[d[i - 1]]));
  if (lowers.has(c) || decompositions.has(c)) flags[c] |= FLAGS.mapped;
}

// Records are numbered in order of first use; mapping 0 is the identity.
function numbered() {
  const index = new Map(), list = [];
  return {list, of(key, value) {
    if (!index.has(key)) { index.set(key, list.length); list.push(value); }
    return index.get(key);
  }};
}
const properties = numbered(), mappings = numbered(), pool = [];
mappings.of('0,0,0', [0, 0, 0]);
const propertyOf = new Uint16Array(END), mappingOf = new Uint16Array(END);
for (let c = 0; c < END; ++c) {
  propertyOf[c] = properties.of(`${flags[c]},${rank[c]}`, [flags[c], rank[c]]);
  const d = decompositions.get(c) ?? [], delta = lowers.has(c) ? lowers.get(c)[0] - c : 0;
  if (d.length || delta) mappingOf[c] = mappings.of(`${pool.length},${d.length},${delta}`,
      [d.length ? pool.length : 0, d.length, delta]);
  pool.push(...d);
}

function split(values, bits) {
  const blocks = numbered(), stage1 = [];
  for (let c = 0; c < END; c += 1 << bits) {
    const block = values.subarray(c, c + (1 << bits));
    stage1.push(blocks.of(block.join(), block));
  }
  return {bits, stage1, stage2: blocks.list.flatMap(block => Array.from(block))};
}
const width = numbers => Math.max(...numbers) < 256 ? 1 : 2;
const bytes = t => t.stage1.length * width(t.stage1) + t.stage2.length * width(t.stage2);
const smallest = values => [5, 6, 7, 8].map(bits => split(values, bits))
    .reduce((a, b) => bytes(b) < bytes(a) ? b : a);

function array(type, name, numbers) {
  let text = `constexpr ${type} ${name}[${numbers.length}] = {`, line = '';
  for (const n of numbers) {
    if (line.length + String(n).length + 1 > 98) { text += `\n${line}`; line = ''; }
    line += `${n},`;
  }
  return `${text}\n${line}};\n`;
}
const unsigned = numbers => width(numbers) === 1 ? 'uint8_t' : 'uint16_t';
function table(name, t) {
  return `constexpr int k${name}Bits = ${t.bits};\n` +
      array(unsigned(t.stage1), `k${name}Block`, t.stage1) +
      array(unsigned(t.stage2), `k${name}Index`, t.stage2);
}

const [propertyTable, mappingTable] = [smallest(propertyOf), smallest(mappingOf)];
const size = bytes(propertyTable) + bytes(mappingTable) + 2 * properties.list.length +
    8 * mappings.list.length + 4 * pool.length;
process.stdout.write(`// SPDX-License-Identifier: Apache-2.0
// Generated by tools/unicode/make_unicode_tables.mjs; ${size} bytes of tables.
#include "tokenizer/unicode/unicode_tables.h"

namespace bert::tokenizer::unicode {
namespace {
// clang-format off
${table('Property', propertyTable)}${table('Mapping', mappingTable)}\
constexpr Property kProperties[${properties.list.length}] = {
${properties.list.map(([f, r]) => `{${f},${r}},`).join('').replace(/(.{1,98}},)/g, '$1\n')}};
struct Mapping { uint16_t first; uint16_t length; int32_t lower; };
constexpr Mapping kMappings[${mappings.list.length}] = {
${mappings.list.map(m => `{${m}},`).join('').replace(/(.{1,98}},)/g, '$1\n')}};
${array('char32_t', 'kPool', pool)}// clang-format on

const Mapping& mapping(char32_t c) {
  constexpr char32_t kMask = (1u << kMappingBits) - 1;
  return kMappings[kMappingIndex[(kMappingBlock[c >> kMappingBits] << kMappingBits) + (c & kMask)]];
}
}  // namespace

Property property(char32_t c) {
  constexpr char32_t kMask = (1u << kPropertyBits) - 1;
  return kProperties[kPropertyIndex[(kPropertyBlock[c >> kPropertyBits] << kPropertyBits) +
                                    (c & kMask)]];
}

char32_t to_lower(char32_t c) { return c + static_cast<char32_t>(mapping(c).lower); }

std::u32string_view decomposition(char32_t c) {
  const Mapping& m = mapping(c);
  return {kPool + m.first, m.length};
}

}  // namespace bert::tokenizer::unicode
`);
