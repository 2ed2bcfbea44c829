// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Writes a version of an OCDBT database, for py/ocdbt_check.py to read with TensorStore.
//
//   ocdbt_write change FOLDER NODE_BYTES INLINE_BYTES DATA_FILE_BYTES ARITY_LOG2 [ZSTD_LEVEL]
//       Changes as they come from the input: the sizes of a key and its value, as numbers of 64
//       bits, and these; the largest number for a size means that the key goes. No ZSTD_LEVEL, no
//       compression.
//   ocdbt_write merge FOLDER PART...
//       The databases in these folders of FOLDER become the one in FOLDER.

#include <zarrpoint/ocdbt.hpp>
#include <zarrpoint/stores.hpp>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

namespace {

namespace zp = zarrpoint;

zp::result<void> change(const zp::ocdbt_writer& to) {
  constexpr std::uint64_t gone = ~std::uint64_t{0};
  std::uint64_t sizes[2] = {};
  while (std::cin.read(reinterpret_cast<char*>(sizes), sizeof sizes)) {
    std::string key(sizes[0], '\0');
    std::string value(sizes[1] == gone ? 0 : sizes[1], '\0');
    std::cin.read(key.data(), static_cast<std::streamsize>(key.size()));
    std::cin.read(value.data(), static_cast<std::streamsize>(value.size()));
    ZARRPOINT_TRY(at, zp::store_key::parse(key));
    if (sizes[1] == gone) {
      ZARRPOINT_CHECK(to.erase(at));
    } else {
      ZARRPOINT_CHECK(to.put(at, zp::as_bytes(value)));
    }
  }
  return {};
}

zp::result<zp::ocdbt_version> run(const std::vector<std::string>& arguments) {
  ZARRPOINT_TRY(base, zp::file_store::open(arguments[2]));
  if (arguments[1] == "merge") {
    std::vector<zp::store_key> parts;
    for (std::size_t i = 3; i < arguments.size(); ++i) {
      ZARRPOINT_TRY(part, zp::store_key::parse(arguments[i]));
      parts.push_back(part);
    }
    return zp::ocdbt_merge(base, zp::store_key::root(), parts);
  }
  zp::ocdbt_write_options how;
  how.node_bytes = static_cast<std::uint32_t>(std::stoul(arguments.at(3)));
  how.inline_bytes = static_cast<std::uint32_t>(std::stoul(arguments.at(4)));
  how.data_file_bytes = std::stoull(arguments.at(5));
  how.version_arity_log2 = static_cast<std::uint8_t>(std::stoul(arguments.at(6)));
  how.zstd_level.reset();
  if (arguments.size() > 7) how.zstd_level = std::stoi(arguments[7]);
  ZARRPOINT_TRY(to, zp::ocdbt_writer::open(base, zp::store_key::root(), how));
  ZARRPOINT_CHECK(change(to));
  return to.commit();
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> arguments(values, values + count);
  if (arguments.size() < 4) return 2;
  const auto made = run(arguments);
  if (made) {
    std::cout << made->generation << '\n';
  } else {
    std::cerr << zp::to_string(made.failure()) << '\n';
  }
  return made ? 0 : 1;
}
