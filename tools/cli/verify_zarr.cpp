// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Every object of every array, chunk by chunk where something is wrong, so that each fault has a
// name.

#include <zarrpoint/array/chunk_boxes.hpp>
#include <zarrpoint/array/hierarchy/stored_node.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "row_blocks.hpp"
#include "source_zarr.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace cli {

namespace {

/// What an error says behind the names of the array and the chunk, which a finding has apart.
std::string core_message(const zp::error& failure, const std::string& key) {
  std::string text = failure.message;
  if (const std::size_t at = text.find("chunk " + key + ": "); at != text.npos)
    text.erase(0, at + key.size() + 8);
  if (text.starts_with("inner chunk [")) {
    if (const std::size_t end = text.find("]: "); end != text.npos) text.erase(0, end + 3);
  }
  return std::string(to_string(failure.code)) + ": " + text;
}

class array_verifier {
 public:
  array_verifier(const zarr_source& from, std::size_t index, verification& to)
      : from_(from),
        entry_(from.entries()[index]),
        array_(*from.array_at(index)),
        chunks_(array_),
        leaf_(from.contents().leaves[index]),
        to_(to) {}

  void run() {
    auto objects = list_objects(from_.store(), array_.key());
    if (!objects) {
      to_.add({from_.store().describe(array_.key()),
               entry_.name,
               {},
               {},
               to_string(objects.failure()),
               severity_of(objects.failure().code)});
      return;
    }
    if (from_.contents().is_ours()) find_missing(*objects);
    for (const stored_key& object : *objects) {
      if (to_.stopped()) return;
      check_object(object);
    }
  }

 private:
  std::string file_of(const std::string& key) const {
    const auto full = array_.key().child(key);
    return full ? from_.store().describe(*full) : key;
  }

  void find_missing(const std::vector<stored_key>& objects) {
    for (const auto& [key, digest] : leaf_.objects.objects()) {
      if (digest.absent()) continue;
      const auto at = std::lower_bound(
          objects.begin(), objects.end(), key,
          [](const stored_key& object, const std::string& wanted) { return object.key < wanted; });
      if (at == objects.end() || at->key != key)
        to_.add({file_of(key),
                 entry_.name,
                 key,
                 {},
                 "corrupt: it is missing; " + std::to_string(digest.size) + " bytes were saved"});
    }
  }

  void check_object(const stored_key& object) {
    const zp::array_metadata& metadata = array_.metadata();
    const auto at = metadata.keys.parse(object.key, metadata.shape.rank());
    const auto part = at ? chunks_.at(*at) : std::nullopt;
    if (!part) {
      to_.add({file_of(object.key),
               entry_.name,
               object.key,
               {},
               "it is not a chunk of the array",
               severity::note});
      return;
    }
    whole_object_failed_ = false;
    zp::tensor block;
    const auto status =
        for_each_row_block(entry_, *part, from_.blocks(),
                           [&](const zp::selection& rows, std::uint64_t) -> zp::result<void> {
                             if (to_.stopped() || whole_object_failed_)
                               return zp::error{zp::errc::cancelled, "no need to go on"};
                             const auto good = read(rows, block);
                             if (!good) find_chunks(rows, object.key, good.failure());
                             const zp::tensor_spec spec{entry_.spec->type, rows.shape};
                             to_.read(entry_.name, byte_count(spec).value_or(0));
                             return {};
                           });
    static_cast<void>(status);  // what is wrong is told already
  }

  zp::result<void> read(const zp::selection& part, zp::tensor& block) const {
    const zp::tensor_spec spec{entry_.spec->type, part.shape};
    if (block.spec() != spec) {
      block = {};
      ZARRPOINT_TRY(made, zp::tensor::make(spec));
      block = std::move(made);
    }
    return array_.read(part, block.mutable_view());
  }

  void report(const std::string& key, std::string chunk, const zp::error& failure) {
    to_.add({file_of(key), entry_.name, key, std::move(chunk), core_message(failure, key),
             severity_of(failure.code)});
  }

  /// Reads the inner chunks of a part one by one, to name those that fail.
  void find_chunks(const zp::selection& rows, const std::string& key, const zp::error& first) {
    if (!entry_.shard_shape || first.message.find(": inner chunk [") == std::string::npos) {
      whole_object_failed_ = true;
      report(key, {}, first);
      return;
    }
    const zp::dims& inner = entry_.chunk_shape;
    zp::dims begin = rows.offset;
    for (std::size_t i = 0; i < rows.rank(); ++i) begin[i] -= begin[i] % inner[i];
    zp::dims at = begin;
    zp::tensor block;
    while (!to_.stopped()) {
      zp::box part{at, inner};
      zp::dims in_object = at;
      for (std::size_t i = 0; i < rows.rank(); ++i) {
        const zp::index_t end = std::min(at[i] + inner[i], rows.offset[i] + rows.shape[i]);
        part.offset[i] = std::max(at[i], rows.offset[i]);
        part.shape[i] = end - part.offset[i];
        in_object[i] = at[i] % (*entry_.shard_shape)[i] / inner[i];
      }
      const std::string name = to_string(array_.layout().index_coordinates(in_object));
      if (const auto good = read(part, block); !good && told_.insert(key + name).second)
        report(key, name, good.failure());
      std::size_t i = rows.rank();
      while (i > 0 && (at[i - 1] += inner[i - 1]) >= rows.offset[i - 1] + rows.shape[i - 1]) {
        --i;
        at[i] = begin[i];
      }
      if (i == 0) return;
    }
  }

  const zarr_source& from_;
  const entry& entry_;
  const zp::array& array_;
  const zp::chunk_boxes chunks_;
  const zp::detail::stored_leaf& leaf_;
  verification& to_;
  bool whole_object_failed_ = false;
  std::set<std::string> told_;
};

/// The documents that others read beside the commit document must say the same as it does.
class document_verifier {
 public:
  document_verifier(const zarr_source& from, verification& to) : from_(from), to_(to) {}

  void run() {
    const auto& leaves = from_.contents().leaves;
    is_v2_ = leaves.empty() ? !document("", "zarr.json") : leaves.front().zarr_format == 2;
    for (const zp::detail::stored_leaf& leaf : leaves) compare(leaf);
    if (is_v2_) check_group({});
    for (const group_entry& group : from_.groups()) check_group(group);
    check_consolidated();
  }

 private:
  void add(const std::string& node, std::string_view name, std::string message,
           severity kind = severity::fault) {
    const auto key =
        zp::store_key::parse(node.empty() ? std::string(name) : node + '/' + std::string(name));
    to_.add({key ? from_.store().describe(*key) : node, node, {}, {}, std::move(message), kind});
  }

  std::optional<zp::node> document(const std::string& node, std::string_view name) {
    const auto read = [&]() -> zp::result<std::optional<zp::node>> {
      ZARRPOINT_TRY(key, zp::store_key::parse(node));
      return zp::detail::read_document(from_.store(), key, name, zp::limits{});
    };
    auto found = read();
    if (found) return *std::move(found);
    add(node, name, to_string(found.failure()), severity_of(found.failure().code));
    return zp::node();
  }

  /// Attributes as they are compared: an object without members is none.
  static zp::node known(const zp::node* attributes) {
    if (attributes == nullptr || *attributes == zp::node(zp::node::object{})) return {};
    return *attributes;
  }

  /// By their text, in which NaN is like NaN.
  static bool same(const zp::node& a, const zp::node& b) {
    return a == b || dump_json(a) == dump_json(b);
  }

  /// The `.zattrs` of a node of v2.
  void compare_attributes(const std::string& node, const zp::node& wanted) {
    const auto there = document(node, ".zattrs");
    if (there && there->is_null()) return;  // said already
    if (!same(known(there ? &*there : nullptr), known(&wanted)))
      add(node, ".zattrs", "corrupt: the attributes differ from those of the commit document");
  }

  void check_group(const group_entry& group) {
    const std::string_view name = is_v2_ ? ".zgroup" : "zarr.json";
    const auto there = document(group.name, name);
    if (!there) return add(group.name, name, "corrupt: the document of the group is missing");
    if (there->is_null()) return;  // said already
    const auto parsed = is_v2_ ? zp::parse_group_v2(*there, nullptr) : zp::parse_group_v3(*there);
    if (!parsed) return add(group.name, name, to_string(parsed.failure()));
    if (group.name.empty()) return;  // the root's hold the commit document itself
    if (is_v2_) return compare_attributes(group.name, group.attributes);
    if (!same(parsed->attributes, known(&group.attributes)))
      add(group.name, name, "corrupt: the attributes differ from those of the commit document");
  }

  void compare(const zp::detail::stored_leaf& leaf) {
    const std::string_view name = is_v2_ ? ".zarray" : "zarr.json";
    const auto there = document(leaf.name, name);
    if (!there) {
      add(leaf.name, name, "corrupt: the document of the array is missing");
    } else if (!there->is_null() && !same(*there, leaf.document->content())) {
      add(leaf.name, name, "corrupt: it differs from the copy in the commit document");
    }
    if (is_v2_) compare_attributes(leaf.name, leaf.attributes);
  }

  void check_consolidated() {
    const auto root = document("", is_v2_ ? ".zmetadata" : "zarr.json");
    if (!root) return;
    const zp::node* all = is_v2_ ? &*root : root->find("consolidated_metadata");
    const zp::node* documents = all == nullptr ? nullptr : all->find("metadata");
    if (documents == nullptr || documents->if_object() == nullptr) return;
    std::map<std::string_view, const zp::node*> by_path;
    for (const auto& [path, said] : *documents->if_object()) by_path.emplace(path, &said);
    const auto said = [&](const std::string& path) {
      const auto at = by_path.find(path);
      return at == by_path.end() ? nullptr : at->second;
    };
    const auto differs = [&](const std::string& path) {
      add("", is_v2_ ? ".zmetadata" : "zarr.json",
          "corrupt: the consolidated metadata of \"" + path +
              "\" differ from what the commit document says");
    };
    for (const zp::detail::stored_leaf& leaf : from_.contents().leaves) {
      const zp::node* document = said(is_v2_ ? leaf.name + "/.zarray" : leaf.name);
      if (document == nullptr || !same(*document, leaf.document->content()) ||
          (is_v2_ && !same(known(said(leaf.name + "/.zattrs")), known(&leaf.attributes))))
        differs(leaf.name);
    }
    for (const group_entry& group : from_.groups()) {
      const zp::node* document = said(is_v2_ ? group.name + "/.zgroup" : group.name);
      const zp::node* attributes = document == nullptr ? nullptr
                                   : is_v2_            ? said(group.name + "/.zattrs")
                                                       : document->find("attributes");
      if (document == nullptr || !same(known(attributes), known(&group.attributes)))
        differs(group.name);
    }
  }

  const zarr_source& from_;
  verification& to_;
  bool is_v2_ = false;
};

}  // namespace

void verify_zarr(const zarr_source& from, verification& to) {
  if (from.contents().is_ours()) document_verifier(from, to).run();
  for (std::size_t i = 0; i < from.entries().size() && !to.stopped(); ++i) {
    const entry& array = from.entries()[i];
    if (array.fault) {
      const auto key = zp::store_key::parse(array.name);
      to.add({key ? from.store().describe(*key) : array.name,
              array.name,
              {},
              {},
              to_string(*array.fault),
              severity_of(array.fault->code)});
      continue;
    }
    array_verifier(from, i, to).run();
  }
}

}  // namespace cli
