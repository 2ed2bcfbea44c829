// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_tree_writer.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/store_texts.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ocdbt_tree_writer_test {

using namespace zarrpoint;
using test::key;

struct database {
  memory_store base;
  detail::ocdbt_data_files data{base, key("db"), 0};
  std::shared_ptr<const detail::ocdbt_files> files =
      std::make_shared<const detail::ocdbt_files>(base, key("db"), 1 << 28, 1 << 20);
  detail::ocdbt_configuration how = [] {
    detail::ocdbt_configuration out;
    out.node_bytes = 200;
    out.arity_log2 = 1;
    return out;
  }();

  detail::ocdbt_choice write(const detail::ocdbt_choice& before,
                             const detail::ocdbt_changes& changes) {
    detail::ocdbt_tree_writer writer(*files, data, how);
    auto out = writer.write(before, changes).value();
    data.finish().value();
    return out;
  }

  std::vector<std::string> keys(const detail::ocdbt_choice& of) const {
    std::vector<std::string> out;
    if (!of.root.is_somewhere()) return out;
    const auto tree = detail::ocdbt_tree::open(files, of.root, of.file).value();
    tree.for_each([&](const detail::ocdbt_item& item) -> result<void> {
          out.push_back(item.key);
          return {};
        })
        .value();
    return out;
  }
};

detail::ocdbt_choice nothing() {
  detail::ocdbt_choice out;
  out.root.node = {0, detail::ocdbt_nowhere, detail::ocdbt_nowhere};
  return out;
}

detail::ocdbt_change value(std::string_view text) {
  detail::ocdbt_change out;
  out.bytes.assign(as_bytes(text).begin(), as_bytes(text).end());
  return out;
}

detail::ocdbt_change gone() {
  detail::ocdbt_change out;
  out.is_erased = true;
  return out;
}

TEST_CASE("ocdbt_tree_writer: nodes are split at their limit, and only what changes is written") {
  database db;
  detail::ocdbt_changes changes;
  std::vector<std::string> expected;
  for (int i = 100; i < 200; ++i) {
    expected.push_back("k/" + std::to_string(i));
    changes[expected.back()] = value("0123456789");
  }
  const auto first = db.write(nothing(), changes);
  CHECK(first.root.height >= 2);
  CHECK(first.root.below.keys == 100);
  CHECK(first.root.below.value_bytes == 0);
  CHECK(db.keys(first) == expected);

  const auto second = db.write(first, {{"k/150", gone()}, {"k/1505", value("x")}});
  expected[50] = "k/1505";
  CHECK(db.keys(second) == expected);
  // One node of each height is new: the file that holds them is a small part of the first.
  std::uint64_t first_bytes = 0, second_bytes = 0;
  for (const list_entry& entry : db.base.list(key("db/d")).value()) {
    const auto size = db.base.open(key("db/d/" + entry.name)).value()->size();
    ("d/" + entry.name == first.file.name ? first_bytes : second_bytes) += size;
  }
  CHECK(second_bytes > 0);
  CHECK(second_bytes * 4 < first_bytes);
  // What is written once more lies elsewhere, and the version before is as it was.
  expected[50] = "k/150";
  CHECK(db.keys(first) == expected);

  CHECK(db.write(second, {}).root.node.offset == second.root.node.offset);
  detail::ocdbt_changes all;
  for (const std::string& one : db.keys(second)) all[one] = gone();
  CHECK_FALSE(db.write(second, all).root.is_somewhere());
  db.data.keep();
}

TEST_CASE("ocdbt_tree_writer: a node whose keys are beyond those of its parent is refused") {
  database db;
  detail::ocdbt_changes changes;
  for (int i = 100; i < 200; ++i) changes["k/" + std::to_string(i)] = value("0123456789");
  const auto made = db.write(nothing(), changes);
  // The tree of another database in its place: the same nodes, with one key behind all others.
  const auto root = db.files
                        ->node(made.file.base + made.file.name, made.root.node.offset,
                               made.root.node.length, made.root.height)
                        .value();
  REQUIRE(root->entries.size() >= 2);
  detail::ocdbt_child wrong;
  wrong.key = std::string(root->key(root->entries[0]));
  const auto& last = root->entries.back();
  std::vector<detail::ocdbt_child> children;
  for (const auto* from : {&last, &last}) {
    detail::ocdbt_child child;
    child.key = children.empty() ? "k/100" : "k/150";
    child.file = root->files[from->file];
    child.file.base = made.file.base + child.file.base;
    child.offset = from->offset;
    child.length = from->length;
    child.below = root->below.back();
    children.push_back(child);
  }
  const auto body = detail::encode_ocdbt_parent(children, made.root.height, 0).value();
  const auto record =
      detail::close_ocdbt_envelope(body, detail::ocdbt_node_mark, db.how.zstd_level).value();
  const auto placed = db.data.append(record).value();
  db.data.finish().value();
  detail::ocdbt_choice damaged = made;
  damaged.file = placed.file->id();
  damaged.root.node = {0, placed.offset, static_cast<std::uint64_t>(record.size())};
  detail::ocdbt_tree_writer writer(*db.files, db.data, db.how);
  const auto updated = writer.write(damaged, {{"k/100", value("y")}});
  REQUIRE_FALSE(updated);
  CHECK(updated.failure().code == errc::corrupt);
  db.data.keep();
}

TEST_CASE("ocdbt_tree_writer: older versions go to nodes, as many as the arity says") {
  database db;
  detail::ocdbt_tree_writer writer(*db.files, db.data, db.how);
  detail::ocdbt_versions all;
  for (std::uint64_t generation = 1; generation <= 40; ++generation) {
    detail::ocdbt_choice made = nothing();
    made.root.commit_time = generation * 10;
    writer.add_version(all, made).value();
    db.data.finish().value();  // what it reads again must be there
    CHECK(all.versions.back().generation == generation);
    CHECK(all.versions.size() <= 2);
    std::uint64_t before = 0;
    for (const auto& child : all.children) before += child.generations;
    CHECK(before + all.versions.size() == generation);
  }
  const auto roots = detail::list_ocdbt_versions(*db.files, all).value();
  REQUIRE(roots.size() == 40);
  for (std::size_t i = 0; i < roots.size(); ++i) {
    CHECK(roots[i].generation == i + 1);
    CHECK(roots[i].commit_time == (i + 1) * 10);
  }
  db.data.keep();
}

}  // namespace ocdbt_tree_writer_test
