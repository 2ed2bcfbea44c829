// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The body of an OCDBT record: the first byte says which, and its height. Checksums are made here,
// since no fuzzer finds them. A node that is read is the root of a database, which is then listed.

#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_store.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/ocdbt_bytes.hpp"
#include "fuzz.hpp"

#include <string_view>

namespace {

using namespace fuzz;

constexpr std::uint64_t limit = 1 << 20;

void check_node(const zp::detail::ocdbt_node& node) {
  require(!node.entries.empty(), "a node has an entry");
  std::string_view last;
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    const auto& entry = node.entries[i];
    require(entry.key_at + entry.key_size <= node.keys.size(), "a key lies in the text of keys");
    require(i == 0 || last < node.key(entry), "keys are in order");
    last = node.key(entry);
    require(node.lower_bound(last) == i, "a key is found");
    require(entry.shared <= entry.key_size, "what is left out is part of the key");
    if (entry.file == zp::detail::ocdbt_node::in_node) {
      require(node.height == 0 && entry.offset + entry.length <= node.body.size(),
              "a value lies in the node");
    } else {
      require(entry.file < node.files.size(), "a file is one of the table");
    }
  }
}

void list_all(const zp::ocdbt_store& store, const zp::store_key& at, int& left) {
  const auto children = store.list(at);
  if (!children) return;
  for (const zp::list_entry& child : *children) {
    const auto below = at.child(child.name);
    if (!below || --left < 0) return;
    const auto object = store.open(*below);
    if (!child.is_prefix) require(!object || *object != nullptr, "what is listed is there");
    if (child.is_prefix) list_all(store, *below, left);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const unsigned kind = data[0] % 3U;
  const auto height = static_cast<std::uint8_t>(data[0] / 3U % 4U);
  if (kind == 0) {
    const auto record = test::ocdbt_record(zp::detail::ocdbt_manifest_mark, body);
    (void)zp::detail::read_ocdbt_manifest(record, limit);
    const zp::memory_store base;
    base.put(key("manifest.ocdbt"), record).value();
    const auto store = zp::ocdbt_store::open(base, zp::store_key::root(), {.node_bytes = limit});
    if (store) (void)store->versions();
  } else if (kind == 1) {
    (void)zp::detail::read_ocdbt_versions(test::ocdbt_record(zp::detail::ocdbt_versions_mark, body),
                                          height, limit);
  } else {
    const auto record = test::ocdbt_record(zp::detail::ocdbt_node_mark, body);
    const auto node = zp::detail::read_ocdbt_node(record, height, limit);
    if (!node) return 0;
    check_node(*node);
    const zp::memory_store base;
    base.put(key("manifest.ocdbt"), test::ocdbt_manifest("d/0", 0, record.size(), height)).value();
    base.put(key("d/0"), record).value();
    const auto store = zp::ocdbt_store::open(base, zp::store_key::root(), {.node_bytes = limit});
    require(store.has_value(), "a node that is read is opened");
    int left = 1000;
    list_all(*store, zp::store_key::root(), left);
  }
  return 0;
}
