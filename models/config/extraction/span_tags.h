// SPDX-License-Identifier: Apache-2.0
//
// Labels of tokens that mark whole spans, as OpenAI's Privacy Filter has them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace bert::models {

// Which labels are O, outside of all spans, and for each kind B-KIND, a span's first token, I-KIND,
// one inside, E-KIND, the last, and S-KIND, the only one.
struct SpanTags {
  struct Kind {
    int begin = -1, inside = -1, end = -1, single = -1;
  };
  int outside = -1;
  std::vector<Kind> kinds;
  // What a step from one token's label to the next one's adds to a sequence's score, which is the
  // sum of the labels' logits.
  struct Biases {
    float stay_outside = 0, outside_to_start = 0;     // from O: to O, to B or S
    float inside_to_continue = 0, inside_to_end = 0;  // from B or I: to I, to E
    float end_to_outside = 0, end_to_start = 0;       // from E or S: to O, to B or S
  } biases = {};
};

// Nothing unless each label is O or one of these, and each kind has all four. The biases are those
// of the directory's viterbi_calibration.json, if there is one. Errors are std::runtime_error.
std::optional<SpanTags> read_span_tags(const std::vector<std::string>& labels,
                                       const std::string& directory);

}  // namespace bert::models
