// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The programs of docs/hierarchy.md. Each returns whether it gave what the page promises.
//
//   docs_hierarchy [folder for the hierarchies]

#include <zarrpoint/zarrpoint.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace zp = zarrpoint;

namespace {

bool make_one(const std::string& path) {
  auto store = zp::file_store::open(path, {.create = true}).value();
  auto root = zp::group::create(store).value();
  root.set_attributes(zp::json::object{{"site", "north"}}).value();

  zp::array_metadata metadata;
  metadata.type = zp::dtype_kind::float32;
  metadata.shape = {365, 24};
  metadata.chunk_shape = {73, 24};
  metadata.fill = zp::fill_value::zero(metadata.type);
  metadata.codecs = zp::zstd_codecs();
  auto hours = root.create_array("2026/temperature", metadata).value();  // makes "2026", too

  const std::vector<float> noon(365, 21.5F);
  const zp::tensor_spec column{metadata.type, {365, 1}};
  const auto bytes = reinterpret_cast<const std::byte*>(noon.data());
  hours.write(zp::box({0, 12}, {365, 1}), zp::dense_view(bytes, column)).value();

  for (const zp::stored_node& one : root.walk().value())
    std::printf("%s %s\n", one.kind == zp::node_kind::array ? "array" : "group", one.path.c_str());

  return root.walk().value().size() == 2;
}

bool change_it(const std::string& path) {
  auto store = zp::file_store::open(path).value();

  auto root = zp::group::open(store).value();
  root.rename("2026", "archive/2026").value();
  root.copy("archive/2026/temperature", root, "latest").value();
  root.set_attributes("latest", zp::json::object{{"unit", "degC"}}).value();
  root.erase("archive").value();

  return root.walk().value().size() == 1 &&
         root.open_array("latest").value().metadata().attributes.find("unit") != nullptr;
}

bool one_read(const std::string& path) {
  auto store = zp::file_store::open(path).value();

  auto root = zp::group::open(store).value();
  root.consolidate().value();

  const auto use = zp::metadata_use::consolidated;
  auto opened = zp::group::open(store, zp::store_key::root(), {}, use).value();
  auto latest = opened.open_array("latest").value();  // reads no document

  return opened.is_consolidated() && latest.spec().shape == zp::dims{365, 24};
}

bool to_v3(const std::string& path) {
  auto store = zp::file_store::open(path, {.create = true}).value();
  const auto old = zp::group::create(store, zp::store_key::root(), {.zarr_format = 2}).value();
  old.create_group("g").value();

  zp::migrate_to_v3(store, zp::store_key::root(), {.dry_run = true}).value();  // would it do?
  zp::migrate_to_v3(store, zp::store_key::root(), {.remove_v2 = true}).value();

  return zp::group::open(store).value().zarr_format() == 3;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const std::string path = folder + "/weather.zarr";
  const bool ok =
      make_one(path) && change_it(path) && one_read(path) && to_v3(folder + "/old.zarr");
  std::puts(ok ? "as docs/hierarchy.md says" : "not what docs/hierarchy.md says");
  return ok ? 0 : 1;
}
