// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// To Megatron-Core's torch_dist, by the library's save of many processes, of which there is one.

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/megatron.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "conversion.hpp"
#include "output.hpp"
#include "python_values.hpp"
#include "saved_by_many.hpp"
#include "stored_leaves.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
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

/// Dicts of dicts, as the parts of names make them.
struct python_tree {
  std::map<std::string, python_tree, std::less<>> members;
  std::optional<zp::torch::value> leaf;

  /// Puts a value where the parts of its name lead. Errors: `invalid_argument` where another one is
  /// in the way.
  zp::result<void> put(std::string_view name, zp::torch::value value) {
    const std::size_t slash = name.find('/');
    if (slash == name.npos) return put_at(name, std::move(value));
    python_tree& child = members[std::string(name.substr(0, slash))];
    if (child.leaf) return in_the_way(name);
    return child.put(name.substr(slash + 1), std::move(value));
  }

  /// The same, by a name that is taken as it is.
  zp::result<void> put_at(std::string_view name, zp::torch::value value) {
    python_tree& child = members[std::string(name)];
    if (child.leaf || !child.members.empty()) return in_the_way(name);
    child.leaf = std::move(value);
    return {};
  }

  zp::torch::value::dict dict() const {
    zp::torch::value::dict out;
    for (const auto& [key, each] : members)
      out.push_back({key, each.leaf ? *each.leaf : zp::torch::value(each.dict())});
    return out;
  }

 private:
  static zp::error in_the_way(std::string_view name) {
    return {zp::errc::invalid_argument, "the common state has another value in the place of \"" +
                                            escaped(std::string(name)) +
                                            "\"; --rename or --skip makes room"};
  }
};

/// Writes `common.pt` as it was, or of a dict.
struct made_common_saver : mg::common_saver {
  static constexpr std::string_view name = "made_common_saver";

  std::shared_ptr<const std::vector<std::byte>> file;
  std::shared_ptr<const zp::torch::value::dict> members;

  zp::result<std::vector<zp::leaf_record>> save_common(const zp::save_job& job,
                                                       const zp::node& common) const {
    if (file != nullptr) {
      ZARRPOINT_TRY(key, zp::store_key::parse(mg::detail::common_file));
      ZARRPOINT_CHECK(job.store.put(key, *file));
      return std::vector<zp::leaf_record>{};
    }
    zp::torch::value::dict all = *members;
    if (const zp::node::object* const more = common.if_object())  // what the state is
      for (const zp::node::member& one : *more) all.push_back({one.key, one.value});
    ZARRPOINT_CHECK(mg::detail::write_common(job.store, zp::torch::value(std::move(all))));
    return std::vector<zp::leaf_record>{};
  }
};

zp::result<zp::torch::value> to_torch(python_value from) {
  using value = zp::torch::value;
  if (const auto* const json = std::get_if<zp::json_text>(&from)) {
    ZARRPOINT_TRY(made, zp::parse_json(zp::as_bytes(std::string_view(json->text))));
    return value(std::move(made));
  }
  if (auto* const bytes = std::get_if<zp::byte_string>(&from))
    return value(std::move(bytes->bytes));
  if (auto* const text = std::get_if<std::string>(&from)) return value(zp::node(std::move(*text)));
  if (const bool* const truth = std::get_if<bool>(&from)) return value(zp::node(*truth));
  if (const auto* const whole = std::get_if<std::int64_t>(&from)) return value(zp::node(*whole));
  if (const auto* const whole = std::get_if<std::uint64_t>(&from)) return value(zp::node(*whole));
  return value(zp::node(std::get<double>(from)));
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
                        std::uint64_t memory)
      : what_(what),
        source_(std::move(source)),
        arrays_(what, memory / 2),  // each is copied once more
        most_(memory / 2) {}

  zp::result<void> add_all(bool is_whole) {
    for (std::size_t i = 0; i < what_.arrays.size(); ++i)
      ZARRPOINT_CHECK(add(i).at("array \"" + escaped(what_.arrays[i].name) + '"'));
    if (!source_ || source_->lists_objects) return {};
    if (!is_whole) {
      note("objects and the common state are left out, as --only or --skip is given");
      return {};
    }
    for (const auto& [key, grid] : source_->objects) ZARRPOINT_CHECK(add_objects(key, key));
    return add_common();
  }

  zp::result<void> save(const zp::context& how) {
    if (common_file_ != nullptr && !common_.members.empty())
      return zp::error{
          zp::errc::invalid_argument,
          "\"" + escaped(common_.members.begin()->first) +
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
    common.members = std::make_shared<const zp::torch::value::dict>(common_.dict());
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
    ZARRPOINT_TRY(value, python_value_of(what_, each, most_));
    if (!value) return add_tensor(i);
    ZARRPOINT_TRY(made, to_torch(*std::move(value)));
    if (const auto id = zp::parse_unique_key(each.name)) {
      ZARRPOINT_TRY(bytes, object_bytes(std::move(made)));
      return put_object(*id, std::move(bytes));
    }
    const auto* const plain = std::get_if<zp::node>(&made.content());
    const auto* const members = plain != nullptr ? plain->if_object() : nullptr;
    if (each.name != "common" || members == nullptr) return common_.put(each.name, std::move(made));
    // As the source of one that was saved in this layout has it.
    for (const zp::node::member& one : *members)
      ZARRPOINT_CHECK(common_.put_at(one.key, one.value));
    return {};
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
    ZARRPOINT_CHECK(count(bytes.size()));
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
      ZARRPOINT_TRY(file, zp::get(*source_->megatron, key, most_));
      if (!file) return {};  // old versions wrote none
      common_file_ = std::make_shared<const std::vector<std::byte>>(file->begin(), file->end());
      return count(file->size());
    }
    const zp::node::object* const members = source_->common.if_object();
    if (members == nullptr) return {};
    for (const zp::node::member& one : *members)
      ZARRPOINT_CHECK(common_.put_at(one.key, one.value));
    return {};
  }

  /// Objects and the common state lie in memory until they are saved.
  zp::result<void> count(std::uint64_t bytes) {
    held_ += bytes;
    if (held_ <= most_) return {};
    return zp::error{zp::errc::resource_limit,
                     "the objects and the common state take more than half of --memory"};
  }

  const conversion& what_;
  std::optional<saved_by_many> source_;
  stored_leaves arrays_;
  std::uint64_t most_;
  std::uint64_t held_ = 0;
  zp::state::map leaves_;
  python_tree common_;
  std::shared_ptr<const std::vector<std::byte>> common_file_;
};

}  // namespace

zp::result<void> convert_to_torch_dist(const conversion& what, const torch_dist_target& target,
                                       const zp::context& given) {
  ZARRPOINT_CHECK(check_memory(what, given.limit.memory));
  ZARRPOINT_TRY(source, open_saved_by_many(what.from, target.in, target.links, given));
  torch_dist_conversion conversion(what, std::move(source), given.limit.memory);
  ZARRPOINT_CHECK(conversion.add_all(target.is_whole));
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
