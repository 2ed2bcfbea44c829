// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/float_bits.hpp>
#include <zarrpoint/core/types/record.hpp>

namespace zarrpoint { inline namespace v0 {

// --------------------------------------------------------------------------------------- dtype.hpp

namespace detail {

ZARRPOINT_INLINE void record_ref::release() const noexcept {
  if (at_->uses.fetch_sub(1, std::memory_order_acq_rel) == 1) at_->destroy(at_);
}

}  // namespace detail

ZARRPOINT_INLINE dtype dtype::of_record(detail::record_ref fields) noexcept {
  dtype out(dtype_kind::record);
  out.record_ = std::move(fields);
  return out;
}

ZARRPOINT_INLINE std::optional<dtype> parse_dtype(std::string_view name) noexcept {
  for (const dtype_kind kind : all_dtype_kinds) {
    if (detail::facts_of(kind).name == name) return dtype(kind);
  }
  // The registry has a second name for these.
  if (name == "complex_float32") return dtype(dtype_kind::complex64);
  if (name == "complex_float64") return dtype(dtype_kind::complex128);
  return std::nullopt;
}

// -------------------------------------------------------------------------------------- record.hpp

namespace detail {

struct record_layout final : record_base {
  std::vector<record_field> fields;
  std::size_t depth = 1;
};

ZARRPOINT_INLINE std::size_t record_depth(const dtype& type) {
  if (type.record() == nullptr) return 0;
  return static_cast<const record_layout&>(*type.record()).depth;
}

}  // namespace detail

ZARRPOINT_INLINE std::span<const record_field> fields_of(const dtype& type) noexcept {
  if (type.record() == nullptr) return {};
  return static_cast<const detail::record_layout&>(*type.record()).fields;
}

ZARRPOINT_INLINE const record_field* find_field(const dtype& type, std::string_view name) noexcept {
  for (const record_field& one : fields_of(type))
    if (one.name == name) return &one;
  return nullptr;
}

ZARRPOINT_INLINE result<dtype> make_record(std::vector<record_field> fields) {
  const auto refuse = [](std::string why) { return error{errc::invalid_argument, std::move(why)}; };
  if (fields.empty()) return refuse("a record must have fields");
  if (fields.size() > detail::max_record_fields)
    return refuse("a record of " + std::to_string(fields.size()) +
                  " fields is more than the limit of " + std::to_string(detail::max_record_fields));
  detail::record_layout made;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    record_field& one = fields[i];
    if (!one.type.valid() || one.type.is_variable())
      return refuse("field \"" + one.name + "\" of type " + std::string(to_string(one.type)) +
                    " has no fixed size");
    if (detail::record_depth(one.type) >= detail::max_record_depth)
      return refuse("records nested deeper than " + std::to_string(detail::max_record_depth));
    one.offset = made.size;
    ZARRPOINT_TRY(bytes, byte_count(one.shape, one.type.size()));
    ZARRPOINT_TRY(end, checked_add(made.size, bytes));
    made.size = end;
    made.scalar_size = std::max(made.scalar_size, one.type.scalar_size());
    made.depth = std::max(made.depth, detail::record_depth(one.type) + 1);
  }
  if (made.size == 0) return refuse("a record must have at least one byte");
  std::vector<detail::named_place> names;
  names.reserve(fields.size());
  for (const record_field& one : fields) names.push_back({one.name, names.size()});
  if (const detail::named_place* const twice = detail::find_twice(names))
    return refuse("two fields named \"" + std::string(twice->text) + "\"");
  auto* const kept = new detail::record_layout;
  kept->size = made.size;
  kept->scalar_size = made.scalar_size;
  kept->fields = std::move(fields);
  kept->depth = made.depth;
  kept->equal = [](const detail::record_base& a, const detail::record_base& b) {
    return static_cast<const detail::record_layout&>(a).fields ==
           static_cast<const detail::record_layout&>(b).fields;
  };
  kept->destroy = [](const detail::record_base* self) {
    delete static_cast<const detail::record_layout*>(self);
  };
  return dtype::of_record(detail::record_ref(kept));
}

namespace detail {

// ---------------------------------------------------------------------------------- float_bits.hpp

template <class T>
double value_of_bits(std::uint64_t bits) {
  return static_cast<double>(std::bit_cast<T>(static_cast<float_bits_type<T>>(bits)));
}

template <class T>
std::uint64_t bits_of_value(double value) {
  return std::bit_cast<float_bits_type<T>>(static_cast<T>(value));
}

ZARRPOINT_INLINE float_reader float_reader_of(const dtype& type) {
  return visit_float(type, []<class T>(T) -> float_reader { return &value_of_bits<T>; });
}

ZARRPOINT_INLINE float_writer float_writer_of(const dtype& type) {
  return visit_float(type, []<class T>(T) -> float_writer { return &bits_of_value<T>; });
}

ZARRPOINT_INLINE std::uint64_t float_bits(const dtype& type, double value) {
  return float_writer_of(type)(value);
}

ZARRPOINT_INLINE double float_value(const dtype& type, std::uint64_t bits) {
  return float_reader_of(type)(bits);
}

ZARRPOINT_INLINE bool has_nan(const dtype& type) {
  return visit_float(type, []<class T>(T) { return std::numeric_limits<T>::has_quiet_NaN; });
}

ZARRPOINT_INLINE bool has_infinity(const dtype& type) {
  return visit_float(type, []<class T>(T) { return std::numeric_limits<T>::has_infinity; });
}

ZARRPOINT_INLINE std::uint64_t nan_bits(const dtype& type) {
  return visit_float(type, []<class T>(T) -> std::uint64_t {
    return std::bit_cast<float_bits_type<T>>(std::numeric_limits<T>::quiet_NaN());
  });
}

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/core/bodies.hpp>
#endif
