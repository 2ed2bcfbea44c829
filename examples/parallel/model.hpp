// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace example {

using zarrpoint::index_t;

/// Weights, cut by rows or by columns, and an optimizer's moments, of which each process has one
/// range of elements, wherever rows end. Their values follow from the step, so that they can be
/// checked.
inline constexpr index_t rows = 96, columns = 66, moments = 1000;

inline float weight_at(int step, index_t row, index_t column) {
  return static_cast<float>(10000 * step + row * columns + column);
}
inline double moment_at(int step, index_t i) { return 1000.0 * step + static_cast<double>(i); }

/// What one of `ranks` processes has of the model.
struct local_model {
  zarrpoint::sharded<zarrpoint::tensor> weights;
  zarrpoint::sharded<std::vector<double>> moments;

  /// With weights cut along `axis`: 0 for rows, 1 for columns.
  static zarrpoint::result<local_model> make(std::size_t axis, int rank, int ranks) {
    zarrpoint::dims shape{rows, columns};
    shape[axis] /= ranks;
    ZARRPOINT_TRY(part, zarrpoint::tensor::make({zarrpoint::dtype_kind::float32, shape}));
    ZARRPOINT_TRY(weights,
                  zarrpoint::shard("weights", std::move(part), {.offsets = {{axis, rank, ranks}}}));

    const zarrpoint::flat_range mine{example::moments * rank / ranks,
                                     example::moments * (rank + 1) / ranks};
    std::vector<double> elements(static_cast<std::size_t>(mine.size()));
    ZARRPOINT_TRY(moments,
                  zarrpoint::shard_flat("moments", std::move(elements), {{moments_shape()}, mine}));
    return local_model{std::move(weights), std::move(moments)};
  }

  static zarrpoint::dims moments_shape() { return {10, example::moments / 10}; }

  /// Calls `f(element, value it has after this step)` for every element.
  template <class F>
  void for_each(int step, F f) const {
    const zarrpoint::box part = weights.metadata().global_box();
    auto weight = weights.value().data<float>().begin();
    for (index_t i = 0; i < part.shape[0]; ++i)
      for (index_t j = 0; j < part.shape[1]; ++j)
        f(*weight++, weight_at(step, part.offset[0] + i, part.offset[1] + j));
    index_t i = moments.metadata().range->start;
    for (double& moment : moments.value()) f(moment, moment_at(step, i++));
  }

  void train_until(int step) const {
    for_each(step, [](auto& element, auto value) { element = value; });
  }
  bool is_of(int step) const {
    bool same = true;
    for_each(step, [&](const auto& element, auto value) { same = same && element == value; });
    return same;
  }

  /// What is saved, or asked for.
  zarrpoint::state state(int step) const {
    return {{"step", step}, {"weights", weights}, {"optimizer", {{"moments", moments}}}};
  }
};

}  // namespace example
