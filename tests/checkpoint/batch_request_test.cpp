// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/load_batch.hpp>
#include <zarrpoint/checkpoint/load/load_into_all.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace batch_request_test {

using namespace zarrpoint;
using detail::checkpoint_access;

TEST_CASE("a target is handed on only when it fits its leaf") {
  const memory_store store;
  save(store, {{"w", std::vector<float>{1, 2, 3}}}).value();
  const checkpoint from = open(store).value();
  const auto code_of = [&](const detail::bound_target& target, const load_options& options = {}) {
    const result<void> done = checkpoint_access::with_target<host_space>(
        {from, options, {}}, target,
        [&](const array& source, const mutable_host_view& into, const read_options& how) {
          CHECK(source.spec().shape == dims{3});
          CHECK(into.shape == dims{3});
          CHECK(how.checksums == options.verify);
          return result<void>(error{errc::cancelled, "called"});
        });
    return done.failure().code;
  };
  std::vector<float> right(3);
  std::vector<float> wrong(2);
  std::vector<double> other(3);
  CHECK(code_of(load_target("w", right).bound()) == errc::cancelled);
  CHECK(code_of(load_target("w", right).bound(), {.verify = false}) == errc::cancelled);
  CHECK(code_of(load_target("v", right).bound()) == errc::not_found);
  CHECK(code_of(load_target("w", wrong).bound()) == errc::shape_mismatch);
  CHECK(code_of(load_target("w", other).bound()) == errc::dtype_mismatch);
  CHECK(code_of(load_target("w", other).bound(), {.cast = true}) == errc::cancelled);
  detail::bound_target casts = load_target("w", other).bound();
  casts.casts = true;
  CHECK(code_of(casts) == errc::cancelled);
}

}  // namespace batch_request_test
