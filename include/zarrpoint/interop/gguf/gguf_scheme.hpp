// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/gguf/gguf_store.hpp>
#include <zarrpoint/store/registry.hpp>
#include <zarrpoint/store/schemes.hpp>
#include <zarrpoint/store/stored_place.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

namespace gguf {

/// The GGUF file that `path` is or leads through, and the key in it: `m.gguf/output.weight` is
/// `output.weight` of `m.gguf`. Nothing for what is not one, by how it begins. `memory`, such as
/// `limits::memory`, bounds what the header may cost. Errors: those of `tensor_store::open`.
result<std::optional<stored_place>> find_file(const std::string& path,
                                              std::uint64_t memory = UINT64_MAX);

}  // namespace gguf

/// `gguf://`: a GGUF file. What is written there is `unsupported`.
struct gguf_scheme {
  static constexpr std::string_view name = "gguf";
  static result<stored_place> open(const url& at, const place_use& use);
};

/// Paths: as those of `file_scheme`, and to read, a GGUF file is that.
struct gguf_file_scheme {
  static constexpr std::string_view name = "file";
  static result<stored_place> open(const url& at, const place_use& use);
};

/// The schemes of a `context` that opens GGUF files: `open(path, {.stores =
/// gguf_stores::table()})`.
using gguf_stores = default_stores::with<gguf_scheme, gguf_file_scheme>;

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/gguf/impl/gguf_scheme_impl.hpp>
#endif
