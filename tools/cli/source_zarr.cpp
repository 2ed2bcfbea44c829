// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "source_zarr.hpp"

#include <zarrpoint/array/chunk_boxes.hpp>
#include <zarrpoint/array/hierarchy/stored_node.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/hierarchy/weight_index.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/store/schemes.hpp>
#include <zarrpoint/zarr/fill_value.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include "looks.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cli {

namespace {

/// The name of the dtype as the document has it, even if it is not known.
std::string stored_type(const zp::detail::stored_leaf& leaf) {
  const zp::json* type =
      leaf.document->content().find(leaf.zarr_format == 2 ? "dtype" : "data_type");
  if (type == nullptr) return {};
  if (const std::string* name = type->if_string()) return *name;
  if (const zp::json* name = type->find("name"); name != nullptr && name->if_string() != nullptr)
    return *name->if_string();
  return type->if_array() != nullptr ? "struct" : "?";
}

/// The shape of an array that may be of no known type.
std::optional<zp::dims> shape_in(const zp::json& document) {
  const zp::json* const shape = document.find("shape");
  if (shape == nullptr || shape->if_array() == nullptr) return {};
  zp::dims out;
  for (const zp::json& extent : *shape->if_array()) {
    const auto number = extent.to_int64();
    if (!number || *number < 0 || out.rank() == zp::max_rank) return {};
    out.push_back(*number);
  }
  return out;
}

/// What a document says although its array cannot be opened.
void describe_unparsed(const zp::detail::stored_leaf& leaf, entry& to) {
  const zp::json& document = leaf.document->content();
  const zp::json* const own =
      leaf.zarr_format == 2 ? &leaf.attributes : document.find("attributes");
  if (own != nullptr && own->if_object() != nullptr) to.attributes = *own;
  if (auto shape = shape_in(document)) to.told_shape = *std::move(shape);
  const zp::json* codecs = document.find("codecs");
  if (codecs == nullptr || codecs->if_array() == nullptr) return;
  for (const zp::json& codec : *codecs->if_array()) {
    if (const zp::json* name = codec.find("name"); name != nullptr && name->if_string() != nullptr)
      to.codecs.push_back({*name->if_string()});
  }
}

/// What a file of another format holds in one piece, as it is, has no codecs and chunks to tell of.
void leave_out_layout(entry& of) {
  if (of.codecs.size() == 1 && of.codecs[0].name == "bytes") of.codecs.clear();
  if (of.spec && of.codecs.empty() && *of.chunk_shape == of.spec->shape) of.zarr_format = 0;
}

void describe(const zp::array_metadata& metadata, entry& to) {
  to.spec = metadata.spec();
  to.type = to_string(metadata.type);
  to.chunk_shape = metadata.chunk_shape;
  to.codecs = metadata.codecs;
  to.attributes = metadata.attributes;
  if (auto fill =
          zarrpoint::detail::fill_value_to_json(metadata.fill, metadata.type, metadata.zarr_format))
    to.fill_value = *std::move(fill);
  for (const zp::codec_spec& codec : metadata.codecs) {
    if (codec.name != zp::sharding_config::name) continue;
    auto config = zp::sharding_config::from_configuration(codec.configuration);
    if (!config) return;
    to.shard_shape = metadata.chunk_shape;
    to.chunk_shape = config->chunk_shape;
    to.codecs = std::move(config->codecs);
    break;
  }
  for (const zp::codec_spec& codec : to.codecs) {
    const zp::json* items = codec.name == "numcodecs.vlen-array" || codec.name == "vlen-array"
                                ? codec.configuration.find("dtype")
                                : nullptr;
    if (items != nullptr && items->if_string() != nullptr)
      to.items = vector_items::parse(*items->if_string());
  }
}

/// Whether what a codec reads has a checksum, which it compares.
bool compares_checksum(const zp::codec_spec& codec) {
  constexpr std::array<std::string_view, 8> always{"crc32c", "crc32", "adler32", "fletcher32",
                                                   "gzip",   "zlib",  "bz2",     "lzma"};
  std::string_view name = codec.name;
  constexpr std::string_view prefix = "numcodecs.";
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  if (std::find(always.begin(), always.end(), name) != always.end()) return true;
  const zp::json* const asked = name == "zstd" ? codec.configuration.find("checksum") : nullptr;
  return asked != nullptr && asked->if_bool() != nullptr && *asked->if_bool();
}

/// Texts that may be numbers which a `json` cannot hold, and whose digits it has.
void find_digits(const zp::json& in, std::vector<std::string_view>& to) {
  if (const zp::json::object* const members = in.if_object()) {
    for (const zp::json::member& one : *members) find_digits(one.value, to);
  } else if (const zp::json::array* const items = in.if_array()) {
    for (const zp::json& one : *items) find_digits(one, to);
  } else if (const std::string* const text = in.if_string()) {
    const bool is_long = text->size() >= 19 || text->find_first_of("eE") != text->npos;
    if (is_long && text->find_first_not_of("0123456789+-.eE") == text->npos) to.push_back(*text);
  }
}

/// The part of an array that an object has; nothing for an object that is not a chunk of it.
std::optional<zp::box> chunk_of(const zp::array& array, const zp::chunk_boxes& chunks,
                                const std::string& key) {
  const auto at = array.metadata().keys.parse(key, array.metadata().shape.rank());
  return at ? chunks.at(*at) : std::nullopt;
}

}  // namespace

zarr_source::zarr_source(zarr_root root, zp::detail::checkpoint_contents contents,
                         const zp::context& how, zp::detail::consolidation_check consolidated)
    : store_(std::move(root.store)),
      how_(how),
      is_view_(!root.container.empty() && !root.container.starts_with("Orbax") &&
               !root.container.starts_with("OCDBT") &&
               root.container != "Megatron-Core zarr checkpoint"),
      contents_(std::move(contents)),
      differences_(std::move(consolidated.findings)) {
  attributes_ = contents_.attributes;
  add_missing(std::move(consolidated.missing));
  warn_of_differences();
  if (contents_.is_changed) warnings_.emplace_back(zp::detail::changed_attributes);
  id_ = contents_.id;
  entries_.reserve(contents_.leaves.size());  // each is large
  arrays_.reserve(contents_.leaves.size());
  for (zp::detail::stored_leaf& leaf : contents_.leaves) add(leaf, how);
  alike_.clear();
  add_groups();
  if (root.container == "npy" && entries_.size() == 1) entries_[0].name.clear();
  tell_names();
  is_view_ ? take_index() : tell_numbers();
  lent_.resize(arrays_.size());
  format_ = root.container.empty() ? contents_.format() : root.container;
}

void zarr_source::add(zp::detail::stored_leaf& leaf, const zp::context& how) {
  // Arrays with the same document share all that is made of it.
  const bool may_share = leaf.attributes.is_null() && !missing_.contains(leaf.name);
  if (may_share) {
    std::string text = std::to_string(leaf.zarr_format) + zp::dump_json(leaf.document->content());
    const auto [at, is_new] = alike_.try_emplace(std::move(text), entries_.size());
    if (!is_new) leaf.document = contents_.leaves[at->second].document;
    if (!is_new && arrays_[at->second]) {
      const auto key = zp::store_key::parse(leaf.name);
      if (key) {
        entries_.push_back(entries_[at->second]);
        entries_.back().name = leaf.name;
        entries_.back().typestr = leaf.typestr;
        arrays_.emplace_back(expecting(arrays_[at->second]->same_at(*key), leaf));
        return;
      }
    }
  }
  entry made;
  made.name = leaf.name;
  made.typestr = leaf.typestr;
  made.zarr_format = leaf.zarr_format;
  made.type = stored_type(leaf);
  const auto open = [&]() -> zp::result<zp::array> {
    if (missing_.contains(leaf.name)) return zp::detail::no_own_document();
    ZARRPOINT_TRY(key, zp::store_key::parse(leaf.name));
    const auto make = [&](const zp::store_key& at) -> zp::result<zp::array> {
      auto parsed = leaf.zarr_format == 2
                        ? parse_array_v2(leaf.document->content(), &leaf.attributes)
                        : zp::parse_array_v3(leaf.document->content());
      if (!parsed) {
        describe_unparsed(leaf, made);
        return std::move(parsed).failure();
      }
      describe(*parsed, made);  // also where it cannot be opened
      return zp::array::from_metadata(store_, at, *std::move(parsed), how);
    };
    // What nobody shares is not kept. A leaf with a `.zattrs` has metadata of its own.
    const bool is_shared = leaf.document.use_count() > 1 && leaf.attributes.is_null();
    ZARRPOINT_TRY(array, is_shared ? leaf.document->array_at(key, make) : make(key));
    describe(array.metadata(), made);
    // In the axes of the array; a transpose before the shards changes them.
    made.chunk_shape = array.layout().grid().inner_shape;
    return expecting(std::move(array), leaf);
  };
  auto opened = open();
  if (is_view_) leave_out_layout(made);
  if (opened) {
    arrays_.emplace_back(*std::move(opened));
  } else {
    made.fault = std::move(opened).failure();
    // What a file of another format holds and this library has no elements for: it says why.
    const zp::json* const reason = made.attributes.find(zp::detail::unread_member);
    if (reason != nullptr && !made.spec && reason->if_string() != nullptr) {
      constexpr std::string_view damage = "corrupt: ";
      made.fault->message = *reason->if_string();
      if (made.fault->message.starts_with(damage))
        made.fault = zp::error{zp::errc::corrupt, made.fault->message.substr(damage.size())};
    }
    arrays_.emplace_back();
  }
  entries_.push_back(std::move(made));
}

zp::array zarr_source::expecting(zp::array array, const zp::detail::stored_leaf& leaf) const {
  if (!contents_.is_ours()) return array;
  return array.expecting(std::shared_ptr<const zp::chunk_digests>(
      std::shared_ptr<const void>(), &leaf.objects));  // `contents_` outlives it
}

/// Arrays without a document are listed, and cannot be read. Where the consolidated metadata were
/// believed, they are among the leaves.
void zarr_source::add_missing(std::vector<zp::detail::stored_leaf> missing) {
  for (const zp::detail::stored_leaf& leaf : missing) missing_.insert(leaf.name);
  std::erase_if(contents_.leaves, [&](const auto& leaf) { return missing_.contains(leaf.name); });
  for (zp::detail::stored_leaf& leaf : missing) contents_.leaves.push_back(std::move(leaf));
  std::inplace_merge(contents_.leaves.begin(),
                     contents_.leaves.end() - static_cast<std::ptrdiff_t>(missing.size()),
                     contents_.leaves.end(),
                     [](const auto& a, const auto& b) { return a.name < b.name; });
}

void zarr_source::warn_of_differences() {
  constexpr std::size_t most = 20;
  for (const zp::detail::document_finding& one : differences_) {
    if (warnings_.size() == most) {
      warnings_.push_back(std::to_string(differences_.size() - most) +
                          " more differences of the consolidated metadata; `verify` names each");
      break;
    }
    warnings_.push_back((one.node.empty() ? "the root" : '"' + escaped(one.node) + '"') + ": " +
                        escaped(one.what.message));
  }
}

void zarr_source::add_groups() {
  std::set<std::string> names(contents_.groups.begin(), contents_.groups.end());
  const auto add_parents = [&](const std::string& name) {
    // From the nearest: where that is known, so are those above it.
    for (std::size_t at = name.rfind('/'); at != name.npos && at != 0; at = name.rfind('/', at - 1))
      if (!names.insert(name.substr(0, at)).second) break;
  };
  for (const std::string& group : contents_.groups) add_parents(group);
  for (const zp::detail::stored_leaf& leaf : contents_.leaves) add_parents(leaf.name);
  for (const std::string& name : names) {
    const zp::json* own = zp::detail::find_sorted(contents_.group_attributes, name);
    const bool is_object = own != nullptr && own->if_object() != nullptr;
    groups_.push_back({name, is_object ? *own : zp::json()});
  }
}

void zarr_source::take_index() {
  const zp::json* const found = attributes_.find(zp::detail::weight_map_member);
  if (found == nullptr) return;
  const zp::json told = *found;
  std::erase_if(*attributes_.if_object(), [](const zp::json::member& one) {
    return one.key == zp::detail::weight_map_member;
  });
  const auto text = [](const zp::json& in, std::string_view name) {
    const zp::json* const one = in.find(name);
    return one != nullptr && one->if_string() != nullptr ? *one->if_string() : std::string();
  };
  const std::string file = store_.describe(zp::store_key::root());
  if (std::string total = text(told, "total_size"); !total.empty())
    told_by_index_.push_back({file, {}, {}, {}, std::move(total)});
  const zp::json* const tensors = told.find("tensors");
  if (tensors == nullptr || tensors->if_array() == nullptr) return;
  const zp::json* const left = told.find("left_out");
  const std::uint64_t count = left != nullptr ? left->to_uint64().value_or(0) : 0;
  std::string warning = "the weight_map leaves out " + std::to_string(count) +
                        (count == 1 ? " tensor" : " tensors") + " of its files:";
  std::uint64_t named = 0;
  for (const zp::json& one : *tensors->if_array()) {
    const std::string name = text(one, "name");
    const std::string from = text(one, "file");
    told_by_index_.push_back({from, name, {}, {}, text(one, "reason"), severity::note});
    if (named == 8) continue;
    warning += (named++ == 0 ? " \"" : ", \"") + escaped(name) + "\" of " + escaped(from);
  }
  if (count > named) warning += " and " + std::to_string(count - named) + " more";
  warnings_.push_back(std::move(warning));
}

void zarr_source::tell_names() {
  std::size_t count = 0;
  std::string first;
  for (const entry& each : entries_) {
    const zp::json* const original = each.attributes.find(zp::detail::original_name_member);
    if (original == nullptr || original->if_string() == nullptr) continue;
    if (count++ == 0)
      first = '"' + escaped(*original->if_string()) + "\" as \"" + escaped(each.name) + '"';
  }
  if (count == 0) return;
  const std::string others =
      count == 1 ? "" : ", and " + std::to_string(count - 1) + (count == 2 ? " other" : " others");
  warnings_.push_back("names that are not valid keys are shown in another way: " + first + others +
                      "; the attribute \"original_name\" has what the file says");
}

/// Numbers of JSON beyond 64 bits are texts here, and so in what is converted.
void zarr_source::tell_numbers() {
  std::size_t count = 0;
  std::string first;
  const auto look = [&](const std::string& name, const zp::json& attributes) {
    if (has_kept_number(name, attributes) && count++ == 0)
      first = name.empty() ? "the root" : '"' + escaped(name) + '"';
  };
  look({}, attributes_);
  for (const group_entry& each : groups_) look(each.name, each.attributes);
  for (const entry& each : entries_) look(each.name, each.attributes);
  if (count == 0) return;
  const std::string others = count == 1 ? "" : " and of " + std::to_string(count - 1) + " more";
  warnings_.push_back("attributes of " + first + others +
                      " have numbers too large for 64 bits, which are kept as texts");
}

/// Whether the node's own document has such a number: then it has no text of these digits.
bool zarr_source::has_kept_number(const std::string& node, const zp::json& attributes) const {
  std::vector<std::string_view> digits;
  find_digits(attributes, digits);
  if (digits.empty()) return false;
  const auto at = zp::store_key::parse(node);
  if (!at) return false;
  for (const char* const name : {"zarr.json", ".zattrs"}) {
    const auto key = at->child(name);
    const auto object = key ? store_.open(*key) : std::unique_ptr<zp::blob>();
    if (!object || *object == nullptr || (*object)->size() > how_.limit.metadata_bytes) continue;
    std::string text(static_cast<std::size_t>((*object)->size()), '\0');
    if (!(*object)->read(0, std::as_writable_bytes(std::span(text)))) continue;
    for (const std::string_view one : digits)
      if (text.find('"' + std::string(one) + '"') == text.npos) return true;
  }
  return false;
}

std::optional<bool> zarr_source::lacks_chunks(std::size_t index) const {
  if (!arrays_[index]) return false;
  if (contents_.is_ours()) {
    const auto& objects = contents_.leaves[index].objects.objects();
    return std::any_of(objects.begin(), objects.end(), [](const auto& one) {
      const auto& inner = one.second.crc32c;
      return one.second.absent() ||
             std::find(inner.begin(), inner.end(), std::nullopt) != inner.end();
    });
  }
  const auto objects = stored_objects(index);
  if (!objects) return {};
  if (objects->size() < zp::chunk_boxes(*arrays_[index]).size()) return true;
  return entries_[index].shard_shape ? std::optional<bool>() : false;
}

zp::json zarr_source::stored_form(std::size_t index) const {
  zp::json out = contents_.leaves[index].document->content();
  if (zp::json::object* const members = out.if_object())
    std::erase_if(*members, [](const auto& one) { return one.key == "attributes"; });
  return out;
}

zp::result<std::vector<stored_key>> zarr_source::stored_objects(std::size_t index) const {
  ZARRPOINT_TRY(key, zp::store_key::parse(contents_.leaves[index].name));
  if (store_.can_list() || !arrays_[index]) return list_objects(store_, key);
  return ask_for_objects(index, key);
}

zp::result<std::vector<stored_key>> zarr_source::ask_for_objects(std::size_t index,
                                                                 const zp::store_key& at) const {
  constexpr std::size_t most = 100'000;
  const zp::array_metadata& metadata = arrays_[index]->metadata();
  std::vector<stored_key> out;
  const auto ask = [&](std::string key) -> zp::result<void> {
    ZARRPOINT_TRY(full, at.child(key));
    ZARRPOINT_TRY(object, store_.open(full));
    if (object != nullptr) out.push_back({std::move(key), object->size()});
    return {};
  };
  if (contents_.is_ours()) {
    for (const auto& [key, digest] : contents_.leaves[index].objects.objects())
      if (!digest.absent()) ZARRPOINT_CHECK(ask(key));
  } else {
    const zp::chunk_boxes chunks(*arrays_[index]);
    if (chunks.size() > most || !metadata.edges.empty())
      return zp::error{zp::errc::unsupported,
                       store_.describe(at) +
                           ": it cannot be listed there, and its chunks are too many or too uneven "
                           "to ask for each of them; copy it to a directory"};
    for (const zp::box& chunk : chunks) {
      if (how_.stop.stop_requested()) return zp::error{zp::errc::cancelled, "interrupted"};
      zp::dims coordinates = chunk.offset;
      for (std::size_t i = 0; i < coordinates.rank(); ++i)
        coordinates[i] /= metadata.chunk_shape[i];
      ZARRPOINT_CHECK(ask(metadata.keys.key(coordinates)));
    }
  }
  std::sort(out.begin(), out.end(),
            [](const stored_key& a, const stored_key& b) { return a.key < b.key; });
  return out;
}

zp::result<std::unique_ptr<zp::blob>> zarr_source::open_stored(std::size_t index,
                                                               const std::string& key) const {
  ZARRPOINT_TRY(array, zp::store_key::parse(contents_.leaves[index].name));
  ZARRPOINT_TRY(full, array.child(key));
  return store_.open(full);
}

zp::result<void> zarr_source::read(std::size_t index, const zp::selection& part,
                                   const zp::mutable_host_view& into) const {
  if (!arrays_[index]) return *entries_[index].fault;
  return arrays_[index]->read(part, into);
}

zp::result<std::optional<zp::host_view>> zarr_source::lend(std::size_t index) const {
  using lent = std::optional<zp::host_view>;
  if (!arrays_[index]) return *entries_[index].fault;
  // A bool that is mapped may be neither 0 nor 1.
  if (entries_[index].spec->type == zp::dtype_kind::bool_) return lent();
  if (!lent_[index]) {
    ZARRPOINT_TRY(view, arrays_[index]->view());
    if (!view) return lent();
    lent_[index] = std::make_unique<const zp::mapped_view>(*std::move(view));
  }
  return lent(lent_[index]->elements);
}

zp::result<std::optional<stored_parts>> zarr_source::parts(std::size_t index) const {
  if (!arrays_[index]) return *entries_[index].fault;
  const zp::chunk_boxes chunks(*arrays_[index]);
  ZARRPOINT_TRY(objects, stored_objects(index));
  stored_parts out;
  std::set<std::vector<zp::index_t>> there;
  for (const stored_key& object : objects) {
    const auto part = chunk_of(*arrays_[index], chunks, object.key);
    if (!part || !there.emplace(part->offset.begin(), part->offset.end()).second) continue;
    out.boxes.push_back(*part);
  }
  if (out.boxes.size() == chunks.size()) return std::optional<stored_parts>();
  for (std::size_t i = 0;; ++i) {  // no later than behind those that are stored
    out.absent = chunks[i].offset;
    if (!there.contains({out.absent.begin(), out.absent.end()})) return std::optional(out);
  }
}

zp::result<std::uint64_t> zarr_source::stored_bytes(std::size_t index) const {
  const zp::detail::stored_leaf& leaf = contents_.leaves[index];
  std::uint64_t total = 0;
  if (contents_.is_ours()) {
    for (const auto& [key, object] : leaf.objects.objects()) total += object.size;
    return total;
  }
  ZARRPOINT_TRY(key, zp::store_key::parse(leaf.name));
  ZARRPOINT_TRY(objects, list_objects(store_, key));
  std::optional<zp::chunk_boxes> chunks;
  if (arrays_[index]) chunks.emplace(*arrays_[index]);
  for (const stored_key& object : objects)
    if (!chunks || chunk_of(*arrays_[index], *chunks, object.key)) total += object.size;
  return total;
}

void zarr_source::verify(verification& to) const { verify_zarr(*this, to); }

bool zarr_source::has_checksums(std::size_t index) const {
  if (contents_.is_ours()) return true;
  const entry& of = entries_[index];
  if (std::any_of(of.codecs.begin(), of.codecs.end(), compares_checksum)) return true;
  if (is_view_) return format_ == "npz";
  if (format_ != contents_.format() || !of.spec || of.shard_shape) return false;
  std::error_code unknown;  // a zip file has the crc32 of each member, for those read as a whole
  const auto bytes = byte_count(zp::tensor_spec{of.spec->type, *of.chunk_shape});
  return bytes && *bytes <= blocks().wanted &&
         std::filesystem::is_regular_file(store_.describe(zp::store_key::root()), unknown);
}

bool is_metadata_document(std::string_view name) {
  constexpr std::array<std::string_view, 5> names{"zarr.json", ".zarray", ".zattrs", ".zgroup",
                                                  ".zmetadata"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

zp::result<std::vector<stored_key>> list_objects(const zp::any_store& store,
                                                 const zp::store_key& at) {
  constexpr std::size_t most = 50'000'000;
  std::vector<stored_key> out;
  std::vector<std::string> open{""};
  while (!open.empty()) {
    const std::string folder = std::move(open.back());
    open.pop_back();
    if (std::count(folder.begin(), folder.end(), '/') > 64)
      return zp::error{zp::errc::resource_limit,
                       store.describe(at) + '/' + folder + ": directories nested deeper than 64"};
    ZARRPOINT_TRY(prefix, at.child(folder));
    ZARRPOINT_TRY(children, store.list(prefix));
    for (const zp::list_entry& child : children) {
      std::string key = folder.empty() ? child.name : folder + '/' + child.name;
      if (child.is_prefix) {
        open.push_back(std::move(key));
        continue;
      }
      if (folder.empty() && is_metadata_document(child.name)) continue;
      if (out.size() == most) return zp::error{zp::errc::resource_limit, "too many files"};
      ZARRPOINT_TRY(full, at.child(key));
      ZARRPOINT_TRY(object, store.open(full));
      if (object != nullptr) out.push_back({std::move(key), object->size()});
    }
  }
  std::sort(out.begin(), out.end(),
            [](const stored_key& a, const stored_key& b) { return a.key < b.key; });
  return out;
}

namespace {

/// A directory, or what a file of another format or a checkpoint holds.
zp::result<zarr_root> open_root(const std::string& path, const zp::context& how) {
  ZARRPOINT_TRY(place, how.stores.open(path, {.memory = how.limit.memory}));
  zarr_root out{std::move(place.store), std::move(place.format)};
  if (!place.key.is_root()) out.store = zp::prefix_store(out.store, std::move(place.key));
  return out;
}

}  // namespace

zp::result<source_pointer> open_zarr(const std::string& path, const zp::context& how) {
  ZARRPOINT_TRY(root, open_root(path, how));
  ZARRPOINT_TRY(contents, zp::detail::read_contents(root.store, how));
  zp::detail::consolidation_check consolidated;
  if (!contents.is_ours() && (contents.is_told || root.store.lists_cheaply())) {
    ZARRPOINT_TRY(found, zp::detail::check_consolidated(root.store, contents, how));
    consolidated = std::move(found);
  }
  return source_pointer(std::make_unique<zarr_source>(std::move(root), std::move(contents), how,
                                                      std::move(consolidated)));
}

namespace {

/// Finds arrays below a root, whatever else is broken.
class lenient_walk {
 public:
  lenient_walk(const zp::any_store& store, const zp::context& how, std::vector<finding>& faults)
      : store_(store), how_(how), faults_(faults) {}

  zp::result<zp::detail::checkpoint_contents> run() {
    constexpr std::size_t most = 100'000;
    std::vector<std::string> open{""};
    for (std::size_t seen = 0; !open.empty(); ++seen) {
      if (seen == most)
        return zp::error{zp::errc::resource_limit,
                         "more than " + std::to_string(most) + " directories without a root group"};
      const std::string at = std::move(open.back());
      open.pop_back();
      if (std::count(at.begin(), at.end(), '/') > 64) continue;
      if (visit(at)) continue;
      ZARRPOINT_TRY(key, zp::store_key::parse(at));
      ZARRPOINT_TRY(children, store_.list(key));
      for (const zp::list_entry& child : children) {
        if (child.is_prefix) open.push_back(at.empty() ? child.name : at + '/' + child.name);
      }
    }
    std::sort(out_.leaves.begin(), out_.leaves.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    if (!out_.leaves.empty()) out_.zarr_format = out_.leaves[0].zarr_format;  // there is no root
    return std::move(out_);
  }

 private:
  std::optional<zp::json> document(const std::string& at, std::string_view name) {
    const auto read = [&]() -> zp::result<std::optional<zp::json>> {
      ZARRPOINT_TRY(node, zp::store_key::parse(at));
      ZARRPOINT_TRY(key, node.child(name));
      ZARRPOINT_TRY(object, store_.open(key));
      // An empty .zarray is the lock file of a process synchronizer.
      if (object != nullptr && object->size() == 0) return std::optional<zp::json>();
      return zp::detail::read_document(store_, node, name, how_.limit);
    };
    auto found = read();
    if (found) return *std::move(found);
    const auto key =
        zp::store_key::parse(at.empty() ? std::string(name) : at + '/' + std::string(name));
    faults_.push_back({key ? store_.describe(*key) : at,
                       at,
                       {},
                       {},
                       to_string(found.failure()),
                       severity_of(found.failure().code)});
    return std::nullopt;
  }

  /// True where an array is.
  bool visit(const std::string& at) {
    if (auto v3 = document(at, "zarr.json")) {
      const zp::json* kind = v3->find("node_type");
      if (kind == nullptr || kind->if_string() == nullptr || *kind->if_string() != "array")
        return false;
      out_.leaves.push_back(
          {at, {}, std::make_shared<const zp::detail::stored_document>(*std::move(v3)), 3, {}, {}});
      return true;
    }
    if (auto v2 = document(at, ".zarray")) {
      auto attributes = document(at, ".zattrs");
      out_.leaves.push_back({at,
                             {},
                             std::make_shared<const zp::detail::stored_document>(*std::move(v2)),
                             2,
                             {},
                             attributes ? *attributes : zp::json()});
      return true;
    }
    return false;
  }

  const zp::any_store& store_;
  const zp::context& how_;
  std::vector<finding>& faults_;
  zp::detail::checkpoint_contents out_;
};

}  // namespace

zp::result<source_pointer> open_damaged_zarr(const std::string& path, const zp::context& how,
                                             std::vector<finding>& faults) {
  ZARRPOINT_TRY(root, open_root(path, how));
  ZARRPOINT_TRY(contents, lenient_walk(root.store, how, faults).run());
  return source_pointer(std::make_unique<zarr_source>(std::move(root), std::move(contents), how));
}

}  // namespace cli
