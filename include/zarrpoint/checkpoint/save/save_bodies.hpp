// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/save/hidden_leaves.hpp>
#include <zarrpoint/checkpoint/save/plan_layout.hpp>
#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/checkpoint/save/sharing_store.hpp>
#include <zarrpoint/checkpoint/save/write_leaves.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/handler/types/blob.hpp>
#include <zarrpoint/store/base/write_threads.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/node_name.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// --------------------------------------------------------------------------------- save_target.hpp

ZARRPOINT_INLINE double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

ZARRPOINT_INLINE bool holds_commit(const json& document, bool is_attributes) {
  const json* attributes = is_attributes ? &document : document.find("attributes");
  const json* member =
      attributes != nullptr ? attributes->find(commit_document::member_name) : nullptr;
  return member != nullptr && member->if_object() != nullptr;
}

/// What could not be read for want of memory is not taken for the document of another program.
ZARRPOINT_INLINE result<bool> holds_commit(bytes_view document, bool is_attributes,
                                           const json_limits& limit) {
  const result<json> parsed = parse_json(document, limit);
  if (!parsed && parsed.failure().code == errc::resource_limit) return parsed.failure();
  return parsed && holds_commit(*parsed, is_attributes);
}

ZARRPOINT_INLINE result<bool> holds_commit(const any_store& root, const limits& limit) {
  for (const std::string_view name : {"zarr.json", ".zattrs"}) {
    ZARRPOINT_TRY(key, store_key::parse(name));
    ZARRPOINT_TRY(document, get(root, key, document_limits(limit).max_bytes));
    if (!document) continue;
    ZARRPOINT_TRY(
        ours,
        holds_commit(*document, name == ".zattrs", document_limits(limit)).at(root.describe(key)));
    if (ours) return true;
  }
  return false;
}

// ------------------------------------------------------------------------------------- replace.hpp

/// The first that is there names a directory.
inline constexpr std::pair<std::string_view, directory_kind> directory_marks[] = {
    {"metadata.json", directory_kind::megatron},
    {"_CHECKPOINT_METADATA", directory_kind::orbax},
    {"_METADATA", directory_kind::orbax},
    {".metadata", directory_kind::dcp},
    {"zarr.json", directory_kind::zarr},
    {".zgroup", directory_kind::zarr},
    {".zattrs", directory_kind::zarr},
    {".zarray", directory_kind::zarr},
    {"model.safetensors.index.json", directory_kind::safetensors},
    {"model.safetensors", directory_kind::safetensors}};

/// What the files of a directory say; nothing where it is empty.
ZARRPOINT_INLINE result<std::optional<std::vector<directory_kind>>> look_into(
    const any_store& root) {
  std::optional<std::vector<directory_kind>> out;
  std::optional<std::vector<list_entry>> entries;
  if (root.can_list()) {
    ZARRPOINT_TRY(listed, root.list(store_key::root()));
    if (listed.empty()) return out;
    out.emplace();
    entries = std::move(listed);
  }
  for (const auto& [name, kind] : directory_marks) {
    const auto is_it = [&name = name](const list_entry& one) { return one.name == name; };
    if (entries && std::none_of(entries->begin(), entries->end(), is_it)) continue;
    ZARRPOINT_TRY(key, store_key::parse(name));
    const auto file = root.open(key);  // an error for a directory
    if (!file || *file == nullptr) continue;
    if (!out) out.emplace();
    // A common name. Megatron-Core's has some hundred bytes.
    const auto text = get(root, key, kind == directory_kind::megatron ? 1 << 20 : 0);
    const bool is_theirs =
        text && *text && as_text(**text).find("\"sharded_backend\"") != std::string::npos;
    if (kind != directory_kind::megatron || is_theirs) out->push_back(kind);
  }
  return out;
}

ZARRPOINT_INLINE std::string name_of(directory_kind kind, const any_store& root) {
  static constexpr const char* names[] = {
      "a Megatron-Core checkpoint", "an Orbax checkpoint", "a PyTorch (DCP) checkpoint",
      "a Zarr hierarchy of another program, or a damaged one", "a safetensors model"};
  const auto ours = holds_commit(root, limits{});
  if (kind == directory_kind::zarr && ours && *ours) return "a zarrpoint checkpoint";
  return names[static_cast<int>(kind)];
}

ZARRPOINT_INLINE error refusal(const replace_rule& rule, std::string_view what) {
  return {errc::already_exists, rule.where + " is " + std::string(what) +
                                    "; nothing was changed; save elsewhere or remove it"};
}

/// Among what was found, the first whose reader would take it for the whole.
ZARRPOINT_INLINE std::optional<directory_kind> another_checkpoint(
    const std::vector<directory_kind>& found, const replace_rule& rule) {
  const auto another = std::find_if(found.begin(), found.end(), [&](directory_kind kind) {
    return kind <= directory_kind::zarr && kind != rule.kind &&
           std::find(rule.may_hold.begin(), rule.may_hold.end(), kind) == rule.may_hold.end();
  });
  return another != found.end() ? std::optional(*another) : std::nullopt;
}

ZARRPOINT_INLINE result<bool> check_still(const stored_place& target, const replace_rule& rule,
                                          const result<own_look>& own) {
  if (!rule.overwrite) return false;  // publishing replaces nothing
  constexpr const char* since = " that came there during the save";
  if (!target.key.is_root()) {
    const auto file = target.store.open(target.key);  // an error for a directory
    if (file && *file != nullptr) return refusal(rule, std::string("a file") + since);
  }
  const any_store root = beneath(target);
  ZARRPOINT_TRY(found, look_into(root));
  if (!found) return false;
  if (const auto another = another_checkpoint(*found, rule))
    return refusal(rule, name_of(*another, root) + since);
  if (!own) return own.failure();
  if (own->is_whole || own->instead.empty()) return true;
  return refusal(rule, own->instead + ", which came there during the save");
}

ZARRPOINT_INLINE result<bool> check_replace(const stored_place& target, const replace_rule& rule,
                                            const result<own_look>& own) {
  const auto refuse = [&](std::string_view what) { return refusal(rule, what); };
  bool is_file = false;
  if (!target.key.is_root()) {
    // A store may answer for a directory with an error of its own; then it lists something.
    const auto file = target.store.open(target.key);
    is_file = file && *file != nullptr;
    if (is_file && !rule.is_file) return refuse("a file, not " + rule.name);
    if (!file && rule.is_file)
      return refuse("not " + rule.name + " (" + file.failure().message + ")");
  }
  const any_store root = beneath(target);
  std::optional<std::vector<directory_kind>> found;
  if (!is_file) {
    ZARRPOINT_TRY(seen, look_into(root));
    found = std::move(seen);
    if (!found) return false;
    if (rule.is_file) return refuse("a directory, not " + rule.name);
  } else {
    found.emplace();
  }
  if (!own) return own.failure();
  if (const auto another = another_checkpoint(*found, rule))
    return refuse(own->is_whole ? "not only " + rule.name + ", but also " + name_of(*another, root)
                                : name_of(*another, root) + ", not " + rule.name);
  if (own->is_whole && rule.overwrite) return true;
  if (own->is_whole) return refuse("there already, and overwrite is false");
  if (!own->instead.empty()) return refuse(own->instead);
  return refuse((found->empty() ? std::string("a directory with other files")
                                : name_of(found->front(), root)) +
                ", not " + rule.name);
}

ZARRPOINT_INLINE any_store beneath(const stored_place& target) {
  return target.key.is_root() ? target.store : any_store(prefix_store(target.store, target.key));
}

ZARRPOINT_INLINE result<std::unique_ptr<publication>> stage(const stored_place& target,
                                                            publish_options how) {
  how.write_behind = &write_threads::make;
  return target.store.stage(target.key, how);
}

ZARRPOINT_INLINE result<void> publish(publication& tree, const std::optional<owned_paths>& owned,
                                      save_summary& report) {
  if (owned) {
    ZARRPOINT_TRY(kept, tree.keep(*owned));
    report.kept = std::move(kept);
  }
  ZARRPOINT_CHECK(tree.commit());
  // The new checkpoint is in its place: that it cannot be told of is not a failure of the save.
  static_cast<void>(guarded([&]() -> result<void> {
    late_entries late = tree.late();
    report.kept.insert(report.kept.end(), late.kept.begin(), late.kept.end());
    sort_names(report.kept);
    report.kept.erase(std::unique(report.kept.begin(), report.kept.end()), report.kept.end());
    if (!late.left.empty()) report.warnings.push_back(std::move(late.left));
    for (std::string& one : late.uncleaned) report.warnings.push_back(std::move(one));
    return {};
  }));
  return {};
}

ZARRPOINT_INLINE void add_documents(const std::string& folder, std::vector<std::string>& out) {
  for (const char* name : {"zarr.json", ".zgroup", ".zattrs", ".zarray", ".zmetadata"})
    out.push_back(folder.empty() ? name : folder + "/" + name);
}

/// Of a root that is an array: all that may be a chunk of it.
ZARRPOINT_INLINE result<void> add_root_chunks(const any_store& root,
                                              std::vector<std::string>& out) {
  ZARRPOINT_TRY(entries, root.list(store_key::root()));
  for (const list_entry& entry : entries) {
    std::string_view name = entry.name;
    if (name == "c" || name.starts_with("c.")) name.remove_prefix(1);
    if (name.find_first_not_of("0123456789.") == name.npos) out.push_back(entry.name);
  }
  return {};
}

/// We wrote nothing that cannot be opened, such as a link or a pipe.
ZARRPOINT_INLINE bool holds_document(const any_store& root, const store_key& folder) {
  for (const char* name : {"zarr.json", ".zgroup", ".zarray"}) {
    const auto key = folder.child(name);
    if (!key) continue;
    const auto document = root.open(*key);
    if (document && *document != nullptr) return true;
  }
  return false;
}

ZARRPOINT_INLINE result<std::vector<std::string>> paths_told_by(
    const any_store& root, const result<checkpoint_contents>& contents) {
  std::vector<std::string> out;
  add_documents({}, out);
  if (contents) {
    std::vector<std::string_view> names;
    for (const stored_leaf& leaf : contents->leaves) {
      if (leaf.name.empty()) {
        ZARRPOINT_CHECK(add_root_chunks(root, out));
      } else {
        names.emplace_back(leaf.name);
        out.push_back(leaf.name);
      }
    }
    const auto groups = groups_of(names, contents->groups);
    if (groups)
      for (const std::string& group : *groups) add_documents(group, out);
  } else if (root.can_list()) {
    ZARRPOINT_TRY(entries, root.list(store_key::root()));
    for (const list_entry& entry : entries) {
      const auto folder = store_key::root().child(entry.name);
      if (!entry.is_prefix || !folder) continue;
      if (holds_document(root, *folder)) out.push_back(entry.name);
    }
  }
  sort_names(out);
  return out;
}

ZARRPOINT_INLINE result<std::vector<std::string>> paths_of_checkpoint(const any_store& root,
                                                                      const context& how) {
  return paths_told_by(root, read_contents(root, how));
}

ZARRPOINT_INLINE result<std::vector<std::string>> paths_to_replace(const any_store& root,
                                                                   const context& how,
                                                                   bool is_there) {
  std::vector<std::string> out;
  add_documents({}, out);
  sort_names(out);
  if (!is_there) return out;
  const auto contents = read_contents(root, how);
  bool is_ours = contents && contents->is_ours();
  std::optional<std::vector<directory_kind>> found;
  // Ours may be damaged, or be published between one look and the next.
  for (int look = 0; look < 2 && !is_ours; ++look) {
    ZARRPOINT_TRY(has_commit, holds_commit(root, how.limit));
    is_ours = has_commit;
    if (look != 0 || is_ours) continue;
    ZARRPOINT_TRY(seen, look_into(root));
    found = std::move(seen);
  }
  if (is_ours) return paths_told_by(root, contents);
  if (found && std::find(found->begin(), found->end(), directory_kind::zarr) != found->end())
    return error{errc::already_exists,
                 root.describe(store_key::root()) + " is " + name_of(directory_kind::zarr, root) +
                     " that came there during the save; nothing was changed; save elsewhere or "
                     "remove it"};
  return out;
}

// ------------------------------------------------------------------------------ write_metadata.hpp

ZARRPOINT_INLINE result<void> put_document(const any_store& store, const store_key& node_key,
                                           std::string_view file, const json& document) {
  ZARRPOINT_TRY(key, node_key.child(file));
  return store.put(key, as_bytes(dump_json(document, json_style::pretty)));
}

ZARRPOINT_INLINE result<json> array_document(const array_metadata& metadata) {
  if (metadata.zarr_format != 2) return to_v3(metadata);
  ZARRPOINT_TRY(documents, to_v2(metadata));
  return std::move(documents.document);
}

ZARRPOINT_INLINE result<void> put_array_document(const any_store& store, const store_key& key,
                                                 const leaf_record& leaf, int zarr_format) {
  if (zarr_format != 2) return put_document(store, key, "zarr.json", leaf.metadata);
  if (!leaf.attributes.is_null())
    ZARRPOINT_CHECK(put_document(store, key, ".zattrs", leaf.attributes));
  return put_document(store, key, ".zarray", leaf.metadata);
}

ZARRPOINT_INLINE result<json> group_document(int zarr_format) {
  if (zarr_format == 2) return json(json::object{{"zarr_format", 2}});
  return to_v3(group_metadata{});
}

ZARRPOINT_INLINE result<void> put_group_documents(const any_store& store,
                                                  const std::vector<std::string>& groups,
                                                  const json::object& attributes, int zarr_format) {
  ZARRPOINT_TRY(bare, group_document(zarr_format));
  for (const std::string& group : groups) {
    ZARRPOINT_TRY(key, store_key::parse(group));
    const json* own = find_sorted(attributes, group);
    if (zarr_format == 2) {
      if (own != nullptr) ZARRPOINT_CHECK(put_document(store, key, ".zattrs", *own));
      ZARRPOINT_CHECK(put_document(store, key, ".zgroup", bare));
    } else if (own != nullptr) {
      ZARRPOINT_TRY(document, to_v3(group_metadata{.attributes = *own}));
      ZARRPOINT_CHECK(put_document(store, key, "zarr.json", document));
    } else {
      ZARRPOINT_CHECK(put_document(store, key, "zarr.json", bare));
    }
  }
  return {};
}

ZARRPOINT_INLINE result<json> consolidate_v2(const commit_document& document,
                                             const std::vector<std::string>& groups,
                                             const json& attributes) {
  ZARRPOINT_TRY(group, group_document(2));
  std::vector<v2_node> nodes{{"", node_kind::group, group, attributes}};
  for (const std::string& path : groups) {
    const json* own = find_sorted(document.group_attributes, path);
    nodes.push_back({path, node_kind::group, group, own != nullptr ? *own : json()});
  }
  for (const leaf_record& leaf : document.leaves)
    nodes.push_back({leaf.name, node_kind::array, leaf.metadata, leaf.attributes});
  return to_zmetadata(nodes);
}

/// How deep the root's document may be, as `check_writable` has it.
inline constexpr std::size_t root_levels = 48;

/// The compact text of each leaf's document.
class leaf_texts {
 public:
  explicit leaf_texts(const root_document& of) : given_(of.documents), of_(of.commit) {}

  result<std::span<const std::string_view>> get() {
    if (given_.size() == of_.leaves.size()) return given_;
    made_.reserve(of_.leaves.size());
    for (const leaf_record& leaf : of_.leaves) {
      ZARRPOINT_CHECK(check_writable(leaf.metadata, root_levels - 5).at(in_quotes(leaf.name)));
      made_.push_back(dump_json(leaf.metadata, json_style::compact));
    }
    views_.assign(made_.begin(), made_.end());
    return std::span<const std::string_view>(views_);
  }

 private:
  std::span<const std::string_view> given_;
  const commit_document& of_;
  std::vector<std::string> made_;
  std::vector<std::string_view> views_;
};

/// Names and attributes read back as what they are.
ZARRPOINT_INLINE result<void> check_root(const root_document& of) {
  const json& attributes = of.options.attributes;
  ZARRPOINT_CHECK(check_writable_attributes(attributes));
  ZARRPOINT_CHECK(check_writable(attributes, root_levels - 1));
  for (const json::member& group : of.commit.group_attributes)
    ZARRPOINT_CHECK(check_writable(group.value, root_levels - 4).at(in_quotes(group.key)));
  const auto check = [](std::string_view path) -> result<void> {
    if (!is_utf8(path))
      return error{errc::invalid_argument, "key " + in_quotes(path) + " is not UTF-8"};
    auto safe = check_safe_path(path);
    if (safe) return safe;
    return error{errc::invalid_argument, safe.failure().message};
  };
  for (const std::string& group : of.groups) ZARRPOINT_CHECK(check(group));
  for (const leaf_record& leaf : of.commit.leaves) ZARRPOINT_CHECK(check(leaf.name));
  return {};
}

/// Appends the caller's attributes with the commit document among them, as the last.
ZARRPOINT_INLINE void append_root_attributes(std::string& out, const root_document& of,
                                             std::span<const std::string_view> documents) {
  const json& given = of.options.attributes;
  const std::string attributes = dump_json(given.is_null() ? json(json::object{}) : given);
  out.append(attributes, 0, attributes.size() - 1);
  if (out.back() != '{') out += ',';
  write_json_string(out, commit_document::member_name);
  out += ':';
  append_commit(out, of.commit, text_seal(attributes), documents);
  out += '}';
}

/// Appends every node below the root, by depth and then by name, as zarr-python orders them.
ZARRPOINT_INLINE result<void> append_consolidated(std::string& out, const root_document& of,
                                                  std::span<const std::string_view> documents) {
  struct entry {
    std::string_view path;
    std::string_view text;
    std::ptrdiff_t depth;
  };
  std::vector<entry> nodes;
  nodes.reserve(of.groups.size() + documents.size());
  const auto add = [&](std::string_view path, std::string_view text) {
    nodes.push_back({path, text, std::count(path.begin(), path.end(), '/')});
  };
  // zarr-python marks groups below with an empty consolidation of their own.
  group_metadata marked;
  marked.consolidated.emplace();
  ZARRPOINT_TRY(bare, to_v3(marked));
  const std::string bare_text = dump_json(bare, json_style::compact);
  std::vector<std::string> with_attributes;
  with_attributes.reserve(of.commit.group_attributes.size());
  for (const std::string& path : of.groups) {
    const json* own = find_sorted(of.commit.group_attributes, path);
    if (own == nullptr) {
      add(path, bare_text);
      continue;
    }
    marked.attributes = *own;
    ZARRPOINT_TRY(group, to_v3(marked));
    add(path, with_attributes.emplace_back(dump_json(group, json_style::compact)));
  }
  for (std::size_t i = 0; i < documents.size(); ++i) add(of.commit.leaves[i].name, documents[i]);
  sort_by(nodes, [](const entry& a, const entry& b) {
    return a.depth != b.depth ? a.depth < b.depth : a.path < b.path;
  });
  out += R"("consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{)";
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i != 0) {
      if (nodes[i].path == nodes[i - 1].path)
        return error{errc::invalid_argument, "key " + in_quotes(nodes[i].path) + " occurs twice"};
      out += ',';
    }
    write_json_string(out, nodes[i].path);
    out += ':';
    out += nodes[i].text;
  }
  out += "}}";
  return {};
}

/// The values of a compact text, as the parser counts them.
ZARRPOINT_INLINE std::size_t count_values(std::string_view text) {
  std::size_t out = 1;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == ',' || ((c == '[' || c == '{') && text[i + 1] != ']' && text[i + 1] != '}')) {
      ++out;
    }
  }
  return out;
}

/// Why a document would not be read back; empty when it would be.
ZARRPOINT_INLINE std::string reading_limit(const std::string& text, std::size_t max_bytes) {
  const auto over = [&](std::size_t count, const char* what, std::size_t most) {
    return std::to_string(count) + what + std::to_string(most);
  };
  if (text.size() > max_bytes)
    return over(text.size(), " bytes; limits::metadata_bytes allows ", max_bytes);
  const std::size_t most = json_limits{.max_bytes = max_bytes}.node_limit();
  if (text.size() / 2 < most) return {};  // a value takes two bytes at least
  const std::size_t values = count_values(text);
  if (values <= most) return {};
  return over(values, " values; limits::metadata_bytes allows ", most);
}

ZARRPOINT_INLINE result<std::string> root_text_v3(const root_document& of, bool consolidated) {
  leaf_texts texts(of);
  ZARRPOINT_TRY(documents, texts.get());
  std::size_t bytes = 4096;
  for (const std::string_view text : documents) bytes += 2 * text.size() + 256;
  std::string out;
  out.reserve(bytes);
  out += R"({"zarr_format":3,"node_type":"group","attributes":)";
  append_root_attributes(out, of, documents);
  if (consolidated) {
    out += ',';
    ZARRPOINT_CHECK(append_consolidated(out, of, documents));
  }
  out += '}';
  return out;
}

ZARRPOINT_INLINE result<bool> put_root_document(const any_store& store, const root_document& of) {
  const store_key root = store_key::root();
  const bool is_v2 = of.options.zarr_format == 2;
  bool consolidated = of.options.consolidated_metadata;
  std::string text;
  std::string limit;
  if (is_v2) {
    // A checkpoint without its .zattrs must not pass for a hierarchy of others.
    ZARRPOINT_TRY(group, group_document(2));
    group.set(std::string(commit_document::member_name), of.commit.id);
    ZARRPOINT_CHECK(put_document(store, root, ".zgroup", group));
    if (consolidated) {
      ZARRPOINT_TRY(nodes, consolidate_v2(of.commit, of.groups, of.options.attributes));
      text = dump_json(nodes, json_style::compact);
      consolidated = reading_limit(text, of.max_bytes).empty();
    }
    if (consolidated) {
      ZARRPOINT_TRY(key, root.child(".zmetadata"));
      ZARRPOINT_CHECK(store.put(key, as_bytes(text)));
    }
    leaf_texts texts(of);
    ZARRPOINT_TRY(documents, texts.get());
    text.clear();
    append_root_attributes(text, of, documents);
    limit = reading_limit(text, of.max_bytes);
  } else {
    ZARRPOINT_CHECK(check_root(of));
    ZARRPOINT_TRY(whole, root_text_v3(of, consolidated));
    limit = reading_limit(whole, of.max_bytes);
    text = std::move(whole);
    if (consolidated && !limit.empty()) {
      consolidated = false;
      ZARRPOINT_TRY(shorter, root_text_v3(of, false));
      limit = reading_limit(shorter, of.max_bytes);
      text = std::move(shorter);
    }
  }
  if (!limit.empty())
    return error{errc::resource_limit, "the commit document of " +
                                           std::to_string(of.commit.leaves.size()) +
                                           " leaves takes " + limit};
  ZARRPOINT_TRY(key, root.child(is_v2 ? ".zattrs" : "zarr.json"));
  ZARRPOINT_CHECK(store.put(key, as_bytes(text)));
  return consolidated == of.options.consolidated_metadata;
}

ZARRPOINT_INLINE result<bool> put_hierarchy(const any_store& store, const root_document& of,
                                            bool all_core) {
  ZARRPOINT_CHECK(
      put_group_documents(store, of.groups, of.commit.group_attributes, of.options.zarr_format));
  save_options of_root = of.options;
  of_root.consolidated_metadata = of.options.consolidated_metadata && all_core;
  return put_root_document(store, {of.commit, of.groups, of_root, of.max_bytes, of.documents});
}

ZARRPOINT_INLINE bool is_core_array(const array_metadata& metadata) {
  return metadata.type.record() == nullptr && metadata.type.is_core();
}

ZARRPOINT_INLINE result<void> erase_root_document(const any_store& store) {
  for (const std::string_view name : {"zarr.json", ".zattrs", ".zgroup", ".zmetadata"}) {
    ZARRPOINT_TRY(key, store_key::parse(name));
    ZARRPOINT_CHECK(store.erase(key));
  }
  return {};
}

ZARRPOINT_INLINE result<void> erase_v2_attributes(const any_store& store, std::string_view path) {
  ZARRPOINT_TRY(key, store_key::parse(path));
  ZARRPOINT_TRY(attributes, key.child(".zattrs"));
  return store.erase(attributes).transform([](const auto&) {});
}

ZARRPOINT_INLINE result<void> check_attributes(const json& attributes) {
  if (attributes.is_null()) return {};
  ZARRPOINT_CHECK(check_writable_attributes(attributes).at("save_options"));
  if (attributes.find(commit_document::member_name) != nullptr)
    return error{errc::invalid_argument,
                 "save_options: attributes: the member \"zarrpoint\" is reserved"};
  return {};
}

ZARRPOINT_INLINE result<json::object> sorted_attributes_of(const save_options& options) {
  // The commit document has them six levels deep, and 48 is what `check_writable` allows of it.
  constexpr std::size_t levels = 40;
  json::object out = options.attributes_of;
  sort_members(out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::string where = "save_options: attributes_of " + in_quotes(out[i].key);
    if (i != 0 && out[i].key == out[i - 1].key)
      return error{errc::invalid_argument, where + ": the name is given twice"};
    if (!out[i].value.is_null() && out[i].value.if_object() == nullptr)
      return error{errc::invalid_argument, where + ": attributes must be an object"};
    ZARRPOINT_CHECK(check_writable(out[i].value, levels).at(where));
    if (out[i].value == json(json::object{})) out[i].value = json();
  }
  return out;
}

ZARRPOINT_INLINE result<json::object> attributes_of_groups(
    const json::object& sorted, const std::vector<std::string>& groups,
    std::span<const std::string_view> leaves) {
  json::object out;
  for (const json::member& one : sorted) {
    const auto refuse = [&](const char* why) {
      return error{errc::invalid_argument,
                   "save_options: attributes_of " + in_quotes(one.key) + ": " + why};
    };
    if (one.key.empty()) return refuse("those of the root are save_options::attributes");
    if (!std::binary_search(groups.begin(), groups.end(), one.key)) {
      if (!std::binary_search(leaves.begin(), leaves.end(), std::string_view(one.key)))
        return refuse("no leaf or group that is saved has this name");
      continue;
    }
    if (one.value.find(commit_document::member_name) != nullptr)
      return refuse("the member \"zarrpoint\" is reserved");
    if (!one.value.is_null()) out.push_back(one);
  }
  return out;
}

// -------------------------------------------------------------------------------- write_leaves.hpp

ZARRPOINT_INLINE result<const planned_form::document_texts*> planned_form::texts() const {
  if (has_texts_.load(std::memory_order_acquire)) return &*texts_;
  const std::lock_guard lock(mutex_);
  if (!texts_) {
    ZARRPOINT_TRY(document, array_document(metadata_));
    document_texts made{std::move(document), {}, {}};
    made.compact = dump_json(made.document, json_style::compact);
    made.pretty = dump_json(made.document, json_style::pretty);
    texts_ = std::move(made);
    has_texts_.store(true, std::memory_order_release);
  }
  return &*texts_;
}

ZARRPOINT_INLINE result<array> planned_form::array_at(const any_store& store, store_key key,
                                                      const context& how) const {
  if (has_first_.load(std::memory_order_acquire)) return first_->same_at(std::move(key));
  const std::lock_guard lock(mutex_);
  if (first_) return first_->same_at(std::move(key));
  ZARRPOINT_TRY(made, array::from_metadata(store, std::move(key), metadata_, how));
  first_ = made;
  has_first_.store(true, std::memory_order_release);
  return std::move(made);
}

/// Encode and write the elements of a leaf from where they are.
ZARRPOINT_INLINE result<void> write_elements(const array& target, const planned_leaf& planned,
                                             const write_options& options, pin_times& pinned) {
  const box all = box::whole(target.spec().shape);
  const leaf& value = *planned.value;
  if (value.host_accessible()) {
    ZARRPOINT_TRY(elements, value.view());
    return target.write(all, elements, options);
  }
  if (planned.early != nullptr && planned.early->in_host)
    return target.write(all, planned.early->in_host->view, options);
  std::unique_ptr<element_source> own;
  element_source* source = planned.early != nullptr ? planned.early->on_device.get() : nullptr;
  if (source == nullptr) {
    ZARRPOINT_TRY(made, value.source(source_options_of(*options.how)));
    own = std::move(made);
    source = own.get();
  }
  pinned.note(*source);
  ZARRPOINT_CHECK(target.write(all, *source, options));
  pinned.note(*source);
  return {};
}

ZARRPOINT_INLINE result<leaf_record> write_leaf(const any_store& store, const planned_leaf& planned,
                                                const write_options& options, pin_times& pinned) {
  const context& how = *options.how;
  const leaf& value = *planned.value;
  leaf_record record;
  record.name = value.name();
  record.typestr = planned.kind.empty() ? value.typestr() : planned.kind;
  ZARRPOINT_TRY(key,
                planned.key ? result<store_key>(*planned.key) : store_key::parse(value.name()));
  ZARRPOINT_TRY(texts, planned.form->texts());
  if (planned.metadata().zarr_format == 2) {
    record.metadata = texts->document;
    record.attributes = planned.metadata().attributes;
    const phase_scope commits(how.observer, phase::commit, value.name(), 0);
    ZARRPOINT_CHECK(put_array_document(store, key, record, 2));
  } else {
    ZARRPOINT_TRY(file, key.child("zarr.json"));
    const phase_scope commits(how.observer, phase::commit, value.name(), texts->pretty.size());
    ZARRPOINT_CHECK(store.put(file, as_bytes(texts->pretty)));
  }
  ZARRPOINT_TRY(target, planned.form->array_at(store, std::move(key), how));
  write_options with_digests = options;
  with_digests.collected = &record.objects;
  with_digests.elide_fill = options.elide_fill || planned.elide_fill;
  ZARRPOINT_CHECK(write_elements(target, planned, with_digests, pinned));
  return record;
}

ZARRPOINT_INLINE result<written_leaves> write_leaves(const any_store& store,
                                                     std::span<const planned_leaf> planned,
                                                     const write_options& options) {
  const context& how = *options.how;
  written_leaves out;
  out.records.resize(planned.size());
  out.leaves.resize(planned.size());
  pin_times pinned;
  memory_bound_for leaves(how.executor, planned.size(), {.stop = how.stop});
  ZARRPOINT_CHECK(leaves.run(
      [&](std::size_t i) -> result<void> {
        const auto start = std::chrono::steady_clock::now();
        auto written = write_leaf(store, planned[i], options, pinned);
        if (!written)
          return std::move(written).failure().at("save " + in_quotes(planned[i].value->name()));
        written_leaf& leaf = out.leaves[i];
        leaf_record& record = out.records[i];
        record = *std::move(written);
        leaf.stored_bytes = 0;  // this may be another try
        for (const auto& [key, object] : record.objects.objects()) leaf.stored_bytes += object.size;
        leaf.seconds = seconds_since(start);
        return {};
      },
      [&](std::size_t refused) -> std::optional<std::size_t> {
        how.scratch->drop_idle();
        // What was staged on a device may have been read.
        const auto again = planned.subspan(refused);
        const bool can_repeat =
            std::all_of(again.begin(), again.end(), [](const planned_leaf& one) {
              return one.early == nullptr || one.early->on_device == nullptr;
            });
        return can_repeat ? std::optional(refused) : std::nullopt;
      }));
  out.pin_seconds = pinned.seconds();
  return out;
}

}  // namespace detail

// ---------------------------------------------------------------------------------------- save.hpp

namespace detail {

/// Leaves, groups that may hold none, and what was staged of the leaves (by index; may be empty).
struct leaf_set {
  std::span<const leaf> leaves;
  const std::vector<std::string>& groups{};
  std::span<const staged_leaf> early{};
};

struct leaves_plan {
  std::vector<planned_leaf> leaves;
  std::vector<std::string> groups;
  std::vector<std::string> empty_groups;  ///< those of `groups` that hold no leaf, sorted
  json::object group_attributes;          ///< sorted
  std::vector<std::string> warnings;
  std::uint64_t bytes = 0;

  /// The leaves, and the documents of groups that hold none; sorted.
  std::vector<std::string> taken_paths() const;
};

ZARRPOINT_INLINE std::vector<std::string> leaves_plan::taken_paths() const {
  std::vector<std::string> out;
  out.reserve(leaves.size());
  for (const planned_leaf& leaf : leaves) out.emplace_back(leaf.value->name());
  for (const std::string& group : empty_groups) {
    for (const char* document : {"/zarr.json", "/.zgroup", "/.zattrs"})
      out.push_back(group + document);
  }
  sort_names(out);
  return out;
}

ZARRPOINT_INLINE result<void> check_rules(const save_options& options, std::span<const leaf> leaves,
                                          std::vector<std::string>& warnings) {
  if (options.rules.empty()) return {};
  std::vector<std::string_view> names;
  names.reserve(leaves.size());
  for (const leaf& one : leaves) names.emplace_back(one.name());
  return check_rules(options, names, warnings);
}

/// What leaves are planned as, each layout once for all that have it.
class layout_table {
 public:
  /// What a leaf becomes.
  struct entry {
    layout_rules rules;
    tensor_spec spec;
    std::shared_ptr<const planned_form> form;
    std::vector<std::string> warnings;
    std::uint64_t bytes = 0;
  };

  explicit layout_table(int zarr_format) : zarr_format_(zarr_format) {}

  /// Stays until the next call. `attributes`: those of the leaf, or null.
  result<const entry*> get(const layout_rules& rules, const tensor_spec& spec,
                           const json* attributes) {
    if (attributes == nullptr) {
      for (const entry& one : entries_)
        if (one.rules == rules && one.spec == spec) return &one;
    }
    ZARRPOINT_TRY(layout, plan_layout(rules, spec, zarr_format_));
    if (zarr_format_ == 3 && is_one_object(layout.metadata)) layout.metadata.keys.separator = '.';
    if (attributes != nullptr) layout.metadata.attributes = *attributes;
    ZARRPOINT_TRY(bytes, byte_count(layout.metadata.spec()));
    entry& into = attributes != nullptr ? single_ : room();
    into = {rules, spec, make_counted<planned_form>(std::move(layout.metadata)),
            std::move(layout.warnings), bytes};
    return &into;
  }

  /// The same of one that is stored as another array is.
  result<const entry*> copy(const leaf_layout& of, const tensor_spec& spec, const json* own) {
    ZARRPOINT_TRY(as, copied_layout(of, spec, zarr_format_));
    if (own != nullptr) as.attributes = *own;
    if (single_.form != nullptr && single_.form->metadata() == as) return &single_;
    ZARRPOINT_TRY(bytes, byte_count(spec));
    single_ = {{}, spec, make_counted<planned_form>(std::move(as)), {}, bytes};
    return &single_;
  }

 private:
  /// Layers repeat what they have, which is not much; more would only be looked through.
  static constexpr std::size_t kept = 32;

  entry& room() {
    if (entries_.size() < kept) return entries_.emplace_back();
    return entries_[next_++ % kept];
  }

  /// Its one object then lies beside its metadata: a directory costs more than a file.
  static bool is_one_object(const array_metadata& of) {
    for (std::size_t i = 0; i < of.shape.rank(); ++i)
      if (of.shape[i] > of.chunk_shape[i]) return false;
    return true;
  }

  const int zarr_format_;
  std::vector<entry> entries_;
  std::size_t next_ = 0;
  entry single_;
};

/// Describe and plan: what every leaf becomes, without touching an element.
ZARRPOINT_INLINE result<leaves_plan> plan_leaves(const leaf_set& set, const save_options& options) {
  leaves_plan plan;
  std::vector<std::string_view> names;
  for (const leaf& value : set.leaves) names.emplace_back(value.name());
  // The root is there anyway.
  std::vector<std::string> may_be_empty(set.groups.begin(), set.groups.end());
  std::erase(may_be_empty, "");
  sort_names(may_be_empty);
  may_be_empty.erase(std::unique(may_be_empty.begin(), may_be_empty.end()), may_be_empty.end());
  ZARRPOINT_TRY(groups, groups_of(names, may_be_empty));
  plan.groups = std::move(groups);
  if (!may_be_empty.empty()) {
    ZARRPOINT_TRY(full, groups_of(names));
    std::set_difference(may_be_empty.begin(), may_be_empty.end(), full.begin(), full.end(),
                        std::back_inserter(plan.empty_groups));
  }
  ZARRPOINT_CHECK(check_attributes(options.attributes));
  ZARRPOINT_TRY(attributes, sorted_attributes_of(options));
  if (!attributes.empty()) {
    sort_names(names);
    ZARRPOINT_TRY(of_groups, attributes_of_groups(attributes, plan.groups, names));
    plan.group_attributes = std::move(of_groups);
  }
  plan.leaves.reserve(set.leaves.size());
  layout_table layouts(options.zarr_format);
  for (std::size_t i = 0; i < set.leaves.size(); ++i) {
    const leaf& value = set.leaves[i];
    const staged_leaf* const early =
        i < set.early.size() && !value.host_accessible() ? &set.early[i] : nullptr;
    const leaf_layout* const given = layout_of(options.layouts, value.name());
    const auto planned = [&]() -> result<const layout_table::entry*> {
      // The tensor of one that was staged early may be another by now, or be gone.
      ZARRPOINT_TRY(stored, early != nullptr ? result<tensor_spec>(early->spec()) : value.spec());
      if (const dtype* cast = last_set(options.rules, value.name(), &leaf_rule::cast)) {
        ZARRPOINT_CHECK(check_cast(stored.type, *cast));
        stored.type = *cast;
      }
      const json* const own = find_sorted(attributes, value.name());
      if (given != nullptr) return layouts.copy(*given, stored, own);
      return layouts.get(layout_rules_of(value.name(), options), stored, own);
    };
    auto layout = planned();
    if (!layout) return std::move(layout).failure().at("save " + in_quotes(value.name()));
    const layout_table::entry& of = **layout;
    for (const std::string& warning : of.warnings)
      plan.warnings.push_back(in_quotes(value.name()) + ": " + warning);
    plan.bytes += of.bytes;
    plan.leaves.push_back({&value, early, of.form, of.bytes});
    if (given == nullptr) continue;
    plan.leaves.back().elide_fill = given->elide_fill;
    plan.leaves.back().kind = given->kind;
  }
  ZARRPOINT_CHECK(check_rules(options, set.leaves, plan.warnings));
  hidden_leaves hidden;
  for (const planned_leaf& leaf : plan.leaves)
    hidden.add(leaf.value->name(), leaf.metadata().type, options.zarr_format);
  for (std::string& warning : hidden.warnings()) plan.warnings.push_back(std::move(warning));
  return plan;
}

/// Everything but the commit: arrays, groups, and the root's document last.
ZARRPOINT_INLINE result<save_report> write_checkpoint(const any_store& store,
                                                      const leaves_plan& plan,
                                                      const save_options& options,
                                                      const context& given) {
  const context how = with_scratch(given);
  commit_document document{.id = random_id(),
                           .leaves{},
                           .groups = plan.empty_groups,
                           .group_attributes = plan.group_attributes};
  save_report report;
  report.id = document.id;
  report.warnings = plan.warnings;
  progress_meter meter(&how.progress, "save", plan.bytes, how.observer);
  const write_options options_of_write{.elide_fill = options.elide_fill,
                                       .cast = true,
                                       .how = &how,
                                       .meter = &meter,
                                       .device_encode = options.device_encode};

  ZARRPOINT_TRY(written, write_leaves(store, plan.leaves, options_of_write));
  document.leaves = std::move(written.records);
  report.leaves.reserve(plan.leaves.size());
  std::vector<std::string_view> documents;
  documents.reserve(plan.leaves.size());
  for (std::size_t i = 0; i < plan.leaves.size(); ++i) {
    const planned_leaf& planned = plan.leaves[i];
    report.leaves.push_back({.name = planned.value->name(),
                             .stored = planned.metadata().spec(),
                             .bytes = planned.bytes,
                             .stored_bytes = written.leaves[i].stored_bytes,
                             .seconds = written.leaves[i].seconds});
    if (options.zarr_format != 3) continue;
    ZARRPOINT_TRY(texts, planned.form->texts());
    documents.emplace_back(texts->compact);
  }
  for (const leaf_report& leaf : report.leaves) {
    report.bytes += leaf.bytes;
    report.stored_bytes += leaf.stored_bytes;
  }
  report.pin_seconds = written.pin_seconds;
  const bool all_core =
      std::all_of(plan.leaves.begin(), plan.leaves.end(),
                  [](const planned_leaf& leaf) { return is_core_array(leaf.metadata()); });
  const root_document root{document, plan.groups, options, how.limit.metadata_bytes, documents};
  const phase_scope commits(how.observer, {phase::commit, "zarr.json", 0, plan.groups.size() + 1});
  ZARRPOINT_TRY(as_asked, put_hierarchy(store, root, all_core));
  if (!as_asked)
    report.warnings.emplace_back(
        "metadata were not consolidated: they exceed limits::metadata_bytes");
  return report;
}

/// All of a save but the staging of what must be staged early.
ZARRPOINT_INLINE result<save_report> save_set(const location& where, const leaf_set& leaves,
                                              const save_options& options, const context& how) {
  const auto start = std::chrono::steady_clock::now();
  const std::string name = where.name();
  const auto run = [&]() -> result<save_report> {
    const auto make_plan = [&] {
      const phase_scope plans(how.observer, {phase::plan, name, 0, leaves.leaves.size()});
      return plan_leaves(leaves, options);
    };
    ZARRPOINT_TRY(plan, make_plan());
    ZARRPOINT_TRY(target, detail::location_access::to_write(where, options.sync, how.stores));
    const any_store root = beneath(target);
    const auto own = holds_commit(root, how.limit).transform([](bool is) { return own_look{is}; });
    const replace_rule rule{name, options.overwrite, "a zarrpoint checkpoint",
                            directory_kind::zarr};
    ZARRPOINT_CHECK(check_replace(target, rule, own));
    const auto write = [&](const any_store& to) -> result<save_report> {
      const auto sharing = sharing_store::over(to, options.previous, how, plan.warnings);
      context writes = how;
      if (target.executor != nullptr) writes.executor = *target.executor;
      const any_store into = sharing ? any_store(*sharing) : to;
      ZARRPOINT_TRY(out, write_checkpoint(into, plan, options, writes));
      if (sharing) out.shared_bytes = sharing->shared_bytes();
      return std::move(out);
    };
    if (target.store.can_publish()) {
      ZARRPOINT_TRY(staged, stage(target, {.overwrite = options.overwrite,
                                           .sync = options.sync,
                                           .objects = 2 * plan.leaves.size(),
                                           .observer = how.observer}));
      ZARRPOINT_TRY(report, write(staged->store()));
      std::optional<owned_paths> owned;
      if (!staged->is_conditional()) {
        ZARRPOINT_TRY(is_there, check_still(target, rule));
        // Others may have come to an empty place meanwhile.
        if (options.overwrite) {
          ZARRPOINT_TRY(old, paths_to_replace(root, how, is_there));
          owned = {std::move(old), plan.taken_paths()};
        }
      }
      ZARRPOINT_CHECK(publish(*staged, owned, report));
      return std::move(report);
    }
    // Without atomic publication: an old commit document must not vouch for new data. It goes only
    // when every leaf can be written, as far as that shows beforehand.
    const planned_form* last = nullptr;
    for (const planned_leaf& leaf : plan.leaves) {
      if (std::exchange(last, leaf.form.get()) == leaf.form.get()) continue;
      ZARRPOINT_CHECK(array::from_metadata(root, target.key, leaf.metadata(), how)
                          .transform([](const array&) {})
                          .at("save " + in_quotes(leaf.value->name())));
    }
    ZARRPOINT_CHECK(erase_root_document(root));
    if (options.zarr_format == 2) {
      for (const planned_leaf& leaf : plan.leaves)
        ZARRPOINT_CHECK(erase_v2_attributes(root, leaf.value->name()));
      for (const std::string& group : plan.groups)
        ZARRPOINT_CHECK(erase_v2_attributes(root, group));
    }
    return write(root);
  };
  auto report = guarded(run);
  if (!report) return std::move(report).failure().at("save " + name);
  report->seconds = report->blocked_seconds = seconds_since(start);
  return report;
}

/// By the format that the options name, or as a Zarr hierarchy of ours.
ZARRPOINT_INLINE result<save_report> save_as_asked(const location& where, const leaf_set& leaves,
                                                   const save_options& options,
                                                   const context& how) {
  if (!options.format) return save_set(where, leaves, options, how);
  return options.format.save({where, leaves.leaves, leaves.groups, options, how});
}

/// Host copies in place of the leaves that were staged.
ZARRPOINT_INLINE void use_host_copies(std::vector<leaf>& leaves, staged_leaves& early) {
  for (std::size_t i = 0; i < early.leaves.size(); ++i) {
    if (early.leaves[i].in_host)
      leaves[i] =
          leaf(leaves[i].name(), static_cast<const host_view&>(early.leaves[i].in_host->view));
  }
}

ZARRPOINT_INLINE bool has_host_copies(const staged_leaves& early) {
  return std::any_of(early.leaves.begin(), early.leaves.end(),
                     [](const staged_leaf& one) { return one.in_host.has_value(); });
}

/// The part of `save_async` that runs in the background.
struct async_save {
  context how;  // the first: its scratch memory outlives what was staged in it
  location where;
  single_leaves all;
  save_options options;
  staged_leaves early;
  std::chrono::steady_clock::time_point start;
  double blocked_seconds = 0;

  result<save_report> operator()() {
    ZARRPOINT_TRY(report,
                  save_as_asked(where, {all.leaves, all.empty_groups, early.leaves}, options, how));
    report.seconds = seconds_since(start);
    report.blocked_seconds = blocked_seconds;
    report.pin_seconds += early.pin_seconds;
    report.warnings.insert(report.warnings.end(), early.warnings.begin(), early.warnings.end());
    return std::move(report);
  }
};

}  // namespace detail

ZARRPOINT_INLINE result<save_report> any_writable_format::save(const save_request& what) const {
  if (calls_->save != nullptr) return calls_->save(format_.get(), what);
  return error{errc::unsupported,
               "save " + what.where.name() +
                   ": save_options::format is one of a state; call save(where, state, "
                   "process_group{}, {.storage = {.format = ...}}) of distributed.hpp"};
}

ZARRPOINT_INLINE result<std::shared_ptr<detail::save_format>> any_writable_format::save_by_many(
    const group_save_request& what) const {
  if (calls_->save_by_many != nullptr) return calls_->save_by_many(format_.get(), what);
  return error{errc::unsupported,
               "save_options::format is one that a single process writes, and this is a save by "
               "many; choose Orbax, PyTorch (DCP), Megatron-Core or safetensors::group_format"};
}

ZARRPOINT_INLINE result<std::vector<std::string>> check_options(const save_request& what,
                                                                std::string_view format,
                                                                const stored_options& has) {
  const save_options& asked = what.options;
  const auto lost = [&](const std::string& of, const char* cure) {
    return error{errc::unsupported, std::string(format) + " has no place for " + of + "; " + cure};
  };
  const auto is_some = [](const json& one) {
    return !one.is_null() && (one.if_object() == nullptr || !one.if_object()->empty());
  };
  if (!has.attributes && is_some(asked.attributes))
    return lost("save_options::attributes", "leave them out");
  for (const json::member& each : asked.attributes_of)
    if (!has.attributes && is_some(each.value))
      return lost("the attributes of " + detail::in_quotes(each.key), "leave them out");
  if (!has.empty_groups && !what.empty_groups.empty())
    return lost("the empty group " + detail::in_quotes(what.empty_groups.front()), "leave it out");
  std::vector<std::string> warnings;
  if (!what.leaves.empty()) ZARRPOINT_CHECK(detail::check_rules(asked, what.leaves, warnings));
  if (asked.previous)
    warnings.push_back(std::string(format) +
                       " shares nothing: save_options::previous has no effect");
  bool elides = asked.elide_fill;
  for (const leaf_layout& each : asked.layouts) elides |= each.elide_fill;
  if (elides)
    warnings.push_back(std::string(format) + " stores every chunk: elide_fill has no effect");
  bool lays_out = asked.zarr_format != save_options().zarr_format || !asked.layouts.empty();
  for (const leaf_rule& rule : asked.rules) {
    if (!has.casts && rule.cast)
      return lost("the cast of the rule " + detail::in_quotes(rule.glob),
                  "convert the tensors before the save");
    lays_out |=
        rule.chunk_shape || rule.shard_shape || rule.chunk_byte_size || rule.codecs.has_value();
  }
  if (!has.layouts && lays_out)
    warnings.push_back(std::string(format) +
                       " has no chunks, codecs or versions of Zarr: what options and rules say of "
                       "them has no effect");
  return warnings;
}

ZARRPOINT_INLINE result<save_report> save(const location& where, std::span<const leaf> leaves,
                                          const save_options& options, const context& how) {
  return guarded([&]() -> result<save_report> {
    const auto is_group = [](const leaf& value) { return value.is_group(); };
    if (std::none_of(leaves.begin(), leaves.end(), is_group))
      return detail::save_as_asked(where, {leaves}, options, how);
    const detail::single_leaves all = leaf::single({leaves.begin(), leaves.end()});
    return detail::save_as_asked(where, {all.leaves, all.empty_groups}, options, how);
  });
}

ZARRPOINT_INLINE result<save_report> save(const location& where, std::initializer_list<leaf> leaves,
                                          const save_options& options, const context& how) {
  return save(where, std::span<const leaf>(leaves.begin(), leaves.size()), options, how);
}

ZARRPOINT_INLINE pending<save_report> save_async(location where, std::vector<leaf> leaves,
                                                 save_options options, const context& how) {
  const auto start = std::chrono::steady_clock::now();
  auto begun = guarded([&]() -> result<pending<save_report>> {
    detail::single_leaves all = leaf::single(std::move(leaves));
    // What is staged now must outlive this call, so that the scratch pool goes with it.
    context shared = with_scratch(how);
    options.plans = nullptr;  // two in the background would share it
    // Other formats take leaves of the host.
    save_options staging = options;
    if (options.format) staging.device_copy = false;
    ZARRPOINT_TRY(early, detail::stage_leaves(all.leaves, staging, shared));
    if (options.format) {
      detail::use_host_copies(all.leaves, early);
      if (options.device_copy && detail::has_host_copies(early))
        early.warnings.emplace_back(
            "save_options::device_copy has no effect: save_async in another format copies to the "
            "host");
    }
    const double blocked = detail::seconds_since(start);
    return run_async(shared.executor,
                     detail::async_save{shared, std::move(where), std::move(all),
                                        std::move(options), std::move(early), start, blocked});
  });
  if (!begun) return pending<save_report>(std::move(begun).failure());
  return *std::move(begun);
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/document/bodies.hpp>
#include <zarrpoint/checkpoint/save/plan_bodies.hpp>
#include <zarrpoint/checkpoint/save/sharing_bodies.hpp>
#endif
