// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The body of an OCDBT record: the first byte says which, and its height. Checksums are made here,
// since no fuzzer finds them. A node that is read is the root of a database, which is then listed.
// Or what else Orbax writes: a msgpack file, or a document.

#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_store.hpp>
#include <zarrpoint/interop/orbax/orbax_sharding.hpp>
#include <zarrpoint/interop/orbax/orbax_step.hpp>
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/interop/orbax/orbax_value.hpp>
#include <zarrpoint/interop/orbax_save/orbax_item.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/ocdbt_bytes.hpp"
#include "fuzz.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

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
    if (entry.file == zp::detail::ocdbt_node::in_json) {
      require(node.height == 0 && entry.offset + entry.length <= node.body.size(),
              "a value lies in the node");
    } else {
      require(entry.file < node.files.size(), "a file is one of the table");
    }
  }
}

template <class S>
void list_all(const S& store, const zp::store_key& at, int& left) {
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

void read_msgpack(std::string_view text) {
  const zp::memory_store base;
  base.put(key("checkpoint"), zp::as_bytes(text)).value();
  const auto tree = zp::orbax::tree_store::open(base, zp::store_key::root());
  if (!tree) return;
  int left = 1000;
  list_all(*tree, zp::store_key::root(), left);
  (void)zp::orbax::to_value(tree->tree());
  const auto opened = zp::open(*tree, bounded());
  if (opened) require(opened->size() <= tree->tree().leaves.size(), "each array is a leaf");
}

void read_document(std::string_view text, unsigned which) {
  const auto bytes = zp::as_bytes(text);
  if (which == 0) {
    const auto shardings = zp::orbax::read_shardings(bytes);
    if (!shardings) return;
    for (const auto& [name, how] : *shardings) {
      std::uint64_t devices = 1;
      for (const zp::index_t length : how.mesh.shape) devices *= static_cast<std::uint64_t>(length);
      if (devices > 4096) continue;  // slow, and no news
      const zp::dims shape(std::min<std::size_t>(how.partition.size(), zp::max_rank), 24);
      const auto boxes = zp::orbax::device_boxes(how.mesh, how.partition, shape);
      if (!boxes) continue;
      const auto found = zp::orbax::find_partition(how.mesh, *boxes, shape);
      require(found && zp::orbax::device_boxes(how.mesh, *found, shape).value() == *boxes,
              "what boxes were made from is found");
    }
  } else if (which == 1) {
    const auto tree = zp::orbax::read_tree(bytes);
    const auto containers =
        tree ? zp::orbax::containers_of(*tree) : std::vector<zp::orbax::tree_container>();
    if (!containers) return;
    for (const zp::orbax::tree_container& each : *containers)
      require(std::any_of(tree->leaves.begin(), tree->leaves.end(),
                          [&](const zp::orbax::tree_leaf& leaf) {
                            const auto& path = each.path.keys();
                            return leaf.path.size() > path.size() &&
                                   std::equal(path.begin(), path.end(), leaf.path.begin());
                          }),
              "a container has a leaf beneath it");
  } else if (which == 2) {
    (void)zp::orbax::read_array_facts(bytes);
  } else {
    (void)zp::orbax::read_checkpoint_facts(bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const unsigned kind = data[0] % 5U;
  const auto height = static_cast<std::uint8_t>(data[0] / 5U % 4U);
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
  } else if (kind == 3) {
    read_msgpack(body);
  } else if (kind == 4) {
    read_document(body, height);
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
