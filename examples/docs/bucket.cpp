// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The programs of docs/write_a_store.md. It returns whether they gave what the page promises.

#include <zarrpoint/zarrpoint.hpp>

#include "my_store.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace zp = zarrpoint;

namespace {

/// Saves beneath a key that was never used, and then says which one is the newest.
zp::result<void> save_step(const zp::any_store& bucket, std::int64_t step,
                           const std::vector<zp::leaf>& leaves) {
  const std::string name = "step_" + std::to_string(step);
  ZARRPOINT_TRY(key, zp::store_key::parse(name));
  ZARRPOINT_CHECK(zp::save(zp::location(bucket, key), leaves));
  ZARRPOINT_TRY(latest, zp::store_key::parse("latest"));
  return bucket.put(latest, zp::as_bytes(name));  // one object, replaced in one step
}

zp::result<zp::checkpoint> open_latest(const zp::any_store& bucket) {
  ZARRPOINT_TRY(latest, zp::store_key::parse("latest"));
  ZARRPOINT_TRY(object, bucket.open(latest));
  if (object == nullptr) return zp::error{zp::errc::not_found, "nothing was saved yet"};
  if (object->size() > 100) return zp::error{zp::errc::corrupt, "latest: too long for a name"};
  std::string name(static_cast<std::size_t>(object->size()), ' ');
  ZARRPOINT_CHECK(object->read(0, std::as_writable_bytes(std::span(name))));
  ZARRPOINT_TRY(key, zp::store_key::parse(name));
  return zp::open(zp::location(bucket, key));
}

}  // namespace

int main() {
  const zp::any_store bucket = example::my_store();
  const bool empty = !open_latest(bucket);
  for (std::int64_t step = 1; step <= 2; ++step)
    save_step(bucket, step, {{"step", step}, {"w", std::vector<float>(10, 0.5F)}}).value();
  const bool found = open_latest(bucket).value().load<std::int64_t>("step").value() == 2;
  std::puts(empty && found ? "as docs/write_a_store.md says"
                           : "not what docs/write_a_store.md says");
  return empty && found ? 0 : 1;
}
