// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/stored_metadata.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/shard_values.hpp"

#include <doctest/doctest.h>

namespace stored_metadata_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("stored metadata: of what is no checkpoint, and of one without shards") {
  const memory_store none;
  CHECK(load_tensors_metadata(none).failure().code == errc::not_found);
  CHECK(load_sharded_metadata(none).failure().code == errc::not_found);
  CHECK(load_plain_tensors(none).failure().code == errc::not_found);
  CHECK(load_common_state(none).failure().code == errc::not_found);
  CHECK(load_content_metadata(none).failure().code == errc::not_found);
  CHECK(remove_sharded_tensors(none, "a").failure().code == errc::not_found);
  const memory_store store;
  CHECK(save_by(2, store, [](int) { return state{{"a", state::list{1, "two"}}}; }) == "done");
  CHECK(load_tensors_metadata(store).value().empty());
  CHECK(load_plain_tensors(store).value().empty());
  CHECK(load_common_state(store).value().get<std::string>("a/1").value() == "two");
}

}  // namespace stored_metadata_test
