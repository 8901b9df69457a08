// SPDX-License-Identifier: Apache-2.0
//
// The settings of positions, and of windows in attention. Each function throws if the file asks for
// what is not supported.
#pragma once

#include <cstdint>
#include <vector>

#include "models/config/config.h"
#include "models/weights/json_file.h"

namespace bert::models {

// Reads how many positions there are, of which type, and which is the first token's.
void read_positions(const JsonFile& file, Config& config);

void expect_absent(const JsonFile& file, const char* field);
double positive(const JsonFile& file, const char* field, double fallback);
// Whether a float can hold the number and its inverse.
bool is_positive(double value);
int64_t head_width(const JsonFile& file, const Config& config);  // even, as pairs are rotated

// The theta of {"rope_theta", "rope_type": "default"}, as transformers 5 writes it.
double rope_theta(const JsonField& parameters, double fallback);
// Sets the frequencies from rope_theta and rope_scaling, or from rope_parameters, as transformers 5
// writes them. The type may be "linear", "llama3" or "yarn", too; the last also scales attention.
void read_rope(const JsonFile& file, double fallback, Config& config);
// For global layers and for those with a window.
struct Thetas {
  double global, local;
};
// Sets the frequencies from these thetas, or from those in rope_parameters for either kind, whose
// type may be "linear", too. global_scaling: an older field with such parameters for global layers.
void read_rotary(const JsonFile& file, Thetas thetas, Config& config,
                 const char* global_scaling = "");

// Config::windows: which layers see `reach` tokens to each side, and which are global. Without
// layer_types, every `every`-th layer is global, beginning with layer `first`.
std::vector<int> read_windows(const JsonFile& file, const Config& config, int reach, int64_t every,
                              int64_t first);
// The reach if the setting is the width of both sides together.
int half_of(const JsonFile& file, const char* width, int64_t standard);
// From the widths of both sides together: Longformer's attention_window, one or a list by layer.
std::vector<int> read_layer_windows(const JsonFile& file, const Config& config);
// UltraBERT's published files have lists of the layers' windows (0: none) and thetas.
std::vector<int> read_published_windows(const JsonFile& file, const Config& config, Thetas& thetas);

}  // namespace bert::models
