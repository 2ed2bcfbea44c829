// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_class.hpp>
#include <zarrpoint/checkpoint/document/stored_leaf.hpp>
#include <zarrpoint/checkpoint/load/wanted_spec.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/core/error.hpp>
#include <zarrpoint/core/result.hpp>

#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Makes the dtype the one that a rule for the leaf casts to.
inline result<void> apply_cast(dtype& type, std::string_view name, const load_options& options) {
  const dtype* const cast = last_set(options.rules, name, &load_rule::cast);
  if (cast == nullptr) return {};
  ZARRPOINT_CHECK(check_cast(type, *cast));
  type = *cast;
  return {};
}

ZARRPOINT_INLINE result<tensor_spec> wanted_spec(const array& source, std::string_view name,
                                                 const load_options& options) {
  tensor_spec spec = source.spec();
  ZARRPOINT_CHECK(apply_cast(spec.type, name, options));
  const dims* shape = last_set(options.rules, name, &load_rule::shape);
  if (shape == nullptr) return spec;
  if (shape->rank() != spec.shape.rank())
    return error{errc::shape_mismatch, "stored shape is " + to_string(spec.shape) +
                                           ", the rule wants " + to_string(*shape)};
  spec.shape = *shape;
  return spec;
}

ZARRPOINT_INLINE result<tensor_spec> wanted_as(dtype type, const stored_leaf& leaf,
                                               const array& source, const load_options& options) {
  ZARRPOINT_TRY(wanted, wanted_spec(source, leaf.name, options));
  if (!type.valid()) return wanted;
  ZARRPOINT_CHECK(check_type(wanted.type, type, options));
  wanted.type = type;
  return wanted;
}

ZARRPOINT_INLINE result<tensor_spec> wanted_part(const stored_leaf& leaf, const array& source,
                                                 const selection& part,
                                                 const load_options& options) {
  ZARRPOINT_CHECK(part.check(source.spec().shape));
  tensor_spec spec = source.spec();
  ZARRPOINT_CHECK(apply_cast(spec.type, leaf.name, options));
  spec.shape = part.shape;
  return spec;
}

ZARRPOINT_INLINE result<void> check_type(dtype stored, dtype wanted, const load_options& options) {
  if (stored == wanted) return {};
  if (options.cast) return check_cast(stored, wanted);
  return error{errc::dtype_mismatch, "stored dtype is " + std::string(to_string(stored)) +
                                         ", wanted " + std::string(to_string(wanted)) +
                                         "; set load_options::cast to convert it"};
}

}}}  // namespace zarrpoint::v0::detail
