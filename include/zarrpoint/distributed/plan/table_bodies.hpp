// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/distributed/plan/intersect.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>

#include <functional>

namespace zarrpoint { inline namespace v0 { namespace detail {

// --------------------------------------------------------------------------------- shard_table.hpp

ZARRPOINT_INLINE void shard_table::reserve(std::size_t shards, std::size_t numbers) {
  records_.reserve(shards);
  numbers_.reserve(numbers);
}

ZARRPOINT_INLINE std::span<const index_t> shard_table::local_shape(std::size_t i) const noexcept {
  const shard_form& f = form(i);
  if (f.is_regular) return f.local_shape;
  return {numbers_.data() + records_[i].first + f.rank(), f.local_rank()};
}

ZARRPOINT_INLINE std::span<const index_t> shard_table::replica(std::size_t i) const noexcept {
  const shard_form& f = form(i);
  return numbers(i).subspan(f.rank() + (f.is_regular ? 0 : f.local_rank()), f.replica_parts);
}

ZARRPOINT_INLINE std::optional<flat_range> shard_table::range(std::size_t i) const noexcept {
  if (!form(i).is_flat) return std::nullopt;
  const std::span<const index_t> last = numbers(i).last(2);
  return flat_range{last[0], last[1]};
}

ZARRPOINT_INLINE bool shard_table::is_main(std::size_t i) const noexcept {
  const auto parts = replica(i);
  return std::all_of(parts.begin(), parts.end(), [](index_t part) { return part == 0; });
}

ZARRPOINT_INLINE bool shard_table::is_empty(std::size_t i) const noexcept {
  const auto shape = local_shape(i);
  const auto flat = range(i);
  return (flat && flat->stop <= flat->start) ||
         std::any_of(shape.begin(), shape.end(), [](index_t n) { return n <= 0; });
}

ZARRPOINT_INLINE index_t shard_table::extent(std::size_t i, std::size_t axis) const noexcept {
  const std::size_t prepended = form(i).prepended_axes;
  return axis < prepended ? 1 : local_shape(i)[axis - prepended];
}

ZARRPOINT_INLINE box shard_table::global_box(std::size_t i) const {
  box out{dims(offset(i)), dims(form(i).prepended_axes, 1)};
  for (const index_t n : local_shape(i)) out.shape.push_back(n);
  return out;
}

ZARRPOINT_INLINE std::size_t hash_of(const shard_form& form) noexcept {
  std::size_t h = std::hash<std::string_view>{}(form.key);
  const auto mix = [&](std::uint64_t x) {
    h ^= static_cast<std::size_t>(x) + 0x9e3779b97f4a7c15U + (h << 6) + (h >> 2);
  };
  for (const std::vector<index_t>* one :
       {&form.global_shape, &form.fragmentation, &form.local_shape}) {
    mix(one->size());
    for (const index_t n : *one) mix(static_cast<std::uint64_t>(n));
  }
  mix(static_cast<std::uint64_t>(form.type.kind()));
  mix(form.prepended_axes * 8 + (form.is_regular ? 4 : 0) + (form.is_flat ? 2 : 0) +
      (form.allow_shape_mismatch ? 1 : 0));
  mix(form.replica_parts);
  return h;
}

ZARRPOINT_INLINE key_order::key_order(const std::vector<shard_form>& all) : key_of(all.size()) {
  for (std::uint32_t i = 0; i < all.size(); ++i) forms.push_back(i);
  sort_by_text(forms, [&](std::uint32_t form) -> std::string_view { return all[form].key; });
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (i == 0 || all[forms[i]].key != all[forms[i - 1]].key) ++keys;
    key_of[forms[i]] = static_cast<std::uint32_t>(keys - 1);
  }
}

ZARRPOINT_INLINE std::uint64_t first_element(std::span<const index_t> offset,
                                             const shard_form& form) noexcept {
  std::uint64_t place = 0;
  for (std::size_t axis = 0; axis < form.rank(); ++axis)
    place = place * static_cast<std::uint64_t>(std::max<index_t>(form.global_shape[axis], 1)) +
            static_cast<std::uint64_t>(offset[axis]);
  return place;
}

ZARRPOINT_INLINE std::vector<sorted_shard> sort_shards(const shard_table& table,
                                                       const key_order& keys,
                                                       std::span<const std::uint32_t> chosen) {
  std::vector<sorted_shard> out;
  out.reserve(chosen.size());
  for (const std::uint32_t i : chosen) {
    const auto range = table.range(i);
    out.push_back({keys.key_of[table.form_number(i)], i,
                   first_element(table.offset(i), table.form(i)), range ? range->start : 0});
  }
  if (!std::is_sorted(out.begin(), out.end())) std::sort(out.begin(), out.end());
  return out;
}

ZARRPOINT_INLINE std::uint32_t shard_table::intern(shard_form form) {
  const std::size_t hash = detail::hash_of(form);
  const auto [first, last] = found_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (forms_[it->second] == form) return it->second;
  }
  const auto number = static_cast<std::uint32_t>(forms_.size());
  found_.emplace(hash, number);
  forms_.push_back(std::move(form));
  return number;
}

ZARRPOINT_INLINE result<void> shard_table::append(int rank, std::uint32_t form,
                                                  std::span<const index_t> numbers) {
  if (rank < 0)
    return error{errc::invalid_argument, "process " + std::to_string(rank) + " is negative"};
  if (form >= forms_.size() || numbers.size() != forms_[form].width())
    return error{errc::invalid_argument, "a shard has the wrong number of values"};
  if (records_.size() >= UINT32_MAX)
    return error{errc::resource_limit, "one plan has 2^32 shards or more"};
  records_.push_back({numbers_.size(), form, counts_[rank]++, rank});
  numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  return {};
}

ZARRPOINT_INLINE result<void> shard_table::add(int rank, const shard_metadata& shard) {
  const std::size_t axes = shard.global_shape.rank();
  if (shard.global_offset.rank() != axes || shard.local_shape.rank() > axes ||
      shard.local_shape.rank() + shard.prepended_axes != axes ||
      (shard.fragmentation && shard.fragmentation->rank() != axes))
    return error{errc::invalid_argument,
                 "shard of \"" + shard.key + "\": its shapes and offset differ in rank"};
  const auto list = [](const dims& values) {
    return std::vector<index_t>(values.begin(), values.end());
  };
  shard_form form{.key = shard.key,
                  .type = shard.type,
                  .global_shape = list(shard.global_shape),
                  .fragmentation = {},
                  .local_shape = {},
                  .prepended_axes = shard.prepended_axes,
                  .replica_parts = shard.replica.parts().size(),
                  .is_regular = shard.is_regular(),
                  .is_flat = shard.range.has_value(),
                  .allow_shape_mismatch = shard.allow_shape_mismatch};
  if (shard.fragmentation) {
    form.fragmentation = list(*shard.fragmentation);
    form.local_shape = list(shard.local_shape);
  }
  std::vector<index_t> numbers = list(shard.global_offset);
  const auto put = [&](const auto& values) {
    numbers.insert(numbers.end(), values.begin(), values.end());
  };
  if (!form.is_regular) put(shard.local_shape);
  put(shard.replica.parts());
  if (shard.range) put(dims{shard.range->start, shard.range->stop});
  return append(rank, intern(std::move(form)), numbers);
}

ZARRPOINT_INLINE shard_metadata shard_table::metadata(std::size_t i) const {
  const shard_form& f = form(i);
  const auto parts = replica(i);
  shard_metadata out{.key = f.key,
                     .type = f.type,
                     .local_shape = dims(local_shape(i)),
                     .global_shape = dims(std::span<const index_t>(f.global_shape)),
                     .global_offset = dims(offset(i)),
                     .replica = replica_id(std::vector<index_t>(parts.begin(), parts.end())),
                     .prepended_axes = f.prepended_axes,
                     .allow_shape_mismatch = f.allow_shape_mismatch,
                     .range = range(i)};
  if (f.is_regular) out.fragmentation = dims(std::span<const index_t>(f.fragmentation));
  return out;
}

ZARRPOINT_INLINE std::vector<std::uint32_t> main_shards(const shard_table& table) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    if (table.is_main(i) && !table.is_empty(i)) out.push_back(i);
  }
  return out;
}

// ---------------------------------------------------------------------------------------- wire.hpp

ZARRPOINT_INLINE void wire_writer::number(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<std::byte>(value | 0x80));
  out_.push_back(static_cast<std::byte>(value));
}

ZARRPOINT_INLINE void wire_writer::index(index_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  number((bits << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0));
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
  if (failed_) return error{errc::corrupt, "the message of a process is truncated or damaged"};
  if (!rest_.empty())
    return error{errc::corrupt,
                 "message of a process: " + std::to_string(rest_.size()) + " bytes follow its end"};
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
      return error{errc::invalid_argument, "shard of \"" + form.key + "\": its replica id has " +
                                               std::to_string(form.replica_parts) +
                                               " numbers, more than " +
                                               std::to_string(detail::max_replica_parts)};
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
    return error{errc::unsupported, "message of process " + std::to_string(rank) + ": version " +
                                        std::to_string(version) +
                                        " is not known: all processes need the same zarrpoint"};
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

// ----------------------------------------------------------------------------------- intersect.hpp

ZARRPOINT_INLINE box_list::box_list(std::size_t rank, std::span<const box> boxes) : rank_(rank) {
  reserve(boxes.size());
  for (const box& one : boxes) add(one);
}

ZARRPOINT_INLINE void box_list::add(std::span<const index_t> offset,
                                    std::span<const index_t> shape) {
  ZARRPOINT_ASSERT(offset.size() == rank_ && shape.size() == rank_);
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    bounds_.push_back(offset[axis]);
    bounds_.push_back(offset[axis] + shape[axis]);
  }
  ++size_;
}

ZARRPOINT_INLINE bool box_list::empty(std::size_t i) const noexcept {
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    if (begin(i, axis) >= end(i, axis)) return true;
  }
  return false;
}

ZARRPOINT_INLINE box box_list::at(std::size_t i) const {
  box out;
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    out.offset.push_back(begin(i, axis));
    out.shape.push_back(end(i, axis) - begin(i, axis));
  }
  return out;
}

ZARRPOINT_INLINE void axis_cuts::add(std::size_t axis, index_t from, index_t to) {
  std::vector<index_t>& cuts = axes_[axis];
  cuts.push_back(from);
  cuts.push_back(to);
  if (cuts.size() > 2 * sorted_[axis] + 4096) sort(axis);
}

ZARRPOINT_INLINE const std::vector<index_t>& axis_cuts::of(std::size_t axis) {
  sort(axis);
  return axes_[axis];
}

ZARRPOINT_INLINE void axis_cuts::sort(std::size_t axis) {
  std::vector<index_t>& cuts = axes_[axis];
  if (cuts.size() == sorted_[axis]) return;
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  sorted_[axis] = cuts.size();
}

ZARRPOINT_INLINE box axis_cuts::cell(std::size_t number) {
  box out{dims(axes_.size(), 0), dims(axes_.size(), 0)};
  for (std::size_t axis = axes_.size(); axis-- > 0;) {
    const std::vector<index_t>& cuts = of(axis);
    const std::size_t at = number % (cuts.size() - 1);
    number /= cuts.size() - 1;
    out.offset[axis] = cuts[at];
    out.shape[axis] = cuts[at + 1] - cuts[at];
  }
  return out;
}

ZARRPOINT_INLINE index_t saturating_mul(index_t a, index_t b) noexcept {
  index_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? INT64_MAX : out;
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/shard/tensor_bodies.hpp>
#endif
