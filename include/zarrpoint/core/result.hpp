// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/error.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 {

/// The exception that `result::value()` throws on failure.
class exception : public std::exception {
 public:
  explicit exception(error failure) : failure_(std::move(failure)), text_(to_string(failure_)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const error& failure() const noexcept { return failure_; }

 private:
  error failure_;
  std::string text_;
};

namespace detail {

/// Throws `exception`, or prints the error and aborts when exceptions are off.
[[noreturn]] inline void raise(const error& failure) {
#if ZARRPOINT_EXCEPTIONS
  throw exception(failure);
#else
  std::fprintf(stderr, "zarrpoint: %s\n", to_string(failure).c_str());
  std::abort();
#endif
}

}  // namespace detail

template <class T>
class result;

namespace detail {
template <class T>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<result<T>> = true;

// What the constraints of a result ask for, without the concepts and traits of the standard
// library. Those make some twenty classes for each type and argument, a tenth of what including the
// library took.
template <class T>
inline constexpr bool is_outcome = false;  // a result or its failure, const or a reference or not
template <class T>
inline constexpr bool is_outcome<T&> = is_outcome<T>;
template <class T>
inline constexpr bool is_outcome<const T> = is_outcome<T>;
template <class T>
inline constexpr bool is_outcome<result<T>> = true;
template <>
inline constexpr bool is_outcome<error> = true;
template <>
inline constexpr bool is_outcome<failure_box> = true;

template <class T, class... Args>
concept made_of = __is_constructible(T, Args...);  // a concept, since g++ 14 takes no trait for it
template <class T>
void take_value(T) noexcept;
template <class From, class To>
concept turns_into = is_outcome<From> || requires(From&& from) {
  take_value<To>(static_cast<From&&>(from));
};
}  // namespace detail

/// A value or an `error`. Its own type, never an alias of `std::expected`: functions keep one
/// mangled name under every language mode.
template <class T>
class
#if !defined(__CUDACC__)  // nvcc 13 would warn of assignments in templates, too
    [[nodiscard]]
#endif
    result {
 public:
  using value_type = T;

  result() requires detail::made_of<T> : value_() {}

  template <class U = T>
    requires(!detail::is_outcome<U> && detail::made_of<T, U>)
  explicit(!detail::turns_into<U, T>)
      result(U&& value)  // NOLINT(bugprone-forwarding-reference-overload)
      : value_(std::forward<U>(value)) {}

  result(error failure) noexcept : failure_(std::move(failure)) {}
  result(detail::failure_box failure) noexcept : failure_(std::move(failure)) {
    failure_.must_be_there();
  }

  result(const result& other) requires detail::made_of<T, const T&> : failure_(other.failure_) {
    if (!failure_) ::new (static_cast<void*>(&value_)) T(other.value_);
  }
  result(result&& other) noexcept(__is_nothrow_constructible(T, T&&))
      : failure_(std::move(other.failure_)) {
    if (!failure_) ::new (static_cast<void*>(&value_)) T(std::move(other.value_));
  }
  result& operator=(const result& other) requires detail::made_of<T, const T&> {
    if (this != &other) *this = result(other);
    return *this;
  }
  result& operator=(result&& other) noexcept(__is_nothrow_constructible(T, T&&)) {
    if (this == &other) return *this;
    if (!failure_) value_.~T();
    failure_ = std::move(other.failure_);
    if (!failure_) {
      // If the move of the value throws, an error is left, so that there is something to destroy.
      unless_made guard{this};
      ::new (static_cast<void*>(&value_)) T(std::move(other.value_));
      guard.of = nullptr;
    }
    return *this;
  }
  ~result() {
    if (!failure_) value_.~T();
  }

  bool has_value() const noexcept { return !failure_; }
  explicit operator bool() const noexcept { return !failure_; }

  /// The value; on failure throws `exception`, or aborts under `-fno-exceptions`. On an rvalue
  /// it returns by value, so that a loop over `f().value()` is safe.
  T& value() & { return check(), value_; }
  const T& value() const& { return check(), value_; }
  T value() && { return check(), std::move(value_); }

  /// The value, which must be there.
  T& operator*() & noexcept { return failure_.must_be_none(), value_; }
  const T& operator*() const& noexcept { return failure_.must_be_none(), value_; }
  T&& operator*() && noexcept { return failure_.must_be_none(), std::move(value_); }
  T* operator->() noexcept { return failure_.must_be_none(), &value_; }
  const T* operator->() const noexcept { return failure_.must_be_none(), &value_; }

  /// The error, which must be there.
  const error& failure() const& noexcept { return failure_.must_be_there(), failure_.get(); }
  error failure() && noexcept { return failure_.must_be_there(), failure_.take(); }

  template <class U>
  T value_or(U&& fallback) const& {
    return failure_ ? static_cast<T>(std::forward<U>(fallback)) : value_;
  }
  template <class U>
  T value_or(U&& fallback) && {
    return failure_ ? static_cast<T>(std::forward<U>(fallback)) : std::move(value_);
  }

  /// Adds context to a failure; a success passes through.
  result at(std::string_view context) && {
    if (failure_) failure_.at(context);
    return std::move(*this);
  }

  /// `f(value)`, which returns a `result`, or the failure.
  template <class F>
  auto and_then(F&& f) && -> std::invoke_result_t<F, T> {
    if (failure_) return std::move(failure_);
    return std::forward<F>(f)(std::move(value_));
  }
  /// `result(f(value))` or the failure.
  template <class F>
  auto transform(F&& f) && -> result<std::invoke_result_t<F, T>> {
    if (failure_) return std::move(failure_);
    if constexpr (std::is_void_v<std::invoke_result_t<F, T>>) {
      std::forward<F>(f)(std::move(value_));
      return {};
    } else {
      return std::forward<F>(f)(std::move(value_));
    }
  }
  /// The value, or `f(failure)`, which returns a `result<T>`.
  template <class F>
  result or_else(F&& f) && {
    if (!failure_) return std::move(*this);
    return std::forward<F>(f)(failure_.take());
  }

  /// The failure, which must be there, as `ZARRPOINT_TRY` hands it on.
  detail::failure_box take_failure() && noexcept {
    return failure_.must_be_there(), std::move(failure_);
  }

 private:
  void check() const {
    if (failure_) [[unlikely]]
      detail::raise(failure_.get());
  }
  struct unless_made {
    result* of;
    ~unless_made() {
      if (of != nullptr) of->failure_ = error();
    }
  };

  union {
    T value_;
  };
  detail::failure_box failure_;  ///< none: the value is there
};

/// Success, or an `error`.
template <>
class
#if !defined(__CUDACC__)
    [[nodiscard]]
#endif
    result<void> {
 public:
  using value_type = void;

  result() = default;
  result(error failure) noexcept : failure_(std::move(failure)) {}
  result(detail::failure_box failure) noexcept : failure_(std::move(failure)) {
    failure_.must_be_there();
  }

  bool has_value() const noexcept { return !failure_; }
  explicit operator bool() const noexcept { return !failure_; }
  void value() const {
    if (failure_) [[unlikely]]
      detail::raise(failure_.get());
  }
  const error& failure() const& noexcept { return failure_.must_be_there(), failure_.get(); }
  error failure() && noexcept { return failure_.must_be_there(), failure_.take(); }

  result at(std::string_view context) && {
    if (failure_) failure_.at(context);
    return std::move(*this);
  }
  template <class F>
  auto and_then(F&& f) && -> std::invoke_result_t<F> {
    if (failure_) return std::move(failure_);
    return std::forward<F>(f)();
  }

  detail::failure_box take_failure() && noexcept {
    return failure_.must_be_there(), std::move(failure_);
  }

 private:
  detail::failure_box failure_;
};

/// `ZARRPOINT_TRY(name, expression)`: declares `name` as a reference to the value of a result, or
/// returns its error from the function, which returns a result, an error or a `std::optional` of
/// one. Move the value out with `std::move(name)`.
#define ZARRPOINT_TRY(name, ...)                    \
  auto name##_result = (__VA_ARGS__);               \
  if (!name##_result) [[unlikely]]                  \
    return std::move(name##_result).take_failure(); \
  auto& name = *name##_result

/// `ZARRPOINT_CHECK(expression)`: returns the error of a `result` from the function, if it has one.
#define ZARRPOINT_CHECK(...)                                                   \
  do {                                                                         \
    if (auto zarrpoint_status = (__VA_ARGS__); !zarrpoint_status) [[unlikely]] \
      return std::move(zarrpoint_status).take_failure();                       \
  } while (false)

}}  // namespace zarrpoint::v0
