// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/array_to_bytes/bytes.hpp>
#include <zarrpoint/codec/array_to_bytes/vlen_utf8.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/memory/byteswap.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 {

// --------------------------------------------------------------------------------------- bytes.hpp

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

/// Any byte but 0 becomes 1; of others the lowest `bits` stay.
ZARRPOINT_INLINE void fix_byte(std::byte& at, bool truth, unsigned bits) noexcept {
  at = truth ? static_cast<std::byte>(at != std::byte{0})
             : at & static_cast<std::byte>((1U << bits) - 1);
}

}  // namespace detail

ZARRPOINT_INLINE std::uint64_t bytes_codec::encoded_bound(const tensor_spec& decoded) const {
  const result<std::size_t> bytes = byte_count(decoded);
  return bytes ? *bytes : UINT64_MAX;
}

ZARRPOINT_INLINE bool bytes_codec::is_raw(const tensor_spec& decoded) const {
  return fixes_.empty() && !swaps(decoded.type) && !is_fixed(decoded.type);
}

ZARRPOINT_INLINE std::optional<bytes_view> bytes_codec::borrow(const host_view& from) const {
  if (swaps(from.type) || !fixes_.empty() || !is_dense(from)) return std::nullopt;
  return bytes_view(from.data, static_cast<std::size_t>(encoded_bound(from.spec())));
}

ZARRPOINT_INLINE std::optional<mutable_bytes> bytes_codec::target(
    const mutable_host_view& into) const {
  if (!is_raw(into.spec()) || !is_dense(into)) return std::nullopt;
  return mutable_bytes(into.data, static_cast<std::size_t>(encoded_bound(into.spec())));
}

ZARRPOINT_INLINE result<std::size_t> bytes_codec::encode(const host_view& from, mutable_bytes to,
                                                         codec_workspace&) const {
  copy_elements(dense_view(to.data(), from.spec()), from);
  if (swaps(from.type)) detail::byteswap_elements(to, from.type.scalar_size());
  for_each_fix(to, from.type.size(), [](std::byte* at, const detail::scalar_fix& fix) {
    if (fix.swap > 1) std::reverse(at, at + fix.swap);
  });
  return to.size();
}

ZARRPOINT_INLINE bool bytes_codec::swaps(const dtype& type) const {
  return type.record() == nullptr && type.scalar_size() > 1 &&
         order.value_or(native_endian) != native_endian;
}

ZARRPOINT_INLINE bool bytes_codec::is_fixed(const dtype& type) {
  return type == dtype_kind::bool_ || type.is_below_byte();
}

namespace detail {

ZARRPOINT_INLINE std::string_view name_of(endian order) {
  return order == endian::little ? "little" : "big";
}

}  // namespace detail

ZARRPOINT_INLINE void bytes_codec::fields(configuration_fields& all) {
  constexpr std::string_view names[] = {"little", "big"};
  endian one = order.value_or(native_endian);
  all.choice("endian", one, names, order.has_value());
  if (all.find("endian") != nullptr) order = one;
  if (const json* const list = all.find("field_endian")) {
    const json::array* const orders = list->if_array();
    bool is_known = orders != nullptr;
    for (std::size_t i = 0; is_known && i < orders->size(); ++i) {
      const std::string* const text = (*orders)[i].if_string();
      is_known = text != nullptr && (*text == names[0] || *text == names[1]);
      field_orders.push_back(is_known && *text == names[1] ? endian::big : endian::little);
    }
    if (!is_known) all.fail("\"field_endian\" is not a list of \"little\" and \"big\"");
  }
  if (all.reads() || field_orders.empty()) return;
  json::array orders;
  for (const endian given : field_orders) orders.emplace_back(detail::name_of(given));
  all.put("field_endian", std::move(orders));
}

ZARRPOINT_INLINE result<bytes_codec> bytes_codec::resolve(const tensor_spec& decoded) const {
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

/// `field` counts the fields that are not records.
ZARRPOINT_INLINE result<void> bytes_codec::find_fixes(const dtype& type, std::size_t at,
                                                      std::size_t& field) {
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

ZARRPOINT_INLINE result<void> bytes_codec::add_fixes(const dtype& type, std::size_t at,
                                                     std::size_t field) {
  const endian stored =
      field < field_orders.size() ? field_orders[field] : order.value_or(native_endian);
  const std::size_t unit = type.scalar_size();
  const bool swapped = unit > 1 && stored != native_endian;
  if (!swapped && !is_fixed(type)) return {};
  for (std::size_t done = 0; done < type.size(); done += unit) {
    if (fixes_.size() == max_fixes)
      return error{errc::unsupported, "a record of more than " + std::to_string(max_fixes) +
                                          " scalars whose byte order or size must be changed"};
    detail::scalar_fix fix{at + done, swapped ? unit : 1, type == dtype_kind::bool_, 8};
    if (type.is_below_byte()) fix.bits = static_cast<std::uint8_t>(type.bits());
    fixes_.push_back(fix);
  }
  return {};
}

ZARRPOINT_INLINE result<void> bytes_codec::decode(bytes_view stored, const mutable_host_view& into,
                                                  codec_workspace&) const {
  const std::uint64_t expected = encoded_bound(into.spec());
  if (stored.size() != expected)
    return error{errc::corrupt, std::to_string(stored.size()) + " bytes where " +
                                    to_string(into.spec()) + " has " + std::to_string(expected)};
  const dtype& type = into.type;
  if (type.size() == 0) return {};
  if (swaps(type)) {
    detail::for_each_run(into, stored.data(), [&](mutable_bytes to, bytes_view from) {
      detail::byteswap_copy(to, from, type.scalar_size());
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

// ----------------------------------------------------------------------------------- vlen_utf8.hpp

ZARRPOINT_INLINE const char* vlen_utf8_codec::check(std::string_view text) {
  return is_utf8(text) ? nullptr : "a string is not UTF-8";
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/base/bodies.hpp>
#endif
