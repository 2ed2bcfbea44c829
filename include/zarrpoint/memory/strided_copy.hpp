// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/memory/loop_nest.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/memory/transpose_block.hpp>

#include <string>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Copies elements of `size` bytes. Short runs are treated as larger elements.
void copy_bytes(std::byte* to, const std::byte* from, loop_nest& nest, std::size_t size);

std::string& string_at(std::byte* data, index_t offset);
const std::string& string_at(const std::byte* data, index_t offset);

}  // namespace detail

/// Copies every element of `from` to the same place of `to`: one dtype, one shape, any strides
/// (0 and negative ones in `from`, too). The elements of `to` are distinct and do not overlap those
/// of `from`. Strings are assigned.
void copy_elements(const mutable_host_view& to, const host_view& from);

/// Sets every element to `element`, the bytes of one; for strings, its text.
void fill_elements(const mutable_host_view& to, bytes_view element);

namespace detail {

/// Whether every element has the bits of `element`, the bytes of one (for strings, the text): what
/// decides that a chunk of fill values need not be stored. Stops at the first that has not; true
/// when there are no elements.
bool all_equal(const host_view& of, bytes_view element);

}  // namespace detail

}}  // namespace zarrpoint::v0
