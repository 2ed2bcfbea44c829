// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/read/object_table.hpp>
#include <zarrpoint/array/write/shard_writer.hpp>
#include <zarrpoint/array/write/source_reader.hpp>

#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// One call of `array::write`.
class write_operation {
 public:
  write_operation(const array_state& of, const context& how, const host_view& from,
                  const write_options& options)
      : write_operation(of, how, from.spec(), options) {
    from_ = &from;
  }
  /// With elements that are read from `source` part by part, ahead of the encoding.
  write_operation(const array_state& of, const context& how, element_source& source,
                  const write_options& options)
      : write_operation(of, how, source.spec(), options) {
    source_ = &source;
  }

  result<void> run(const selection& part, progress_meter& meter);

 private:
  write_operation(const array_state& of, const context& how, const tensor_spec& from,
                  const write_options& options);

  result<void> write(std::size_t i);
  /// Gives up what is held for items from `refused` on; the one to begin again with, if any can be.
  std::optional<std::size_t> begin_again(std::size_t refused);

  result<void> write(std::size_t i, const read_ahead::item* claimed);

  /// Whether the object keeps nothing of what it held before.
  bool covers(const plan_item& item) const;

  result<std::unique_ptr<stored_object>> open_before(const plan_item& item, const std::string& key);

  /// The scratch bytes of an inner chunk; one that is read alone takes some for that, too.
  std::size_t cost(const plan_item& item) const;
  /// Of its elements that are written.
  std::size_t bytes_of(const plan_item& item) const;

  /// Encodes an inner chunk. `claimed`: when its elements come from a source.
  result<encoded_chunk> encode(const plan_item& item, const read_ahead::item* claimed,
                               const stored_object* before);

  result<void> write_chunk(const plan_item& item, const read_ahead::item* claimed);

  result<void> write_in_shard(std::size_t i, const plan_item& item,
                              const read_ahead::item* claimed);

  /// Where few of the inner chunks of many objects are touched: each object by itself.
  result<void> write_each_object();

  /// Begins to write the one shard of a plan of what is touched. It is extended, if that can be and
  /// is worth it, else all of it is written, `all` inner chunks. Null where there is no memory for
  /// it.
  result<std::shared_ptr<shard_writer>> begin_one(const box_plan& touched, std::size_t all);

  result<std::shared_ptr<shard_writer>> make_writer(const plan_item& item, const std::string& key);

  /// The inner chunks of the plan.
  result<void> write_all();

  /// True when this was what the shard waited for.
  result<bool> write_inner(shard_writer& shard, std::size_t position, const plan_item& item,
                           const read_ahead::item* claimed);

  void collect(const std::string& key, object_digest digest);

  const array_state& of_;
  const context& how_;
  const write_options& options_;
  const array_scratch pool_;
  const chunk_encoder encoder_;
  const host_view* from_ = nullptr;  // one of these two
  element_source* source_ = nullptr;
  selection part_;
  progress_meter* meter_ = nullptr;
  box_plan plan_;
  std::optional<source_reader> reader_;  // of `source_`
  std::size_t window_ = 1;
  object_table<shard_writer> shards_;
  std::shared_ptr<shard_writer> one_;  // of all items, if they are of one shard
  std::mutex collecting_;
};

}}}  // namespace zarrpoint::v0::detail
