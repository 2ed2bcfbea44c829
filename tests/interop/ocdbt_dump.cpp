// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Everything in an OCDBT database, for py/ocdbt_check.py to compare with what TensorStore reads.
//
//   ocdbt_dump all FOLDER [GENERATION]    each key and its value, with their sizes before them
//   ocdbt_dump versions FOLDER            a line for each version: generation, time, keys
//   ocdbt_dump get FOLDER                 of each line of the input, a key, what `all` would print

#include <zarrpoint/ocdbt.hpp>
#include <zarrpoint/stores.hpp>

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace zp = zarrpoint;

void put(const void* bytes, std::size_t size) { std::fwrite(bytes, 1, size, stdout); }

void put_sized(std::string_view key, const std::vector<std::byte>& value) {
  const std::uint64_t sizes[] = {key.size(), value.size()};
  put(sizes, sizeof sizes);
  put(key.data(), key.size());
  put(value.data(), value.size());
}

zp::result<void> dump_key(const zp::ocdbt_store& store, const zp::store_key& key) {
  ZARRPOINT_TRY(value, zp::get(store, key, std::uint64_t{1} << 32));
  if (value) put_sized(key.str(), *value);
  return {};
}

zp::result<void> dump(const zp::ocdbt_store& store, const zp::store_key& at) {
  ZARRPOINT_TRY(children, store.list(at));
  for (const zp::list_entry& child : children) {
    ZARRPOINT_TRY(key, at.child(child.name));
    ZARRPOINT_CHECK(dump_key(store, key));
    if (child.is_prefix) ZARRPOINT_CHECK(dump(store, key));
  }
  return {};
}

zp::result<void> run(const std::vector<std::string>& arguments) {
  zp::ocdbt_options how;
  if (arguments.size() > 3) how.generation = std::stoull(arguments[3]);
  ZARRPOINT_TRY(base, zp::file_store::open(arguments[2], {.read_only = true}));
  ZARRPOINT_TRY(store, zp::ocdbt_store::open(base, zp::store_key::root(), how));
  if (arguments[1] == "all") return dump(store, zp::store_key::root());
  if (arguments[1] == "versions") {
    ZARRPOINT_TRY(versions, store.versions());
    for (const zp::ocdbt_version& of : versions)
      std::cout << of.generation << ' ' << of.commit_time << ' ' << of.keys << '\n';
    return {};
  }
  for (std::string line; std::getline(std::cin, line);) {
    ZARRPOINT_TRY(key, zp::store_key::parse(line));
    ZARRPOINT_CHECK(dump_key(store, key));
  }
  return {};
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> arguments(values, values + count);
  if (arguments.size() < 3) return 2;
  const auto done = run(arguments);
  if (!done) std::cerr << zp::to_string(done.failure()) << '\n';
  return done ? 0 : 1;
}
