// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A safetensors file of any bytes.

#include <zarrpoint/interop/safetensors/safetensors.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include "fuzz.hpp"

#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fuzz;
  const zp::memory_store store;
  store.put(key("m"), {reinterpret_cast<const std::byte*>(data), size}).value();
  const auto file = zp::safetensors::open(store, key("m"));
  if (!file) return 0;
  for (const auto& tensor : file->tensors()) {
    require(tensor.bytes <= size, "a tensor is not larger than the file");
    if (!tensor.spec.type.valid()) {
      require(!file->spec(tensor.name), "an unknown dtype is not read");
      continue;
    }
    zp::tensor copy = zp::tensor::make(tensor.spec).value();
    const auto read = file->read(tensor.name, copy.mutable_view());
    const auto view = file->view(tensor.name);
    if (read && view)
      require(tensor.bytes == 0 || std::memcmp(view->data, copy.view().data, tensor.bytes) == 0,
              "a view and a copy are the same");
  }
  return 0;
}
