// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Deltas. An even first byte: what follows is the stored chunk of a delta. An odd one: edits of a
// delta that is whole, four bytes each, two for the place and one for the new value; a set bit of
// the fourth means the document, whose seals are made right again, else the object.

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/load/load_all.hpp>
#include <zarrpoint/delta.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "fuzz.hpp"

#include <algorithm>
#include <vector>

namespace {

using namespace fuzz;

void decode(input in) {
  constexpr std::size_t size = 8192, guard = 64;
  constexpr std::byte mark{0x5a};
  const std::size_t word = std::size_t{1} << in.byte() % 4;
  std::vector<std::byte> room(size + guard, mark);
  zp::codec_workspace scratch;
  static_cast<void>(
      zp::detail::apply_difference(in.rest(), zp::mutable_bytes(room).first(size), word, scratch));
  require(std::all_of(room.end() - guard, room.end(), [](std::byte one) { return one == mark; }),
          "a delta writes into its chunk alone");
}

using words = std::vector<std::uint16_t>;

/// A base, and a delta on it of a leaf in several inner chunks, one that is new and one that is
/// not there any more.
struct sample {
  std::vector<std::byte> base, document, object;

  sample() {
    const zp::memory_store store;
    words w(3000, 7);
    const zp::save_options cut{
        .rules = {{.glob = "w", .chunk_shape = zp::dims{1000}, .shard_shape = zp::dims{3000}}}};
    zp::save({store, key("base")}, {{"w", w}, {"old", 1}}, cut, zp::context{}).value();
    for (std::size_t i = 0; i < w.size(); i += 37) w[i] = static_cast<std::uint16_t>(i);
    zp::save_options as_delta = cut;
    as_delta.format = zp::delta::format{.base = {store, key("base")}, .path = "base"};
    zp::save({store, key("delta")}, {{"w", w}, {"new", 2}}, as_delta, zp::context{}).value();
    document = zp::get(store, key("delta/zarr.json"), 1 << 20).value().value();
    object = zp::get(store, key("delta/w/c.0"), 1 << 20).value().value();
    all = store;
  }

  zp::memory_store all;
};

void seal(zp::json& of) {
  if (of.if_object() == nullptr) return;
  std::erase_if(*of.if_object(), [](const auto& member) { return member.key == "crc32c"; });
  std::string right = zp::detail::commit_seal(of);
  of.set("crc32c", std::move(right));
}

std::vector<std::byte> sealed(const std::vector<std::byte>& text) {
  auto root = zp::parse_json(text, {.max_bytes = std::size_t{1} << 20});
  zp::json* const attributes = root ? root->find("attributes") : nullptr;
  zp::json* const own = attributes != nullptr ? attributes->find("zarrpoint") : nullptr;
  if (own == nullptr) return text;
  if (zp::json* const commit = own->find("commit")) seal(*commit);
  seal(*own);
  const std::string right = zp::dump_json(*root, zp::json_style::compact);
  const zp::bytes_view bytes = zp::as_bytes(right);
  return {bytes.begin(), bytes.end()};
}

void open(input in) {
  static const sample whole;
  std::vector<std::byte> document = whole.document, object = whole.object;
  while (!in.empty()) {
    const std::size_t at = in.byte() + 256U * in.byte();
    const auto value = static_cast<std::byte>(in.byte());
    std::vector<std::byte>& of = (in.byte() & 1) != 0 ? document : object;
    of[at % of.size()] = value;
  }
  const zp::memory_store& store = whole.all;
  store.put(key("delta/zarr.json"), sealed(document)).value();
  store.put(key("delta/w/c.0"), object).value();
  const zp::location where(store, key("delta"));
  words loaded(3000, 7);
  static_cast<void>(zp::apply_delta(where, {{"w", loaded}}, bounded()));
  const auto opened = zp::open_delta(where, {}, bounded());
  if (!opened) return;
  std::size_t looked_at = 0;
  for (const std::string& name : opened->names()) {
    if (++looked_at > 8) break;
    static_cast<void>(opened->load<zp::tensor>(name));
    static_cast<void>(opened->load<zp::tensor>(name, {.verify = false}));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  input in(data, size);
  in.byte() % 2 == 0 ? decode(in) : open(in);
  return 0;
}
