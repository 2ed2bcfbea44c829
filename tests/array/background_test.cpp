// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array.hpp>
#include <zarrpoint/array/base/background.hpp>
#include <zarrpoint/array/device/device_values.hpp>
#include <zarrpoint/exec/stop.hpp>
#include <zarrpoint/memory/device/device_source.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/array_cases.hpp"
#include "support/executors.hpp"
#include "support/fake_device.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace background_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;
using zarrpoint::testing::dropping_executor;
using zarrpoint::testing::manual_executor;

using numbers = std::vector<std::int32_t>;

/// The numbers from 0 in an array of {4, 4}, in four chunks, whose background work waits for
/// `later.run_all()`.
struct square {
  manual_executor later;
  memory_store store;
  array w;

  square() : w(make()) {}

  array make() const {
    array made = array::create(store, key_of("w"), raw_metadata(dtype_kind::int32, {4, 4}, {2, 2}),
                               context{})
                     .value();
    numbers all(16);
    std::iota(all.begin(), all.end(), 0);
    made.write(box::whole({4, 4}), all).value();
    return array::open(store, key_of("w"), {.executor = any_executor(later)}).value();
  }
  numbers stored(const box& part) const {
    numbers out(static_cast<std::size_t>(element_count(part.shape).value()));
    w.read(part, out).value();
    return out;
  }
};

/// An array-like whose owner is told when it dies, and where its elements are.
struct matrix {
  using value_type = std::int32_t;
  std::array<std::size_t, 2> extents{};
  std::shared_ptr<numbers> values;

  const std::array<std::size_t, 2>& shape() const { return extents; }
  const std::int32_t* data() const { return values->data(); }
  std::int32_t* data() { return values->data(); }
};

/// One that owns its elements alone, and cannot be copied.
struct lone : matrix {
  lone() : matrix{{2, 2}, std::make_shared<numbers>(4)} {}
  lone(const lone&) = delete;
  lone& operator=(const lone&) = delete;
};

TEST_CASE("read_async gives what read gives, later") {
  const square s;
  pending<tensor> waiting = s.w.read_async(box({1, 1}, {2, 3}));
  CHECK_FALSE(waiting.ready());
  s.later.run_all();
  REQUIRE(waiting.ready());
  const tensor found = waiting.get().value();
  CHECK(found.shape() == dims{2, 3});
  CHECK(found.data<std::int32_t>()[5] == 11);

  // The thread that waits does the work, and an executor that loses it changes nothing.
  CHECK(s.w.read_async(box({0, 0}, {1, 2})).get().value().shape() == dims{1, 2});
  const array lost =
      array::open(s.store, key_of("w"), {.executor = any_executor(dropping_executor())}).value();
  CHECK(lost.read_async(selection({0, 0}, {2, 2}, {2, 2})).get().value().data<std::int32_t>()[3] ==
        10);
  // Options are options, named or not.
  const read_options named{.cast = true};
  CHECK(s.w.read_async(box({0, 0}, {1, 2}), named).get().value().shape() == dims{1, 2});
  CHECK(s.w.read_async(box({0, 0}, {1, 2}), {.cast = true}).get());
}

TEST_CASE("read_async fills lvalues where they are, what views view, and keeps rvalues") {
  const square s;
  const box part({1, 1}, {2, 2});
  const numbers expected{5, 6, 9, 10};
  SUBCASE("lvalues") {
    numbers flat(4);
    lone own;
    std::int32_t one = 0;
    std::int32_t plain[2][2]{};
    pending<void> first = s.w.read_async(part, flat);
    pending<void> second = s.w.read_async(part, own);
    pending<void> third = s.w.read_async(part, plain);
    CHECK(flat == numbers(4));
    s.later.run_all();
    first.get().value();
    second.get().value();
    third.get().value();
    CHECK(flat == expected);
    CHECK(*own.values == expected);
    CHECK(plain[1][1] == 10);
    const array scalar =
        array::create(memory_store(), key_of("s"), raw_metadata(dtype_kind::int32, {}, {})).value();
    scalar.write_async(box(), 7).get().value();
    scalar.read_async(box(), one).get().value();
    CHECK(one == 7);
  }
  SUBCASE("views, named or not, which are gone by then") {
    numbers a(4), b(4), c(4);
    pending<void> first, second, third;
    {
      std::optional<std::span<std::int32_t>> named(a);
      first = s.w.read_async(part, *named);
      second = s.w.read_async(part, std::span(b));
      mutable_host_view view = dense_view(reinterpret_cast<std::byte*>(c.data()),
                                          tensor_spec{dtype_kind::int32, {2, 2}});
      third = s.w.read_async(part, view);
      named.reset();
      view = {};
    }
    s.later.run_all();
    first.get().value();
    second.get().value();
    third.get().value();
    CHECK(a == expected);
    CHECK(b == expected);
    CHECK(c == expected);
  }
  SUBCASE("rvalues: until the work is done, and no longer") {
    const auto values = std::make_shared<numbers>(4);
    pending<void> waiting = s.w.read_async(part, matrix{{2, 2}, values});
    CHECK(values.use_count() == 2);
    s.later.run_all();
    REQUIRE(waiting.ready());
    CHECK(values.use_count() == 1);
    CHECK(*values == expected);
    waiting.get().value();
  }
}

TEST_CASE("write_async writes lvalues as they are then, copies of numbers, and keeps rvalues") {
  const square s;
  const box part({1, 1}, {2, 2});
  SUBCASE("lvalues") {
    numbers flat(4);
    lone own;
    pending<void> first = s.w.write_async(part, flat);
    pending<void> second = s.w.write_async(box({0, 0}, {2, 2}), std::as_const(own));
    flat = {-1, -2, -3, -4};
    *own.values = {50, 51, 52, 53};
    s.later.run_all();
    first.get().value();
    second.get().value();
    CHECK(s.stored(box({1, 1}, {2, 2})) == numbers{53, -2, -3, -4});
    CHECK(s.stored(box({0, 0}, {1, 2})) == numbers{50, 51});
  }
  SUBCASE("numbers and views, which are gone by then") {
    numbers kept{20, 21, 22, 23};
    std::int32_t one = 77;
    std::optional<std::span<const std::int32_t>> view(kept);
    const array scalar =
        array::create(s.store, key_of("s"), raw_metadata(dtype_kind::int32, {}, {}),
                      {.executor = any_executor(s.later)})
            .value();
    pending<void> first = s.w.write_async(part, *view);
    pending<void> second = scalar.write_async(box(), one);
    view.reset();
    one = 0;
    s.later.run_all();
    first.get().value();
    second.get().value();
    CHECK(s.stored(part) == kept);
    scalar.read(box(), one).value();
    CHECK(one == 77);
  }
  SUBCASE("rvalues: until the work is done, and no longer") {
    const auto values = std::make_shared<numbers>(numbers{30, 31, 32, 33});
    pending<void> waiting = s.w.write_async(part, matrix{{2, 2}, values});
    CHECK(values.use_count() == 2);
    s.later.run_all();
    CHECK(values.use_count() == 1);
    waiting.get().value();
    CHECK(s.stored(part) == *values);
  }
  SUBCASE("text, of which a copy goes") {
    auto metadata = raw_metadata(dtype_kind::string, {}, {});
    metadata.fill = fill_value::zero(dtype_kind::string);
    const array text =
        array::create(s.store, key_of("t"), metadata, {.executor = any_executor(s.later)}).value();
    std::string word = "before";
    pending<void> waiting = text.write_async(box(), word);
    word = "after";
    s.later.run_all();
    waiting.get().value();
    text.read(box(), word).value();
    CHECK(word == "before");
  }
}

TEST_CASE("the destructor waits, so that what is borrowed may live in the same scope") {
  const square s;
  numbers into(4);
  { const pending<void> dropped = s.w.read_async(box({1, 1}, {2, 2}), into); }
  CHECK(into == numbers{5, 6, 9, 10});
  s.later.run_all();  // its task finds nothing to do
  CHECK(into == numbers{5, 6, 9, 10});
}

TEST_CASE("the context of the options is copied, and its executor does the work") {
  const square s;
  const manual_executor other;
  numbers into(4);
  pending<void> waiting;
  {
    const auto named = std::make_unique<context>(context{.executor = any_executor(other)});
    waiting = s.w.read_async(box({1, 1}, {2, 2}), into, {.how = named.get()});
  }
  s.later.run_all();
  CHECK_FALSE(waiting.ready());
  other.run_all();
  REQUIRE(waiting.ready());
  waiting.get().value();
  CHECK(into == numbers{5, 6, 9, 10});
}

TEST_CASE("errors come with the result, and so does a stop") {
  const square s;
  const auto failure = [](auto waiting) {
    const auto done = waiting.get();
    REQUIRE_FALSE(done);
    INFO(done.failure().message);
    CHECK(done.failure().message.starts_with("array memory:w: "));
    return done.failure();
  };
  numbers five(5);
  CHECK(failure(s.w.read_async(box({1, 0}, {4, 4}))).code == errc::out_of_range);
  CHECK(failure(s.w.read_async(box({1, 1}, {2, 2}), five)).code == errc::shape_mismatch);
  CHECK(failure(s.w.write_async(box({1, 1}, {2, 2}), five)).code == errc::shape_mismatch);
  CHECK(failure(s.w.write_async(box({1, 1}, {2, 2}), std::vector<float>(4))).code ==
        errc::dtype_mismatch);
  s.store.erase(key_of("w/c/0/0")).value();
  CHECK(failure(s.w.read_async(box({0, 0}, {2, 2}), {.missing = missing_chunks::error})).code ==
        errc::not_found);

  const stop_source stop;
  const context how{.executor = any_executor(s.later), .stop = stop.token()};
  numbers into(16, -1);
  pending<void> reading = s.w.read_async(box::whole({4, 4}), into, {.how = &how});
  pending<void> writing = s.w.write_async(box::whole({4, 4}), numbers(16), {.how = &how});
  stop.request_stop();
  s.later.run_all();
  CHECK(failure(std::move(reading)).code == errc::cancelled);
  CHECK(failure(std::move(writing)).code == errc::cancelled);
  CHECK(into == numbers(16, -1));
  CHECK(s.stored(box({2, 2}, {2, 2})) == numbers{10, 11, 14, 15});
}

TEST_CASE("devices and sources are written and read in the background, too") {
  const square s;
  fake_device device(1);
  const fake_space space{&device};
  device_tensor<std::int32_t> there(space, {2, 2});
  pending<void> reading = s.w.read_async(box({1, 1}, {2, 2}), there);
  CHECK_FALSE(reading.ready());
  s.later.run_all();
  reading.get().value();
  CHECK(there.download() == numbers{5, 6, 9, 10});
  s.w.write_async(box({0, 2}, {2, 2}), there).get().value();
  CHECK(s.stored(box({0, 2}, {2, 2})) == numbers{5, 6, 9, 10});

  const detail::ring_options sizes{.slots = 2, .slot_bytes = 64};
  const auto ring = std::make_shared<detail::staging_ring<fake_space>>(space, sizes);
  const auto source = detail::device_source<fake_space>::make(
                          handler_of<device_tensor<std::int32_t>>::view(there), ring)
                          .value();
  pending<void> writing = s.w.write_async(box({2, 0}, {2, 2}), *source);
  CHECK_FALSE(writing.ready());
  s.later.run_all();
  writing.get().value();
  CHECK(s.stored(box({2, 0}, {2, 2})) == numbers{5, 6, 9, 10});
}

}}  // namespace background_test
