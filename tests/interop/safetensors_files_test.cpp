// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/handlers.hpp>
#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace safetensors_files_test {

namespace zp = zarrpoint;
namespace st = zarrpoint::safetensors;
namespace fs = std::filesystem;

/// Tensors of 8, 4, 12, 0 and 40 bytes.
struct model {
  std::vector<float> a{1, 2}, b{3}, e{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<std::int16_t> c{1, 2, 3, 4, 5, 6};

  std::vector<st::named_view> views() const {
    return {{"layers.0.w", of(a)},
            {"layers.0.b", of(b)},
            {"c", zp::dense_view(bytes(c), {zp::dtype_of<std::int16_t>, {2, 3}})},
            {"none", zp::dense_view(bytes(b), {zp::dtype_of<float>, {0, 4}})},
            {"large", of(e)}};
  }

 private:
  template <class T>
  static const std::byte* bytes(const std::vector<T>& from) {
    return reinterpret_cast<const std::byte*>(from.data());
  }
  static zp::host_view of(const std::vector<float>& from) {
    return zp::dense_view(bytes(from),
                          {zp::dtype_of<float>, {static_cast<zp::index_t>(from.size())}});
  }
};

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> out;
  for (const auto& each : fs::directory_iterator(folder)) out.insert(each.path().filename());
  return out;
}

bool says(const zp::result<zp::save_report>& of, zp::errc code, std::string_view text) {
  if (of) return false;
  INFO(to_string(of.failure()));
  CHECK(of.failure().code == code);
  return of.failure().message.find(text) != std::string::npos;
}

TEST_CASE("safetensors: tensors are divided into files by their size, in their order") {
  using numbers = std::vector<std::size_t>;
  const auto divided = [](std::vector<std::uint64_t> bytes, std::uint64_t most) {
    return st::detail::divide_by_size(bytes, most);
  };
  CHECK(divided({}, 1).empty());
  CHECK(divided({8, 4, 12, 0, 40}, 12) == numbers{0, 0, 1, 1, 2});
  CHECK(divided({8, 4, 12, 0, 40}, 11) == numbers{0, 1, 2, 3, 4});
  CHECK(divided({8, 4, 12, 0, 40}, 64) == numbers{0, 0, 0, 0, 0});
  CHECK(divided({8, 4, 12, 0, 40}, 63) == numbers{0, 0, 0, 0, 1});
  CHECK(divided({5, 0, 0, 5}, 1) == numbers{0, 1, 1, 2});
  CHECK(divided({0, 0}, 1) == numbers{0, 0});
  CHECK(divided({UINT64_MAX, 1, UINT64_MAX}, UINT64_MAX) == numbers{0, 1, 2});
}

TEST_CASE("safetensors: a model in several files is one checkpoint again") {
  const test::temp_directory folder;
  const model from;
  const auto out = from.views();
  const std::string model = folder / "model";
  auto report =
      zp::safetensors::save_files(model, out, {.format = st::format{.max_file_bytes = 16}}).value();
  CHECK(report.files == std::vector<std::string>{"model-00001-of-00003.safetensors",
                                                 "model-00002-of-00003.safetensors",
                                                 "model-00003-of-00003.safetensors"});
  CHECK(report.bytes == 64);
  std::set<std::string> wanted(report.files.begin(), report.files.end());
  wanted.insert("model.safetensors.index.json");
  CHECK(names_in(model) == wanted);
  CHECK(names_in(folder / "") == std::set<std::string>{"model"});

  CHECK(st::open(model + '/' + report.files[0]).value().names() ==
        std::vector<std::string>{"layers.0.w", "layers.0.b"});
  CHECK(st::open(model + '/' + report.files[2]).value().names() ==
        std::vector<std::string>{"large"});
  const std::string text = test::read_file(model + "/model.safetensors.index.json");
  const auto index = zp::parse_json(zp::as_bytes(text)).value();
  CHECK(index.find("metadata")->find("total_size")->to_uint64() == 64);
  CHECK(index.find("weight_map")->if_object()->size() == 5);
  CHECK(*index.find("weight_map")->find("none")->if_string() == report.files[1]);

  const auto back = zp::open(model, {.stores = zp::formats<st::format>()}).value();
  CHECK(back.names().size() == 5);
  CHECK(back.load<std::vector<float>>("layers.0.w").value() == from.a);
  CHECK(back.load<std::vector<float>>("large").value() == from.e);
  CHECK(back.load<zp::tensor>("c").value().spec().shape == zp::dims{2, 3});
  CHECK(back.load<zp::tensor>("none").value().spec().shape == zp::dims{0, 4});
}

TEST_CASE("safetensors: files have what metadata they are given, by default one file has all") {
  const test::temp_directory folder;
  const model from;
  const auto report = st::save_files(folder / "m/", from.views(),
                                     {.format = st::format{.metadata = {{"format", "pt"}}}})
                          .value();
  REQUIRE(report.files == std::vector<std::string>{"model-00001-of-00001.safetensors"});
  const auto file = st::open(folder / "m/model-00001-of-00001.safetensors").value();
  CHECK(file.metadata() == st::metadata_map{{"format", "pt"}});
  CHECK(file.tensors().size() == 5);
}

TEST_CASE("safetensors: of a directory only the files of a model are replaced") {
  const test::temp_directory folder;
  const model from;
  const auto views = from.views();
  const std::string at = folder / "m";
  REQUIRE(st::save_files(at, views, {.format = st::format{.max_file_bytes = 16}}));
  CHECK(says(st::save_files(at, views, {.overwrite = false}), zp::errc::already_exists,
             "is there already"));
  for (const char* other : {"config.json", "other.safetensors", "strange\xff", "back\\slash"})
    test::write_file(at + '/' + other, "theirs");
  fs::create_directory(at + "/onnx");
  test::write_file(at + "/onnx/model", "theirs");
  const auto report = st::save_files(at, std::span(views).first(1), {.overwrite = true}).value();
  CHECK(report.kept.size() == 5);
  CHECK(report.warnings.empty());
  CHECK(names_in(at) == std::set<std::string>{"model-00001-of-00001.safetensors",
                                              "model.safetensors.index.json", "config.json",
                                              "other.safetensors", "strange\xff", "back\\slash",
                                              "onnx"});
  CHECK(test::read_file(at + "/onnx/model") == "theirs");
  CHECK(test::read_file(at + "/other.safetensors") == "theirs");
  CHECK(st::open(at + "/model-00001-of-00001.safetensors").value().tensors().size() == 1);
}

TEST_CASE("safetensors: what is not a model in several files is not replaced") {
  const test::temp_directory folder;
  const model from;
  const auto views = from.views();
  fs::create_directory(folder / "m");
  test::write_file(folder / "m/a.safetensors", "theirs");
  CHECK(says(st::save_files(folder / "m", views), zp::errc::already_exists,
             "is a directory with other files, not a safetensors model in several files"));
  test::write_file(folder / "m/model.safetensors.index.json", "{}");
  CHECK(says(st::save_files(folder / "m", views), zp::errc::already_exists, "weight_map"));
  test::write_file(folder / "m/model.safetensors.index.json", R"({"weight_map":{"a":1}})");
  CHECK(says(st::save_files(folder / "m", views), zp::errc::already_exists, "\"a\""));
  CHECK(test::read_file(folder / "m/a.safetensors") == "theirs");
  test::write_file(folder / "f", "old");
  CHECK(says(st::save_files(folder / "f", views), zp::errc::already_exists, "is a file"));
  CHECK(test::read_file(folder / "f") == "old");
  for (const char* to : {"m", "nothing"}) {
    fs::create_symlink(to, folder / "l");
    CHECK(says(st::save_files(folder / "l", views), zp::errc::io, "symbolic link"));
    fs::remove(folder / "l");
  }
  CHECK(names_in(folder / "m") ==
        std::set<std::string>{"a.safetensors", "model.safetensors.index.json"});
  fs::create_directory(folder / "empty");
  CHECK(st::save_files(folder / "empty", views));
  fs::create_directory(folder / "bare");
  test::write_file(folder / "bare/back\\slash", "theirs");
  CHECK(st::save_files(folder / "bare", views));
  CHECK(test::read_file(folder / "bare/back\\slash") == "theirs");
  CHECK(st::save_files(folder / "new", views));
}

TEST_CASE("safetensors: files that cannot be written leave nothing behind") {
  const test::temp_directory folder;
  const model from;
  auto views = from.views();
  CHECK(says(st::save_files(folder / "m", views, {.format = st::format{.max_file_bytes = 0}}),
             zp::errc::invalid_argument, "0 bytes"));
  CHECK(says(st::save_files(folder / "m", {}), zp::errc::invalid_argument, "no tensor"));
  views.push_back(views.front());
  CHECK(says(st::save_files(folder / "m", views, {.format = st::format{.max_file_bytes = 16}}),
             zp::errc::invalid_argument, "\"layers.0.w\""));
  // A name that no header may have is found in the last file.
  views.back().name = "__metadata__";
  CHECK(says(st::save_files(folder / "m", views, {.format = st::format{.max_file_bytes = 16}}),
             zp::errc::invalid_argument, "model-00004-of-00004.safetensors"));
  CHECK(says(st::save_files(folder / "no/m", from.views()), zp::errc::not_found, "no"));
  CHECK(names_in(folder / "").empty());
  // Nor do they change what is there.
  REQUIRE(st::save_files(folder / "m", from.views(), {.format = st::format{.max_file_bytes = 16}}));
  const auto before = names_in(folder / "m");
  zp::save_options again{.format = st::format{.max_file_bytes = 16}};
  again.overwrite = true;
  CHECK(!st::save_files(folder / "m", views, again));
  CHECK(names_in(folder / "m") == before);
  CHECK(st::open(folder / "m/model-00003-of-00003.safetensors").value().contains("large"));
  CHECK(names_in(folder / "") == std::set<std::string>{"m"});
}

}  // namespace safetensors_files_test
