// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// zfp_exchange read FOLDER FILE: writes the elements of the array FOLDER to FILE, row-major.
// zfp_exchange write FOLDER FILE: the array FOLDER, whose metadata exist, gets the elements of
// FILE.

#include <zarrpoint/array.hpp>
#include <zarrpoint/stores.hpp>
#include <zarrpoint/zarrpoint.hpp>
#include <zarrpoint/zfp.hpp>

#include "exchange.hpp"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

namespace zp = zarrpoint;

namespace {

zp::result<void> exchange_array(bool writes, const std::string& folder, const std::string& file) {
  zp::context how = zp::default_context();
  how.codecs = zp::default_codecs::with<zp::zfp_codec, zp::zfpy_codec>::table();
  ZARRPOINT_TRY(store, zp::file_store::open(folder));
  ZARRPOINT_TRY(array, zp::array::open(store, zp::store_key::root(), how));
  const zp::box all = zp::box::whole(array.spec().shape);
  if (!writes) {
    ZARRPOINT_TRY(elements, array.read(all));
    ZARRPOINT_TRY(size, zp::byte_count(elements.spec()));
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(elements.view().data),
              static_cast<std::streamsize>(size));
    return {};
  }
  ZARRPOINT_TRY(elements, zp::tensor::make(array.spec()));
  const std::string bytes = exchange::read_file(file);
  if (zp::byte_count(elements.spec()).value() != bytes.size())
    return zp::error{zp::errc::shape_mismatch, "the file has another size"};
  std::memcpy(elements.mutable_view().data, bytes.data(), bytes.size());
  return array.write(all, elements.view());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return std::fputs("usage: zfp_exchange read|write FOLDER FILE\n", stderr), 2;
  const auto done = exchange_array(std::string_view(argv[1]) == "write", argv[2], argv[3]);
  if (done) return 0;
  std::fprintf(stderr, "%s\n", zp::to_string(done.failure()).c_str());
  return 1;
}
