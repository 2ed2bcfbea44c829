// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_envelope.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Numbers one after another; zeros past the end and for what is too large, which `ok` tells.
class ocdbt_numbers {
 public:
  explicit ocdbt_numbers(bytes_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  std::size_t left() const { return rest_.size(); }

  bytes_view take(std::uint64_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const bytes_view out = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(out.size());
    return out;
  }

  std::uint8_t byte() {
    const bytes_view one = take(1);
    return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one[0]);
  }

  std::uint32_t fixed32() {
    const bytes_view four = take(4);
    return four.empty() ? 0 : load_le<std::uint32_t>(four.data());
  }

  std::uint64_t fixed64() {
    const bytes_view eight = take(8);
    return eight.empty() ? 0 : load_le<std::uint64_t>(eight.data());
  }

  /// At most `most`.
  std::uint64_t number(std::uint64_t most = ~std::uint64_t{0}) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      const std::uint64_t bits = next & 0x7fU;
      if (shift == 63 && bits > 1) break;
      value |= bits << shift;
      if ((next & 0x80U) == 0) {
        if (value > most) break;
        return value;
      }
    }
    ok_ = false;
    return 0;
  }

  /// How many records follow, of at least `least` bytes each: a count that bytes cannot hold is not
  /// ok, before anything is allocated.
  std::size_t count(std::size_t least) {
    const std::uint64_t records = number();
    if (records <= rest_.size() / least) return static_cast<std::size_t>(records);
    ok_ = false;
    return 0;
  }

  /// The next field of each record: records are stored by columns.
  template <class Records, class F>
  void column(Records& records, F&& field) {
    for (auto& record : records) {
      if (!ok_) return;
      field(record);
    }
  }

 private:
  bytes_view rest_;
  bool ok_ = true;
};

inline constexpr std::uint64_t ocdbt_path_size = 65535;

ZARRPOINT_INLINE error ocdbt_corrupt(const char* what) {
  return {errc::corrupt, std::string(what)};
}

/// The table of data files. `spare` is the memory that their paths may take.
ZARRPOINT_INLINE result<std::vector<ocdbt_file>> read_files(ocdbt_numbers& in,
                                                            std::uint64_t spare) {
  struct path {
    std::size_t prefix = 0;
    std::size_t suffix = 0;
    std::size_t base = 0;
  };
  // The first has no prefix; a later one has three numbers.
  const std::size_t count = in.count(2);
  if (count > spare / (sizeof(path) + sizeof(ocdbt_file)))
    return error{errc::resource_limit,
                 "its table of " + std::to_string(count) + " data files takes more than the limit"};
  std::vector<path> paths(count);
  for (std::size_t i = 1; i < paths.size(); ++i)
    paths[i].prefix = static_cast<std::size_t>(in.number(ocdbt_path_size));
  in.column(paths,
            [&](path& of) { of.suffix = static_cast<std::size_t>(in.number(ocdbt_path_size)); });
  in.column(paths,
            [&](path& of) { of.base = static_cast<std::size_t>(in.number(ocdbt_path_size)); });
  std::vector<ocdbt_file> out;
  out.reserve(paths.size());
  std::string text;
  for (const path& of : paths) {
    const bytes_view suffix = in.take(of.suffix);
    if (!in.ok() || of.prefix > text.size() || of.base > of.prefix + of.suffix)
      return ocdbt_corrupt("its table of data files is damaged");
    text.resize(of.prefix);
    text += as_text(suffix);
    const std::uint64_t taken = text.size() + sizeof(ocdbt_file);
    if (taken > spare)
      return error{errc::resource_limit, "its table of data files takes more than the limit"};
    spare -= taken;
    out.push_back({text.substr(0, of.base), text.substr(of.base)});
  }
  if (!in.ok()) return ocdbt_corrupt("its table of data files is damaged");
  return out;
}

/// The place of each record, by its columns, in one of so many files.
template <class Records>
result<void> read_locations(ocdbt_numbers& in, Records& records, std::size_t files) {
  bool is_known = true;
  in.column(records, [&](auto& record) {
    record.node.file = static_cast<std::size_t>(in.number());
    is_known = is_known && record.node.file < files;
  });
  in.column(records, [&](auto& record) { record.node.offset = in.number(); });
  in.column(records, [&](auto& record) { record.node.length = in.number(); });
  if (!in.ok() || !is_known) return ocdbt_corrupt("a version's place is damaged");
  return {};
}

/// Versions that stand in the record itself.
ZARRPOINT_INLINE result<std::vector<ocdbt_root>> read_roots(ocdbt_numbers& in, std::size_t files) {
  std::vector<ocdbt_root> out(in.count(16));
  in.column(out, [&](ocdbt_root& root) { root.generation = in.number(); });
  in.column(out, [&](ocdbt_root& root) { root.height = in.byte(); });
  ZARRPOINT_CHECK(read_locations(in, out, files));
  in.column(out, [&](ocdbt_root& root) { root.below.keys = in.number(); });
  in.column(out, [&](ocdbt_root& root) { root.below.tree_bytes = in.number(); });
  in.column(out, [&](ocdbt_root& root) { root.below.value_bytes = in.number(); });
  in.column(out, [&](ocdbt_root& root) { root.commit_time = in.fixed64(); });
  std::uint64_t last = 0;
  for (const ocdbt_root& root : out) {
    if (root.generation <= last) return ocdbt_corrupt("its versions are not in order");
    last = root.generation;
  }
  if (!in.ok()) return ocdbt_corrupt("its versions are damaged");
  return out;
}

/// Versions that lie in nodes of their own. In a manifest the heights fall.
ZARRPOINT_INLINE result<std::vector<ocdbt_version_child>> read_version_children(
    ocdbt_numbers& in, std::size_t files, bool is_manifest, std::uint8_t height) {
  std::vector<ocdbt_version_child> out(in.count(13));
  in.column(out, [&](ocdbt_version_child& child) { child.generation = in.number(); });
  ZARRPOINT_CHECK(read_locations(in, out, files));
  in.column(out, [&](ocdbt_version_child& child) { child.generations = in.number(); });
  in.column(out, [&](ocdbt_version_child& child) { child.commit_time = in.fixed64(); });
  in.column(out, [&](ocdbt_version_child& child) {
    child.height = is_manifest ? in.byte() : static_cast<std::uint8_t>(height - 1);
  });
  if (!in.ok()) return ocdbt_corrupt("its versions are damaged");
  for (std::size_t i = 1; i < out.size(); ++i)
    if (out[i].generation <= out[i - 1].generation ||
        (is_manifest && out[i].height >= out[i - 1].height))
      return ocdbt_corrupt("its versions are not in order");
  return out;
}

ZARRPOINT_INLINE result<ocdbt_manifest> read_ocdbt_manifest(bytes_view stored,
                                                            std::uint64_t limit) {
  ZARRPOINT_TRY(body, open_ocdbt_envelope(stored, ocdbt_manifest_mark, limit));
  ocdbt_numbers in(body);
  ocdbt_manifest out;
  ocdbt_configuration& how = out.configuration;
  const bytes_view identity = in.take(how.identity.size());
  std::copy(identity.begin(), identity.end(), how.identity.begin());
  const std::uint8_t kind = in.byte();
  how.inline_bytes = static_cast<std::uint32_t>(in.number(1U << 20));
  how.node_bytes = static_cast<std::uint32_t>(in.number(0xffffffff));
  how.arity_log2 = in.byte();
  const std::uint64_t compression = in.number();
  if (in.ok() && (kind > 1 || compression > 1))
    return error{errc::unsupported, "its configuration is of a later version of the format"};
  if (compression == 1) how.zstd_level = static_cast<std::int32_t>(in.fixed32());
  if (!in.ok() || how.arity_log2 < 1 || how.arity_log2 > 16)
    return ocdbt_corrupt("its configuration is damaged");
  how.is_numbered = kind == 1;
  if (!how.is_numbered) {
    ZARRPOINT_TRY(files, read_files(in, limit));
    ZARRPOINT_TRY(roots, read_roots(in, files.size()));
    ZARRPOINT_TRY(children, read_version_children(in, files.size(), true, 0));
    if (roots.empty()) return ocdbt_corrupt("it has no version");
    if (!children.empty() && children.back().generation >= roots.front().generation)
      return ocdbt_corrupt("its versions are not in order");
    out.versions = {std::move(files), std::move(children), std::move(roots)};
  }
  if (in.left() != 0) return ocdbt_corrupt("it has more bytes than its fields");
  return out;
}

ZARRPOINT_INLINE result<ocdbt_versions> read_ocdbt_versions(bytes_view stored, std::uint8_t height,
                                                            std::uint64_t limit) {
  ZARRPOINT_TRY(body, open_ocdbt_envelope(stored, ocdbt_versions_mark, limit));
  ocdbt_numbers in(body);
  in.byte();  // the arity
  if (in.byte() != height) return ocdbt_corrupt("its height is not what its parent says");
  ZARRPOINT_TRY(files, read_files(in, limit));
  ocdbt_versions out;
  if (height == 0) {
    ZARRPOINT_TRY(roots, read_roots(in, files.size()));
    out.versions = std::move(roots);
  } else {
    ZARRPOINT_TRY(children, read_version_children(in, files.size(), false, height));
    out.children = std::move(children);
  }
  out.files = std::move(files);
  if (in.left() != 0 || (out.versions.empty() && out.children.empty()))
    return ocdbt_corrupt("a node of its version tree is damaged");
  return out;
}

/// The keys of a node, which share what they begin with.
ZARRPOINT_INLINE result<void> read_keys(ocdbt_numbers& in, ocdbt_node& node, std::uint64_t spare) {
  std::vector<std::uint32_t> prefixes(node.entries.size());
  for (std::size_t i = 1; i < prefixes.size(); ++i)
    prefixes[i] = static_cast<std::uint32_t>(in.number(ocdbt_path_size));
  in.column(node.entries, [&](ocdbt_node::entry& of) {
    of.key_size = static_cast<std::uint32_t>(in.number(ocdbt_path_size));
  });
  if (node.height > 0)
    in.column(node.entries, [&](ocdbt_node::entry& of) {
      of.shared = static_cast<std::uint32_t>(in.number(ocdbt_path_size));
    });
  if (!in.ok()) return ocdbt_corrupt("its keys are damaged");
  std::uint64_t whole = 0;
  for (std::size_t i = 0; i < prefixes.size(); ++i) whole += prefixes[i] + node.entries[i].key_size;
  if (whole > spare)
    return error{errc::resource_limit, "its keys take " + std::to_string(whole) +
                                           " bytes, more than the limit of " +
                                           std::to_string(spare)};
  node.keys.reserve(static_cast<std::size_t>(whole));
  std::string_view last;
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    ocdbt_node::entry& of = node.entries[i];
    const bytes_view suffix = in.take(of.key_size);
    if (!in.ok() || prefixes[i] > last.size() || prefixes[i] + of.key_size > ocdbt_path_size)
      return ocdbt_corrupt("its keys are damaged");
    of.key_at = node.keys.size();
    of.key_size += prefixes[i];
    node.keys.append(last.substr(0, prefixes[i])).append(as_text(suffix));
    const std::string_view key = node.key(of);
    if ((i > 0 && key <= last) || of.shared > of.key_size)
      return ocdbt_corrupt("its keys are not in order");
    last = key;
  }
  return {};
}

/// The values of a leaf.
ZARRPOINT_INLINE result<void> read_values(ocdbt_numbers& in, ocdbt_node& node,
                                          std::size_t body_size) {
  std::vector<ocdbt_node::entry*> outside;
  in.column(node.entries, [&](ocdbt_node::entry& of) { of.length = in.number(); });
  in.column(node.entries, [&](ocdbt_node::entry& of) {
    const std::uint8_t kind = in.byte();
    if (kind == 1) outside.push_back(&of);
    of.file = kind == 0 ? ocdbt_node::in_node : kind - 1U;
  });
  const bool is_kind = std::all_of(
      node.entries.begin(), node.entries.end(),
      [](const ocdbt_node::entry& of) { return of.file == 0 || of.file == ocdbt_node::in_node; });
  bool is_known = true;
  in.column(outside, [&](ocdbt_node::entry* of) {
    const std::uint64_t file = in.number();
    is_known = is_known && file < node.files.size();
    of->file = static_cast<std::uint32_t>(file);
  });
  in.column(outside, [&](ocdbt_node::entry* of) { of->offset = in.number(); });
  if (!in.ok() || !is_kind || !is_known) return ocdbt_corrupt("its values are damaged");
  in.column(node.entries, [&](ocdbt_node::entry& of) {
    if (of.file != ocdbt_node::in_node) return;
    of.offset = body_size - in.left();
    in.take(of.length);
  });
  if (!in.ok()) return ocdbt_corrupt("its values are damaged");
  return {};
}

/// Where the children of a node are.
ZARRPOINT_INLINE result<void> read_children(ocdbt_numbers& in, ocdbt_node& node) {
  bool is_known = true;
  in.column(node.entries, [&](ocdbt_node::entry& of) {
    const std::uint64_t file = in.number();
    is_known = is_known && file < node.files.size();
    of.file = static_cast<std::uint32_t>(file);
  });
  in.column(node.entries, [&](ocdbt_node::entry& of) { of.offset = in.number(); });
  in.column(node.entries, [&](ocdbt_node::entry& of) { of.length = in.number(); });
  node.below.resize(node.entries.size());
  in.column(node.below, [&](ocdbt_statistics& of) { of.keys = in.number(); });
  in.column(node.below, [&](ocdbt_statistics& of) { of.tree_bytes = in.number(); });
  in.column(node.below, [&](ocdbt_statistics& of) { of.value_bytes = in.number(); });
  if (!in.ok() || !is_known) return ocdbt_corrupt("its children are damaged");
  return {};
}

ZARRPOINT_INLINE result<ocdbt_node> read_ocdbt_node(bytes_view stored, std::uint8_t height,
                                                    std::uint64_t limit) {
  constexpr std::size_t most_entries = std::size_t{1} << 20;
  ZARRPOINT_TRY(body, open_ocdbt_envelope(stored, ocdbt_node_mark, limit));
  ocdbt_numbers in(body);
  ocdbt_node out;
  out.height = in.byte();
  if (out.height != height) return ocdbt_corrupt("its height is not what its parent says");
  ZARRPOINT_TRY(files, read_files(in, limit));
  out.files = std::move(files);
  const std::size_t entries = in.count(3);
  if (!in.ok() || entries == 0 || entries > most_entries)
    return ocdbt_corrupt("its number of entries is damaged");
  out.entries.resize(entries);
  ZARRPOINT_CHECK(read_keys(in, out, limit));
  if (height == 0) {
    ZARRPOINT_CHECK(read_values(in, out, body.size()));
  } else {
    ZARRPOINT_CHECK(read_children(in, out));
  }
  if (in.left() != 0) return ocdbt_corrupt("it has more bytes than its fields");
  if (height == 0) out.body = std::move(body);
  return out;
}

ZARRPOINT_INLINE std::size_t ocdbt_node::lower_bound(std::string_view text) const {
  const auto at =
      std::lower_bound(entries.begin(), entries.end(), text,
                       [this](const entry& a, std::string_view b) { return key(a) < b; });
  return static_cast<std::size_t>(at - entries.begin());
}

ZARRPOINT_INLINE std::uint64_t ocdbt_node::bytes() const {
  std::uint64_t out = keys.capacity() + body.capacity() + entries.capacity() * sizeof(entry) +
                      below.capacity() * sizeof(ocdbt_statistics);
  for (const ocdbt_file& file : files)
    out += sizeof(file) + file.base.capacity() + file.name.capacity();
  return out;
}

}}}  // namespace zarrpoint::v0::detail
