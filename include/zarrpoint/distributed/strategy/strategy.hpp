// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/strategy/jobs.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

// How a checkpoint of many processes is written and read: four actions, each by a strategy that is
// chosen by (backend, version). A program's own stand beside ours in a list of types.

namespace zarrpoint { inline namespace v0 {

/// What a strategy does.
enum class strategy_action : std::uint8_t { load_common, load_sharded, save_common, save_sharded };

/// The enumerator's name, e.g. `"load_common"`.
constexpr std::string_view to_string(strategy_action action) noexcept {
  switch (action) {
    case strategy_action::load_common: return "load_common";
    case strategy_action::load_sharded: return "load_sharded";
    case strategy_action::save_common: return "save_common";
    case strategy_action::save_sharded: return "save_sharded";
  }
  return "unknown";
}

/// What every strategy says of itself: `static constexpr std::string_view name, backend; static
/// constexpr int version; static constexpr strategy_action action`.
template <class S>
concept strategy = requires {
  { S::name } -> std::convertible_to<std::string_view>;
  { S::backend } -> std::convertible_to<std::string_view>;
  { S::version } -> std::convertible_to<int>;
  { S::action } -> std::convertible_to<strategy_action>;
}
&&std::copy_constructible<S>;  // last, or constructors from a strategy would ask themselves

/// Writes what all processes have in common; called on rank 0 alone. A member `result<void>
/// check_plan(const json& common, std::span<const planned_array>) const` refuses what it cannot
/// store beside these arrays, before anything is staged.
template <class S>
concept common_saver = strategy<S> && S::action ==
                       strategy_action::save_common&& requires(const S& s, const save_job& job,
                                                               const json& common) {
  { s.save_common(job, common) } -> std::same_as<result<std::vector<leaf_record>>>;
};

/// Writes shards. `layout` says how an array is stored (rank 0). `write` writes this process's
/// cells and objects, without a word to the other processes, maybe in the background, and gives a
/// receipt. `finish` writes, on rank 0, what makes a checkpoint of it. A saver may have a member
/// `result<bool> is_checkpoint(const any_store& root) const`. What that says is a checkpoint may be
/// overwritten (if `save_options::overwrite` is set), in place of ours. A member
/// `result<std::vector<std::string>> paths_of(const any_store& root) const` says which files and
/// directories of it are the checkpoint, and all else is kept. Without it all of the directory is.
/// A member `result<void> check_plan(std::span<const planned_array>, std::span<const
/// planned_object>) const` refuses, on rank 0, what it cannot store, before anything is staged.
/// Where `static constexpr bool stores_flat_pieces` is true, each process writes its own flat
/// pieces of cells (`cell_write::piece`); otherwise one has them all sent, and writes the cell.
/// Where `static constexpr bool stores_whole_tensors` is true, a tensor is one cell: one process
/// has all of its shards sent, within `limits::memory`, and writes it.
/// Where `static constexpr bool stores_zarr` is false, no reader of Zarr opens what it stores, and
/// no warning says what such readers lack.
template <class S>
concept sharded_saver = strategy<S> && S::action ==
                        strategy_action::save_sharded&& requires(const S& s, const save_job& job,
                                                                 const shard_writes& mine,
                                                                 const save_receipts& all) {
  { s.layout(job, all.arrays.front().tensor) } -> std::same_as<result<array_metadata>>;
  { s.write(job, mine) } -> std::same_as<result<message>>;
  { s.finish(job, all) } -> std::same_as<result<void>>;
};

/// Reads what all processes have in common. Before a loader of either kind reads, it is asked
/// whether it can read what wrote the checkpoint, by its members `result<void>
/// check_backend(std::string_view) const` and `result<void> check_version(int) const`. One that has
/// no such member takes its own backend, or its own version, and nothing else.
template <class S>
concept common_loader = strategy<S> && S::action ==
                        strategy_action::load_common&& requires(const S& s, const load_job& job) {
  { s.load_common(job) } -> std::same_as<result<json>>;
};

/// Opens the sharded part of a checkpoint. Whether it has objects is for the reader to say.
template <class S>
concept sharded_loader = strategy<S> && S::action ==
                         strategy_action::load_sharded&& requires(const S& s, const load_job& job) {
  { s.open(job) } -> std::same_as<result<std::shared_ptr<sharded_reader>>>;
};

namespace detail {

struct strategy_interface {
  virtual ~strategy_interface() = default;
  virtual result<void> check_backend(std::string_view) const { return {}; }
  virtual result<void> check_version(int) const { return {}; }
};

/// `strategy loader(zarr, 3) does not read <what>, which wrote the checkpoint`.
error refuse_to_read(std::string_view name, const strategy_id& own, const std::string& what);

template <class S>
result<void> check_backend_of(const S& self, std::string_view backend) {
  if constexpr (requires { self.check_backend(backend); }) {
    return self.check_backend(backend);
  } else {
    static_assert(
        !requires(S & changing) { changing.check_backend(backend); },
        "zarrpoint: check_backend of a loader must be const");
    if (backend == S::backend) return {};
    return refuse_to_read(S::name, {std::string(S::backend), S::version},
                          "backend \"" + std::string(backend) + "\"");
  }
}
template <class S>
result<void> check_version_of(const S& self, int version) {
  if constexpr (requires { self.check_version(version); }) {
    return self.check_version(version);
  } else {
    static_assert(
        !requires(S & changing) { changing.check_version(version); },
        "zarrpoint: check_version of a loader must be const");
    if (version == S::version) return {};
    return refuse_to_read(S::name, {std::string(S::backend), S::version},
                          "version " + std::to_string(version));
  }
}
struct common_saver_interface : strategy_interface {
  virtual result<void> check_plan(const json&, std::span<const planned_array>) const = 0;
  virtual result<std::vector<leaf_record>> save_common(const save_job&, const json&) const = 0;
};
struct sharded_saver_interface : strategy_interface {
  virtual result<array_metadata> layout(const save_job&, const planned_tensor&) const = 0;
  virtual result<void> check_plan(std::span<const planned_array>,
                                  std::span<const planned_object>) const = 0;
  virtual result<message> write(const save_job&, const shard_writes&) const = 0;
  virtual result<void> finish(const save_job&, const save_receipts&) const = 0;
  virtual bool stores_flat_pieces() const = 0;
  virtual bool stores_whole_tensors() const = 0;
  virtual bool stores_zarr() const = 0;
  /// Whether it says what a checkpoint of it is: `is_checkpoint`. Else it is one of ours.
  virtual bool has_own_format() const = 0;
  virtual result<bool> is_checkpoint(const any_store&) const = 0;
  /// Nothing for a saver that does not say.
  virtual result<std::optional<std::vector<std::string>>> paths_of(const any_store&) const = 0;
};
struct common_loader_interface : strategy_interface {
  virtual result<json> load_common(const load_job&) const = 0;
};
struct sharded_loader_interface : strategy_interface {
  virtual result<std::shared_ptr<sharded_reader>> open(const load_job&) const = 0;
};

template <class S>
struct strategy_model;
template <common_saver S>
struct strategy_model<S> final : common_saver_interface {
  explicit strategy_model(S from) : self(std::move(from)) {}
  result<void> check_plan(const json& common, std::span<const planned_array> arrays) const final {
    if constexpr (requires { self.check_plan(common, arrays); }) {
      return self.check_plan(common, arrays);
    } else {
      return {};
    }
  }
  result<std::vector<leaf_record>> save_common(const save_job& job,
                                               const json& common) const final {
    return self.save_common(job, common);
  }
  S self;
};
template <sharded_saver S>
struct strategy_model<S> final : sharded_saver_interface {
  explicit strategy_model(S from) : self(std::move(from)) {}
  result<array_metadata> layout(const save_job& job, const planned_tensor& one) const final {
    return self.layout(job, one);
  }
  result<void> check_plan(std::span<const planned_array> arrays,
                          std::span<const planned_object> objects) const final {
    if constexpr (requires { self.check_plan(arrays, objects); }) {
      return self.check_plan(arrays, objects);
    } else {
      return {};
    }
  }
  result<message> write(const save_job& job, const shard_writes& mine) const final {
    return self.write(job, mine);
  }
  result<void> finish(const save_job& job, const save_receipts& all) const final {
    return self.finish(job, all);
  }
  bool stores_flat_pieces() const final {
    if constexpr (requires { S::stores_flat_pieces; }) {
      return S::stores_flat_pieces;
    } else {
      return false;
    }
  }
  bool stores_whole_tensors() const final {
    if constexpr (requires { S::stores_whole_tensors; }) {
      return S::stores_whole_tensors;
    } else {
      return false;
    }
  }
  bool stores_zarr() const final {
    if constexpr (requires { S::stores_zarr; }) {
      return S::stores_zarr;
    } else {
      return true;
    }
  }
  bool has_own_format() const final {
    return requires(const any_store& root) { self.is_checkpoint(root); };
  }
  result<bool> is_checkpoint(const any_store& root) const final {
    if constexpr (requires { self.is_checkpoint(root); }) {
      return self.is_checkpoint(root);
    } else {
      return false;
    }
  }
  result<std::optional<std::vector<std::string>>> paths_of(const any_store& root) const final {
    if constexpr (requires { self.paths_of(root); }) {
      ZARRPOINT_TRY(out, self.paths_of(root));
      return std::optional<std::vector<std::string>>(std::move(out));
    } else {
      return std::optional<std::vector<std::string>>();
    }
  }
  S self;
};
template <common_loader S>
struct strategy_model<S> final : common_loader_interface {
  explicit strategy_model(S from) : self(std::move(from)) {}
  result<json> load_common(const load_job& job) const final { return self.load_common(job); }
  result<void> check_backend(std::string_view backend) const final {
    return check_backend_of(self, backend);
  }
  result<void> check_version(int version) const final { return check_version_of(self, version); }
  S self;
};
template <sharded_loader S>
struct strategy_model<S> final : sharded_loader_interface {
  explicit strategy_model(S from) : self(std::move(from)) {}
  result<std::shared_ptr<sharded_reader>> open(const load_job& job) const final {
    return self.open(job);
  }
  result<void> check_backend(std::string_view backend) const final {
    return check_backend_of(self, backend);
  }
  result<void> check_version(int version) const final { return check_version_of(self, version); }
  S self;
};

template <class S>
inline constexpr bool is_whole_strategy =
    common_saver<S> || sharded_saver<S> || common_loader<S> || sharded_loader<S>;

template <class A, class B>
struct same_strategy
    : std::bool_constant<A::action == B::action && A::version == B::version &&
                         std::string_view(A::backend) == std::string_view(B::backend)> {};

}  // namespace detail

/// A strategy of any type, or empty. A cheap handle.
class any_strategy {
 public:
  any_strategy() = default;
  template <strategy S>
  any_strategy(S from)  // NOLINT(google-explicit-constructor)
      : name_(S::name),
        id_{std::string(S::backend), S::version},
        companion_(companion_of<S>()),
        action_(S::action),
        model_(model_of(std::move(from))) {}

  explicit operator bool() const noexcept { return model_ != nullptr; }
  const std::string& name() const noexcept { return name_; }
  /// Of a saver of shards, which strategy of the common state goes with it unless another is
  /// chosen: its `static strategy_id companion()`, or (json, 1).
  const strategy_id& companion() const noexcept { return companion_; }
  const strategy_id& id() const noexcept { return id_; }
  strategy_action action() const noexcept { return action_; }

  /// Whether a loader reads what `wrote` a checkpoint. Errors: `unsupported`, or those of its own
  /// `check_backend` and `check_version`.
  result<void> check_reads(const strategy_id& wrote) const;

  /// What does the action; null if it is another's.
  const detail::common_saver_interface* common_saver() const noexcept {
    return as<detail::common_saver_interface>(strategy_action::save_common);
  }
  const detail::sharded_saver_interface* sharded_saver() const noexcept {
    return as<detail::sharded_saver_interface>(strategy_action::save_sharded);
  }
  const detail::common_loader_interface* common_loader() const noexcept {
    return as<detail::common_loader_interface>(strategy_action::load_common);
  }
  const detail::sharded_loader_interface* sharded_loader() const noexcept {
    return as<detail::sharded_loader_interface>(strategy_action::load_sharded);
  }

 private:
  template <class Interface>
  const Interface* as(strategy_action action) const noexcept {
    return model_ != nullptr && action_ == action ? static_cast<const Interface*>(model_.get())
                                                  : nullptr;
  }

  template <class S>
  static std::shared_ptr<const detail::strategy_interface> model_of(S from) {
    constexpr bool whole = detail::is_whole_strategy<S>;
    static_assert(whole,
                  "zarrpoint: a strategy lacks a member of its action: save_common needs "
                  "save_common(job, json); save_sharded needs layout, write and finish; "
                  "load_common needs load_common(job); load_sharded needs open(job)");
    if constexpr (whole) {
      return detail::make_counted<const detail::strategy_model<S>>(std::move(from));
    } else {
      return nullptr;
    }
  }

  template <class S>
  static strategy_id companion_of() {
    if constexpr (requires { S::companion(); }) {
      return S::companion();
    } else {
      return {"json", 1};
    }
  }

  std::string name_;
  strategy_id id_;
  strategy_id companion_;
  strategy_action action_ = strategy_action::load_common;
  std::shared_ptr<const detail::strategy_interface> model_;
};

/// `"zarr_save(zarr, 3)"`.
std::string to_string(const any_strategy& one);

/// The strategies that a program has, by what they do and for which backend. A cheap handle.
class strategy_table {
 public:
  strategy_table() = default;
  explicit strategy_table(std::vector<any_strategy> entries);

  std::span<const any_strategy> entries() const noexcept;

  /// The one that does `action` for `id`. Errors: `unsupported`, listing those that there are, and
  /// telling an unknown version from an unknown backend.
  result<any_strategy> find(strategy_action action, const strategy_id& id) const;

 private:
  std::shared_ptr<const std::vector<any_strategy>> entries_;
};

/// A list of strategies as a type. `with` adds some, each in place of one that does the same for
/// the same backend and version. Two of one list that do the same do not compile.
template <class... S>
struct strategies {
  static_assert(detail::all_differ<detail::same_strategy>(detail::type_list<S...>{}),
                "zarrpoint: two strategies of a list have the same action, backend and version; "
                "with<...> overrides one");

  template <class... More>
  using with =
      typename detail::replaced_by<strategies, detail::same_strategy, detail::type_list<More...>,
                                   detail::type_list<S...>>::type;

  static strategy_table table() { return strategy_table({any_strategy(S{})...}); }
};

}}  // namespace zarrpoint::v0
