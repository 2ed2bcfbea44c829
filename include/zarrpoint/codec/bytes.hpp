// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/concepts.hpp>
#include <zarrpoint/codec/configuration.hpp>
#include <zarrpoint/memory/loop_nest.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint::inline v0 {

namespace detail {

/// Calls `f(to, from)` for runs of bytes that together are every element of `to`, of any strides,
/// and of its dense row-major counterpart `from`. A run is a whole number of elements.
template <class F>
void for_each_run(const mutable_host_view& to, const std::byte* from, F&& f) {
  const std::size_t size = to.type.size();
  const auto stride = static_cast<index_t>(size);
  const loop_nest nest(to.shape, to.strides, row_major_strides(to.shape, size));
  const loop_axis inner = nest.inner(0);
  nest.for_each_outer(1, [&](index_t to_offset, index_t from_offset) {
    std::byte* const first = to.data + to_offset;
    const std::byte* const source = from + from_offset;
    if (inner.count == 1 || (inner.to == stride && inner.from == stride)) {
      const std::size_t bytes = static_cast<std::size_t>(inner.count) * size;
      f(mutable_bytes(first, bytes), bytes_view(source, bytes));
    } else {
      for (index_t i = 0; i < inner.count; ++i)
        f(mutable_bytes(first + i * inner.to, size), bytes_view(source + i * inner.from, size));
    }
    return true;
  });
}

}  // namespace detail

/// The codec `bytes`: the elements in row-major order, in one byte order; complex numbers as real
/// part, imaginary part; bool as one byte, 0 or 1 (Zarr v3 codecs, "bytes"). Any other byte that
/// is found for a bool decodes to true.
struct bytes_codec {
  static constexpr std::string_view name = "bytes";
  static constexpr std::array<std::string_view, 1> aliases{"endian"};  // early v3 files
  static constexpr bool fixed_size = true;

  /// Needed for scalars of more than one byte.
  std::optional<endian> order;

  static result<bytes_codec> from_configuration(const node& configuration) {
    ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {"endian"}));
    ZARRPOINT_TRY(text, reader.text("endian"));
    if (!text) return bytes_codec{};
    if (*text == "little") return bytes_codec{endian::little};
    if (*text == "big") return bytes_codec{endian::big};
    return error{errc::invalid_argument, "\"endian\" is neither \"little\" nor \"big\""};
  }
  node configuration() const {
    node out{node::object{}};
    if (order) out.set("endian", *order == endian::little ? "little" : "big");
    return out;
  }

  result<bytes_codec> resolve(const tensor_spec& decoded) const {
    if (decoded.type.size() == 0)
      return error{errc::invalid_argument, "elements of type " +
                                               std::string(to_string(decoded.type)) +
                                               " have no fixed size (use vlen-utf8 for strings)"};
    if (decoded.type.scalar_size() > 1 && !order)
      return error{errc::invalid_argument, "\"endian\" is missing, and elements of type " +
                                               std::string(to_string(decoded.type)) + " need it"};
    return *this;
  }

  std::uint64_t encoded_bound(const tensor_spec& decoded) const {
    const result<std::size_t> bytes = byte_count(decoded);
    return bytes ? *bytes : UINT64_MAX;
  }
  /// See the note on bool above: its bytes are looked at.
  bool is_raw(const tensor_spec& decoded) const {
    return !swaps(decoded.type) && decoded.type != dtype_kind::bool_;
  }
  std::optional<bytes_view> borrow(const host_view& from) const {
    if (swaps(from.type) || !is_dense(from)) return std::nullopt;
    return bytes_view(from.data, static_cast<std::size_t>(encoded_bound(from.spec())));
  }
  std::optional<mutable_bytes> target(const mutable_host_view& into) const {
    if (!is_raw(into.spec()) || !is_dense(into)) return std::nullopt;
    return mutable_bytes(into.data, static_cast<std::size_t>(encoded_bound(into.spec())));
  }

  result<std::size_t> encode(const host_view& from, mutable_bytes to, codec_workspace&) const {
    copy_elements(dense_view(to.data(), from.spec()), from);
    if (swaps(from.type)) byteswap_elements(to, from.type.scalar_size());
    return to.size();
  }
  result<void> decode(bytes_view stored, const mutable_host_view& into, codec_workspace&) const {
    const std::uint64_t expected = encoded_bound(into.spec());
    if (stored.size() != expected)
      return error{errc::corrupt, std::to_string(stored.size()) + " bytes where " +
                                      to_string(into.spec()) + " has " + std::to_string(expected)};
    if (into.type == dtype_kind::bool_) {
      detail::for_each_run(into, stored.data(), [](mutable_bytes to, bytes_view from) {
        for (std::size_t i = 0; i < to.size(); ++i)
          to[i] = from[i] == std::byte{0} ? std::byte{0} : std::byte{1};
      });
    } else if (swaps(into.type)) {
      detail::for_each_run(into, stored.data(), [&](mutable_bytes to, bytes_view from) {
        byteswap_copy(to, from, into.type.scalar_size());
      });
    } else {
      copy_elements(into, dense_view(stored.data(), into.spec()));
    }
    return {};
  }

 private:
  bool swaps(dtype type) const {
    return type.scalar_size() > 1 && order.value_or(native_endian) != native_endian;
  }
};

}  // namespace zarrpoint::inline v0
