// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// A codec as metadata names it: one entry of `codecs` in `zarr.json` (Zarr v3 core, "Codecs").
struct codec_spec {
  codec_spec() = default;
  /// `called` with an object as its configuration, or with none. An integer is short for the level
  /// of a compressor: `{"gzip", 5}` has the configuration `{"level": 5}`, and the others of `zstd`
  /// and `blosc` are those of `zstd_codecs` and `blosc_codecs`.
  codec_spec(std::string called, json configured = {}, bool needed = true);  // NOLINT
  codec_spec(const char* called) : codec_spec(std::string(called)) {}        // NOLINT

  std::string name;
  json configuration{};         ///< null when there is none
  bool must_understand = true;  ///< false: a reader that does not know the name leaves it out

  friend bool operator==(const codec_spec&, const codec_spec&) = default;
};

/// What a codec turns into what. A chain is any number of the first kind, exactly one of the
/// second, any number of the third.
enum class codec_kind { array_to_array, array_to_bytes, bytes_to_bytes };

/// The members of a codec's `configuration`, an object or null. A codec names them once, in its
/// `fields`, with what each may be; so they are read into the codec, or written from it. A member
/// that is absent changes nothing. A member that nobody asked for is `invalid_argument`, and
/// counts before other faults, of which the first does.
class configuration_fields {
 public:
  /// Writes.
  configuration_fields() : written_(json::object{}) {}
  /// Reads `from`.
  explicit configuration_fields(const json& from);

  bool reads() const noexcept { return from_ != nullptr; }
  /// Of one that reads: the member, or null.
  const json* find(std::string_view key);
  /// To one that writes.
  void put(std::string_view key, json value);

  /// What must not be absent stands before its kind.
  void need(std::string_view key);
  void boolean(std::string_view key, bool& value);
  void text(std::string_view key, std::string& value);
  /// A number that is not infinite.
  void number(std::string_view key, double& value);
  /// An integer of [`low`, `high`].
  template <class Int>
  void integer(std::string_view key, Int& value, std::int64_t low, std::int64_t high) {
    value = static_cast<Int>(whole(key, static_cast<std::int64_t>(value), low, high));
  }
  /// One that may be nothing: null, or absent.
  template <class Int>
  void integer(std::string_view key, std::optional<Int>& value, std::int64_t low,
               std::int64_t high) {
    const json* const found = find(key);
    if (reads() ? found == nullptr || found->is_null() : !value) return;
    value =
        static_cast<Int>(whole(key, static_cast<std::int64_t>(value.value_or(Int{})), low, high));
  }
  /// One of `names`, by the number of which `Enum` is; without `put` it is read alone.
  template <class Enum>
  void choice(std::string_view key, Enum& value, std::span<const std::string_view> names,
              bool put = true) {
    value = static_cast<Enum>(name_of(key, static_cast<std::size_t>(value), {names, put}));
  }

  /// Written is null, in place of an object without members.
  void none() { written_ = {}; }
  void fail(error failure);
  template <class T>
  void check(const result<T>& status) {
    if (!status) fail(status.failure());
  }
  void fail(std::string_view why);
  bool failed() const noexcept { return !status_; }

  /// What speaks against what was read; asked last.
  result<void> end();
  /// Whether all that was read has been asked for.
  result<void> names() const;
  json take_written() { return std::move(written_); }

 private:
  struct named {
    std::span<const std::string_view> names;
    bool put;
  };
  std::int64_t whole(std::string_view key, std::int64_t value, std::int64_t low, std::int64_t high);
  std::size_t name_of(std::string_view key, std::size_t value, const named& how);
  void wrong(std::string_view key, std::string_view expected);

  const json* from_ = nullptr;
  std::uint64_t seen_ = 0;  // a bit for each of the first members
  result<void> status_{};
  json written_{};
};

/// A chain of codecs as options take it, or none: a braced list, `{"bytes", {"zstd", 3}}`, or a
/// vector. `{}` is unset.
class codec_list {
 public:
  codec_list() = default;
  codec_list(std::initializer_list<codec_spec> chain) : chain_(std::in_place, chain) {}
  codec_list(std::vector<codec_spec> chain)  // NOLINT(google-explicit-constructor)
      : chain_(std::move(chain)) {}

  bool has_value() const noexcept { return chain_.has_value(); }
  /// The chain; `has_value()` is required.
  const std::vector<codec_spec>& operator*() const noexcept {
    ZARRPOINT_ASSERT(has_value());
    return *chain_;
  }
  const std::vector<codec_spec>* operator->() const noexcept { return &**this; }

 private:
  std::optional<std::vector<codec_spec>> chain_{};
};

}}  // namespace zarrpoint::v0
