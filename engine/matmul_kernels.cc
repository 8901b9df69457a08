// SPDX-License-Identifier: Apache-2.0
#include "engine/vectors.h"

namespace bert::engine::ROW_KERNELS {
namespace {

// Like F32 and Bf16 in vectors.h.
struct Bytes {
  using In = IntVec;
  using Sum = IntVec;
  static constexpr int64_t kBlock = int64_t{1} << 40;  // whole numbers: nothing is rounded
  static In broadcast(const Unit* p) { return broadcast_bits(p); }
  static In load(const Unit* p) { return load_bits(p); }
  static Sum dot(Sum sum, In x, In w) {
#if defined(__AVX512VNNI__)
    return (Sum)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, (__m512i)w);
#elif defined(__AVXVNNI__)
    return (Sum)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)x, (__m256i)w);
#elif defined(__AVX512BW__)
    return sum + (Sum)_mm512_madd_epi16((__m512i)x, (__m512i)w);
#elif defined(__AVX2__)
    return sum + (Sum)_mm256_madd_epi16((__m256i)x, (__m256i)w);
#elif defined(__SSE2__)
    return sum + (Sum)_mm_madd_epi16((__m128i)x, (__m128i)w);
#else
    return sum + (x << 16 >> 16) * (w << 16 >> 16) + (x >> 16) * (w >> 16);
#endif
  }
};

inline Vec tanh(Vec x) {
  const Vec e = exp2_negative(max(broadcast(-126.0f), magnitude(x) * (-2 * kLog2E)));
  const Vec positive = (1.0f - e) / (1.0f + e);
  return x < 0.0f ? -positive : positive;
}

// x Phi(x) = max(0, x) - |x| Phi(-|x|). The logarithm of Phi(-u) is nearly a parabola: 2 to a
// polynomial in u, fitted so that u Phi(-u) is within 4e-8; from u = 6.6 on it is below 2e-10. By
// Estrin's scheme, whose chains are short.
template <typename Kind>
inline Vec gelu(Vec x) {
  const Vec u = min(magnitude(x), broadcast(6.6f)), u2 = u * u;
  const Vec p67 = u * 4.2671118e-06f - 1.2682427e-05f;
  const Vec p45 = u * -0.00057622907f + 0.0076716067f;
  const Vec p23 = u * -0.052949335f - 0.4590436f;
  const Vec p01 = u * -1.151127f - 1.0f;
  const Vec p = (p67 * u2 + p45) * (u2 * u2) + (p23 * u2 + p01);
  return max(Vec{}, x) - u * exp2_negative(p);
}

// The same within 1.6e-4, and past the clamp 2e-5 |x| more, for what is rounded to eight bits right
// afterwards: x / 2 + |x| p(|x|), where p is Phi - 1/2.
template <>
inline Vec gelu<Bytes>(Vec x) {
  const Vec u = magnitude(x), t = min(u, broadcast(3.9f));
  Vec p = broadcast(0.000686555461f);
  p = p * t - 0.0104904901f;
  p = p * t + 0.0604671277f;
  p = p * t - 0.147275239f;
  p = p * t + 0.0521836355f;
  p = p * t + 0.385195196f;
  p = p * t + 0.00067053223f;
  return x * 0.5f + u * p;
}

inline Vec gelu_tanh(Vec x) {
  const Vec inner = (x * x * x * 0.044715f + x) * 0.797884561f;  // sqrt(2 / pi)
  return x * 0.5f * (tanh(inner) + 1.0f);
}

// y[r] = function(sums[r] + bias, y[r]) for the rows of a tile.
template <typename Function>
inline void finish_with(Function function, const MatmulTask& task, int64_t rows, const float* sums,
                        float* y) {
  const int64_t whole = task.columns / W, rest = task.columns % W;
  for (int64_t r = 0; r < rows; ++r, sums += kPanel, y += task.y_stride) {
    if (whole == kVectors) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const int64_t j = v * W;
        store(y + j, function(load(sums + j) + load(task.bias + j), y + j));
      }
      continue;
    }
    for (int64_t j = 0; j < whole * W; j += W) {
      store(y + j, function(load(sums + j) + load(task.bias + j), y + j));
    }
    if (rest > 0) {
      const int64_t j = whole * W;
      float before[W] = {};
      store_part(before, rest, load_part(y + j, rest, 0));
      store_part(y + j, rest, function(load(sums + j) + load_part(task.bias + j, rest, 0), before));
    }
  }
}

// Not in each of the tiles' functions: they are many.
template <typename Kind>
[[gnu::noinline]] void finish(const MatmulTask& task, int64_t rows, const float* sums, float* y) {
  const auto with = [&](const auto& function) { finish_with(function, task, rows, sums, y); };
  if (task.add) return with([](Vec v, const float* at) { return load(at) + v; });
  switch (task.activation) {
    case Activation::none:
      return with([](Vec v, const float*) { return v; });
    case Activation::gelu:
      return with([](Vec v, const float*) { return gelu<Kind>(v); });
    case Activation::gelu_tanh:
      return with([](Vec v, const float*) { return gelu_tanh(v); });
    case Activation::relu:
      return with([](Vec v, const float*) { return max(Vec{}, v); });
    case Activation::tanh:
      return with([](Vec v, const float*) { return tanh(v); });
  }
}

// What a sum is worth: row `row` and columns `column` to `column` + W of the task.
inline Vec value(const MatmulTask&, int64_t, int64_t, Vec sum) { return sum; }
inline Vec value(const MatmulTask& task, int64_t row, int64_t column, IntVec sum) {
  const RowScale& scale = task.row_scales[row];
  IntVec column_sums;
  __builtin_memcpy(&column_sums, task.column_sums + column, sizeof column_sums);
  const Vec exact = __builtin_convertvector(sum - scale.zero * column_sums, Vec);
  return exact * (scale.scale * load(task.column_scales + column));
}

// A tile of kRows whose sums are there and not yet in y, where bias and residual are all that is
// left to add: no multiplication, so the next tile's leave room for it. Or none, without steps.
struct Pending {
  const MatmulTask& task;
  const float* sums;
  float* y;
  int64_t steps;
  void operator()(int64_t i) const {
    const int64_t j = i % kVectors * W;
    float* to = y + i / kVectors * task.y_stride + j;
    const Vec v = load(sums + i * W) + load(task.bias + j);
    store(to, task.add ? load(to) + v : v);
  }
};

// sums[R, kPanel] = x[R] panel for R rows from `first` on. Meanwhile fetches so many lines of what
// lies ahead for each row of the panel, and finishes what is pending.
template <typename Kind, int R>
void tile(const MatmulTask& task, int64_t first, int64_t lines, const Unit* ahead, Pending pending,
          float* sums) {
  for (int r = 0; r < R; ++r) {  // the lines that will be written
    for (int64_t j = 0; j < task.columns; j += kLine) {
      __builtin_prefetch(task.y + (first + r) * task.y_stride + j, 1);
    }
  }
  const int64_t units = task.units;
  const auto add = [&]<typename Of>(Of, int64_t begin, int64_t end, auto& sum) {
    add_products<Of, R, kVectors>(task.x + first * task.x_stride + begin, task.x_stride,
                                  task.panel + begin * kPanel, kPanel, end - begin, sum, lines,
                                  ahead + begin * lines * kLine, pending);
    pending.steps = 0;
  };
  // Adds what `part` says of each vector to what is there.
  const auto keep = [&](bool there, const auto& part) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        float* to = sums + r * kPanel + v * W;
        store(to, there ? load(to) + part(r, v) : part(r, v));
      }
    }
    // A compiler that kept the sums of a few rows in registers, and not those of many, could fuse
    // the last multiplication with what is added next: a row's bits would depend on its company.
    asm volatile("" : : "r"(sums) : "memory");
  };
  for (int64_t begin = 0; begin < units; begin += Kind::kBlock) {
    const int64_t end = units - begin < Kind::kBlock ? units : begin + Kind::kBlock;
    typename Kind::Sum sum[R][kVectors] = {};
    add(Kind(), begin, end, sum);
    keep(begin > 0, [&](int r, int v) { return value(task, first + r, v * W, sum[r][v]); });
  }
  if (task.exact > 0) {
    Vec sum[R][kVectors] = {};
    add(F32(), units, units + task.exact, sum);
    keep(true, [&](int r, int v) { return sum[r][v]; });
  }
}

using Tile = void (*)(const MatmulTask&, int64_t, int64_t, const Unit*, Pending, float*);
template <typename Kind>
constexpr Tile kTiles[] = {nullptr,
                           tile<Kind, 1>,
                           tile<Kind, 2>,
                           tile<Kind, 3>,
                           tile<Kind, 4>,
                           tile<Kind, (kRows > 4 ? 5 : 4)>,
                           tile<Kind, (kRows > 4 ? 6 : 4)>};

}  // namespace

void pack_panel(const Unit* const* rows, int64_t columns, int64_t units, Unit* panel) {
  for (int64_t j = 0; j < kPanel; j += W) {
    for (int64_t i = 0; i < units; i += W) {
      const int64_t left = units - i < W ? units - i : W;
      Vec block[W];
      for (int c = 0; c < W; ++c) {
        const bool inside = j + c < columns;
        block[c] = !inside     ? Vec{}
                   : left == W ? load(rows[j + c] + i)
                               : load_part(rows[j + c] + i, left, 0);
      }
      transpose(block);
      for (int64_t d = 0; d < left; ++d) store(panel + (i + d) * kPanel + j, block[d]);
    }
  }
}

namespace {

// While the last tiles are computed, what comes after the panel is fetched: a line for each row of
// the panel by each of the last four, or more by each where there are fewer, the most by the first:
// the last one may have fewer rows, and so less time.
template <typename Kind>
void matmul(const MatmulTask& task) {
  constexpr int64_t kWanted = kPanel > kLine ? kPanel / kLine : 1;
  const int64_t tiles = (task.rows + kRows - 1) / kRows;
  int64_t fetched = 0;  // lines for each row of the next panel
  alignas(64) float sums[2][kRows * kPanel];
  const bool later = task.activation == Activation::none && task.columns == kPanel;
  float* before = nullptr;  // where the last tile's sums go, when they wait
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t first = t * kRows, left = tiles - t;
    const int64_t rows = task.rows - first < kRows ? task.rows - first : kRows;
    const int64_t lines = left > kWanted ? 0 : (kWanted - fetched + left - 1) / left;
    const Unit* ahead = task.next + fetched * kLine * (task.units + task.exact);
    float* y = task.y + first * task.y_stride;
    const Pending pending = {task, sums[(t + 1) % 2], before, before ? kRows * kVectors : 0};
    kTiles<Kind>[rows](task, first, lines, ahead, pending, sums[t % 2]);
    if (later) before = y;
    if (!later || left == 1) finish<Kind>(task, rows, sums[t % 2], y);
    fetched += lines;
  }
}

}  // namespace

void matmul_f32(const MatmulTask& task) { matmul<F32>(task); }
void matmul_bf16(const MatmulTask& task) { matmul<Bf16>(task); }
void matmul_int8(const MatmulTask& task) { matmul<Bytes>(task); }

}  // namespace bert::engine::ROW_KERNELS
