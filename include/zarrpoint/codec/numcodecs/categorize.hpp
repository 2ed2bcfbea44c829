// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/vlen.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// The codec `numcodecs.categorize`: strings as their number in `labels`, counted from 1, each as
/// an integer of the type `astype`; 0 is the empty string. Text that is not a label is an error,
/// where numcodecs makes it an empty string.
struct categorize_codec {
  static constexpr std::string_view name = "numcodecs.categorize";
  static constexpr bool fixed_size = true;

  static result<categorize_codec> from_configuration(const node& configuration);
  node configuration() const;

  result<categorize_codec> resolve(const tensor_spec& decoded) const;

  std::uint64_t encoded_bound(const tensor_spec& decoded) const;

  result<std::size_t> encode(const host_view& from, mutable_bytes to, codec_workspace&) const;

  result<void> decode(bytes_view stored, const mutable_host_view& into,
                      codec_workspace& scratch) const;

 private:
  struct state {
    std::string stored_text = "|u1";
    std::size_t size = 1;
    std::uint64_t most = 255;
    bool is_big = false;
    std::vector<std::string> labels;
    std::map<std::string, std::uint64_t, std::less<>> numbers;  ///< of equal labels the last one's

    /// `|u1`, `<i4`, `u1` or `uint16`.
    result<void> read_type();
  };

  std::uint64_t load(const std::byte* from) const;
  void store(std::byte* to, std::uint64_t number) const;

  std::shared_ptr<const state> self_;
};

}}  // namespace zarrpoint::v0
