// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_encoder.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

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

}}}  // namespace zarrpoint::v0::detail
