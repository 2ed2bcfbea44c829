// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Zip archives in memory, sound and broken ones.

#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/zip/zip_records.hpp>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace test {

/// A member to be: what is not set is what is right.
struct zip_part {
  std::string name;
  std::string data;
  std::uint16_t method = 0;
  std::uint64_t size = UINT64_MAX;  ///< before compression; default that of the data
  std::uint32_t crc = 0;            ///< of method 8; for method 0 it is computed
  std::uint16_t flags = 0;
};

inline zarrpoint::detail::zip_member member_of(const zip_part& part) {
  zarrpoint::detail::zip_member out;
  out.name = part.name;
  out.flags = part.flags;
  out.method = part.method;
  out.stored_size = part.data.size();
  out.size = part.size == UINT64_MAX ? part.data.size() : part.size;
  out.crc32 = part.method == 0
                  ? zarrpoint::detail::crc32(0, zarrpoint::as_bytes(std::string_view(part.data)))
                  : part.crc;
  return out;
}

/// The archive of `parts`, one after the other.
inline std::string zip_of(const std::vector<zip_part>& parts, std::string_view comment = {}) {
  std::string out, directory;
  for (const zip_part& part : parts) {
    zarrpoint::detail::zip_member member = member_of(part);
    member.header_offset = out.size();
    const std::size_t header =
        zarrpoint::detail::zip_local_size + part.name.size() + zarrpoint::detail::zip_least_extra;
    out += zarrpoint::detail::zip_local_header(member, header);
    out += part.data;
    zarrpoint::detail::append_zip_entry(directory, member);
  }
  const zarrpoint::detail::zip_directory_place place{parts.size(), directory.size(), out.size()};
  out += directory;
  zarrpoint::detail::append_zip_end(out, place);
  out[out.size() - 2] = static_cast<char>(comment.size() & 255);
  out[out.size() - 1] = static_cast<char>(comment.size() >> 8);
  return out.append(comment);
}

/// `bytes` as an object.
inline std::unique_ptr<zarrpoint::blob> blob_of(std::string_view bytes) {
  const zarrpoint::memory_store store;
  const auto key = zarrpoint::store_key::parse("a.zip").value();
  store.put(key, zarrpoint::as_bytes(bytes)).value();
  return store.open(key).value();
}

/// Writes a little-endian number over what is there.
template <class T>
void overwrite(std::string& bytes, std::size_t at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bytes.at(at + i) = static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
}

}  // namespace test
