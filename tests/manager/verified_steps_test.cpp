// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// What a manager does with a step that is damaged, though all its sizes are right.

#include <zarrpoint/manager.hpp>
#include <zarrpoint/stores.hpp>

#include "support/hierarchy_cases.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

namespace verified_steps_test {

using namespace zarrpoint;
using list = std::vector<std::int64_t>;

/// A store that flips a bit of one object as it is written, and nothing of its size.
template <class Store>
struct flipping : Store {
  result<std::unique_ptr<blob>> open(const store_key& key) const {
    auto got = Store::open(key);
    if (!got || *got == nullptr || what->empty() || !key.str().ends_with(*what)) return got;
    std::vector<std::byte> all((*got)->size());
    ZARRPOINT_CHECK((*got)->read(0, mutable_bytes(all)));
    all[all.size() / 3] ^= std::byte{0x60};
    return std::unique_ptr<blob>(new detail::memory_blob(std::move(all), "flipped"));
  }
  std::shared_ptr<std::string> what = std::make_shared<std::string>();
};

using renaming = flipping<memory_store>;
using plain = flipping<zarrpoint_test::plain_store>;

checkpoint_manager open_at(const any_store& place, manager_options options = {}) {
  options.verify = true;
  return checkpoint_manager::open(location(place), std::move(options)).value();
}

result<void> save_step(checkpoint_manager& by, std::int64_t step) {
  const std::vector<float> w(2000, static_cast<float>(step));
  ZARRPOINT_CHECK(by.save(step, {{"w", w}}));
  return by.wait();
}

TEST_CASE_TEMPLATE("manager: a step that is found damaged is never the newest", store, renaming,
                   plain) {
  const store place;
  {
    auto manager = open_at(any_store(place), {.keep = keep_policy::newest(1)});
    save_step(manager, 1).value();
    *place.what = "step_00000002/w/c.0";
    CHECK(save_step(manager, 2).failure().code == errc::corrupt);
    CHECK(manager.latest().value() == 1);
    CHECK(manager.restore_latest().value().step == 1);
    CHECK(manager.remove(1).failure().code == errc::invalid_argument);
    CHECK(manager.steps() == list{1});
  }
  auto again = open_at(any_store(place), {.keep = keep_policy::newest(1)});
  CHECK(again.latest().value() == 1);
  *place.what = "";
  save_step(again, 2).value();
  CHECK(again.restore_latest().value().data.load<std::vector<float>>("w").value()[0] == 2);
  CHECK(again.steps() == list{2});
}

TEST_CASE_TEMPLATE("manager: a step that was saved before is not left in the records", store,
                   renaming, plain) {
  const store place;
  auto manager = open_at(any_store(place));
  for (const std::int64_t step : {1, 2}) save_step(manager, step).value();
  *place.what = "step_00000002/w/c.0";
  CHECK(save_step(manager, 2).failure().code == errc::corrupt);
  CHECK(manager.steps() == list{1});
  CHECK(manager.latest().value() == 1);
  *place.what = "";
  save_step(manager, 2).value();
  CHECK(manager.latest().value() == 2);
}

TEST_CASE("manager: what stands on a step that was found damaged is never the newest") {
  const renaming place;
  manager_options options{.whole_when = save_policy::never()};
  {
    auto manager = open_at(any_store(place), options);
    const auto save = [&](std::int64_t step) -> result<void> {
      const std::vector<std::int64_t> w(20'000, 7), n{step};
      ZARRPOINT_CHECK(manager.save(step, {{"w", w}, {"n", n}}));
      return manager.wait();
    };
    for (const std::int64_t step : {1, 2, 3}) save(step).value();
    CHECK(manager.records()[2].base == 1);
    *place.what = "step_00000001/w/c.0";
    save(4).value();  // whole
    CHECK(manager.steps() == list{4});
    manager.remove(4, true).value();
    CHECK(manager.latest().value() == std::nullopt);
  }
  *place.what = "";
  CHECK(open_at(any_store(place), options).latest().value() == std::nullopt);
}

TEST_CASE("manager: a damaged document of an item does not verify") {
  for (const char* what : {"model/zarr.json", "model/w/zarr.json", "model/w/c.0", "a.json"}) {
    CAPTURE(what);
    const renaming place;
    auto manager = open_at(any_store(place), {.keep = keep_policy::newest(1)});
    const auto save = [&](std::int64_t step) -> result<void> {
      json document;
      document.set("step", step);
      const std::vector<float> w(2000, static_cast<float>(step));
      ZARRPOINT_CHECK(manager.save_items(step, {{.name = "model", .leaves = {{"w", w}}},
                                                {.name = "a.json", .document = document}}));
      return manager.wait();
    };
    save(1).value();
    *place.what = std::string("step_00000002/") + what;
    const auto told = save(2);
    REQUIRE_FALSE(told);
    CHECK_MESSAGE(told.failure().message.find("item") != std::string::npos,
                  to_string(told.failure()));
    CHECK(manager.steps() == list{1});
    CHECK(manager.restore_latest("model").value().step == 1);
    *place.what = "";
    save(3).value();
    CHECK(manager.steps() == list{3});
  }
}

}  // namespace verified_steps_test
