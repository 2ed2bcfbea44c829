// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/interop/gguf/gguf_scheme.hpp>
#include <zarrpoint/interop/gguf/gguf_store.hpp>
#include <zarrpoint/store/place.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace gguf {

namespace detail {

/// What a header may cost of a budget: a value takes some 64 bytes, a tensor some 512 with its
/// document.
constexpr header_limits limits_within(std::uint64_t memory) noexcept {
  header_limits out;
  out.max_bytes = std::min(out.max_bytes, memory / 8 + (std::uint64_t{16} << 10));
  out.max_values = static_cast<std::size_t>(
      std::min<std::uint64_t>(out.max_values, memory / 64 + (std::uint64_t{1} << 10)));
  out.max_tensors = static_cast<std::size_t>(
      std::min<std::uint64_t>(out.max_tensors, memory / 512 + (std::uint64_t{1} << 10)));
  return out;
}

}  // namespace detail

ZARRPOINT_INLINE result<std::optional<stored_place>> find_file(const std::string& path,
                                                               std::uint64_t memory) {
  using found = std::optional<stored_place>;
  const v0::detail::path_in_file at = v0::detail::split_at_file(path);
  auto file = v0::detail::open_file(at.file);
  std::array<std::byte, 4> mark{};
  if (!file || (*file)->size() < mark.size()) return found();  // others say what is wrong with it
  ZARRPOINT_CHECK((*file)->read(0, mark));
  if (as_text(bytes_view(mark)) != "GGUF") return found();
  const std::size_t name = at.file.rfind('/') + 1;  // npos + 1 == 0
  ZARRPOINT_TRY(opened, tensor_store::open(
                            *std::move(file), std::string_view(at.file).substr(name),
                            [&](const std::string& other) {
                              return v0::detail::open_file(at.file.substr(0, name) + other);
                            },
                            detail::limits_within(memory)));
  ZARRPOINT_TRY(key, store_key::parse(at.rest).at(path));
  return found(stored_place{std::move(opened), std::move(key)});
}

}  // namespace gguf

ZARRPOINT_INLINE result<stored_place> gguf_scheme::open(const url& at, const place_use& use) {
  ZARRPOINT_TRY(path, at.path());
  if (use.write)
    return error{errc::unsupported,
                 "write " + path + ": GGUF files are only read; save to a directory or a zip"};
  ZARRPOINT_TRY(found, gguf::find_file(path, use.memory));
  if (found) return *std::move(found);
  ZARRPOINT_CHECK(detail::open_file(detail::split_at_file(path).file));
  return error{errc::corrupt, path + ": it does not begin as a GGUF file does"};
}

ZARRPOINT_INLINE result<stored_place> gguf_file_scheme::open(const url& at, const place_use& use) {
  if (!use.write) {
    ZARRPOINT_TRY(path, at.path());
    ZARRPOINT_TRY(found, gguf::find_file(path, use.memory));
    if (found) return *std::move(found);
  }
  return file_scheme::open(at, use);
}

}}  // namespace zarrpoint::v0
