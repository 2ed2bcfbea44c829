// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_data_file.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_encoder.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_tree_writer.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_writer.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_writer_state.hpp>
#include <zarrpoint/store/base/listing.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <tuple>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// ----------------------------------------------------------------------------- ocdbt_data_file.hpp

ZARRPOINT_INLINE ocdbt_data_file::ocdbt_data_file(any_store base, store_key key, ocdbt_file id,
                                                  std::unique_ptr<blob_writer> writer)
    : base_(std::move(base)),
      key_(std::move(key)),
      id_(std::move(id)),
      writer_(std::move(writer)) {}

ZARRPOINT_INLINE result<void> ocdbt_data_file::read(std::uint64_t offset,
                                                    mutable_bytes into) const {
  {
    const std::shared_lock lock(mutex_);
    if (writer_ != nullptr) return writer_->read(offset, into);
    if (finished_ != nullptr) return finished_->read(offset, into);
  }
  const std::unique_lock lock(mutex_);
  if (finished_ == nullptr) {
    ZARRPOINT_TRY(opened, base_.open(key_));
    if (opened == nullptr)
      return error{errc::corrupt,
                   "its data file " + in_quotes(id_.base + id_.name) + " is missing"};
    finished_ = std::move(opened);
  }
  return finished_->read(offset, into);
}

ZARRPOINT_INLINE result<void> ocdbt_data_file::finish() {
  const std::unique_lock lock(mutex_);
  return std::exchange(writer_, nullptr)->finish();
}

ZARRPOINT_INLINE ocdbt_data_files::~ocdbt_data_files() {
  idle_.clear();
  for (const store_key& key : unused_) static_cast<void>(base_.erase(key));
}

ZARRPOINT_INLINE result<std::shared_ptr<ocdbt_data_file>> ocdbt_data_files::take() {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return *failure_;
    if (!idle_.empty()) {
      auto out = std::move(idle_.back());
      idle_.pop_back();
      return out;
    }
  }
  ocdbt_file id{{}, "d/" + random_id()};
  ZARRPOINT_TRY(key, root_.child(id.name));
  ZARRPOINT_TRY(writer, base_.create(key));
  return v0::detail::make_counted<ocdbt_data_file>(base_, std::move(key), std::move(id),
                                                   std::move(writer));
}

ZARRPOINT_INLINE result<void> ocdbt_data_files::give_back(std::shared_ptr<ocdbt_data_file> file) {
  if (file->end == 0) return {};  // nothing is in it
  if (target_ != 0 && file->end >= target_) return finish(*file);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(file));
  return {};
}

ZARRPOINT_INLINE result<ocdbt_data_files::placed> ocdbt_data_files::append(bytes_view bytes) {
  ZARRPOINT_TRY(file, take());
  const std::uint64_t offset = file->end;
  const auto written = file->write(offset, bytes);
  file->end += bytes.size();
  ZARRPOINT_CHECK(give_back(file));
  if (!written) return written.failure();
  return placed{std::move(file), offset};
}

ZARRPOINT_INLINE result<void> ocdbt_data_files::finish(ocdbt_data_file& file) {
  auto done = file.finish();
  const std::lock_guard lock(mutex_);
  unused_.push_back(file.key());  // even so: it may have its name
  if (!done && !failure_) failure_ = done.failure();
  return done;
}

ZARRPOINT_INLINE result<void> ocdbt_data_files::finish() {
  std::vector<std::shared_ptr<ocdbt_data_file>> files;
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return *failure_;
    files.swap(idle_);
  }
  for (const auto& file : files) ZARRPOINT_CHECK(finish(*file));
  return {};
}

ZARRPOINT_INLINE void ocdbt_data_files::keep() {
  const std::lock_guard lock(mutex_);
  unused_.clear();
}

// ------------------------------------------------------------------------------- ocdbt_encoder.hpp

/// Numbers and texts one after another.
class ocdbt_output {
 public:
  void byte(std::uint8_t value) { out_.push_back(static_cast<std::byte>(value)); }
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80U));
    byte(static_cast<std::uint8_t>(value));
  }
  template <std::unsigned_integral T>
  void fixed(T value) {
    out_.resize(out_.size() + sizeof value);
    store_le<T>(out_.data() + out_.size() - sizeof value, value);
  }
  void bytes(bytes_view value) { out_.insert(out_.end(), value.begin(), value.end()); }
  void text(std::string_view value) { bytes(as_bytes(value)); }

  /// One field of each record: records are stored by columns.
  template <class Records, class F>
  void numbers(const Records& records, F&& field) {
    for (const auto& record : records) number(field(record));
  }

  std::vector<std::byte> take() { return std::move(out_); }

 private:
  std::vector<std::byte> out_;
};

ZARRPOINT_INLINE std::size_t common_prefix(std::string_view a, std::string_view b) {
  const std::size_t most = std::min(a.size(), b.size());
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.begin() + most, b.begin()).first -
                                  a.begin());
}

inline constexpr std::size_t ocdbt_longest = 65535;  // of keys and of paths

/// The table of the data files that records are in, each once and sorted.
class ocdbt_table {
 public:
  void add(const ocdbt_file& file) { index_.emplace(place(file.base, file.name), 0); }

  result<void> write(ocdbt_output& to) {
    std::vector<place> files;
    for (auto& [file, index] : index_) {
      index = files.size();
      files.push_back(file);
      if (size(file) > ocdbt_longest)
        return error{errc::corrupt, "the path of a data file has more than 65,535 bytes"};
    }
    to.number(files.size());
    std::vector<std::size_t> shared(files.size());
    for (std::size_t i = 1; i < files.size(); ++i) {
      const auto& [base, name] = files[i];
      const auto& [last_base, last_name] = files[i - 1];
      shared[i] = base == last_base ? base.size() + common_prefix(name, last_name)
                                    : common_prefix(base, last_base);
      to.number(shared[i]);
    }
    for (std::size_t i = 0; i < files.size(); ++i) to.number(size(files[i]) - shared[i]);
    to.numbers(files, [](const place& of) { return std::get<0>(of).size(); });
    for (std::size_t i = 0; i < files.size(); ++i) {
      const auto& [base, name] = files[i];
      to.text(base.substr(std::min(shared[i], base.size())));
      to.text(name.substr(std::max(shared[i], base.size()) - base.size()));
    }
    return {};
  }

  std::size_t operator[](const ocdbt_file& file) const {
    return index_.find(place(file.base, file.name))->second;
  }

 private:
  using place = std::tuple<std::string_view, std::string_view>;
  static std::size_t size(const place& of) {
    return std::get<0>(of).size() + std::get<1>(of).size();
  }

  std::map<place, std::size_t> index_;
};

/// The keys of a node, and `shared` of children.
template <class Entry>
result<void> write_keys(ocdbt_output& to, std::span<const Entry> entries, std::size_t left_out) {
  std::vector<std::size_t> prefixes(entries.size(), left_out);
  for (std::size_t i = 1; i < entries.size(); ++i)
    prefixes[i] = common_prefix(entries[i - 1].key, entries[i].key);
  for (std::size_t i = 1; i < entries.size(); ++i) to.number(prefixes[i] - left_out);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].key.size() > ocdbt_longest)
      return error{errc::corrupt, "a key has more than 65,535 bytes"};
    to.number(entries[i].key.size() - prefixes[i]);
  }
  if constexpr (requires { entries[0].shared; })
    to.numbers(entries, [&](const Entry& of) { return of.shared - left_out; });
  for (std::size_t i = 0; i < entries.size(); ++i)
    to.text(std::string_view(entries[i].key).substr(prefixes[i]));
  return {};
}

ZARRPOINT_INLINE result<std::vector<std::byte>> encode_ocdbt_leaf(
    std::span<const ocdbt_leaf_entry> entries, std::size_t left_out) {
  ocdbt_output to;
  to.byte(0);
  ocdbt_table files;
  for (const ocdbt_leaf_entry& of : entries)
    if (of.file != nullptr) files.add(*of.file);
  ZARRPOINT_CHECK(files.write(to));
  to.number(entries.size());
  ZARRPOINT_CHECK(write_keys(to, entries, left_out));
  to.numbers(entries, [](const ocdbt_leaf_entry& of) {
    return of.file != nullptr ? of.length : of.value.size();
  });
  for (const ocdbt_leaf_entry& of : entries) to.byte(of.file != nullptr ? 1 : 0);
  for (const ocdbt_leaf_entry& of : entries)
    if (of.file != nullptr) to.number(files[*of.file]);
  for (const ocdbt_leaf_entry& of : entries)
    if (of.file != nullptr) to.number(of.offset);
  for (const ocdbt_leaf_entry& of : entries)
    if (of.file == nullptr) to.bytes(of.value);
  return to.take();
}

ZARRPOINT_INLINE result<std::vector<std::byte>> encode_ocdbt_parent(
    std::span<const ocdbt_child> entries, std::uint8_t height, std::size_t left_out) {
  ocdbt_output to;
  to.byte(height);
  ocdbt_table files;
  for (const ocdbt_child& of : entries) files.add(of.file);
  ZARRPOINT_CHECK(files.write(to));
  to.number(entries.size());
  ZARRPOINT_CHECK(write_keys(to, entries, left_out));
  to.numbers(entries, [&](const ocdbt_child& of) { return files[of.file]; });
  to.numbers(entries, [](const ocdbt_child& of) { return of.offset; });
  to.numbers(entries, [](const ocdbt_child& of) { return of.length; });
  to.numbers(entries, [](const ocdbt_child& of) { return of.below.keys; });
  to.numbers(entries, [](const ocdbt_child& of) { return of.below.tree_bytes; });
  to.numbers(entries, [](const ocdbt_child& of) { return of.below.value_bytes; });
  return to.take();
}

/// The versions and what is older, in the order of their columns.
ZARRPOINT_INLINE result<ocdbt_table> write_table(ocdbt_output& to, const ocdbt_versions& of) {
  ocdbt_table out;
  for (const ocdbt_root& root : of.versions) out.add(of.files[root.node.file]);
  for (const ocdbt_version_child& child : of.children) out.add(of.files[child.node.file]);
  ZARRPOINT_CHECK(out.write(to));
  return out;
}

template <class Records>
void write_locations(ocdbt_output& to, const Records& records, const ocdbt_versions& of,
                     const ocdbt_table& table) {
  to.numbers(records, [&](const auto& record) { return table[of.files[record.node.file]]; });
  to.numbers(records, [](const auto& record) { return record.node.offset; });
  to.numbers(records, [](const auto& record) { return record.node.length; });
}

ZARRPOINT_INLINE void write_roots(ocdbt_output& to, const ocdbt_versions& of,
                                  const ocdbt_table& table) {
  to.number(of.versions.size());
  to.numbers(of.versions, [](const ocdbt_root& root) { return root.generation; });
  for (const ocdbt_root& root : of.versions) to.byte(root.height);
  write_locations(to, of.versions, of, table);
  to.numbers(of.versions, [](const ocdbt_root& root) { return root.below.keys; });
  to.numbers(of.versions, [](const ocdbt_root& root) { return root.below.tree_bytes; });
  to.numbers(of.versions, [](const ocdbt_root& root) { return root.below.value_bytes; });
  for (const ocdbt_root& root : of.versions) to.fixed(root.commit_time);
}

ZARRPOINT_INLINE void write_version_children(ocdbt_output& to, const ocdbt_versions& of,
                                             const ocdbt_table& table, bool is_manifest) {
  to.number(of.children.size());
  to.numbers(of.children, [](const ocdbt_version_child& child) { return child.generation; });
  write_locations(to, of.children, of, table);
  to.numbers(of.children, [](const ocdbt_version_child& child) { return child.generations; });
  for (const ocdbt_version_child& child : of.children) to.fixed(child.commit_time);
  if (!is_manifest) return;
  for (const ocdbt_version_child& child : of.children) to.byte(child.height);
}

ZARRPOINT_INLINE result<std::vector<std::byte>> encode_ocdbt_manifest(
    const ocdbt_manifest& manifest) {
  const ocdbt_configuration& how = manifest.configuration;
  ocdbt_output to;
  to.bytes(how.identity);
  to.byte(0);  // the versions are in it
  to.number(how.inline_bytes);
  to.number(how.node_bytes);
  to.byte(how.arity_log2);
  to.number(how.zstd_level ? 1 : 0);
  if (how.zstd_level) to.fixed(static_cast<std::uint32_t>(*how.zstd_level));
  ZARRPOINT_TRY(table, write_table(to, manifest.versions));
  write_roots(to, manifest.versions, table);
  write_version_children(to, manifest.versions, table, true);
  return to.take();
}

ZARRPOINT_INLINE result<std::vector<std::byte>> encode_ocdbt_versions(
    const ocdbt_versions& versions, std::uint8_t arity_log2, std::uint8_t height) {
  ocdbt_output to;
  to.byte(arity_log2);
  to.byte(height);
  ZARRPOINT_TRY(table, write_table(to, versions));
  if (height == 0) {
    write_roots(to, versions, table);
  } else {
    write_version_children(to, versions, table, false);
  }
  return to.take();
}

// --------------------------------------------------------------------------- ocdbt_tree_writer.hpp

/// The sum, or the largest number: what a database says of itself may be anything.
ZARRPOINT_INLINE void add_to(std::uint64_t& sum, std::uint64_t more) {
  sum = more > ~sum ? ~std::uint64_t{0} : sum + more;
}

ZARRPOINT_INLINE void add_to(ocdbt_statistics& sum, const ocdbt_statistics& more) {
  add_to(sum.keys, more.keys);
  add_to(sum.tree_bytes, more.tree_bytes);
  add_to(sum.value_bytes, more.value_bytes);
}

ZARRPOINT_INLINE ocdbt_leaf_entry leaf_entry(std::string_view key, const ocdbt_change& value) {
  if (value.file == nullptr) return {key, value.bytes};
  return {key, {}, &value.file->id(), value.offset, value.length};
}

ZARRPOINT_INLINE result<ocdbt_choice> ocdbt_tree_writer::write(const ocdbt_choice& before,
                                                               const ocdbt_changes& changes) {
  if (changes.empty()) return before;
  children written;
  std::uint8_t height = 0;
  if (before.root.is_somewhere()) {
    const ocdbt_location& at = before.root.node;
    height = before.root.height;
    ZARRPOINT_TRY(node, files_.node(before.file.base + before.file.name, at.offset, at.length,
                                    before.root.height));
    const ocdbt_node_place root{std::move(node), {}, before.file.base};
    ZARRPOINT_TRY(updated, update({root, {changes.begin(), changes.end()}, nullptr, true}));
    written = std::move(updated);
  } else {
    std::vector<ocdbt_leaf_entry> entries;
    entries.reserve(changes.size());
    for (const auto& [key, value] : changes)
      if (!value.is_erased) entries.push_back(leaf_entry(key, value));
    ZARRPOINT_TRY(leaves, write_leaves(entries, true));
    written = std::move(leaves);
  }
  while (written.size() > 1) {
    if (++height == 0) return error{errc::resource_limit, "its tree becomes higher than 255"};
    ZARRPOINT_TRY(above, write_parents(written, height, true));
    written = std::move(above);
  }
  ocdbt_choice out;
  if (written.empty()) {
    out.root.node = {0, ocdbt_nowhere, ocdbt_nowhere};
    return out;
  }
  out.root.height = height;
  out.root.below = written[0].below;
  out.root.node = {0, written[0].offset, written[0].length};
  out.file = std::move(written[0].file);
  return out;
}

ZARRPOINT_INLINE result<ocdbt_tree_writer::children> ocdbt_tree_writer::update(const task& of) {
  const ocdbt_node& node = *of.at.node;
  const std::string last = of.at.prefix + std::string(node.key(node.entries.back()));
  if (of.end != nullptr && last >= *of.end)
    return error{errc::corrupt, "a node has a key that its parent does not give to it"};
  return node.height == 0 ? update_leaf(of) : update_parent(of);
}

ZARRPOINT_INLINE result<ocdbt_tree_writer::children> ocdbt_tree_writer::update_leaf(
    const task& of) {
  const ocdbt_node& node = *of.at.node;
  std::vector<ocdbt_file> files = node.files;
  for (ocdbt_file& file : files) file.base.insert(0, of.at.base);
  std::string keys;  // whole
  keys.reserve(node.keys.size() + of.at.prefix.size() * node.entries.size());
  std::vector<ocdbt_leaf_entry> entries;
  entries.reserve(node.entries.size());
  auto [change, end] = of.changes;
  const auto add_change = [&] {
    if (!change->second.is_erased) entries.push_back(leaf_entry(change->first, change->second));
    ++change;
  };
  for (const ocdbt_node::entry& entry : node.entries) {
    const std::size_t begin = keys.size();
    keys.append(of.at.prefix).append(node.key(entry));
    const std::string_view key = std::string_view(keys).substr(begin);
    while (change != end && change->first < key) add_change();
    if (change != end && change->first == key) {
      add_change();
    } else if (entry.file == ocdbt_node::in_json) {
      entries.push_back(
          {key, bytes_view(node.body).subspan(static_cast<std::size_t>(entry.offset),
                                              static_cast<std::size_t>(entry.length))});
    } else {
      entries.push_back({key, {}, &files[entry.file], entry.offset, entry.length});
    }
  }
  while (change != end) add_change();
  return write_leaves(entries, of.is_root);
}

ZARRPOINT_INLINE result<ocdbt_tree_writer::children> ocdbt_tree_writer::update_parent(
    const task& of) {
  const ocdbt_node& node = *of.at.node;
  const std::size_t count = node.entries.size();
  std::vector<std::string> keys;
  keys.reserve(count);
  for (const ocdbt_node::entry& entry : node.entries)
    keys.push_back(of.at.prefix + std::string(node.key(entry)));
  children out;
  auto [begin, last] = of.changes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string* end = i + 1 < count ? &keys[i + 1] : of.end;
    auto stop = begin;  // what comes before the first child is the first child's
    while (stop != last && (i + 1 == count || stop->first < keys[i + 1])) ++stop;
    if (begin == stop) {
      const ocdbt_node::entry& entry = node.entries[i];
      const ocdbt_file& file = node.files[entry.file];
      out.push_back({keys[i],
                     of.at.prefix.size() + entry.shared,
                     {of.at.base + file.base, file.name},
                     entry.offset,
                     entry.length,
                     node.below[i]});
      continue;
    }
    ZARRPOINT_TRY(child, ocdbt_child_at(files_, of.at, i));
    ZARRPOINT_TRY(updated, update({child, {begin, stop}, end, false}));
    out.insert(out.end(), std::make_move_iterator(updated.begin()),
               std::make_move_iterator(updated.end()));
    begin = stop;
  }
  return write_parents(out, node.height, of.is_root);
}

/// Nodes of about the same size, none of more than the limit unless it has but `least` entries.
template <class Entry, class F>
std::vector<std::span<const Entry>> ocdbt_tree_writer::split(std::span<const Entry> entries,
                                                             std::size_t least, F&& size) const {
  constexpr std::uint64_t most = std::uint64_t{1} << 20;  // entries of a node, by the format
  std::uint64_t total = 0;
  for (const Entry& entry : entries) total += size(entry);
  const auto parts = [](std::uint64_t all, std::uint64_t each) { return (all + each - 1) / each; };
  std::uint64_t nodes = std::max<std::uint64_t>(1, parts(entries.size(), most));
  if (how_.node_bytes != 0) nodes = std::max(nodes, parts(total, how_.node_bytes));
  const std::uint64_t target = parts(total, nodes);
  std::vector<std::span<const Entry>> out;
  std::size_t begin = 0;
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::uint64_t more = size(entries[i]);
    const std::size_t count = i - begin;
    const bool is_full = used + more > target && count >= least && entries.size() - i >= least;
    if (is_full || count == most) {
      out.push_back(entries.subspan(begin, count));
      begin = i;
      used = 0;
    }
    used += more;
  }
  if (begin < entries.size()) out.push_back(entries.subspan(begin));
  return out;
}

// The estimates of sizes are those by which TensorStore splits nodes.

ZARRPOINT_INLINE result<ocdbt_tree_writer::children> ocdbt_tree_writer::write_leaves(
    std::span<const ocdbt_leaf_entry> entries, bool may_be_root) {
  const auto nodes = split(entries, 1, [](const ocdbt_leaf_entry& of) -> std::uint64_t {
    const std::uint64_t value =
        of.file != nullptr ? 16 + of.file->base.size() + of.file->name.size() : of.value.size();
    return 16 + of.key.size() + value;
  });
  children out;
  out.reserve(nodes.size());
  for (const auto& node : nodes) {
    ocdbt_child child;
    child.key = node.front().key;
    if (!may_be_root || nodes.size() > 1)
      child.shared = common_prefix(node.front().key, node.back().key);
    child.below.keys = node.size();
    for (const ocdbt_leaf_entry& of : node)
      if (of.file != nullptr) add_to(child.below.value_bytes, of.length);
    ZARRPOINT_TRY(body, encode_ocdbt_leaf(node, child.shared));
    ZARRPOINT_CHECK(append_node(body, child));
    out.push_back(std::move(child));
  }
  return out;
}

ZARRPOINT_INLINE result<ocdbt_tree_writer::children> ocdbt_tree_writer::write_parents(
    std::span<const ocdbt_child> entries, std::uint8_t height, bool may_be_root) {
  const auto nodes = split(entries, 2, [](const ocdbt_child& of) -> std::uint64_t {
    return 56 + of.key.size() + of.file.base.size() + of.file.name.size();
  });
  children out;
  out.reserve(nodes.size());
  for (const auto& node : nodes) {
    ocdbt_child child;
    child.key = node.front().key;
    if (!may_be_root || nodes.size() > 1) {
      child.shared = common_prefix(node.front().key, node.back().key);
      for (const ocdbt_child& of : node) child.shared = std::min(child.shared, of.shared);
    }
    for (const ocdbt_child& of : node) add_to(child.below, of.below);
    ZARRPOINT_TRY(body, encode_ocdbt_parent(node, height, child.shared));
    ZARRPOINT_CHECK(append_node(body, child));
    out.push_back(std::move(child));
  }
  return out;
}

ZARRPOINT_INLINE result<void> ocdbt_tree_writer::append_node(bytes_view body, ocdbt_child& out) {
  ZARRPOINT_TRY(record, close_ocdbt_envelope(body, ocdbt_node_mark, how_.zstd_level));
  ZARRPOINT_TRY(placed, to_.append(record));
  out.file = placed.file->id();
  out.offset = placed.offset;
  out.length = record.size();
  add_to(out.below.tree_bytes, record.size());
  return {};
}

// The last versions are in the manifest: those since a multiple of 2^arity. Those before are in a
// node of height 1, whose children have 2^arity versions each, up to the last multiple of
// 2^(2 * arity), and so on.
ZARRPOINT_INLINE result<void> ocdbt_tree_writer::add_version(ocdbt_versions& all,
                                                             const ocdbt_choice& added) {
  const unsigned arity = how_.arity_log2;
  ocdbt_root root = added.root;
  const std::uint64_t last = all.versions.empty() ? 0 : all.versions.back().generation;
  if (last >= ~std::uint64_t{0} - 1)
    return error{errc::corrupt, "its generations cannot be counted further"};
  root.generation = last + 1;
  root.node.file = all.files.size();
  all.files.push_back(added.file);
  if (last == 0 || (last - 1) >> arity == last >> arity) {
    all.versions.push_back(root);
    return {};
  }
  ocdbt_versions newest;
  newest.files = all.files;
  newest.versions = std::exchange(all.versions, {root});
  ZARRPOINT_TRY(leaf, append_versions(all, newest, 0));
  std::optional<ocdbt_version_child> below = leaf;  // what was one lower in the manifest
  std::vector<ocdbt_version_child> older = std::exchange(all.children, {});
  std::uint64_t end = last;
  for (std::uint8_t height = 1; end != 0; ++height) {
    const unsigned bits = (height + 1U) * arity;
    const std::uint64_t begin = bits < 64 ? (end - 1) >> bits << bits : 0;
    const auto is_within = [&](const std::optional<ocdbt_version_child>& of) {
      return of && of->generation > begin && of->generation <= end;
    };
    std::optional<ocdbt_version_child> same;
    if (!older.empty() && older.back().height == height) {
      same = older.back();
      older.pop_back();
    }
    if (is_within(below)) {
      ocdbt_versions node;
      if (is_within(same)) {
        ZARRPOINT_TRY(read, read_children(all, *same));
        node = std::move(read);
      }
      node.children.push_back(*below);
      node.children.back().node.file = node.files.size();
      node.files.push_back(all.files[below->node.file]);
      ZARRPOINT_TRY(made, append_versions(all, node, height));
      all.children.push_back(made);
    } else if (is_within(same)) {
      all.children.push_back(*same);
    }
    below = same;
    end = begin;
  }
  if (!older.empty()) return error{errc::corrupt, "its version tree is higher than it can be"};
  std::reverse(all.children.begin(), all.children.end());
  return {};
}

ZARRPOINT_INLINE result<ocdbt_version_child> ocdbt_tree_writer::append_versions(
    ocdbt_versions& all, const ocdbt_versions& older, std::uint8_t height) {
  ocdbt_version_child out;
  out.height = height;
  if (height == 0) {
    out.generation = older.versions.back().generation;
    out.generations = older.versions.size();
    out.commit_time = older.versions.front().commit_time;
  } else {
    out.generation = older.children.back().generation;
    for (const ocdbt_version_child& child : older.children)
      add_to(out.generations, child.generations);
    out.commit_time = older.children.front().commit_time;
  }
  ZARRPOINT_TRY(body, encode_ocdbt_versions(older, how_.arity_log2, height));
  ZARRPOINT_TRY(record, close_ocdbt_envelope(body, ocdbt_versions_mark, how_.zstd_level));
  ZARRPOINT_TRY(placed, to_.append(record));
  out.node = {all.files.size(), placed.offset, record.size()};
  all.files.push_back(placed.file->id());
  return out;
}

ZARRPOINT_INLINE result<ocdbt_versions> ocdbt_tree_writer::read_children(
    const ocdbt_versions& all, const ocdbt_version_child& of) {
  const ocdbt_file& file = all.files[of.node.file];
  ZARRPOINT_TRY(read, files_.versions(file.base + file.name, of.node, of.height));
  for (ocdbt_file& one : read.files) one.base.insert(0, file.base);
  if (read.children.back().generation != of.generation)
    return error{errc::corrupt, "a node of its version tree has other versions than it says"};
  return read;
}

// -------------------------------------------------------------------------- ocdbt_writer_state.hpp

ZARRPOINT_INLINE std::string numbered_ocdbt_name(std::uint64_t generation) {
  std::string out(ocdbt_numbered_name);
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[generation >> shift & 15];
  return out;
}

ZARRPOINT_INLINE result<void> ocdbt_writer_state::open(const ocdbt_write_options& how) {
  constexpr std::uint32_t most_inline = std::uint32_t{1} << 20;  // by the format
  if (how.inline_bytes > most_inline)
    return error{errc::invalid_argument, "inline_bytes is more than 1 MiB"};
  if (how.version_arity_log2 < 1 || how.version_arity_log2 > 16)
    return error{errc::invalid_argument, "version_arity_log2 is not 1 to 16"};
  if (how.zstd_level &&
      (*how.zstd_level < zstd_codec::min_level || *how.zstd_level > zstd_codec::max_level))
    return error{errc::invalid_argument, "zstd_level is out of range"};
  const ocdbt_options reading;
  files = v0::detail::make_counted<const ocdbt_files>(base, root, reading.node_bytes,
                                                      reading.cache_bytes);
  ZARRPOINT_TRY(found, find_ocdbt_head(*files));
  if (found) {
    head = std::move(*found);
    ZARRPOINT_TRY(newest, choose_ocdbt_version(*files, head.manifest.versions, {}));
    before = std::move(newest);
    if (head.manifest.configuration.is_numbered &&
        head.name != numbered_ocdbt_name(before.root.generation))
      return error{errc::corrupt, head.name + " has another generation than its name says"};
    ZARRPOINT_CHECK(opened_tree());
    return {};
  }
  ocdbt_configuration& fresh = head.manifest.configuration;
  const auto random = random_bits();
  std::memcpy(fresh.identity.data(), random.data(), fresh.identity.size());
  fresh.inline_bytes = how.inline_bytes;
  fresh.node_bytes = how.node_bytes;
  fresh.arity_log2 = how.version_arity_log2;
  if (how.zstd_level) fresh.zstd_level = *how.zstd_level;
  return {};
}

ZARRPOINT_INLINE result<ocdbt_tree> ocdbt_writer_state::opened_tree() {
  if (!tree) {
    ZARRPOINT_TRY(opened, ocdbt_tree::open(files, before.root, before.file));
    tree = std::move(opened);
  }
  return *tree;
}

ZARRPOINT_INLINE result<bool> ocdbt_writer_state::erase(std::string_view key) {
  const auto at = changes.find(key);
  if (at != changes.end() && at->second.is_erased) return false;
  ZARRPOINT_TRY(now, opened_tree());
  ocdbt_item item;
  ZARRPOINT_TRY(was_there, now.find(key, item));
  ocdbt_change gone;
  gone.is_erased = true;
  if (was_there) {
    changes.insert_or_assign(std::string(key), std::move(gone));
  } else if (at != changes.end()) {
    changes.erase(at);
    return true;
  }
  return was_there;
}

ZARRPOINT_INLINE result<std::vector<list_entry>> ocdbt_writer_state::list(const store_key& prefix) {
  ZARRPOINT_TRY(now, opened_tree());
  ocdbt_item item;
  std::optional<error> failed;
  std::string from;
  std::uint64_t keys = 0;
  bool is_at_end = false;
  // The first key of the version before that is not less and did not change; they are asked for in
  // their order.
  const auto next_stored = [&](std::string_view text) -> const std::string* {
    if (keys > 0 && !is_at_end && item.key >= text) return &item.key;
    from = text;
    while (!is_at_end) {
      const auto found = now.at_least(from, item);
      if (!found) failed = found.failure();
      // Nodes that share children have more keys than bytes.
      if (found && *found && ++keys > before.root.below.keys)
        failed = error{errc::corrupt, "it has more keys than its version says"};
      is_at_end = failed || !*found;
      if (is_at_end || !changes.contains(item.key)) break;
      from = item.key + '\0';
    }
    return is_at_end ? nullptr : &item.key;
  };
  auto out = list_children(prefix, [&](std::string_view text) -> const std::string* {
    auto change = changes.lower_bound(text);
    while (change != changes.end() && change->second.is_erased) ++change;
    const std::string* old = next_stored(text);
    if (failed) return nullptr;
    if (change == changes.end() || (old != nullptr && *old < change->first)) return old;
    return &change->first;
  });
  if (failed) return std::move(*failed);
  for (const list_entry& entry : out)
    if (const char* fault = key_segment_fault(entry.name))
      return error{errc::unsupported,
                   "it has a key beneath it, " + in_quotes(entry.name) + ", with " + fault};
  return out;
}

ZARRPOINT_INLINE result<void> ocdbt_writer_state::check_head() const {
  ZARRPOINT_TRY(now, find_ocdbt_head(*files));
  const bool is_same = now ? now->name == head.name && now->bytes == head.bytes : head.name.empty();
  if (is_same) return {};
  return error{errc::replaced, "another writer has made a version since it was opened"};
}

ZARRPOINT_INLINE result<void> ocdbt_writer_state::put_head(const ocdbt_head& next) {
  ZARRPOINT_TRY(key, root.child(next.name));
  ZARRPOINT_CHECK(check_head());
  data.keep();  // from here on the new version may be there
  auto done = base.put(key, next.bytes);
  if (!done && done.failure().code == errc::outcome_unknown) spent = done.failure();
  return done;
}

ZARRPOINT_INLINE result<ocdbt_version> ocdbt_writer_state::commit() {
  constexpr std::uint64_t kept_manifests = 128;  // as TensorStore does
  if (spent) return *spent;
  if (writers != 0) return error{errc::invalid_argument, "a value is still being written"};
  const ocdbt_configuration& how = head.manifest.configuration;
  ocdbt_tree_writer nodes(*files, data, how);
  ZARRPOINT_TRY(made, nodes.write(before, changes));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  const bool is_first = head.manifest.versions.versions.empty();
  made.root.commit_time = static_cast<std::uint64_t>(std::max<std::int64_t>(time, 1));
  if (!is_first && made.root.commit_time <= before.root.commit_time) {
    if (before.root.commit_time == ~std::uint64_t{0})
      return error{errc::corrupt, "its newest version has the last of all times"};
    made.root.commit_time = before.root.commit_time + 1;
  }
  ocdbt_head next;
  next.manifest = head.manifest;
  ZARRPOINT_CHECK(nodes.add_version(next.manifest.versions, made));
  made.root = next.manifest.versions.versions.back();
  next.name = how.is_numbered ? numbered_ocdbt_name(made.root.generation)
                              : std::string(ocdbt_manifest_name);
  ZARRPOINT_TRY(body, encode_ocdbt_manifest(next.manifest));
  ZARRPOINT_TRY(record, close_ocdbt_envelope(body, ocdbt_manifest_mark, how.zstd_level));
  next.bytes = std::move(record);
  // As readers will see it, and without the files that nothing refers to any more.
  ZARRPOINT_TRY(again, read_ocdbt_manifest(next.bytes, files->node_bytes()));
  next.manifest.versions = std::move(again.versions);
  ZARRPOINT_CHECK(data.finish());
  ZARRPOINT_CHECK(put_head(next));
  head = std::move(next);
  before = std::move(made);
  tree.reset();
  changes.clear();
  if (how.is_numbered && before.root.generation > kept_manifests) {
    // What cannot be erased is only in the way.
    const std::string first = numbered_ocdbt_name(before.root.generation - kept_manifests + 1);
    if (const auto names = numbered_ocdbt_manifests(*files))
      for (const std::string& name : *names)
        if (const auto key = root.child(name); key && name < first)
          static_cast<void>(base.erase(*key));
  }
  return as_ocdbt_version(before.root);
}

}  // namespace detail

// -------------------------------------------------------------------------------- ocdbt_writer.hpp

namespace detail {

/// A database beneath another.
struct ocdbt_place_of {
  const any_store& base;
  const store_key& root;  ///< of the other
  std::string folder;     ///< in that
};

/// The keys and values of the newest version of a database in the folder `folder`, "x/" beneath
/// `root`, as changes to the one at `root`.
ZARRPOINT_INLINE result<void> take_over_ocdbt(const ocdbt_place_of& from, ocdbt_changes& changes) {
  ZARRPOINT_TRY(key, from.root.child(from.folder));
  const ocdbt_options reading;
  const auto files = v0::detail::make_counted<const ocdbt_files>(from.base, key, reading.node_bytes,
                                                                 reading.cache_bytes);
  ZARRPOINT_TRY(head, find_ocdbt_head(*files));
  if (!head) return error{errc::not_found, "there is no manifest.ocdbt"};
  ZARRPOINT_TRY(newest, choose_ocdbt_version(*files, head->manifest.versions, {}));
  ZARRPOINT_TRY(tree, ocdbt_tree::open(files, newest.root, newest.file));
  std::map<std::string, std::shared_ptr<ocdbt_data_file>, std::less<>> known;  // by their paths
  ZARRPOINT_CHECK(tree.for_each([&](const ocdbt_item& item) -> result<void> {
    const ocdbt_node::entry& at = item.entry();
    ocdbt_change made;
    if (at.file == ocdbt_node::in_json) {
      const auto value =
          bytes_view(item.leaf->body)
              .subspan(static_cast<std::size_t>(at.offset), static_cast<std::size_t>(at.length));
      made.bytes.assign(value.begin(), value.end());
    } else if (at.length != 0) {
      const ocdbt_file& in = item.leaf->files[at.file];
      const std::string path = item.base + in.base + in.name;
      auto& file = known[path];
      if (file == nullptr) {
        const auto place = key.child(path);
        if (!place || path.empty())
          return error{errc::corrupt, "its data file " + in_quotes(path) + " has no valid path"};
        ocdbt_file id{from.folder + '/' + item.base + in.base, in.name};
        file = v0::detail::make_counted<ocdbt_data_file>(from.base, *place, std::move(id));
      }
      made.file = file;
      made.offset = at.offset;
      made.length = at.length;
      if (at.offset > ~at.length) return error{errc::corrupt, "a value ends beyond all files"};
      file->end = std::max(file->end, at.offset + at.length);
    }
    changes.insert_or_assign(item.key, std::move(made));
    return {};
  }));
  for (const auto& [path, file] : known) {
    ZARRPOINT_TRY(opened, files->data(path));
    if (opened->file().size() < file->end)
      return error{errc::corrupt,
                   "its data file " + in_quotes(path) + " ends before its values do"};
  }
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE result<ocdbt_version> ocdbt_merge(any_store base, store_key root,
                                                   std::span<const store_key> databases,
                                                   const ocdbt_write_options& how) {
  ZARRPOINT_TRY(merged, ocdbt_writer::open(base, root, how));
  const std::string above = root.is_root() ? std::string() : std::string(root.str()) + '/';
  for (const store_key& one : databases) {
    const std::string context = "merge the OCDBT database " + base.describe(one);
    if (one == root || !one.str().starts_with(above))
      return error{errc::invalid_argument, context + ": it is not beneath " + base.describe(root)};
    ZARRPOINT_CHECK(guarded([&] {
                      const detail::ocdbt_place_of from{
                          base, root, std::string(one.str().substr(above.size()))};
                      return detail::take_over_ocdbt(from, merged.changes());
                    }).at(context));
  }
  return merged.commit();
}

namespace detail {

/// A value in a data file that may still be written.
class ocdbt_placed_blob final : public blob {
 public:
  using blob::read;
  ocdbt_placed_blob(const ocdbt_change& at, std::string name)
      : file_(at.file), begin_(at.offset), size_(at.length), name_(std::move(name)) {}

  std::uint64_t size() const noexcept override { return size_; }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    return file_->read(begin_ + offset, into).at("read " + name_);
  }
  std::string name() const override { return name_; }

 private:
  std::shared_ptr<ocdbt_data_file> file_;
  std::uint64_t begin_;
  std::uint64_t size_;
  std::string name_;
};

}  // namespace detail

/// A value that is being written: in memory while it is small, in a data file of its own time
/// otherwise.
class ocdbt_writer::value_writer final : public blob_writer {
 public:
  value_writer(std::shared_ptr<state> database, store_key key, std::string name)
      : database_(std::move(database)), key_(std::move(key)), name_(std::move(name)) {
    ++database_->writers;  // its mutex is taken
  }
  value_writer(const value_writer&) = delete;
  value_writer& operator=(const value_writer&) = delete;
  ~value_writer() override {
    if (file_ != nullptr) {
      file_->end = size_ != 0 ? begin_ + size_ : begin_;
      static_cast<void>(database_->data.give_back(std::move(file_)));
    }
    leave();
  }

  result<void> write(std::uint64_t offset, bytes_view bytes) override {
    if (bytes.empty()) return {};
    if (offset > most || bytes.size() > most - offset)
      return error{errc::out_of_range, "write " + name_ + ": beyond the largest value"};
    const std::uint64_t end = offset + bytes.size();
    {
      const std::lock_guard lock(mutex_);
      if (is_spent_) return refuse();
      if (file_ == nullptr && end <= database_->head.manifest.configuration.inline_bytes)
        return keep(static_cast<std::size_t>(offset), bytes).at("write " + name_);
      if (file_ == nullptr) {
        auto taken = guarded([&] { return take_file(end); });
        is_spent_ = !taken;
        if (!taken) return std::move(taken).at("write " + name_);
      }
      size_ = std::max(size_, end);
    }
    const std::shared_lock lock(mutex_);
    return file_->write(begin_ + offset, bytes).at("write " + name_);
  }

  result<void> reserve(std::uint64_t size) override {
    const std::lock_guard lock(mutex_);
    reserved_ = std::min(size, most);
    return {};
  }

  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    const std::shared_lock lock(mutex_);
    if (offset > size_ || into.size() > size_ - offset)
      return error{errc::out_of_range, "read " + name_ + ": that part was not written yet"};
    if (file_ != nullptr) return file_->read(begin_ + offset, into).at("read " + name_);
    if (!into.empty()) std::memcpy(into.data(), kept_.data() + offset, into.size());
    return {};
  }

  result<void> finish() override {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_spent_, true)) return refuse();
    auto done = guarded([&] { return insert(); });
    if (done) leave();  // otherwise it may have its file, until it is gone
    return std::move(done).at("finish " + name_);
  }

 private:
  // What lies behind each other in a file stays below the largest offset.
  static constexpr std::uint64_t most = std::uint64_t{1} << 62;

  /// It is no longer at work.
  void leave() noexcept {
    if (!std::exchange(is_at_work_, false)) return;
    const std::lock_guard lock(database_->mutex);
    --database_->writers;
  }

  error refuse() const {
    return {errc::invalid_argument, "finish " + name_ + ": it is finished already"};
  }

  result<void> keep(std::size_t offset, bytes_view bytes) {
    const std::size_t end = offset + bytes.size();
    if (end > kept_.size()) {
      ZARRPOINT_CHECK(guarded([&]() -> result<void> {
        kept_.resize(end);
        return {};
      }));
      size_ = end;
    }
    std::memcpy(kept_.data() + offset, bytes.data(), bytes.size());
    return {};
  }

  result<void> take_file(std::uint64_t end) {
    ZARRPOINT_TRY(taken, database_->data.take());
    begin_ = taken->end;
    file_ = std::move(taken);
    ZARRPOINT_CHECK(file_->reserve(begin_ + std::max(reserved_, end)));
    const std::vector<std::byte> before = std::exchange(kept_, {});
    return before.empty() ? result<void>() : file_->write(begin_, before);
  }

  result<void> insert() {
    detail::ocdbt_change made;
    if (file_ == nullptr) {
      made.bytes = std::move(kept_);
    } else {
      made.file = file_;
      made.offset = begin_;
      made.length = size_;
      file_->end = begin_ + size_;
      ZARRPOINT_CHECK(database_->data.give_back(std::move(file_)));
    }
    const std::lock_guard lock(database_->mutex);
    database_->changes.insert_or_assign(std::string(key_.str()), std::move(made));
    return {};
  }

  std::shared_ptr<state> database_;
  store_key key_;
  std::string name_;
  mutable std::shared_mutex mutex_;
  std::vector<std::byte> kept_;
  std::shared_ptr<detail::ocdbt_data_file> file_;  ///< from `begin_` on, until it is finished
  std::uint64_t begin_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t reserved_ = 0;
  bool is_spent_ = false;
  bool is_at_work_ = true;
};

ZARRPOINT_INLINE detail::ocdbt_changes& ocdbt_writer::changes() const { return state_->changes; }

ZARRPOINT_INLINE result<ocdbt_writer> ocdbt_writer::open(any_store base, store_key root,
                                                         const ocdbt_write_options& how) {
  const std::string name = base.describe(root);
  return guarded([&]() -> result<ocdbt_writer> {
           auto made = v0::detail::make_counted<state>(std::move(base), std::move(root),
                                                       how.data_file_bytes);
           ZARRPOINT_CHECK(made->open(how));
           return ocdbt_writer(std::move(made));
         })
      .at("open the OCDBT database " + name + " to write");
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> ocdbt_writer::open(const store_key& key) const {
  using made = std::unique_ptr<blob>;
  if (key.is_root()) return made();
  return guarded([&]() -> result<made> {
           std::optional<detail::ocdbt_tree> tree;
           {
             const std::lock_guard lock(state_->mutex);
             const auto at = state_->changes.find(key.str());
             if (at != state_->changes.end()) {
               const detail::ocdbt_change& change = at->second;
               if (change.is_erased) return made();
               if (change.file == nullptr)
                 return made(std::make_unique<detail::memory_blob>(change.bytes, describe(key)));
               return made(std::make_unique<detail::ocdbt_placed_blob>(change, describe(key)));
             }
             ZARRPOINT_TRY(now, state_->opened_tree());
             tree = std::move(now);
           }
           detail::ocdbt_item item;
           ZARRPOINT_TRY(is_there, tree->find(key.str(), item));
           if (!is_there) return made();
           return detail::open_ocdbt_value(*state_->files, item, describe(key));
         })
      .at("open " + describe(key));
}

ZARRPOINT_INLINE std::string ocdbt_writer::describe(const store_key& key) const {
  const std::string database = state_->files->describe();
  return key.is_root() ? database : database + ":" + std::string(key.str());
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_writer>> ocdbt_writer::create(
    const store_key& key) const {
  if (key.is_root())
    return error{errc::invalid_argument,
                 "create " + describe(key) + ": the root of a store is not an object"};
  return guarded([&]() -> result<std::unique_ptr<blob_writer>> {
    std::string name = describe(key);
    const std::lock_guard lock(state_->mutex);
    return v0::detail::make_owned<blob_writer, value_writer>(state_, key, std::move(name));
  });
}

ZARRPOINT_INLINE result<void> ocdbt_writer::put(const store_key& key, bytes_view bytes) const {
  ZARRPOINT_TRY(writer, create(key));
  ZARRPOINT_CHECK(writer->reserve(bytes.size()));
  ZARRPOINT_CHECK(writer->write(0, bytes));
  return writer->finish();
}

ZARRPOINT_INLINE result<bool> ocdbt_writer::erase(const store_key& key) const {
  return guarded([&] {
           const std::lock_guard lock(state_->mutex);
           return state_->erase(key.str());
         })
      .at("erase " + describe(key));
}

ZARRPOINT_INLINE result<std::vector<list_entry>> ocdbt_writer::list(const store_key& prefix) const {
  return guarded([&] {
           const std::lock_guard lock(state_->mutex);
           return state_->list(prefix);
         })
      .at("list " + describe(prefix));
}

ZARRPOINT_INLINE result<ocdbt_version> ocdbt_writer::commit() const {
  return guarded([&] {
           const std::lock_guard lock(state_->mutex);
           return state_->commit();
         })
      .at("commit to the OCDBT database " + describe(store_key::root()));
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/ocdbt/read_bodies.hpp>
#endif
