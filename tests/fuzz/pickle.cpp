// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A pickle of any bytes, or a file of torch.save and its hierarchy, as the first byte says.

#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/pickle/pickle_writer.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/interop/torch/torch_store.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include "fuzz.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace fuzz;
namespace pt = zp::torch;

/// What can be said as JSON is the same when it is written and read again.
void check_value(const pt::pickle_value& value) {
  const auto bytes = pt::to_bytes(value);
  require(!bytes || bytes->size() <= 1 << 20, "bytes are no larger than the pickle");
  const auto made = pt::to_json(value, {.max_depth = 90, .max_values = 10000});
  if (!made) return;
  const auto written = pt::write_pickle(*made);
  require(written.has_value(), "what was read can be written");
  const auto again = pt::read_pickle(zp::as_bytes(*written));
  require(again.has_value(), "what was written can be read");
  const auto second = pt::to_json(*again, {.max_depth = 90, .max_values = 10000});
  // Compared as they are written: a NaN is not a number that equals itself.
  require(second && *pt::write_pickle(*second) == *written, "it is the same");
}

void check_tensor(const pt::file& file, const pt::pickle_value& value) {
  const auto info = file.tensor(value);
  if (!info) return;
  require(info->end <= info->storage_bytes, "a tensor lies in its storage");
  const auto bytes = byte_count(info->spec);
  if (!bytes || *bytes > 1 << 20) return;  // an expanded one may be as large as it likes
  zp::tensor copy = zp::tensor::make(info->spec).value();
  const auto read = file.read(*info, copy.mutable_view());
  const auto view = file.view(*info);
  if (!read || !view || *bytes == 0) return;
  zp::tensor seen = zp::tensor::make(info->spec).value();
  copy_elements(seen.mutable_view(), view->elements);
  require(std::memcmp(copy.view().data, seen.view().data, *bytes) == 0,
          "a view and a copy are the same");
}

/// All that is shown of a file can be opened and read, or says why not.
void check_hierarchy(const zp::memory_store& store, const pt::pickle_limits& limits) {
  const auto made = pt::archive_store::open(store, key("a.pt"), limits);
  if (!made) return;
  std::vector<zp::store_key> open{zp::store_key::root()};
  for (std::size_t seen = 0; !open.empty() && seen < 1000; ++seen) {
    const zp::store_key at = open.back();
    open.pop_back();
    const auto entries = made->list(at);
    require(entries.has_value(), "what is there can be listed");
    for (const zp::list_entry& one : *entries) {
      const zp::store_key below = at.child(one.name).value();
      if (one.is_prefix) {
        open.push_back(below);
        continue;
      }
      const auto object = made->open(below);
      if (!object) continue;
      require(*object != nullptr, "what is listed is there");
      if ((*object)->size() > 1 << 20) continue;
      std::vector<std::byte> bytes(static_cast<std::size_t>((*object)->size()));
      (void)(*object)->read(0, bytes);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  input from(data, size);
  const bool is_file = from.byte() % 2 == 1;
  const pt::pickle_limits limits{.max_bytes = 1 << 20, .max_values = 100000};
  if (!is_file) {
    if (const auto value = pt::read_pickle(from.rest(), limits)) check_value(*value);
    return 0;
  }
  const zp::memory_store store;
  store.put(key("a.pt"), from.rest()).value();
  const auto file = pt::open(store, key("a.pt"), limits);
  if (!file) return 0;
  check_hierarchy(store, limits);
  check_value(file->root());
  check_tensor(*file, file->root());
  for (std::size_t i = 0; i < file->root().member_count() && i < 100; ++i)
    check_tensor(*file, file->root().member(i));
  return 0;
}
