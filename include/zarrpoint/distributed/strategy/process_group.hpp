// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/strategy/zarr_strategies.hpp>

#include <variant>

namespace zarrpoint { inline namespace v0 {

/// What this library can write and read; `megatron.hpp` adds the layout of others.
using default_strategies =
    strategies<zarr_saver, zarr_loader, json_common_saver, json_common_loader>;

/// The processes that save or load together, as this one sees them, and how it works.
struct process_group {
  any_communicator ranks{};  ///< this process alone by default
  context how = default_context();
  strategy_table known = default_strategies::table();
};

/// A strategy, or the (backend, version) pair of one in the group's table.
class strategy_choice {
 public:
  strategy_choice(strategy_id id)
      : choice_(std::move(id)) {}  // NOLINT(google-explicit-constructor)
  strategy_choice(std::string_view backend, int version);
  template <strategy S>
  strategy_choice(S one)  // NOLINT(google-explicit-constructor)
      : choice_(any_strategy(std::move(one))) {}
  strategy_choice(any_strategy one)
      : choice_(std::move(one)) {}  // NOLINT(google-explicit-constructor)

  /// The strategy itself. Errors: `unsupported`; `invalid_argument` for one of another action.
  result<any_strategy> resolve(strategy_action action, const strategy_table& known) const;

 private:
  std::variant<strategy_id, any_strategy> choice_;
};

namespace detail {

/// Groups are those of all processes, or there are none. Errors: `invalid_argument`.
result<void> check_groups(const std::vector<int>& groups, int processes);

}  // namespace detail

/// How processes save together. All give the same; what rank 0 gives counts where it decides.
struct group_save_options {
  /// Shards are stored as processes hold them: another `shard_shape` of a rule is
  /// `invalid_argument`. So is all that a saver's layout does not have: in Megatron-Core's of a
  /// rule all but `cast`, and attributes. A `format` decides in place of `sharded`.
  save_options storage{};
  strategy_choice sharded{"zarr", 3};
  std::optional<strategy_choice> common{};  ///< nothing: the one that goes with `sharded`
  /// Compare the shards of all processes before anything is written: each element of each tensor
  /// exactly once.
  bool validate = true;
  /// Which of the processes that hold a replica of a shard stores it. It is the one with the main
  /// replica, or, to spread the bytes evenly, one of those that have as few as possible to store.
  bool fully_parallel = false;
  /// With `fully_parallel`: in which group each process is, by rank (see `rank_mesh::group_of`). A
  /// shard is the business of the group of its main replica. Empty: all are one group.
  std::vector<int> groups{};
  json content_metadata{};  ///< what the state is, for `load_content_metadata`; null: nothing
  /// What of the common state is compared between processes, where it may differ by design: a copy
  /// without a rank's own seeds or times. What rank 0 has is stored, whole. Nothing: all of it.
  std::function<json(json)> compared_common{};
};

/// What becomes of keys that only one side has (Megatron-Core's StrictHandling). *Unexpected* keys
/// are asked for by this process and not in the checkpoint; *missing* ones are in the checkpoint
/// and asked for by no process.
enum class strictness : std::uint8_t {
  assume_ok_unexpected,  ///< the loader's own error for unexpected keys; missing ones do not matter
  log_unexpected,        ///< unexpected keys are left out, with a warning
  log_all,               ///< and a warning for missing ones
  raise_unexpected,      ///< an error for unexpected keys, on all processes
  raise_all,             ///< and for missing ones
  return_unexpected,     ///< unexpected keys are left out and reported
  return_all,            ///< and missing ones are reported
  ignore_all,            ///< unexpected keys are left out
};

/// The enumerator's name, e.g. `"log_all"`.
constexpr std::string_view to_string(strictness mode) noexcept {
  switch (mode) {
    case strictness::assume_ok_unexpected: return "assume_ok_unexpected";
    case strictness::log_unexpected: return "log_unexpected";
    case strictness::log_all: return "log_all";
    case strictness::raise_unexpected: return "raise_unexpected";
    case strictness::raise_all: return "raise_all";
    case strictness::return_unexpected: return "return_unexpected";
    case strictness::return_all: return "return_all";
    case strictness::ignore_all: return "ignore_all";
  }
  return "unknown";
}

/// The mode of that name. Errors: `invalid_argument`, "Invalid strict flag".
result<strictness> parse_strictness(std::string_view text);

/// How processes load together.
struct group_load_options {
  /// Rules by key: `cast` allows a conversion to that type, `shape` another extent than that of the
  /// stored tensor. A request of another type or global shape than its rule has is
  /// `invalid_argument`.
  load_options storage{};
  strictness strict = strictness::assume_ok_unexpected;
  /// Compare what all processes ask for before anything is read: each element of each tensor, by
  /// just one main replica. False for requests that do not tile: a part of a tensor, or all of it
  /// as the main replica of several processes.
  bool validate = true;
  /// What several processes ask for is read by one of them, which sends it to the others; so are
  /// inner chunks of which they want different parts.
  bool read_once = false;
  /// With `read_once`: in which group each process is, by rank; what the processes of a group ask
  /// for is read by one of them. Empty: all are one group.
  std::vector<int> groups{};
  std::optional<strategy_choice> sharded{};  ///< nothing: what the checkpoint names
  /// The same; `no_common_loader{}` where what is common is not wanted, or cannot be read.
  std::optional<strategy_choice> common{};
  /// What stands for elements beyond the stored shape of a tensor that may have another one
  /// (`shard_metadata::allow_shape_mismatch`, a rule's `shape`).
  shard_padding padding = shard_padding::zeros;
};

}}  // namespace zarrpoint::v0
