// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/load/load_batch.hpp>

#include <initializer_list>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// The questions of a batch to a target of type `T`.
template <class T, class Handler>
struct target_functions {
  using space = typename Handler::space;

  static result<void> view(void* target, const tensor_spec& wanted, void* out) {
    ZARRPOINT_TRY(made, (target_view<Handler, T>(*static_cast<T*>(target), wanted)));
    *static_cast<mutable_tensor_view<space>*>(out) = made;
    return {};
  }
  static bool peek(void* target, void* out) {
    T& value = *static_cast<T*>(target);
    if (!check_target<Handler>(value)) return false;
    *static_cast<mutable_tensor_view<space>*>(out) = Handler::writable(value);
    return true;
  }
  static void mark(void* target, bool loaded) {
    mark_loaded<Handler>(*static_cast<T*>(target), loaded);
  }
  static constexpr target_table table{&load_batch<space>, &view, &peek, &mark};
};

}  // namespace detail

/// A name and memory that the leaf of that name goes to, of any type that `load_into` takes:
/// `load_into_all(checkpoint, {{"w", w}, {"b", b}})`. The memory is borrowed; of views, such as
/// spans, the target keeps a copy.
class load_target {
 public:
  template <class T>
  load_target(std::string name, T&& target) {  // NOLINT(google-explicit-constructor)
    detail::require_fillable<T>();
    using target_type = std::remove_reference_t<T>;
    using handler = handler_of<T>;
    bound_.name = std::move(name);
    bound_.table = &detail::target_functions<target_type, handler>::table;
    if constexpr (!detail::handler_is_view<handler>() || !std::copy_constructible<target_type>) {
      static_assert(std::is_lvalue_reference_v<T>,
                    "zarrpoint: a target that is a temporary would be lost with what is loaded "
                    "into it; name a variable, or pass a view such as a span");
      bind(target);
    } else {
      const auto copy = detail::make_counted<target_type>(std::forward<T>(target));
      bind(*copy);
      kept_ = copy;
    }
  }

  const std::string& name() const noexcept { return bound_.name; }

  /// For the batch: borrows from this.
  const detail::bound_target& bound() const noexcept { return bound_; }

 private:
  template <class T>
  void bind(T& target) {
    bound_.target = const_cast<void*>(static_cast<const void*>(std::addressof(target)));
  }

  detail::bound_target bound_;
  std::shared_ptr<const void> kept_;
};

/// Loads many leaves into memory that the caller has, in parallel: tensors on the host and on any
/// devices, of any types. What goes to devices is there when this returns. Targets must not share
/// memory. Small tensors on one stream of a device are sent together; where the handles of a memory
/// space cannot be compared, on the stream of one of them.
///
/// Errors: those of `checkpoint::load_into`, of a leaf. Targets that can be told (see
/// handler/base/concepts.hpp) then know whether they hold what was stored; the contents of the
/// others are unspecified.
result<void> load_into_all(const checkpoint& from, std::span<const load_target> targets,
                           const load_options& options = {});

/// Loads into the targets in braces: `load_into_all(opened, {{"w", w}, {"b", b}})`.
result<void> load_into_all(const checkpoint& from, std::initializer_list<load_target> targets,
                           const load_options& options = {});

}}  // namespace zarrpoint::v0
