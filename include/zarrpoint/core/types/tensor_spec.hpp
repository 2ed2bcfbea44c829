// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/types/dtype.hpp>

namespace zarrpoint { inline namespace v0 {

/// A tensor described without its data.
struct tensor_spec {
  dtype type;
  dims shape;

  friend bool operator==(const tensor_spec&, const tensor_spec&) = default;
};

/// `"float32[3, 4]"`.
inline std::string to_string(const tensor_spec& spec) {
  return std::string(to_string(spec.type)) + to_string(spec.shape);
}

/// The bytes of a dense tensor; 0 for variable-length elements. Errors: `out_of_range`.
inline result<std::size_t> byte_count(const tensor_spec& spec) {
  return byte_count(spec.shape, spec.type.size());
}

}}  // namespace zarrpoint::v0
