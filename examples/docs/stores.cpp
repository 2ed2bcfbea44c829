// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The programs of docs/stores.md. Each returns whether it gave what the page promises.
//
//   docs_stores [folder for the checkpoints]

#include <zarrpoint/zarrpoint.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace zp = zarrpoint;

namespace {

bool one_file(const std::string& folder) {
  const std::vector<float> w(1000, 0.5F);

  zp::save(folder + "/model.zarr.zip", {{"w", w}, {"step", 1200}}).value();

  auto ckpt = zp::open(folder + "/model.zarr.zip").value();
  auto view = ckpt.view<float>("w").value();  // where it lies in the file

  return view.is_zero_copy() && std::ranges::equal(view, w) &&
         ckpt.load<int>("step").value() == 1200;
}

bool read_again_and_again(const std::string& folder) {
  zp::save(folder + "/far.zarr", {{"w", std::vector<float>(1000, 0.5F)}}).value();
  const auto far_away = zp::file_store::open(folder + "/far.zarr").value();

  const zp::cache_store cached(far_away, {.bytes = std::size_t{1} << 30});
  auto ckpt = zp::open(cached).value();
  for (int epoch = 0; epoch < 3; ++epoch) ckpt.load<std::vector<float>>("w").value();
  std::printf("%d reads of %d blocks\n", static_cast<int>(cached.counts().hits),
              static_cast<int>(cached.counts().misses));

  return cached.counts().misses == 2;  // the metadata, the elements
}

/// Checkpoints of a game, by name.
struct saves_scheme {
  static constexpr std::string_view name = "saves";

  static zp::result<zp::stored_place> open(const zp::url& at, const zp::place_use&) {
    static const zp::memory_store store;  // wherever they are
    ZARRPOINT_TRY(key, zp::store_key::parse(at.rest));
    return zp::stored_place{store, key};
  }
};

bool a_scheme_of_mine() {
  zp::context how;
  how.stores = zp::default_stores::with<saves_scheme>::table();
  zp::save("saves://level/3", {{"score", 9000}}, {}, how).value();
  auto score = zp::open("saves://level/3", how).value().load<int>("score").value();

  return score == 9000;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const bool ok = one_file(folder) && read_again_and_again(folder) && a_scheme_of_mine();
  std::puts(ok ? "as docs/stores.md says" : "not what docs/stores.md says");
  return ok ? 0 : 1;
}
