// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A GGUF file. What opens is listed, and each array of it read.

#include <zarrpoint/interop/gguf/gguf_store.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "fuzz.hpp"

#include <cstdint>
#include <string>

namespace {

using namespace fuzz;

void read_array(const zp::any_store& store, const zp::store_key& at) {
  const zp::context how = bounded();
  const auto array = zp::array::open(store, at, how);
  if (!array) return;
  const auto bytes = byte_count(array->metadata().spec());
  require(bytes.has_value(), "an array that opens has a size");
  if (*bytes > 1 << 20) return;
  const auto read = array->read(zp::selection(zp::box::whole(array->metadata().shape)));
  require(read || read.failure().code != zp::errc::io, "what lies in the file is read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  input from(data, size);
  const zp::memory_store base;
  base.put(key("f"), from.rest()).value();
  const auto opened = zp::gguf::tensor_store::open(
      base, key("f"), {.max_bytes = 1 << 20, .max_values = 10000, .max_tensors = 1000});
  if (!opened) return 0;
  const zp::any_store store = *opened;
  for (const zp::gguf::tensor_info& tensor : opened->header().tensors) {
    require(tensor.offset <= size && tensor.bytes <= size - tensor.offset,
            "a tensor lies in the file");
    if (const auto at = zp::store_key::parse(tensor.name)) read_array(store, *at);
  }
  require(store.list(zp::store_key::root()).has_value(), "a file that opens can be listed");
  return 0;
}
