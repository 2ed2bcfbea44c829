// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT(1): zarrpoint: this store lacks open() as examples/stores/my_store.hpp has it
// EXPECT(2): zarrpoint: this store lacks describe() as examples/stores/my_store.hpp has it
// EXPECT(3): zarrpoint: this store lacks create() as examples/stores/my_store.hpp has it
// EXPECT(4): zarrpoint: this store lacks put() as examples/stores/my_store.hpp has it
// EXPECT(5): zarrpoint: this store lacks erase() as examples/stores/my_store.hpp has it
// EXPECT(6): zarrpoint: this store lacks list() as examples/stores/my_store.hpp has it
// EXPECT(7): zarrpoint: a store is a handle that can be copied: examples/stores/my_store.hpp
#include <zarrpoint/checkpoint.hpp>

#include <memory>
#include <string>
#include <vector>

namespace zp = zarrpoint;

struct my_store {
#if ZP_CASE != 1
  zp::result<std::unique_ptr<zp::blob>> open(const zp::store_key&) const {
    return std::unique_ptr<zp::blob>();
  }
#endif
#if ZP_CASE != 2
  std::string describe(const zp::store_key& key) const { return std::string(key.str()); }
#endif
#if ZP_CASE != 3
  zp::result<std::unique_ptr<zp::blob_writer>> create(const zp::store_key&) const {
    return std::unique_ptr<zp::blob_writer>();
  }
#endif
#if ZP_CASE != 4
  zp::result<void> put(const zp::store_key&, zp::bytes_view) const { return {}; }
#endif
#if ZP_CASE != 5
  zp::result<bool> erase(const zp::store_key&) const { return false; }
#endif
#if ZP_CASE == 6  // a wrong type
  std::vector<std::string> list(const zp::store_key&) const { return {}; }
#endif
#if ZP_CASE == 7
  std::unique_ptr<int> only_one{};
#endif
};

bool test(my_store& store) { return zp::open(std::move(store)).has_value(); }
