// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A zip file of any bytes: what opens is within the file, and comes back when it is written anew.

#include <zarrpoint/store/zip/zip_store.hpp>
#include <zarrpoint/store/zip/zip_writer.hpp>
#include <zarrpoint/store/zip_inflate.hpp>

#include "fuzz.hpp"

#include <algorithm>
#include <vector>

namespace {

using namespace fuzz;

/// Whole and in two parts; the checksum is verified by the whole.
void read_member(const zp::blob& object, zp::mutable_bytes whole) {
  if (!object.read(0, whole)) return;
  std::vector<std::byte> parts(whole.size());
  const std::size_t half = parts.size() / 2;
  const bool read = object.read(half, zp::mutable_bytes(parts).subspan(half)).has_value() &&
                    object.read(0, zp::mutable_bytes(parts).first(half)).has_value();
  require(read, "what is read whole is read in parts");
  require(std::equal(parts.begin(), parts.end(), whole.begin()), "parts are those of the whole");
  if (const auto mapped = object.map())
    require(std::equal(whole.begin(), whole.end(), mapped->bytes().begin()),
            "a mapping and a copy are the same");
}

void walk(const zp::zip_store& archive, const zp::store_key& at, const zp::zip_writer& copy) {
  for (const zp::list_entry& child : archive.list(at).value()) {
    const auto below = at.child(child.name);
    require(below.has_value(), "names are keys");
    const auto object = archive.open(*below);
    if (object && *object != nullptr && (*object)->size() <= (std::size_t{1} << 20)) {
      std::vector<std::byte> bytes(static_cast<std::size_t>((*object)->size()));
      read_member(**object, bytes);
      copy.put(*below, bytes).value();
    }
    if (child.is_prefix) walk(archive, *below, copy);
  }
}

void same(const zp::zip_store& archive, const zp::zip_writer& written, const zp::store_key& at) {
  for (const zp::list_entry& child : written.list(at).value()) {
    const auto below = at.child(child.name).value();
    const auto object = written.open(below).value();
    if (object != nullptr) {
      const auto again = zp::get(archive, below, std::size_t{1} << 20).value();
      std::vector<std::byte> bytes(static_cast<std::size_t>(object->size()));
      object->read(0, bytes).value();
      require(again.has_value() && *again == bytes, "what was written is what is read");
    }
    if (child.is_prefix) same(archive, written, below);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const zp::memory_store store;
  store.put(key("in"), {reinterpret_cast<const std::byte*>(data), size}).value();
  const auto file = store.open(key("in")).value();
  if (const auto members = zp::detail::read_zip_directory(*file)) {
    std::uint64_t stored = 0;
    for (const zp::detail::zip_member& member : *members) stored += member.stored_size;
    require(stored <= size, "no byte of the file is in two members");
  }
  const auto archive = zp::zip_store::open(store, key("in"), {.inflate = zp::zip_inflate});
  if (!archive) return 0;
  const auto copy = zp::zip_writer::begin(store, key("out")).value();
  const auto second = zp::zip_writer::begin(store, key("again")).value();
  walk(*archive, zp::store_key::root(), copy);
  walk(*archive, zp::store_key::root(), second);
  copy.finish().value();
  const auto written = zp::zip_store::open(store, key("out"));
  require(written.has_value(), "what the writer wrote opens");
  same(*written, second, zp::store_key::root());
  return 0;
}
