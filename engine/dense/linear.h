// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/dense/product.h"
#include "engine/dense/quantisation.h"
#include "engine/table.h"
#include "engine/tensor.h"
#include "engine/threads/team.h"

namespace bert::engine {

// y = activation(x W^T + b), with W packed once into panels of columns in its Product's format.
// This class adds the threads, blocks of rows that stay in cache, and prefetching of the next
// panel, which hides that weights are cold. A row's bits depend neither on the number of rows nor
// on the number of threads.
//
// int8: weights are s8 with a scale for each column, inputs u8 with a scale and a zero point for
// each row, sums s32. The outlier inputs of engine/dense/quantisation.h stay in f32.
class Linear {
 public:
  // Some of the N columns, as checkpoints store them: weight [columns, width], bias [columns].
  struct Part {
    ConstTensor weight;
    const float* bias;
    std::string name = {};  // the weight's, for messages
  };
  // An int8 Linear as bert-convert stores it, [N, K] instead of panels.
  struct Stored {
    std::vector<int8_t> q;             // [N, K], 0 at the exact inputs
    std::vector<float> scales, bias;   // [N]; the bias is corrected
    std::vector<int32_t> exact;        // [E]: inputs that stay in f32
    std::vector<float> exact_weights;  // [N, E]
  };
  Linear(Team& team, const Stored& stored, int64_t width, Activation activation,
         const Product& product);
  Stored stored() const;

  // The parts are laid side by side. f32 and bf16 weights are packed here, int8 ones by quantise().
  // owner keeps the parts' weights alive and is released once they are packed. Packing a weight
  // that is not finite throws std::runtime_error.
  Linear(Team& team, std::span<const Part> parts, Activation activation, const Product& product,
         std::shared_ptr<void> owner = nullptr);
  // Packs an int8 Linear that was made from parts; called once, before the first run(). statistics:
  // from inputs like those that it will get. Throws std::domain_error if they are not finite.
  void quantise(Team& team, const InputStatistics& statistics);
  bool is_packed() const { return packed_->words > 0; }

  const Product& product() const { return *packed_->product; }
  int64_t width() const { return packed_->k; }    // K
  int64_t columns() const { return packed_->n; }  // N
  // How many inputs of an int8 Linear stay in f32.
  int64_t exact_inputs() const { return std::ssize(packed_->exact); }

  // The Linear that usually runs next: run() ends by prefetching its first panel. It must live as
  // long as this one.
  void set_prefetch_target(const Linear& next) { packed_->next = next.packed_.get(); }
  // The one that runs next after a slice of inputs that is not the last.
  void set_slice_target(const Linear& first) { packed_->next_slice = first.packed_.get(); }

  // Part `index` of `count` of the columns between two products: the first computes it, and the
  // second adds what comes of it, before the next slice is computed. A slice of many rows stays in
  // the cache where all of their columns would not. count: as Product::slices() says.
  struct Slice {
    int64_t index = 0, count = 1;
  };

  // y [T, N] = activation(x W^T + b), with x [T, K]. scratch: for the converted x. y [T, N / count]
  // for a slice of the columns.
  void run(Team& team, ConstTensor x, Buffer& scratch, Tensor y) const {
    run(team, x, scratch, y, Into{});
  }
  void run(Team& team, ConstTensor x, Buffer& scratch, Tensor y, Slice columns) const {
    run(team, x, scratch, y, Into{.columns = columns});
  }
  // y += x W^T + b; of a slice of the inputs, x [T, K / count], of which the first adds b.
  void run_add(Team& team, ConstTensor x, Buffer& scratch, Tensor y) const {
    run(team, x, scratch, y, Into{.add = true});
  }
  void run_add(Team& team, ConstTensor x, Buffer& scratch, Tensor y, Slice inputs) const {
    run(team, x, scratch, y, Into{.add = true, .inputs = inputs});
  }
  // The columns of a wider y from `column` on = activation(x W^T + b).
  void run_columns(Team& team, ConstTensor x, Buffer& scratch, Tensor y, int64_t column) const {
    run(team, x, scratch, y, Into{.column = column});
  }
  // y *= x W^T + b: the second half of a gated linear unit (Shazeer 2020).
  void run_multiply(Team& team, ConstTensor x, Buffer& scratch, Tensor y) const {
    run(team, x, scratch, y, Into{.multiply = true});
  }
  void run_multiply(Team& team, ConstTensor x, Buffer& scratch, Tensor y, Slice columns) const {
    run(team, x, scratch, y, Into{.multiply = true, .columns = columns});
  }

 private:
  // x in the Linear's precision.
  struct ConvertedRows {
    const Word32* words = nullptr;  // [T, words], stride from row to row
    int64_t stride = 0;
    // int8 only.
    const Word32* exact = nullptr;  // [T, exact inputs], exact_stride from row to row
    int64_t exact_stride = 0;
    const RowScale* scales = nullptr;  // [T]
    bool interleaved = false;          // f32 only: KernelTable::interleave
  };
  struct Packed {
    int64_t n = 0, k = 0;
    int64_t words = 0;  // that the K converted inputs take; 0 until packed
    Activation activation;
    const Product* product;
    Buffer panels;  // [panel_count()] of panel_words() each
    Buffer bias;    // [N]
    const Packed *next = nullptr, *next_slice = nullptr;
    // int8
    Buffer column_scales;              // [panel_count(), columns of a panel]
    std::vector<int32_t> column_sums;  // [panel_count(), columns of a panel]
    std::vector<uint8_t> paired;       // [panel_count()]: MatmulTask::paired
    std::vector<int32_t> exact;        // the inputs that stay in f32
    std::vector<float> mask;           // mask_inputs(exact)
    // Until packed.
    std::vector<Part> parts;
    std::vector<const float*> rows;  // [N] of [K]
    std::shared_ptr<void> owner;

    int64_t row_words() const { return words + std::ssize(exact); }
    // Whether run() converts its inputs.
    bool converts() const { return product->precision != Precision::f32 || product->panel.split; }
    // Whether run() interleaves its inputs. It takes about as long as to multiply by one panel; it
    // saves a tenth of the time or more (BERT-base on Zen 3), but next to nothing for 16 rows, and
    // with two threads nothing for 768 columns of output and less than 64 rows.
    bool interleaves(int64_t input_rows, int64_t panels_read) const {
      constexpr int64_t kMinRows = 32, kMinPanels = 40;
      return product->precision == Precision::f32 && product->panel.interleaved_rows > 0 &&
             input_rows >= kMinRows && panels_read >= kMinPanels;
    }
    bool widens() const { return product->panel.halved && !product->panel.split; }
    // The stride of converted rows. Tiles load 16 rows at once, each from the beginning of a cache
    // line; with an odd number of lines from row to row, no two of them share a set of the cache.
    int64_t converted_stride(int64_t inputs, int64_t input_words) const {
      if (product->panel.dense_rows) return input_words;
      const int64_t all =
          product->panel.split ? split_words(inputs) : input_words + std::ssize(exact);
      return product->panel.tiles ? (divide_up(all, 16) | 1) * 16 : all;
    }
    int64_t panel_count() const { return divide_up(n, product->panel.columns); }
    int64_t panel_words() const { return engine::panel_words(product->panel, row_words()); }
    const Word32* panel(int64_t i) const { return as_words(panels.data()) + i * panel_words(); }
    void keep_exact(std::vector<int32_t> inputs);
    void keep_quantised(int64_t column, const int8_t* q, float scale, Word32* to);
    // Writes the row_words() of a column: first the converted inputs, then the exact ones.
    using FillRow = std::function<void(int64_t column, Word32* to)>;
    void pack(Team& team, const FillRow& fill);
    // Converts x, a slice of the inputs: `input_words` words of each row.
    ConvertedRows convert(Team& team, ConstTensor x, int64_t input_words, Buffer& scratch) const;
    // Interleaves x into scratch, after its first `kept` floats.
    ConvertedRows interleave(Team& team, ConstTensor x, int64_t kept, Buffer& scratch) const;
    // Adds what only int8 tasks have, for inputs from `row` on and columns from `column` on.
    void add_scales(const ConvertedRows& inputs, int64_t row, int64_t column,
                    MatmulTask& task) const;
  };
  struct Into {
    bool add = false, multiply = false;
    int64_t column = 0;
    Slice columns = {}, inputs = {};  // one of them at most
  };
  // Some of a Linear's panels, and of each some words.
  struct Panels {
    const Packed& of;
    Slice columns, inputs;
    int64_t words() const { return of.words / inputs.count; }
    int64_t count() const { return of.panel_count() / columns.count; }
    int64_t first() const { return columns.index * count(); }
    const Word32* panel(int64_t i) const {
      const PanelFormat& format = of.product->panel;
      return of.panel(first() + i) + inputs.index * format.rows(words()) * format.columns;
    }
  };
  // The panels that usually run next, to be prefetched.
  Panels after(const Into& into) const {
    const Packed& w = *packed_;
    const auto& [index, count] = into.inputs;
    if (index + 1 < count && w.next_slice) return {*w.next_slice, {index + 1, count}, {}};
    if (!w.next || w.next->words == 0) return {w, into.columns, into.inputs};
    const bool by_inputs = w.next->k == w.n;  // otherwise a gate's
    return {*w.next, by_inputs ? Slice{} : into.columns, by_inputs ? into.columns : Slice{}};
  }
  void run(Team& team, ConstTensor x, Buffer& scratch, Tensor y, const Into& into) const;

  std::unique_ptr<Packed> packed_;  // on the heap: a prefetch target must not move with its Linear
};

// y [T, N] = x W^T + b in f32, with weight [N, K] read in place: for the decoder of a masked
// language model, which is the table of word embeddings and too large to keep twice. For the few
// rows that need it, this costs little more than reading W.
void multiply_in_place(Team& team, const Product& product, ConstTensor x, const Table& weight,
                       const float* bias, Tensor y);
// The same for many rows, never holding all of y: calls take(row, column, block) for each block of
// y, which begins at that row and column. One thread gets all blocks of a column, top to bottom.
using TakeBlock = std::function<void(int64_t row, int64_t column, ConstTensor block)>;
void multiply_in_place(Team& team, const Product& product, ConstTensor x, const Table& weight,
                       const float* bias, const TakeBlock& take);

// How many times as fast this machine multiplies in bf16 as in f32 by weights that are bf16,
// measured now, within 1 ms.
double bf16_speed();

}  // namespace bert::engine
