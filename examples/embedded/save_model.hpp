// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/zarrpoint.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace example {

/// An embedding of 5000 words, 64 numbers each, and a layer of 10 classes on top of it.
inline zarrpoint::result<zarrpoint::save_report> save_model(const zarrpoint::location& where) {
  namespace zp = zarrpoint;
  const auto numbers = [](std::size_t count, std::size_t step) {
    std::vector<float> out(count);
    for (std::size_t i = 0; i < count; ++i)
      out[i] = static_cast<float>(i * step % 101) / 100 - 0.5F;
    return out;
  };
  const auto embedding = numbers(std::size_t{5000} * 64, 37);
  const auto weight = numbers(std::size_t{10} * 64, 23);
  const auto bias = numbers(10, 11);
  const zp::tensor_spec table{zp::dtype_of<float>, {5000, 64}};
  const zp::tensor_spec layer{zp::dtype_of<float>, {10, 64}};
  const auto view = [](const std::vector<float>& of, const zp::tensor_spec& spec) {
    return zp::dense_view(std::as_bytes(std::span(of)).data(), spec);
  };
  const zp::leaf_rule compressed{.glob = "head/**", .codecs = zp::zstd_codecs(19)};
  return zp::save(where,
                  {{"embedding", view(embedding, table)},
                   {"head/weight", view(weight, layer)},
                   {"head/bias", bias}},
                  {.rules = {compressed}});
}

}  // namespace example
