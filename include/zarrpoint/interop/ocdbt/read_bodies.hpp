// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_database.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_files.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_store.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_tree.hpp>
#include <zarrpoint/store/base/listing.hpp>

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace zarrpoint { inline namespace v0 { namespace detail {

// ------------------------------------------------------------------------------- ocdbt_records.hpp

inline constexpr std::size_t ocdbt_envelope_head = 14;  // mark, length, version, compression
inline constexpr std::size_t ocdbt_envelope_trailer = 4;

/// One zstd frame. That TensorStore wrote it as a stream means that its size may not be told.
ZARRPOINT_INLINE result<std::vector<std::byte>> decompress_ocdbt(bytes_view frame,
                                                                 std::uint64_t limit) {
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                        ZSTD_freeDCtx);
  if (context == nullptr) return error{errc::resource_limit, "zstd cannot allocate a decompressor"};
  const unsigned long long told = ZSTD_getFrameContentSize(frame.data(), frame.size());
  std::uint64_t size = told <= limit ? told : std::uint64_t{4} * frame.size();
  std::vector<std::byte> out(
      static_cast<std::size_t>(std::min(limit, std::max<std::uint64_t>(size, 64))));
  ZSTD_inBuffer from{frame.data(), frame.size(), 0};
  std::size_t made = 0;
  while (true) {
    ZSTD_outBuffer to{out.data(), out.size(), made};
    const std::size_t status = ZSTD_decompressStream(context.get(), &to, &from);
    if (ZSTD_isError(status) != 0)
      return error{errc::corrupt,
                   std::string("its zstd frame is damaged: ") + ZSTD_getErrorName(status)};
    made = to.pos;
    if (status == 0) break;
    if (made < out.size()) return error{errc::corrupt, "its zstd frame is cut short"};
    if (made >= limit)
      return error{errc::resource_limit, "it has more than the limit of " + std::to_string(limit) +
                                             " bytes when it is decompressed"};
    out.resize(static_cast<std::size_t>(std::min<std::uint64_t>(limit, out.size() * 2)));
  }
  if (from.pos != from.size) return error{errc::corrupt, "bytes follow its zstd frame"};
  out.resize(made);
  out.shrink_to_fit();
  return out;
}

ZARRPOINT_INLINE result<std::vector<std::byte>> open_ocdbt_envelope(bytes_view stored,
                                                                    std::uint32_t mark,
                                                                    std::uint64_t limit) {
  constexpr std::size_t head = ocdbt_envelope_head;
  constexpr std::size_t trailer = ocdbt_envelope_trailer;
  if (stored.size() < head + trailer) return error{errc::corrupt, "it is too short"};
  if (byteswap(load_le<std::uint32_t>(stored.data())) != mark)
    return error{errc::corrupt, "it does not begin as such a record does"};
  if (load_le<std::uint64_t>(stored.data() + 4) != stored.size())
    return error{errc::corrupt, "it is not as long as it says"};
  const bytes_view summed = stored.first(stored.size() - trailer);
  if (crc32c(summed) != load_le<std::uint32_t>(stored.data() + summed.size()))
    return error{errc::corrupt, "its bytes do not match its crc32c"};
  const auto version = static_cast<unsigned>(stored[12]);
  const auto compression = static_cast<unsigned>(stored[13]);
  if (version != 0 || compression > 1)
    return error{errc::unsupported, "it is of a later version of the format"};
  const bytes_view body = summed.subspan(head);
  if (compression == 1) return decompress_ocdbt(body, limit);
  if (body.size() > limit)
    return error{errc::resource_limit,
                 "it has more than the limit of " + std::to_string(limit) + " bytes"};
  return std::vector<std::byte>(body.begin(), body.end());
}

ZARRPOINT_INLINE result<std::vector<std::byte>> close_ocdbt_envelope(
    bytes_view body, std::uint32_t mark, std::optional<std::int32_t> zstd_level) {
  const std::size_t most = zstd_level ? ZSTD_compressBound(body.size()) : body.size();
  if (ZSTD_isError(most) != 0)
    return error{errc::resource_limit, "a record is too large to be compressed"};
  std::vector<std::byte> out(ocdbt_envelope_head + most + ocdbt_envelope_trailer);
  std::size_t stored = body.size();
  if (zstd_level) {
    stored = ZSTD_compress(out.data() + ocdbt_envelope_head, most, body.data(), body.size(),
                           *zstd_level);
    if (ZSTD_isError(stored) != 0)
      return error{errc::resource_limit,
                   std::string("zstd cannot compress a record: ") + ZSTD_getErrorName(stored)};
  } else {
    std::copy(body.begin(), body.end(), out.begin() + ocdbt_envelope_head);
  }
  out.resize(ocdbt_envelope_head + stored + ocdbt_envelope_trailer);
  store_le<std::uint32_t>(out.data(), byteswap(mark));
  store_le<std::uint64_t>(out.data() + 4, out.size());
  out[12] = std::byte{0};
  out[13] = zstd_level ? std::byte{1} : std::byte{0};
  const bytes_view summed = bytes_view(out).first(out.size() - ocdbt_envelope_trailer);
  store_le<std::uint32_t>(out.data() + summed.size(), crc32c(summed));
  return out;
}

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
    of.file = kind == 0 ? ocdbt_node::in_json : kind - 1U;
  });
  const bool is_kind = std::all_of(
      node.entries.begin(), node.entries.end(),
      [](const ocdbt_node::entry& of) { return of.file == 0 || of.file == ocdbt_node::in_json; });
  bool is_known = true;
  in.column(outside, [&](ocdbt_node::entry* of) {
    const std::uint64_t file = in.number();
    is_known = is_known && file < node.files.size();
    of->file = static_cast<std::uint32_t>(file);
  });
  in.column(outside, [&](ocdbt_node::entry* of) { of->offset = in.number(); });
  if (!in.ok() || !is_kind || !is_known) return ocdbt_corrupt("its values are damaged");
  in.column(node.entries, [&](ocdbt_node::entry& of) {
    if (of.file != ocdbt_node::in_json) return;
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

// --------------------------------------------------------------------------------- ocdbt_files.hpp

ZARRPOINT_INLINE ocdbt_files::ocdbt_files(any_store base, store_key root, std::uint64_t node_bytes,
                                          std::uint64_t cache_bytes)
    : base_(std::move(base)),
      root_(std::move(root)),
      node_bytes_(node_bytes),
      cache_bytes_(cache_bytes) {}

ZARRPOINT_INLINE result<std::optional<std::vector<std::byte>>> ocdbt_files::manifest(
    std::string_view name) const {
  ZARRPOINT_TRY(key, root_.child(name));
  return get(base_, key, node_bytes_);
}

ZARRPOINT_INLINE result<std::vector<list_entry>> ocdbt_files::names() const {
  return base_.list(root_);
}

ZARRPOINT_INLINE result<std::shared_ptr<const container_file>> ocdbt_files::data(
    const std::string& path) const {
  constexpr std::size_t most_open = 64;
  {
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(open_.begin(), open_.end(),
                                 [&](const auto& entry) { return entry.first == path; });
    if (at != open_.end()) {
      open_.splice(open_.begin(), open_, at);
      return at->second;
    }
  }
  auto key = root_.child(path);
  if (!key || path.empty())
    return error{errc::corrupt, "its data file " + in_quotes(path) + " has no valid path"};
  ZARRPOINT_TRY(file, base_.open(*key));
  if (file == nullptr)
    return error{errc::corrupt, "its data file " + in_quotes(path) + " is missing"};
  auto made = v0::detail::make_counted<const container_file>(std::move(file));
  const std::lock_guard lock(mutex_);
  open_.emplace_front(path, made);
  if (open_.size() > most_open) open_.pop_back();
  return made;
}

ZARRPOINT_INLINE result<std::vector<std::byte>> ocdbt_files::stored(const std::string& path,
                                                                    std::uint64_t offset,
                                                                    std::uint64_t length) const {
  ZARRPOINT_TRY(file, data(path));
  const std::uint64_t size = file->file().size();
  if (offset > size || length > size - offset)
    return error{errc::corrupt, "its data file " + in_quotes(path) + " has " +
                                    std::to_string(size) + " bytes, which end before byte " +
                                    std::to_string(offset) + " + " + std::to_string(length)};
  if (length > node_bytes_)
    return error{errc::resource_limit,
                 "a node in " + in_quotes(path) + " has " + std::to_string(length) +
                     " bytes, more than the limit of " + std::to_string(node_bytes_)};
  std::vector<std::byte> out(static_cast<std::size_t>(length));
  ZARRPOINT_CHECK(file->file().read(offset, out));
  return out;
}

ZARRPOINT_INLINE result<std::shared_ptr<const ocdbt_node>> ocdbt_files::node(
    const std::string& path, std::uint64_t offset, std::uint64_t length,
    std::uint8_t height) const {
  std::string place = path + '@' + std::to_string(offset);
  {
    const std::lock_guard lock(mutex_);
    const auto at = places_.find(place);
    if (at != places_.end() && at->second->node->height == height) {
      nodes_.splice(nodes_.begin(), nodes_, at->second);
      return at->second->node;
    }
  }
  ZARRPOINT_TRY(bytes, stored(path, offset, length));
  ZARRPOINT_TRY(read,
                read_ocdbt_node(bytes, height, node_bytes_)
                    .at("the node at byte " + std::to_string(offset) + " of " + in_quotes(path)));
  auto made = v0::detail::make_counted<const ocdbt_node>(std::move(read));
  keep(std::move(place), made);
  return made;
}

ZARRPOINT_INLINE void ocdbt_files::keep(std::string place,
                                        std::shared_ptr<const ocdbt_node> node) const {
  const std::lock_guard lock(mutex_);
  if (places_.contains(place)) return;  // by another thread
  used_ += node->bytes();
  nodes_.push_front({place, std::move(node)});
  places_.emplace(std::move(place), nodes_.begin());
  while (used_ > cache_bytes_ && nodes_.size() > 1) {
    used_ -= nodes_.back().node->bytes();
    places_.erase(nodes_.back().place);
    nodes_.pop_back();
  }
}

ZARRPOINT_INLINE result<ocdbt_versions> ocdbt_files::versions(const std::string& path,
                                                              const ocdbt_location& at,
                                                              std::uint8_t height) const {
  ZARRPOINT_TRY(bytes, stored(path, at.offset, at.length));
  return read_ocdbt_versions(bytes, height, node_bytes_)
      .at("the versions at byte " + std::to_string(at.offset) + " of " + in_quotes(path));
}

// ---------------------------------------------------------------------------------- ocdbt_tree.hpp

ZARRPOINT_INLINE result<ocdbt_tree> ocdbt_tree::open(std::shared_ptr<const ocdbt_files> files,
                                                     const ocdbt_root& at, const ocdbt_file& file) {
  ocdbt_tree out;
  out.files_ = std::move(files);
  if (!at.is_somewhere()) return out;
  ZARRPOINT_TRY(node,
                out.files_->node(file.base + file.name, at.node.offset, at.node.length, at.height));
  out.root_ = {std::move(node), {}, file.base};
  return out;
}

ZARRPOINT_INLINE result<ocdbt_node_place> ocdbt_child_at(const ocdbt_files& files,
                                                         const ocdbt_node_place& of,
                                                         std::size_t index) {
  const ocdbt_node::entry& entry = of.node->entries[index];
  const ocdbt_file& file = of.node->files[entry.file];
  const std::string_view key = of.node->key(entry);
  std::string base = of.base + file.base;
  ZARRPOINT_TRY(node, files.node(base + file.name, entry.offset, entry.length,
                                 static_cast<std::uint8_t>(of.node->height - 1)));
  // Where a child begins before its parent says, a search could visit all nodes.
  if (node->key(node->entries[0]) < key.substr(entry.shared))
    return error{errc::corrupt, "a node begins with a key that its parent does not give to it"};
  return ocdbt_node_place{std::move(node), of.prefix + std::string(key.substr(0, entry.shared)),
                          std::move(base)};
}

ZARRPOINT_INLINE result<bool> ocdbt_tree::find(std::string_view key, ocdbt_item& out) const {
  if (root_.node == nullptr) return false;
  ocdbt_node_place at = root_;
  std::string_view rest = key;
  while (true) {
    std::size_t index = at.node->lower_bound(rest);
    const bool is_equal =
        index < at.node->entries.size() && at.node->key(at.node->entries[index]) == rest;
    if (at.node->height == 0) {
      if (is_equal) out = {std::string(key), std::move(at.base), std::move(at.node), index};
      return is_equal;
    }
    if (!is_equal && index-- == 0) return false;
    const ocdbt_node::entry& entry = at.node->entries[index];
    const std::string_view shared = at.node->key(entry).substr(0, entry.shared);
    if (!rest.starts_with(shared)) return false;
    rest.remove_prefix(shared.size());
    ZARRPOINT_TRY(below, ocdbt_child_at(*files_, at, index));
    at = std::move(below);
  }
}

ZARRPOINT_INLINE result<bool> ocdbt_tree::at_least(std::string_view key, ocdbt_item& out) const {
  if (root_.node == nullptr) return false;
  return at_least(root_, key, out);
}

// As deep as the tree is high, which is at most 255.
ZARRPOINT_INLINE result<bool> ocdbt_tree::at_least(const ocdbt_node_place& of, std::string_view key,
                                                   ocdbt_item& out) const {
  const ocdbt_node& node = *of.node;
  std::size_t index = node.lower_bound(key);
  if (node.height == 0) {
    if (index == node.entries.size()) return false;
    out = {of.prefix + std::string(node.key(node.entries[index])), of.base, of.node, index};
    return true;
  }
  const bool is_equal = index < node.entries.size() && node.key(node.entries[index]) == key;
  if (!is_equal && index > 0) --index;  // the child before may reach so far
  for (; index < node.entries.size(); ++index) {
    const std::string_view shared =
        node.key(node.entries[index]).substr(0, node.entries[index].shared);
    const std::string_view head = key.substr(0, shared.size());
    if (head > shared) continue;  // all of its keys are less
    ZARRPOINT_TRY(below, ocdbt_child_at(*files_, of, index));
    const std::string_view rest = head == shared ? key.substr(shared.size()) : std::string_view();
    ZARRPOINT_TRY(is_found, at_least(below, rest, out));
    if (is_found) return true;
  }
  return false;
}

struct ocdbt_tree::walk {
  const std::function<result<void>(const ocdbt_item&)>& take;
  std::set<std::pair<std::string, std::uint64_t>> met;  ///< files and offsets of nodes
};

ZARRPOINT_INLINE result<void> ocdbt_tree::for_each(
    const std::function<result<void>(const ocdbt_item&)>& take) const {
  if (root_.node == nullptr) return {};
  walk how{take, {}};
  return visit(root_, how);
}

ZARRPOINT_INLINE result<void> ocdbt_tree::visit(const ocdbt_node_place& of, walk& how) const {
  const ocdbt_node& node = *of.node;
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    const ocdbt_node::entry& entry = node.entries[i];
    if (node.height == 0) {
      ZARRPOINT_CHECK(how.take({of.prefix + std::string(node.key(entry)), of.base, of.node, i}));
      continue;
    }
    const ocdbt_file& file = node.files[entry.file];
    // Nodes that share children have more keys than bytes.
    if (!how.met.emplace(of.base + file.base + file.name, entry.offset).second)
      return error{errc::corrupt, "two nodes have the same child"};
    ZARRPOINT_TRY(below, ocdbt_child_at(*files_, of, i));
    ZARRPOINT_CHECK(visit(below, how));
  }
  return {};
}

/// The last of `records`, in their order, for which `is_wanted` holds; null if there is none.
template <class Records, class F>
auto last_where(const Records& records, F&& is_wanted) -> const typename Records::value_type* {
  const auto at = std::find_if(records.rbegin(), records.rend(), is_wanted);
  return at == records.rend() ? nullptr : &*at;
}

/// The first of `records` whose last generation is not less; null if there is none.
template <class Records>
const typename Records::value_type* first_reaching(const Records& records,
                                                   std::uint64_t generation) {
  const auto at = std::find_if(records.begin(), records.end(),
                               [&](const auto& record) { return record.generation >= generation; });
  return at == records.end() ? nullptr : &*at;
}

/// The record that leads to what is wanted.
template <class Records>
const typename Records::value_type* towards(const Records& records, const ocdbt_wanted& wanted) {
  if (wanted.generation != nullptr) return first_reaching(records, *wanted.generation);
  return last_where(records, [&](const auto& record) {
    return wanted.commit_time == nullptr || record.commit_time <= *wanted.commit_time;
  });
}

ZARRPOINT_INLINE result<ocdbt_choice> choose_ocdbt_version(const ocdbt_files& files,
                                                           const ocdbt_versions& all,
                                                           const ocdbt_wanted& wanted) {
  ocdbt_versions read;  // what `at` is once a node was read
  const ocdbt_versions* at = &all;
  std::string base;
  while (true) {
    // What is in nodes is older.
    const ocdbt_version_child* older =
        wanted.generation != nullptr ? first_reaching(at->children, *wanted.generation) : nullptr;
    const ocdbt_root* found = older == nullptr ? towards(at->versions, wanted) : nullptr;
    if (found != nullptr) {
      if (wanted.generation != nullptr && found->generation != *wanted.generation) break;
      ocdbt_file file = at->files[found->node.file];
      file.base.insert(0, base);
      return ocdbt_choice{*found, std::move(file)};
    }
    if (older == nullptr) older = towards(at->children, wanted);
    if (older == nullptr) break;
    const ocdbt_file file = at->files[older->node.file];
    base += file.base;
    ZARRPOINT_TRY(below, files.versions(base + file.name, older->node, older->height));
    read = std::move(below);
    at = &read;
  }
  if (wanted.generation != nullptr)
    return error{errc::not_found, "it has no generation " + std::to_string(*wanted.generation) +
                                      "; the newest is " +
                                      std::to_string(all.versions.back().generation)};
  return error{errc::not_found, "it has no version that is as old"};
}

/// Adds those beneath a node. As deep as its height, which falls on the way down.
ZARRPOINT_INLINE result<void> add_versions(const ocdbt_files& files, const ocdbt_versions& of,
                                           const std::string& base, std::vector<ocdbt_root>& out) {
  constexpr std::size_t most = std::size_t{1} << 20;
  for (const ocdbt_version_child& child : of.children) {
    const ocdbt_file& file = of.files[child.node.file];
    const std::string below = base + file.base;
    ZARRPOINT_TRY(read, files.versions(below + file.name, child.node, child.height));
    ZARRPOINT_CHECK(add_versions(files, read, below, out));
    if (out.empty() || out.back().generation != child.generation)
      return error{errc::corrupt, "a node of its version tree has other versions than it says"};
  }
  out.insert(out.end(), of.versions.begin(), of.versions.end());
  if (out.size() > most)
    return error{errc::resource_limit, "it has more than " + std::to_string(most) + " versions"};
  return {};
}

ZARRPOINT_INLINE result<std::vector<ocdbt_root>> list_ocdbt_versions(const ocdbt_files& files,
                                                                     const ocdbt_versions& all) {
  std::vector<ocdbt_root> out;
  ZARRPOINT_CHECK(add_versions(files, all, {}, out));
  const auto is_before = [](const ocdbt_root& a, const ocdbt_root& b) {
    return a.generation >= b.generation;
  };
  if (std::adjacent_find(out.begin(), out.end(), is_before) != out.end())
    return error{errc::corrupt, "its versions are not in order"};
  return out;
}

// ------------------------------------------------------------------------------ ocdbt_database.hpp

ZARRPOINT_INLINE ocdbt_version as_ocdbt_version(const ocdbt_root& of) {
  return {of.generation, of.commit_time, of.below.keys, of.below.tree_bytes, of.below.value_bytes};
}

ZARRPOINT_INLINE result<std::vector<std::string>> numbered_ocdbt_manifests(
    const ocdbt_files& files) {
  constexpr std::string_view begin = ocdbt_numbered_name;
  ZARRPOINT_TRY(names, files.names());
  std::vector<std::string> out;
  for (list_entry& entry : names) {
    const std::string_view name = entry.name;
    if (entry.is_prefix || name.size() != begin.size() + 16 || !name.starts_with(begin)) continue;
    if (name.find_first_not_of("0123456789abcdef", begin.size()) != name.npos) continue;
    out.push_back(std::move(entry.name));
  }
  v0::detail::sort_names(out);  // as the generations do
  return out;
}

ZARRPOINT_INLINE result<std::optional<ocdbt_head>> find_ocdbt_head(const ocdbt_files& files) {
  ocdbt_head out;
  out.name = ocdbt_manifest_name;
  ZARRPOINT_TRY(stored, files.manifest(out.name));
  if (!stored) return std::optional<ocdbt_head>();
  ZARRPOINT_TRY(manifest, read_ocdbt_manifest(*stored, files.node_bytes()).at(out.name));
  if (!manifest.configuration.is_numbered) {
    out.bytes = std::move(*stored);
    out.manifest = std::move(manifest);
    return std::optional(std::move(out));
  }
  ZARRPOINT_TRY(names, numbered_ocdbt_manifests(files));
  if (names.empty()) return error{errc::corrupt, "it has no numbered manifest"};
  out.name = std::move(names.back());
  ZARRPOINT_TRY(bytes, files.manifest(out.name));
  if (!bytes) return error{errc::corrupt, out.name + " is missing"};
  ZARRPOINT_TRY(numbered, read_ocdbt_manifest(*bytes, files.node_bytes()).at(out.name));
  if (numbered.configuration.is_numbered)
    return error{errc::corrupt, out.name + " has no versions"};
  out.bytes = std::move(*bytes);
  out.manifest = std::move(numbered);
  out.manifest.configuration.is_numbered = true;  // each of these files says that it is single
  return std::optional(std::move(out));
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> open_ocdbt_value(const ocdbt_files& files,
                                                                const ocdbt_item& item,
                                                                std::string name) {
  const ocdbt_node::entry& at = item.entry();
  if (at.file == ocdbt_node::in_json || at.length == 0) {
    const bytes_view value = at.length == 0 ? bytes_view()
                                            : bytes_view(item.leaf->body)
                                                  .subspan(static_cast<std::size_t>(at.offset),
                                                           static_cast<std::size_t>(at.length));
    return v0::detail::make_owned<blob, memory_blob>(mapping(value, item.leaf), std::move(name));
  }
  const ocdbt_file& file = item.leaf->files[at.file];
  const std::string path = item.base + file.base + file.name;
  ZARRPOINT_TRY(data, files.data(path));
  const std::uint64_t size = data->file().size();
  if (at.offset > size || at.length > size - at.offset)
    return error{errc::corrupt, "its data file " + in_quotes(path) + " ends before its value does"};
  return v0::detail::make_owned<blob, range_blob>(std::move(data), at.offset, at.length,
                                                  std::move(name));
}

}}}  // namespace zarrpoint::v0::detail

namespace zarrpoint { inline namespace v0 {

// --------------------------------------------------------------------------------- ocdbt_store.hpp

ZARRPOINT_INLINE ocdbt_options ocdbt_options::within(std::uint64_t memory) const noexcept {
  ocdbt_options out = *this;
  out.node_bytes = std::min(node_bytes, detail::document_bytes_within(memory));
  out.cache_bytes = std::min(cache_bytes, memory / 4);
  return out;
}

struct ocdbt_store::state {
  std::shared_ptr<const detail::ocdbt_files> files;
  detail::ocdbt_versions versions;
  detail::ocdbt_root chosen;
  detail::ocdbt_tree tree;
};

ZARRPOINT_INLINE result<ocdbt_store> ocdbt_store::open(any_store base, store_key root,
                                                       const ocdbt_options& how) {
  const std::string name = base.describe(root);
  auto opened = guarded([&] { return read(std::move(base), std::move(root), how); });
  return std::move(opened).at("open the OCDBT database " + name);
}

ZARRPOINT_INLINE result<ocdbt_store> ocdbt_store::read(any_store base, store_key root,
                                                       const ocdbt_options& how) {
  if (how.generation && how.commit_time)
    return error{errc::invalid_argument, "a generation and a time are asked for: give one of them"};
  auto files = v0::detail::make_counted<const detail::ocdbt_files>(std::move(base), std::move(root),
                                                                   how.node_bytes, how.cache_bytes);
  ZARRPOINT_TRY(head, detail::find_ocdbt_head(*files));
  if (!head) return error{errc::not_found, "there is no manifest.ocdbt"};
  detail::ocdbt_versions versions = std::move(head->manifest.versions);
  const detail::ocdbt_wanted wanted{how.generation ? &*how.generation : nullptr,
                                    how.commit_time ? &*how.commit_time : nullptr};
  ZARRPOINT_TRY(chosen, detail::choose_ocdbt_version(*files, versions, wanted));
  ZARRPOINT_TRY(tree, detail::ocdbt_tree::open(files, chosen.root, chosen.file));
  return ocdbt_store(v0::detail::make_counted<const state>(
      state{std::move(files), std::move(versions), chosen.root, std::move(tree)}));
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> ocdbt_store::open(const store_key& key) const {
  using made = std::unique_ptr<blob>;
  if (key.is_root()) return made();
  return guarded([&]() -> result<made> {
           detail::ocdbt_item item;
           ZARRPOINT_TRY(is_there,
                         state_->tree.find(prefix_.value_or("") + std::string(key.str()), item));
           if (!is_there) return made();
           return detail::open_ocdbt_value(*state_->files, item, describe(key));
         })
      .at("open " + describe(key));
}

ZARRPOINT_INLINE bool ocdbt_store::lists_cheaply() const { return state_->files->lists_cheaply(); }

ZARRPOINT_INLINE std::string ocdbt_store::describe(const store_key& key) const {
  const std::string database = state_->files->describe();
  const std::string whole = prefix_.value_or("") + std::string(key.str());
  return whole.empty() ? database
                       : database + ":" + detail::printable(whole, 2 * store_key::max_size);
}

ZARRPOINT_INLINE ocdbt_store ocdbt_store::beneath(std::string_view prefix) const {
  ocdbt_store out = *this;
  out.prefix_ = prefix_.value_or("") + std::string(prefix);
  return out;
}

ZARRPOINT_INLINE result<std::vector<list_entry>> ocdbt_store::list(const store_key& prefix) const {
  return guarded([&]() -> result<std::vector<list_entry>> {
           detail::ocdbt_item item;
           std::optional<error> failed;
           std::uint64_t keys = 0;
           const std::string above = prefix_.value_or("");
           auto out =
               detail::list_children(prefix, [&](std::string_view text) -> const std::string* {
                 const auto found = state_->tree.at_least(above + std::string(text), item);
                 if (!found) failed = found.failure();
                 // Nodes that share children have more keys than bytes.
                 if (found && *found && ++keys > state_->chosen.below.keys)
                   failed = error{errc::corrupt, "it has more keys than its version says"};
                 if (failed || !*found || !item.key.starts_with(above)) return nullptr;
                 item.key.erase(0, above.size());
                 return &item.key;
               });
           if (failed) return std::move(*failed);
           if (prefix_)
             std::erase_if(out, [](const list_entry& entry) {
               return detail::key_segment_fault(entry.name) != nullptr;
             });
           for (const list_entry& entry : out)
             if (const char* fault = detail::key_segment_fault(entry.name))
               return error{
                   errc::unsupported,
                   "it has a key beneath it, " + detail::in_quotes(entry.name) + ", with " + fault};
           return out;
         })
      .at("list " + describe(prefix));
}

ZARRPOINT_INLINE ocdbt_version ocdbt_store::version() const {
  return detail::as_ocdbt_version(state_->chosen);
}

ZARRPOINT_INLINE result<std::vector<ocdbt_version>> ocdbt_store::versions() const {
  return guarded([&]() -> result<std::vector<ocdbt_version>> {
           ZARRPOINT_TRY(roots, detail::list_ocdbt_versions(*state_->files, state_->versions));
           std::vector<ocdbt_version> out;
           out.reserve(roots.size());
           for (const detail::ocdbt_root& root : roots)
             out.push_back(detail::as_ocdbt_version(root));
           return out;
         })
      .at("the versions of " + describe(store_key::root()));
}

ZARRPOINT_INLINE result<claim> ocdbt::format::sniff(const place_look& at) {
  ZARRPOINT_TRY(is_database, at.has({"manifest.ocdbt"}));
  return is_database ? claim::plain : claim::none;
}

ZARRPOINT_INLINE result<stored_place> ocdbt::format::open(const place_look& at,
                                                          const place_use& use) {
  ZARRPOINT_TRY(is_database, at.has({"manifest.ocdbt"}));
  if (!is_database)
    return error{errc::not_found, "open " + at.path() +
                                      ": there is no OCDBT database: no directory with "
                                      "manifest.ocdbt"};
  ZARRPOINT_TRY(opened, ocdbt_store::open(at.directory(), store_key::root(),
                                          ocdbt_options{}.within(use.memory)));
  return at.within(std::move(opened), "OCDBT database");
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/bytes_to_bytes/zstd_bodies.hpp>
#include <zarrpoint/store/format_bodies.hpp>
#endif
