// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>

#include <cstdint>
#include <cstring>
#include <string>

// What the codecs of variable-length elements have in common.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// Calls `f(string)` for each element of a view of strings or bytes in row-major order, until `f`
/// returns a failure.
template <class String, class View, class F>
result<void> for_each_string(const View& view, F&& f) {
  const std::size_t rank = view.rank();
  for (const index_t extent : view.shape) {
    if (extent <= 0) return {};
  }
  dims at(rank, 0);
  auto* element = view.data;
  while (true) {
    ZARRPOINT_CHECK(f(*reinterpret_cast<String*>(element)));
    std::size_t axis = rank;
    while (axis > 0) {
      --axis;
      element += view.strides[axis];
      if (++at[axis] < view.shape[axis]) break;
      element -= view.strides[axis] * view.shape[axis];
      at[axis] = 0;
      if (axis == 0) return {};
    }
    if (rank == 0) return {};
  }
}

/// A uint32 number of elements, then for each its uint32 number of bytes and its bytes; integers
/// little-endian. `Self` has `kind`, the dtype of the elements, and `check(text)`: what speaks
/// against an element, or null.
template <class Self>
struct vlen_codec {
  static constexpr bool fixed_size = false;

  result<Self> resolve(const tensor_spec& decoded) const {
    if (decoded.type != Self::kind)
      return error{errc::invalid_argument, "elements of type " +
                                               std::string(to_string(decoded.type)) + " are not " +
                                               std::string(to_string(dtype(Self::kind)))};
    ZARRPOINT_TRY(count, element_count(decoded.shape));
    if (count > UINT32_MAX)
      return error{errc::invalid_argument, to_string(decoded) + " has more than 2^32 - 1 elements"};
    return self();
  }

  std::uint64_t encoded_bound(const tensor_spec&) const { return UINT64_MAX; }

  result<std::uint64_t> encoded_size(const host_view& from) const {
    std::uint64_t total = length_size;
    ZARRPOINT_CHECK(
        for_each_string<const std::string>(from, [&](const std::string& text) -> result<void> {
          if (text.size() > UINT32_MAX)
            return error{errc::out_of_range, "an element has 2^32 bytes or more"};
          total += length_size + text.size();
          return {};
        }));
    return total;
  }

  result<std::size_t> encode(const host_view& from, mutable_bytes to, codec_workspace&) const {
    ZARRPOINT_TRY(count, element_count(from.shape));
    if (to.size() < length_size) return no_room();
    store_le<std::uint32_t>(to.data(), static_cast<std::uint32_t>(count));
    std::size_t done = length_size;
    ZARRPOINT_CHECK(
        for_each_string<const std::string>(from, [&](const std::string& text) -> result<void> {
          if (const char* const fault = self().check(text))
            return error{errc::invalid_argument, fault};
          if (to.size() - done < length_size + text.size()) return no_room();
          store_le<std::uint32_t>(to.data() + done, static_cast<std::uint32_t>(text.size()));
          std::memcpy(to.data() + done + length_size, text.data(), text.size());
          done += length_size + text.size();
          return {};
        }));
    return done;
  }

  result<void> decode(bytes_view stored, const mutable_host_view& into,
                      codec_workspace& scratch) const {
    ZARRPOINT_TRY(expected, element_count(into.shape));
    ZARRPOINT_TRY(count, take_length(stored));
    if (count != expected)
      return error{errc::corrupt, std::to_string(count) + " elements where " +
                                      to_string(into.spec()) + " has " + std::to_string(expected)};
    if (stored.size() / length_size < count) return error{errc::corrupt, "a length is cut short"};
    ZARRPOINT_CHECK(scratch.charge_text(stored.size() - count * length_size));
    ZARRPOINT_CHECK(for_each_string<std::string>(into, [&](std::string& text) -> result<void> {
      ZARRPOINT_TRY(length, take_length(stored));
      if (length > stored.size()) return error{errc::corrupt, "an element is cut short"};
      const std::string_view content = as_text(stored.first(length));
      if (const char* const fault = self().check(content)) return error{errc::corrupt, fault};
      text = content;
      stored = stored.subspan(length);
      return {};
    }));
    if (!stored.empty())
      return error{errc::corrupt, std::to_string(stored.size()) + " bytes follow the last element"};
    return {};
  }

 private:
  static constexpr std::size_t length_size = sizeof(std::uint32_t);

  const Self& self() const { return static_cast<const Self&>(*this); }

  static result<std::uint32_t> take_length(bytes_view& stored) {
    if (stored.size() < length_size) return error{errc::corrupt, "a length is cut short"};
    const auto length = load_le<std::uint32_t>(stored.data());
    stored = stored.subspan(length_size);
    return length;
  }
  static error no_room() { return {errc::out_of_range, "the elements grew while being encoded"}; }
};

}}}  // namespace zarrpoint::v0::detail
