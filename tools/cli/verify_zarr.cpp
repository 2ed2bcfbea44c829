// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Every object of every array, chunk by chunk where something is wrong, so that each fault has a
// name.

#include <zarrpoint/array/chunk_boxes.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/checkpoint/verify/stored_documents.hpp>
#include <zarrpoint/checkpoint/verify/verify_leaf.hpp>

#include "row_blocks.hpp"
#include "source_zarr.hpp"
#include "text.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

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
        index_(index),
        entry_(from.entries()[index]),
        array_(*from.array_at(index)),
        chunks_(array_),
        leaf_(from.contents().leaves[index]),
        to_(to) {}

  void run() {
    auto objects = from_.stored_objects(index_);
    if (!objects) {
      to_.add({from_.store().describe(array_.key()),
               entry_.name,
               {},
               {},
               to_string(objects.failure()),
               severity_of(objects.failure().code)});
      return;
    }
    find_absent(*objects);
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

  std::optional<zp::box> part_of(const std::string& key) const {
    const auto at = array_.metadata().keys.parse(key, array_.metadata().shape.rank());
    return at ? chunks_.at(*at) : std::nullopt;
  }

  /// What is not stored: of ours a fault, else the fill value, unless it lies under other keys.
  void find_absent(const std::vector<stored_key>& objects) {
    std::uint64_t chunks = 0;
    std::uint64_t elements = 0;
    for (const stored_key& object : objects) {
      if (const auto part = part_of(object.key)) {
        ++chunks;
        elements += static_cast<std::uint64_t>(element_count(part->shape).value_or(0));
      } else {
        others_.add(array_.metadata(), chunks_, object.key);
      }
    }
    const std::uint64_t all = entry_.element_total();
    to_.absent(all - std::min(elements, all));
    if (from_.contents().is_ours()) return find_missing(objects);
    if (all == 0) return;
    if (elements < all && ask_for_missing(objects)) return;
    std::string text;
    if (others_.count != 0) {
      text = to_string(others_.what(array_.metadata(), chunks != 0));
    } else if (chunks == 0) {
      text = "no chunk of it is stored, so nothing could be checked";
      if (!objects.empty())
        text += "; what lies beneath it, such as \"" + escaped(objects.front().key) +
                "\", is none of its chunks";
    } else {
      return;
    }
    to_.add({from_.store().describe(array_.key()),
             entry_.name,
             {},
             {},
             std::move(text),
             severity::unverified});
  }

  /// Some stores know that all chunks were stored, such as Orbax's, and refuse one that is not
  /// there. False where that of the first such chunk is not so.
  bool ask_for_missing(const std::vector<stored_key>& objects) {
    constexpr std::size_t most = 100;
    const zp::array_metadata& metadata = array_.metadata();
    if (!metadata.edges.empty()) return false;
    std::size_t told = 0;
    for (const zp::box& chunk : chunks_) {
      zp::dims coordinates = chunk.offset;
      for (std::size_t i = 0; i < coordinates.rank(); ++i)
        coordinates[i] /= metadata.chunk_shape[i];
      const std::string key = metadata.keys.key(coordinates);
      const auto at = std::lower_bound(
          objects.begin(), objects.end(), key,
          [](const stored_key& object, const std::string& wanted) { return object.key < wanted; });
      if (at != objects.end() && at->key == key) continue;
      const auto full = array_.key().child(key);
      const auto found = full ? from_.store().open(*full) : std::unique_ptr<zp::blob>();
      if (found) return told != 0;
      to_.add({file_of(key),
               entry_.name,
               key,
               {},
               to_string(found.failure()),
               severity_of(found.failure().code)});
      if (++told == most || to_.stopped()) break;
    }
    return told != 0;
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
    const auto part = part_of(object.key);
    if (!part) {
      zp::detail::other_keys told;  // all of them at once, as not verified
      if (!from_.contents().is_ours() && told.add(array_.metadata(), chunks_, object.key)) return;
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
    const auto status = for_each_row_block(
        entry_, *part, from_.blocks(),
        [&](const zp::selection& rows, std::uint64_t) -> zp::result<void> {
          if (to_.stopped() || whole_object_failed_)
            return zp::error{zp::errc::cancelled, "no need to go on"};
          const auto good = read(rows, block);
          const zp::tensor_spec spec{entry_.spec->type, rows.shape};
          if (!good) {
            find_chunks(rows, object.key, good.failure());
            to_.read(entry_.name, 0, byte_count(spec).value_or(0));
            return {};
          }
          const auto count = element_count(rows.shape).value_or(0);
          to_.read(entry_.name, static_cast<std::uint64_t>(count), data_bytes(block));
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
    const zp::dims& inner = *entry_.chunk_shape;
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
  const std::size_t index_;
  const entry& entry_;
  const zp::array& array_;
  const zp::chunk_boxes chunks_;
  const zp::detail::stored_leaf& leaf_;
  verification& to_;
  bool whole_object_failed_ = false;
  zp::detail::other_keys others_;
  std::set<std::string> told_;
};

/// The documents that others read must say the same as the commit document does, and consolidated
/// metadata the same as the nodes' own documents.
void verify_documents(const zarr_source& from, const zp::context& how, verification& to) {
  zp::result<std::vector<zp::detail::document_finding>> found = from.differences();
  if (from.contents().is_ours())
    found = zp::detail::check_documents(from.store(), from.contents(), how);
  if (!found) {
    const zp::errc code = found.failure().code;
    if (code != zp::errc::cancelled)
      to.add({from.store().describe(zp::store_key::root()),
              {},
              {},
              {},
              to_string(found.failure()),
              severity_of(code)});
    return;
  }
  for (zp::detail::document_finding& one : *found) {
    const severity kind = one.is_fault ? severity::fault : severity::unverified;
    std::string text = one.is_fault ? to_string(one.what) : std::move(one.what.message);
    to.add({std::move(one.file), std::move(one.node), {}, {}, std::move(text), kind});
  }
}

/// Remembers which files were told of.
class noting final : public verification {
 public:
  explicit noting(verification& to) : to_(to) {}
  void add(finding what) override {
    files_.insert(what.file);
    to_.add(std::move(what));
  }
  void read(std::string_view node, std::uint64_t elements, std::uint64_t bytes) override {
    to_.read(node, elements, bytes);
  }
  void absent(std::uint64_t elements) override { to_.absent(elements); }
  bool stopped() const override { return to_.stopped(); }
  bool told(const std::string& file) const { return files_.contains(file); }

 private:
  verification& to_;
  std::set<std::string> files_;
};

/// Looks at the local header, of a small member when it is read.
zp::result<void> look_at(const zp::any_store& store, const zp::store_key& key) {
  ZARRPOINT_TRY(object, store.open(key));
  std::byte first{};
  if (object == nullptr || object->size() == 0) return {};
  return object->read(0, zp::mutable_bytes(&first, 1));
}

/// Opens every member of a zip file, those of no array too: its local header must be right.
void verify_members(const zp::any_store& store, noting& to) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(store.describe(zp::store_key::root()), unknown)) return;
  std::vector<zp::store_key> open{zp::store_key::root()};
  while (!open.empty() && !to.stopped()) {
    const zp::store_key at = std::move(open.back());
    open.pop_back();
    const auto children = store.list(at);
    if (!children) return to.add({store.describe(at), {}, {}, {}, to_string(children.failure())});
    for (const zp::list_entry& child : *children) {
      const auto key = at.child(child.name);
      if (!key) continue;
      if (child.is_prefix) {
        open.push_back(*key);
      } else if (const auto seen = look_at(store, *key); !seen && !to.told(store.describe(*key))) {
        const zp::errc code = seen.failure().code;
        to.add({store.describe(*key), {}, {}, {}, to_string(seen.failure()), severity_of(code)});
      }
    }
  }
}

/// Names what lies in the place and is part of no node.
class stray_finder {
 public:
  stray_finder(const zarr_source& from, noting& to) : store_(from.store()), to_(to) {
    for (const zp::detail::stored_leaf& leaf : from.contents().leaves) {
      arrays_.insert(leaf.name);
      add_parents(leaf.name);
    }
    for (const std::string& group : from.contents().groups) {
      groups_.insert(group);
      add_parents(group);
    }
  }

  void run() {
    if (arrays_.contains("")) return;  // its objects are looked at with it
    std::vector<std::string> open{""};
    while (!open.empty() && !to_.stopped()) {
      const std::string group = std::move(open.back());
      open.pop_back();
      find_no_keys(group);
      for_each_child(group, [&](std::string path, const zp::list_entry& child) {
        if (!child.is_prefix) {
          if (!is_metadata_document(child.name)) add(path, "it is part of no array");
        } else if (groups_.contains(path)) {
          open.push_back(std::move(path));
        } else if (!arrays_.contains(path)) {
          look_into(path);
        }
      });
    }
  }

 private:
  void add_parents(const std::string& name) {
    for (std::size_t at = name.find('/'); at != name.npos; at = name.find('/', at + 1))
      groups_.insert(name.substr(0, at));
  }

  void add(const std::string& path, std::string text) {
    const auto key = zp::store_key::parse(path);
    to_.add({key ? store_.describe(*key) : path, {}, {}, {}, std::move(text), severity::note});
  }

  /// A directory may have names that a store cannot list: there may be an array behind one.
  void find_no_keys(const std::string& group) {
    const auto key = zp::store_key::parse(group);
    std::error_code failed;
    if (!key || !std::filesystem::is_directory(store_.describe(*key), failed)) return;
    std::filesystem::directory_iterator at(store_.describe(*key), failed);
    for (; !failed && at != std::filesystem::directory_iterator(); at.increment(failed)) {
      const auto named = zp::store_key::parse(at->path().filename().string());
      if (named) continue;
      std::error_code unknown;
      const bool is_node = std::filesystem::exists(at->path() / "zarr.json", unknown) ||
                           std::filesystem::exists(at->path() / ".zarray", unknown);
      to_.add({at->path().string(),
               {},
               {},
               {},
               "it was not looked at: " + named.failure().message,
               is_node ? severity::unverified : severity::note});
    }
  }

  template <class F>
  void for_each_child(const std::string& path, F&& f) {
    const auto key = zp::store_key::parse(path);
    if (!key) return;
    const auto children = store_.list(*key);
    if (!children)
      return to_.add({store_.describe(*key),
                      {},
                      {},
                      {},
                      to_string(children.failure()),
                      severity_of(children.failure().code)});
    for (const zp::list_entry& child : *children)
      f(path.empty() ? child.name : path + '/' + child.name, child);
  }

  /// A folder that is not a node: its files are told as one.
  void look_into(const std::string& folder) {
    std::uint64_t files = 0;
    std::string document;  // of a node that nothing leads to
    std::vector<std::string> open{folder};
    while (!open.empty() && !to_.stopped()) {
      const std::string at = std::move(open.back());
      open.pop_back();
      if (std::count(at.begin(), at.end(), '/') > 64) continue;
      for_each_child(at, [&](std::string path, const zp::list_entry& child) {
        if (child.is_prefix) return open.push_back(std::move(path));
        ++files;
        if (document.empty() && is_metadata_document(child.name)) document = std::move(path);
      });
    }
    std::string text =
        std::to_string(files) + (files == 1 ? " file" : " files") + " of no array in the hierarchy";
    if (!document.empty())
      text +=
          "; among them is " + escaped(document, false) + ", to which no document of a group leads";
    add(folder, std::move(text));
  }

  const zp::any_store& store_;
  noting& to_;
  std::set<std::string> arrays_, groups_;
};

}  // namespace

void verify_zarr(const zarr_source& from, verification& into) {
  noting to(into);
  for (const finding& one : from.told_by_index()) to.add(one);
  verify_documents(from, from.how(), to);
  for (std::size_t i = 0; i < from.entries().size() && !to.stopped(); ++i) {
    const entry& array = from.entries()[i];
    if (array.fault) {
      const auto key = zp::store_key::parse(from.contents().leaves[i].name);
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
  const bool is_array = from.entries().size() == 1 && from.entries()[0].name.empty();
  if (!from.store().can_list() && !from.contents().is_ours() && !is_array)
    to.add(
        {from.store().describe(zp::store_key::root()),
         {},
         {},
         {},
         "it cannot be listed there, so nobody knows whether its documents name all that it has; "
         "copy it to a directory to verify all of it",
         severity::unverified});
  if (!from.is_view()) verify_members(from.store(), to);
  if (from.store().lists_cheaply()) stray_finder(from, to).run();
}

}  // namespace cli
