// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/pages/projection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "tools/console/vector_math.h"

namespace bert::tools {
namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

std::vector<Vector> centred_rows(const bert::Output& vectors) {
  Vector mean(static_cast<size_t>(vectors.columns));
  for (int64_t i = 0; i < vectors.rows; ++i) {
    for (size_t j = 0; j < mean.size(); ++j) mean[j] += vectors.row(i)[j];
  }
  std::vector<Vector> rows;
  for (int64_t i = 0; i < vectors.rows; ++i) {
    Vector& row = rows.emplace_back(vectors.row(i).begin(), vectors.row(i).end());
    for (size_t j = 0; j < mean.size(); ++j) {
      row[j] -= mean[j] / static_cast<double>(vectors.rows);
    }
  }
  return rows;
}

// The rows' leading direction, by power iteration. `previous` are the ones before it.
Vector leading_direction(const std::vector<Vector>& rows, const std::vector<Vector>& previous) {
  constexpr int kSteps = 300;
  constexpr double kEnough = 1e-10;
  Vector direction(rows[0].size());
  for (size_t j = 0; j < direction.size();
       ++j) {  // anything but a direction that is none of theirs
    direction[j] = 1 + static_cast<double>(j * 7919 % 101) / 101;
  }
  constexpr double kLeast = std::numeric_limits<double>::min();
  normalize(std::span(direction), kLeast);
  for (int step = 0; step < kSteps; ++step) {
    Vector next(direction.size());
    for (const Vector& row : rows) {
      const double along = dot(row, direction);
      for (size_t j = 0; j < next.size(); ++j) next[j] += along * row[j];
    }
    for (const Vector& other : previous) {
      const double along = dot(next, other);
      for (size_t j = 0; j < next.size(); ++j) next[j] -= along * other[j];
    }
    if (normalize(std::span(next), kLeast) == 0) return {};
    const double turned = 1 - std::abs(dot(next, direction));
    direction = std::move(next);
    if (turned < kEnough) break;
  }
  return direction;
}

}  // namespace

Projection principal_components(const bert::Output& vectors, int components) {
  Projection projection;
  const std::vector<Vector> rows = centred_rows(vectors);
  double total = 0;
  for (const Vector& row : rows) total += dot(row, row);
  std::vector<Vector> directions;
  while (std::ssize(directions) < components && total > 0) {
    Vector direction = leading_direction(rows, directions);
    double along = 0;
    for (const Vector& row : rows) along += std::pow(dot(row, direction), 2);
    if (direction.empty() || along < 1e-9 * total) break;
    directions.push_back(std::move(direction));
    projection.shares.push_back(along / total);
  }
  projection.coordinates = bert::Output(vectors.rows, std::ssize(directions));
  for (int64_t i = 0; i < vectors.rows; ++i) {
    for (size_t c = 0; c < directions.size(); ++c) {
      projection.coordinates.row(i)[c] =
          static_cast<float>(dot(rows[static_cast<size_t>(i)], directions[c]));
    }
  }
  return projection;
}

std::vector<std::vector<Neighbour>> nearest_neighbours(const bert::Output& vectors, size_t count) {
  std::vector<std::vector<Neighbour>> all;
  for (int64_t i = 0; i < vectors.rows; ++i) {
    std::vector<Neighbour>& mine = all.emplace_back();
    for (int64_t j = 0; j < vectors.rows; ++j) {
      if (j != i) mine.push_back({j, bert::similarity(vectors.row(i), vectors.row(j))});
    }
    const size_t kept = std::min(count, mine.size());
    std::ranges::partial_sort(mine, mine.begin() + static_cast<std::ptrdiff_t>(kept),
                              [](const Neighbour& a, const Neighbour& b) {
                                return a.similarity != b.similarity ? a.similarity > b.similarity
                                                                    : a.index < b.index;
                              });
    mine.resize(kept);
    mine.shrink_to_fit();
  }
  return all;
}

}  // namespace bert::tools
