// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/concepts.hpp>
#include <zarrpoint/codec/configuration.hpp>
#include <zarrpoint/core/record.hpp>
#include <zarrpoint/memory/loop_nest.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// What decoding does to one scalar of a record, besides copying it.
struct scalar_fix {
  std::size_t offset = 0;  ///< in the record
  std::size_t swap = 1;    ///< bytes to be reversed
  bool truth = false;      ///< any byte but 0 is 1
  std::uint8_t bits = 8;   ///< of a byte, that are kept
};

/// Any byte but 0 becomes 1; of others the lowest `bits` stay.
inline void fix_byte(std::byte& at, bool truth, unsigned bits) noexcept {
  at = truth ? static_cast<std::byte>(at != std::byte{0})
             : at & static_cast<std::byte>((1U << bits) - 1);
}

}  // namespace detail

/// The codec `bytes`: the elements in row-major order, in one byte order; complex numbers as real
/// part, imaginary part; bool as one byte, 0 or 1; records field by field (Zarr v3 codecs,
/// "bytes"). Any other byte that is found for a bool decodes to true; the unused bits of a type
/// below a byte decode to 0.
struct bytes_codec {
  static constexpr std::string_view name = "bytes";
  static constexpr std::array<std::string_view, 1> aliases{"endian"};  // early v3 files
  static constexpr bool fixed_size = true;

  bytes_codec() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): what it is made of is all that it is
  bytes_codec(std::optional<endian> byte_order) : order(byte_order) {}

  /// Needed for scalars of more than one byte; but zarr-python 3.1 leaves it out for records, whose
  /// fields it writes little-endian.
  std::optional<endian> order{};
  /// Of a Zarr v2 record whose fields differ in it: the order of each, records in records taken
  /// apart. Zarr v3 has no such thing, and it is not written there.
  std::vector<endian> field_orders{};

  static result<bytes_codec> from_configuration(const node& configuration);
  node configuration() const;
  result<bytes_codec> resolve(const tensor_spec& decoded) const;

  std::uint64_t encoded_bound(const tensor_spec& decoded) const {
    const result<std::size_t> bytes = byte_count(decoded);
    return bytes ? *bytes : UINT64_MAX;
  }
  /// See the note on bool and small types above: their bytes are looked at.
  bool is_raw(const tensor_spec& decoded) const {
    return fixes_.empty() && !swaps(decoded.type) && !is_fixed(decoded.type);
  }
  std::optional<bytes_view> borrow(const host_view& from) const {
    if (swaps(from.type) || !fixes_.empty() || !is_dense(from)) return std::nullopt;
    return bytes_view(from.data, static_cast<std::size_t>(encoded_bound(from.spec())));
  }
  std::optional<mutable_bytes> target(const mutable_host_view& into) const {
    if (!is_raw(into.spec()) || !is_dense(into)) return std::nullopt;
    return mutable_bytes(into.data, static_cast<std::size_t>(encoded_bound(into.spec())));
  }

  result<std::size_t> encode(const host_view& from, mutable_bytes to, codec_workspace&) const {
    copy_elements(dense_view(to.data(), from.spec()), from);
    if (swaps(from.type)) byteswap_elements(to, from.type.scalar_size());
    for_each_fix(to, from.type.size(), [](std::byte* at, const detail::scalar_fix& fix) {
      if (fix.swap > 1) std::reverse(at, at + fix.swap);
    });
    return to.size();
  }
  result<void> decode(bytes_view stored, const mutable_host_view& into, codec_workspace&) const;

 private:
  /// Records take a step for each of these in each element.
  static constexpr std::size_t max_fixes = 4096;

  /// Whether all elements are swapped alike.
  bool swaps(const dtype& type) const {
    return type.record() == nullptr && type.scalar_size() > 1 &&
           order.value_or(native_endian) != native_endian;
  }
  static bool is_fixed(const dtype& type) {
    return type == dtype_kind::bool_ || type.is_below_byte();
  }
  template <class F>
  void for_each_fix(mutable_bytes elements, std::size_t size, const F& f) const {
    if (fixes_.empty()) return;
    for (std::size_t at = 0; at < elements.size(); at += size)
      for (const detail::scalar_fix& fix : fixes_) f(elements.data() + at + fix.offset, fix);
  }

  result<void> find_fixes(const dtype& type, std::size_t at, std::size_t& field);
  result<void> add_fixes(const dtype& type, std::size_t at, std::size_t field);

  std::vector<detail::scalar_fix> fixes_{};  // of a record
};

namespace detail {

inline result<endian> parse_endian(std::string_view text) {
  if (text == "little") return endian::little;
  if (text == "big") return endian::big;
  return error{errc::invalid_argument, "\"endian\" is neither \"little\" nor \"big\""};
}
inline std::string_view name_of(endian order) { return order == endian::little ? "little" : "big"; }

}  // namespace detail

inline result<bytes_codec> bytes_codec::from_configuration(const node& configuration) {
  ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {"endian", "field_endian"}));
  bytes_codec out;
  ZARRPOINT_TRY(text, reader.text("endian"));
  if (text) {
    ZARRPOINT_TRY(order, detail::parse_endian(*text));
    out.order = order;
  }
  if (const node* const list = reader.find("field_endian")) {
    const node::array* const orders = list->if_array();
    if (orders == nullptr) return error{errc::invalid_argument, "\"field_endian\" is no list"};
    for (const node& one : *orders) {
      const std::string* const given = one.if_string();
      ZARRPOINT_TRY(order, detail::parse_endian(given == nullptr ? std::string_view() : *given));
      out.field_orders.push_back(order);
    }
  }
  return out;
}

inline node bytes_codec::configuration() const {
  node out{node::object{}};
  if (order) out.set("endian", detail::name_of(*order));
  if (!field_orders.empty()) {
    node::array orders;
    for (const endian one : field_orders) orders.emplace_back(detail::name_of(one));
    out.set("field_endian", std::move(orders));
  }
  return out;
}

inline result<bytes_codec> bytes_codec::resolve(const tensor_spec& decoded) const {
  const dtype& type = decoded.type;
  if (type.is_variable() || !type.valid())
    return error{errc::invalid_argument, "elements of type " + std::string(to_string(type)) +
                                             " have no fixed size (use vlen-utf8 or vlen-bytes)"};
  const bool is_record = type.record() != nullptr;
  if (type.scalar_size() > 1 && !order && field_orders.empty() && !is_record)
    return error{errc::invalid_argument, "\"endian\" is missing, and elements of type " +
                                             std::string(to_string(type)) + " need it"};
  bytes_codec out = *this;
  out.fixes_.clear();
  if (!is_record) return out;
  if (!out.order) out.order = endian::little;
  std::size_t fields = 0;
  ZARRPOINT_CHECK(out.find_fixes(type, 0, fields));
  if (!field_orders.empty() && fields != field_orders.size())
    return error{errc::invalid_argument,
                 "\"field_endian\" has " + std::to_string(field_orders.size()) +
                     " byte orders for " + std::to_string(fields) + " fields"};
  return out;
}

/// `field` counts the fields that are no records.
inline result<void> bytes_codec::find_fixes(const dtype& type, std::size_t at, std::size_t& field) {
  if (type.record() == nullptr) return add_fixes(type, at, field++);
  for (const record_field& one : fields_of(type)) {
    const auto count = static_cast<std::size_t>(element_count(one.shape).value_or(0));
    const std::size_t first = field;
    all_scalars(one.type, [&](const dtype&) { return ++field != 0; });
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t before = fixes_.size();
      std::size_t counted = first;
      ZARRPOINT_CHECK(find_fixes(one.type, at + one.offset + i * one.type.size(), counted));
      if (fixes_.size() == before) break;  // nor do the others need any
    }
  }
  return {};
}

inline result<void> bytes_codec::add_fixes(const dtype& type, std::size_t at, std::size_t field) {
  const endian stored =
      field < field_orders.size() ? field_orders[field] : order.value_or(native_endian);
  const std::size_t unit = type.scalar_size();
  const bool swapped = unit > 1 && stored != native_endian;
  if (!swapped && !is_fixed(type)) return {};
  for (std::size_t done = 0; done < type.size(); done += unit) {
    if (fixes_.size() == max_fixes)
      return error{errc::unsupported, "a record of more than " + std::to_string(max_fixes) +
                                          " scalars that are not stored as they lie in memory"};
    detail::scalar_fix fix{at + done, swapped ? unit : 1, type == dtype_kind::bool_, 8};
    if (type.is_below_byte()) fix.bits = static_cast<std::uint8_t>(type.bits());
    fixes_.push_back(fix);
  }
  return {};
}

inline result<void> bytes_codec::decode(bytes_view stored, const mutable_host_view& into,
                                        codec_workspace&) const {
  const std::uint64_t expected = encoded_bound(into.spec());
  if (stored.size() != expected)
    return error{errc::corrupt, std::to_string(stored.size()) + " bytes where " +
                                    to_string(into.spec()) + " has " + std::to_string(expected)};
  const dtype& type = into.type;
  if (type.size() == 0) return {};
  if (swaps(type)) {
    detail::for_each_run(into, stored.data(), [&](mutable_bytes to, bytes_view from) {
      byteswap_copy(to, from, type.scalar_size());
    });
  } else if (is_fixed(type)) {
    const bool truth = type == dtype_kind::bool_;
    const auto bits = static_cast<unsigned>(type.bits());
    detail::for_each_run(into, stored.data(), [&](mutable_bytes to, bytes_view from) {
      for (std::size_t i = 0; i < to.size(); ++i) {
        std::byte byte = from[i];
        detail::fix_byte(byte, truth, bits);
        to[i] = byte;
      }
    });
  } else if (!fixes_.empty()) {
    detail::for_each_run(into, stored.data(), [&](mutable_bytes to, bytes_view from) {
      std::copy(from.begin(), from.end(), to.begin());
      for_each_fix(to, type.size(), [](std::byte* at, const detail::scalar_fix& fix) {
        if (fix.swap > 1) {
          std::reverse(at, at + fix.swap);
        } else {
          detail::fix_byte(*at, fix.truth, fix.bits);
        }
      });
    });
  } else {
    copy_elements(into, dense_view(stored.data(), into.spec()));
  }
  return {};
}

}  // namespace zarrpoint::inline v0
