// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: this type is stored as bytes, text or a group and has no elements
#include <zarrpoint/array.hpp>
#include <zarrpoint/handlers.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <string>

int main() {
#ifdef ZP_OK
  const std::string value = "{}";
#else
  const zarrpoint::json_text value{"{}"};
#endif
  const auto array =
      zarrpoint::array::open(zarrpoint::memory_store(), zarrpoint::store_key::root());
  return array->write(zarrpoint::box(), value) ? 0 : 1;
}
