// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// Arrays and scalars of numpy in a pickle, told by the calls that would make them.

namespace zarrpoint { inline namespace v0 { namespace torch { namespace detail {

/// The elements of an array as numpy writes them.
struct numpy_array {
  tensor_spec spec;
  bool big_endian = false;
  bool column_major = false;
  std::vector<std::byte> elements;
};

/// Whether a name is one of numpy's, which moved its modules between versions 1 and 2.
bool is_numpy_call(const pickle_value& value, std::string_view module, std::string_view name);

/// A shape, or strides: a tuple or list of integers from 0, or a `torch.Size` of one. Errors:
/// `corrupt`, calling it `what`; `unsupported` for a rank that is too high.
result<dims> read_extents(const pickle_value& value, std::string_view what);

/// A number or truth value of Python as an array of rank 0. It has its class for an attribute, so
/// that it is told from a tensor of rank 0. It is nothing for other values.
struct number_array {
  array_metadata metadata;
  std::vector<std::byte> chunk;
};
std::optional<number_array> read_number(const pickle_value& value);

/// An array, or a scalar, of numbers; nothing for other values, and where its bytes are not as many
/// as it says. `copied` is told how many bytes it had to look at, also for nothing.
std::optional<numpy_array> read_numpy(const pickle_value& value, std::uint64_t* copied = nullptr);

/// A real number, if that is what it is.
std::optional<json> number_of(const numpy_array& of);

}}}}  // namespace zarrpoint::v0::torch::detail
