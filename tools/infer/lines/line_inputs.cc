// SPDX-License-Identifier: Apache-2.0
//
// From the lines of a file to inputs, collected in a Window.
#include <iterator>
#include <utility>
#include <vector>

#include "tools/infer/task_inputs.h"

namespace bert::tools {
namespace {

template <typename T>
void move_to_end(std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), std::move_iterator(from.begin()), std::move_iterator(from.end()));
}

}  // namespace

void Window::append(Window other) {
  for (Refused& each : other.refused) each.before += sources.size();
  move_to_end(other.encodings, encodings);
  move_to_end(other.texts, texts);
  move_to_end(other.choices, choices);
  move_to_end(other.sources, sources);
  move_to_end(other.refused, refused);
  tokens += other.tokens;
}

}  // namespace bert::tools
