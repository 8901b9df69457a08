// SPDX-License-Identifier: Apache-2.0
//
// The names of enumerators, for the C API, the Python package and messages.
#pragma once

#include <string_view>

#include "models/bert_infer.h"

namespace bert::models {

// As in bert-infer's --task, where it has the task: "fill-mask".
const char* name_of(Task task);
const char* name_of(Scores scores);

template <typename Value>
struct Named {
  std::string_view name;
  Value value;
};
// Qualified, as engine has a Precision too.
inline constexpr Named<bert::Precision> kPrecisions[] = {{"auto", bert::Precision::automatic},
                                                         {"f32", bert::Precision::f32},
                                                         {"bf16", bert::Precision::bf16},
                                                         {"int8", bert::Precision::int8}};
inline constexpr Named<Backend> kBackends[] = {
    {"auto", Backend::automatic}, {"onednn", Backend::onednn}, {"panels", Backend::panels}};
inline constexpr Named<Role> kRoles[] = {{"query", Role::query}, {"document", Role::document}};
inline constexpr Named<Aggregation> kAggregations[] = {
    {"auto", Aggregation::automatic},  {"none", Aggregation::none},
    {"simple", Aggregation::simple},   {"first", Aggregation::first},
    {"average", Aggregation::average}, {"max", Aggregation::max}};

}  // namespace bert::models
