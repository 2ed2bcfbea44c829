// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Consolidated metadata of both formats, and our commit document, whose seal is made right so that
// what lies behind it is reached.

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/node_name.hpp>

#include "fuzz.hpp"

namespace {

using namespace fuzz;

zp::json sealed(zp::json root) {
  zp::json* attributes = root.find("attributes");
  zp::json* commit = attributes != nullptr ? attributes->find("zarrpoint") : nullptr;
  if (commit == nullptr || commit->if_object() == nullptr) return root;
  std::erase_if(*commit->if_object(), [](const auto& member) { return member.key == "crc32c"; });
  std::string seal = zp::detail::commit_seal(*commit);
  commit->set("crc32c", std::move(seal));
  return root;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  input in(data, size);
  const bool is_v2 = (in.byte() & 1) != 0;
  const zp::memory_store store;
  zp::bytes_view text = in.rest();
  std::string resealed;
  if (is_v2) {
    store.put(key(".zgroup"), zp::as_bytes(std::string_view(R"({"zarr_format":2})"))).value();
    store.put(key(".zmetadata"), text).value();
  } else {
    if (const auto parsed = zp::parse_json(text, {.max_bytes = std::size_t{1} << 20})) {
      resealed = zp::dump_json(sealed(*parsed));
      text = zp::as_bytes(resealed);
    }
    store.put(key("zarr.json"), text).value();
  }
  const auto contents = zp::detail::read_contents(store, bounded());
  if (!contents) return 0;
  for (std::size_t i = 0; i < contents->leaves.size(); ++i) {
    const std::string& name = contents->leaves[i].name;
    // An array at the root has no name. A foreign name may not be a key, but leaves no parent.
    require(name.empty() || zp::detail::check_safe_path(name).has_value(), "names are safe");
    require(!contents->is_ours() || zp::store_key::parse(name).has_value(), "our names are keys");
    require(i == 0 || contents->leaves[i - 1].name <= name, "leaves are sorted");
  }
  return 0;
}
