// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/handlers.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/orbax.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace orbax_extra_items_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

result<checkpoint> opened(const std::string& path) {
  return open(path, {.stores = formats<orbax::format>()});
}

json json_of(const std::string& path) {
  return parse_json(as_bytes(test::read_file(path))).value();
}

orbax::format with_extras() {
  orbax::numpy_state numpy{.key = std::vector<std::uint32_t>(624, 9), .position = 3};
  numpy.has_gauss = true;
  numpy.gauss = 0.25;
  return {.step = 7,
          .extras = {
              .documents = {{"extra", json::object{{"lr", 0.1}, {"tags", json::array{"a", {}}}}}},
              .jax_keys = {{"key", {.data = {0, 42}}},
                           {"keys", {.data = {1, 2, 3, 4}, .is_typed = false, .shape = {2, 2}}}},
              .numpy_states = {{"numpy", numpy}}}};
}

TEST_CASE("orbax save: items beside the tree") {
  const test::temp_directory folder;
  const std::string root = folder / "run";
  const std::vector<float> w{1, 2, 3};
  orbax::save(root, {{"w", w}}, {.format = with_extras()}).value();
  const json handlers = *json_of(root + "/7/_CHECKPOINT_METADATA").find("item_handlers");
  CHECK(handlers.find("default")->if_string()->ends_with(".StandardCheckpointHandler"));
  CHECK(handlers.find("extra")->if_string()->ends_with(".JsonCheckpointHandler"));
  CHECK(handlers.find("key")->if_string()->ends_with(".JaxRandomKeyCheckpointHandler"));
  CHECK(handlers.find("numpy")->if_string()->ends_with(".NumpyRandomKeyCheckpointHandler"));
  CHECK(opened(root).value().load<std::vector<float>>("w").value() == w);
  CHECK(*opened(root + ":extra").value().attributes().find("lr") == json(0.1));
  using numbers = std::vector<std::uint32_t>;
  const auto key = opened(root + "/7/key/jax_random_key").value();
  CHECK(key.load<numbers>("checkpoint").value() == numbers{0, 42});
  CHECK(json_of(root + "/7/key/jax_random_key_metadata/metadata") ==
        json(json::object{{"typed", true}}));
  const auto keys = opened(root + ":keys").value();
  CHECK(keys.load<tensor>("checkpoint").value().spec().shape == dims{2, 2});
  const auto numpy = opened(root + ":numpy").value();
  CHECK(numpy.load<std::string>("0").value() == "MT19937");
  CHECK(numpy.load<numbers>("1").value() == numbers(624, 9));
  CHECK(numpy.load<std::int64_t>("2").value() == 3);
  CHECK(numpy.load<double>("4").value() == 0.25);
  for (const char* item : {"/7/extra", "/7/key", "/7/numpy", "/7/default"})
    CHECK(fs::exists(root + item + "/commit_success.txt"));
  // They are replaced with the step, and others stay.
  fs::create_directory(root + "/7/other");
  test::write_file(root + "/7/extra/old", "x");
  auto again = with_extras();
  again.extras.documents[0].second = json(1);
  orbax::save(root, {{"w", w}}, {.format = again}).value();
  CHECK(!fs::exists(root + "/7/extra/old"));
  CHECK(json_of(root + "/7/extra/metadata") == json(1));
}

TEST_CASE("orbax save: items that cannot be") {
  const test::temp_directory folder;
  const std::vector<float> w{1};
  const auto refused = [&](auto&& change) {
    auto how = with_extras();
    change(how);
    const auto done = orbax::save(folder / "no", {{"w", w}}, {.format = how});
    CHECK(!fs::exists(folder / "no"));
    return !done && done.failure().code == errc::invalid_argument;
  };
  CHECK(refused([](auto& how) { how.step.reset(); }));
  CHECK(refused([](auto& how) { how.handler = orbax::tree_handler::v1; }));
  CHECK(refused([](auto& how) { how.extras.documents[0].first = "default"; }));
  CHECK(refused([](auto& how) { how.extras.documents[0].first = "key"; }));
  CHECK(refused([](auto& how) { how.extras.documents[0].first = "a/b"; }));
  CHECK(refused([](auto& how) { how.extras.jax_keys[0].second.data.clear(); }));
  CHECK(refused([](auto& how) { how.extras.jax_keys[1].second.shape = {3, 2}; }));
  CHECK(refused([](auto& how) { how.extras.numpy_states[0].second.key.pop_back(); }));
}

TEST_CASE("orbax save: the layout of the v1 API") {
  const test::temp_directory folder;
  const std::vector<float> w{1, 2};
  orbax::format how{.handler = orbax::tree_handler::v1};
  how.extras.documents = {{"data", json::object{{"lr", 0.5}}}};
  orbax::save(folder / "v1", {{"w", w}}, {.format = how}).value();
  CHECK(test::read_file(folder / "v1/orbax.checkpoint").empty());
  CHECK(fs::exists(folder / "v1/orbax.checkpoint"));
  CHECK(json_of(folder / "v1/data/data.json") == json(json::object{{"lr", 0.5}}));
  CHECK(json_of(folder / "v1/_CHECKPOINT_METADATA")
            .find("item_handlers")
            ->find("state")
            ->if_string()
            ->ends_with(".PyTreeHandler"));
  CHECK(opened(folder / "v1").value().load<std::vector<float>>("w").value() == w);
  CHECK(orbax::save(folder / "v1", {{"w", w}}, {.format = how}));
}

TEST_CASE("orbax save: the metadata of a manager's root") {
  const test::temp_directory folder;
  CHECK(orbax::save_root_metadata(folder / "run", json::object{{"who", "me"}}));
  CHECK(json_of(folder / "run/metadata/_ROOT_METADATA") ==
        json(json::object{{"internal_metadata", json::object{}},
                          {"custom_metadata", json::object{{"who", "me"}}}}));
  CHECK(orbax::save_root_metadata(folder / "run", json(3)).failure().code ==
        errc::invalid_argument);
  const std::vector<float> w{1};
  orbax::save(folder / "run", {{"w", w}}, {.format = orbax::format{.step = 1}}).value();
  CHECK(opened(folder / "run"));
}

}  // namespace orbax_extra_items_test
