// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>

#include <cstddef>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace torch {

/// The bytes that a value stands for: `bytes`, `bytearray`, the call by which protocol 2 writes
/// them (`_codecs.encode`), or an `io.BytesIO` that holds them. Errors: `unsupported` for others.
result<std::vector<std::byte>> to_bytes(const pickle_value& value, int levels = 4);

/// What a conversion to a node may take: a small pickle can be a large tree.
struct pickle_node_limits {
  std::size_t max_depth = 100;
  std::size_t max_values = std::size_t{1} << 22;
  std::size_t max_text = std::size_t{1} << 28;  ///< bytes of strings and keys
};

/// A pickled value as a node: what JSON knows, and `OrderedDict`s; a tuple becomes an array.
/// Errors: `unsupported` for other values, with where it is; `resource_limit`.
result<node> to_node(const pickle_value& value, const pickle_node_limits& limits = {});

}}}  // namespace zarrpoint::v0::torch

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/pickle/impl/pickle_convert_impl.hpp>
#endif
