// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/handler/staging.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Whether two tensors are of one dtype and shape and have the same bits: a NaN equals itself, and
/// 0 differs from -0. Strides do not count; strings are compared as text.
bool same_bits(const host_view& a, const host_view& b);

/// A value of some type; the table's address tells the type.
struct local_table {
  bool (*equal)(const void* a, const void* b);
};

template <class T>
bool equal_tensors(const T& a, const T& b) {
  using handler = handler_of<T>;
  const result<tensor_spec> spec_a = handler::spec(a);
  const result<tensor_spec> spec_b = handler::spec(b);
  if (!spec_a || !spec_b || *spec_a != *spec_b) return false;
  const result<staged> bits_a = stage_to_host(handler::view(a), default_resource());
  const result<staged> bits_b = stage_to_host(handler::view(b), default_resource());
  return bits_a && bits_b && same_bits(bits_a->view, bits_b->view);
}

template <class T>
struct local_functions {
  static bool equal(const void* a, const void* b) {
    if (a == b) return true;
    if constexpr (savable<T>) {
      return equal_tensors(*static_cast<const T*>(a), *static_cast<const T*>(b));
    } else if constexpr (std::equality_comparable<T>) {
      return *static_cast<const T*>(a) == *static_cast<const T*>(b);
    } else {
      return false;
    }
  }
  static constexpr local_table table{&equal};
};

}  // namespace detail

/// A value of any type that belongs to this process alone: it is never stored, and after a load it
/// is in its place as it was. A handle: copies share the value.
class local_only {
 public:
  template <class T>
    requires(!std::same_as<std::remove_cvref_t<T>, local_only>)
  explicit local_only(T&& value)  // NOLINT(bugprone-forwarding-reference-overload)
      : table_(&detail::local_functions<std::decay_t<T>>::table),
        value_(detail::make_counted<const std::decay_t<T>>(std::forward<T>(value))) {}

  /// The value, if it is a `T`; null otherwise.
  template <class T>
  const T* get() const noexcept {
    if (table_ != &detail::local_functions<std::remove_const_t<T>>::table) return nullptr;
    return static_cast<const T*>(value_.get());
  }

  /// Whether both hold values of one type.
  bool same_type(const local_only& other) const noexcept { return table_ == other.table_; }

  /// Whether both are one value, or are of one type and equal: tensors by dtype, shape and bits,
  /// others by their `==`, if they have one.
  friend bool operator==(const local_only& a, const local_only& b) {
    return a.table_ == b.table_ && a.table_->equal(a.value_.get(), b.value_.get());
  }

 private:
  const detail::local_table* table_;
  std::shared_ptr<const void> value_;
};

}}  // namespace zarrpoint::v0
