// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/load_batch.hpp>
#include <zarrpoint/checkpoint/load/load_into_all.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/fake_device.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace load_batch_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("each memory space gets its targets together, and all are marked before any is read") {
  const memory_store store;
  save(store, {{"a", std::vector<float>{1, 2}}, {"b", std::vector<float>{3}}}).value();
  fake_device device(1);
  const checkpoint from = open(store).value();
  std::vector<float> on_host(2);
  device_tensor<float> first({&device, 0}, {1});
  device_tensor<float> second({&device, 0}, {2});
  device_tensor<float> third({&device, 0}, {1});
  third.mark_loaded(true);
  const load_target targets[] = {{"b", first}, {"a", on_host}, {"a", second}, {"none", third}};
  const detail::bound_target* bound[] = {&targets[0].bound(), &targets[1].bound(),
                                         &targets[2].bound(), &targets[3].bound()};
  detail::load_targets(from, std::span(bound).first(3), {}).value();
  CHECK(device.copies() == 1);
  CHECK(first.loaded());
  CHECK(second.download() == on_host);
  const result<void> refused = detail::load_targets(from, bound, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::not_found);
  CHECK_FALSE(first.loaded());
  CHECK_FALSE(third.loaded());
}

TEST_CASE("of errors on the host the first target's is told") {
  const memory_store store;
  save(store, {{"a", std::vector<float>{1, 2}}}).value();
  const checkpoint from = open(store).value();
  std::vector<float> wrong(3);
  const load_target one("a", wrong);
  const load_target two("b", wrong);
  const detail::bound_target* bound[] = {&one.bound(), &two.bound()};
  CHECK(detail::load_targets(from, bound, {}).failure().code == errc::shape_mismatch);
  std::swap(bound[0], bound[1]);
  CHECK(detail::load_targets(from, bound, {}).failure().code == errc::not_found);
}

}  // namespace load_batch_test
