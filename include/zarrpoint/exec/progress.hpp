// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 {

/// How far a save or a load has come. The text lives as long as the call.
struct progress_event {
  std::string_view phase;  ///< the step at work, e.g. `"write"`
  std::string_view item;   ///< the leaf whose bytes were last counted
  std::uint64_t bytes_done;
  std::uint64_t bytes_total;
};

/// Is told of progress by one thread at a time, never of less than before. Calls are few: the
/// first, the last, and between them one per percent or per 50 ms. It must not call the operation
/// back.
class progress_callback {
 public:
  progress_callback() = default;
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, progress_callback> &&
             std::invocable<F&, const progress_event&>)
  progress_callback(F&& f)  // NOLINT
      : call_([](void* self, const progress_event& e) {
          (*static_cast<std::remove_cvref_t<F>*>(self))(e);
        }),
        self_(detail::make_counted<std::remove_cvref_t<F>>(std::forward<F>(f))) {}
  explicit operator bool() const noexcept { return call_ != nullptr; }
  void operator()(const progress_event& e) const { call_(self_.get(), e); }

 private:
  void (*call_)(void*, const progress_event&) = nullptr;
  std::shared_ptr<void> self_;
};

class progress_meter;

}}  // namespace zarrpoint::v0
