// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// One field of a record: an element, or with a `shape` an array of elements in row-major order.
struct record_field {
  std::string name;
  dtype type;
  dims shape{};
  std::size_t offset = 0;  ///< of its first byte in the record: set by `make_record`

  friend bool operator==(const record_field&, const record_field&) = default;
};

namespace detail {

/// Records in records, as deep as anybody has them, and fields; a file may say more.
inline constexpr std::size_t max_record_depth = 16;
inline constexpr std::size_t max_record_fields = 65536;

}  // namespace detail

/// The fields of a record; none for other types.
std::span<const record_field> fields_of(const dtype& type) noexcept;

/// The field of that name; null when there is none.
const record_field* find_field(const dtype& type, std::string_view name) noexcept;

/// A record of these fields, one after another without gaps; each has a fixed size. Errors:
/// `invalid_argument` for no fields, two of one name, or one of variable length; `out_of_range`
/// for a record larger than memory.
result<dtype> make_record(std::vector<record_field> fields);

/// Calls `f(offset, type)` for every element in one of `type` that is not a record, with its offset
/// in bytes: once for each element of a field with a shape.
template <class F>
void for_each_scalar(const dtype& type, F&& f, std::size_t at = 0) {
  if (type.record() == nullptr) {
    f(at, type);
    return;
  }
  for (const record_field& one : fields_of(type)) {
    const std::size_t size = one.type.size();
    const auto count = static_cast<std::size_t>(element_count(one.shape).value_or(0));
    for (std::size_t i = 0; i < count; ++i)
      for_each_scalar(one.type, f, at + one.offset + i * size);
  }
}

/// Whether `f(type)` holds for every kind of scalar in an element of `type`.
template <class F>
bool all_scalars(const dtype& type, F&& f) {
  if (type.record() == nullptr) return f(type);
  const std::span<const record_field> fields = fields_of(type);
  return std::all_of(fields.begin(), fields.end(),
                     [&](const record_field& one) { return all_scalars(one.type, f); });
}

}}  // namespace zarrpoint::v0
