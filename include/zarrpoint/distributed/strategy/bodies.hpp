// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/array/shard/shard_index_cache.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/checkpoint/save/plan_layout.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/checkpoint/save/stage_leaves.hpp>
#include <zarrpoint/checkpoint/save/write_leaves.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/distributed/shard/shard_geometry.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>
#include <zarrpoint/distributed/strategy/message_budget.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/distributed/strategy/read_shard.hpp>
#include <zarrpoint/distributed/strategy/strategy.hpp>
#include <zarrpoint/distributed/strategy/write_shards.hpp>
#include <zarrpoint/distributed/strategy/zarr_strategies.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// ------------------------------------------------------------------------------ message_budget.hpp

ZARRPOINT_INLINE result<void> message_budget::count(std::string_view what, int rank,
                                                    std::size_t bytes) {
  if (account_.charge(bytes)) return {};
  return error{errc::resource_limit,
               std::string(what) + " of rank " + std::to_string(rank) + " has " +
                   std::to_string(bytes) +
                   " bytes, with which the messages between the processes have more than "
                   "limits::memory of " +
                   std::to_string(limit_)};
}

ZARRPOINT_INLINE result<void> message_budget::count(std::string_view what,
                                                    std::span<const message> of_ranks, int mine) {
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    if (static_cast<int>(rank) != mine)
      ZARRPOINT_CHECK(count(what, static_cast<int>(rank), of_ranks[rank].size()));
  }
  return {};
}

}  // namespace detail

// ---------------------------------------------------------------------------------------- jobs.hpp

ZARRPOINT_INLINE std::string to_string(const strategy_id& id) {
  return "(" + id.backend + ", " + std::to_string(id.version) + ")";
}

namespace detail {

ZARRPOINT_INLINE opened_once& opened_once::operator=(const opened_once& other) noexcept {
  if (this != &other) opened_.reset();
  return *this;
}

}  // namespace detail

ZARRPOINT_INLINE result<checkpoint> load_job::open() const {
  return opened.get([&] { return checkpoint::open(location(store), how); });
}

ZARRPOINT_INLINE result<message> sharded_reader::read_object(const object_id& id) const {
  return error{errc::unsupported, "object " + unique_key(id) + ": this format has no objects"};
}

ZARRPOINT_INLINE result<std::vector<std::string>> sharded_reader::remove(
    const any_store& store, std::string_view prefix) const {
  static_cast<void>(store), static_cast<void>(prefix);
  return error{errc::unsupported, "nothing can be removed from checkpoints of this format"};
}

// ------------------------------------------------------------------------------------ strategy.hpp

ZARRPOINT_INLINE strategy_table::strategy_table(std::vector<any_strategy> entries)
    : entries_(detail::make_counted<const std::vector<any_strategy>>(std::move(entries))) {}

ZARRPOINT_INLINE result<void> any_strategy::check_reads(const strategy_id& wrote) const {
  if (model_ == nullptr) return {};
  ZARRPOINT_CHECK(model_->check_backend(wrote.backend));
  return model_->check_version(wrote.version);
}

namespace detail {

ZARRPOINT_INLINE error refuse_to_read(std::string_view name, const strategy_id& own,
                                      const std::string& what) {
  return {errc::unsupported, "strategy " + std::string(name) + to_string(own) + " does not read " +
                                 what + ", which wrote the checkpoint"};
}

}  // namespace detail

ZARRPOINT_INLINE std::string to_string(const any_strategy& one) {
  return one ? one.name() + to_string(one.id()) : std::string("none");
}

ZARRPOINT_INLINE std::span<const any_strategy> strategy_table::entries() const noexcept {
  return entries_ != nullptr ? std::span<const any_strategy>(*entries_)
                             : std::span<const any_strategy>();
}

ZARRPOINT_INLINE result<any_strategy> strategy_table::find(strategy_action action,
                                                           const strategy_id& id) const {
  std::string there;
  bool other_version = false;
  for (const any_strategy& one : entries()) {
    if (one.action() != action) continue;
    if (one.id() == id) return one;
    other_version = other_version || one.id().backend == id.backend;
    there += (there.empty() ? "" : ", ") + to_string(one.id());
  }
  return error{errc::unsupported,
               "no strategy to " + std::string(to_string(action)) + " for " + to_string(id) +
                   (other_version ? ", which is another version of a known backend" : "") +
                   "; this program has " + (there.empty() ? "none" : there)};
}

namespace detail {

// -------------------------------------------------------------------------------- write_shards.hpp

ZARRPOINT_INLINE message encode_digests(const digests_of_arrays& arrays) {
  wire_writer to;
  to.number(arrays.size());
  for (const auto& [name, digests] : arrays) {
    to.text(name);
    to.number(digests.objects().size());
    for (const auto& [key, object] : digests.objects()) {
      to.text(key);
      to.number(object.size);
      to.number(object.crc32c.size());
      for (const std::optional<std::uint32_t>& crc : object.crc32c)
        to.number(crc ? std::uint64_t{1} + *crc : 0);
    }
  }
  return std::move(to).take();
}

ZARRPOINT_INLINE result<void> decode_digests(bytes_view from_rank, digests_of_arrays& into) {
  wire_reader from(from_rank);
  for (std::size_t n = from.count(2); n > 0 && !from.failed(); --n) {
    chunk_digests& digests = into[from.text()];
    for (std::size_t m = from.count(3); m > 0 && !from.failed(); --m) {
      std::string key = from.text();
      object_digest object;
      object.size = from.number();
      for (std::size_t crcs = from.count(); crcs > 0 && !from.failed(); --crcs) {
        const std::uint64_t crc = from.limited(std::uint64_t{1} << 32);
        object.crc32c.push_back(crc == 0 ? std::nullopt
                                         : std::optional(static_cast<std::uint32_t>(crc - 1)));
      }
      if (digests.find(key) != nullptr)
        return error{errc::corrupt, in_quotes(key) + " is there twice"};
      digests.set(std::move(key), std::move(object));
    }
  }
  return from.finish();
}

ZARRPOINT_INLINE void receipt_check::begin(std::string_view array) {
  array_ = array;
  ++arrays_;
}

ZARRPOINT_INLINE void receipt_check::look_for(const std::string& name, int writer,
                                              bool may_be_absent) {
  const object_digest* const found = find(name, writer);
  ++planned_;
  if (found != nullptr && (may_be_absent || !found->absent())) return;
  constexpr std::size_t most_named = 4;
  if (++missing_ > most_named) return;
  named_ += (missing_ == 1 ? "" : ", ") + in_quotes(array_) + " " + name + " of rank " +
            std::to_string(writer);
}

ZARRPOINT_INLINE result<void> receipt_check::done() const {
  if (missing_ != 0)
    return error{errc::corrupt, std::to_string(missing_) + " of " + std::to_string(planned_) +
                                    " planned objects were not written, among them " + named_};
  std::size_t written = 0;
  for (const digests_of_arrays& arrays : of_ranks_) {
    for (const auto& [key, digests] : arrays) written += digests.objects().size();
  }
  if (written == planned_) return {};
  return error{errc::corrupt, std::to_string(written) + " objects were written instead of " +
                                  std::to_string(planned_)};
}

ZARRPOINT_INLINE const object_digest* receipt_check::find(const std::string& name, int writer) {
  const auto rank = static_cast<std::size_t>(writer);
  if (writer < 0 || rank >= of_ranks_.size()) return nullptr;
  of_writer& last = of_writers_[rank];
  if (std::exchange(last.array, arrays_) != arrays_) {
    const auto at = of_ranks_[rank].find(array_);
    last.digests = at == of_ranks_[rank].end() ? nullptr : &at->second;
  }
  return last.digests == nullptr ? nullptr : last.digests->find(name);
}

ZARRPOINT_INLINE result<void> cell_job::write_to(const zarrpoint::array& to, write_options options,
                                                 pin_times* pinned) const {
  options.collected = &digests;
  if (cell.source) {
    ZARRPOINT_TRY(elements, cell.source(how));
    if (pinned != nullptr) pinned->note(*elements);
    ZARRPOINT_CHECK(to.write(cell.part, *elements, options));
    if (pinned != nullptr) pinned->note(*elements);
    return {};
  }
  ZARRPOINT_TRY(elements, cell.stage(how.scratch->resource()));
  return to.write(cell.part, elements.view, options);
}

}  // namespace detail

// ----------------------------------------------------------------------------- zarr_strategies.hpp

namespace detail {

/// Those of `save_options::attributes_of`, which are sorted in a `save_job`.
ZARRPOINT_INLINE json attributes_for(std::string_view key, const save_options& options) {
  const json* found = find_sorted(options.attributes_of, key);
  return found != nullptr ? *found : json();
}

/// What `plan_layout` needs, for the caller to add rules to: not the attributes, of which there may
/// be as many as there are tensors.
ZARRPOINT_INLINE save_options layout_options(const save_options& of) {
  return {.zarr_format = of.zarr_format, .rules = of.rules};
}

/// How a grid of objects is stored: an array of byte strings, each a chunk of its own.
ZARRPOINT_INLINE result<array_metadata> object_layout(const object_id& id,
                                                      const save_options& options) {
  save_options own = layout_options(options);
  // Rules for tensors may match any key: each object is a chunk whatever they say.
  const dims one(id.global_shape.rank(), 1);
  own.rules.push_back({.chunk_shape = one, .shard_shape = one});
  ZARRPOINT_TRY(planned, detail::plan_layout(id.key, {dtype_kind::bytes, id.global_shape}, own));
  planned.metadata.attributes = attributes_for(id.key, options);
  return std::move(planned.metadata);
}

/// The document of a grid of objects. Errors name its key.
ZARRPOINT_INLINE result<json> object_document(const object_id& grid, const save_options& options) {
  const auto made = [&]() -> result<json> {
    ZARRPOINT_TRY(metadata, object_layout(grid, options));
    return array_document(metadata);
  };
  return made().at("save object " + in_quotes(grid.key));
}

}  // namespace detail

ZARRPOINT_INLINE result<array_metadata> zarr_saver::layout(const save_job& job,
                                                           const planned_tensor& tensor) const {
  if (job.options.zarr_format == 2)
    return error{errc::unsupported,
                 "several processes save in Zarr v2 only in the layout of Megatron-Core, which "
                 "megatron::strategies has as (zarr, 1); save_options::zarr_format must be 3"};
  save_options own = detail::layout_options(job.options);
  const dims* asked = detail::last_set(own.rules, tensor.key, &leaf_rule::shard_shape);
  if (asked != nullptr && *asked != tensor.grid.cell_shape)
    return error{errc::invalid_argument,
                 "a rule asks for shards of shape " + to_string(*asked) +
                     ", but several processes store shards as they hold them, here of shape " +
                     to_string(tensor.grid.cell_shape) + "; chunk_shape may cut them"};
  own.rules.push_back({.shard_shape = tensor.grid.cell_shape});
  tensor_spec stored{tensor.type, tensor.grid.shape};
  if (const dtype* cast = detail::last_set(own.rules, tensor.key, &leaf_rule::cast)) {
    ZARRPOINT_CHECK(detail::check_cast(stored.type, *cast));
    stored.type = *cast;
  }
  const bool regular = tensor.grid.edges.empty();
  // Shards of a rectilinear grid would need inner chunks that divide each of them.
  if (!regular) own.rules.push_back({.chunk_shape = tensor.grid.cell_shape});
  ZARRPOINT_TRY(planned, detail::plan_layout(tensor.key, stored, own));
  planned.metadata.edges = tensor.grid.edges;
  planned.metadata.attributes = detail::attributes_for(tensor.key, job.options);
  return std::move(planned.metadata);
}

ZARRPOINT_INLINE result<message> zarr_saver::write(const save_job& job,
                                                   const shard_writes& mine) const {
  const context how = with_scratch(job.how);
  for (const array_writes& one : mine.arrays) {
    ZARRPOINT_TRY(key, store_key::parse(one.array->tensor.key));
    if (one.puts_document)
      ZARRPOINT_CHECK(detail::put_document(job.store, key, "zarr.json", one.array->document));
  }
  ZARRPOINT_TRY(digests, detail::write_cells(how, mine, [&](const detail::cell_job& cell) {
                  return write_cell(job, cell);
                }));
  for (const object_id& grid : mine.first_objects) {
    ZARRPOINT_TRY(key, store_key::parse(grid.key));
    ZARRPOINT_TRY(document, detail::object_document(grid, job.options));
    ZARRPOINT_CHECK(detail::put_document(job.store, key, "zarr.json", document));
  }
  for (const sharded_object& object : mine.objects)
    ZARRPOINT_CHECK(write_object(job, how, object, digests[object.key()])
                        .at("save object " + detail::in_quotes(object.unique_key())));
  return detail::encode_digests(digests);
}

ZARRPOINT_INLINE result<void> zarr_saver::finish(const save_job& job,
                                                 const save_receipts& all) const {
  const auto name_of = [](const object_id& id) {
    return chunk_key_encoding{}.key(id.global_offset);
  };
  ZARRPOINT_TRY(digests, detail::read_receipts(all, job.options.elide_fill, name_of));
  detail::commit_document commit{.id = detail::random_id(), .leaves = all.common};
  bool all_core = true;
  for (const planned_array& array : all.arrays) {
    all_core = all_core && detail::is_core_array(array.metadata);
    commit.leaves.push_back({array.tensor.key, std::string(detail::array_kind), array.document,
                             std::move(digests[array.tensor.key])});
  }
  for (const object_id& grid : all.objects) {
    all_core = false;
    ZARRPOINT_TRY(document, detail::object_document(grid, job.options));
    commit.leaves.push_back({grid.key, std::string(detail::object_kind), std::move(document),
                             std::move(digests[grid.key])});
  }
  std::vector<std::string_view> names;
  names.reserve(commit.leaves.size());
  for (const leaf_record& leaf : commit.leaves) names.emplace_back(leaf.name);
  ZARRPOINT_TRY(groups, groups_of(names));
  detail::sort_names(names);
  ZARRPOINT_TRY(of_groups, detail::attributes_of_groups(job.options.attributes_of, groups, names));
  commit.group_attributes = std::move(of_groups);
  save_options options = job.options;
  if (options.attributes.is_null()) options.attributes = json::object{};
  const auto pair = [](std::string_view from, int number) {
    return json(json::array{json(from), json(number)});
  };
  options.attributes.set(
      std::string(detail::strategies_member),
      json::object{{"sharded", pair(backend, version)},
                   {"common", pair(all.common_strategy.backend, all.common_strategy.version)}});
  return detail::put_hierarchy(job.store, {commit, groups, options, job.how.limit.metadata_bytes},
                               all_core)
      .transform([](bool) {});
}

ZARRPOINT_INLINE result<void> zarr_saver::write_cell(const save_job& job,
                                                     const detail::cell_job& cell) {
  ZARRPOINT_TRY(key, store_key::parse(cell.array.tensor.key));
  ZARRPOINT_TRY(target, array::from_metadata(job.store, key, cell.array.metadata, cell.how));
  return cell.write_to(target, {.elide_fill = job.options.elide_fill,
                                .cast = true,
                                .device_encode = job.options.device_encode});
}

ZARRPOINT_INLINE result<void> zarr_saver::write_object(const save_job& job, const context& how,
                                                       const sharded_object& object,
                                                       chunk_digests& digests) {
  ZARRPOINT_TRY(key, store_key::parse(object.key()));
  ZARRPOINT_TRY(metadata, detail::object_layout(object.id(), job.options));
  ZARRPOINT_TRY(target, zarrpoint::array::from_metadata(job.store, key, metadata, how));
  const dims one(object.global_shape().rank(), 1);
  ZARRPOINT_TRY(value, tensor::make({dtype_kind::bytes, one}, how.scratch->resource()));
  value.data<std::string>()[0] = as_text(object.bytes());
  return target.write(box{object.global_offset(), one}, value.view(),
                      {.elide_fill = false, .collected = &digests});
}

ZARRPOINT_INLINE result<std::vector<leaf_record>> json_common_saver::save_common(
    const save_job& job, const json& common) const {
  const leaf value(std::string(detail::common_leaf),
                   json_text{dump_json(common, json_style::compact)});
  const context how = with_scratch(job.how);
  save_options options = job.options;
  options.rules.clear();
  options.zarr_format = 3;
  ZARRPOINT_TRY(spec, value.spec());
  ZARRPOINT_TRY(layout, detail::plan_layout(value.name(), spec, options));
  const detail::planned_leaf planned{
      &value, nullptr, detail::make_counted<detail::planned_form>(std::move(layout.metadata)), 0};
  detail::pin_times none;
  ZARRPOINT_TRY(record,
                detail::write_leaf(job.store, planned, {.elide_fill = false, .how = &how}, none));
  ZARRPOINT_TRY(texts, planned.form->texts());
  record.metadata = texts->document;
  return std::vector<leaf_record>{std::move(record)};
}

namespace detail {

/// The sharded part of our own checkpoints, or of any Zarr hierarchy.
class zarr_reader final : public sharded_reader {
 public:
  static result<std::shared_ptr<sharded_reader>> open(const load_job& job) {
    auto out = detail::make_counted<zarr_reader>();
    out->options_ = job.options;
    out->how_ = job.how;
    out->indexes_ =
        std::make_unique<shard_index_cache>(shard_index_cache::share_of(job.how.limit.memory));
    ZARRPOINT_TRY(opened, job.open());
    out->identity_ = opened.id();
    for (const std::string& key : opened.names()) {
      const std::string_view kind = opened.typestr(key);
      if (key == common_leaf && kind == json_text::zarrpoint_handler::typestr) continue;
      ZARRPOINT_TRY(elements, opened.as_array(key));
      const tensor_spec spec = elements.spec();
      if (kind == object_kind) {
        out->objects_.push_back({key, spec.shape, dims(spec.shape.rank(), 0)});
        out->object_arrays_.push_back(std::move(elements));
      } else {
        out->tensors_.push_back(
            {key, spec, elements.metadata().chunk_shape, elements.layout().grid().inner_shape});
        out->arrays_.push_back(std::move(elements));
      }
    }
    return std::shared_ptr<sharded_reader>(std::move(out));
  }

  std::string identity() const override { return identity_; }
  std::span<const stored_tensor> tensors() const override { return tensors_; }
  std::span<const object_id> objects() const override { return objects_; }

  result<void> read(std::string_view key, const box& part,
                    const mutable_host_view& into) const override {
    const stored_tensor* const at = find_by_key(tensors(), key);
    if (at == nullptr)
      return error{errc::not_found, "the checkpoint has no tensor " + in_quotes(key)};
    return arrays_[static_cast<std::size_t>(at - tensors_.data())].read(part, into, how_to_read());
  }

  result<message> read_object(const object_id& id) const override {
    const object_id* const at = find_by_key(objects(), id.key);
    if (at == nullptr)
      return error{errc::not_found, "the checkpoint has no object " + in_quotes(id.key)};
    ZARRPOINT_TRY(wanted, sharded_object::request(id));
    ZARRPOINT_CHECK(wanted.check_same_grid(at->global_shape));
    const array& stored = object_arrays_[static_cast<std::size_t>(at - objects_.data())];
    const dims one(id.global_offset.rank(), 1);
    ZARRPOINT_TRY(value, stored.read(box{id.global_offset, one}, how_to_read()));
    const bytes_view bytes = as_bytes(value.template data<std::string>()[0]);
    return message(bytes.begin(), bytes.end());
  }

  result<std::vector<std::string>> remove(const any_store& store,
                                          std::string_view prefix) const override {
    ZARRPOINT_TRY(contents, detail::read_contents(store, how_));
    if (!contents.is_ours())
      return error{errc::unsupported,
                   "tensors can be removed only from a checkpoint that zarrpoint saved"};
    std::vector<std::string> removed;
    std::vector<std::string_view> kept;
    bool all_core = true;
    commit_document commit{
        .id = std::move(contents.id), .leaves{}, .groups = std::move(contents.groups)};
    int format = 3;
    for (detail::stored_leaf& leaf : contents.leaves) {
      format = leaf.zarr_format;
      if (leaf.name.starts_with(prefix) && leaf.name != common_leaf) {
        removed.push_back(std::move(leaf.name));
        continue;
      }
      const json& document = leaf.document->content();
      const auto parsed =
          leaf.zarr_format == 2 ? parse_array_v2(document, nullptr) : parse_array_v3(document);
      all_core = all_core && parsed && is_core_array(*parsed);
      commit.leaves.push_back({std::move(leaf.name), std::move(leaf.typestr), document,
                               std::move(leaf.objects), std::move(leaf.attributes)});
    }
    if (removed.empty()) return removed;
    kept.reserve(commit.leaves.size());
    for (const leaf_record& leaf : commit.leaves) kept.emplace_back(leaf.name);
    ZARRPOINT_TRY(groups, groups_of(kept, commit.groups));
    commit.group_attributes = std::move(contents.group_attributes);
    std::erase_if(commit.group_attributes, [&](const json::member& one) {
      return !std::binary_search(groups.begin(), groups.end(), one.key);
    });
    save_options options;
    options.zarr_format = format;
    options.attributes = std::move(contents.attributes);
    ZARRPOINT_CHECK(
        put_hierarchy(store, {commit, groups, options, how_.limit.metadata_bytes}, all_core));
    for (const std::string& key : removed) {
      ZARRPOINT_TRY(at, store_key::parse(key));
      ZARRPOINT_CHECK(store.erase_all(at));
    }
    return removed;
  }

 private:
  read_options how_to_read() const {
    read_options out;
    if (!options_.allow_missing_chunks) out.missing = missing_chunks::error;
    out.checksums = options_.verify;
    out.device_verify = options_.device_verify;
    out.cast = options_.cast;
    out.indexes = indexes_.get();
    return out;
  }

  load_options options_;
  context how_;
  std::string identity_;
  std::vector<stored_tensor> tensors_;
  std::vector<object_id> objects_;
  std::vector<array> arrays_;
  std::vector<array> object_arrays_;
  std::unique_ptr<shard_index_cache> indexes_;
};

}  // namespace detail

ZARRPOINT_INLINE result<std::shared_ptr<sharded_reader>> zarr_loader::open(
    const load_job& job) const {
  return detail::zarr_reader::open(job);
}

ZARRPOINT_INLINE result<json> json_common_loader::load_common(const load_job& job) const {
  ZARRPOINT_TRY(opened, job.open());
  if (!opened.contains(detail::common_leaf)) return json();
  ZARRPOINT_TRY(text, opened.load<json_text>(detail::common_leaf));
  return parse_json(as_bytes(text.text), {.max_bytes = job.how.limit.metadata_bytes});
}

// ------------------------------------------------------------------------------- process_group.hpp

ZARRPOINT_INLINE strategy_choice::strategy_choice(std::string_view backend, int version)
    : choice_(strategy_id{std::string(backend), version}) {}

ZARRPOINT_INLINE result<any_strategy> strategy_choice::resolve(strategy_action action,
                                                               const strategy_table& known) const {
  if (const auto* id = std::get_if<strategy_id>(&choice_)) return known.find(action, *id);
  const any_strategy& one = std::get<any_strategy>(choice_);
  if (one && one.action() == action) return one;
  return error{errc::invalid_argument,
               "strategy " + to_string(one) + " cannot " + std::string(to_string(action))};
}

namespace detail {

ZARRPOINT_INLINE result<void> check_groups(const std::vector<int>& groups, int processes) {
  if (groups.empty() || groups.size() == static_cast<std::size_t>(processes)) return {};
  return error{errc::invalid_argument,
               "groups must be given for each process: " + std::to_string(groups.size()) +
                   " were given, there are " + std::to_string(processes) + " processes"};
}

}  // namespace detail

ZARRPOINT_INLINE result<strictness> parse_strictness(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(strictness::ignore_all); ++i) {
    if (to_string(static_cast<strictness>(i)) == text) return static_cast<strictness>(i);
  }
  return error{errc::invalid_argument, "Invalid strict flag: " + std::string(text)};
}

namespace detail {

// ---------------------------------------------------------------------------------- read_shard.hpp

/// `"[2, 32]"` as Megatron-Core's messages have it: `"(2, 32)"`.
ZARRPOINT_INLINE std::string in_parentheses(const dims& shape) {
  std::string text = to_string(shape);
  text.front() = '(';
  text.back() = ')';
  return text;
}

ZARRPOINT_INLINE result<void> check_request(const stored_tensor& stored,
                                            const shard_metadata& wanted, bool cast) {
  if (stored.spec.type != wanted.type) {
    if (!cast)
      return error{errc::dtype_mismatch, "tensor \"" + wanted.key + "\": stored dtype is " +
                                             std::string(to_string(stored.spec.type)) +
                                             ", wanted " + std::string(to_string(wanted.type)) +
                                             "; set load_options::cast to convert it"};
    ZARRPOINT_CHECK(check_cast(stored.spec.type, wanted.type));
  }
  const bool may_differ =
      wanted.allow_shape_mismatch && stored.spec.shape.rank() == wanted.global_shape.rank();
  if (stored.spec.shape != wanted.global_shape && !may_differ)
    return error{errc::shape_mismatch, "Global shape mismatch for loaded (" +
                                           in_parentheses(stored.spec.shape) + ") and expected (" +
                                           in_parentheses(wanted.global_shape) +
                                           ") tensor for key " + wanted.key};
  return {};
}

/// Elements of a view of rank 1, from `first` on, as a box of that shape in row-major order.
ZARRPOINT_INLINE mutable_host_view as_box(mutable_host_view flat, index_t first,
                                          const dims& shape) {
  const index_t step = flat.strides[0];
  flat.data += first * step;
  flat.shape = shape;
  flat.strides = dims(shape.rank(), 0);
  index_t stride = step;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    flat.strides[i] = stride;
    stride *= shape[i];
  }
  return flat;
}

/// Where the leading corner of `into`, of shape `filled`, has its elements: those of its last
/// places go to all places behind them, along one axis after another.
ZARRPOINT_INLINE void replicate_edges(const mutable_host_view& into, const dims& filled) {
  box done = box::whole(filled);
  for (std::size_t axis = 0; axis < into.rank(); ++axis) {
    const index_t missing = into.shape[axis] - filled[axis];
    if (missing <= 0) continue;
    box last = done;
    last.offset[axis] = filled[axis] - 1;
    last.shape[axis] = 1;
    box behind = done;
    behind.offset[axis] = filled[axis];
    behind.shape[axis] = missing;
    host_view from = subview(host_view(into), selection(last));
    from.shape[axis] = missing;
    from.strides[axis] = 0;
    copy_elements(subview(into, selection(behind)), from);
    done.shape[axis] = into.shape[axis];
  }
}

/// Reads what of `part` the stored tensor has to the leading corner of `into`; with `replicate` its
/// edge, to all of it.
ZARRPOINT_INLINE result<void> read_common_part(const shard_reading& from, box part,
                                               mutable_host_view into) {
  const bool replicate = from.padding == shard_padding::replicate;
  const dims& stored = from.stored.spec.shape;
  if (part.empty()) return {};
  for (std::size_t i = 0; i < part.rank(); ++i) {
    const index_t left = stored[i] - part.offset[i];
    if (left < 1 && replicate) part.offset[i] = stored[i] - 1;
    part.shape[i] = std::min(part.shape[i], replicate ? std::max<index_t>(left, 1) : left);
  }
  if (part.empty()) return {};
  ZARRPOINT_CHECK(
      from.reader.read(from.stored.key, part, subview(into, selection(box::whole(part.shape)))));
  if (replicate) replicate_edges(into, part.shape);
  return {};
}

ZARRPOINT_INLINE void fill_with_nothing(const mutable_host_view& into) {
  if (!into.type.is_variable()) return fill_with_zero(into);
  const std::string empty;
  copy_elements(into, host_view{reinterpret_cast<const std::byte*>(&empty),
                                into.type,
                                into.shape,
                                dims(into.rank(), 0),
                                {},
                                {}});
}

ZARRPOINT_INLINE result<void> read_shard(const shard_reading& from, const shard_metadata& wanted,
                                         const mutable_host_view& into) {
  // Elements of a tensor of another shape may have no stored counterpart.
  const dims& stored = from.stored.spec.shape;
  const bool has_none = box::whole(stored).empty();
  if (stored != wanted.global_shape && (has_none || from.padding == shard_padding::zeros))
    fill_with_nothing(into);
  if (has_none) return {};
  if (!wanted.range)
    return read_common_part(from, wanted.global_box(), with_prepended(into, wanted.prepended_axes));
  index_t at = 0;
  for (const box& part : global_boxes(wanted)) {
    ZARRPOINT_CHECK(read_common_part(from, part, as_box(into, at, part.shape)));
    at += element_count(part.shape).value_or(0);
  }
  return {};
}

ZARRPOINT_INLINE result<void> read_part_of_shard(const shard_reading& from,
                                                 const shard_metadata& wanted, const box& part,
                                                 const mutable_host_view& into) {
  shard_metadata some = wanted;
  if (some.range) {
    some.range->start += part.offset[0];
    some.range->stop = some.range->start + part.shape[0];
  } else {
    some.local_shape = part.shape;
    for (std::size_t i = 0; i < part.rank(); ++i)
      some.global_offset[some.prepended_axes + i] += part.offset[i];
  }
  return read_shard(from, some, into);
}

ZARRPOINT_INLINE const dims& unit_of(const stored_tensor& stored) {
  return stored.read_unit.empty() ? stored.chunk_shape : stored.read_unit;
}

ZARRPOINT_INLINE result<void> fill_shard(const shard_reading& from, const sharded_tensor& into,
                                         const context& how) {
  const auto read = [&](const box& part, const mutable_host_view& to) {
    return read_part_of_shard(from, into.metadata(), part, to);
  };
  return into.fill(read, how, unit_of(from.stored)).at("load " + in_quotes(into.key()));
}

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/load/bodies.hpp>
#include <zarrpoint/checkpoint/save/save_bodies.hpp>
#include <zarrpoint/distributed/plan/plan_bodies.hpp>
#include <zarrpoint/distributed/shard/part_bodies.hpp>
#endif
