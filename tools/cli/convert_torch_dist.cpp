// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// To Megatron-Core's torch_dist: one process saves as many would.

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>
#include <zarrpoint/megatron.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "conversion.hpp"
#include "output.hpp"
#include "python_tree.hpp"
#include "python_values.hpp"
#include "saved_by_many.hpp"
#include "stored_leaves.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cli {

namespace {

namespace mg = zp::megatron;

/// Writes `common.pt` as it was, or of dicts, which are gone then: one process saves once.
struct made_common_saver : mg::common_saver {
  static constexpr std::string_view name = "made_common_saver";

  std::shared_ptr<const std::vector<std::byte>> file;
  std::shared_ptr<python_tree> dicts;

  zp::result<std::vector<zp::leaf_record>> save_common(const zp::save_job& job,
                                                       const zp::json& common) const {
    if (file != nullptr) {
      ZARRPOINT_TRY(key, zp::store_key::parse(mg::detail::common_file));
      ZARRPOINT_CHECK(job.store.put(key, *file));
      return std::vector<zp::leaf_record>{};
    }
    if (const zp::json::object* const more = common.if_object())  // what the state is
      ZARRPOINT_CHECK(dicts->put_members(*more));
    ZARRPOINT_CHECK(mg::detail::write_common(job.store, std::move(*dicts).dict()));
    return std::vector<zp::leaf_record>{};
  }
};

/// What JSON says; nothing of other values.
zp::result<std::optional<zp::json>> if_document(const python_value& from, const zp::limits& limit) {
  const auto* const json = std::get_if<zp::json_text>(&from);
  if (json == nullptr) return std::optional<zp::json>();
  ZARRPOINT_TRY(made, zp::parse_json(zp::as_bytes(std::string_view(json->text)),
                                     zp::detail::document_limits(limit)));
  return std::optional(std::move(made));
}

/// Any other value.
zp::torch::value to_torch(python_value from) {
  using value = zp::torch::value;
  if (auto* const bytes = std::get_if<zp::byte_string>(&from))
    return value(std::move(bytes->bytes));
  if (auto* const text = std::get_if<std::string>(&from)) return value(zp::json(std::move(*text)));
  if (const bool* const truth = std::get_if<bool>(&from)) return value(zp::json(*truth));
  if (const auto* const whole = std::get_if<std::int64_t>(&from)) return value(zp::json(*whole));
  if (const auto* const whole = std::get_if<std::uint64_t>(&from)) return value(zp::json(*whole));
  const auto* const number = std::get_if<double>(&from);
  return value(zp::json(number != nullptr ? *number : 0.0));
}

/// An object as the library takes it: `bytes` as they are, all else a file of torch.save.
zp::result<std::vector<std::byte>> object_bytes(zp::torch::value value) {
  if (const auto* const bytes = std::get_if<zp::torch::value::bytes>(&value.content()))
    return *bytes;
  const zp::memory_store store;
  ZARRPOINT_TRY(key, zp::store_key::parse("object"));
  ZARRPOINT_CHECK(zp::torch::save(store, key, value));
  ZARRPOINT_TRY(made, zp::get(store, key, SIZE_MAX));
  return std::vector<std::byte>(made->begin(), made->end());
}

/// What is made of each array, by what is known of the source.
class torch_dist_conversion {
 public:
  torch_dist_conversion(const conversion& what, std::optional<saved_by_many> source,
                        const zp::limits& limit)
      : what_(what),
        source_(std::move(source)),
        limit_(limit),
        arrays_(what, limit.memory / 2),  // each is copied once more
        budget_(limit.memory / 2) {}

  zp::result<void> add_all(const torch_dist_target& target) {
    for (std::size_t i = 0; i < what_.arrays.size(); ++i)
      ZARRPOINT_CHECK(add(i).at("array \"" + escaped(what_.arrays[i].name) + '"'));
    if (!source_ || source_->lists_objects) return {};
    if (!target.has_all_arrays) {
      note("objects and the common state are left out, as --only or --skip is given");
      return {};
    }
    for (const auto& [key, grid] : source_->objects) {
      ZARRPOINT_TRY(name, target.renamed(key));
      ZARRPOINT_CHECK(add_objects(key, name).at("object \"" + escaped(key) + '"'));
    }
    return add_common().at("the common state");
  }

  zp::result<void> save(const zp::context& how) {
    if (common_file_ != nullptr && !common_->members.empty())
      return zp::error{
          zp::errc::invalid_argument,
          "\"" + escaped(common_->members.begin()->first) +
              "\" would be a member of the common state, which is a file that is copied; "
              "--skip leaves it out, and --skip common that file"};
    arrays_.set_resource(how.scratch->resource());
    zp::process_group alone;
    alone.how = how;
    alone.known = mg::strategies::table();
    zp::group_save_options options;
    options.storage.overwrite = what_.overwrite;
    options.sharded = zp::strategy_choice(mg::torch_dist_saver{});
    made_common_saver common;
    common.file = common_file_;
    common.dicts = std::move(common_);
    options.common = zp::strategy_choice(common);
    if (source_) options.content_metadata = source_->content_metadata;
    ZARRPOINT_TRY(report,
                  zp::save(zp::location(what_.out), zp::state(std::move(leaves_)), alone, options));
    for (const std::string& warning : report.warnings) note(escaped(warning));
    return {};
  }

 private:
  zp::result<void> add(std::size_t i) {
    const converted& each = what_.arrays[i];
    const entry& from = what_.from.entries()[each.index];
    if (source_ && from.name == source_->common_array && each.name == from.name &&
        (source_->megatron || from.typestr == "json"))
      return add_common();
    if (source_ && source_->megatron) {
      const auto id = zp::parse_unique_key(from.name);
      if (id && source_->objects.contains(id->key)) return add_object(*id, id_of(each.name));
    } else if (source_ && from.typestr == "object" && source_->objects.contains(from.name)) {
      return add_objects(from.name, each.name);
    }
    ZARRPOINT_TRY(value, python_value_of(what_, each, budget_));
    if (!value) return add_tensor(i);
    ZARRPOINT_TRY(document, if_document(*value, limit_));
    if (!document) return add_value(each.name, to_torch(*std::move(value)));
    value.reset();
    zp::json::object* const members = document->if_object();
    if (each.name == "common" && members != nullptr) {
      // As the source of one that was saved in this layout has it.
      ZARRPOINT_CHECK(budget_.take_value(memory_of(*document)));
      return common_->put_members(std::move(*members));
    }
    ZARRPOINT_TRY(made, zp::torch::detail::document_value(*std::move(document)));
    return add_value(each.name, std::move(made));
  }

  zp::result<void> add_value(const std::string& name, zp::torch::value value) {
    ZARRPOINT_CHECK(budget_.take_value(memory_of(value)));
    const auto id = zp::parse_unique_key(name);
    if (!id) return common_->put(name, std::move(value));
    ZARRPOINT_TRY(bytes, object_bytes(std::move(value)));
    return put_object(*id, std::move(bytes));
  }

  /// What is not the name of an object is the key of the only one.
  static zp::object_id id_of(const std::string& name) {
    if (auto id = zp::parse_unique_key(name)) return *std::move(id);
    return {name, {1}, {0}};
  }

  zp::result<void> add_tensor(std::size_t i) {
    const converted& each = what_.arrays[i];
    const zp::dims& shape = what_.spec(each).shape;
    zp::shard_metadata part;
    part.key = each.name;
    part.type = each.type;
    part.local_shape = part.global_shape = shape;
    part.global_offset = zp::dims(shape.rank(), 0);
    part.fragmentation = zp::dims(shape.rank(), 1);
    const std::string& name = what_.from.entries()[each.index].name;
    const auto flat = source_ ? source_->flat_cells.find(name) : dims_by_key::iterator();
    if (!source_ || flat == source_->flat_cells.end()) return put_tensor(i, std::move(part));
    const zp::write_grid cells{shape, flat->second};
    part.local_shape = flat->second;
    for (std::size_t axis = 0; axis < shape.rank(); ++axis)
      (*part.fragmentation)[axis] = cells.cells_along(axis);
    ZARRPOINT_TRY(elements, zp::element_count(part.local_shape));
    part.range = zp::flat_range{0, elements};
    ZARRPOINT_TRY(count, cells.cells());
    for (zp::index_t at = 0; at < count; ++at) {
      part.global_offset = cells.cell(at).offset;
      ZARRPOINT_CHECK(put_tensor(i, part));
    }
    return {};
  }

  zp::result<void> put_tensor(std::size_t i, zp::shard_metadata part) {
    ZARRPOINT_TRY(made, arrays_.shard(i, std::move(part)));
    put(std::move(made));
    return {};
  }

  void put(zp::state leaf) { leaves_.emplace(std::to_string(leaves_.size()), std::move(leaf)); }

  zp::result<void> put_object(const zp::object_id& id, std::vector<std::byte> bytes) {
    ZARRPOINT_CHECK(budget_.take(bytes.size()));
    ZARRPOINT_TRY(made, zp::sharded_object::from_bytes(
                            id.key, std::move(bytes),
                            {.global_shape = id.global_shape, .global_offset = id.global_offset}));
    put(std::move(made));
    return {};
  }

  zp::result<void> add_object(const zp::object_id& from, const zp::object_id& to) {
    ZARRPOINT_TRY(bytes, source_->shards->read_object(from));
    return put_object(to, std::move(bytes));
  }

  /// All of a key.
  zp::result<void> add_objects(const std::string& from, const std::string& to) {
    const zp::dims& grid = source_->objects.find(from)->second;
    const zp::write_grid places{grid, zp::dims(grid.rank(), 1)};
    ZARRPOINT_TRY(count, places.cells());
    for (zp::index_t at = 0; at < count; ++at) {
      const zp::dims offset = places.cell(at).offset;
      ZARRPOINT_CHECK(add_object({from, grid, offset}, {to, grid, offset}));
    }
    return {};
  }

  zp::result<void> add_common() {
    if (source_->megatron) {
      ZARRPOINT_TRY(key, zp::store_key::parse(mg::detail::common_file));
      ZARRPOINT_TRY(file, zp::get(*source_->megatron, key, budget_.most()));
      if (!file) {
        note("the source has no common.pt, so that the common state is empty");
        return {};
      }
      common_file_ = std::make_shared<const std::vector<std::byte>>(file->begin(), file->end());
      return budget_.take(file->size());
    }
    zp::json::object* const members = source_->common.if_object();
    if (members == nullptr) {
      if (!source_->common.is_null())
        note("the common state is left out: it is not one of names and values");
      return {};
    }
    ZARRPOINT_CHECK(budget_.take_value(memory_of(source_->common)));
    return common_->put_members(std::move(*members));
  }

  const conversion& what_;
  std::optional<saved_by_many> source_;
  zp::limits limit_;
  stored_leaves arrays_;
  value_budget budget_;  ///< of objects and the common state
  zp::state::map leaves_;
  std::shared_ptr<python_tree> common_ = std::make_shared<python_tree>();
  std::shared_ptr<const std::vector<std::byte>> common_file_;
};

}  // namespace

zp::result<std::string> torch_dist_target::renamed(const std::string& key) const {
  std::string out = key;
  for (const rename_rule& rule : renames) {
    const auto name = rule.apply(key);
    if (!name) continue;
    if (name->empty())
      return zp::error{zp::errc::invalid_argument,
                       "--rename: object \"" + escaped(key) + "\" would have no name"};
    out = *name;
  }
  return out;
}

zp::result<void> convert_to_torch_dist(const conversion& what, const torch_dist_target& target,
                                       const zp::context& given) {
  ZARRPOINT_CHECK(check_memory(what, given.limit.memory));
  ZARRPOINT_TRY(source, open_saved_by_many(what.from, target.in, target.links, given));
  torch_dist_conversion conversion(what, std::move(source), given.limit);
  ZARRPOINT_CHECK(conversion.add_all(target));
  progress bar("convert");
  zp::context how = given;
  how.scratch = nullptr;
  how.limit.bytes_in_flight = std::min(how.limit.bytes_in_flight, how.limit.memory / 8);
  how = zp::with_scratch(std::move(how));
  how.resource = &how.scratch->resource();
  how.progress = [&](const zp::progress_event& event) {
    bar.set(event.item, event.bytes_done, event.bytes_total);
  };
  return conversion.save(how);
}

}  // namespace cli
