// SPDX-License-Identifier: Apache-2.0
//
// How dense layers multiply. A Product computes finished outputs from rows of inputs and a panel of
// weights, which is some of their columns; Linear takes care of threads, blocks of rows and
// prefetching. Some use oneDNN's micro-kernels or its matmul primitives, the others our own
// panels: plain, split or halved.
#pragma once

#include <cstdint>
#include <string>

#include "engine/kernels/kernel_table.h"

namespace bert::engine {

const char* name_of(Precision precision);

enum class Backend { automatic, onednn, panels };

// A product reads rows in words, each of which holds one f32, two bf16, or quantised inputs as
// Int8Format says. The exact inputs of an int8 product are f32.
struct PanelFormat {
  int64_t columns = 0;      // of a panel; a matrix's last panel is padded with zeros
  int64_t word_step = 1;    // the words of a panel are padded to a multiple of it with zeros
  bool transposed = true;   // a panel is [words, columns]; otherwise [columns, words]
  int64_t row_step = 1;     // the best heights for blocks of rows are its multiples
  bool dense_rows = false;  // the exact inputs follow all rows, otherwise each row's own
  bool tiles = false;       // matrix tiles multiply, which read 16 rows at once
  bool halved = false;      // of f32: a word holds the weights of inputs 2i and 2i + 1, in bf16
  // How f32 inputs are interleaved, or 0 and null: see KernelTable.
  int64_t interleaved_rows = 0;
  void (*interleave)(const float* x, int64_t rows, int64_t k, Word32* strips) = nullptr;
  // How f32 inputs are split, or null: see KernelTable::split_row.
  void (*split)(const float* row, int64_t k, Word32* words) = nullptr;
  Int8Format int8 = {.bytes = 1, .max_input = 255};
  // The rows of a panel that hold the weights of some words.
  int64_t rows(int64_t words) const { return halved ? (words + 1) / 2 : words; }
};

// The words taken by k inputs.
int64_t words_of(Precision precision, Int8Format int8, int64_t k);
int64_t panel_words(const PanelFormat& format, int64_t row_words);
// Packs rows [columns, row_words] of a weight matrix into a panel, which must be all zeros.
void pack_panel(const PanelFormat& format, const Word32* const* rows, int64_t columns,
                int64_t row_words, Word32* panel);

// One way to multiply in one precision. Immutable, and shared by all models. A row's result has the
// same bits in any task.
class Product {
 public:
  Product(Backend of, Precision in, PanelFormat panels)
      : backend(of), precision(in), panel(panels) {}
  virtual ~Product() = default;
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  virtual void multiply(const MatmulTask& task) const = 0;
  // Prepares for tasks with this many words and exact inputs. Throws std::runtime_error if there is
  // only slow reference code for them.
  virtual void prepare(int64_t /*words*/, int64_t /*exact*/) const {}
  // How many rows to take at a time through products whose outputs the next step reads.
  int64_t rows_at_a_time(int threads) const;
  // In how many slices to compute the columns between two products, which is part of their bits.
  int64_t slices(int64_t columns) const;
  // The one for weights that are bf16 and this many inputs, with the same bits; or null.
  virtual const Product* halved(int64_t /*inputs*/) const { return nullptr; }
  // For people, such as "oneDNN 3.7.2 micro-kernels".
  virtual std::string name() const = 0;

  const Backend backend;  // not automatic
  const Precision precision;
  const PanelFormat panel;
};

// The product for a precision: the fastest, by measurement, that this machine and this oneDNN have,
// or the requested backend's. Throws std::runtime_error if that backend cannot multiply in this
// precision here.
const Product& pick_product(Precision precision, Backend wanted = Backend::automatic);
// The same for the layers of a model, which have many rows: in f32, one that splits its inputs
// where that is faster. Only a Linear can use it, as others don't convert f32 inputs.
const Product& pick_layer_product(Precision precision, Backend wanted);

std::string onednn_version();  // of the library that runs, such as "2.6.3"

// What would run on this machine, in lines for people: oneDNN's version, the backend of each
// precision, and the instruction set of the kernels.
std::string describe_products();

// The bias where there is none, for a panel.
alignas(64) inline constexpr float kNoBias[64] = {};

// What a model multiplies with: its layers in the chosen precision, all else in f32.
struct Products {
  const Product& layers;
  const Product& f32;
};

// The implementations, which pick_product() chooses from. Each is null where it cannot run.
const Product* micro_kernel_product(Precision precision);  // oneDNN 3.6 and later
const Product* matmul_product(Precision precision);        // any oneDNN
const Product& panel_product(Precision precision, const KernelTable& kernels);
const Product* split_product(const KernelTable& kernels);  // f32 by matrix tiles
// See Product::halved(); of is one of these two, in f32.
const Product* halved_product(const Product& of, const KernelTable& kernels, int64_t inputs);

}  // namespace bert::engine
