// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/plan/save_plan.hpp>
#include <zarrpoint/distributed/shard/sharded_object.hpp>
#include <zarrpoint/handler/staging.hpp>
#include <zarrpoint/memory/element_source.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What strategies are handed, and what they give back.

namespace zarrpoint { inline namespace v0 {

/// What a checkpoint's metadata name: the format, and which version of it.
struct strategy_id {
  std::string backend;
  int version = 0;

  friend bool operator==(const strategy_id&, const strategy_id&) = default;
};

/// `"(zarr, 3)"`.
std::string to_string(const strategy_id& id);

/// Where a save writes, and how.
struct save_job {
  any_store store;         ///< its root becomes the checkpoint; out of sight until the commit
  save_options options{};  ///< `attributes_of` sorted by name, null for an object without members
  context how{};
  int rank = 0;  ///< of this process in its group
};

/// A global tensor with what is decided of its storage.
struct planned_array {
  planned_tensor tensor{};
  array_metadata metadata{};
  json document{};  ///< the same as `zarr.json` or `.zarray`
};

/// A cell that this process writes, which is one stored object.
struct cell_write {
  box part{};  ///< of the global tensor
  /// Which of the part's elements, in row-major order, are written: a flat piece, of rank 1.
  std::optional<flat_range> piece{};
  /// Its elements where the host can read them: of the part's shape, those of a piece of rank 1.
  std::function<result<staged>(memory_resource&)> stage{};
  /// The same part by part, for elements on a device; empty for others.
  std::function<result<std::unique_ptr<element_source>>(const context&)> source{};
  bool reads_once = false;  ///< `source` gives them once: of a copy that is given up with them
};

/// The cells of one array that this process writes.
struct array_writes {
  const planned_array* array = nullptr;
  bool puts_document = false;  ///< one process does, for each array
  std::vector<cell_write> cells{};
};

/// All that one process writes.
struct shard_writes {
  std::vector<array_writes> arrays{};
  std::vector<sharded_object> objects{};
  std::vector<object_id> first_objects{};  ///< grids whose metadata this process puts
};

/// An object of the program's that a process writes.
struct planned_object {
  object_id id{};
  int writer = 0;
};

/// What rank 0 has when all processes have written.
struct save_receipts {
  std::vector<planned_array> arrays{};  ///< in the order of their keys
  std::vector<object_id> objects{};     ///< every grid of objects; its offsets mean nothing
  std::vector<message> receipts{};      ///< what `write` gave, by rank
  std::vector<leaf_record> common{};    ///< what `save_common` gave
  strategy_id common_strategy{};
  /// What had to be written, by which process: those of an array begin at its `first_cell`. Of a
  /// cell in flat pieces that are written one by one there is one for each.
  std::span<const planned_cell> cells{};
  std::span<const planned_object> written_objects{};  ///< in the order of their keys
};

namespace detail {

/// What is opened once for a job. A copy of the job may be given another store or context: it has
/// nothing yet.
class opened_once {
 public:
  opened_once() = default;
  opened_once(const opened_once&) noexcept {}
  opened_once& operator=(const opened_once& other) noexcept;
  ~opened_once() = default;

  template <class F>
  result<checkpoint> get(const F& open) const {
    const std::lock_guard lock(mutex_);
    if (!opened_) {
      ZARRPOINT_TRY(first, open());
      opened_ = std::move(first);
    }
    return *opened_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::optional<checkpoint> opened_;
};

}  // namespace detail

/// Where a load reads, and how.
struct load_job {
  any_store store;  ///< its root is the checkpoint
  std::string name;
  load_options options{};
  context how{};
  /// The hierarchy, once one of a load's strategies has opened it: half of what a load of small
  /// tensors takes is to read what there is.
  detail::opened_once opened{};

  /// The same hierarchy for all strategies of a load; any number of threads may ask. A job that is
  /// to read from another store is a copy, which opens its own. Errors: those of
  /// `checkpoint::open`.
  result<checkpoint> open() const;
};

/// A global tensor of a checkpoint.
struct stored_tensor {
  std::string key;
  tensor_spec spec;
  dims chunk_shape;  ///< of a stored object
  dims read_unit{};  ///< of what is read for itself, if that is less: an inner chunk
};

/// The sharded part of an open checkpoint: its members may be called by any number of threads.
class sharded_reader {
 public:
  sharded_reader() = default;
  sharded_reader(const sharded_reader&) = delete;
  sharded_reader& operator=(const sharded_reader&) = delete;
  virtual ~sharded_reader() = default;

  /// Another one for each save, so that processes know whether they opened the same checkpoint;
  /// empty where the format has no such thing.
  virtual std::string identity() const { return {}; }
  /// Sorted by key.
  virtual std::span<const stored_tensor> tensors() const = 0;
  /// Every grid of objects, sorted by key; its offsets mean nothing. None where the format has no
  /// objects.
  virtual std::span<const object_id> objects() const { return {}; }

  /// Reads a part of a tensor, cast to the view's dtype. Errors: `not_found`, `out_of_range`,
  /// `corrupt`, `io`, each naming the key and the chunk.
  virtual result<void> read(std::string_view key, const box& part,
                            const mutable_host_view& into) const = 0;
  /// The bytes of one object. Errors: `not_found`, `shape_mismatch` for a grid of another shape,
  /// `corrupt`, `io`, `unsupported` where the format has no objects.
  ZARRPOINT_NO_KEY virtual result<message> read_object(const object_id& id) const;
  /// Takes what has keys that begin with `prefix` out of the checkpoint, whose root is that of
  /// `store`; the keys. Errors: `unsupported` where the format cannot.
  ZARRPOINT_NO_KEY virtual result<std::vector<std::string>> remove(const any_store& store,
                                                                   std::string_view prefix) const;
};

namespace detail {

/// The entry of that key; null if there is none.
template <class T>
const T* find_by_key(std::span<const T> sorted, std::string_view key) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), key,
                                   [](const T& one, std::string_view k) { return one.key < k; });
  return at != sorted.end() && at->key == key ? &*at : nullptr;
}

}  // namespace detail

}}  // namespace zarrpoint::v0
