// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/interop/orbax_save/orbax_receipts.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace orbax_receipts_test {

using namespace zarrpoint;
namespace od = orbax::detail;

od::described_leaf leaf_of(const dims& shape, const box& at) {
  od::described_leaf out;
  out.path = {{"w", false}};
  out.spec = {dtype_kind::float32, shape};
  out.at = at;
  out.shard_key = "w";
  return out;
}

TEST_CASE("orbax receipts: each process has the objects of its boxes to write") {
  // Of 10 rows one has two boxes of 4, the other the last 2, in chunks of 2 rows by a rule.
  const std::vector<std::vector<od::described_leaf>> all{
      {leaf_of({10, 6}, {{0, 0}, {4, 6}}), leaf_of({10, 6}, {{4, 0}, {4, 6}})},
      {leaf_of({10, 6}, {{8, 0}, {2, 6}})},
      {}};
  const auto shared = od::share_tree(all).value();
  const orbax::save_tree_options how{.zarr_format = 2, .rules = {{.chunk_shape = dims{2, 4}}}};
  const auto plan = od::plan_tree({shared.leaves, shared.cuts}, how).value();
  const auto wanted = od::wanted_objects(shared, plan);
  REQUIRE(wanted.size() == 3);
  CHECK(wanted[0] == od::object_counts{{"w", 8}});
  CHECK(wanted[1] == od::object_counts{{"w", 2}});
  CHECK(wanted[2].empty());
}

TEST_CASE("orbax receipts: what is not what was planned is refused") {
  const auto receipt = [](const std::vector<std::pair<std::string, std::uint64_t>>& arrays) {
    zarrpoint::detail::wire_writer to;
    to.number(arrays.size());
    for (const auto& [key, objects] : arrays) {
      to.text(key);
      to.number(objects);
      to.number(10);
    }
    return std::move(to).take();
  };
  const od::object_counts wanted{{"a", 2}, {"b", 1}};
  od::object_counts stored{{"a", 5}};
  REQUIRE(od::read_receipt(receipt({{"b", 1}, {"a", 2}}), wanted, stored));
  CHECK(stored == od::object_counts{{"a", 15}, {"b", 10}});
  REQUIRE(od::read_receipt(receipt({}), {}, stored));
  using arrays = std::vector<std::pair<std::string, std::uint64_t>>;
  for (const arrays& wrong :
       {arrays{}, arrays{{"a", 2}}, arrays{{"a", 2}, {"b", 0}}, arrays{{"a", 3}, {"b", 1}},
        arrays{{"a", 1}, {"a", 1}, {"b", 1}}, arrays{{"a", 2}, {"b", 1}, {"c", 1}},
        arrays{{"a", 2}, {"b", 1}, {"c", 0}}}) {
    const auto refused = od::read_receipt(receipt(wrong), wanted, stored);
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::corrupt);
    CHECK(refused.failure().message.find("objects of") != std::string::npos);
  }
  const message good = receipt({{"a", 2}, {"b", 1}});
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK(od::read_receipt(bytes_view(good).first(size), wanted, stored).failure().code ==
          errc::corrupt);
}

TEST_CASE("orbax receipts: the report is the same to all") {
  save_report report;
  report.leaves.push_back(
      {.name = "w", .stored = {dtype_kind::float32, {2, 3}}, .bytes = 24, .stored_bytes = 20});
  report.kept = {"notes.txt"};
  report.warnings = {"one", "two"};
  const message told = od::encode_report(report);
  const save_report heard = od::decode_report(told).value();
  REQUIRE(heard.leaves.size() == 1);
  CHECK(heard.leaves[0].name == "w");
  CHECK(heard.leaves[0].stored == report.leaves[0].stored);
  CHECK(heard.bytes == 24);
  CHECK(heard.stored_bytes == 20);
  CHECK(heard.kept == report.kept);
  CHECK(heard.warnings == report.warnings);
  for (std::size_t size = 1; size < told.size(); ++size)
    CHECK(od::decode_report(bytes_view(told).first(size)).failure().code == errc::corrupt);
  // The commit took place, and there was no memory to tell more.
  CHECK(od::decode_report({}).value().leaves.empty());
}

}  // namespace orbax_receipts_test
