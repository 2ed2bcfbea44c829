// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

template <class T>
void destroy_counted(void* object) {
  delete static_cast<T*>(object);
}

/// `std::make_shared<T>(args...)` with one kind of count for all types: an allocation more, for
/// a seventh of the symbols (docs/performance.md, "What an include costs"). `weak_from_this` of
/// what it makes is empty.
template <class T, class... Args>
std::shared_ptr<T> make_counted(Args&&... args) {
  using object = std::remove_const_t<T>;
  auto* const made = new object(std::forward<Args>(args)...);
  // Of one type, so that the count is instantiated once; it destroys the object if it cannot be
  // made.
  std::shared_ptr<void> count(static_cast<void*>(made), &destroy_counted<object>);
  return std::shared_ptr<T>(std::move(count), made);
}

/// A `T` as the `Base` that it is of, without a `std::unique_ptr<T>` on the way.
template <class Base, class T, class... Args>
std::unique_ptr<Base> make_owned(Args&&... args) {
  return std::unique_ptr<Base>(new T(std::forward<Args>(args)...));
}

}}}  // namespace zarrpoint::v0::detail
