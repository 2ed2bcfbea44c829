// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Every allocation of every call is made to fail in turn: alone, and with all that follow.

#include <zarrpoint/array.hpp>
#include <zarrpoint/array/read/object_table.hpp>
#include <zarrpoint/array/shard/shard_index_cache.hpp>
#include <zarrpoint/array/write/source_reader.hpp>
#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/manager.hpp>
#include <zarrpoint/memory/device/staging_ring.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/zip/zip_member_writer.hpp>
#include <zarrpoint/verify.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "failing_new.hpp"
#include "support/fake_device.hpp"
#include "support/random_rounds.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace allocation_test {

using namespace zarrpoint;

namespace {

/// Calls `call` until none of its allocations fails; `after` looks at what each call left behind.
/// Where all that follow fail, too, a fifth of the places will do; under the sanitizers a quarter
/// of either.
template <class F>
void sweep(
    const F& call, bool lasting, const std::function<void()>& after = [] {}) {
  for (long n = 1;; n += (lasting ? 5 : 1) * (zarrpoint_test::is_thinned ? 4 : 1)) {
    bool thrown = false;
    test::fail_allocation(n, lasting);
    result<void> out;
    try {
      out = call();
    } catch (...) {
      thrown = true;
    }
    const bool failed = test::allocations_work();
    INFO("allocation " << n);
    CHECK_FALSE(thrown);
    if (!out) {
      INFO(to_string(out.failure()));
      CHECK(out.failure().code == errc::resource_limit);
    }
    after();
    if (!failed) {
      CHECK(out);
      return;
    }
  }
}

/// Both ways of failing.
template <class F>
void sweep_both(
    const char* name, const F& call, const std::function<void()>& after = [] {}) {
  INFO(std::string(name));
  sweep(call, false, after);
  sweep(call, true, after);
}

template <class T>
result<void> dropped(result<T> of) {
  if (!of) return std::move(of).failure();
  return {};
}

/// The calling thread alone, so that each run makes the same allocations.
const context& alone() {
  static const context how;
  return how;
}

struct model {
  std::vector<float> w = std::vector<float>(3000, 1.5F);
  std::vector<std::int64_t> steps{1, 2, 3};
  std::string note = std::string(100, 'n');

  std::vector<leaf> leaves() const {
    std::vector<leaf> out;
    out.emplace_back("layers/of/some/depth/w", w);
    out.emplace_back("layers/steps", steps);
    out.emplace_back("note of a name that is not short", note);
    return out;
  }
  json attributes() const {
    json nested;
    nested.set("of a key that is not short", std::string(50, 'v'));
    nested.set("list", json::array{1, "two, which is not short either", json::array{nested}});
    json out;
    out.set("model", std::move(nested));
    return out;
  }
  save_options options() const {
    return {.rules = {{.glob = "layers/**/w", .codecs = zstd_codecs()}},
            .sync = false,
            .attributes = attributes()};
  }
};

std::vector<std::string> entries(const std::filesystem::path& of) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(of))
    out.push_back(entry.path().filename().string());
  return out;
}

void check_model(const std::string& path, float first) {
  const auto opened = open(path, alone());
  REQUIRE(opened);
  CHECK(opened->load<std::vector<float>>("layers/of/some/depth/w").value().at(0) == first);
}

}  // namespace

TEST_CASE("allocation: copies of values") {
  const json from = model().attributes();
  sweep_both("copy", [&] {
    return guarded([&]() -> result<void> {
      const json copied = from;
      json assigned = 1;
      assigned = copied;
      return assigned == from ? result<void>{} : error{errc::corrupt, "copy"};
    });
  });
}

TEST_CASE("allocation: saves") {
  const test::temp_directory folder;
  const std::string path = folder / "of a name that is not short.zarr";
  const location where(path);
  model values;
  const std::vector<leaf> leaves = values.leaves();
  const save_options options = values.options();
  SUBCASE("a new one: it is there whole, or nothing is") {
    for (const bool lasting : {false, true}) {
      sweep([&] { return dropped(save(where, leaves, options, alone())); }, lasting,
            [&] {
              const auto found = entries(folder.path());
              if (std::filesystem::exists(path)) {
                CHECK(found.size() == 1);
                check_model(path, 1.5F);
                std::filesystem::remove_all(path);
              } else if (!lasting) {
                CHECK(found.empty());
              }
              for (const std::string& one : entries(folder.path()))
                std::filesystem::remove_all(folder / one);
            });
    }
  }
  SUBCASE("over an old one, which stays until the new one is whole") {
    save(where, leaves, options, alone()).value();
    float before = values.w[0];
    values.w[0] += 1;
    for (const bool lasting : {false, true}) {
      bool told = false;  // that something of the old one stays
      sweep(
          [&]() -> result<void> {
            auto saved = save(where, leaves, options, alone());
            told = saved && !saved->warnings.empty();
            return dropped(std::move(saved));
          },
          lasting,
          [&] {
            const float now = open(path, alone())
                                  .value()
                                  .load<std::vector<float>>("layers/of/some/depth/w")
                                  .value()[0];
            CHECK((now == before || now == values.w[0]));
            if (now == values.w[0]) {
              before = now;
              values.w[0] += 1;
            }
            if (!lasting && !told) CHECK(entries(folder.path()).size() == 1);
            for (const std::string& one : entries(folder.path())) {
              if (one.starts_with(".")) std::filesystem::remove_all(folder / one);
            }
          });
    }
  }
  SUBCASE("in the background") {
    for (const bool lasting : {false, true}) {
      sweep(
          [&]() -> result<void> {
            // The arguments are the caller's: it copies them while all is well.
            return guarded(
                [&] { return dropped(save_async(where, leaves, options, alone()).get()); });
          },
          lasting);
    }
  }
  SUBCASE("a zip file") {
    const location file(folder / "of a name that is not short.zarr.zip");
    for (const bool lasting : {false, true})
      sweep([&] { return dropped(save(file, leaves, options, alone())); }, lasting);
    check_model(file.name(), 1.5F);
  }
}

TEST_CASE("allocation: a manager without memory to remove old steps does so after the next save") {
  // By the allocations of a save: at which the removal begins, and how many there are.
  constexpr long never = 1'000'000;
  long begin = 0;
  manager_options options{.keep = keep_policy([&](const keep_question& of) {
                            if (begin == 0) begin = never - test::allocations_left();
                            return keep_policy::newest(1)(of);
                          })};
  options.how = alone();
  const memory_store store;
  const std::vector<float> w(10, 1.5F);
  std::int64_t step = 0;
  auto manager = checkpoint_manager::open(location(store), options).value();
  const auto save_next = [&] {
    return guarded([&] { return dropped(manager.save(++step, {{"w", w}})); });
  };
  REQUIRE(save_next());
  begin = 0;
  test::fail_allocation(never, false);
  REQUIRE(save_next());
  const long end = never - test::allocations_left();
  CHECK_FALSE(test::allocations_work());
  for (const bool lasting : {false, true}) {
    std::size_t lost = 0;
    const long thin = zarrpoint_test::is_thinned ? 4 : 1;
    for (long n = 1; n <= end; n += (n < begin - 60 ? 29 : lasting ? 5 : 1) * thin) {
      INFO("allocation " << n << " of " << end << ", of which removals have those from " << begin);
      test::fail_allocation(n, lasting);
      const auto saved = save_next();
      test::allocations_work();
      if (!saved) CHECK(saved.failure().code == errc::resource_limit);
      if (const auto told = manager.wait(); !told) {
        ++lost;
        CHECK(told.failure().code == errc::resource_limit);
      }
      REQUIRE(save_next());
      REQUIRE(manager.wait());
      CHECK(manager.steps() == std::vector<std::int64_t>{step});
    }
    CHECK(lost > 0);
  }
  static_cast<void>(manager.close());  // which tells the first error again
  auto again = checkpoint_manager::open(location(store), options).value();
  CHECK(again.prune());
  CHECK(again.steps() == std::vector<std::int64_t>{step});
}

TEST_CASE("allocation: loads") {
  const test::temp_directory folder;
  const model values;
  const std::string path = folder / "of a name that is not short.zarr";
  save(path, values.leaves(), values.options(), alone()).value();
  const location where(path);
  sweep_both("open", [&] { return dropped(open(where, alone())); });
  const std::string leaf_name = "layers/of/some/depth/w";
  const auto fresh = [&] { return open(where, alone()); };
  // Each time from a handle of its own: what is made at a first load counts, too.
  const auto with_handle = [&](const char* name,
                               const std::function<result<void>(const checkpoint&)>& call) {
    sweep_both(name, [&]() -> result<void> {
      ZARRPOINT_TRY(opened, fresh());
      return call(opened);
    });
  };
  with_handle("metadata",
              [&](const checkpoint& from) { return dropped(from.metadata(leaf_name)); });
  with_handle("load", [&](const checkpoint& from) {
    return dropped(from.load<std::vector<float>>(leaf_name));
  });
  with_handle("load part", [&](const checkpoint& from) {
    return dropped(from.load<std::vector<float>>(leaf_name, box({8}, {40})));
  });
  std::vector<float> mine(3000);
  with_handle("load_into", [&](const checkpoint& from) {
    return from.load_into(leaf_name, std::span<float>(mine));
  });
  with_handle("load text", [&](const checkpoint& from) {
    return dropped(from.load<std::string>("note of a name that is not short"));
  });
  with_handle("view", [&](const checkpoint& from) {
    return dropped(from.view<std::int64_t>("layers/steps"));
  });
  with_handle("attributes",
              [&](const checkpoint& from) { return dropped(from.attributes(leaf_name)); });
  with_handle("as_array",
              [&](const checkpoint& from) { return dropped(from.as_array(leaf_name)); });
  with_handle("load_all", [&](const checkpoint& from) { return dropped(load_all(from)); });
  with_handle("verify", [&](const checkpoint& from) { return dropped(verify(from)); });
  with_handle("load_async", [&](const checkpoint& from) {
    return dropped(from.load_async<std::vector<float>>(leaf_name).get());
  });
}

TEST_CASE("allocation: arrays and groups") {
  const test::temp_directory folder;
  const any_store store = file_store::open(folder.path().string()).value();
  const store_key key = store_key::parse("of/a/name/that/is/not/short").value();
  array_metadata metadata;
  metadata.shape = {40, 30};
  metadata.type = dtype_kind::float32;
  metadata.chunk_shape = {10, 30};
  metadata.codecs = zstd_codecs();
  std::vector<float> values(1200, 2.5F);
  const host_view view =
      dense_view(std::as_bytes(std::span(values)).data(), {dtype_kind::float32, {40, 30}});
  // What a call takes by value is copied by its caller.
  std::optional<any_store> store_of_call;
  std::optional<store_key> key_of_call;
  std::optional<array_metadata> metadata_of_call;
  const auto prepare = [&] {
    store_of_call = store;
    key_of_call = key;
    metadata_of_call = metadata;
  };
  prepare();
  sweep_both(
      "create",
      [&] {
        return dropped(array::create(*std::move(store_of_call), *std::move(key_of_call),
                                     *std::move(metadata_of_call), alone()));
      },
      [&] {
        std::filesystem::remove_all(folder / "of");
        prepare();
      });
  const array made = array::create(store, key, metadata, alone()).value();
  sweep_both("write", [&] { return made.write(box::whole({40, 30}), view); });
  sweep_both("read", [&] { return dropped(made.read(box({3, 4}, {20, 7}))); });
  sweep_both(
      "array open", [&] { return dropped(array::open(*std::move(store_of_call), key, alone())); },
      prepare);
  sweep_both("read_async", [&] { return dropped(made.read_async(box({3, 4}, {20, 7})).get()); });
  const std::vector<index_t> rows{3, 1, 30};
  const indexed_array indexed(made);
  sweep_both("taken", [&]() -> result<void> {
    ZARRPOINT_TRY(taken, indexed.taken(0, rows));
    return dropped(taken.read());
  });
  dims longer{50, 30};
  sweep_both("resize", [&] { return dropped(resize(made, longer)); });
  const group root = group::create(store, store_key::root(), {}, alone()).value();
  key_of_call = store_key::root();
  sweep_both(
      "group open",
      [&] {
        return dropped(group::open(*std::move(store_of_call), *std::move(key_of_call), alone()));
      },
      [&] {
        prepare();
        key_of_call = store_key::root();
      });
  key_of_call = key;
  sweep_both("walk", [&] { return dropped(root.walk()); });
  sweep_both("open_array", [&] { return dropped(root.open_array(key.str())); });
  sweep_both("find", [&] { return dropped(root.find("of/a")); });
  sweep_both("consolidate", [&] { return root.consolidate(); });
}

TEST_CASE("what several threads share about an object is lost to all its items, or there for all") {
  detail::object_table<int> table;
  detail::plan_item item{};
  item.object_first = 4;
  item.object_items = 2;
  detail::plan_item before{}, behind{};
  before.object_items = behind.object_items = 4;
  behind.object_first = 6;
  const auto make = []() -> result<std::shared_ptr<int>> { return std::make_shared<int>(7); };
  CHECK(table.get(before, make));
  for (const long n : {1, 2, 3}) {  // the entry, its count and its place
    test::fail_allocation(n, false);
    const auto lost = guarded([&] { return table.get(item, make); });
    if (!test::allocations_work()) break;  // there was a place
    CHECK_FALSE(lost);
    // An item that went on without the first would wait for it for ever.
    const auto other = table.get(item, make);
    REQUIRE_FALSE(other);
    CHECK(other.failure().code == errc::resource_limit);
    CHECK_FALSE(table.get(behind, make));
    CHECK(table.get(before, make));
    table.clear();
    CHECK(table.get(before, make));
  }
  table.clear();
  CHECK(table.get(item, make));
}

TEST_CASE(
    "the pieces of a zip member that are there stay, if one that joins them finds no memory") {
  const std::vector<std::byte> bytes(30, std::byte{1});
  const bytes_view all(bytes);
  for (const long n : {1, 2}) {
    detail::zip_checksum sum;
    sum.add(0, all.first(10));
    sum.add(20, all.first(10));
    test::fail_allocation(n, true);
    const auto added = guarded([&] { return sum.add(10, all.first(10)), result<void>(); });
    test::allocations_work();
    if (!added) sum.add(10, all.first(10));
    CHECK(sum.hole(30).first == 30);
    CHECK_FALSE(sum.overlaps());
    CHECK(sum.value() == detail::crc32(0, all));
  }
}

/// One part of four items, for which allocations fail once it is begun.
class one_part final : public detail::read_ahead::parts {
 public:
  explicit one_part(long failing = 0) : failing_(failing) {}
  detail::item_run run_of(std::size_t i) const override { return {i / 4 * 4, 4}; }
  result<std::unique_ptr<source_part>> begin(const detail::item_run&, bool) override {
    auto out = std::make_unique<part>();
    if (failing_ != 0) test::fail_allocation(std::exchange(failing_, 0), false);
    return std::unique_ptr<source_part>(std::move(out));
  }

 private:
  class part final : public source_part {
   public:
    result<host_view> wait() override { return host_view{}; }
    bytes_view memory() const override { return {}; }
  };
  long failing_;
};

TEST_CASE("parts of a source for which there is no memory are errors of their items, at any step") {
  using item = detail::read_ahead::item;
  const auto part_of = [](const item& of) {
    return guarded([&]() -> result<void> { return dropped(of.part()); });
  };
  SUBCASE("once it is begun") {
    one_part parts(1);
    detail::read_ahead ahead(parts, 8, 0);
    const item first(ahead, 0);
    const item second(ahead, 1);
    CHECK_FALSE(part_of(first));
    CHECK(test::allocations_work());
    CHECK_FALSE(part_of(second));
    const item other(ahead, 4);
    CHECK(part_of(other));
  }
  SUBCASE("when the first of its items is claimed") {
    one_part parts;
    detail::read_ahead ahead(parts, 12, 0);
    const item before(ahead, 0);
    test::fail_allocation(1, false);
    const item lost(ahead, 4);
    CHECK(test::allocations_work());
    const item with_it(ahead, 5);
    const item behind(ahead, 8);
    for (const item* each : {&lost, &with_it, &behind}) CHECK_FALSE(part_of(*each));
    CHECK(part_of(before));
  }
  SUBCASE("when later parts are claimed already") {
    one_part parts;
    detail::read_ahead ahead(parts, 12, 0);
    const item before(ahead, 0);
    const item behind(ahead, 8);
    test::fail_allocation(1, false);
    const item lost(ahead, 4);
    CHECK(test::allocations_work());
    CHECK(part_of(behind));
    CHECK_FALSE(part_of(lost));
    CHECK(part_of(before));
  }
  SUBCASE("an item that ends without its part") {
    one_part parts;
    detail::read_ahead ahead(parts, 4, 0);
    std::optional<item> one(std::in_place, ahead, 0);
    test::fail_allocation(1, true);
    one.reset();
    CHECK_FALSE(test::allocations_work());
  }
}

TEST_CASE("indexes of shards are kept where there is memory, and found where they are kept") {
  const auto open_shard = []() -> result<shard_index_cache::shard> {
    ZARRPOINT_TRY(index, detail::shard_index::make(4));
    shard_index_cache::shard out;
    out.index = detail::make_counted<const detail::shard_index>(std::move(index));
    return out;
  };
  for (const bool lasting : {false, true}) {
    for (long n = 1;; ++n) {
      shard_index_cache cache(std::size_t{1} << 20, 2);
      test::fail_allocation(n, lasting);
      const auto got = guarded([&]() -> result<void> {
        return dropped(cache.get("of a name that is not short", open_shard));
      });
      const bool failed = test::allocations_work();
      for (const char* const key : {"b", "of a name that is not short", "c", "d"})
        CHECK(cache.get(key, open_shard));
      if (!failed) {
        CHECK(got);
        break;
      }
    }
  }
}

/// Has memory when it is told to.
class told_resource final : public memory_resource {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    return refuses ? nullptr : default_resource().allocate(bytes, alignment);
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    default_resource().deallocate(memory, bytes, alignment);
  }
  bool refuses = true;
};

TEST_CASE("blocks of a staging ring come back, also when there is no memory for the error's text") {
  zarrpoint_test::fake_device device(1);
  const zarrpoint_test::fake_space space{&device, 0};
  told_resource memory;
  detail::staging_ring<zarrpoint_test::fake_space> ring(
      space, {.slots = 2, .slot_bytes = 4096, .resource = &memory});
  for (int i = 0; i < 3; ++i) {
    test::fail_allocation(1, true);
    const auto none = guarded([&] { return dropped(ring.acquire()); });
    const auto tried = guarded([&]() -> result<void> {
      static_cast<void>(ring.try_acquire());
      return {};
    });
    test::allocations_work();
    CHECK_FALSE(none);
    CHECK_FALSE(tried);
  }
  memory.refuses = false;
  for (int i = 0; i < 100; ++i) {
    auto one = ring.acquire();
    auto two = ring.acquire();
    REQUIRE(one);
    REQUIRE(two);
    const auto last = space.record().value();
    test::fail_allocation(1, true);
    one->release(last);
    two->release(last);
    CHECK_FALSE(test::allocations_work());
  }
}

TEST_CASE("a write of a shard ends, though an inner chunk that others wait for finds no memory") {
  const thread_pool pool(2);
  context how;
  how.executor = pool.executor();
  const memory_store store;
  dims whole(8, 1), inner(8, 1);  // a key that is not short
  whole[0] = 16;
  whole[7] = inner[7] = 65536;
  sharding_config shard;
  shard.chunk_shape = inner;
  shard.codecs = raw_codecs();
  array_metadata metadata;
  metadata.type = dtype_kind::uint8;
  metadata.shape = metadata.chunk_shape = whole;
  metadata.fill = fill_value::zero(metadata.type);
  metadata.codecs = {shard.to_spec().value()};
  const array made = array::create(store, store_key::parse("of/a").value(), metadata, how).value();
  const std::vector<std::uint8_t> values(16 * 65536, 7);
  // 31 bytes are the first that a string of libstdc++ allocates: that of its chunk, or of its key.
  for (long n = 1; n <= 6; ++n) {
    test::fail_slowly(31, n);
    const auto written = made.write(box::whole(whole), std::span(values));
    test::allocations_work();
    if (!written) CHECK(written.failure().code == errc::resource_limit);
  }
}

TEST_CASE("a failure for which there is no memory keeps its code") {
  error failure{errc::outcome_unknown, std::string(100, 'x')};
  result<int> made = 1;
  test::fail_allocation(1, true);
  made = std::move(failure);
  const result<int> copied(made);
  const result<void> moved(std::move(made).take_failure());
  CHECK(test::allocations_work());
  for (const error& told : {copied.failure(), moved.failure()}) {
    CHECK(told.code == errc::outcome_unknown);
    CHECK(told.message == "no memory");
  }
  const result<int> whole = error{errc::corrupt, std::string(100, 'x')};
  test::fail_allocation(1, true);
  const result<int> other(whole);
  CHECK(test::allocations_work());
  CHECK(other.failure().code == errc::corrupt);
  CHECK(other.failure().message == "no memory");
}

}  // namespace allocation_test
