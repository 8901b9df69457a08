// SPDX-License-Identifier: Apache-2.0
#include "models/network/retrieval/dense_module.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/rows/rows.h"
#include "models/weights/pytorch/pytorch_file.h"
#include "models/weights/weight_file.h"

namespace bert::models {
namespace {

// The tensors of a few small files, all of which must be used.
class ModuleTensors {
 public:
  explicit ModuleTensors(Weights weights) : weights_(std::move(weights)) {}

  struct Found {
    const WeightFile& file;
    const StoredTensor& tensor;
  };
  Found find(const std::string& name) {
    taken_.insert(name);
    for (const WeightFile& file : weights_.files) {
      if (const StoredTensor* tensor = file.find(name)) return {file, *tensor};
    }
    fail(weights_.path, fmt::format("tensor '{}' is missing", name));
  }

  engine::Buffer read(const std::string& name, const std::vector<int64_t>& shape) {
    const auto& [file, tensor] = find(name);
    if (tensor.shape != shape) {
      fail(file.path(), fmt::format("tensor '{}' has shape [{}], expected [{}]", name,
                                    fmt::join(tensor.shape, ", "), fmt::join(shape, ", ")));
    }
    if (!is_float(tensor.dtype)) {
      fail(file.path(), fmt::format("tensor '{}' is {}, expected F32, F16 or BF16", name,
                                    dtype_name(tensor.dtype)));
    }
    file.check(tensor);
    engine::Buffer values(tensor.elements());
    tensor.copy_to(values.data());
    engine::require_finite({values.data(), shape[0], values.size() / shape[0]},
                           fmt::format("{}: tensor '{}'", file.path(), name));
    return values;
  }

  // why: what says that there should be no more.
  void finish(const std::string& why) const {
    for (const WeightFile& file : weights_.files) {
      for (const StoredTensor& tensor : file.tensors()) {
        if (taken_.contains(tensor.name)) continue;
        fail(file.path(), fmt::format("unexpected tensor '{}'{}", tensor.name, why));
      }
    }
  }

 private:
  Weights weights_;
  std::set<std::string> taken_;
};

engine::Linear make_linear(ModuleTensors& tensors, const std::string& weight,
                           const std::string& bias, int64_t columns, int64_t width,
                           engine::Activation activation, const engine::Product& f32,
                           engine::Team& team) {
  const engine::Buffer values = tensors.read(weight, {columns, width});
  const engine::Buffer added =
      bias.empty() ? engine::Buffer(columns) : tensors.read(bias, {columns});
  const engine::Linear::Part parts[] = {{{values.data(), columns, width}, added.data()}};
  return {team, parts, activation, f32};
}

}  // namespace

void DenseModule::run(engine::Team& team, engine::ConstTensor x, engine::Buffer& scratch,
                      engine::Tensor y) const {
  linear.run(team, x, scratch, y);
  if (residual) {
    residual->run_add(team, x, scratch, y);
  } else if (adds_input) {
    engine::add(team, x, y);
  }
}

engine::Tensor run_in_turn(const std::vector<DenseModule>& modules, engine::Team& team,
                           engine::ConstTensor x, Workspace& space) {
  engine::Tensor y;
  for (size_t i = 0; i < modules.size(); ++i) {
    engine::Buffer& to = i % 2 ? space.pooled : space.transformed;
    y = to.tensor(x.rows, modules[i].linear.columns());
    modules[i].run(team, x, space.scratch, y);
    x = y;
  }
  return y;
}

DenseModule read_dense_module(const SentenceModules::Dense& dense, const engine::Product& f32,
                              engine::Team& team) {
  ModuleTensors tensors(open_weights(dense.directory));
  const int64_t n = dense.columns, k = dense.width;
  DenseModule module{make_linear(tensors, "linear.weight", dense.has_bias ? "linear.bias" : "", n,
                                 k, dense.activation, f32, team),
                     dense.residual};
  if (dense.residual && n != k) {
    module.residual =
        make_linear(tensors, "residual.weight", "", n, k, engine::Activation::none, f32, team);
  }
  tensors.finish(fmt::format(": {}/config.json has 'bias' {} and 'use_residual' {}",
                             dense.directory, dense.has_bias, dense.residual));
  return module;
}

engine::Linear read_linear_file(const std::string& path, int64_t width,
                                std::optional<int64_t> columns, const engine::Product& f32,
                                engine::Team& team) {
  Weights weights{.path = path, .files = {}, .notes = {}};
  weights.files.push_back(read_pytorch(path));
  ModuleTensors tensors(std::move(weights));
  if (!columns) {
    const std::vector<int64_t>& shape = tensors.find("weight").tensor.shape;
    columns = shape.empty() ? 1 : std::max<int64_t>(1, shape[0]);
  }
  engine::Linear linear =
      make_linear(tensors, "weight", "bias", *columns, width, engine::Activation::none, f32, team);
  tensors.finish(", expected weight and bias");
  return linear;
}

engine::Buffer read_table(const std::string& directory, int64_t size) {
  ModuleTensors tensors(open_weights(directory));
  engine::Buffer table = tensors.read("weight", {size});
  tensors.finish(", expected weight");
  return table;
}

}  // namespace bert::models
