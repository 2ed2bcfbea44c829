// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/read/stored_object.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/codec/array_to_bytes/bytes.hpp>
#include <zarrpoint/codec/base/registry.hpp>
#include <zarrpoint/codec/bytes_to_bytes/crc32c_codec.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/delta/delta_document.hpp>
#include <zarrpoint/delta/delta_store.hpp>
#include <zarrpoint/delta/difference.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <unordered_map>

namespace zarrpoint { inline namespace v0 { namespace detail {

// ------------------------------------------------------------------------------ delta_document.hpp

ZARRPOINT_INLINE error bad_delta(const std::string& what) {
  return {errc::corrupt, "delta document: " + what};
}

ZARRPOINT_INLINE std::string forms_of(const checkpoint_contents& contents) {
  std::uint32_t sum = 0;
  for (const stored_leaf& leaf : contents.leaves) {
    std::string text = leaf.name + '\n';
    for (const std::string_view key : {"data_type", "shape"}) {
      const json* const found = leaf.document->content().find(key);
      if (found != nullptr) text += dump_json(*found, json_style::compact);
      text += '\n';
    }
    sum = crc32c(as_bytes(text), sum);
  }
  std::string out;
  append_hex(out, sum);
  return out;
}

/// As a commit document has them.
inline json objects_json(const chunk_digests& objects) {
  json out(json::object{});
  for (const auto& [key, object] : objects.objects()) {
    std::string sums;
    for (const auto& sum : object.crc32c) {
      if (sum) {
        append_hex(sums, *sum);
      } else {
        sums += "--------";
      }
    }
    out.set(key, json::object{{"size", object.size}, {"crc32c", std::move(sums)}});
  }
  return out;
}

ZARRPOINT_INLINE std::string delta_root_text(const delta_document& of) {
  json base(json::object{{"id", of.base_id}, {"forms_crc32c", of.base_forms}});
  if (!of.base_path.empty()) base.set("path", of.base_path);
  json::array removed;
  for (const std::string& name : of.removed) removed.emplace_back(name);
  json::object results;
  for (const auto& [name, objects] : of.results) results.push_back({name, objects_json(objects)});
  const json own(json::object{{"format", delta_document::format},
                              {"base", std::move(base)},
                              {"removed", std::move(removed)},
                              {"results", std::move(results)}});
  const std::string attributes =
      dump_json(of.attributes.is_null() ? json(json::object{}) : of.attributes);
  std::vector<std::string> texts;
  texts.reserve(of.commit.leaves.size());
  for (const leaf_record& leaf : of.commit.leaves)
    texts.push_back(dump_json(leaf.metadata, json_style::compact));
  const std::vector<std::string_view> documents(texts.begin(), texts.end());
  std::string sealed = dump_json(own, json_style::compact);
  sealed.pop_back();
  sealed += ",\"commit\":";
  append_commit(sealed, of.commit, text_seal(attributes), documents);
  sealed += '}';
  const std::string seal = text_seal(sealed);
  sealed.pop_back();
  std::string out = R"({"zarr_format":3,"node_type":"group","attributes":{"zarrpoint":)";
  out.append(sealed).append(",\"crc32c\":\"").append(seal).append("\"}");
  if (attributes.size() > 2) out.append(",").append(attributes, 1, attributes.size() - 2);
  return out + "}}";
}

inline result<std::string> delta_text_member(const json& from, std::string_view key) {
  if (const std::string* const found = from.find_string(key)) return *found;
  return bad_delta("member \"" + std::string(key) + "\" is missing or is not a string");
}

inline result<chunk_digests> parse_objects(const json& from) {
  chunk_digests out;
  if (from.if_object() == nullptr) return bad_delta("results of a leaf are not an object");
  for (const json::member& one : *from.if_object()) {
    object_digest object;
    const json* const size = one.value.find("size");
    const auto bytes = size != nullptr ? size->to_uint64() : std::nullopt;
    ZARRPOINT_TRY(sums, delta_text_member(one.value, "crc32c"));
    if (!bytes || !parse_digests(sums, object))
      return bad_delta("object " + in_quotes(one.key) + " has no size or no checksums");
    object.size = *bytes;
    out.set(one.key, std::move(object));
  }
  return out;
}

inline result<delta_document> parse_delta_document(json own, json attributes) {
  ZARRPOINT_TRY(seal, delta_text_member(own, "crc32c"));
  std::erase_if(*own.if_object(), [](const json::member& one) { return one.key == "crc32c"; });
  if (seal != commit_seal(own)) return bad_delta("its checksum does not match");
  delta_document out;
  const json* const base = own.find("base");
  if (base == nullptr) return bad_delta("no base is named");
  ZARRPOINT_TRY(id, delta_text_member(*base, "id"));
  out.base_id = std::move(id);
  ZARRPOINT_TRY(forms, delta_text_member(*base, "forms_crc32c"));
  out.base_forms = std::move(forms);
  if (base->find("path") != nullptr) {
    ZARRPOINT_TRY(path, delta_text_member(*base, "path"));
    out.base_path = std::move(path);
  }
  const json::array* const removed = own.find_array("removed");
  if (removed == nullptr) return bad_delta("the list of removed leaves is missing");
  for (const json& name : *removed) {
    if (name.if_string() == nullptr) return bad_delta("a removed leaf has no name");
    out.removed.push_back(*name.if_string());
  }
  sort_names(out.removed);
  const json::object* const results = own.find_object("results");
  if (results == nullptr) return bad_delta("the results are missing");
  for (const json::member& leaf : *results) {
    ZARRPOINT_TRY(objects, parse_objects(leaf.value));
    out.results[leaf.key] = std::move(objects);
  }
  ZARRPOINT_TRY(commit, parse_commit_document(take_member(own, "commit")));
  out.commit = std::move(commit);
  if (out.commit.attributes_seal != commit_seal(attributes))
    return error{errc::corrupt,
                 "the attributes of the delta are not those that were saved: another program "
                 "edited them, or they are damaged; make the delta again"};
  out.attributes = std::move(attributes);
  return out;
}

ZARRPOINT_INLINE result<bool> is_delta(const any_store& root) {
  ZARRPOINT_TRY(key, store_key::parse("zarr.json"));
  ZARRPOINT_TRY(document, root.open(key));
  if (document == nullptr) return false;
  // It stands first, also where another program wrote the file anew.
  std::array<std::byte, 1024> head{};
  const mutable_bytes begin(head.data(), static_cast<std::size_t>(std::min<std::uint64_t>(
                                             head.size(), document->size())));
  ZARRPOINT_CHECK(document->read(0, begin));
  std::string text;
  for (const char c : as_text(begin))
    if (c != ' ' && c != '\n' && c != '\t' && c != '\r') text += c;
  return text.find(R"("zarrpoint":{"format":2,)") != std::string::npos;
}

ZARRPOINT_INLINE result<std::optional<delta_document>> read_delta_document(const any_store& root,
                                                                           const context& how) {
  ZARRPOINT_TRY(key, store_key::parse("zarr.json"));
  const json_limits most = document_limits(how.limit);
  ZARRPOINT_TRY(text, get(root, key, most.max_bytes));
  if (!text) return std::optional<delta_document>();
  const auto read = [&]() -> result<std::optional<delta_document>> {
    ZARRPOINT_TRY(document, parse_json(*text, most));
    auto group = parse_group_v3(std::move(document));
    if (!group || group->attributes.if_object() == nullptr) return std::optional<delta_document>();
    json attributes = std::move(group->attributes);
    json own = take_member(attributes, commit_document::member_name);
    const json* const format = own.find("format");
    if (format == nullptr || format->to_int64() != delta_document::format)
      return std::optional<delta_document>();
    std::erase_if(*attributes.if_object(),
                  [](const json::member& one) { return one.key == commit_document::member_name; });
    ZARRPOINT_TRY(parsed, parse_delta_document(std::move(own), std::move(attributes)));
    return std::optional(std::move(parsed));
  };
  return read().at(root.describe(key));
}

/// Puts one codec in place of another, in a chunk or in the inner chunks of a shard.
inline result<array_metadata> exchange_codec(array_metadata of, std::string_view from,
                                             const codec_spec& to) {
  const auto is_chain = [&](const std::vector<codec_spec>& codecs) {
    return codecs.size() == 1 && codecs[0].name == from;
  };
  if (is_chain(of.codecs)) {
    of.codecs[0] = to;
    return of;
  }
  if (of.codecs.size() == 1 && of.codecs[0].name == sharding_config::name) {
    ZARRPOINT_TRY(config, sharding_config::from_configuration(of.codecs[0].configuration));
    if (is_chain(config.codecs)) {
      config.codecs[0] = to;
      ZARRPOINT_TRY(spec, config.to_spec());
      of.codecs[0] = std::move(spec);
      return of;
    }
  }
  return error{errc::corrupt, "its codecs are not those of a delta"};
}

ZARRPOINT_INLINE result<array_metadata> raw_form(array_metadata of_differences) {
  return exchange_codec(std::move(of_differences), difference_codec::name, raw_codecs()[0]);
}

ZARRPOINT_INLINE result<array_metadata> difference_form(array_metadata raw) {
  return exchange_codec(std::move(raw), raw_codecs()[0].name,
                        codec_spec(std::string(difference_codec::name)));
}

// --------------------------------------------------------------------------------- delta_store.hpp

inline std::string at_chunk(const differing_leaf& leaf, const std::string& key, std::size_t slot) {
  return leaf.stored->store.describe(leaf.stored->key) + ": chunk " + key + ": inner chunk " +
         std::to_string(slot);
}

/// One object of a leaf, as it is on the base.
class differing_object final : public blob {
 public:
  using blob::read;

  static result<std::unique_ptr<blob>> open(std::shared_ptr<const differing_leaf> leaf,
                                            const std::string& key, std::string name) {
    const object_digest* const result_of = leaf->results->find(key);
    if (result_of == nullptr || result_of->absent()) return std::unique_ptr<blob>();
    const array_state& of = *leaf->stored;
    const auto at = of.metadata.keys.parse(key, of.metadata.shape.rank());
    if (!at) return bad_delta("object " + in_quotes(key) + " is not a chunk");
    const dims objects = of.layout.grid().objects();
    for (std::size_t d = 0; d < objects.rank(); ++d)
      if ((*at)[d] >= objects[d]) return bad_delta("chunk " + key + " lies outside of the array");
    auto made = std::make_unique<differing_object>(std::move(leaf), *at, *result_of);
    made->key_ = key;
    made->name_ = std::move(name);
    ZARRPOINT_CHECK(made->prepare());
    return std::unique_ptr<blob>(std::move(made));
  }

  differing_object(std::shared_ptr<const differing_leaf> leaf, const dims& at,
                   const object_digest& result_of)
      : leaf_(std::move(leaf)), at_(at), result_(result_of) {}

  std::uint64_t size() const noexcept override { return result_.size; }
  std::string name() const override { return name_; }

  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    const std::uint64_t elements = std::uint64_t{slots_.size()} * leaf_->chunk_bytes;
    while (!into.empty()) {
      if (offset >= elements) {
        std::memcpy(into.data(), index_.data() + (offset - elements), into.size());
        return {};
      }
      const auto i = static_cast<std::size_t>(offset / leaf_->chunk_bytes);
      const std::size_t begin = static_cast<std::size_t>(offset % leaf_->chunk_bytes);
      const std::size_t count = std::min(leaf_->chunk_bytes - begin, into.size());
      scratch_pool::lease scratch = leaf_->how.scratch->borrow();
      if (count == leaf_->chunk_bytes) {
        ZARRPOINT_CHECK(decode(slots_[i], into.first(count), *scratch));
      } else {
        ZARRPOINT_TRY(whole, scratch->scratch(decoded_slot, leaf_->chunk_bytes));
        ZARRPOINT_CHECK(decode(slots_[i], whole, *scratch));
        std::memcpy(into.data(), whole.data() + begin, count);
      }
      offset += count;
      into = into.subspan(count);
    }
    return {};
  }

 private:
  const array_state& of() const { return *leaf_->stored; }

  /// Opens what is stored, and makes the index of the result.
  result<void> prepare() {
    const std::uint64_t inner = of().layout.inner_count();
    if (result_.crc32c.size() != inner)
      return bad_delta("object " + in_quotes(key_) + " has checksums of another number of chunks");
    for (std::size_t i = 0; i < inner; ++i)
      if (result_.crc32c[i]) slots_.push_back(i);
    const scratch_pool::lease scratch = leaf_->how.scratch->borrow();
    ZARRPOINT_TRY(opened,
                  stored_object::open(of(), key_, *scratch, {.expected = leaf_->digests.get()}));
    stored_ = std::move(opened);
    stored_digest_ = leaf_->digests->find(key_);
    if (stored_ != nullptr && (stored_digest_ == nullptr || stored_digest_->crc32c.size() != inner))
      return bad_delta("object " + in_quotes(key_) + " has no checksum of each chunk");
    const std::uint64_t elements = std::uint64_t{slots_.size()} * leaf_->chunk_bytes;
    if (const shard_parts* const shard = of().layout.shard()) {
      if (shard->location != index_location::end)
        return bad_delta("an index stands at the start of a shard");
      ZARRPOINT_TRY(index, shard_index::make(inner, leaf_->how.scratch->resource()));
      for (std::size_t i = 0; i < slots_.size(); ++i)
        index.set(slots_[i], {i * std::uint64_t{leaf_->chunk_bytes}, leaf_->chunk_bytes});
      const host_view words =
          dense_view(std::as_const(index).words().data(), shard->index_chain.chunk_spec());
      ZARRPOINT_TRY(bytes, shard->index_chain.encode(words, *scratch).at("shard index"));
      index_.assign(bytes.begin(), bytes.end());
    }
    if (elements + index_.size() != result_.size)
      return bad_delta("object " + in_quotes(key_) + " has another size than its chunks");
    return {};
  }

  /// The elements of an inner chunk of the result.
  result<void> decode(std::size_t slot, mutable_bytes to, codec_workspace& scratch) const {
    const result<void> done = decoded(slot, to, scratch);
    if (done) return {};
    error why = done.failure();
    return std::move(why).at(at_chunk(*leaf_, key_, slot));
  }

  result<void> decoded(std::size_t slot, mutable_bytes to, codec_workspace& scratch) const {
    const shard_entry entry = stored_ != nullptr ? stored_->entry(slot) : shard_entry{};
    if (entry.absent()) return read_base(slot, to, scratch);
    ZARRPOINT_CHECK(check_stored_size(of().layout.chain(), entry.size));
    ZARRPOINT_TRY(payload, scratch.scratch(stored_slot, entry.size));
    ZARRPOINT_CHECK(stored_->bytes->read(entry.offset, payload));
    const auto& sum = stored_digest_->crc32c[slot];
    if (!sum || *sum != crc32c(payload))
      return error{errc::corrupt,
                   "its stored bytes are not those of the delta: a checksum differs"};
    ZARRPOINT_TRY(head, read_difference_head(payload));
    if (!head.is_whole) {
      ZARRPOINT_CHECK(read_base(slot, to, scratch));
      if (crc32c(to) != head.base_crc)
        return error{errc::corrupt,
                     "the base has other elements here than the delta was made for: it is damaged, "
                     "or another base"};
    }
    return apply_difference(payload, to, leaf_->word, scratch);
  }

  result<void> read_base(std::size_t slot, mutable_bytes to, codec_workspace&) const {
    const chunk_grid& grid = of().layout.grid();
    const dims inner = grid.inner_per_object();
    box part{dims(inner.rank(), 0), grid.inner_shape};
    std::size_t left = slot;
    for (std::size_t d = inner.rank(); d-- > 0;) {
      const auto count = static_cast<std::size_t>(inner[d]);
      // Without a sign: the last object may end past 2^63.
      const std::uint64_t at = static_cast<std::uint64_t>(at_[d] * grid.object_shape[d]) +
                               left % count * static_cast<std::uint64_t>(grid.inner_shape[d]);
      left /= count;
      if (at >= static_cast<std::uint64_t>(of().metadata.shape[d]))
        return bad_delta("an inner chunk lies outside of the array");
      part.offset[d] = static_cast<index_t>(at);
    }
    part.shape = of().valid_shape(part.offset);
    if (part.shape != leaf_->chunk.shape) std::memset(to.data(), 0, to.size());
    read_options options;
    options.how = &leaf_->how;
    return leaf_->base->read(
        part, subview(dense_view(to.data(), leaf_->chunk), box::whole(part.shape)), options);
  }

  const std::shared_ptr<const differing_leaf> leaf_;
  const dims at_;
  const object_digest& result_;
  std::string key_;
  std::string name_;
  std::vector<std::size_t> slots_;  // the inner chunks of the result, as they lie in it
  std::vector<std::byte> index_;
  std::unique_ptr<stored_object> stored_;  // null: nothing differs
  const object_digest* stored_digest_ = nullptr;
};

struct delta_store::state {
  enum class owner : std::uint8_t { base, delta, both };
  struct place {
    owner of = owner::base;
    std::shared_ptr<const differing_leaf> differs{};
  };

  any_store delta;
  any_store base;
  delta_document document;
  memory_store documents;  ///< those that neither has
  std::map<std::string, place, std::less<>> leaves;

  const std::pair<const std::string, place>* find(std::string_view key) const {
    for (std::size_t end = key.size(); end != std::string_view::npos && end != 0;
         end = key.rfind('/', end - 1)) {
      const auto at = leaves.find(key.substr(0, end));
      if (at != leaves.end()) return &*at;
    }
    return nullptr;
  }
};

inline result<void> check_base(const delta_document& of, const opened_root& base) {
  if (!base.contents.is_ours())
    return error{
        errc::unsupported,
        "the base is not a checkpoint of zarrpoint, so nothing tells it from others: convert "
        "it first"};
  if (base.contents.zarr_format != 3)
    return error{errc::unsupported, "the base is one of Zarr v2: convert it to v3 first"};
  if (base.contents.id != of.base_id)
    return error{errc::invalid_argument, "this delta is for the base " + of.base_id + ", and " +
                                             base.store.describe(store_key::root()) + " is " +
                                             base.contents.id};
  if (forms_of(base.contents) != of.base_forms)
    return error{errc::invalid_argument,
                 "the base " + of.base_id + " has other leaves than the delta was made for"};
  return {};
}

ZARRPOINT_INLINE result<std::shared_ptr<const differing_leaf>> make_differing(
    const any_store& delta, const leaf_record& record, const context& how) {
  auto out = make_counted<differing_leaf>();
  out->name = record.name;
  ZARRPOINT_TRY(metadata, parse_array_v3(record.metadata));
  ZARRPOINT_TRY(layout, array_layout::resolve(metadata, difference_codecs::table(), how.limit));
  ZARRPOINT_TRY(key, store_key::parse(record.name));
  out->how = how;
  out->chunk = layout.chain().chunk_spec();
  ZARRPOINT_TRY(bytes, byte_count(out->chunk));
  out->chunk_bytes = bytes;
  out->word = difference_word(out->chunk.type);
  if (bytes == 0 || out->word == 0 || bytes % out->word != 0 || bytes >= UINT32_MAX)
    return bad_delta("leaf " + in_quotes(record.name) + " has elements without differences");
  context own = how;
  own.codecs = difference_codecs::table();
  out->stored = std::make_unique<const array_state>(delta, std::move(key), std::move(metadata),
                                                    std::move(layout), own);
  out->digests = make_counted<const chunk_digests>(record.objects);
  return std::shared_ptr<const differing_leaf>(std::move(out));
}

ZARRPOINT_INLINE const stored_leaf* find_leaf(const checkpoint_contents& in,
                                              std::string_view name) {
  const auto at = std::lower_bound(
      in.leaves.begin(), in.leaves.end(), name,
      [](const stored_leaf& leaf, std::string_view wanted) { return leaf.name < wanted; });
  return at != in.leaves.end() && at->name == name ? &*at : nullptr;
}

ZARRPOINT_INLINE result<array> array_of(const opened_root& in, const stored_leaf& leaf,
                                        const context& how) {
  ZARRPOINT_TRY(key, store_key::parse(leaf.name));
  ZARRPOINT_TRY(metadata, parse_array_v3(leaf.document->content()));
  ZARRPOINT_TRY(opened, array::from_metadata(in.store, key, std::move(metadata), how));
  if (!in.contents.is_ours()) return std::move(opened);
  return opened.expecting(make_counted<const chunk_digests>(leaf.objects));
}

/// A context for what lies beneath a read that has scratch memory of its own.
inline context beneath_reads(const context& how) {
  context out = how;
  out.executor = {};
  out.progress = {};
  out.scratch = nullptr;
  if (out.limit.memory != SIZE_MAX) out.limit.memory /= 2;
  return with_scratch(out);
}

ZARRPOINT_INLINE context one_of_chain(context how, std::size_t deltas) {
  if (how.limit.memory != SIZE_MAX) how.limit.memory /= std::max<std::size_t>(deltas, 1);
  return how;
}

/// The documents of the result, and whose leaves they are.
class delta_joiner {
 public:
  delta_joiner(delta_store::state& to, const opened_root& base, const context& how)
      : to_(to), base_(base), how_(beneath_reads(how)) {}

  result<void> run() {
    const delta_document& of = to_.document;
    commit_.id = of.commit.id;
    commit_.groups = of.commit.groups;
    commit_.group_attributes = of.commit.group_attributes;
    for (const leaf_record& record : of.commit.leaves)
      ZARRPOINT_CHECK(add_stored(record).at("leaf " + in_quotes(record.name)));
    for (const auto& [name, objects] : of.results) {
      const auto at = to_.leaves.find(name);
      if (at == to_.leaves.end() || at->second.of != delta_store::state::owner::both)
        return bad_delta("there are results of " + in_quotes(name) + ", and nothing is stored");
    }
    for (const stored_leaf& leaf : base_.contents.leaves) {
      if (to_.leaves.contains(leaf.name) ||
          std::binary_search(of.removed.begin(), of.removed.end(), leaf.name))
        continue;
      to_.leaves[leaf.name] = {};
      const bool is_same = last_ == leaf.document;
      last_ = leaf.document;
      add(leaf.name, leaf.typestr,
          is_same ? texts_.back() : dump_json(leaf.document->content(), json_style::compact),
          leaf.objects);
    }
    return finish();
  }

 private:
  void add(const std::string& name, const std::string& kind, std::string text,
           const chunk_digests& objects) {
    commit_.leaves.push_back({name, kind, json(), objects});
    texts_.push_back(std::move(text));
  }

  result<void> add_stored(const leaf_record& record) {
    using owner = delta_store::state::owner;
    const auto results = to_.document.results.find(record.name);
    if (results == to_.document.results.end()) {
      to_.leaves[record.name] = {owner::delta, {}};
      add(record.name, record.typestr, dump_json(record.metadata, json_style::compact),
          record.objects);
      return {};
    }
    const stored_leaf* const before = find_leaf(base_.contents, record.name);
    if (before == nullptr) return bad_delta("the base has no such leaf");
    ZARRPOINT_TRY(made, make_differing(to_.delta, record, how_));
    ZARRPOINT_TRY(under, array_of(base_, *before, how_));
    if (under.spec() != made->stored->metadata.spec())
      return bad_delta("that of the base is " + to_string(under.spec()));
    auto leaf = std::const_pointer_cast<differing_leaf>(made);
    leaf->base = std::move(under);
    leaf->results = &results->second;
    ZARRPOINT_TRY(raw, raw_form(made->stored->metadata));
    ZARRPOINT_TRY(document, array_document(raw));
    ZARRPOINT_TRY(key, store_key::parse(record.name));
    ZARRPOINT_CHECK(put_document(to_.documents, key, "zarr.json", document));
    to_.leaves[record.name] = {owner::both, std::move(leaf)};
    add(record.name, record.typestr, dump_json(document, json_style::compact), results->second);
    return {};
  }

  result<void> finish() {
    std::vector<std::string_view> names;
    names.reserve(commit_.leaves.size());
    for (const leaf_record& leaf : commit_.leaves) names.emplace_back(leaf.name);
    ZARRPOINT_TRY(groups, groups_of(names, commit_.groups));
    save_options options;
    options.attributes = to_.document.attributes;
    options.consolidated_metadata = false;
    const std::vector<std::string_view> documents(texts_.begin(), texts_.end());
    ZARRPOINT_TRY(
        all, put_hierarchy(to_.documents, {commit_, groups, options, SIZE_MAX, documents}, false));
    static_cast<void>(all);
    return {};
  }

  delta_store::state& to_;
  const opened_root& base_;
  const context how_;
  commit_document commit_;
  std::vector<std::string> texts_;
  std::shared_ptr<const stored_document> last_;
};

ZARRPOINT_INLINE result<delta_store> delta_store::make(const any_store& delta,
                                                       delta_document document,
                                                       const opened_root& base,
                                                       const context& how) {
  ZARRPOINT_CHECK(check_base(document, base));
  auto made = make_counted<state>(state{delta, base.store, std::move(document), {}, {}});
  ZARRPOINT_CHECK(delta_joiner(*made, base, how).run());
  return delta_store(std::move(made));
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> delta_store::open(const store_key& key) const {
  ZARRPOINT_TRY(document, state_->documents.open(key));
  if (document != nullptr) return std::move(document);
  const auto* const leaf = state_->find(key.str());
  if (leaf == nullptr) return std::unique_ptr<blob>();
  switch (leaf->second.of) {
    case state::owner::base: return state_->base.open(key);
    case state::owner::delta: return state_->delta.open(key);
    case state::owner::both: break;
  }
  if (key.str().size() <= leaf->first.size()) return std::unique_ptr<blob>();
  return differing_object::open(
      leaf->second.differs, std::string(key.str().substr(leaf->first.size() + 1)), describe(key));
}

ZARRPOINT_INLINE std::string delta_store::describe(const store_key& key) const {
  return state_->delta.describe(key);
}

ZARRPOINT_INLINE result<std::vector<list_entry>> delta_store::list(const store_key& prefix) const {
  const auto* const leaf = state_->find(prefix.str());
  if (leaf != nullptr && leaf->second.of == state::owner::base) return state_->base.list(prefix);
  if (leaf != nullptr && leaf->second.of == state::owner::delta) return state_->delta.list(prefix);
  ZARRPOINT_TRY(entries, state_->documents.list(prefix));
  std::set<list_entry> all(entries.begin(), entries.end());
  const std::string beneath = prefix.is_root() ? "" : std::string(prefix.str()) + '/';
  const auto add = [&](std::string_view path) {
    if (!path.starts_with(beneath) || path.size() == beneath.size()) return;
    const std::string_view rest = path.substr(beneath.size());
    const std::size_t slash = rest.find('/');
    all.insert({std::string(rest.substr(0, slash)), slash != std::string_view::npos});
  };
  if (leaf != nullptr) {
    for (const auto& [key, object] : leaf->second.differs->results->objects())
      if (!object.absent()) add(leaf->first + '/' + key);
  } else {
    for (auto at = state_->leaves.lower_bound(beneath);
         at != state_->leaves.end() && at->first.starts_with(beneath); ++at)
      add(at->first + "/zarr.json");
  }
  return std::vector<list_entry>(all.begin(), all.end());
}

ZARRPOINT_INLINE std::string parent_of(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::size_t slash = path.rfind('/');
  const std::string_view name = std::string_view(path).substr(slash + 1);  // npos + 1 == 0
  if (name == "." || name == "..") return path + "/..";
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

ZARRPOINT_INLINE result<chain_place> place_of(const location& where, const context& how) {
  // A path is looked into here, whatever formats are known.
  const std::string name = where.name();
  const bool is_url = name.find("://") != std::string::npos && !name.starts_with("file:");
  ZARRPOINT_TRY(place, location_access::to_read(where, is_url ? how.stores : default_store_table(),
                                                how.limit.memory));
  chain_place out{place.key.is_root() ? place.store
                                      : any_store(prefix_store(place.store, place.key))};
  if (location_access::is_path(where)) {
    out.parent_path = parent_of(location_access::local_path(where));
    auto parent = file_store::open(out.parent_path, {.read_only = true});
    if (parent) out.parent = any_store(*std::move(parent));
  } else if (!place.key.is_root()) {
    out.parent = any_store(prefix_store(place.store, place.key.parent()));
  }
  return out;
}

/// Opens deltas down to what is none, and puts them on each other.
class chain_opener {
 public:
  chain_opener(const delta_options& search, const context& how) : search_(search), how_(how) {}

  result<opened_root> open(const location& where) {
    ZARRPOINT_TRY(place, place_of(where, how_));
    return open(place, search_.base ? &*search_.base : nullptr);
  }

 private:
  result<opened_root> open(const chain_place& at, const location* base) {
    ZARRPOINT_TRY(document, read_delta_document(at.root, how_));
    if (!document) {
      ZARRPOINT_TRY(contents, read_contents(at.root, how_));
      return opened_root{at.root, std::move(contents)};
    }
    if (!seen_.insert(document->commit.id).second || document->base_id == document->commit.id)
      return error{errc::corrupt, "the chain of deltas leads back to " + document->commit.id};
    if (seen_.size() > search_.most)
      return error{errc::resource_limit, "more than " + std::to_string(search_.most) +
                                             " deltas stand on each other: squash them"};
    const auto found = [&]() -> result<opened_root> {
      if (base != nullptr) {
        ZARRPOINT_TRY(place, place_of(*base, how_));
        return open(place, nullptr);
      }
      ZARRPOINT_TRY(place, named_base(at, document->base_path));
      return open(place, nullptr);
    };
    auto under = found();
    if (!under) {
      error why = std::move(under).failure();
      return std::move(why).at("the base " + document->base_id + " of " +
                               at.root.describe(store_key::root()));
    }
    ZARRPOINT_TRY(joined, delta_store::make(at.root, *std::move(document), *under,
                                            one_of_chain(how_, seen_.size())));
    any_store store(std::move(joined));
    ZARRPOINT_TRY(contents, read_contents(store, how_));
    opened_root out{std::move(store), std::move(contents), std::move(under->under)};
    out.under.push_back(under->contents.id);
    return out;
  }

  /// The place that a delta names.
  result<chain_place> named_base(const chain_place& at, const std::string& path) const {
    if (path.empty())
      return error{errc::not_found,
                   "the delta does not say where it lies: give it, as in "
                   "open_delta(path, {.base = ...})"};
    const auto key = store_key::parse(path);
    const bool is_outside = !key || key->is_root();
    if (is_outside && !search_.outside)
      return error{errc::invalid_argument,
                   "it is said to lie at " + in_quotes(path) +
                       ", which may leave the directory of the delta: give the base, or allow it "
                       "by delta_options::outside"};
    const std::string whole = path.starts_with('/')
                                  ? path
                                  : (at.parent_path.empty() ? path : at.parent_path + '/' + path);
    if (is_outside || (!at.parent_path.empty() && path.ends_with(".zip")))
      return place_of(location(whole), how_);
    if (!at.parent)
      return error{errc::not_found, "it was looked for at " + in_quotes(path) +
                                        ", and the delta has no directory around it"};
    const any_store root(prefix_store(*at.parent, *key));
    ZARRPOINT_TRY(document, store_key::parse("zarr.json"));
    const auto is_there = root.open(document);
    if (!is_there) return is_there.failure();
    if (*is_there == nullptr)
      return error{errc::not_found, "it was looked for at " + in_quotes(whole)};
    const store_key folder = key->parent();
    return chain_place{root,
                       folder.is_root() ? *at.parent : any_store(prefix_store(*at.parent, folder)),
                       at.parent_path.empty() ? std::string() : parent_of(whole)};
  }

  const delta_options& search_;
  const context& how_;
  std::set<std::string> seen_;
};

ZARRPOINT_INLINE result<opened_root> open_chain(const location& where, const delta_options& search,
                                                const context& how) {
  return chain_opener(search, how).open(where);
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/array/array_bodies.hpp>
#include <zarrpoint/checkpoint/bodies.hpp>
#include <zarrpoint/checkpoint/document/bodies.hpp>
#include <zarrpoint/checkpoint/save/save_bodies.hpp>
#include <zarrpoint/delta/difference_bodies.hpp>
#include <zarrpoint/store/format_bodies.hpp>
#endif
