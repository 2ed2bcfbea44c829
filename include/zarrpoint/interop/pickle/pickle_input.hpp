// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/error.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace torch::detail {

error broken_pickle(std::string what);

/// The bytes of a pickle that are still to be read. Errors: `corrupt` where they end too soon.
class pickle_input {
 public:
  explicit pickle_input(bytes_view bytes) : rest_(bytes) {}

  std::size_t size() const noexcept { return rest_.size(); }
  /// Whether more was asked for than there is.
  bool is_short() const noexcept { return is_short_; }
  bool has(std::uint64_t size) noexcept { return !(is_short_ = size > rest_.size()); }

  result<bytes_view> take(std::uint64_t size);
  template <class T>
  result<T> number() {
    ZARRPOINT_TRY(bytes, take(sizeof(T)));
    return load_le<T>(bytes.data());
  }
  /// As many bytes as a `T` says before them.
  template <class T>
  result<bytes_view> sized() {
    ZARRPOINT_TRY(size, number<T>());
    return take(size);
  }
  /// The text up to the end of a line, which is left out.
  result<std::string_view> line();

 private:
  bytes_view rest_;
  bool is_short_ = false;
};

}}}  // namespace zarrpoint::v0::torch::detail
