// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 {

/// What a save (the first six) and a load (the others, and `plan`) are at. docs/guide.md has what
/// each one is, and its bytes.
enum class phase : std::uint8_t {
  plan,
  stage,
  encode,
  write,
  sync,
  commit,
  read,
  verify,
  decode,
  place
};

/// Its own name, as `"plan"`.
constexpr std::string_view name_of(phase what) noexcept {
  constexpr std::string_view names[] = {"plan",   "stage", "encode", "write",  "sync",
                                        "commit", "read",  "verify", "decode", "place"};
  return names[static_cast<std::size_t>(what)];
}

/// Some work of one phase. The text lives as long as the call.
struct phase_event {
  phase what;
  std::string_view item;    ///< the leaf or the place that it is about
  std::uint64_t bytes = 0;  ///< that it is about; 0 where nothing is counted in bytes
  std::uint64_t count = 1;  ///< the things that it is about: leaves, objects
};

/// Told when each phase begins and ends, by the thread that does the work: by many at a time. Those
/// of one thread lie within each other, as brackets do. The end comes after a failure, too, with
/// what the begin said. Calls may be many (a few per inner chunk), and hold up the work. They must
/// not call the operation back, and cannot throw: what a call may throw ends the program.
class phase_observer {
 public:
  virtual void begin(const phase_event& what) noexcept = 0;
  virtual void end(const phase_event& what) noexcept = 0;

 protected:
  ~phase_observer() = default;
};

class progress_meter;

namespace detail {

/// A phase of an observer, which may be null, as long as this lives.
class phase_scope {
 public:
  phase_scope(phase_observer* to, phase what, std::string_view item, std::uint64_t bytes)
      : to_(to), what_{what, item, bytes} {
    if (to != nullptr) to->begin(what_);
  }
  phase_scope(phase_observer* to, const phase_event& what) : to_(to), what_(what) {
    if (to != nullptr) to->begin(what_);
  }
  phase_scope(const phase_scope&) = delete;
  phase_scope& operator=(const phase_scope&) = delete;
  ~phase_scope() {
    if (to_ != nullptr) to_->end(what_);
  }

 private:
  phase_observer* const to_;
  const phase_event what_;
};

/// `progress_meter::add` where somebody listens.
void count_progress(progress_meter& of, std::string_view item, std::uint64_t bytes);

}  // namespace detail

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
      : calls_(&calls_of<std::remove_cvref_t<F>>),
        self_(detail::make_counted<std::remove_cvref_t<F>>(std::forward<F>(f))) {}
  explicit operator bool() const noexcept { return calls_ != nullptr; }
  void operator()(const progress_event& e) const { calls_->tell(self_.get(), e); }

 private:
  friend class progress_meter;
  // What counts is part of a program only where somebody listens.
  struct calls {
    void (*tell)(void* self, const progress_event& e);
    void (*count)(progress_meter& of, std::string_view item, std::uint64_t bytes);
  };
  template <class F>
  static constexpr calls calls_of{
      [](void* self, const progress_event& e) { (*static_cast<F*>(self))(e); },
      detail::count_progress};

  const calls* calls_ = nullptr;
  std::shared_ptr<void> self_;
};

}}  // namespace zarrpoint::v0
