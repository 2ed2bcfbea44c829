// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/handler/leaf.hpp>

namespace zarrpoint { inline namespace v0 {

// ---------------------------------------------------------------------------------------- leaf.hpp

namespace detail {

ZARRPOINT_INLINE result<std::unique_ptr<element_source>> no_source(const void*,
                                                                   const source_options&) {
  return error{errc::invalid_argument,
               "a host leaf has no element source: the host reads it in place"};
}

ZARRPOINT_INLINE result<staged> stage_nothing(const void*, memory_resource&) {
  return error{errc::invalid_argument, "a value of several leaves has no elements of its own"};
}
ZARRPOINT_INLINE result<tensor_spec> spec_of_group(const void*) {
  return error{errc::unsupported, "a value of several leaves cannot be saved here"};
}
ZARRPOINT_INLINE result<tensor_spec> spec_of_refused(const void* failure) {
  return *static_cast<const error*>(failure);
}

}  // namespace detail

ZARRPOINT_INLINE leaf leaf::refused(std::string name, error why) {
  leaf out;
  out.name_ = std::move(name);
  out.table_ = &detail::refused_table;
  out.keep(detail::make_counted<const error>(std::move(why)));
  return out;
}

ZARRPOINT_INLINE leaf leaf::empty_group(std::string name) {
  leaf out;
  out.name_ = std::move(name);
  out.table_ = &detail::group_table;
  return out;
}

ZARRPOINT_INLINE detail::single_leaves leaf::single(std::vector<leaf> leaves) {
  detail::single_leaves out;
  out.leaves.reserve(leaves.size());
  const auto add = [&](leaf one) {
    if (one.is_group()) {
      out.empty_groups.push_back(std::move(one.name_));
    } else {
      out.leaves.push_back(std::move(one));
    }
  };
  for (leaf& one : leaves) {
    if (!one.is_group() || one.value_ == nullptr) {
      add(std::move(one));
      continue;
    }
    for (leaf part : *static_cast<const std::vector<leaf>*>(one.value_)) {
      if (part.kept_ == nullptr) part.kept_ = one.kept_;
      add(std::move(part));
    }
  }
  return out;
}

ZARRPOINT_INLINE result<std::unique_ptr<element_source>> leaf::source(
    const detail::source_options& how) const {
  return table_->source(value_, how);
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/handler/types/bodies.hpp>
#include <zarrpoint/memory/device/bodies.hpp>
#endif
