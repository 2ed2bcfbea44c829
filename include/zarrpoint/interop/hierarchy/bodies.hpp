// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/hierarchy/virtual_store.hpp>
#include <zarrpoint/interop/hierarchy/weight_index.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/store/base/listing.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/zarr/chunks.hpp>
#include <zarrpoint/zarr/data_type.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace zarrpoint { inline namespace v0 { namespace detail {

// --------------------------------------------------------------------------- virtual_hierarchy.hpp

inline void append_escaped(std::string& to, char c) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  to.append(1, '%').append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
}

/// Documents of Zarr, which lie beside what has such a name.
inline bool is_document_name(std::string_view segment) {
  return segment == "zarr.json" || segment.starts_with(".z");
}

/// Hierarchies are walked no deeper than 64 groups.
inline constexpr std::size_t most_shown_segments = 64;

inline bool is_shown_as_it_is(std::string_view name) {
  if (name.empty() || name.size() > max_leaf_name || !store_key::parse(name)) return false;
  std::size_t segments = 0;
  for (std::size_t at = 0; at != std::string_view::npos;) {
    const std::size_t end = name.find('/', at);
    if (is_document_name(name.substr(at, end - at)) || ++segments > most_shown_segments)
      return false;
    at = end == std::string_view::npos ? end : end + 1;
  }
  return true;
}

/// That something was cut off, and a number that tells texts with the same beginning apart.
inline void append_cut(std::string& to, std::string_view whole) {
  std::uint32_t number = 2166136261U;  // FNV-1a
  for (const char c : whole) number = (number ^ static_cast<unsigned char>(c)) * 16777619U;
  to.append("...").append(std::to_string(number));
}

inline void append_segment(std::string& to, std::string_view segment) {
  constexpr std::size_t most = 200;  // file systems have names of 255 bytes
  if (segment.empty()) to += "%";
  const bool is_text = is_utf8(segment);
  std::size_t first = to.size();
  for (const char c : segment.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte >= 0x20 && byte != 0x7f && c != '\\' && (byte < 0x80 || is_text);
    is_plain ? to.append(1, c) : (append_escaped(to, c), to);
  }
  if (segment.size() > most) {
    while (to.size() > first && (static_cast<unsigned char>(to.back()) & 0x80) != 0) to.pop_back();
    append_cut(to, segment);
  }
  if (segment == "." || segment == ".." || is_document_name(segment)) {
    to.resize(first);
    for (const char c : segment) c == '.' ? append_escaped(to, c) : void(to += c);
  }
}

/// Leaves room for what tells it from others.
inline void shorten(std::string& key) {
  constexpr std::size_t most = max_leaf_name - 128;
  if (key.size() <= most) return;
  const std::string whole = key;
  key.resize(most);
  const auto is_cut = [](char c) {
    return (static_cast<unsigned char>(c) & 0x80) != 0 || c == '/' || c == '%';
  };
  while (!key.empty() && is_cut(key.back())) key.pop_back();
  append_cut(key, whole);
}

/// A name that is not a key, as one.
inline std::string made_key(std::string_view name) {
  std::string out;
  std::size_t segments = 0;
  for (std::size_t at = 0;; ++at) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    append_segment(out, name.substr(at, end - at));
    if (end == name.size() || out.size() > max_leaf_name) break;
    ++segments < most_shown_segments / 2 ? out.append(1, '/') : out.append("%2F");
    at = end;
  }
  shorten(out);
  if (store_key::parse(out)) return out;
  std::string plain;
  for (const char c : name.substr(0, 64)) append_escaped(plain, c);
  return plain;
}

ZARRPOINT_INLINE std::vector<std::string> shown_names(const std::vector<std::string>& names) {
  // From the shortest: what lies above another is placed before it.
  std::vector<std::size_t> order(names.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return names[a].size() < names[b].size(); });
  std::vector<std::string> out(names.size());
  std::unordered_set<std::string_view> taken;  // those in `out`
  std::unordered_set<std::size_t> groups;      // hashes of what lies above them
  std::unordered_map<std::string, std::size_t> counts;
  taken.reserve(names.size());
  const auto for_each_group = [](std::string& of, auto&& f) {
    for (std::size_t at = of.find('/'); at != of.npos; at = of.find('/', at + 1)) f(at);
  };
  const std::hash<std::string_view> hash;
  const auto take = [&](std::string& shown) {
    taken.insert(shown);
    if (shown.find_first_of("%~.") == shown.npos) return;  // no name that is made is like them
    for_each_group(
        shown, [&](std::size_t at) { groups.insert(hash(std::string_view(shown).substr(0, at))); });
  };
  std::erase_if(order, [&](std::size_t i) {
    bool is_own = is_shown_as_it_is(names[i]) && !taken.contains(names[i]);
    out[i] = names[i];
    if (is_own)
      for_each_group(out[i], [&](std::size_t at) {
        is_own = is_own && !taken.contains(std::string_view(names[i]).substr(0, at));
      });
    if (is_own) take(out[i]);
    return is_own;
  });
  for (const std::size_t i : order) {
    std::string& shown = out[i];
    if (!is_shown_as_it_is(shown)) shown = made_key(shown);
    for_each_group(shown, [&](std::size_t at) {
      if (taken.contains(std::string_view(shown).substr(0, at))) shown.replace(at, 1, "%2F");
    });
    if (shown.size() > max_leaf_name) shorten(shown);
    if (taken.contains(shown) || groups.contains(hash(shown))) {
      const std::string plain = shown;
      std::size_t& count = counts[plain];
      do shown = plain + '~' + std::to_string(++count + 1);
      while (taken.contains(shown) || groups.contains(hash(shown)));
    }
    take(shown);
  }
  return out;
}

ZARRPOINT_INLINE json unread_document(const unread_entry& what) {
  const auto list = [](const dims& extents) {
    json::array out;
    for (const index_t extent : extents) out.emplace_back(std::int64_t{extent});
    return out;
  };
  dims chunk = what.shape;
  for (index_t& extent : chunk) extent = std::max<index_t>(extent, 1);
  // A type that this library has would make it an array that reads as its fill value.
  json type = printable(what.type, 200);
  if (what.type.empty() || parse_data_type_v3(type)) type = "unread " + *type.if_string();
  const auto named = [](const char* name, json configuration) {
    return json::object{{"name", name}, {"configuration", std::move(configuration)}};
  };
  return json::object{
      {"zarr_format", 3},
      {"node_type", "array"},
      {"shape", list(what.shape)},
      {"data_type", std::move(type)},
      {"chunk_grid", named("regular", json::object{{"chunk_shape", list(chunk)}})},
      {"chunk_key_encoding", named("default", json::object{{"separator", "/"}})},
      {"fill_value", 0},
      {"codecs", json::array{named("bytes", json::object{})}},
      {"attributes", json::object{{std::string(unread_member), printable(what.reason, 1000)}}}};
}

inline std::string told_name(std::string_view name) {
  return is_utf8(name) ? std::string(name) : printable(name, name.size());
}

ZARRPOINT_INLINE void tell_name(json& document, std::string_view name) {
  json attributes;
  if (json* const own = document.find("attributes")) attributes = std::move(*own);
  attributes.set(std::string(original_name_member), told_name(name));
  document.set("attributes", std::move(attributes));
}

ZARRPOINT_INLINE result<json> parse_object(const blob& from, std::uint64_t most) {
  const std::uint64_t size = from.size();
  if (size > most)
    return error{errc::resource_limit, from.name() + ": it has " + std::to_string(size) +
                                           " bytes, and limits::memory has room for " +
                                           std::to_string(most) + "; raise it"};
  ZARRPOINT_TRY(text, buffer::allocate(static_cast<std::size_t>(size)));
  ZARRPOINT_CHECK(from.read(0, text.bytes()));
  return parse_json(std::as_const(text).bytes(), {.max_bytes = static_cast<std::size_t>(size)})
      .at(from.name());
}

/// A document that is made here as text, in which the attributes come last.
inline std::string document_text(json document) {
  json attributes = json::object{};
  if (json* const own = document.find("attributes")) attributes = std::move(*own);
  std::erase_if(*document.if_object(), [](const auto& one) { return one.key == "attributes"; });
  document.set("attributes", std::move(attributes));
  return dump_json(document);
}

/// Such a text with the attribute that tells the name in the file.
inline std::string with_name(std::string_view document_text, std::string_view name) {
  std::string out(document_text.substr(0, document_text.size() - 2));
  if (!out.ends_with('{')) out += ',';
  return out + dump_json(std::string(original_name_member)) + ':' + dump_json(told_name(name)) +
         "}}";
}

inline std::shared_ptr<const std::vector<std::byte>> shared_text_of(std::string_view text) {
  const bytes_view bytes = as_bytes(text);
  return v0::detail::make_counted<const std::vector<std::byte>>(bytes.begin(), bytes.end());
}

ZARRPOINT_INLINE std::unique_ptr<blob> text_blob(std::string_view text, std::string called) {
  return v0::detail::make_owned<blob, memory_blob>(shared_text_of(text), std::move(called));
}

ZARRPOINT_INLINE std::optional<dims> chunk_index(std::string_view key, const dims& counts) {
  auto index = chunk_key_encoding().parse(key, counts.rank());
  for (std::size_t d = 0; index && d < counts.rank(); ++d)
    if ((*index)[d] >= counts[d]) return std::nullopt;
  return index;
}

/// What lies beneath an array: its document, and its chunks, by the digits of their keys.
inline std::vector<list_entry> list_array(const dims& counts, std::string_view prefix) {
  const bool has_none = box::whole(counts).empty();
  std::vector<list_entry> out;
  if (prefix.empty()) {
    if (!has_none) out.push_back({"c", counts.rank() != 0});
    out.push_back({"zarr.json", false});
    return out;
  }
  const auto depth = static_cast<std::size_t>(std::count(prefix.begin(), prefix.end(), '/'));
  if (has_none || depth >= counts.rank() || (prefix != "c" && !prefix.starts_with("c/")))
    return out;
  if (!chunk_index(prefix, dims(std::span<const index_t>(counts).first(depth)))) return out;
  for (index_t i = 0; i < counts[depth]; ++i)
    out.push_back({std::to_string(i), depth + 1 < counts.rank()});
  sort_by_text(out, [](const list_entry& one) -> std::string_view { return one.name; });
  return out;
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> lazy_nodes::open(const hierarchy_place& at,
                                                                std::string_view key,
                                                                std::string called) const {
  if (key == "zarr.json") {
    ZARRPOINT_TRY(made, document(at.number));
    if (at.is_renamed) tell_name(made, original_name(at.number));
    return text_blob(dump_json(made), std::move(called));
  }
  if (key != "c" && !key.starts_with("c/")) return std::unique_ptr<blob>();
  return chunk(at.number, key, std::move(called));
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> lazy_nodes::with_name(const hierarchy_place& at,
                                                                     std::string_view key,
                                                                     std::unique_ptr<blob> stored,
                                                                     std::uint64_t most) const {
  const bool is_v3 = key == "zarr.json";
  if (!at.is_renamed || (!is_v3 && key != ".zattrs")) return stored;
  if (stored == nullptr) {
    ZARRPOINT_TRY(v2, is_v3 ? std::unique_ptr<blob>() : open(at, ".zarray", at.name));
    if (v2 == nullptr) return std::unique_ptr<blob>();
    stored = text_blob("{}", at.name);
  }
  ZARRPOINT_TRY(told, parse_object(*stored, most));
  json whole = is_v3 ? std::move(told) : json(json::object{{"attributes", std::move(told)}});
  tell_name(whole, original_name(at.number));
  return text_blob(dump_json(is_v3 ? whole : *whole.find("attributes")), stored->name());
}

ZARRPOINT_INLINE result<std::vector<list_entry>> lazy_nodes::list(std::size_t number,
                                                                  std::string_view prefix) const {
  ZARRPOINT_TRY(chunks, counts(number));
  return list_array(chunks, prefix);
}

ZARRPOINT_INLINE dims virtual_hierarchy::array::counts() const {
  return rank == 1 ? dims{static_cast<index_t>(chunks.size())} : dims(rank, chunks.empty() ? 0 : 1);
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> virtual_hierarchy::array::open(
    std::string_view key, std::string called) const {
  if (key == "zarr.json")
    return v0::detail::make_owned<blob, memory_blob>(document, std::move(called));
  const auto index = chunk_index(key, counts());
  if (!index) return std::unique_ptr<blob>();
  return chunks[rank == 1 ? static_cast<std::size_t>((*index)[0]) : 0](std::move(called));
}

ZARRPOINT_INLINE void virtual_hierarchy::add(const std::string& name, array made) {
  places_.push_back({name, arrays_.size()});
  arrays_.push_back(std::move(made));
}

ZARRPOINT_INLINE result<void> check_bools(bytes_view elements) {
  for (const std::byte each : elements)
    if (each > std::byte{1}) return error{errc::corrupt, "a bool is neither 0 nor 1"};
  return {};
}

/// Bools as others store them, checked where they are read.
class bool_blob final : public blob {
 public:
  using blob::read;
  explicit bool_blob(std::unique_ptr<blob> from) : from_(std::move(from)) {}

  std::uint64_t size() const noexcept override { return from_->size(); }
  std::string name() const override { return from_->name(); }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(from_->read(offset, into));
    return check_bools(into).at(name());
  }

 private:
  std::unique_ptr<blob> from_;
};

ZARRPOINT_INLINE result<void> virtual_hierarchy::add(const std::string& name,
                                                     const array_metadata& as, chunk_opener chunk) {
  if (!is_wanted(name)) return {};
  if (as.type == dtype_kind::bool_)
    chunk = [inner = std::move(chunk)](std::string called) -> result<std::unique_ptr<blob>> {
      ZARRPOINT_TRY(opened, inner(std::move(called)));
      if (opened == nullptr) return std::move(opened);
      return v0::detail::make_owned<blob, bool_blob>(std::move(opened));
    };
  const auto is_same = [&](const made_document& one) { return one.of == as; };
  auto told = std::find_if(recent_.begin(), recent_.end(), is_same);
  if (told == recent_.end()) {
    ZARRPOINT_TRY(document, to_v3(as).at("the array " + in_quotes(name)));
    if (recent_.size() == 32) recent_.erase(recent_.begin());
    recent_.push_back({as, shared_text_of(document_text(std::move(document)))});
    told = std::prev(recent_.end());
  }
  array made{told->text, as.shape.rank(), {}};
  if (!box::whole(as.shape).empty()) made.chunks.push_back(std::move(chunk));
  add(name, std::move(made));
  return {};
}

ZARRPOINT_INLINE result<void> virtual_hierarchy::add(const std::string& name,
                                                     const unread_entry& what,
                                                     std::vector<chunk_opener> stored) {
  if (is_wanted(name))
    add(name, {shared_text_of(document_text(unread_document(what))), 1, std::move(stored)});
  return {};
}

ZARRPOINT_INLINE result<void> virtual_hierarchy::add(const std::string& name,
                                                     const array_metadata& as,
                                                     std::vector<std::byte> chunk) {
  return add(name, as,
             [bytes = v0::detail::make_counted<const std::vector<std::byte>>(std::move(chunk))](
                 std::string called) -> result<std::unique_ptr<blob>> {
               return v0::detail::make_owned<blob, memory_blob>(bytes, std::move(called));
             });
}

ZARRPOINT_INLINE void virtual_hierarchy::add(std::string name, const lazy_nodes& by,
                                             std::size_t number) {
  lazy_ = &by;
  places_.push_back({std::move(name), number, true});
}

ZARRPOINT_INLINE result<void> virtual_hierarchy::show_names(bool are_keys) {
  if (!are_keys) {
    std::vector<std::string> names;
    names.reserve(places_.size());
    for (place& each : places_) names.push_back(std::move(each.name));
    std::vector<std::string> shown = shown_names(names);
    for (std::size_t i = 0; i < shown.size(); ++i) {
      place& each = places_[i];
      each.name = std::move(shown[i]);
      if (each.is_lazy || each.name == names[i]) continue;
      shared_text& document = arrays_[each.number].document;
      document = shared_text_of(with_name(as_text(bytes_view(*document)), names[i]));
    }
  }
  for (place& each : places_)
    each.is_renamed = each.is_lazy && each.name != lazy_->original_name(each.number);
  v0::detail::sort_by_text(places_, [](const place& one) -> std::string_view { return one.name; });
  return {};
}

ZARRPOINT_INLINE result<void> virtual_hierarchy::make_groups() {
  group_budget budget;
  std::vector<std::string> added = std::move(groups_);
  v0::detail::sort_names(added);
  groups_ = {};
  std::string last;
  // Each group that ends before one of the slashes of `path`.
  const auto add_above = [&](std::string path) -> result<void> {
    for (std::size_t at = path.find('/'); at != path.npos; at = path.find('/', at + 1)) {
      std::string above = path.substr(0, at + 1);
      if (last.starts_with(above)) continue;
      above.pop_back();
      ZARRPOINT_CHECK(budget.charge(above));
      groups_.push_back(std::move(above));
    }
    last = std::move(path);
    return {};
  };
  for (const place& each : places_) ZARRPOINT_CHECK(add_above(each.name));
  last.clear();
  for (const std::string& each : added) ZARRPOINT_CHECK(add_above(each + '/'));
  v0::detail::sort_names(groups_);
  groups_.erase(std::unique(groups_.begin(), groups_.end()), groups_.end());
  return {};
}

ZARRPOINT_INLINE result<void> virtual_hierarchy::finish(const json& attributes, bool are_keys) {
  group_budget budget;
  for (const place& each : places_)  // before their names are made
    if (each.name.size() > max_leaf_name) ZARRPOINT_CHECK(budget.charge(each.name));
  recent_ = {};
  ZARRPOINT_CHECK(show_names(are_keys));
  ZARRPOINT_CHECK(make_groups());
  json group = json::object{{"zarr_format", 3}, {"node_type", "group"}};
  group_text_ = shared_text_of(dump_json(group));
  if (!attributes.is_null()) group.set("attributes", attributes);
  if (places_.empty() || !places_[0].name.empty()) root_text_ = shared_text_of(dump_json(group));
  return {};
}

ZARRPOINT_INLINE bool virtual_hierarchy::is_group(std::string_view name) const {
  if (name.empty()) return root_text_ != nullptr;
  const auto at = std::lower_bound(groups_.begin(), groups_.end(), name);
  return at != groups_.end() && *at == name;
}

ZARRPOINT_INLINE const virtual_hierarchy::place* virtual_hierarchy::find(
    std::string_view key, std::string_view& rest) const {
  for (std::string_view name = key;;) {
    const auto at = std::lower_bound(
        places_.begin(), places_.end(), name,
        [](const place& a, std::string_view b) { return std::string_view(a.name) < b; });
    if (at != places_.end() && at->name == name) {
      rest = key.substr(name.empty() ? 0 : std::min(name.size() + 1, key.size()));
      return &*at;
    }
    if (name.empty()) return nullptr;
    const std::size_t slash = name.rfind('/');
    name = name.substr(0, slash == name.npos ? 0 : slash);
  }
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> virtual_hierarchy::open(const store_key& key,
                                                                       std::string name) const {
  std::string_view rest;
  if (const place* const at = find(key.str(), rest)) {
    if (!at->is_lazy) return arrays_[at->number].open(rest, std::move(name));
    return lazy_->open(*at, rest, std::move(name));
  }
  const store_key group = key.parent();
  if (key.name() != "zarr.json" || !is_group(group.str())) return std::unique_ptr<blob>();
  return v0::detail::make_owned<blob, memory_blob>(group.is_root() ? root_text_ : group_text_,
                                                   std::move(name));
}

ZARRPOINT_INLINE result<std::vector<list_entry>> virtual_hierarchy::list(
    const store_key& prefix) const {
  std::string_view rest;
  if (const place* const at = find(prefix.str(), rest))
    return at->is_lazy ? lazy_->list(at->number, rest)
                       : list_array(arrays_[at->number].counts(), rest);
  std::vector<list_entry> out = list_children(prefix, [&](std::string_view text) {
    const auto at = std::lower_bound(
        places_.begin(), places_.end(), text,
        [](const place& a, std::string_view b) { return std::string_view(a.name) < b; });
    return at == places_.end() ? nullptr : &at->name;
  });
  const auto groups = list_children(prefix, [&](std::string_view text) {
    const auto at = std::lower_bound(groups_.begin(), groups_.end(), text);
    return at == groups_.end() ? nullptr : &*at;
  });
  out.insert(out.end(), groups.begin(), groups.end());
  for (list_entry& each : out) each.is_prefix = true;
  if (is_group(prefix.str())) out.push_back({"zarr.json", false});
  sort_by_text(out, [](const list_entry& one) -> std::string_view { return one.name; });
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

ZARRPOINT_INLINE std::string virtual_hierarchy::describe(const store_key& key,
                                                         const std::string& file) const {
  if (key.is_root()) return file;
  std::string_view rest;
  const place* const at = lazy_ != nullptr ? find(key.str(), rest) : nullptr;
  std::string out = at != nullptr && at->is_lazy ? lazy_->describe(at->number, rest) : "";
  return out.empty() ? file + ":" + std::string(key.str()) : out;
}

ZARRPOINT_INLINE array_metadata raw_array(const tensor_spec& spec, endian order) {
  array_metadata out;
  out.shape = spec.shape;
  out.type = spec.type;
  out.chunk_shape = spec.shape;
  mend_empty_chunks(out);
  out.fill = fill_value::zero(spec.type);
  json how;
  if (spec.type.scalar_size() > 1) how.set("endian", order == endian::little ? "little" : "big");
  out.codecs.emplace_back("bytes", std::move(how));
  return out;
}

ZARRPOINT_INLINE result<text_array> array_of_texts(const dims& shape,
                                                   const std::vector<std::string_view>& texts) {
  text_array out;
  out.metadata.shape = out.metadata.chunk_shape = shape;
  mend_empty_chunks(out.metadata);
  out.metadata.type = dtype(dtype_kind::string);
  out.metadata.fill = fill_value::zero(out.metadata.type);
  out.metadata.codecs.emplace_back("vlen-utf8");
  std::uint64_t bytes = 4 + 4 * std::uint64_t{texts.size()};
  for (const std::string_view text : texts) bytes += text.size();
  if (bytes > UINT32_MAX) return error{errc::resource_limit, "its texts have more than 4 GiB"};
  out.chunk.resize(static_cast<std::size_t>(bytes));
  std::byte* to = out.chunk.data();
  const auto put_number = [&to](std::size_t number) {
    store_le<std::uint32_t>(to, static_cast<std::uint32_t>(number));
    to += 4;
  };
  put_number(texts.size());
  for (const std::string_view text : texts) {
    put_number(text.size());
    to = std::copy(as_bytes(text).begin(), as_bytes(text).end(), to);
  }
  return out;
}

// ------------------------------------------------------------------------------- virtual_store.hpp

ZARRPOINT_INLINE result<std::unique_ptr<blob>> open_existing(const any_store& store,
                                                             const store_key& key) {
  ZARRPOINT_TRY(found, store.open(key));
  if (found == nullptr)
    return error{errc::not_found, "open " + store.describe(key) + ": there is no such file"};
  return std::move(found);
}

ZARRPOINT_INLINE virtual_store::virtual_store(virtual_hierarchy tree, std::string name)
    : tree_(make_counted<const virtual_hierarchy>(std::move(tree))), name_(std::move(name)) {}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> virtual_store::open(const store_key& key) const {
  return guarded([&] { return tree_->open(key, describe(key)); });
}

ZARRPOINT_INLINE std::string virtual_store::describe(const store_key& key) const {
  return tree_->describe(key, name_);
}

ZARRPOINT_INLINE result<std::vector<list_entry>> virtual_store::list(
    const store_key& prefix) const {
  return guarded([&] { return tree_->list(prefix); });
}

// -------------------------------------------------------------------------------- weight_index.hpp

ZARRPOINT_INLINE std::vector<std::string> weight_index::files() const {
  std::vector<std::string> out;
  for (const auto& [name, file] : file_of)
    if (out.empty() || out.back() != file) out.push_back(file);
  sort_names(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

ZARRPOINT_INLINE result<weight_index> parse_weight_index(const json& document) {
  const json::object* const map = document.find_object("weight_map");
  if (map == nullptr)
    return error{errc::corrupt,
                 "it has no object \"weight_map\": it is not the index of a model in files"};
  weight_index out;
  for (const json::member& one : *map) {
    const std::string* const file = one.value.if_string();
    // A name in a file must not lead to files elsewhere.
    if (file == nullptr || file->empty() || file->find('/') != file->npos || *file == "." ||
        *file == "..")
      return error{errc::corrupt, "weight_map: the tensor " + in_quotes(one.key) +
                                      " names a file that is not in the directory of the index"};
    out.file_of.emplace(one.key, *file);
  }
  if (const json* const metadata = document.find("metadata"))
    if (const json* const total = metadata->find("total_size")) out.total_size = total->to_uint64();
  return out;
}

ZARRPOINT_INLINE result<std::optional<weight_index>> read_weight_index(const any_store& store,
                                                                       const store_key& key) {
  constexpr std::uint64_t most = std::uint64_t{256} << 20;
  ZARRPOINT_TRY(text, get(store, key, most));
  if (!text) return std::optional<weight_index>();
  const auto parse = [&]() -> result<weight_index> {
    ZARRPOINT_TRY(document, parse_json(*text, {.max_bytes = static_cast<std::size_t>(most)}));
    return parse_weight_index(document);
  };
  ZARRPOINT_TRY(parsed, parse().at(store.describe(key)));
  return std::optional(std::move(parsed));
}

/// What an index leaves out, as it is found.
struct left_tensors {
  static constexpr std::size_t most_told = 1000;

  std::uint64_t count = 0;
  json::array told;

  void add(std::string_view name, const std::string& file, std::string reason) {
    if (++count > most_told) return;
    told.emplace_back(json::object{{"name", printable(name, 1000)},
                                   {"file", printable(file, 1000)},
                                   {"reason", std::move(reason)}});
  }
  json document() && {
    if (count == 0) return {};
    return json::object{{"left_out", count}, {"tensors", std::move(told)}};
  }
};

ZARRPOINT_INLINE result<model_files> model_files::at(const any_store& base, store_key index) {
  ZARRPOINT_TRY(read, read_weight_index(base, index));
  if (!read) return error{errc::not_found, "there is no such file"};
  return model_files{base, std::move(index), *std::move(read)};
}

ZARRPOINT_INLINE result<json> model_files::join(const file_adder& add_file,
                                                virtual_hierarchy& to) const {
  const weight_index& of = index;
  const auto add = [&](const std::string& name) -> result<void> {
    ZARRPOINT_TRY(key, at_key.parent().child(name));
    ZARRPOINT_TRY(from, open_existing(base, key));
    return add_file(name, std::move(from), to).at(base.describe(key));
  };
  std::map<std::string_view, std::vector<std::string_view>> names;
  for (const auto& [name, file] : of.file_of) names[file].push_back(name);
  left_tensors left;
  for (auto& [of_file, wanted] : names) {
    const std::string file(of_file);
    std::vector<std::string_view> missing = std::move(wanted);  // sorted, as the map is
    std::vector<bool> found(missing.size());
    to.take_only([&](std::string_view name) -> bool {
      const auto at = std::lower_bound(missing.begin(), missing.end(), name);
      if (at != missing.end() && *at == name)
        return found[static_cast<std::size_t>(at - missing.begin())] = true;
      const auto other = of.file_of.find(name);
      left.add(name, file,
               other == of.file_of.end()
                   ? "not in the weight_map, so it is not read"
                   : "the weight_map takes it from " + in_quotes(other->second) +
                         ", so this one is not read");
      return false;
    });
    ZARRPOINT_CHECK(add(file));
    if (const auto lost = std::find(found.begin(), found.end(), false); lost != found.end())
      return error{errc::corrupt,
                   "weight_map: tensor " +
                       in_quotes(missing[static_cast<std::size_t>(lost - found.begin())]) +
                       " is not in " + in_quotes(file)};
  }
  to.take_only({});
  return std::move(left).document();
}

ZARRPOINT_INLINE result<bool> has_index(const place_look& at, const char* name) {
  ZARRPOINT_TRY(is_there, at.has({name}));
  if (!is_there) return false;
  ZARRPOINT_TRY(is_more, at.has({"zarr.json", ".zgroup", ".zarray", ".metadata", "__0.metadata"}));
  return !is_more;
}

ZARRPOINT_INLINE result<stored_place> index_at(const place_look& at, const char* name) {
  if (!at.is_file()) {
    ZARRPOINT_CHECK(at.check_directory());
    ZARRPOINT_TRY(key, store_key::parse(name));
    return stored_place{at.directory(), std::move(key)};
  }
  return at.file_place();
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/store/format_bodies.hpp>
#include <zarrpoint/zarr/type_bodies.hpp>
#endif
