// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: two codecs of the registry answer to one name
#include <zarrpoint/codec/array_to_bytes/bytes.hpp>
#include <zarrpoint/codec/base/registry.hpp>
#include <zarrpoint/codec/bytes_to_bytes/crc32c_codec.hpp>

struct my_crc32c_codec : zarrpoint::crc32c_codec {};

using library = zarrpoint::codec_registry<zarrpoint::bytes_codec, zarrpoint::crc32c_codec>;

zarrpoint::codec_table test() {
#if defined(ZP_OK)
  return library::with<my_crc32c_codec>::table();  // takes the place of the other
#else
  return zarrpoint::codec_registry<zarrpoint::crc32c_codec, my_crc32c_codec>::table();
#endif
}
