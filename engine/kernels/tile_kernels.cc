// SPDX-License-Identifier: Apache-2.0
//
// f32 products on the matrix tiles of AMX, which multiply bf16 16 times as fast as vectors multiply
// f32. A float is the sum of three bf16 parts, upper, middle and lower. Of the nine products of two
// floats' parts, the six largest add up to within 2^-24 of all nine.
#include "engine/kernels/finish.h"
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

// A tile has 16 rows of 64 bytes: 16 x 16 sums, or 16 x 32 inputs or weights as bf16.
constexpr int64_t kTileRows = kSplitRows;
constexpr int64_t kTileWords = kTileRows * W;
constexpr int64_t kInputs = kSplitInputs;                // of one step
constexpr int64_t kRowsStep = kSplitParts * kTileWords;  // a step of 16 rows: a tile for each part
// Rows are multiplied by half a panel at a time, two columns of tiles. A step of it is stored in 32
// blocks of two vectors, alternating between the columns: for each pair of inputs the upper parts,
// then the other two as encode() packs them. decode() unpacks these into two tiles for each column.
constexpr int64_t kHalf = kPanel / 2;
constexpr int64_t kBlocks = 32, kBlockWords = 2 * W;
constexpr int64_t kPanelStep = kBlocks * kBlockWords;
constexpr int64_t kLowerStep = 4 * kTileWords;

typedef int16_t Shorts __attribute__((vector_size(2 * W * sizeof(int16_t))));
typedef uint16_t UShorts __attribute__((vector_size(2 * W * sizeof(uint16_t))));
typedef uint32_t Bits __attribute__((vector_size(W * sizeof(uint32_t))));

// To hold all three parts of a weight in four bytes, it is written as its upper part, a bf16, plus
// or minus 128 to 255 times 2^-15 of the upper part's power of two, plus or minus 128 to 255 times
// 2^-23 of it. These two digits have a sign bit and, as in floats, no bit for the leading 1. Either
// may also be zero, which is written as 128 would be.
constexpr int16_t kDigit = static_cast<int16_t>(0x807f);  // the bits of a digit in 16

// Digits come as 0 to 256. One of 1 to 128 is written as minus what it lacks to 256, with a carry.
inline Bits carry(Bits digit) { return (Bits)(digit - 1 < 128) & 1; }
inline Bits digit_code(Bits digit) { return digit - 1 < 128 ? (128 - digit) | 128 : digit & 127; }

struct Encoded {
  Bits upper, rest;  // in the lower half of each lane
};
// Exact, except for one weight in 65536, which is within 2^-17, and for those below 2^-110 or from
// 2^127 on, which keep only eight binary digits.
inline Encoded encode(Vec weights) {
  const Bits bits = (Bits)weights, exponent = bits >> 23 & 255;
  const Bits usual = (Bits)(exponent - 17 < 237);
  Bits low = bits & 255 & usual, middle = bits >> 8 & 255 & usual;
  // Here a carry would reach the next power of two, where a digit is worth twice as much.
  low = (bits & 0x7fff00) == 0x7fff00 && low <= 128 ? Bits{} : low;
  middle += carry(low);
  const Bits l = digit_code(low), m = digit_code(middle);
  return {(bits >> 16) + (carry(middle) | middle >> 8),
          (m & 128) << 8 | (l & 127) << 8 | (l & 128) | (m & 127)};
}

// Decodes one block: its middle parts to the first tile, its lower ones to the second.
inline void decode(const Word32* block, Word32* to) {
  const Shorts upper = (Shorts)load_bits(block), rest = (Shorts)load_bits(block + W);
  const Shorts swapped = (Shorts)_mm512_shldi_epi16((__m512i)rest, (__m512i)rest, 8);
  // A digit that is subtracted from a power of two is relative to the power below.
  const Shorts power = (upper - (Shorts)((UShorts)rest >> 15)) & -128;
  const auto part = [&](Shorts digit, int16_t below) {
    const __m512i mask = _mm512_set1_epi16(kDigit);
    const __mmask32 any = _mm512_test_epi16_mask((__m512i)digit, mask);
    const __m512i scale = _mm512_maskz_sub_epi16(any, (__m512i)power, _mm512_set1_epi16(below));
    constexpr int kMaskedXor = 0x6a;  // (digit & mask) ^ scale
    return (Vec)_mm512_ternarylogic_epi32((__m512i)digit, mask, scale, kMaskedXor);
  };
  store(to, part(rest, 8 << 7));
  store(to + kTileWords, part(swapped, 16 << 7));
}

// Blocks to decode while products run: `left` of them, from `from` on.
struct Decoding {
  const Word32* from;
  Word32* lower;
  int64_t left, done = 0;
  const Word32* next() const { return from + done * kBlockWords; }
  Word32* to() const { return lower + done / kBlocks * kLowerStep + done % kBlocks / 2 * W; }
  void rest() {
    for (; left > 0; left -= 2, done += 2) some<0, 2>(next(), to());
  }
  // Blocks First to End, counted from the next one.
  template <int First, int End>
  [[gnu::always_inline]] static void some(const Word32* next, Word32* to) {
#pragma GCC unroll 4
    for (int i = First; i < End; ++i) {
      decode(next + i * kBlockWords, to + i % 2 * 2 * kTileWords + i / 2 * W);
    }
  }
};

// The epilogue of rows whose sums are complete: a step's products leave time for some of them.
struct Finishing {
  MatmulTask task;  // for these rows and columns only
  float* sums;      // [rows, 2, kHalf]: the two sums of each row are still to be added
  // A strip of rows from `row` on, and half a panel of columns from `column` on.
  void set(const MatmulTask& whole, int64_t row, int64_t column, float* strip_sums) {
    task.rows = whole.rows - row < kTileRows ? whole.rows - row : kTileRows;
    task.columns = whole.columns - column < kHalf ? whole.columns - column : kHalf;
    task.bias = whole.bias + column;
    task.y = whole.y + row * whole.y_stride + column;
    sums = strip_sums;
  }
  void some(int64_t max_rows) {
    const int64_t rows = task.rows < max_rows ? task.rows : max_rows;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = r * kPanel; j < r * kPanel + kHalf; j += W) {
        store(sums + j, load(sums + j) + load(sums + j + kHalf));
      }
    }
    finish<F32>(task, rows, sums, task.y);
    sums += rows * kPanel;
    task.y += rows * task.y_stride;
    task.rows -= rows;
  }
};

// Adds a step's products of 16 rows and half a panel to tiles 0 to 3: two sums for each column of
// tiles, as each addition waits for the one before. Meanwhile it decodes N blocks, evenly spread
// (by measurement, processors do not overlap the two if one follows the other), and calls beside()
// twice.
template <int N, typename Beside>
[[gnu::always_inline]] inline void add_step(const Word32* x, const Word32* panel,
                                            const Word32* lower, Decoding& decoding,
                                            const Beside& beside) {
  const Word32* next = decoding.next();
  Word32* to = decoding.to();
#define PRODUCT(i, sum, x, weights) \
  _tile_dpbf16ps(sum, x, weights);  \
  Decoding::some<N*(i) / 12, (N * (i + 1)) / 12>(next, to)
  // Inputs are streamed from the second level, so as not to evict weights from the first.
  _tile_stream_loadd(4, x, 64);
  _tile_loadd(6, lower + kTileWords, 64);
  PRODUCT(0, 0, 4, 6);
  _tile_loadd(7, lower + 3 * kTileWords, 64);
  PRODUCT(1, 1, 4, 7);
  _tile_loadd(6, lower, 64);
  PRODUCT(2, 2, 4, 6);
  _tile_loadd(7, lower + 2 * kTileWords, 64);
  PRODUCT(3, 3, 4, 7);
  _tile_stream_loadd(5, x + kTileWords, 64);
  PRODUCT(4, 0, 5, 6);
  PRODUCT(5, 1, 5, 7);
  beside();
  constexpr int64_t kStride = 2 * kBlockWords * sizeof(Word32);
  _tile_loadd(6, panel, kStride);
  PRODUCT(6, 2, 5, 6);
  _tile_loadd(7, panel + kBlockWords, kStride);
  PRODUCT(7, 3, 5, 7);
  PRODUCT(8, 0, 4, 6);
  PRODUCT(9, 1, 4, 7);
  _tile_stream_loadd(5, x + 2 * kTileWords, 64);
  PRODUCT(10, 2, 5, 6);
  PRODUCT(11, 3, 5, 7);
  beside();
#undef PRODUCT
  decoding.done += N;
  decoding.left -= N;
}

// Tiles 0 to 3 as sums [16, 2, kHalf].
constexpr int64_t kSumsStride = kPanel * sizeof(float);
inline void clear_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}
inline void load_sums(const float* sums) {
  _tile_loadd(0, sums, kSumsStride);
  _tile_loadd(1, sums + W, kSumsStride);
  _tile_loadd(2, sums + 2 * W, kSumsStride);
  _tile_loadd(3, sums + 3 * W, kSumsStride);
}
inline void store_sums(float* sums) {
  _tile_stored(0, sums, kSumsStride);
  _tile_stored(1, sums + W, kSumsStride);
  _tile_stored(2, sums + 2 * W, kSumsStride);
  _tile_stored(3, sums + 3 * W, kSumsStride);
}

struct Shape {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
// Tests emulate tiles in memory: they define these two functions and the _tile_* intrinsics.
#if !defined(EMULATED_TILES)
inline void store_shape(Shape& shape) { asm volatile("sttilecfg %0" : "=m"(shape)); }
inline void load_shape(const Shape& shape) { asm volatile("ldtilecfg %0" : : "m"(shape)); }
#endif

// Gives tiles 0 to 5, of sums and inputs, this many rows, and those of weights all 16. Loading a
// shape takes as long as the products of 40 rows, and checking the current one next to nothing. It
// is never unloaded, since anyone who uses tiles loads a shape of their own.
void shape_tiles(int64_t rows) {
  Shape wanted, current;
  for (int t = 0; t < 6; ++t) wanted.rows[t] = static_cast<uint8_t>(rows);
  store_shape(current);
  if (__builtin_memcmp(&current, &wanted, sizeof current) != 0) load_shape(wanted);
}

inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

constexpr int64_t kMaxRows = 256;  // whose sums are kept
constexpr int64_t kMaxSteps = 4;   // whose decoded weights fit the first level, with the next ones'

// At most kMaxRows rows, in strips of a tile's height. All strips use the decoded weights of a few
// steps while those of the next steps are decoded. Between steps, sums are kept in memory, or of a
// single strip in their tiles.
void matmul_strips(const MatmulTask& task) {
  alignas(64) Word32 lower[2][kMaxSteps * kLowerStep];
  alignas(64) float sums[kMaxRows * kPanel];
  const int64_t steps = task.words / kInputs, strips = divide_up(task.rows, kTileRows);
  // By measurement: few strips leave little time for decoding.
  const int64_t limit = strips == 1 ? 1 : strips < 6 ? 2 : kMaxSteps;
  const int64_t steps_per_part = limit == 1 ? 1 : divide_up(steps, divide_up(steps, limit));
  const int64_t end = task.columns > kHalf ? 2 * steps : steps;  // of both halves of the panel
  // The number of steps in the part that begins with this one.
  const auto count_from = [&](int64_t step) {
    const int64_t left = (step < steps ? steps : end) - step;
    return left < steps_per_part ? left : steps_per_part;
  };
  const auto decoding_of = [&](int64_t step, int64_t part) {
    return Decoding{.from = task.panel + step * kPanelStep,
                    .lower = lower[part % 2],
                    .left = count_from(step) * kBlocks};
  };
  Finishing before{.task = task, .sums = sums};
  before.task.rows = 0;
  decoding_of(0, 0).rest();
  for (int64_t first = 0, part = 0, count; first < end; first += count, ++part) {
    count = count_from(first);
    // GCC 12 does not know that tiles are loaded from memory: decoded weights must be stored by
    // now.
    asm volatile("" : : : "memory");
    const int64_t begin = first < steps ? first : first - steps, column = first < steps ? 0 : kHalf;
    const bool ends = begin + count == steps;
    Decoding next = decoding_of(first + count, part + 1);
    const auto beside = [&before, each = divide_up(kTileRows, 2 * count)] {
      if (before.task.rows > 0) before.some(each);
    };
    for (int64_t strip = 0; strip < strips; ++strip) {
      const int64_t row = strip * kTileRows;
      const Word32* x = task.x + row * task.x_stride + begin * kRowsStep;
      float* to = sums + row * kPanel;
      if (begin == 0) clear_sums();
      if (begin > 0 && strips > 1) load_sums(to);
      const auto add = [&]<int N>() {
        for (int64_t i = 0; i < count; ++i) {
          const Word32* panel = task.panel + (first + i) * kPanelStep;
          const Word32 *tiles = lower[part % 2] + i * kLowerStep, *inputs = x + i * kRowsStep;
          next.left >= N ? add_step<N>(inputs, panel, tiles, next, beside)
                         : add_step<0>(inputs, panel, tiles, next, beside);
        }
      };
      const int64_t wanted = divide_up(next.left, (strips - strip) * count);  // blocks in a step
      wanted > 16  ? add.template operator()<32>()
      : wanted > 8 ? add.template operator()<16>()
      : wanted > 0 ? add.template operator()<8>()
                   : add.template operator()<0>();
      if (strips == 1 && !ends) continue;
      before.some(kTileRows);
      store_sums(to);
      if (!ends) continue;
      before.set(task, row, column, to);
    }
    next.rest();
  }
  before.some(kTileRows);
}

void matmul_split(const MatmulTask& task) {
  if (task.rows == 0) return;  // tiles cannot have 0 rows
  shape_tiles(task.rows < kTileRows ? task.rows : kTileRows);
  MatmulTask part = task;
  for (int64_t left = task.rows; left > 0; left -= part.rows) {
    part.rows = left < kMaxRows ? left : kMaxRows;
    matmul_strips(part);
    part.x += part.rows * task.x_stride;
    part.y += part.rows * task.y_stride;
  }
}

// Splits floats into bf16 that add up to them, those of a and b side by side: the parts lie
// kTileWords apart, the largest first.
inline void split(Vec a, Vec b, Word32* to) {
  const auto take = [](Vec& from, bool nearest) {
    const IntVec part = ((IntVec)from + (nearest ? 0x8000 : 0)) & (IntVec{} - 65536);
    from -= (Vec)part;
    return (Bits)part;
  };
#pragma GCC unroll 4
  for (int part = 0; part < kSplitParts; ++part, to += kTileWords) {
    const bool nearest = part + 1 < kSplitParts;  // the last part needs no rounding
    const Bits low = take(a, nearest), high = take(b, nearest);
    store(to, (Vec)(low >> 16 | high));
  }
}

// A word holds two inputs of a step that are W apart.
void split_rows(const float* x, int64_t stride, int64_t rows, int64_t k, Word32* words) {
  for (int64_t i = 0; i < k; i += kInputs, words += kRowsStep) {
    for (int64_t r = 0; r < kTileRows; ++r) {
      const auto at = [&](int64_t j) {
        const float* from = x + r * stride + j;
        return r >= rows || j >= k ? Vec{} : k - j >= W ? load(from) : load_part(from, k - j, 0);
      };
      split(at(i), at(i + W), words + r * W);
    }
  }
}

void split_panel(const Word32* panel, int64_t k, Word32* words) {
  for (int64_t half = 0; half < kPanel; half += kHalf) {
    for (int64_t step = 0; step < k; step += kInputs) {
      for (int64_t i = step; i < step + W; ++i) {
        for (int64_t j = half; j < half + kHalf; j += W, words += kBlockWords) {
          const auto at = [&](int64_t row) {
            return encode(row < k ? load(panel + row * kPanel + j) : Vec{});
          };
          const Encoded a = at(i), b = at(i + W);
          store(words, (Vec)(a.upper | b.upper << 16));
          store(words + W, (Vec)(a.rest | b.rest << 16));
        }
      }
    }
  }
}

}  // namespace

// A compiler that names these sets otherwise must not let the table claim less than it needs.
constexpr uint32_t kTileSets = kAmxTile | kAmxBf16 | kAvx512Vbmi2;
static_assert((kCompiledSets & kTileSets) == kTileSets);

extern constinit const TileKernels tiles = {
    .name = NAME(INSTRUCTION_SET),
    .sets = kCompiledSets,
    .split_rows = split_rows,
    .split_panel = split_panel,
    .matmul_split = matmul_split,
};

}  // namespace bert::engine::INSTRUCTION_SET
