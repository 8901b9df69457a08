// SPDX-License-Identifier: Apache-2.0
#include "models/config/families/position_settings.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/attention/positions/rotary.h"

namespace bert::models {

void expect_absent(const JsonFile& file, const char* field) {
  if (file.has(field)) file.fail(field, "null: it is not supported");
}

void read_positions(const JsonFile& file, Config& config) {
  config.position_type = config.family->position_type;
  if (config.position_type == PositionType::relative_bias) {
    // All far distances share a bucket, so any number of tokens would do. Our table needs an end.
    config.adds_positions = false;
    config.positions = 1 << 15;
    return;
  }
  const auto rows = static_cast<int>(file.integer("max_position_embeddings", 1, kMaxConfigSize));
  if (config.family->positions != Family::Positions::from_0) {
    const bool named = config.family->positions == Family::Positions::after_pad_token;
    config.padding =
        named ? static_cast<int>(file.integer("pad_token_id", 0, config.vocabulary - 1, 1)) : 1;
    config.first_position = config.padding + 1;
    if (rows <= config.first_position) {
      file.fail("max_position_embeddings",
                fmt::format("more than {}, the first position", config.first_position));
    }
  }
  config.positions = rows - config.first_position;
  config.adds_positions = config.position_type == PositionType::absolute;
  if (config.position_type != PositionType::absolute) return;
  config.sinusoidal =
      config.family->may_be_sinusoidal && file.boolean("sinusoidal_pos_embds", false);
  const std::string type = file.text("position_embedding_type", "absolute");
  if (type == "absolute") return;
  if (!config.family->relative_keys) file.fail("position_embedding_type", "absolute");
  config.adds_positions = false;
  if (type == "relative_key") {
    config.position_type = PositionType::relative_key;
  } else if (type == "relative_key_query") {
    config.position_type = PositionType::relative_key_query;
  } else {
    file.fail("position_embedding_type", "absolute, relative_key or relative_key_query");
  }
}

int64_t head_width(const JsonFile& file, const Config& config) {
  const int64_t width = config.head_size;
  if (width % 2 != 0) {
    file.fail(config.family->settings.heads,
              fmt::format("heads of an even width for rotary positions, not {}", width));
  }
  return width;
}

bool is_positive(double value) { return value > 0 && std::isnormal(static_cast<float>(value)); }

double positive(const JsonFile& file, const char* field, double fallback) {
  const double value = file.number(field, fallback);
  if (!is_positive(value)) file.fail(field, "a positive number that a float can hold");
  return value;
}

namespace {

double positive(const JsonField& parameters, const char* name) {
  const JsonField field = parameters.at(name);
  const double value = field.number();
  if (!is_positive(value)) field.fail("a positive number that a float can hold");
  return value;
}

// What is beside the parameters overrules what is among them.
double trained_positions(const JsonFile& file, const JsonField& parameters) {
  constexpr const char* kTrained = "original_max_position_embeddings";
  return file.has(kTrained) ? positive(file, kTrained, 1) : positive(parameters, kTrained);
}

// Llama 3.1's way to more positions than it was trained on (Grattafiori et al. 2024): what turns
// less than low_freq_factor times in them is slowed down by `factor`, what turns more than
// high_freq_factor times stays as it is, and between the two lies a mixture. In float32, as in
// transformers.
void stretch(const JsonFile& file, const JsonField& parameters, std::vector<float>& frequencies) {
  const auto factor = static_cast<float>(positive(parameters, "factor"));
  const double low = positive(parameters, "low_freq_factor");
  const double high = positive(parameters, "high_freq_factor");
  if (high <= low) parameters.at("high_freq_factor").fail("more than low_freq_factor");
  const double trained = trained_positions(file, parameters);
  const auto longest = static_cast<float>(trained / low);
  const auto shortest = static_cast<float>(trained / high);
  for (float& frequency : frequencies) {
    const float wavelength = static_cast<float>(2 * std::numbers::pi) / frequency;
    if (wavelength > longest) {
      frequency /= factor;
    } else if (wavelength >= shortest) {
      const float part = (static_cast<float>(trained) / wavelength - static_cast<float>(low)) /
                         static_cast<float>(high - low);
      frequency = (1 - part) * frequency / factor + part * frequency;
    }
  }
}

double positive_or(const JsonField& parameters, const char* name, double fallback) {
  return parameters.has(name) ? positive(parameters, name) : fallback;
}

// YaRN's (Peng et al. 2023), by which queries and keys are multiplied.
double attention_factor(const JsonField& parameters) {
  if (parameters.has("attention_factor")) return positive(parameters, "attention_factor");
  const double factor = positive(parameters, "factor");
  const auto by_length = [factor](double scale) {
    return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1;
  };
  constexpr const char *kAbove = "mscale", *kBelow = "mscale_all_dim";
  if (!parameters.has(kAbove) || !parameters.has(kBelow)) return by_length(1);
  return by_length(positive(parameters, kAbove)) / by_length(positive(parameters, kBelow));
}

// YaRN's frequencies: what turns less than beta_slow times in the positions that it was trained on
// is slowed down by `factor`, what turns more than beta_fast times stays as it is, and between the
// two lies a mixture. In float32, as in transformers.
void interpolate(const JsonFile& file, const JsonField& parameters, double theta,
                 std::vector<float>& frequencies) {
  if (theta <= 1) parameters.fail_with(fmt::format("rope_theta is {}, expected over 1", theta));
  const auto width = static_cast<double>(2 * frequencies.size());
  const auto factor = static_cast<float>(positive(parameters, "factor"));
  const double trained = trained_positions(file, parameters);
  const auto dimension = [&](const char* name, double fallback) {
    const double turns = positive_or(parameters, name, fallback);
    return width * std::log(trained / (turns * 2 * std::numbers::pi)) / (2 * std::log(theta));
  };
  double low = dimension("beta_fast", 32), high = dimension("beta_slow", 1);
  constexpr const char* kTruncate = "truncate";
  const auto members = parameters.members();
  const bool is_there =  // null means false
      std::ranges::count(members, kTruncate, [](const auto& member) { return member.first; }) > 0;
  if (parameters.has(kTruncate) ? parameters.at(kTruncate).boolean() : !is_there) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, width - 1);
  if (low == high) high += 0.001;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(width);
    const auto power = static_cast<float>(std::pow(theta, exponent));
    const float ramp =
        (static_cast<float>(i) - static_cast<float>(low)) / static_cast<float>(high - low);
    const float kept = 1 - std::clamp(ramp, 0.0f, 1.0f);
    frequencies[i] = 1 / (factor * power) * (1 - kept) + 1 / power * kept;
  }
}

// What {"rope_type": "linear", "factor"} divides the frequencies by (Chen et al. 2023).
double linear_factor(const JsonField& parameters) {
  const char* const name = parameters.has("rope_type") ? "rope_type" : "type";  // the old name
  if (!parameters.has(name)) return 1;
  const std::string type = parameters.at(name).string();
  if (type == "linear") return positive(parameters, "factor");
  if (type != "default") parameters.at(name).fail("\"default\" or \"linear\"");
  return 1;
}

// The older field for global layers. Where transformers' versions 4 and 5 read it differently, it
// is refused.
double scaling_factor(const JsonField& scaling) {
  if (!scaling.has("rope_type") && scaling.has("type")) {
    scaling.at("type").fail("\"rope_type\" as the name of this field");
  }
  if (scaling.has("rope_theta")) scaling.at("rope_theta").fail("no such field");
  return linear_factor(scaling);
}

std::vector<float> divided(std::vector<float> frequencies, double factor) {
  for (float& frequency : frequencies) frequency /= static_cast<float>(factor);
  return frequencies;
}

}  // namespace

double rope_theta(const JsonField& parameters, double fallback) {
  for (const char* name : {"rope_type", "type"}) {
    if (parameters.has(name) && parameters.at(name).string() != "default") {
      parameters.at(name).fail("\"default\"");
    }
  }
  return parameters.has("rope_theta") ? positive(parameters, "rope_theta") : fallback;
}

void read_rope(const JsonFile& file, double fallback, Config& config) {
  double theta = positive(file, "rope_theta", fallback);
  const int64_t width = head_width(file, config);
  const char* name = "rope_parameters";
  if (file.has(name)) {
    expect_absent(file, "rope_scaling");
  } else {
    name = "rope_scaling";
  }
  if (!file.has(name)) {
    config.frequencies = engine::rotary_frequencies(theta, width);
    return;
  }
  const JsonField parameters = file.at(name);
  std::string type;
  for (const char* key : {"type", "rope_type"}) {  // the old name and the new one
    if (!parameters.has(key)) continue;
    const std::string older = std::exchange(type, parameters.at(key).string());
    if (!older.empty() && older != type) {  // transformers 4 takes that one, version 5 this
      parameters.at(key).fail(fmt::format("\"{}\", as in \"type\"", older));
    }
    if (type != "default" && type != "linear" && type != "llama3" && type != "yarn") {
      parameters.at(key).fail("\"default\", \"linear\", \"llama3\" or \"yarn\"");
    }
  }
  if (type.empty()) type = "default";
  constexpr const char* kPart = "partial_rotary_factor";
  if (type != "default" && parameters.has(kPart) && parameters.at(kPart).number() != 1) {
    parameters.at(kPart).fail("1");
  }
  if (parameters.has("rope_theta")) theta = positive(parameters, "rope_theta");
  config.frequencies = engine::rotary_frequencies(theta, width);
  if (type == "linear") {
    config.frequencies = divided(config.frequencies, positive(parameters, "factor"));
  }
  if (type == "llama3") stretch(file, parameters, config.frequencies);
  if (type != "yarn") return;
  interpolate(file, parameters, theta, config.frequencies);
  // It multiplies queries and keys alike.
  const double factor = attention_factor(parameters);
  config.attention_scale =
      static_cast<float>(factor * factor / std::sqrt(static_cast<double>(width)));
}

namespace {

void expect_one_for_each_layer(const JsonField& list, size_t count, const Config& config) {
  if (std::cmp_equal(count, config.layers)) return;
  list.fail_with(
      fmt::format("found {} entries, expected {}, one for each layer", count, config.layers));
}

}  // namespace

int half_of(const JsonFile& file, const char* width, int64_t standard) {
  return static_cast<int>(file.integer(width, 2, 1 << 20, standard) / 2);
}

std::vector<int> read_windows(const JsonFile& file, const Config& config, int reach, int64_t every,
                              int64_t first) {
  std::vector<int> windows;
  if (!file.has("layer_types")) {
    for (int i = 0; i < config.layers; ++i) windows.push_back(i % every == first ? 0 : reach);
    return windows;
  }
  const JsonField types = file.at("layer_types");
  for (const JsonField& type : types.elements()) {
    const std::string name = type.string();
    if (name != "full_attention" && name != "sliding_attention") {
      type.fail("\"full_attention\" or \"sliding_attention\"");
    }
    windows.push_back(name == "full_attention" ? 0 : reach);
  }
  expect_one_for_each_layer(types, windows.size(), config);
  return windows;
}

std::vector<int> read_layer_windows(const JsonFile& file, const Config& config) {
  constexpr const char* kWidths = "attention_window";
  constexpr int kStandard = 512;
  const auto half = [](const JsonField& width) {
    const int64_t both = width.integer(2, 1 << 20);
    if (both % 2 != 0) width.fail("an even number");
    return static_cast<int>(both / 2);
  };
  const auto layers = static_cast<size_t>(config.layers);
  if (!file.has(kWidths)) return std::vector<int>(layers, kStandard / 2);
  const JsonField widths = file.at(kWidths);
  if (widths.is_integer()) return std::vector<int>(layers, half(widths));
  std::vector<int> windows;
  for (const JsonField& width : widths.elements()) windows.push_back(half(width));
  expect_one_for_each_layer(widths, windows.size(), config);
  return windows;
}

std::vector<int> read_published_windows(const JsonFile& file, const Config& config,
                                        Thetas& thetas) {
  std::vector<int> windows;
  const JsonField list = file.at("attention_windows");
  int common = 0;
  for (const JsonField& reach : list.elements()) {
    windows.push_back(reach.is_null() ? 0 : static_cast<int>(reach.integer(0, 1 << 20)));
    if (windows.back() == 0) continue;
    const int first = std::exchange(common, windows.back());  // transformers has one for all
    if (first > 0 && common != first) reach.fail(fmt::format("0 or {}", first));
  }
  expect_one_for_each_layer(list, windows.size(), config);
  if (!file.has("rope_theta")) return windows;
  const JsonField stored = file.at("rope_theta");
  const std::vector<JsonField> elements = stored.elements();
  expect_one_for_each_layer(stored, elements.size(), config);
  std::optional<double> global, local;
  for (size_t i = 0; i < elements.size(); ++i) {
    std::optional<double>& theta = windows[i] == 0 ? global : local;
    const double found = elements[i].number();
    if (!(found > 0 && std::isfinite(found))) elements[i].fail("a positive number");
    if (theta.value_or(found) != found) {
      elements[i].fail(fmt::format("{}, as of other layers {} a window", *theta,
                                   windows[i] == 0 ? "without" : "with"));
    }
    theta = found;
  }
  thetas = {global.value_or(thetas.global), local.value_or(thetas.local)};
  return windows;
}

void read_rotary(const JsonFile& file, Thetas thetas, Config& config, const char* global_scaling) {
  double global_factor = 1, local_factor = 1;
  if (file.has("rope_parameters")) {
    expect_absent(file, "rope_scaling");
    const JsonField parameters = file.at("rope_parameters");
    for (auto [type, theta, factor] :
         {std::tuple("full_attention", &thetas.global, &global_factor),
          std::tuple("sliding_attention", &thetas.local, &local_factor)}) {
      if (!parameters.has(type)) continue;
      const JsonField of_type = parameters.at(type);
      if (of_type.has("rope_theta")) *theta = positive(of_type, "rope_theta");
      *factor = linear_factor(of_type);
    }
  } else if (*global_scaling && file.has(global_scaling)) {
    global_factor = scaling_factor(file.at(global_scaling));
  } else {
    expect_absent(file, "rope_scaling");
  }
  const int64_t width = head_width(file, config);
  const int64_t global = config.global_heads ? config.global_heads->size : width;
  config.frequencies = divided(engine::rotary_frequencies(thetas.global, global), global_factor);
  config.local_frequencies = divided(engine::rotary_frequencies(thetas.local, width), local_factor);
}

}  // namespace bert::models
