// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/ocdbt/ocdbt_database.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_encoder.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_files.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ocdbt_encoder_test {

using namespace zarrpoint;

/// The tables and columns of a node, as they would be written.
std::vector<std::byte> encoded(const detail::ocdbt_node& node) {
  if (node.height == 0) {
    std::vector<detail::ocdbt_leaf_entry> entries;
    for (const auto& of : node.entries) {
      detail::ocdbt_leaf_entry entry;
      entry.key = node.key(of);
      if (of.file == detail::ocdbt_node::in_json) {
        entry.value = bytes_view(node.body).subspan(of.offset, of.length);
      } else {
        entry = {node.key(of), {}, &node.files[of.file], of.offset, of.length};
      }
      entries.push_back(entry);
    }
    return detail::encode_ocdbt_leaf(entries, 0).value();
  }
  std::vector<detail::ocdbt_child> entries;
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    const auto& of = node.entries[i];
    entries.push_back({std::string(node.key(of)), of.shared, node.files[of.file], of.offset,
                       of.length, node.below[i]});
  }
  return detail::encode_ocdbt_parent(entries, node.height, 0).value();
}

TEST_CASE("ocdbt_encoder: records of TensorStore and Orbax are written as they were") {
  const std::string golden = ZARRPOINT_TEST_GOLDEN;
  constexpr std::uint64_t limit = 1 << 24;
  int manifests = 0, leaves = 0, parents = 0;
  for (const auto& found : std::filesystem::recursive_directory_iterator(golden)) {
    if (found.path().filename() != "manifest.ocdbt") continue;
    CAPTURE(found.path());
    const any_store base =
        file_store::open(found.path().parent_path().string(), {.read_only = true}).value();
    const detail::ocdbt_files files(base, store_key::root(), limit, 0);
    const auto head = detail::find_ocdbt_head(files).value().value();
    const auto body = detail::open_ocdbt_envelope(head.bytes, detail::ocdbt_manifest_mark, limit);
    CHECK(detail::encode_ocdbt_manifest(head.manifest).value() == body.value());
    ++manifests;
    std::vector<detail::ocdbt_child> left;  // nodes to look at; `shared` is their height
    for (const detail::ocdbt_root& root : head.manifest.versions.versions)
      if (root.is_somewhere())
        left.push_back({{},
                        root.height,
                        head.manifest.versions.files[root.node.file],
                        root.node.offset,
                        root.node.length,
                        {}});
    while (!left.empty()) {
      const auto at = left.back();
      left.pop_back();
      const std::string path = at.file.base + at.file.name;
      const auto data = get(base, store_key::parse(path).value(), limit).value();
      if (!data) continue;  // fixtures from which files are missing
      const auto record = bytes_view(*data).subspan(at.offset, at.length);
      const auto height = static_cast<std::uint8_t>(at.shared);
      const auto node = detail::read_ocdbt_node(record, height, limit).value();
      CHECK(encoded(node) ==
            detail::open_ocdbt_envelope(record, detail::ocdbt_node_mark, limit).value());
      ++(height == 0 ? leaves : parents);
      for (const auto& of : node.entries)
        if (height > 0)
          left.push_back({{},
                          static_cast<std::size_t>(height - 1),
                          detail::ocdbt_file{at.file.base + node.files[of.file].base,
                                             node.files[of.file].name},
                          of.offset,
                          of.length,
                          {}});
    }
  }
  CHECK(manifests > 10);
  CHECK(leaves > 20);
  CHECK(parents > 3);
}

}  // namespace ocdbt_encoder_test
