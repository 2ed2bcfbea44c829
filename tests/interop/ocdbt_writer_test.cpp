// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/ocdbt/ocdbt_data_file.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_database.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_files.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_store.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_tree_writer.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_writer.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/ocdbt_bytes.hpp"
#include "support/random_rounds.hpp"
#include "support/recording_store.hpp"
#include "support/store_conformance.hpp"
#include "support/store_texts.hpp"
#include "support/temp_directory.hpp"
#include "support/toy_store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace ocdbt_writer_test {

namespace zp = zarrpoint;
using namespace zarrpoint;
using test::contents_of;
using test::key;
using test::put;
using test::text_at;
using test::texts;
using zarrpoint_test::recording_store;

ocdbt_store opened(const any_store& base, const ocdbt_options& how = {}) {
  return ocdbt_store::open(base, key("db"), how).value();
}

ocdbt_writer written(const any_store& base, const ocdbt_write_options& how = {}) {
  return ocdbt_writer::open(base, key("db"), how).value();
}

detail::ocdbt_head head_of(const any_store& base, std::string_view at = "db") {
  const detail::ocdbt_files files(base, key(at), 1 << 28, 1 << 20);
  return detail::find_ocdbt_head(files).value().value();
}

/// Random keys that share what they begin with, some of them the beginning of others.
std::string random_key(std::mt19937& random) {
  static const std::vector<std::string> parts{
      "a", "b",      "ab",        "layers",  "layers_0",          "w", "0", "c",
      "~", "\u00fc", "zarr.json", ".zarray", std::string(40, 'x')};
  std::string out;
  for (auto i = random() % 4 + 1; i > 0; --i)
    out.append(out.empty() ? "" : "/").append(parts[random() % parts.size()]);
  return out;
}

std::string random_text(std::mt19937& random) {
  const std::size_t sizes[] = {0, 1, 19, 20, 21, 99, 100, 101, 1024, 1025, 5000};
  std::string out(sizes[random() % std::size(sizes)], '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

ocdbt_write_options random_options(std::mt19937& random) {
  const std::uint32_t nodes[] = {1, 200, 1000, 5000, 0, 100'000'000};
  const std::uint32_t small[] = {0, 20, 100, 1024, 1 << 20};
  const std::uint64_t files[] = {0, 1, 5000, std::uint64_t{2} << 30};
  ocdbt_write_options out;
  out.node_bytes = nodes[random() % std::size(nodes)];
  out.inline_bytes = small[random() % std::size(small)];
  out.data_file_bytes = files[random() % std::size(files)];
  out.version_arity_log2 = static_cast<std::uint8_t>(random() % 3 + 1);
  if (random() % 3 == 0) out.zstd_level.reset();
  return out;
}

TEST_CASE("ocdbt_writer: as the conformance kit of stores has it") {
  test::store_conformance([] { return any_store(written(memory_store())); });
  test::store_conformance([] {
    return any_store(written(memory_store(), {.data_file_bytes = 3000, .inline_bytes = 10}));
  });
  // The same on a version that is there.
  test::store_conformance([] {
    const memory_store base;
    written(base).commit().value();
    return any_store(written(base));
  });
}

TEST_CASE("ocdbt_writer: as docs/orbax.md has it") {
  const any_store base = memory_store();
  const bytes_view bytes = as_bytes("{}");
  const auto to = zp::ocdbt_writer::open(base, zp::store_key::root()).value();
  to.put(zp::store_key::parse("settings.json").value(), bytes).value();
  const zp::ocdbt_version made = to.commit().value();  // its generation, keys and bytes
  CHECK(made.generation == 1);
  CHECK(made.keys == 1);
  CHECK(text_at(ocdbt_store::open(base, store_key::root()).value(), "settings.json") == "{}");
}

TEST_CASE("ocdbt_writer: random histories, each version of which is read") {
  unsigned highest = 0;
  for (unsigned seed = 0; seed < zarrpoint_test::random_rounds(40U); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const memory_store base;
    const ocdbt_write_options how = random_options(random);
    texts held;
    std::vector<texts> versions;
    std::vector<ocdbt_version> told;
    std::optional<ocdbt_writer> writer;
    const unsigned commits = random() % 3 == 0 ? 40 : 4;
    for (unsigned i = 0; i < commits; ++i) {
      // A writer goes on after a commit, and one that is opened later does as well.
      if (!writer || random() % 2 == 0) writer = written(base, how);
      const unsigned most = i == 0 ? 300 : 30;
      for (auto change = static_cast<unsigned>(random() % most); change > 0; --change) {
        if (!held.empty() && random() % 3 == 0) {
          const auto at = std::next(held.begin(), static_cast<long>(random() % held.size()));
          CHECK(writer->erase(key(at->first)).value());
          CHECK_FALSE(writer->erase(key(at->first)).value());
          held.erase(at);
        } else {
          const std::string name = random_key(random);
          held[name] = random_text(random);
          put(*writer, name, held[name]);
        }
      }
      if (random() % 8 == 0) {
        for (const auto& [name, text] : held) CHECK(writer->erase(key(name)).value());
        held.clear();
      }
      if (i % 4 == 0) CHECK(contents_of(*writer) == held);  // before they are committed
      told.push_back(writer->commit().value());
      CHECK(told.back().generation == i + 1);
      CHECK(told.back().keys == held.size());
      versions.push_back(held);
      if (i % 4 == 0) CHECK(contents_of(*writer) == held);
      const ocdbt_store store = opened(base);
      CHECK(store.version() == told.back());
      CHECK(contents_of(store) == held);
      highest = std::max<unsigned>(highest, head_of(base).manifest.versions.versions.back().height);
    }
    CHECK(opened(base).versions().value() == told);
    for (unsigned i = 0; i < commits; i += commits / 4) {
      const ocdbt_store store = opened(base, {.generation = i + 1});
      CHECK(store.version() == told[i]);
      CHECK(contents_of(store) == versions[i]);
      CHECK(opened(base, {.commit_time = told[i].commit_time}).version() == told[i]);
    }
  }
  CHECK(highest >= 3);
}

TEST_CASE("ocdbt_writer: what nobody changed is shared") {
  const recording_store base;
  const ocdbt_write_options how{.node_bytes = 2000};
  const ocdbt_writer writer = written(base, how);
  texts expected;
  for (int i = 0; i < 3000; ++i) {
    const std::string name = "layers/" + std::to_string(i) + "/w";
    expected[name] = std::to_string(i);
    put(writer, name, expected[name]);
  }
  const ocdbt_version first = writer.commit().value();
  std::vector<std::string> before = base.keys();
  put(writer, "layers/77/w", "other");
  expected["layers/77/w"] = "other";
  CHECK(writer.erase(key("layers/5/w")).value());
  expected.erase("layers/5/w");
  const ocdbt_version second = writer.commit().value();
  CHECK(second.keys == first.keys - 1);
  CHECK(contents_of(opened(base)) == expected);
  std::size_t added = 0;
  for (const std::string& name : base.keys())
    if (std::find(before.begin(), before.end(), name) == before.end())
      added += base.at(name).size();
  CHECK(added > 0);
  CHECK(added * 10 < first.tree_bytes);
  CHECK(second.tree_bytes < first.tree_bytes + added);
  // A version without changes has the same tree.
  const ocdbt_version third = writer.commit().value();
  CHECK(third.generation == 3);
  CHECK(third.tree_bytes == second.tree_bytes);
  CHECK(contents_of(opened(base)) == expected);
}

TEST_CASE("ocdbt_writer: values are streamed to data files of a target size") {
  const recording_store base;
  const ocdbt_writer writer = written(base, {.data_file_bytes = 10'000, .inline_bytes = 100});
  texts expected;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "v/" + std::to_string(i);
    expected[name] = std::string(3000, static_cast<char>('a' + i));
    put(writer, name, expected[name]);
  }
  // Five files are full, and the sixth is not yet there.
  const auto is_data = [](const std::string& name) { return name.starts_with("db/d/"); };
  auto names = base.keys();
  CHECK(std::count_if(names.begin(), names.end(), is_data) == 5);
  CHECK_FALSE(base.has("db/manifest.ocdbt"));
  for (const std::string& name : names) {
    CHECK(name.size() == 5 + 32);
    CHECK(base.at(name).size() == 12'000);
  }
  const ocdbt_version made = writer.commit().value();
  CHECK(made.value_bytes == 60'000);
  CHECK(contents_of(opened(base)) == expected);
  // What was not committed leaves nothing behind.
  names = base.keys();
  {
    const ocdbt_writer dropped = written(base, {.data_file_bytes = 1});
    put(dropped, "v/1", std::string(2000, 'x'));
    CHECK(base.keys() != names);
  }
  CHECK(base.keys() == names);
}

TEST_CASE("ocdbt_writer: many threads") {
  const test::temp_directory made;
  const auto base = file_store::open(made.path().string()).value();
  const ocdbt_writer writer = written(base, {.data_file_bytes = 20'000, .node_bytes = 3000});
  std::vector<std::thread> crew;
  for (int t = 0; t < 6; ++t) {
    crew.emplace_back([&, t] {
      const ocdbt_writer mine = writer;
      for (int i = 0; i < 60; ++i) {
        const std::string name = "t" + std::to_string(t) + '/' + std::to_string(i);
        const std::string text(static_cast<std::size_t>(i) * 40, static_cast<char>('0' + t));
        if (i % 3 == 0) {
          static_cast<void>(mine.put(key(name), as_bytes(text)));
          continue;
        }
        const auto object = mine.create(key(name)).value();
        for (std::size_t at = 0; at < text.size(); at += 500)
          static_cast<void>(object->write(at, as_bytes(std::string_view(text).substr(at, 500))));
        static_cast<void>(object->finish());
      }
    });
  }
  for (std::thread& one : crew) one.join();
  CHECK(writer.commit().value().keys == 360);
  const auto found = contents_of(opened(base));
  CHECK(found.size() == 360);
  for (const auto& [name, text] : found) {
    const std::size_t size = std::stoul(name.substr(3)) * 40;
    CHECK(text == std::string(size, name[1]));
  }
}

/// A store in memory of which the n-th call fails that makes, writes or finishes an object.
class failing_store {
 public:
  result<std::unique_ptr<blob>> open(const store_key& at) const { return base_.open(at); }
  std::string describe(const store_key& at) const { return base_.describe(at); }
  result<std::vector<list_entry>> list(const store_key& at) const { return base_.list(at); }
  result<bool> erase(const store_key& at) const { return base_.erase(at); }
  result<std::unique_ptr<blob_writer>> create(const store_key& at) const {
    ZARRPOINT_CHECK(next(*left_));
    ZARRPOINT_TRY(to, base_.create(at));
    return std::unique_ptr<blob_writer>(std::make_unique<writer>(left_, std::move(to)));
  }
  result<void> put(const store_key& at, bytes_view bytes) const {
    ZARRPOINT_CHECK(next(*left_));
    return base_.put(at, bytes);
  }

  void fail_after(int calls) const { *left_ = calls; }

 private:
  struct writer final : blob_writer {
    writer(std::shared_ptr<int> calls, std::unique_ptr<blob_writer> to)
        : left(std::move(calls)), base(std::move(to)) {}
    result<void> write(std::uint64_t offset, bytes_view bytes) override {
      ZARRPOINT_CHECK(next(*left));
      return base->write(offset, bytes);
    }
    result<void> finish() override {
      ZARRPOINT_CHECK(next(*left));
      return base->finish();
    }
    std::shared_ptr<int> left;
    std::unique_ptr<blob_writer> base;
  };

  static result<void> next(int& left) {
    if (--left < 0) return error{errc::io, "no space left"};
    return {};
  }

  memory_store base_;
  std::shared_ptr<int> left_ = std::make_shared<int>(1 << 30);
};

TEST_CASE("ocdbt_writer: a base that fails leaves the version before") {
  // The n-th call fails, until all get through.
  for (const bool is_fresh : {false, true}) {
    int failures = 0;
    for (bool is_done = false; !is_done; ++failures) {
      REQUIRE(failures < 200);
      CAPTURE(failures);
      const failing_store base;
      texts expected;
      if (!is_fresh) {
        const ocdbt_writer writer = written(base, {.node_bytes = 300, .version_arity_log2 = 1});
        for (int i = 0; i < 60; ++i) put(writer, "k/" + std::to_string(i), std::to_string(i));
        for (int i = 0; i < 2; ++i) writer.commit().value();
        expected = contents_of(opened(base));
      }
      const texts before = contents_of(base);
      {
        const ocdbt_writer writer = written(base, {.data_file_bytes = 3000, .node_bytes = 300});
        base.fail_after(failures);
        result<ocdbt_version> made = [&]() -> result<ocdbt_version> {
          for (int i = 0; i < 5; ++i)
            ZARRPOINT_CHECK(
                writer.put(key("k/" + std::to_string(10 * i)), as_bytes(std::string(2000, 'x'))));
          return writer.commit();
        }();
        base.fail_after(1 << 30);
        is_done = made.has_value();
        if (!made) CHECK(made.failure().code == errc::io);
        for (int i = 0; is_done && i < 5; ++i)
          expected["k/" + std::to_string(10 * i)] = std::string(2000, 'x');
      }
      if (is_done || !is_fresh) {
        CHECK(contents_of(opened(base)) == expected);
      } else {
        CHECK(ocdbt_store::open(base, key("db")).failure().code == errc::not_found);
      }
      for (const auto& [name, text] : before)
        if (name.starts_with("db/d/")) CHECK(text_at(base, name) == text);
      // And the next one succeeds.
      const ocdbt_writer writer = written(base);
      put(writer, "after", "1");
      writer.commit().value();
      expected["after"] = "1";
      CHECK(contents_of(opened(base)) == expected);
    }
    CHECK(failures > 15);
  }
}

TEST_CASE("ocdbt_writer: a commit whose manifest could not be put is repeated") {
  const failing_store base;
  const ocdbt_writer writer = written(base);
  put(writer, "a", std::string(2000, 'x'));
  put(writer, "b", "small");
  base.fail_after(2);  // the node is written and the data file finished, the manifest is not put
  CHECK(writer.commit().failure().code == errc::io);
  CHECK(ocdbt_store::open(base, key("db")).failure().code == errc::not_found);
  base.fail_after(1 << 30);
  CHECK(text_at(writer, "a") == std::string(2000, 'x'));
  CHECK(writer.commit().value().keys == 2);
  CHECK(text_at(opened(base), "a") == std::string(2000, 'x'));
}

TEST_CASE("ocdbt_writer: values of a data file that could not be finished are lost, and told") {
  const failing_store base;
  const ocdbt_writer writer = written(base);
  put(writer, "a", std::string(2000, 'x'));
  base.fail_after(1);
  CHECK(writer.commit().failure().code == errc::io);
  base.fail_after(1 << 30);
  CHECK(writer.commit().failure().code == errc::io);  // for good
  CHECK(writer.put(key("b"), as_bytes(std::string(2000, 'x'))).failure().code == errc::io);
}

/// A store in memory whose `put` succeeds and says that it is not known whether it did.
struct unsure_store : memory_store {
  bool is_unsure = true;
  result<void> put(const store_key& at, bytes_view bytes) const {
    ZARRPOINT_CHECK(memory_store::put(at, bytes));
    if (is_unsure) return error{errc::outcome_unknown, "the last sync failed"};
    return {};
  }
};

TEST_CASE("ocdbt_writer: an outcome that is not known is not repeated, and nothing is erased") {
  const unsure_store base;
  {
    const ocdbt_writer writer = written(base, {.data_file_bytes = 1});
    put(writer, "a", std::string(2000, 'x'));
    CHECK(writer.commit().failure().code == errc::outcome_unknown);
    CHECK(writer.commit().failure().code == errc::outcome_unknown);
  }
  CHECK(text_at(opened(base), "a") == std::string(2000, 'x'));
}

TEST_CASE("ocdbt_writer: a value that is finished is at work no more, though somebody holds it") {
  const memory_store base;
  const ocdbt_writer writer = written(base, {.inline_bytes = 2});
  std::vector<std::unique_ptr<blob_writer>> held;
  for (const char* const text : {"x", "a value in a data file"}) {
    held.push_back(writer.create(key(text)).value());
    held.back()->write(0, as_bytes(std::string_view(text))).value();
    CHECK(writer.commit().failure().code == errc::invalid_argument);
    held.back()->finish().value();
    CHECK(writer.commit());
    CHECK(text_at(opened(base), text) == text);
  }
}

TEST_CASE("ocdbt_writer: calls that make no sense, and writers that do not know of each other") {
  const memory_store base;
  const auto code = [&](const ocdbt_write_options& how) {
    return ocdbt_writer::open(base, key("db"), how).failure().code;
  };
  CHECK(code({.inline_bytes = (1 << 20) + 1}) == errc::invalid_argument);
  CHECK(code({.zstd_level = 23}) == errc::invalid_argument);
  CHECK(code({.version_arity_log2 = 0}) == errc::invalid_argument);
  CHECK(code({.version_arity_log2 = 17}) == errc::invalid_argument);
  const ocdbt_writer writer = written(base);
  CHECK(writer.create(store_key::root()).failure().code == errc::invalid_argument);
  CHECK_FALSE(writer.erase(store_key::root()).value());
  {
    const auto open = writer.create(key("a")).value();
    open->write(0, as_bytes("x")).value();
    CHECK(writer.commit().failure().code == errc::invalid_argument);
    CHECK(open->write(std::uint64_t{1} << 63, as_bytes("x")).failure().code == errc::out_of_range);
    open->finish().value();
    CHECK(open->finish().failure().code == errc::invalid_argument);
    CHECK(open->write(0, as_bytes("x")).failure().code == errc::invalid_argument);
  }
  const ocdbt_writer other = written(base);
  put(other, "b", "y");
  other.commit().value();
  CHECK(writer.commit().failure().code == errc::replaced);
  CHECK(contents_of(opened(base)) == texts{{"b", "y"}});
}

TEST_CASE("ocdbt_writer: a base that cannot read what it writes") {
  const test::toy_store base;
  const ocdbt_writer writer = written(base);
  put(writer, "large", std::string(2000, 'x'));
  put(writer, "small", "y");
  CHECK(text_at(writer, "small") == "y");
  const auto object = writer.open(key("large")).value();
  std::vector<std::byte> bytes(1);
  CHECK(object->read(0, bytes).failure().code == errc::unsupported);
  writer.commit().value();
  CHECK(object->read(0, bytes));  // its file is finished
  CHECK(text_at(opened(base), "large") == std::string(2000, 'x'));
}

TEST_CASE("ocdbt_writer: a database with numbered manifests keeps them") {
  const auto leaf = test::ocdbt_leaf({"a"}, {"1"});
  const auto configuration = test::ocdbt_record(0x0cdb3a2a, test::ocdbt_configuration(1));
  const memory_store base;
  base.put(key("db/manifest.ocdbt"), configuration).value();
  base.put(key("db/manifest.0000000000000007"), test::ocdbt_manifest("d/0", 0, leaf.size(), 0, 1))
      .value();
  base.put(key("db/d/0"), leaf).value();
  const ocdbt_writer writer = written(base);
  for (int i = 0; i < 140; ++i) {
    put(writer, "b", std::to_string(i));
    CHECK(writer.commit().value().generation == static_cast<std::uint64_t>(8 + i));
  }
  CHECK(get(base, key("db/manifest.ocdbt"), 1000).value() == configuration);
  CHECK(text_at(base, "db/manifest.0000000000000014") != "(none)");
  CHECK(text_at(base, "db/manifest.0000000000000013") == "(none)");  // 128 are kept
  CHECK(contents_of(opened(base)) == texts{{"a", "1"}, {"b", "139"}});
  CHECK(contents_of(opened(base, {.generation = 7})) == texts{{"a", "1"}});
  CHECK(text_at(opened(base, {.generation = 50}), "b") == "42");
  put(base, "db/manifest.00000000000000ff", text_at(base, "db/manifest.0000000000000093"));
  CHECK(ocdbt_writer::open(base, key("db")).failure().code == errc::corrupt);
}

TEST_CASE("ocdbt_writer: a damaged database is not written to") {
  const recording_store base;
  {
    const ocdbt_writer writer =
        written(base, {.node_bytes = 200, .zstd_level = std::nullopt, .version_arity_log2 = 1});
    for (int i = 0; i < 100; ++i) put(writer, "k/" + std::to_string(i), std::to_string(i));
    for (int i = 0; i < 4; ++i) writer.commit().value();
  }
  std::string data;
  for (const std::string& name : base.keys())
    if (name.starts_with("db/d/") && (data.empty() || base.at(name).size() > base.at(data).size()))
      data = name;
  const auto intact = base.at(data);
  const auto manifest = base.at("db/manifest.ocdbt");
  const auto state = [&] {
    std::map<std::string, std::vector<std::byte>> out;
    for (const std::string& name : base.keys()) out[name] = base.at(name);
    return out;
  };
  for (std::size_t at = 0; at < intact.size(); at += 41) {
    auto damaged = intact;
    damaged[at] ^= std::byte{0x20};
    base.set(data, damaged);
    const auto before = state();
    const auto made = [&]() -> result<ocdbt_version> {
      ZARRPOINT_TRY(writer, ocdbt_writer::open(base, key("db")));
      for (int i = 0; i < 100; ++i)
        ZARRPOINT_CHECK(writer.put(key("k/" + std::to_string(i)), as_bytes("new")));
      return writer.commit();
    }();
    REQUIRE_FALSE(made);
    CHECK(made.failure().code == errc::corrupt);
    CHECK(state() == before);
  }
  base.set(data, intact);
  for (std::size_t at = 0; at < manifest.size(); ++at) {
    auto damaged = manifest;
    damaged[at] ^= std::byte{0x20};
    base.set("db/manifest.ocdbt", damaged);
    CHECK(ocdbt_writer::open(base, key("db")).failure().code == errc::corrupt);
  }
}

TEST_CASE("ocdbt_writer: a node with keys that its parent does not give to it") {
  // The first of two children has a key that belongs to the second.
  auto bytes = test::ocdbt_leaf({"a", "y"}, {"1", "2"});
  const std::size_t second = bytes.size();
  for (const std::byte one : test::ocdbt_leaf({"m"}, {"3"})) bytes.push_back(one);
  const std::size_t parent = bytes.size();
  test::ocdbt_bytes node;
  node.byte(1).text(test::ocdbt_table({"d/0"})).number(2).number(0).numbers({1, 1, 0, 0});
  node.text("am").numbers({0, 0, 0, second, second, parent - second, 2, 1, 1, 1, 0, 0});
  for (const std::byte one : test::ocdbt_record(0x0cdb20de, node.str())) bytes.push_back(one);
  const recording_store base;
  base.set("db/d/0", bytes);
  base.set("db/manifest.ocdbt", test::ocdbt_manifest("d/0", parent, bytes.size() - parent, 1));
  const ocdbt_writer writer = written(base);
  put(writer, "b", "x");
  const auto made = writer.commit();
  REQUIRE_FALSE(made);
  CHECK(made.failure().code == errc::corrupt);
  CHECK(made.failure().message.find("does not give to it") != std::string::npos);
}

/// All that lies beneath `from`, beneath `to` of another store.
}  // namespace ocdbt_writer_test
