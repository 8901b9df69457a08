// SPDX-License-Identifier: Apache-2.0
//
// Products in f32 by the matrix tiles of AMX, which multiply bf16 16 times as fast as vectors
// multiply f32. A float is the sum of three bf16, and of the nine products of two floats' parts the
// six largest are within 2^-24 of all.
#include "engine/kernels/finish.h"
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

// A tile has 16 rows of 64 bytes: 16 x 16 sums, or 16 x 32 inputs or weights as bf16.
constexpr int64_t kTileRows = kSplitRows;
constexpr int64_t kTileUnits = kTileRows * W;
constexpr int64_t kInputs = kSplitInputs;                // of a step
constexpr int64_t kRowsStep = kSplitParts * kTileUnits;  // a step of 16 rows: a tile for each part
// Weights are multiplied by half a panel, two columns of tiles. A step of it lies in 32 blocks of
// two vectors, in turn of either column: for each pair of inputs the upper parts, and the others as
// encode() has them. What decode() makes of these are two tiles for each column.
constexpr int64_t kHalf = kPanel / 2;
constexpr int64_t kBlocks = 32, kBlockUnits = 2 * W;
constexpr int64_t kPanelStep = kBlocks * kBlockUnits;
constexpr int64_t kLowerStep = 4 * kTileUnits;

typedef int16_t Shorts __attribute__((vector_size(2 * W * sizeof(int16_t))));
typedef uint16_t UShorts __attribute__((vector_size(2 * W * sizeof(uint16_t))));
typedef uint32_t Bits __attribute__((vector_size(W * sizeof(uint32_t))));

// So that four bytes hold all three parts of a weight, it is a bf16, its upper part, plus or minus
// 128 to 255 units of 2^-15 of that's power of two, plus or minus 128 to 255 of 2^-23: two digits
// that have a sign and, as floats do, no bit for the leading 1. Both are also none at all, written
// as 128 would be.
constexpr int16_t kDigit = static_cast<int16_t>(0x807f);  // where they are in 16 bits

// A digit from 0 to 256, of which the upper half stays and the rest is what is missing to the next.
inline Bits carry(Bits digit) { return (Bits)(digit - 1 < 128) & 1; }
inline Bits digit_code(Bits digit) { return digit - 1 < 128 ? (128 - digit) | 128 : digit & 127; }

struct Encoded {
  Bits upper, rest;  // in the lower halves
};
// Exact, but for one weight of 65536, which comes out within 2^-17, and for those below 2^-110 or
// from 2^127 on, which only have eight digits.
inline Encoded encode(Vec weights) {
  const Bits bits = (Bits)weights, exponent = bits >> 23 & 255;
  const Bits usual = (Bits)(exponent - 17 < 237);
  Bits low = bits & 255 & usual, middle = bits >> 8 & 255 & usual;
  // There a carry would reach the next power of two, and its units are twice as large.
  low = (bits & 0x7fff00) == 0x7fff00 && low <= 128 ? Bits{} : low;
  middle += carry(low);
  const Bits l = digit_code(low), m = digit_code(middle);
  return {(bits >> 16) + (carry(middle) | middle >> 8),
          (m & 128) << 8 | (l & 127) << 8 | (l & 128) | (m & 127)};
}

// One block: its middle parts to the first tile, its lower ones to the second.
inline void decode(const Unit* block, Unit* to) {
  const Shorts upper = (Shorts)load_bits(block), rest = (Shorts)load_bits(block + W);
  const Shorts swapped = (Shorts)_mm512_shldi_epi16((__m512i)rest, (__m512i)rest, 8);
  // What is taken off a power of two has the units of the one below.
  const Shorts power = (upper - (Shorts)((UShorts)rest >> 15)) & -128;
  const auto part = [&](Shorts digit, int16_t below) {
    const __m512i mask = _mm512_set1_epi16(kDigit);
    const __mmask32 any = _mm512_test_epi16_mask((__m512i)digit, mask);
    const __m512i scale = _mm512_maskz_sub_epi16(any, (__m512i)power, _mm512_set1_epi16(below));
    constexpr int kMaskedXor = 0x6a;  // (digit & mask) ^ scale
    return (Vec)_mm512_ternarylogic_epi32((__m512i)digit, mask, scale, kMaskedXor);
  };
  store(to, part(rest, 8 << 7));
  store(to + kTileUnits, part(swapped, 16 << 7));
}

// What is to be decoded beside products: from `from` on, `left` blocks.
struct Decoding {
  const Unit* from;
  Unit* lower;
  int64_t left, done = 0;
  const Unit* next() const { return from + done * kBlockUnits; }
  Unit* to() const { return lower + done / kBlocks * kLowerStep + done % kBlocks / 2 * W; }
  void rest() {
    for (; left > 0; left -= 2, done += 2) some<0, 2>(next(), to());
  }
  // The blocks from First to End of what is next.
  template <int First, int End>
  [[gnu::always_inline]] static void some(const Unit* next, Unit* to) {
#pragma GCC unroll 4
    for (int i = First; i < End; ++i) {
      decode(next + i * kBlockUnits, to + i % 2 * 2 * kTileUnits + i / 2 * W);
    }
  }
};

// The rows whose sums are there and that are not yet in y: a step's products leave time for some.
struct Finishing {
  MatmulTask task;  // of these rows and columns
  float* sums;      // of every row [2, kHalf], which belong together
  // Those of a strip and half a panel, which begin there in the whole.
  void set(const MatmulTask& whole, int64_t row, int64_t column, float* those) {
    task.rows = whole.rows - row < kTileRows ? whole.rows - row : kTileRows;
    task.columns = whole.columns - column < kHalf ? whole.columns - column : kHalf;
    task.bias = whole.bias + column;
    task.y = whole.y + row * whole.y_stride + column;
    sums = those;
  }
  void some(int64_t most) {
    const int64_t rows = task.rows < most ? task.rows : most;
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

// Adds a step's products of 16 rows and half a panel to tiles 0 to 3: for each column of tiles to
// two sums, since one addition waits for the last. Meanwhile it decodes N blocks, evenly spread
// (by measurement, processors do not find both to do if one comes after the other), and calls
// beside() twice.
template <int N, typename Beside>
[[gnu::always_inline]] inline void add_step(const Unit* x, const Unit* panel, const Unit* lower,
                                            Decoding& decoding, const Beside& beside) {
  const Unit* next = decoding.next();
  Unit* to = decoding.to();
#define PRODUCT(i, sum, x, weights) \
  _tile_dpbf16ps(sum, x, weights);  \
  Decoding::some<N*(i) / 12, (N * (i + 1)) / 12>(next, to)
  // Inputs come from the second level, and need not replace weights in the first.
  _tile_stream_loadd(4, x, 64);
  _tile_loadd(6, lower + kTileUnits, 64);
  PRODUCT(0, 0, 4, 6);
  _tile_loadd(7, lower + 3 * kTileUnits, 64);
  PRODUCT(1, 1, 4, 7);
  _tile_loadd(6, lower, 64);
  PRODUCT(2, 2, 4, 6);
  _tile_loadd(7, lower + 2 * kTileUnits, 64);
  PRODUCT(3, 3, 4, 7);
  _tile_stream_loadd(5, x + kTileUnits, 64);
  PRODUCT(4, 0, 5, 6);
  PRODUCT(5, 1, 5, 7);
  beside();
  constexpr int64_t kStride = 2 * kBlockUnits * sizeof(Unit);
  _tile_loadd(6, panel, kStride);
  PRODUCT(6, 2, 5, 6);
  _tile_loadd(7, panel + kBlockUnits, kStride);
  PRODUCT(7, 3, 5, 7);
  PRODUCT(8, 0, 4, 6);
  PRODUCT(9, 1, 4, 7);
  _tile_stream_loadd(5, x + 2 * kTileUnits, 64);
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
// Tests have tiles in memory too, with these two functions and all that are called _tile_*.
#if !defined(EMULATED_TILES)
inline void store_shape(Shape& shape) { asm volatile("sttilecfg %0" : "=m"(shape)); }
inline void load_shape(const Shape& shape) { asm volatile("ldtilecfg %0" : : "m"(shape)); }
#endif

// Tiles 0 to 5, of sums and inputs, get so many rows, and those of weights all. To load a shape
// takes as long as 40 rows' products, and to look which is there next to nothing; nobody unloads
// it, since whoever uses tiles brings their own.
void shape_tiles(int64_t rows) {
  Shape wanted, there;
  for (int t = 0; t < 6; ++t) wanted.rows[t] = static_cast<uint8_t>(rows);
  store_shape(there);
  if (__builtin_memcmp(&there, &wanted, sizeof there) != 0) load_shape(wanted);
}

inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

constexpr int64_t kMostRows = 256;  // whose sums are kept
constexpr int64_t kMostSteps = 4;   // whose weights are, decoded, in the first level with the next

// At most kMostRows rows, in strips of a tile's. For all of them the weights of some steps are used
// while the next ones' are decoded; sums wait in memory, or of one strip in their tiles.
void matmul_strips(const MatmulTask& task) {
  alignas(64) Unit lower[2][kMostSteps * kLowerStep];
  alignas(64) float sums[kMostRows * kPanel];
  const int64_t steps = task.units / kInputs, strips = divide_up(task.rows, kTileRows);
  // By measurement: few strips leave little time for decoding.
  const int64_t limit = strips == 1 ? 1 : strips < 6 ? 2 : kMostSteps;
  const int64_t most = limit == 1 ? 1 : divide_up(steps, divide_up(steps, limit));
  const int64_t end = task.columns > kHalf ? 2 * steps : steps;  // of both halves
  // Of the part that begins with that step, how many.
  const auto count_from = [&](int64_t step) {
    const int64_t left = (step < steps ? steps : end) - step;
    return left < most ? left : most;
  };
  const auto decoding_of = [&](int64_t step, int64_t part) {
    return Decoding{task.panel + step * kPanelStep, lower[part % 2], count_from(step) * kBlocks};
  };
  Finishing before{task, sums};
  before.task.rows = 0;
  decoding_of(0, 0).rest();
  for (int64_t first = 0, part = 0, count; first < end; first += count, ++part) {
    count = count_from(first);
    // GCC 12 does not know that tiles are loaded from memory: what is decoded must be there by now.
    asm volatile("" : : : "memory");
    const int64_t begin = first < steps ? first : first - steps, column = first < steps ? 0 : kHalf;
    const bool ends = begin + count == steps;
    Decoding next = decoding_of(first + count, part + 1);
    const auto beside = [&before, each = divide_up(kTileRows, 2 * count)] {
      if (before.task.rows > 0) before.some(each);
    };
    for (int64_t strip = 0; strip < strips; ++strip) {
      const int64_t row = strip * kTileRows;
      const Unit* x = task.x + row * task.x_stride + begin * kRowsStep;
      float* to = sums + row * kPanel;
      if (begin == 0) clear_sums();
      if (begin > 0 && strips > 1) load_sums(to);
      const auto add = [&]<int N>() {
        for (int64_t i = 0; i < count; ++i) {
          const Unit* panel = task.panel + (first + i) * kPanelStep;
          const Unit *tiles = lower[part % 2] + i * kLowerStep, *inputs = x + i * kRowsStep;
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
  if (task.rows == 0) return;  // no shape of tiles is for none
  shape_tiles(task.rows < kTileRows ? task.rows : kTileRows);
  MatmulTask part = task;
  for (int64_t left = task.rows; left > 0; left -= part.rows) {
    part.rows = left < kMostRows ? left : kMostRows;
    matmul_strips(part);
    part.x += part.rows * task.x_stride;
    part.y += part.rows * task.y_stride;
  }
}

// Floats as bf16 that add up to them, a and b side by side: their parts kTileUnits apart, the
// largest first.
inline void split(Vec a, Vec b, Unit* to) {
  const auto take = [](Vec& from, bool nearest) {
    const IntVec part = ((IntVec)from + (nearest ? 0x8000 : 0)) & (IntVec{} - 65536);
    from -= (Vec)part;
    return (Bits)part;
  };
#pragma GCC unroll 4
  for (int part = 0; part < kSplitParts; ++part, to += kTileUnits) {
    const bool nearest = part + 1 < kSplitParts;  // what is left has no more than a bf16's digits
    const Bits low = take(a, nearest), high = take(b, nearest);
    store(to, (Vec)(low >> 16 | high));
  }
}

// Of a step's inputs, the one W after another is its neighbour in a unit.
void split_rows(const float* x, int64_t stride, int64_t rows, int64_t k, Unit* units) {
  for (int64_t i = 0; i < k; i += kInputs, units += kRowsStep) {
    for (int64_t r = 0; r < kTileRows; ++r) {
      const auto at = [&](int64_t j) {
        const float* from = x + r * stride + j;
        return r >= rows || j >= k ? Vec{} : k - j >= W ? load(from) : load_part(from, k - j, 0);
      };
      split(at(i), at(i + W), units + r * W);
    }
  }
}

void split_panel(const Unit* panel, int64_t k, Unit* units) {
  for (int64_t half = 0; half < kPanel; half += kHalf) {
    for (int64_t step = 0; step < k; step += kInputs) {
      for (int64_t i = step; i < step + W; ++i) {
        for (int64_t j = half; j < half + kHalf; j += W, units += kBlockUnits) {
          const auto at = [&](int64_t row) {
            return encode(row < k ? load(panel + row * kPanel + j) : Vec{});
          };
          const Encoded a = at(i), b = at(i + W);
          store(units, (Vec)(a.upper | b.upper << 16));
          store(units + W, (Vec)(a.rest | b.rest << 16));
        }
      }
    }
  }
}

}  // namespace

extern constinit const TileKernels tiles = {
    NAME(INSTRUCTION_SET), kCompiledSets, split_rows, split_panel, matmul_split,
};

}  // namespace bert::engine::INSTRUCTION_SET
