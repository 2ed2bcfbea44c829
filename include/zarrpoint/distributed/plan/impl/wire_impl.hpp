// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/record.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE void wire_writer::number(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<std::byte>(value | 0x80));
  out_.push_back(static_cast<std::byte>(value));
}

ZARRPOINT_INLINE void wire_writer::index(index_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  number((bits << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0));
}

ZARRPOINT_INLINE void wire_writer::indexes(std::span<const index_t> values) {
  for (const index_t value : values) index(value);
}

ZARRPOINT_INLINE void wire_writer::bytes(bytes_view value) {
  number(value.size());
  out_.insert(out_.end(), value.begin(), value.end());
}

ZARRPOINT_INLINE void wire_writer::shape(const dims& value) {
  number(value.rank());
  indexes(value);
}

ZARRPOINT_INLINE void wire_writer::part(const box& value) {
  shape(value.offset);
  indexes(value.shape);
}

ZARRPOINT_INLINE std::uint64_t wire_reader::number() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) break;
    const auto byte = static_cast<std::uint64_t>(rest_.front());
    rest_ = rest_.subspan(1);
    if (shift == 63 && byte > 1) break;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail();
  return 0;
}

ZARRPOINT_INLINE index_t wire_reader::index() {
  const std::uint64_t bits = number();
  return static_cast<index_t>((bits >> 1) ^ (~(bits & 1) + 1));
}

ZARRPOINT_INLINE std::uint64_t wire_reader::limited(std::uint64_t most) {
  const std::uint64_t value = number();
  if (value > most) fail();
  return failed_ ? 0 : value;
}

ZARRPOINT_INLINE std::size_t wire_reader::count(std::size_t least) {
  const std::uint64_t value = number();
  if (value > rest_.size() / std::max<std::size_t>(least, 1)) fail();
  return failed_ ? 0 : static_cast<std::size_t>(value);
}

ZARRPOINT_INLINE bytes_view wire_reader::bytes() {
  const std::size_t size = count();
  const bytes_view out = rest_.first(size);
  rest_ = rest_.subspan(size);
  return out;
}

ZARRPOINT_INLINE box wire_reader::part() {
  box out;
  out.offset = shape();
  out.shape = indexes(out.offset.rank());
  return out;
}

ZARRPOINT_INLINE dims wire_reader::indexes(std::size_t rank) {
  dims out;
  for (std::size_t i = 0; i < rank; ++i) out.push_back(index());
  return out;
}

ZARRPOINT_INLINE void wire_reader::fail() noexcept {
  failed_ = true;
  rest_ = {};
}

ZARRPOINT_INLINE result<void> wire_reader::finish() const {
  if (failed_) return error{errc::corrupt, "message of a process: truncated or damaged"};
  if (!rest_.empty())
    return error{errc::corrupt,
                 "message of a process: " + std::to_string(rest_.size()) + " bytes too many"};
  return {};
}

ZARRPOINT_INLINE void wire_writer::type(const dtype& value) {
  number(static_cast<std::uint64_t>(value.kind()));
  switch (value.kind()) {
    case dtype_kind::raw:
    case dtype_kind::null_terminated_bytes:
    case dtype_kind::fixed_length_utf32: number(value.size()); break;
    case dtype_kind::datetime64:
    case dtype_kind::timedelta64:
      number(static_cast<std::uint64_t>(value.unit()));
      number(value.scale());
      break;
    case dtype_kind::record:
      number(fields_of(value).size());
      for (const record_field& field : fields_of(value)) {
        text(field.name);
        type(field.type);
        shape(field.shape);
      }
      break;
    default: break;
  }
}

ZARRPOINT_INLINE dtype wire_reader::type(std::size_t levels) {
  const auto kind =
      static_cast<dtype_kind>(limited(static_cast<std::uint64_t>(dtype_kind::record)));
  constexpr std::uint64_t largest = std::uint64_t{1} << 40;
  switch (kind) {
    case dtype_kind::raw: return dtype::raw_bytes(limited(largest));
    case dtype_kind::null_terminated_bytes: return dtype::null_terminated(limited(largest));
    case dtype_kind::fixed_length_utf32: return dtype::utf32(limited(largest) / 4);
    case dtype_kind::datetime64:
    case dtype_kind::timedelta64: {
      const auto unit = static_cast<time_unit>(limited(static_cast<std::uint64_t>(time_unit::as)));
      const auto scale = static_cast<std::uint32_t>(limited(UINT32_MAX));
      return kind == dtype_kind::datetime64 ? dtype::datetime(unit, scale)
                                            : dtype::timedelta(unit, scale);
    }
    case dtype_kind::record: break;
    default: return kind;
  }
  if (levels == 0) fail();
  std::vector<record_field> fields;
  for (std::size_t n = count(3); n > 0 && !failed_; --n) {
    record_field field;
    field.name = text();
    field.type = type(levels - 1);
    field.shape = shape();
    fields.push_back(std::move(field));
  }
  result<dtype> made = failed_ ? result<dtype>(dtype{}) : make_record(std::move(fields));
  if (!made) fail();
  return made ? *made : dtype{};
}

/// A replica has as many numbers as the mesh of processes has axes.
inline constexpr std::uint64_t max_replica_parts = 64;

ZARRPOINT_INLINE void write_form(wire_writer& to, const shard_form& form) {
  to.text(form.key);
  to.type(form.type);
  to.number(form.rank());
  to.number(form.prepended_axes);
  to.number(form.replica_parts);
  to.flag(form.is_regular);
  to.flag(form.is_flat);
  to.flag(form.allow_shape_mismatch);
  to.indexes(form.global_shape);
  to.indexes(form.fragmentation);
  to.indexes(form.local_shape);
}

ZARRPOINT_INLINE shard_form read_form(wire_reader& from) {
  shard_form out;
  out.key = from.text();
  out.type = from.type();
  const auto rank = static_cast<std::size_t>(from.limited(max_rank));
  out.prepended_axes = static_cast<std::size_t>(from.limited(rank));
  out.replica_parts = static_cast<std::size_t>(from.limited(max_replica_parts));
  out.is_regular = from.flag();
  out.is_flat = from.flag();
  out.allow_shape_mismatch = from.flag();
  const auto list = [&](std::size_t n) {
    std::vector<index_t> values(n);
    for (index_t& value : values) value = from.index();
    return values;
  };
  out.global_shape = list(rank);
  if (out.is_regular) {
    out.fragmentation = list(rank);
    out.local_shape = list(rank - out.prepended_axes);
  }
  return out;
}

ZARRPOINT_INLINE result<std::vector<std::byte>> encode_shards(const shard_table& shards) {
  wire_writer out;
  out.number(detail::wire_version);
  out.number(shards.forms().size());
  for (const shard_form& form : shards.forms()) {
    if (form.replica_parts > detail::max_replica_parts)
      return error{errc::invalid_argument, "shard of \"" + form.key + "\": a replica id of " +
                                               std::to_string(form.replica_parts) + " numbers"};
    detail::write_form(out, form);
  }
  out.number(shards.size());
  for (std::size_t i = 0; i < shards.size(); ++i) {
    out.number(shards.form_number(i));
    out.indexes(shards.numbers(i));
  }
  return std::move(out).take();
}

ZARRPOINT_INLINE result<std::vector<std::byte>> encode_shards(
    std::span<const shard_metadata> shards) {
  shard_table table;
  for (const shard_metadata& one : shards) {
    ZARRPOINT_CHECK(one.check());
    ZARRPOINT_CHECK(table.add(0, one));
  }
  return encode_shards(table);
}

ZARRPOINT_INLINE result<void> decode_shards(bytes_view message, int rank, shard_table& into) {
  wire_reader from(message);
  const std::uint64_t version = from.number();
  if (!from.failed() && version != detail::wire_version)
    return error{errc::unsupported, "message of process " + std::to_string(rank) +
                                        ": unknown version " + std::to_string(version)};
  std::vector<std::uint32_t> forms;
  for (std::size_t n = from.count(8); n > 0 && !from.failed(); --n)
    forms.push_back(into.intern(detail::read_form(from)));
  std::vector<bool> is_used(forms.size(), false);
  std::vector<index_t> numbers;
  for (std::size_t n = from.count(); n > 0 && !from.failed(); --n) {
    const std::uint64_t form = from.number();
    if (form >= forms.size()) {
      from.fail();
      break;
    }
    is_used[form] = true;
    numbers.resize(into.forms()[forms[form]].width());
    for (index_t& value : numbers) value = from.index();
    if (!from.failed()) ZARRPOINT_CHECK(into.append(rank, forms[form], numbers));
  }
  // A form without shards would make a tensor of which nobody has any part.
  if (std::find(is_used.begin(), is_used.end(), false) != is_used.end()) from.fail();
  return from.finish().at("process " + std::to_string(rank));
}

}}}  // namespace zarrpoint::v0::detail
