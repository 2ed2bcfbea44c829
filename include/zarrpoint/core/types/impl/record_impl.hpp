// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/record.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

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

}}  // namespace zarrpoint::v0
