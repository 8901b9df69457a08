// SPDX-License-Identifier: Apache-2.0
//
// How dense layers multiply. A Product takes rows of inputs and a panel of weights, some columns of
// them, to finished outputs; what threads, blocks of rows and prefetching have to do with it is
// Linear's business. There are three: oneDNN's micro-kernels, oneDNN's matmul primitives, and
// panels of our own.
#pragma once

#include <cstdint>
#include <string>

#include "engine/kernels/row_kernels.h"

namespace bert::engine {

const char* name_of(Precision precision);

enum class Backend { automatic, onednn, panels };

// A product reads `words` of a row, each of which holds one f32, two bf16, or bytes as Int8Format
// says. The exact inputs of an int8 product are f32.
struct PanelFormat {
  int64_t columns = 0;      // that a panel holds, the last of a matrix filled up with zeros
  int64_t word_step = 1;    // the words of a panel are filled up to a multiple of it with zeros
  bool transposed = true;   // a panel is [words, columns]; otherwise [columns, words]
  int64_t row_step = 1;     // heights of blocks of rows are best multiples of it
  bool dense_rows = false;  // the exact inputs follow after all rows, otherwise in each row
  Int8Format int8 = {.bytes = 1, .max_input = 255};
};

// That k inputs take.
int64_t words_of(Precision precision, Int8Format int8, int64_t k);
int64_t panel_words(const PanelFormat& format, int64_t row_words);
// Packs rows [columns, row_words] of a weight matrix into a panel, which is all zeros before.
void pack_panel(const PanelFormat& format, const Word32* const* rows, int64_t columns,
                int64_t row_words, Word32* panel);

// One way to multiply in one precision. Immutable, and shared by all models. A row's result is the
// same bits in any task.
class Product {
 public:
  Product(Backend of, Precision in, PanelFormat panels)
      : backend(of), precision(in), panel(panels) {}
  virtual ~Product() = default;
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  virtual void multiply(const MatmulTask& task) const = 0;
  // For tasks of these numbers of words and exact inputs. Throws std::runtime_error if there is
  // only slow reference code for them.
  virtual void prepare(int64_t words, int64_t exact) const {
    static_cast<void>(words);
    static_cast<void>(exact);
  }
  // What runs, such as "oneDNN 3.7.2 micro-kernels".
  virtual std::string name() const = 0;

  const Backend backend;  // not automatic
  const Precision precision;
  const PanelFormat panel;
};

// The product for a precision: the measured best of what this machine and this oneDNN can do, or
// the one of the backend that is asked for. Throws std::runtime_error if that backend cannot
// multiply in this precision here.
const Product& pick_product(Precision precision, Backend wanted = Backend::automatic);

std::string onednn_version();  // of the library that runs, such as "2.6.3"

// What would run on this machine, in lines for people: oneDNN's version, the backend of each
// precision, and the instruction set of the kernels.
std::string describe_products();

// What a model multiplies with: its layers in the precision that was chosen, all else in f32.
struct Products {
  const Product& layers;
  const Product& f32;
};

// The implementations, which pick_product() chooses from. Each is null where it cannot run.
const Product* micro_kernel_product(Precision precision);  // oneDNN 3.6 and later
const Product* matmul_product(Precision precision);        // any oneDNN
const Product& panel_product(Precision precision, const RowKernels& kernels);

}  // namespace bert::engine
