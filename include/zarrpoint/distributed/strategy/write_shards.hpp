// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/progress_meter.hpp>

#include <cstdint>
#include <map>

// What savers of shards have in common: the cells of a process one by one, and receipts, by which
// rank 0 knows that all that was planned is written.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Digests of what was written: of each array, or key of objects.
using digests_of_arrays = std::map<std::string, chunk_digests, std::less<>>;

/// Digests as a message.
message encode_digests(const digests_of_arrays& arrays);

/// Adds the digests of a message. Errors: `corrupt`, also where one object is there twice.
result<void> decode_digests(bytes_view from_rank, digests_of_arrays& into);

/// Compares the receipts of all processes, by rank, with the plan.
class receipt_check {
 public:
  explicit receipt_check(std::span<const digests_of_arrays> of_ranks)
      : of_ranks_(of_ranks), of_writers_(of_ranks.size()) {}

  /// What `look_for` looks for from here on is of this array.
  void begin(std::string_view array);

  /// `name`: of what was planned, relative to its array. A receipt of anybody but the writer does
  /// not count. `may_be_absent`: whether it need not be there, being of fill values only.
  void look_for(const std::string& name, int writer, bool may_be_absent);

  /// Errors: `corrupt`.
  result<void> done() const;

 private:
  /// What a process wrote of an array, looked for once for all its cells.
  struct of_writer {
    std::size_t array = 0;
    const chunk_digests* digests = nullptr;
  };

  const object_digest* find(const std::string& name, int writer);

  std::span<const digests_of_arrays> of_ranks_;
  std::vector<of_writer> of_writers_;
  std::string_view array_;
  std::size_t arrays_ = 0;  // how many there were so far
  std::size_t planned_ = 0;
  std::size_t missing_ = 0;
  std::string named_;
};

/// All receipts together: what was not written must not become a checkpoint, whatever the writers
/// said. `name_of(object_id)`: by what name `write` gave the digest of an object of the program's;
/// `may_be_absent`: whether cells of fill values need not be there. Errors: `corrupt`, naming what
/// is missing and who had to write it.
template <class F>
result<digests_of_arrays> read_receipts(const save_receipts& all, bool may_be_absent,
                                        const F& name_of) {
  std::vector<digests_of_arrays> of_ranks(all.receipts.size());
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank)
    ZARRPOINT_CHECK(decode_digests(all.receipts[rank], of_ranks[rank])
                        .at("receipt of rank " + std::to_string(rank)));
  receipt_check check(of_ranks);
  for (const planned_array& array : all.arrays) {
    const planned_tensor& tensor = array.tensor;
    check.begin(tensor.key);
    for (const planned_cell& cell : all.cells.subspan(tensor.first_cell, tensor.cells))
      check.look_for(array.metadata.keys.key(tensor.grid.place(cell.index)), cell.writer,
                     may_be_absent);
  }
  for (const planned_object& one : all.written_objects) {
    check.begin(one.id.key);
    check.look_for(name_of(one.id), one.writer, false);
  }
  ZARRPOINT_CHECK(check.done());
  digests_of_arrays out;
  for (digests_of_arrays& arrays : of_ranks) {
    for (const auto& [key, digests] : arrays) out[key].merge(digests);
    arrays.clear();
  }
  return out;
}

class pin_times;

/// A cell to write, how, and where its digest goes.
struct cell_job {
  const planned_array& array;
  const cell_write& cell;
  const context& how;
  chunk_digests& digests;

  /// Writes the elements to the cell's place: from the host, or as they come from a device.
  /// `pinned`: where it is noted what memory was pinned for it; or null.
  result<void> write_to(const zarrpoint::array& to, write_options options,
                        pin_times* pinned = nullptr) const;
};

/// Calls `write(const cell_job&)` for each cell of a process, as the executor of `given` does; what
/// it says of its progress goes there. Where memory does not suffice for several, some are written
/// again, one after another, if their elements can be read again. The digests of all.
template <class F>
result<digests_of_arrays> write_cells(const context& given, const shard_writes& mine,
                                      const F& write) {
  struct step {
    const planned_array* array;
    const cell_write* cell;
    std::uint64_t bytes;
  };
  std::vector<step> steps;
  std::uint64_t bytes = 0;
  for (const array_writes& one : mine.arrays) {
    for (const cell_write& cell : one.cells) {
      const std::size_t size = one.array->tensor.type.size();
      steps.push_back({one.array, &cell, byte_count(cell.part.shape, size).value_or(0)});
      bytes += steps.back().bytes;
    }
  }
  context how = given;
  how.progress = {};  // of the whole, not of each cell
  progress_meter meter(&given.progress, "save", bytes);
  digests_of_arrays out;
  std::mutex merging;
  const auto run = [&](std::size_t i) -> result<void> {
    const std::string& key = steps[i].array->tensor.key;
    chunk_digests own;
    ZARRPOINT_CHECK(
        write(cell_job{*steps[i].array, *steps[i].cell, how, own}).at("save " + in_quotes(key)));
    meter.add(key, steps[i].bytes);
    const std::lock_guard lock(merging);
    out[key].merge(own);
    return {};
  };
  memory_bound_for cells(how.executor, steps.size(), {.stop = how.stop});
  ZARRPOINT_CHECK(cells.run(run, [&](std::size_t refused) {
    if (how.scratch != nullptr) how.scratch->drop_idle();
    // A copy on a device may have been read. Then the error is why, not that it is gone.
    for (std::size_t i = refused; i < steps.size(); ++i)
      if (steps[i].cell->reads_once) return std::optional<std::size_t>();
    return std::optional(refused);
  }));
  return out;
}

}}}  // namespace zarrpoint::v0::detail
