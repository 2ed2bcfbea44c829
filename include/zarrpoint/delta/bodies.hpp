// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/grid/plan.hpp>
#include <zarrpoint/array/hierarchy/store_tree.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/read/stored_object.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/array/write/shard_writer.hpp>
#include <zarrpoint/checkpoint/load/load_batch.hpp>
#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/save/plan_layout.hpp>
#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/checkpoint/save/stage_leaves.hpp>
#include <zarrpoint/checkpoint/save/write_leaves.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/checkpoint/verify/verify.hpp>
#include <zarrpoint/checkpoint/verify/verify_leaf.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/delta/delta.hpp>
#include <zarrpoint/delta/difference.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// --------------------------------------------------------------------------------------- delta.hpp

/// A leaf of the result, from memory or from a checkpoint.
struct result_leaf {
  std::string name;
  std::string kind;
  tensor_spec spec;
  json attributes{};
  const leaf* value = nullptr;          ///< in memory, or
  const stored_leaf* stored = nullptr;  ///< in `result_set::from`
};

/// All leaves of the result, and what else is saved.
struct result_set {
  std::vector<result_leaf> leaves;
  const opened_root* from = nullptr;  ///< of leaves that are stored
  std::vector<std::string> empty_groups;
  json::object group_attributes;
  json attributes;
  std::string id;
};

/// Copies an object that has to be there as it is stored.
inline result<void> copy_object(const any_store& from, const any_store& to, const store_key& key) {
  ZARRPOINT_TRY(source, from.open(key));
  if (source == nullptr) return error{errc::not_found, from.describe(key) + " is missing"};
  ZARRPOINT_TRY(made, to.create(key));
  return copy_object(*source, *made);
}

/// Copies a leaf as it is stored, and verifies the copy.
inline result<void> copy_leaf(const opened_root& from, const stored_leaf& leaf, const any_store& to,
                              const context& how) {
  ZARRPOINT_TRY(key, store_key::parse(leaf.name));
  ZARRPOINT_TRY(document, key.child("zarr.json"));
  const json& metadata = leaf.document->content();
  ZARRPOINT_CHECK(to.put(document, as_bytes(dump_json(metadata, json_style::pretty))));
  for (const auto& [name, object] : leaf.objects.objects()) {
    if (object.absent()) continue;
    ZARRPOINT_TRY(at, key.child(name));
    ZARRPOINT_CHECK(copy_object(from.store, to, at));
  }
  ZARRPOINT_TRY(copied, array_of({to, from.contents}, leaf, how));
  leaf_verification found;
  verify_report report;
  ZARRPOINT_TRY(faults, verify_leaf(copied, found, report, {}));
  static_cast<void>(faults);
  for (const verify_failure& one : report.failures)
    if (one.is_fault) return one.what;
  return {};
}

/// One leaf of which the base has one of the same form: writes what differs.
class difference_save {
 public:
  difference_save(const any_store& to, const result_leaf& leaf, const opened_root& from,
                  const context& how)
      : to_(to), leaf_(leaf), from_(from), how_(how) {}

  /// `before`: the leaf of the base; `raw`: how the result is laid out.
  result<void> run(const array& before, const array_metadata& raw, bool same_attributes) {
    before_ = &before;
    ZARRPOINT_TRY(metadata, difference_form(raw));
    ZARRPOINT_TRY(layout, array_layout::resolve(metadata, difference_codecs::table(), how_.limit));
    ZARRPOINT_TRY(key, store_key::parse(leaf_.name));
    ZARRPOINT_TRY(document, array_document(metadata));
    record_.name = leaf_.name;
    record_.typestr = leaf_.kind;
    record_.metadata = document;
    const array_state state(to_, key, std::move(metadata), std::move(layout), how_);
    of_ = &state;
    one_ = of_one_worker(how_);
    one_->progress = {};
    ZARRPOINT_CHECK(open_result());
    ZARRPOINT_CHECK(write());
    is_kept_ = !changed_ && same_attributes;
    if (is_kept_) return {};
    return put_document(to_, key, "zarr.json", document);
  }

  bool is_kept() const noexcept { return is_kept_; }
  leaf_record& record() noexcept { return record_; }
  chunk_digests& results() noexcept { return results_; }

 private:
  struct object_job {
    std::string key;
    std::unique_ptr<shard_writer> writer;  // of a shard
    object_digest result;
    object_digest stored;
  };

  result<void> open_result() {
    if (leaf_.value != nullptr && leaf_.value->host_accessible()) {
      ZARRPOINT_TRY(view, leaf_.value->view());
      view_ = view;
    } else if (leaf_.value != nullptr) {
      ZARRPOINT_TRY(copied, leaf_.value->stage(resource_of(how_)));
      staged_ = std::move(copied);
      view_ = staged_->view;
    } else {
      ZARRPOINT_TRY(opened, array_of(from_, *leaf_.stored, how_));
      source_ = std::move(opened);
    }
    return {};
  }

  result<void> write() {
    const chunk_grid& grid = of_->layout.grid();
    ZARRPOINT_TRY(plan, box_plan::make(grid, box::whole(grid.shape)));
    const auto inner_count = static_cast<std::size_t>(of_->layout.inner_count());
    for (std::size_t i = 0; i < plan.size();) {
      const plan_item item = plan.at(i);
      object_job job{of_->chunk_key(item.object), nullptr, {}, {}};
      job.result.crc32c.resize(inner_count);
      if (of_->sharded()) {
        ZARRPOINT_TRY(key, of_->key.child(job.key));
        job.writer = std::make_unique<shard_writer>(*of_, key, nullptr);
        ZARRPOINT_CHECK(job.writer->begin(item.object_items, false, *one_->scratch));
      }
      jobs_.push_back(std::move(job));
      numbers_.push_back(i);
      i += item.object_items;
    }
    const std::size_t window =
        2 * std::size_t{parallel_workers(how_.executor, plan.size(), {.stop = how_.stop})};
    ZARRPOINT_CHECK(parallel_for(
        how_.executor, plan.size(),
        [&](std::size_t i) -> result<void> {
          const plan_item item = plan.at(i);
          const auto number = static_cast<std::size_t>(
              std::upper_bound(numbers_.begin(), numbers_.end(), i) - numbers_.begin() - 1);
          object_job& job = jobs_[number];
          const std::size_t position = i - numbers_[number];
          if (job.writer == nullptr) return write_chunk(item, job);
          if (!job.writer->wait_until_near(position, window)) return {};
          const auto written = [&]() -> result<void> {
            ZARRPOINT_TRY(chunk, encode(item, job));
            ZARRPOINT_TRY(is_last, job.writer->place(position, std::move(chunk)));
            if (!is_last) return {};
            ZARRPOINT_TRY(digest, job.writer->finish(*one_->scratch));
            job.stored = std::move(digest);
            return {};
          };
          auto done = guarded(written);
          if (!done) job.writer->fail(position);
          return done;
        },
        {.stop = how_.stop}));
    for (object_job& job : jobs_) {
      std::uint64_t present = 0;
      for (const auto& sum : job.result.crc32c) present += sum ? 1U : 0U;
      const shard_parts* const shard = of_->layout.shard();
      ZARRPOINT_TRY(bytes, byte_count(of_->layout.chain().chunk_spec()));
      job.result.size = present * bytes + (shard != nullptr ? shard->index_size : 0);
      results_.set(job.key, std::move(job.result));
      record_.objects.set(job.key, std::move(job.stored));
    }
    return {};
  }

  /// Of an array without shards.
  result<void> write_chunk(const plan_item& item, object_job& job) {
    ZARRPOINT_TRY(chunk, encode(item, job));
    if (chunk.absent) return {};
    ZARRPOINT_TRY(key, of_->key.child(job.key));
    ZARRPOINT_CHECK(to_.put(key, chunk.bytes));
    job.stored = {chunk.bytes.size(), {chunk.digest}};
    return {};
  }

  enum slot : std::size_t { base_slot, result_slot, payload_slot };

  result<encoded_chunk> encode(const plan_item& item, object_job& job) {
    encoded_chunk out;
    out.slot = of_->layout.slot(item.inner);
    out.scratch = one_->scratch->borrow();
    const tensor_spec& chunk = of_->layout.chain().chunk_spec();
    const box part{item.first_element, item.within.shape};
    const bool is_whole = part.shape == chunk.shape;
    ZARRPOINT_TRY(bytes, byte_count(chunk));
    read_options options;
    options.how = &*one_;
    options.cast = true;

    ZARRPOINT_TRY(base, out.scratch->scratch(base_slot, bytes));
    if (!is_whole) std::memset(base.data(), 0, bytes);
    ZARRPOINT_CHECK(before_->read(
        part, subview(dense_view(base.data(), chunk), box::whole(part.shape)), options));

    bytes_view elements;
    const bool lies_there = view_ && is_whole && view_->type == chunk.type;
    if (lies_there && is_dense(subview(*view_, part))) {
      elements = {subview(*view_, part).data, bytes};
    } else {
      ZARRPOINT_TRY(room, out.scratch->scratch(result_slot, bytes));
      if (!is_whole) std::memset(room.data(), 0, bytes);
      const mutable_host_view to = subview(dense_view(room.data(), chunk), box::whole(part.shape));
      if (!view_) {
        ZARRPOINT_CHECK(source_->read(part, to, options));
      } else if (view_->type == chunk.type) {
        copy_elements(to, subview(*view_, part));
      } else {
        ZARRPOINT_CHECK(cast_elements(to, subview(*view_, part)));
      }
      elements = room;
    }
    job.result.crc32c[out.slot] = crc32c(elements);
    constexpr std::size_t no_change = 5;  // the head alone
    if (bytes < no_change && std::memcmp(base.data(), elements.data(), bytes) == 0) return out;
    ZARRPOINT_TRY(payload, out.scratch->scratch(payload_slot, bytes + 1));
    ZARRPOINT_TRY(size, encode_difference({base, elements, difference_word(chunk.type)}, payload,
                                          *out.scratch));
    if (size == no_change && payload[0] == std::byte{1}) return out;
    changed_ = true;
    out.absent = false;
    out.bytes = payload.first(size);
    out.digest = crc32c(out.bytes);
    return out;
  }

  const any_store& to_;
  const result_leaf& leaf_;
  const opened_root& from_;
  const context& how_;
  const array_state* of_ = nullptr;
  const array* before_ = nullptr;
  std::optional<context> one_;
  std::optional<host_view> view_;
  std::optional<staged> staged_;
  std::optional<array> source_;
  std::vector<object_job> jobs_;
  std::vector<std::size_t> numbers_;  // the first item of each
  std::atomic<bool> changed_{false};
  bool is_kept_ = false;
  leaf_record record_;
  chunk_digests results_;
};

inline json attributes_of_stored(const stored_leaf& leaf) {
  const json* const found = leaf.document->content().find("attributes");
  if (found == nullptr || found->if_object() == nullptr || found->if_object()->empty()) return {};
  return *found;
}

/// A delta being written: its leaves, and its document last.
class delta_writer {
 public:
  delta_writer(const opened_root& base, const result_set& set, const save_options& options,
               const context& how)
      : base_(base), set_(set), options_(options), how_(with_scratch(how)) {}

  result<save_report> write(const any_store& to, const std::string& path) {
    save_report report;
    report.id = set_.id;
    delta_document out;
    out.base_id = base_.contents.id;
    out.base_forms = forms_of(base_.contents);
    out.base_path = path;
    out.attributes = set_.attributes;
    out.commit.id = set_.id;
    out.commit.groups = set_.empty_groups;
    out.commit.group_attributes = set_.group_attributes;
    std::set<std::string_view> names;
    for (const result_leaf& leaf : set_.leaves) {
      names.insert(leaf.name);
      const auto start = std::chrono::steady_clock::now();
      auto done = guarded([&] { return add(to, leaf, out); });
      if (!done) return std::move(done).failure().at("save " + in_quotes(leaf.name));
      ZARRPOINT_TRY(bytes, byte_count(leaf.spec));
      report.leaves.push_back({leaf.name, leaf.spec, bytes, *done, seconds_since(start)});
      report.bytes += bytes;
      report.stored_bytes += *done;
    }
    for (const stored_leaf& leaf : base_.contents.leaves)
      if (!names.contains(leaf.name)) out.removed.push_back(leaf.name);
    std::vector<std::string_view> stored;
    stored.reserve(out.commit.leaves.size());
    for (const leaf_record& leaf : out.commit.leaves) stored.emplace_back(leaf.name);
    ZARRPOINT_TRY(groups, groups_of(stored));
    ZARRPOINT_CHECK(put_group_documents(to, groups, {}, 3));
    const std::string text = delta_root_text(out);
    if (text.size() > document_limits(how_.limit).max_bytes)
      return error{errc::resource_limit, "the document of the delta takes " +
                                             std::to_string(text.size()) +
                                             " bytes, more than limits::metadata_bytes allows"};
    ZARRPOINT_TRY(key, store_key::parse("zarr.json"));
    ZARRPOINT_CHECK(to.put(key, as_bytes(text)));
    return report;
  }

 private:
  static std::uint64_t stored_bytes(const leaf_record& record) {
    std::uint64_t out = 0;
    for (const auto& [key, object] : record.objects.objects()) out += object.size;
    return out;
  }

  /// The layout of a leaf whose elements are raw: its own, or that of the base, or by the rules.
  result<array_metadata> raw_layout(const result_leaf& leaf, const array& before) const {
    if (leaf.stored != nullptr) {
      ZARRPOINT_TRY(own, parse_array_v3(leaf.stored->document->content()));
      if (raw_form_of(own)) return own;
    }
    array_metadata out = before.metadata();
    if (!options_.rules.empty() || !raw_form_of(out)) {
      save_options plain;
      for (leaf_rule rule : options_.rules) {
        rule.codecs = {};
        plain.rules.push_back(std::move(rule));
      }
      ZARRPOINT_TRY(planned, plan_layout(leaf.name, leaf.spec, plain));
      out = std::move(planned.metadata);
      use_one_directory(out);
    }
    out.attributes = leaf.attributes;
    return out;
  }
  /// The one object of a leaf lies beside its document, as `save` has it.
  static void use_one_directory(array_metadata& of) {
    for (std::size_t d = 0; d < of.shape.rank(); ++d)
      if (of.shape[d] > of.chunk_shape[d]) return;
    of.keys.separator = '.';
  }
  static bool raw_form_of(const array_metadata& of) {
    const auto made = difference_form(of);
    if (!made) return false;
    for (const codec_spec& codec : of.codecs) {
      if (codec.name != sharding_config::name) continue;
      const auto config = sharding_config::from_configuration(codec.configuration);
      if (!config || config->location != index_location::end ||
          config->index_codecs != sharding_config::default_index_codecs())
        return false;
    }
    const auto plain = raw_form(*made);
    return of.edges.empty() && plain && *plain == of &&
           std::all_of(of.fill_element().begin(), of.fill_element().end(),
                       [](std::byte one) { return one == std::byte{0}; });
  }

  /// Returns the bytes that were stored.
  result<std::uint64_t> add(const any_store& to, const result_leaf& leaf, delta_document& out) {
    const stored_leaf* const before = find_leaf(base_.contents, leaf.name);
    if (before != nullptr && before->typestr == leaf.kind && difference_word(leaf.spec.type) != 0) {
      ZARRPOINT_TRY(array, array_of(base_, *before, how_));
      ZARRPOINT_TRY(bytes, byte_count(leaf.spec));
      if (array.spec() == leaf.spec && bytes != 0) {
        ZARRPOINT_TRY(raw, raw_layout(leaf, array));
        difference_save one(to, leaf, leaf.stored != nullptr ? *set_.from : base_, how_);
        ZARRPOINT_CHECK(one.run(array, raw, attributes_of_stored(*before) == leaf.attributes));
        if (one.is_kept()) return std::uint64_t{0};
        out.results[leaf.name] = std::move(one.results());
        out.commit.leaves.push_back(std::move(one.record()));
        return stored_bytes(out.commit.leaves.back());
      }
    }
    ZARRPOINT_TRY(record, write_whole(to, leaf));
    out.commit.leaves.push_back(std::move(record));
    return stored_bytes(out.commit.leaves.back());
  }

  result<leaf_record> write_whole(const any_store& to, const result_leaf& leaf) {
    if (leaf.stored != nullptr) {
      ZARRPOINT_CHECK(copy_leaf(*set_.from, *leaf.stored, to, how_));
      return leaf_record{leaf.name, leaf.kind, leaf.stored->document->content(),
                         leaf.stored->objects};
    }
    ZARRPOINT_TRY(planned, plan_layout(leaf.name, leaf.spec, options_));
    planned.metadata.attributes = leaf.attributes;
    use_one_directory(planned.metadata);
    const auto form = make_counted<const planned_form>(std::move(planned.metadata));
    pin_times pinned;
    const write_options options{.elide_fill = options_.elide_fill,
                                .cast = true,
                                .how = &how_,
                                .device_encode = options_.device_encode};
    ZARRPOINT_TRY(record, write_leaf(to, planned_leaf{leaf.value, nullptr, form}, options, pinned));
    ZARRPOINT_TRY(texts, form->texts());
    record.metadata = texts->document;
    return std::move(record);
  }

  const opened_root& base_;
  const result_set& set_;
  const save_options& options_;
  const context how_;
};

/// Writes a tree, and puts it in its place.
template <class Write>
result<save_report> publish_tree(const location& where, const save_options& options,
                                 const context& how, const Write& write) {
  const auto start = std::chrono::steady_clock::now();
  const auto run = [&]() -> result<save_report> {
    ZARRPOINT_TRY(target, location_access::to_write(where, options.sync, how.stores));
    const any_store root = beneath(target);
    const auto own = holds_commit(root, how.limit).transform([](bool is) { return own_look{is}; });
    const replace_rule rule{where.name(), options.overwrite, "a zarrpoint checkpoint",
                            directory_kind::zarr};
    ZARRPOINT_CHECK(check_replace(target, rule, own));
    if (!target.store.can_publish())
      return error{errc::unsupported, "this store cannot publish a tree in one step"};
    ZARRPOINT_TRY(staged, stage(target, {.overwrite = options.overwrite,
                                         .sync = options.sync,
                                         .observer = how.observer}));
    std::vector<std::string> taken;
    ZARRPOINT_TRY(report, write(staged->store(), taken));
    ZARRPOINT_TRY(is_there, check_still(target, rule));
    std::optional<owned_paths> owned;
    if (options.overwrite) {
      ZARRPOINT_TRY(old, paths_to_replace(root, how, is_there));
      sort_names(taken);
      owned = {std::move(old), std::move(taken)};
    }
    ZARRPOINT_CHECK(publish(*staged, owned, report));
    return std::move(report);
  };
  auto report = guarded(run);
  if (!report) return std::move(report).failure().at("save " + where.name());
  report->seconds = report->blocked_seconds = seconds_since(start);
  return report;
}

/// `base` as it is told from the directory around `where`; empty where it does not lie there.
inline std::string path_between(const location& where, const location& base) {
  if (!location_access::is_path(where) || !location_access::is_path(base)) return {};
  const auto plain = [](std::string path) {
    while (path.starts_with("./")) path.erase(0, 2);
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
  };
  const std::string around = parent_of(plain(location_access::local_path(where)));
  std::string path = plain(location_access::local_path(base));
  if (around != ".") {
    const std::string beginning = around == "/" ? around : around + '/';
    if (!path.starts_with(beginning)) return {};
    path.erase(0, beginning.size());
  }
  return store_key::parse(path) ? path : std::string();
}

/// The id of what lies at a place; empty for nothing, and for what is not ours.
inline std::string id_at(const location& where, const context& how) {
  const auto read = [&]() -> result<std::string> {
    ZARRPOINT_TRY(place, place_of(where, how));
    ZARRPOINT_TRY(delta, read_delta_document(place.root, how));
    if (delta) return delta->commit.id;
    ZARRPOINT_TRY(contents, read_contents(place.root, how));
    return contents.is_ours() ? contents.id : std::string();
  };
  return read().value_or(std::string());
}

/// A delta neither replaces what it stands on, nor stands on itself.
inline result<void> check_stands(const opened_root& base, const std::string& id,
                                 const save_request& what) {
  if (base.contents.id == id)
    return error{errc::invalid_argument,
                 "what is saved is the base itself, " + id + ": nothing differs"};
  if (!what.options.overwrite) return {};
  const std::string there = id_at(what.where, what.how);
  if (!there.empty() &&
      (there == base.contents.id ||
       std::find(base.under.begin(), base.under.end(), there) != base.under.end()))
    return error{errc::invalid_argument,
                 "save " + what.where.name() +
                     ": the delta would replace its own base: save it to another place, or apply "
                     "it there"};
  return {};
}

inline result<save_report> write_delta(const location& where, const delta::format& by,
                                       const result_set& set, const save_request& what) {
  const std::string path = by.path.empty() ? path_between(where, by.base) : by.path;
  ZARRPOINT_TRY(base, open_chain(by.base, by.bases, what.how));
  if (!base.contents.is_ours() || base.contents.zarr_format != 3)
    return error{errc::unsupported, "the base " + by.base.name() +
                                        " is not a checkpoint of zarrpoint in Zarr v3: convert it "
                                        "first"};
  ZARRPOINT_CHECK(check_stands(base, set.id, what));
  std::vector<std::string_view> names;
  names.reserve(set.leaves.size());
  for (const result_leaf& leaf : set.leaves) names.emplace_back(leaf.name);
  std::vector<std::string> warnings;
  ZARRPOINT_CHECK(check_rules(what.options, names, warnings));
  const auto has_codecs = [](const leaf_rule& rule) { return rule.codecs.has_value(); };
  if (std::any_of(what.options.rules.begin(), what.options.rules.end(), has_codecs))
    warnings.emplace_back(
        "what differs from the base has a codec of its own: the codecs of rules are those of "
        "leaves that are stored whole");
  ZARRPOINT_TRY(
      report, publish_tree(where, what.options, what.how,
                           [&](const any_store& to, std::vector<std::string>& taken) {
                             for (const result_leaf& leaf : set.leaves)
                               taken.emplace_back(leaf.name);
                             return delta_writer(base, set, what.options, what.how).write(to, path);
                           }));
  report.warnings.insert(report.warnings.begin(), std::make_move_iterator(warnings.begin()),
                         std::make_move_iterator(warnings.end()));
  if (path.empty())
    report.warnings.emplace_back(
        "the delta does not say where its base lies, which is not in the directory around it: "
        "who opens it gives the base");
  return std::move(report);
}

inline result<void> check_delta_options(const save_options& options) {
  if (options.zarr_format != 3)
    return error{errc::unsupported, "a delta is of Zarr v3; leave out save_options::zarr_format"};
  if (!options.layouts.empty())
    return error{errc::unsupported, "a delta has no place for save_options::layouts; use rules"};
  return check_attributes(options.attributes);
}

/// The leaves of a hierarchy as a result.
inline result<result_set> set_of(const opened_root& from) {
  result_set out;
  out.from = &from;
  out.id = from.contents.is_ours() ? from.contents.id : random_id();
  out.attributes = from.contents.attributes;
  out.empty_groups = from.contents.groups;
  out.group_attributes = from.contents.group_attributes;
  if (from.contents.zarr_format != 3 || !from.contents.container.empty())
    return error{errc::unsupported, "what a delta is made of is a checkpoint in Zarr v3"};
  for (const stored_leaf& leaf : from.contents.leaves) {
    ZARRPOINT_TRY(metadata, parse_array_v3(leaf.document->content()).at(in_quotes(leaf.name)));
    if (leaf.name.empty())
      return error{errc::unsupported, "a hierarchy whose root is an array has no deltas"};
    out.leaves.push_back(
        {leaf.name, leaf.typestr, metadata.spec(), attributes_of_stored(leaf), nullptr, &leaf});
  }
  return out;
}

inline result<opened_root> open_chain(const delta_chain& chain, const context& how) {
  if (chain.deltas.empty()) return open_chain(chain.base, delta_options{}, how);
  ZARRPOINT_TRY(under, open_chain(chain.base, delta_options{}, how));
  for (const location& one : chain.deltas) {
    ZARRPOINT_TRY(place, place_of(one, how));
    ZARRPOINT_TRY(document, read_delta_document(place.root, how));
    if (!document) return error{errc::invalid_argument, one.name() + " is not a delta"};
    ZARRPOINT_TRY(joined, delta_store::make(place.root, *std::move(document), under,
                                            one_of_chain(how, chain.deltas.size()))
                              .at("delta " + one.name()));
    any_store store(std::move(joined));
    ZARRPOINT_TRY(contents, read_contents(store, how));
    under = opened_root{std::move(store), std::move(contents)};
  }
  return under;
}

}  // namespace detail

ZARRPOINT_INLINE result<claim> delta::format::sniff(const place_look& at) {
  if (!at.is_directory()) return claim::none;
  return v0::detail::is_delta(at.directory()).value_or(false) ? claim::sure : claim::none;
}

ZARRPOINT_INLINE result<stored_place> delta::format::open(const place_look& at,
                                                          const place_use& use,
                                                          const codec_table& codecs) {
  ZARRPOINT_CHECK(at.check_directory());
  context how;
  how.codecs = codecs;
  how.limit.memory = static_cast<std::size_t>(std::min<std::uint64_t>(use.memory, SIZE_MAX));
  ZARRPOINT_TRY(opened, v0::detail::open_chain(location(at.place()), {}, how));
  return at.within(std::move(opened.store), {});
}

ZARRPOINT_INLINE result<save_report> delta::save_as(const format& by, const save_request& what) {
  return guarded([&]() -> result<save_report> {
    ZARRPOINT_CHECK(v0::detail::check_delta_options(what.options));
    v0::detail::result_set set;
    set.id = v0::detail::random_id();
    set.attributes = what.options.attributes;
    ZARRPOINT_TRY(attributes, v0::detail::sorted_attributes_of(what.options));
    std::vector<std::string_view> names;
    for (const leaf& one : what.leaves) names.emplace_back(one.name());
    ZARRPOINT_TRY(groups, groups_of(names, what.empty_groups));
    v0::detail::sort_names(names);
    ZARRPOINT_TRY(of_groups, v0::detail::attributes_of_groups(attributes, groups, names));
    set.group_attributes = std::move(of_groups);
    set.empty_groups.assign(what.empty_groups.begin(), what.empty_groups.end());
    v0::detail::sort_names(set.empty_groups);
    for (const leaf& one : what.leaves) {
      auto spec = one.spec();
      if (!spec) return std::move(spec).failure().at("save " + v0::detail::in_quotes(one.name()));
      if (const dtype* cast =
              v0::detail::last_set(what.options.rules, one.name(), &leaf_rule::cast)) {
        ZARRPOINT_CHECK(v0::detail::check_cast(spec->type, *cast));
        spec->type = *cast;
      }
      const json* const own = v0::detail::find_sorted(attributes, one.name());
      set.leaves.push_back({one.name(), std::string(one.typestr()), *spec,
                            own != nullptr ? *own : json(), &one, nullptr});
    }
    return v0::detail::write_delta(what.where, by, set, what);
  });
}

ZARRPOINT_INLINE result<save_report> save_delta(const location& where, const location& base,
                                                std::span<const leaf> leaves,
                                                const save_options& options) {
  save_options as_delta = options;
  as_delta.format = delta::format{base};
  return save(where, leaves, as_delta);
}

ZARRPOINT_INLINE result<save_report> save_delta(const location& where, const location& base,
                                                std::initializer_list<leaf> leaves,
                                                const save_options& options) {
  return save_delta(where, base, std::span<const leaf>(leaves.begin(), leaves.size()), options);
}

ZARRPOINT_INLINE result<save_report> save_delta(const location& where, const delta::format& by,
                                                const checkpoint& from,
                                                const save_options& options) {
  return guarded([&]() -> result<save_report> {
    ZARRPOINT_CHECK(detail::check_delta_options(options));
    const detail::opened_root root{detail::checkpoint_access::store(from),
                                   detail::checkpoint_access::contents(from)};
    ZARRPOINT_TRY(set, detail::set_of(root));
    return detail::write_delta(where, by, set, {where, {}, {}, options, from.how()});
  });
}

ZARRPOINT_INLINE result<checkpoint> open_delta(const location& where, const delta_options& options,
                                               const context& how) {
  return guarded([&]() -> result<checkpoint> {
    auto opened = detail::open_chain(where, options, how);
    if (!opened) return std::move(opened).failure().at("open " + where.name());
    return checkpoint::open(location(std::move(opened->store)), how);
  });
}

ZARRPOINT_INLINE result<checkpoint> open_delta(const delta_chain& chain, const context& how) {
  return guarded([&]() -> result<checkpoint> {
    ZARRPOINT_TRY(opened, detail::open_chain(chain, how));
    return checkpoint::open(location(std::move(opened.store)), how);
  });
}

namespace detail {

/// Writes a chain as a whole checkpoint.
inline result<save_report> write_applied(const opened_root& from, const any_store& to,
                                         const context& how) {
  save_report report;
  report.id = from.contents.id;
  const context one = with_scratch(how);
  std::vector<std::string_view> names;
  names.reserve(from.contents.leaves.size());
  for (const stored_leaf& leaf : from.contents.leaves) names.emplace_back(leaf.name);
  ZARRPOINT_TRY(groups, groups_of(names, from.contents.groups));
  report.leaves.resize(from.contents.leaves.size());
  ZARRPOINT_CHECK(parallel_for(
      one.executor, from.contents.leaves.size(),
      [&](std::size_t i) -> result<void> {
        const stored_leaf& leaf = from.contents.leaves[i];
        const auto start = std::chrono::steady_clock::now();
        ZARRPOINT_CHECK(copy_leaf(from, leaf, to, one).at("leaf " + in_quotes(leaf.name)));
        leaf_report& told = report.leaves[i];
        told.name = leaf.name;
        ZARRPOINT_TRY(metadata, parse_array_v3(leaf.document->content()));
        told.stored = metadata.spec();
        told.bytes = byte_count(told.stored).value_or(0);
        for (const auto& [key, object] : leaf.objects.objects()) told.stored_bytes += object.size;
        told.seconds = seconds_since(start);
        return {};
      },
      {.stop = one.stop}));
  for (const leaf_report& leaf : report.leaves) {
    report.bytes += leaf.bytes;
    report.stored_bytes += leaf.stored_bytes;
  }
  ZARRPOINT_CHECK(put_group_documents(to, groups, from.contents.group_attributes, 3));
  ZARRPOINT_TRY(root, store_key::parse("zarr.json"));
  ZARRPOINT_CHECK(copy_object(from.store, to, root));
  return report;
}

}  // namespace detail

ZARRPOINT_INLINE result<save_report> apply_deltas(const location& where, const delta_chain& chain,
                                                  const save_options& options, const context& how) {
  return guarded([&]() -> result<save_report> {
    ZARRPOINT_TRY(from, detail::open_chain(chain, how));
    return detail::publish_tree(where, options, how,
                                [&](const any_store& to, std::vector<std::string>& taken) {
                                  for (const detail::stored_leaf& leaf : from.contents.leaves)
                                    taken.emplace_back(leaf.name);
                                  return detail::write_applied(from, to, how);
                                });
  });
}

ZARRPOINT_INLINE result<save_report> squash_deltas(const location& where, const delta_chain& chain,
                                                   const save_options& options,
                                                   const context& how) {
  return guarded([&]() -> result<save_report> {
    ZARRPOINT_CHECK(detail::check_delta_options(options));
    ZARRPOINT_TRY(from, detail::open_chain(chain, how));
    ZARRPOINT_TRY(set, detail::set_of(from));
    return detail::write_delta(where, {chain.base}, set, {where, {}, {}, options, how});
  });
}

namespace detail {

/// Tensors that are loaded, being made those of a delta.
class loaded_change {
 public:
  loaded_change(chain_place at, delta_document document, const context& how)
      : at_(std::move(at)), document_(std::move(document)), how_(with_scratch(how)) {}

  result<applied_delta> run(std::span<const load_target> targets) {
    applied_delta out;
    out.id = document_.commit.id;
    std::set<std::string_view> named;
    for (const load_target& one : targets) {
      named.insert(one.name());
      ZARRPOINT_CHECK(add(one).at(in_quotes(one.name())));
    }
    for (const leaf_record& record : document_.commit.leaves)
      if (!named.contains(record.name)) out.unnamed.push_back(record.name);
    // First a look at everything, then the change.
    ZARRPOINT_CHECK(pass(false));
    ZARRPOINT_CHECK(pass(true).at("the tensors are changed in part: load them anew"));
    out.changed_chunks = changed_;
    return out;
  }

 private:
  /// An object of a target, and the item of its plan at which it begins.
  struct object_of {
    std::size_t first;
    std::unique_ptr<stored_object> stored;  // null: nothing differs
    const object_digest* digest;
    const object_digest* result_of;
  };
  struct target {
    std::shared_ptr<const differing_leaf> leaf;
    const chunk_digests& results;
    mutable_host_view view;
    box_plan plan;
    std::size_t first;  ///< of its inner chunks among those of all targets
    std::vector<object_of> objects{};
  };
  struct whole_target {
    array from;
    mutable_host_view view;
  };

  result<void> pass(bool is_change) {
    for (const whole_target& one : wholes_) ZARRPOINT_CHECK(load(one, is_change));
    return parallel_for(how_.executor, count_,
                        [&](std::size_t i) {
                          const target& to = part_at(targets_, i);
                          return change(to, i - to.first, is_change).at(in_quotes(to.leaf->name));
                        },
                        {.stop = how_.stop});
  }

  const leaf_record* find(std::string_view name) const {
    for (const leaf_record& one : document_.commit.leaves)
      if (one.name == name) return &one;
    return nullptr;
  }

  /// What two leaves share would be changed twice.
  result<void> claim_memory(const mutable_host_view& view, std::string_view name) {
    ZARRPOINT_TRY(bytes, byte_count(tensor_spec{view.type, view.shape}));
    if (bytes == 0 || !is_dense(view)) return {};
    const std::byte* const begin = view.data;
    const auto after = claimed_.lower_bound(begin);
    const auto other = after != claimed_.end() && after->first < begin + bytes ? after
                       : after != claimed_.begin() && std::prev(after)->second.first > begin
                           ? std::prev(after)
                           : claimed_.end();
    if (other != claimed_.end())
      return error{errc::invalid_argument, "it lies in the memory of " +
                                               in_quotes(other->second.second) +
                                               ", which the delta changes, too: name one of them"};
    claimed_[begin] = {begin + bytes, std::string(name)};
    return {};
  }

  result<void> add(const load_target& one) {
    if (std::binary_search(document_.removed.begin(), document_.removed.end(), one.name()))
      return error{errc::not_found, "the delta removes this leaf"};
    const leaf_record* const record = find(one.name());
    if (record == nullptr) return {};  // it does not change
    ZARRPOINT_TRY(metadata, parse_array_v3(record->metadata));
    mutable_host_view view;
    const bound_target& bound = one.bound();
    ZARRPOINT_CHECK(bound.table->view(bound.target, metadata.spec(), &view));
    if (view.type != metadata.type)
      return error{errc::dtype_mismatch, "the delta has " + std::string(to_string(metadata.type)) +
                                             ", and the tensor " +
                                             std::string(to_string(view.type))};
    ZARRPOINT_CHECK(claim_memory(view, one.name()));
    const auto results = document_.results.find(one.name());
    if (results == document_.results.end()) {
      ZARRPOINT_TRY(key, store_key::parse(record->name));
      ZARRPOINT_TRY(opened, array::from_metadata(at_.root, key, std::move(metadata), how_));
      wholes_.push_back(
          {opened.expecting(make_counted<const chunk_digests>(record->objects)), view});
      return {};
    }
    context own = how_;
    own.executor = {};
    ZARRPOINT_TRY(leaf, make_differing(at_.root, *record, own));
    const array_state& of = *leaf->stored;
    ZARRPOINT_TRY(plan, box_plan::make(of.layout.grid(), box::whole(of.metadata.shape)));
    const std::size_t first = count_;
    count_ += plan.size();
    targets_.push_back({std::move(leaf), results->second, view, plan, first});
    return open_objects(targets_.back());
  }

  result<void> open_objects(target& to) {
    const array_state& of = *to.leaf->stored;
    for (std::size_t i = 0; i < to.plan.size();) {
      const plan_item item = to.plan.at(i);
      const std::string key = of.chunk_key(item.object);
      object_of one{i, nullptr, to.leaf->digests->find(key), to.results.find(key)};
      const std::uint64_t inner = of.layout.inner_count();
      if (one.result_of == nullptr || one.result_of->crc32c.size() != inner)
        return bad_delta("there are no results of chunk " + key);
      const scratch_pool::lease scratch = how_.scratch->borrow();
      ZARRPOINT_TRY(stored,
                    stored_object::open(of, key, *scratch, {.expected = to.leaf->digests.get()}));
      if (stored != nullptr && (one.digest == nullptr || one.digest->crc32c.size() != inner))
        return bad_delta("chunk " + key + " has no checksum of each inner chunk");
      one.stored = std::move(stored);
      to.objects.push_back(std::move(one));
      i += item.object_items;
    }
    return {};
  }

  /// The last of some that begins at `i` or before.
  template <class T>
  static const T& part_at(const std::vector<T>& parts, std::size_t i) {
    return *std::prev(
        std::upper_bound(parts.begin(), parts.end(), i,
                         [](std::size_t at, const T& one) { return at < one.first; }));
  }

  result<void> load(const whole_target& one, bool is_change) {
    if (is_change) return one.from.read(box::whole(one.view.shape), one.view);
    leaf_verification found;
    verify_report report;
    ZARRPOINT_TRY(faults, verify_leaf(one.from, found, report, {}));
    static_cast<void>(faults);
    for (const verify_failure& failure : report.failures) return failure.what;
    return {};
  }

  /// Looks at an inner chunk of a target, or changes it.
  result<void> change(const target& to, std::size_t i, bool is_change) {
    const differing_leaf& leaf = *to.leaf;
    const object_of& object = part_at(to.objects, i);
    const plan_item item = to.plan.at(i);
    const std::size_t slot = leaf.stored->layout.slot(item.inner);
    const auto& sum = object.result_of->crc32c[slot];
    if (!sum) return bad_delta("an inner chunk has no result");
    const shard_entry entry = object.stored != nullptr ? object.stored->entry(slot) : shard_entry{};
    if (entry.absent() && is_change) return {};
    const scratch_pool::lease scratch = how_.scratch->borrow();
    bytes_view payload;
    if (!entry.absent()) {
      ZARRPOINT_CHECK(check_stored_size(leaf.stored->layout.chain(), entry.size));
      ZARRPOINT_TRY(room, scratch->scratch(payload_slot, entry.size));
      ZARRPOINT_CHECK(object.stored->bytes->read(entry.offset, room));
      const auto& expected = object.digest->crc32c[slot];
      if (!expected || *expected != crc32c(room))
        return error{errc::corrupt, "the delta is damaged: a checksum differs"};
      payload = room;
    }
    const mutable_host_view part = subview(to.view, box{item.first_element, item.within.shape});
    const bool lies_there = part.shape == leaf.chunk.shape && is_dense(part);
    mutable_bytes elements(part.data, lies_there ? leaf.chunk_bytes : 0);
    if (!lies_there) {
      ZARRPOINT_TRY(room, scratch->scratch(elements_slot, leaf.chunk_bytes));
      std::memset(room.data(), 0, room.size());
      copy_elements(subview(dense_view(room.data(), leaf.chunk), box::whole(part.shape)),
                    as_const(part));
      elements = room;
    }
    if (!is_change) return look(payload, elements, *sum);
    ZARRPOINT_CHECK(apply_difference(payload, elements, leaf.word, *scratch));
    if (crc32c(elements) != *sum)
      return error{errc::corrupt, "the delta does not make what it says: a checksum differs"};
    if (!lies_there)
      copy_elements(
          part, as_const(subview(dense_view(elements.data(), leaf.chunk), box::whole(part.shape))));
    ++changed_;
    return {};
  }

  static result<void> look(bytes_view payload, bytes_view elements, std::uint32_t result_sum) {
    std::uint32_t expected = result_sum;
    if (!payload.empty()) {
      ZARRPOINT_TRY(head, read_difference_head(payload));
      if (head.is_whole) {
        if (payload.size() - 1 == elements.size()) return {};
        return error{errc::corrupt, "the delta is damaged: a whole chunk has another size"};
      }
      expected = head.base_crc;
    }
    if (crc32c(elements) == expected) return {};
    return error{errc::corrupt,
                 "the tensor has other elements than the base of the delta: nothing was changed"};
  }

  enum : std::size_t { elements_slot = 1, payload_slot = 2 };

  const chain_place at_;
  const delta_document document_;
  const context how_;
  std::vector<target> targets_;
  std::size_t count_ = 0;  // of inner chunks
  std::vector<whole_target> wholes_;
  /// Where the memory of each target begins; its end, and its name.
  std::map<const std::byte*, std::pair<const std::byte*, std::string>> claimed_;
  std::atomic<std::uint64_t> changed_{0};
};

}  // namespace detail

ZARRPOINT_INLINE result<applied_delta> apply_delta(const location& delta,
                                                   std::span<const load_target> targets,
                                                   const context& how) {
  return guarded([&]() -> result<applied_delta> {
    const auto run = [&]() -> result<applied_delta> {
      ZARRPOINT_TRY(place, detail::place_of(delta, how));
      ZARRPOINT_TRY(document, detail::read_delta_document(place.root, how));
      if (!document) return error{errc::invalid_argument, "it is not a delta"};
      return detail::loaded_change(std::move(place), *std::move(document), how).run(targets);
    };
    return run().at("apply " + delta.name());
  });
}

ZARRPOINT_INLINE result<applied_delta> apply_delta(const location& delta,
                                                   std::initializer_list<load_target> targets,
                                                   const context& how) {
  return apply_delta(delta, std::span<const load_target>(targets.begin(), targets.size()), how);
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/array/hierarchy/bodies.hpp>
#include <zarrpoint/checkpoint/bodies.hpp>
#include <zarrpoint/checkpoint/load/bodies.hpp>
#include <zarrpoint/checkpoint/save/save_bodies.hpp>
#include <zarrpoint/checkpoint/verify/verify_bodies.hpp>
#include <zarrpoint/delta/difference_bodies.hpp>
#include <zarrpoint/delta/store_bodies.hpp>
#endif
