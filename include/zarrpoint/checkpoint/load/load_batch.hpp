// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/exec/parallel_for.hpp>

#include <memory>

namespace zarrpoint { inline namespace v0 { namespace detail {

// What loads of many leaves at a time have in common.

struct bound_target;

/// Leaves that are loaded together; their targets are all of one memory space.
struct batch_request {
  const checkpoint& from;
  const load_options& options;
  std::span<const bound_target* const> targets;
};

/// What a batch asks of a target, whose type is known here only. `out` is a mutable view of its
/// memory space.
struct target_table {
  result<void> (*load)(const batch_request& request);  ///< one for each memory space
  result<void> (*view)(void* target, const tensor_spec& wanted, void* out);
  bool (*peek)(void* target, void* out);  ///< before anything is known; false if it is refused
  void (*mark)(void* target, bool loaded);
};

/// A name and a target behind a table of functions.
struct bound_target {
  std::string name;
  const target_table* table = nullptr;
  void* target = nullptr;
  bool casts = false;  ///< whatever the options say

  void mark(bool loaded) const { table->mark(target, loaded); }
};

/// What batches need of a checkpoint beyond its public members.
struct checkpoint_access {
  /// `f(array, view of the target, how to read)`, once all is found to fit.
  template <memory_space Space, class F>
  static result<void> with_target(const batch_request& in, const bound_target& target, F&& f) {
    const checkpoint& from = in.from;
    return from.with_leaf("load", target.name,
                          [&](const detail::stored_leaf& leaf) -> result<void> {
                            ZARRPOINT_TRY(source, from.open_leaf(leaf, in.options));
                            ZARRPOINT_TRY(wanted, wanted_spec(source, target.name, in.options));
                            mutable_tensor_view<Space> view;
                            ZARRPOINT_CHECK(target.table->view(target.target, wanted, &view));
                            const bool casts = target.casts || in.options.cast;
                            ZARRPOINT_CHECK(check_type(wanted.type, view.type, {.cast = casts}));
                            return f(source, view, from.options_of(in.options));
                          });
  }

  /// `f(leaf, array, its spec)` of a leaf that becomes a value of a type still to be chosen.
  template <class F>
  static result<void> with_array(const checkpoint& from, std::string_view name,
                                 const load_options& options, F&& f) {
    return from.with_leaf("load", name, [&](const detail::stored_leaf& leaf) -> result<void> {
      ZARRPOINT_TRY(source, from.open_leaf(leaf, options));
      ZARRPOINT_TRY(wanted, wanted_spec(source, name, options));
      return f(leaf, source, wanted);
    });
  }
  static const checkpoint_contents& contents(const checkpoint& of) { return of.contents(); }
  /// The same for all handles of an open checkpoint, and not for another one that comes later.
  static std::weak_ptr<const void> identity(const checkpoint& of) { return of.state_; }
  static const any_store& store(const checkpoint& of) { return of.store(); }
  static error explain(const checkpoint& of, error failure) {
    return of.explain(std::move(failure));
  }
  /// As `as_array`, but its reads do not ask whether the checkpoint was replaced.
  static result<array> as_plain_array(const checkpoint& of, std::string_view name) {
    return of.with_leaf("open", name, [&](const detail::stored_leaf& leaf) -> result<array> {
      ZARRPOINT_TRY(opened, of.open_leaf(leaf));
      if (opened.expected() == nullptr) return std::move(opened);
      return opened.expecting(std::shared_ptr<const chunk_digests>(of.state_, opened.expected()));
    });
  }
  static result<load_options> options_of_each(const checkpoint& of, const load_options& options) {
    return of.options_of_each(options);
  }
  static scratch_account account_of(const checkpoint& from) { return from.new_account(); }
  static checkpoint counting_in(const checkpoint& from, scratch_account& whole) {
    return from.counting_in(whole);
  }
  static std::string_view kind_of(const detail::stored_leaf& leaf) {
    return checkpoint::kind_of_leaf(leaf);
  }
  template <class T, class Handler, class... More>
  static result<T> load(const checkpoint& from, const More&... more) {
    return from.load_from<T, Handler>(more...);
  }
  /// A value on a device for the leaf, not filled yet.
  template <class T, class Handler, class Space>
  static result<T> make(const checkpoint& from, const tensor_spec& wanted,
                        const place<Space>& where) {
    return from.make_value<T, Handler>(wanted, where);
  }
  template <class Handler>
  static result<tensor_spec> wanted_by(const detail::stored_leaf& leaf, const array& source,
                                       const load_options& options) {
    constexpr dtype type = handler_dtype<Handler>();  // as in `load_from`
    return wanted_as(type, leaf, source, options);
  }
};

// Many leaves into as many targets at a time.

/// Devices: defined in checkpoint/load/device_batch.hpp.
template <class Space>
result<void> load_device_batch(const batch_request& in);

/// Loads into targets of one memory space; those that got their elements are marked as loaded.
/// Errors: the first by the order of the targets, of those that a device is given together.
template <memory_space Space>
result<void> load_batch(const batch_request& in) {
  if constexpr (Space::host_accessible) {
    const context& how = in.from.how();
    memory_bound_for leaves(how.executor, in.targets.size(), {.stop = how.stop});
    return leaves.run(
        [&](std::size_t i) -> result<void> {
          const bound_target& target = *in.targets[i];
          ZARRPOINT_CHECK(checkpoint_access::with_target<Space>(
              in, target,
              [&](const array& from, const mutable_tensor_view<Space>& into,
                  const read_options& options) -> result<void> {
                ZARRPOINT_CHECK(read_to_space(from, into, options));
                if (in.options.report != nullptr) in.options.report->end(target.name, into.spec());
                return {};
              }));
          target.mark(true);
          return {};
        },
        [&](std::size_t refused) {
          drop_idle_scratch(how);
          return refused;
        });
  } else {
    return load_device_batch<Space>(in);
  }
}

/// Loads into all targets: those of one memory space after those of another, in the order in which
/// the first of each stands.
result<void> load_targets(const checkpoint& from, std::span<const bound_target* const> targets,
                          const load_options& options);

}}}  // namespace zarrpoint::v0::detail
