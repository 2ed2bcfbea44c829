// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A checkpoint of torch.distributed.checkpoint of which `.metadata`, or the item of a tensor, is
// the input, as the first byte says. What opens is listed, and each array of it read.

#include <zarrpoint/interop/dcp/dcp_store.hpp>

#include "../support/dcp_bytes.hpp"
#include "fuzz.hpp"

#include <string>

namespace {

using namespace fuzz;

/// A sound one, whose boxes form no grid.
const zp::memory_store& sound() {
  static const zp::memory_store out =
      test::dcp_checkpoint({{"t", {4, 6}, {{{0, 0}, {1, 6}}, {{1, 0}, {3, 2}}, {{1, 2}, {3, 4}}}},
                            {"g", {4, 3}, {{{0, 0}, {3, 3}}, {{3, 0}, {1, 3}}}}});
  return out;
}

void read_array(const zp::any_store& store, const zp::store_key& at) {
  const zp::context how = bounded();
  const auto array = zp::array::open(store, at, how);
  if (!array) return;
  const auto bytes = byte_count(array->metadata().spec());
  require(bytes.has_value(), "an array that opens has a size");
  if (*bytes > 1 << 20) return;
  (void)array->read(zp::selection(zp::box::whole(array->metadata().shape)));
}

void read_all(const zp::any_store& store, const zp::store_key& at, int& left) {
  const auto children = store.list(at);
  if (!children) return;
  for (const zp::list_entry& child : *children) {
    const auto below = at.child(child.name);
    require(below.has_value(), "what is listed is a key");
    if (--left < 0) return;
    if (child.is_prefix) {
      read_all(store, *below, left);
    } else if (child.name == "zarr.json") {
      read_array(store, at);
    } else {
      const auto object = store.open(*below);
      require(!object || *object != nullptr, "a chunk that is listed is there");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  input from(data, size);
  const bool is_metadata = from.byte() % 2 == 0;
  const std::string item(zp::as_text(from.rest()));
  const zp::memory_store base;
  if (is_metadata) {
    base.put(key(".metadata"), from.rest()).value();
    const std::string file = test::dcp_bytes(sound(), "__0_0.distcp");
    base.put(key("__0_0.distcp"), zp::as_bytes(std::string_view(file))).value();
  } else {
    const std::string told =
        test::dcp_metadata({{"t", {8, 6}, {{{0, 0}, {8, 6}, "f", 0, item.size()}}}});
    base.put(key(".metadata"), zp::as_bytes(std::string_view(told))).value();
    base.put(key("f"), from.rest()).value();
  }
  const auto store = zp::dcp::state_store::open(base, zp::store_key::root(),
                                                {.max_bytes = 1 << 20, .max_values = 100000});
  if (!store) return 0;
  int left = 1000;
  read_all(*store, zp::store_key::root(), left);
  return 0;
}
