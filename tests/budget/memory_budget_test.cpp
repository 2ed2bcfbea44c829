// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Arrays and checkpoints of many shapes, chunkings and chains under budgets from too small to
// ample: each operation gives the right values or `resource_limit`, and takes no more than its
// budget and a constant; what one thread can do within a budget, many can.
// ZARRPOINT_BUDGET_CASES=100000 runs more cases, ZARRPOINT_BUDGET_SEED others.

#include <zarrpoint/array.hpp>
#include <zarrpoint/members.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/verify.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "budget/counted_peak.hpp"
#include "support/array_cases.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace memory_budget_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::uint64_t seed() { return number_of("ZARRPOINT_BUDGET_SEED", 1); }

test::counted_resource& counted() {
  static test::counted_resource all;
  return all;
}

const any_executor& threads(unsigned n) {
  static std::map<unsigned, std::unique_ptr<thread_pool>> pools;
  static std::map<unsigned, any_executor> executors;
  if (executors.count(n) == 0) {
    if (n == 1) {
      executors.emplace(n, any_executor());
    } else {
      pools[n] = std::make_unique<thread_pool>(n);
      executors.emplace(n, pools[n]->executor());
    }
  }
  return executors.at(n);
}

context with(std::size_t limit, unsigned workers) {
  return {.executor = threads(workers),
          .codecs = all_codecs::table(),
          .limit = {.memory = limit},
          .resource = &counted()};
}

/// A budget from a twentieth to eight times of `bytes`, all sizes alike.
std::size_t random_limit(random_source& random, std::size_t bytes) {
  const double power = static_cast<double>(pick(random, 1000)) / 1000 * std::log2(160.0);
  return static_cast<std::size_t>(static_cast<double>(bytes) / 20 * std::exp2(power)) + 4096;
}

/// How many bytes beyond 1.05 times its budget any operation took.
std::int64_t& most_beyond() {
  static std::int64_t out = 0;
  return out;
}

/// Runs `f(how)`, which is to check the values that it gets, on one thread and on some.
void check_within(std::size_t limit, unsigned workers,
                  const std::function<result<void>(const context&)>& f) {
  bool alone_fits = false;
  for (const unsigned n : {1U, workers}) {
    const context how = with(limit, n);
    result<void> done;
    std::string text;
    const std::size_t peak = test::peak_of([&] {
      done = f(how);
      if (!done) text = to_string(done.failure());
    });
    CAPTURE(n);
    CAPTURE(limit);
    CAPTURE(peak);
    CAPTURE(text);
    CHECK(test::keeps_to(limit, peak));
    most_beyond() = std::max(most_beyond(), static_cast<std::int64_t>(peak) -
                                                static_cast<std::int64_t>(limit + limit / 20));
    if (!done) CHECK(done.failure().code == errc::resource_limit);
    if (n == 1) alone_fits = done.has_value();
    if (alone_fits) CHECK(done.has_value());
  }
}

/// An array in memory, and its elements.
struct stored {
  array_metadata metadata;
  memory_store store;
  tensor values;
};

dtype random_type(random_source& random) {
  static const std::vector<dtype> all{dtype_kind::int8, dtype_kind::uint16, dtype_kind::int32,
                                      dtype_kind::float32, dtype_kind::float64};
  return all[pick(random, all.size())];
}

std::vector<codec_spec> random_chain(random_source& random, const dims& shape, const dtype& type) {
  std::vector<codec_spec> out;
  if (shape.rank() > 1 && pick(random, 4) == 0) {
    dims order;
    for (std::size_t d = shape.rank(); d-- > 0;) order.push_back(static_cast<index_t>(d));
    out.push_back(transpose_spec(order));
  }
  out.push_back(bytes_spec(pick(random, 5) == 0 ? "big" : "little"));
  switch (pick(random, 7)) {
    case 0: break;
    case 1: out.push_back({"gzip", json::object{{"level", 1}}}); break;
    case 2:
      out.push_back({"blosc", json::object{{"cname", "zstd"},
                                           {"clevel", 1},
                                           {"shuffle", "shuffle"},
                                           {"typesize", static_cast<int>(type.size())},
                                           {"blocksize", 0}}});
      break;
    case 3:
      out.push_back({"blosc", json::object{{"cname", "lz4"},
                                           {"clevel", 5},
                                           {"shuffle", "bitshuffle"},
                                           {"typesize", static_cast<int>(type.size())},
                                           {"blocksize", 0}}});
      break;
    default: out.push_back(zstd_spec()); break;
  }
  if (pick(random, 3) == 0) out.push_back(crc32c_spec());
  return out;
}

void fill_random(const mutable_host_view& to, random_source& random) {
  const std::size_t bytes = byte_count(to.spec()).value();
  const std::size_t kind = pick(random, 3);
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::size_t at = i / to.type.size();
    to.data[i] = static_cast<std::byte>(kind == 0   ? random() & 0x3f
                                        : kind == 1 ? (at / 100 + i % to.type.size()) & 0x3f
                                                    : 7);
  }
}

stored random_stored(random_source& random) {
  stored out;
  const dtype type = random_type(random);
  dims shape;
  dims inner;
  dims outer;
  const std::size_t rank = 1 + pick(random, 3);
  const auto most = static_cast<index_t>(rank == 1 ? 400000 : rank == 2 ? 700 : 80);
  for (std::size_t d = 0; d < rank; ++d) {
    shape.push_back(1 + static_cast<index_t>(pick(random, static_cast<std::size_t>(most))));
    const auto parts = static_cast<index_t>(1 + pick(random, 6));
    inner.push_back(std::max<index_t>(shape[d] / parts, 1));
    outer.push_back(inner[d] * static_cast<index_t>(1 + pick(random, 4)));
  }
  out.metadata = raw_metadata(type, shape, inner);
  out.metadata.codecs = random_chain(random, shape, type);
  if (pick(random, 2) == 0) {
    out.metadata.chunk_shape = outer;
    out.metadata = sharded_metadata(std::move(out.metadata), inner);
  }
  out.values = tensor::make(out.metadata.spec()).value();
  fill_random(out.values.mutable_view(), random);
  const array made = array::create(out.store, key_of("a"), out.metadata, with(SIZE_MAX, 1)).value();
  made.write(box::whole(shape), out.values.view()).value();
  return out;
}

bool same(const host_view& a, const host_view& b) {
  if (a.spec() != b.spec()) return false;
  bool out = true;
  for_each_coordinate(a.shape, [&](const dims& at) {
    out = out && std::memcmp(a.data + offset_of(at, a.strides), b.data + offset_of(at, b.strides),
                             a.type.size()) == 0;
  });
  return out;
}

box random_box(random_source& random, const dims& shape) {
  box out = box::whole(shape);
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (pick(random, 2) == 0) continue;
    out.offset[d] = static_cast<index_t>(pick(random, static_cast<std::size_t>(shape[d])));
    out.shape[d] =
        1 + static_cast<index_t>(pick(random, static_cast<std::size_t>(shape[d] - out.offset[d])));
  }
  return out;
}

std::size_t bytes_of(const tensor_spec& spec) { return byte_count(spec).value(); }

void check_reads(const stored& of, random_source& random) {
  const unsigned workers = 2U << pick(random, 3);
  const dims& shape = of.metadata.shape;
  const box part = random_box(random, shape);
  const host_view expected = subview(of.values.view(), part);
  const std::size_t limit = random_limit(random, bytes_of(of.metadata.spec()));
  const auto open_it = [&](const context& how) {
    return array::from_metadata(of.store, key_of("a"), of.metadata, how).value();
  };
  INFO("a box, to a new tensor");
  check_within(limit, workers, [&](const context& how) -> result<void> {
    ZARRPOINT_TRY(read, open_it(how).read(part));
    CHECK(same(read.view(), expected));
    return {};
  });
  INFO("then: the same, cast to memory of the caller");
  std::vector<double> doubles(static_cast<std::size_t>(element_count(part.shape).value()));
  std::vector<double> wanted(doubles.size());
  REQUIRE(detail::cast_elements(view_of(wanted, part.shape), expected));
  check_within(limit, workers, [&](const context& how) -> result<void> {
    ZARRPOINT_CHECK(open_it(how).read(part, view_of(doubles, part.shape), {.cast = true}));
    CHECK(std::memcmp(doubles.data(), wanted.data(), doubles.size() * sizeof(double)) == 0);
    return {};
  });
  INFO("then: positions of an axis");
  const std::size_t axis = pick(random, shape.rank());
  std::vector<index_t> positions;
  for (std::size_t i = 0; i < 1 + pick(random, 40); ++i)
    positions.push_back(static_cast<index_t>(pick(random, static_cast<std::size_t>(shape[axis]))));
  tensor_spec taken = of.metadata.spec();
  taken.shape[axis] = static_cast<index_t>(positions.size());
  tensor gathered = tensor::make(taken).value();
  for (std::size_t i = 0; i < positions.size(); ++i) {
    box from = box::whole(shape);
    from.offset[axis] = positions[i];
    from.shape[axis] = 1;
    box to = box::whole(taken.shape);
    to.offset[axis] = static_cast<index_t>(i);
    to.shape[axis] = 1;
    copy_elements(subview(gathered.mutable_view(), to), subview(of.values.view(), from));
  }
  check_within(limit, workers, [&](const context& how) -> result<void> {
    ZARRPOINT_TRY(some, indexed_array(open_it(how)).taken(axis, positions));
    ZARRPOINT_TRY(read, some.read());
    CHECK(same(read.view(), gathered.view()));
    return {};
  });
}

void check_writes(const stored& of, random_source& random) {
  const unsigned workers = 2U << pick(random, 3);
  const dims& shape = of.metadata.shape;
  const box part = random_box(random, shape);
  const std::size_t limit = random_limit(random, bytes_of(of.metadata.spec()));
  tensor other = tensor::make({of.metadata.type, part.shape}).value();
  fill_random(other.mutable_view(), random);
  tensor expected = tensor::make(of.metadata.spec()).value();
  copy_elements(expected.mutable_view(), of.values.view());
  copy_elements(subview(expected.mutable_view(), part), other.view());
  tensor after = tensor::make(of.metadata.spec()).value();
  const test::temp_directory folder;
  int number = 0;
  INFO("a box is written");
  check_within(limit, workers, [&](const context& how) -> result<void> {
    // What the store keeps is not the operation's: it lies in files.
    const std::string path = folder / std::to_string(++number);
    std::filesystem::create_directory(path);
    const any_store files = file_store::open(path).value();
    ZARRPOINT_TRY(to, array::create(files, key_of("a"), of.metadata, how));
    ZARRPOINT_CHECK(to.write(box::whole(shape), of.values.view()));
    ZARRPOINT_CHECK(to.write(part, other.view()));
    const array from =
        array::from_metadata(files, key_of("a"), of.metadata, with(SIZE_MAX, 1)).value();
    from.read(box::whole(shape), after.mutable_view()).value();
    CHECK(same(after.view(), expected.view()));
    return {};
  });
}

}  // namespace

TEST_CASE("budget: arrays") {
  const std::uint64_t cases = number_of("ZARRPOINT_BUDGET_CASES", 120);
  for (std::uint64_t i = 0; i < cases; ++i) {
    random_source random(seed() * 1000003 + i);
    INFO("case " << i);
    const stored of = random_stored(random);
    CAPTURE(to_string(of.metadata.spec()));
    CAPTURE(to_string(of.metadata.chunk_shape));
    CAPTURE(of.metadata.codecs.back().name);
    check_reads(of, random);
    if (i % 4 == 0) check_writes(of, random);
  }
  MESSAGE("arrays: " << cases << " cases of seed " << seed() << "; at most " << most_beyond()
                     << " bytes beyond 1.05 times the budget");
}

TEST_CASE("budget: checkpoints") {
  const std::uint64_t cases = number_of("ZARRPOINT_BUDGET_CASES", 40);
  for (std::uint64_t i = 0; i < cases; ++i) {
    random_source random(seed() * 7000003 + i);
    INFO("case " << i);
    std::map<std::string, std::vector<float>> values;
    std::size_t all = 0;
    std::size_t largest = 0;
    for (std::size_t k = 0; k < 1 + pick(random, 6); ++k) {
      std::vector<float> one(1 + pick(random, 200000));
      for (float& x : one) x = static_cast<float>(random() & 0xff);
      all += one.size() * sizeof(float);
      largest = std::max(largest, one.size() * sizeof(float));
      values.emplace("group/leaf " + std::to_string(k), std::move(one));
    }
    std::vector<leaf> leaves;
    for (auto& [name, one] : values) leaves.emplace_back(name, one);
    save_options options{.sync = false};
    leaf_rule rule;
    switch (pick(random, 4)) {
      case 0: break;
      case 1: rule.codecs = blosc_codecs(); break;
      default: rule.codecs = zstd_codecs(); break;
    }
    if (pick(random, 2) == 0)
      rule.chunk_shape = dims{static_cast<index_t>(1000 + pick(random, 100000))};
    options.rules = {rule};
    const test::temp_directory folder;
    const std::string path = folder / "c.zarr";
    save(path, leaves, options, with(SIZE_MAX, 1)).value();
    const unsigned workers = 2U << pick(random, 3);
    const auto& [name, first] = *values.begin();

    INFO("load, to a vector and to a tensor");
    const std::size_t limit = random_limit(random, largest);
    check_within(limit, workers, [&](const context& how) -> result<void> {
      ZARRPOINT_TRY(opened, open(path, how));
      {
        ZARRPOINT_TRY(read, opened.load<std::vector<float>>(name));
        CHECK(read == first);
      }
      ZARRPOINT_TRY(again, opened.load<tensor>(name));
      CHECK(std::memcmp(again.view().data, first.data(), first.size() * sizeof(float)) == 0);
      return {};
    });
    INFO("then: a part, cast");
    check_within(limit, workers, [&](const context& how) -> result<void> {
      ZARRPOINT_TRY(opened, open(path, how));
      const box part({0}, {static_cast<index_t>(first.size() / 2)});
      ZARRPOINT_TRY(read, opened.load<std::vector<double>>(name, part, {.cast = true}));
      CHECK(std::equal(read.begin(), read.end(), first.begin()));
      return {};
    });
    INFO("then: all of it");
    check_within(random_limit(random, all), workers, [&](const context& how) -> result<void> {
      ZARRPOINT_TRY(opened, open(path, how));
      ZARRPOINT_TRY(read, load_all(opened));
      CHECK(read.size() == values.size());
      return {};
    });
    INFO("then: all of it as one value");
    check_within(random_limit(random, all), workers, [&](const context& how) -> result<void> {
      ZARRPOINT_TRY(opened, open(path, how));
      ZARRPOINT_TRY(read, (opened.load<std::map<std::string, std::vector<float>>>("group")));
      CHECK(read.size() == values.size());
      return {};
    });
    INFO("then: verify");
    check_within(random_limit(random, largest), workers, [&](const context& how) -> result<void> {
      ZARRPOINT_TRY(opened, open(path, how));
      ZARRPOINT_TRY(report, verify(opened));
      CHECK(report.result() != verdict::faulty);
      if (report.result() == verdict::ok) return {};
      return error{errc::resource_limit, report.leaves.front().name + " was not verified"};
    });
    INFO("then: save");
    int number = 0;
    check_within(random_limit(random, largest), workers, [&](const context& how) -> result<void> {
      ZARRPOINT_TRY(saved, save(folder / ("s" + std::to_string(++number)), leaves, options, how));
      CHECK(saved.bytes == all);
      return {};
    });
  }
  MESSAGE("checkpoints: " << cases << " cases of seed " << seed() << "; at most " << most_beyond()
                          << " bytes beyond 1.05 times the budget");
}

}  // namespace memory_budget_test
