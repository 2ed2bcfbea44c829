// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A whole hierarchy in a memory store. The input is a list of objects: a byte for the length of the
// key, the key, two bytes (little-endian) for the length of the object, the object.

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/load/load_all.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include "fuzz.hpp"

namespace {

using namespace fuzz;

zp::memory_store unpacked(input in) {
  zp::memory_store store;
  while (!in.empty()) {
    const auto name = zp::as_text(in.take(in.byte()));
    const std::size_t size = in.byte() + 256U * in.byte();
    const zp::bytes_view object = in.take(size);
    const auto at = zp::store_key::parse(name);
    if (at && !at->is_root()) static_cast<void>(store.put(*at, object));
  }
  return store;
}

/// Makes the seal of our commit document right, so that what lies behind it is reached.
void seal(const zp::memory_store& store) {
  const auto text = zp::get(store, key("zarr.json"), std::size_t{1} << 20);
  if (!text || !*text) return;
  auto root = zp::parse_json(**text, {.max_bytes = std::size_t{1} << 20});
  if (!root) return;
  zp::json* attributes = root->find("attributes");
  zp::json* commit = attributes != nullptr ? attributes->find("zarrpoint") : nullptr;
  if (commit == nullptr || commit->if_object() == nullptr) return;
  std::erase_if(*commit->if_object(), [](const auto& member) { return member.key == "crc32c"; });
  std::string right = zp::detail::commit_seal(*commit);
  commit->set("crc32c", std::move(right));
  store.put(key("zarr.json"), zp::as_bytes(zp::dump_json(*root))).value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const zp::memory_store store = unpacked(input(data, size));
  seal(store);
  const auto opened = zp::open(store, bounded());
  if (!opened) return 0;
  std::size_t looked_at = 0;
  for (const std::string& name : opened->names()) {
    if (++looked_at > 8) break;
    static_cast<void>(opened->metadata(name));
    const auto strict = opened->load<zp::tensor>(name);
    const auto lenient = opened->load<zp::tensor>(name, {.verify = false});
    require(!strict || lenient, "what is verified is also there");
    static_cast<void>(opened->view<float>(name, true));
    if (const auto array = opened->as_array(name)) {
      const zp::dims& shape = array->metadata().shape;
      zp::selection part = zp::box::whole(shape);
      for (std::size_t i = 0; i < shape.rank(); ++i) {
        part.step[i] = 2;
        part.shape[i] = std::min<zp::index_t>((shape[i] + 1) / 2, 5);
      }
      const auto read = array->read(part);
      require(!strict || read, "a part of what can be loaded can be read");
    }
  }
  static_cast<void>(zp::load_all(*opened));
  return 0;
}
