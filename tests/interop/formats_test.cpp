// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/formats.hpp>
#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/stores.hpp>
#include <zarrpoint/torch.hpp>

#include "support/temp_directory.hpp"
#include "support/zip_bytes.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

// Each kind of place is opened by one call, whatever wrote it.

namespace formats_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/";

bool mentions(const error& failure, std::string_view text) {
  INFO(to_string(failure));
  return failure.message.find(text) != std::string::npos;
}

std::string bytes_of(const tensor& of) {
  const host_view view = of.view();
  return {reinterpret_cast<const char*>(view.data), byte_count(of.spec()).value()};
}

/// Opens a place, and loads a leaf and its first elements.
void check_place(const std::string& path, std::string_view format, std::string_view leaf) {
  CAPTURE(path);
  const auto opened = open(path, all_formats());
  REQUIRE_MESSAGE(opened.has_value(), to_string(opened.failure()));
  CHECK(opened->format() == format);
  REQUIRE(opened->contains(leaf));
  const auto whole = opened->load<tensor>(leaf);
  REQUIRE_MESSAGE(whole.has_value(), to_string(whole.failure()));
  box part = box::whole(whole->shape());
  if (part.shape.rank() > 0 && part.shape[0] > 1) part.shape[0] = 1;
  CHECK(opened->load<tensor>(leaf, part).value().shape() == part.shape);
  CHECK(opened->attributes(leaf));
  // The same by the default context, which has the threads that `open` uses.
  CHECK(opened->how().executor.concurrency() == default_context().executor.concurrency());
}

TEST_CASE("formats: one call opens each kind, and says what it is") {
  check_place(golden + "orbax/pytree-files-zarr2", "Orbax checkpoint", "params/mask");
  check_place(golden + "orbax/pytree-ocdbt-zarr3", "Orbax checkpoint", "params/mask");
  check_place(golden + "orbax/manager-composite:state", "Orbax checkpoint", "step");
  check_place("orbax://" + golden + "orbax/pytree-ocdbt-zarr3", "Orbax checkpoint", "step");
  check_place("ocdbt://" + golden + "orbax/pytree-ocdbt-zarr3/step", "OCDBT database", "");
  check_place(golden + "dcp/one-process", "DCP checkpoint", "model.w");
  check_place("dcp://" + golden + "dcp/dtensor-2x2", "DCP checkpoint", "w");
  check_place(golden + "dcp/torch_dist-tp2-pp1-2ranks", "Megatron-Core torch_dist checkpoint",
              "decoder.weight");
  const std::string folders = golden + "megatron/zarr-tp2-dp2-4ranks";
  check_place(folders, "Megatron-Core zarr checkpoint", "decoder.weight");
  check_place("megatron://" + folders, "Megatron-Core zarr checkpoint", "optimizer.flat");
  check_place(golden + "gguf/small.gguf", "GGUF 3", "plain.f32.weight");
  check_place("gguf://" + golden + "gguf/small.gguf", "GGUF 3", "plain.one");
  check_place(golden + "peers/tensorstore/v2-int16", "Zarr v2 array", "");

  const test::temp_directory made;
  const std::vector<float> values{1, 2, 3};
  for (const std::string& to : {made / "c", made / "c.zip"}) {
    save(to, {{"w", values}}).value();
    check_place(to, "Zarr v3 checkpoint of zarrpoint", "w");
    check_place("file://" + to, "Zarr v3 checkpoint of zarrpoint", "w");
  }
  const any_store folder = file_store::open(made.path().string()).value();
  const host_view row = dense_view(reinterpret_cast<const std::byte*>(values.data()),
                                   tensor_spec{dtype(dtype_kind::float32), {3}});
  torch::save(folder, store_key::parse("m.pt").value(), torch::value::dict{{"w", row}}).value();
  check_place(made / "m.pt", "torch.save", "w");
  check_place("torch://" + (made / "m.pt"), "torch.save", "w");
}

TEST_CASE("formats: as docs/formats.md has it") {
  namespace zp = zarrpoint;
  const std::string path = golden + "gguf/small.gguf";
  const auto ckpt = zp::open(path, zp::all_formats()).value();
  std::puts(ckpt.format().c_str());  // as "GGUF 3" or "Orbax checkpoint"
  CHECK(ckpt.format() == "GGUF 3");
}

TEST_CASE("formats: a chunk of Megatron-Core's that was lost is not read as zeros") {
  const test::temp_directory made;
  fs::copy(golden + "megatron/zarr-tp2-dp2-4ranks", made / "c", fs::copy_options::recursive);
  const checkpoint opened = open(made / "c", all_formats()).value();
  CHECK(opened.names().size() == 4);
  CHECK(opened.load<tensor>("decoder.weight"));
  for (const fs::directory_entry& each : fs::directory_iterator(made / "c/decoder.weight"))
    if (each.path().filename() != ".zarray") fs::remove(each.path());
  CHECK(opened.load<tensor>("decoder.weight").failure().code == errc::not_found);
}

TEST_CASE("formats: folders of Megatron-Core's are counted against the memory of a load") {
  context how;
  const std::string path = "megatron://" + (golden + "megatron/zarr-tp2-dp2-4ranks");
  REQUIRE(open(path, {.stores = all_formats(), .limit = {.memory = 1 << 20}}));
  const auto refused = open(path, {.stores = all_formats(), .limit = {.memory = 600}});
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::resource_limit);
  CHECK(refused.failure().message.find("its folders take more") != std::string::npos);
}

TEST_CASE("formats: files of weights, and models in several by their index") {
  const test::temp_directory made;
  const any_store folder = file_store::open(made.path().string()).value();
  const auto key = [](const char* name) { return store_key::parse(name).value(); };
  const std::vector<float> values{1, 2, 3};
  const host_view row = dense_view(reinterpret_cast<const std::byte*>(values.data()),
                                   tensor_spec{dtype(dtype_kind::float32), {3}});
  const std::vector<safetensors::named_view> tensors{{"w", row}};
  const std::string model = made / "model";
  safetensors::save_files(model, tensors).value();
  check_place(model, "safetensors in files", "w");
  check_place("safetensors://" + model, "safetensors in files", "w");
  check_place(model + "/model.safetensors.index.json", "safetensors in files", "w");
  check_place(model + "/model-00001-of-00001.safetensors", "safetensors", "w");
  fs::copy_file(model + "/model-00001-of-00001.safetensors", made / "other");
  check_place(made / "other", "safetensors", "w");  // by how it begins
  check_place("safetensors://" + (made / "other"), "safetensors", "w");

  torch::save(folder, key("1.bin"), torch::value::dict{{"w", row}}).value();
  REQUIRE(folder.put(key("pytorch_model.bin.index.json"),
                     as_bytes(std::string_view(R"({"weight_map":{"w":"1.bin"}})"))));
  check_place(made.path().string(), "torch.save in files", "w");
  check_place(made / "pytorch_model.bin.index.json", "torch.save in files", "w");

  const std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n";
  std::string npy("\x93NUMPY\x01\x00", 8);
  npy += {static_cast<char>(text.size()), '\0'};
  npy += text + std::string(4, '\0');
  test::write_file(made / "x.npy", npy);
  check_place(made / "x.npy", "npy", "value");
  test::write_file(made / "x.npz", test::zip_of({{"a.npy", npy}}));
  check_place(made / "x.npz", "npz", "a");
  fs::copy_file(made / "x.npz", made / "x.zip");
  check_place("numpy://" + (made / "x.zip"), "npz", "a");

  // Parts of tensors are joined by DCP's cells, by the same index.
  const std::vector<safetensors::named_view> part{{"w", row}};
  safetensors::save(model + "/model-00001-of-00001.safetensors", part,
                    {{"DCP_SHARDING_INFO", R"({"w":{"saved_offsets":[0]}})"}})
      .value();
  check_place(model, "DCP checkpoint", "w");
  test::write_file(made / "damaged.safetensors", "12345678{");
  CHECK(open(made / "damaged.safetensors", all_formats()).failure().code == errc::corrupt);
}

TEST_CASE("formats: what lies in an OCDBT database is Orbax's if that is asked for") {
  const std::string path = golden + "orbax/pytree-ocdbt-zarr3";
  const auto all = formats<ocdbt::format, orbax::format>().open(path, {}).value();
  CHECK(all.format == "Orbax checkpoint");
  CHECK(formats<ocdbt::format>().open(path, {}).value().format == "OCDBT database");
}

TEST_CASE("formats: what no format claims is what it is without them") {
  const test::temp_directory made;
  CHECK(open(made / "none", all_formats()).failure().code == errc::not_found);
  CHECK(open("none-at-all", all_formats()).failure().code == errc::not_found);
  CHECK(open(made.path().string(), all_formats()).failure().code == errc::not_found);
  test::write_file(made / "text", "nothing that is known");
  CHECK_FALSE(open(made / "text", all_formats()));
  CHECK_FALSE(open(made / "text/in/it", all_formats()));
  CHECK_FALSE(open("gguf://" + (made / "text"), all_formats()));
  // And to write.
  const std::vector<float> values{1};
  context how = default_context();
  how.stores = all_formats();
  CHECK(save(made / "new", {{"w", values}}, {}, how));
  CHECK(open(made / "new", all_formats()).value().contains("w"));
  const auto refused = save("gguf://" + (made / "m.gguf"), {{"w", values}}, {}, how);
  CHECK(refused.failure().code == errc::unsupported);
  CHECK(mentions(refused.failure(), "gguf:// is only read"));
}

TEST_CASE("formats: a damaged place is told by its own format") {
  const test::temp_directory made;
  std::string bytes = test::read_file(golden + "gguf/small.gguf");
  test::write_file(made / "m.gguf", bytes.substr(0, 100));
  CHECK(mentions(open(made / "m.gguf", all_formats()).failure(), "GGUF"));
  CHECK_FALSE(mentions(open(made / "m.gguf", all_formats()).failure(), "looks like"));
  fs::copy(golden + "dcp/one-process", made / "dcp");
  test::write_file(made / "dcp/.metadata", "no pickle");
  CHECK(mentions(open(made / "dcp", all_formats()).failure(), "PyTorch"));
  fs::create_directory(made / "db");
  test::write_file(made / "db/manifest.ocdbt", "no manifest");
  CHECK(mentions(open(made / "db", all_formats()).failure(), "OCDBT"));
  // Of a link that may not be followed the error names the link, and the table may follow it.
  fs::create_directory(made / "links");
  fs::create_symlink(golden + "dcp/one-process/.metadata", made / "links/.metadata");
  CHECK(mentions(open(made / "links", all_formats()).failure(), "link"));
  fs::create_directory(made / "followed");
  for (const auto& each : fs::directory_iterator(golden + "dcp/one-process"))
    fs::create_symlink(each.path(), fs::path(made / "followed") / each.path().filename());
  const store_table follows = all_formats().following(link_scope::anywhere);
  CHECK(open(made / "followed", follows).value().contains("model.w"));
}

TEST_CASE("formats: without them the error says what a place looks like, and what reads it") {
  const test::temp_directory made;
  for (const auto& [path, what] : std::vector<std::pair<std::string, std::string>>{
           {golden + "gguf/small.gguf",
            "a GGUF file: open(path, formats<gguf::format>()) of <zarrpoint/gguf.hpp>"},
           {golden + "orbax/pytree-ocdbt-zarr3",
            "an Orbax checkpoint: open(path, formats<orbax::format>())"},
           {golden + "dcp/one-process", "<zarrpoint/dcp.hpp>"},
           {golden + "torch/torch-2.15.0.pt", "<zarrpoint/torch.hpp>"}}) {
    CAPTURE(path);
    const auto refused = open(path);
    CHECK(mentions(refused.failure(), what));
    CHECK(mentions(open("file://" + path).failure(), what));
  }
  CHECK_FALSE(mentions(open(made.path().string()).failure(), "looks like"));
  CHECK(mentions(open(golden + "gguf/small.gguf", formats<dcp::format>()).failure(), "gguf.hpp"));
  for (const auto& [name, header] : std::vector<std::pair<std::string, std::string>>{
           {"x.npy", "numpy.hpp"}, {"x.npz", "numpy.hpp"}, {"x.safetensors", "safetensors.hpp"}}) {
    CAPTURE(name);
    test::write_file(made / name, name == "x.npy" ? "\x93NUMPY" : "PK\x03\x04");
    CHECK(mentions(open(made / name).failure(), header));
    CHECK_FALSE(mentions(open(made / name, all_formats()).failure(), "looks like"));
  }
  for (const auto& [index, header] : std::vector<std::pair<std::string, std::string>>{
           {"model.safetensors.index.json", "safetensors.hpp"},
           {"pytorch_model.bin.index.json", "torch.hpp"}}) {
    fs::create_directory(made / header);
    test::write_file(made / (header + '/' + index), "{}");
    CHECK(mentions(open(made / header).failure(), header));
  }
}

TEST_CASE("formats: several processes load their shares of what a format holds") {
  const std::string path = golden + "gguf/small.gguf";
  const auto whole = open(path, all_formats()).value().load<tensor>("plain.bf16.weight").value();
  const tensor_spec spec = whole.spec();
  REQUIRE(spec.shape[0] % 2 == 0);
  const auto loaded = thread_world::run(2, [&](const thread_communicator& self) {
    process_group group;
    group.ranks = self;
    group.how.stores = all_formats();
    tensor_spec half = spec;
    half.shape[0] /= 2;
    const auto mine =
        from_rank_offsets("plain.bf16.weight", half, {.offsets = {{0, self.rank(), 2}}}).value();
    return load(path, state{{"w", sharded_tensor(mine)}}, group);
  });
  const auto all = bytes_of(whole);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    REQUIRE_MESSAGE(loaded[rank].has_value(), to_string(loaded[rank].failure()));
    const auto part = bytes_of(*loaded[rank]->loaded.find("w")->if_tensor()->get<tensor>());
    CHECK(part == all.substr(rank * part.size(), part.size()));
  }
}

/// A format of the test's own: a file that begins with "toy" and holds one byte more.
struct toy {
  static constexpr std::string_view name = "toy";
  static result<claim> sniff(const place_look& at) {
    return at.head().starts_with("toy") ? claim::plain : claim::none;
  }
  static result<stored_place> open(const place_look& at, const place_use&) {
    ZARRPOINT_TRY(file, at.open_file());
    if (file->size() != 4) return error{errc::corrupt, at.path() + ": no toy"};
    std::vector<std::uint8_t> value(1);
    ZARRPOINT_CHECK(file->read(3, std::as_writable_bytes(std::span(value))));
    memory_store made;
    ZARRPOINT_CHECK(save(location(made, store_key::parse("c").value()), {{"value", value}}));
    return at.within(prefix_store(made, store_key::parse("c").value()), "");
  }
};

struct other_toy : toy {
  static constexpr std::string_view name = "other";
};
struct sure_toy : toy {
  static constexpr std::string_view name = "sure";
  static result<claim> sniff(const place_look& at) {
    ZARRPOINT_TRY(claimed, toy::sniff(at));
    return claimed == claim::none ? claim::none : claim::sure;
  }
};
struct own_gguf : toy {
  static constexpr std::string_view name = "gguf";
};

TEST_CASE("formats: those of users are as good as ours") {
  const test::temp_directory made;
  const std::string path = made / "a file";
  test::write_file(path, "toy\x05");
  const auto opened = open(path, all_formats<toy>()).value();
  CHECK(opened.format() == "toy");
  CHECK(opened.load<std::vector<std::uint8_t>>("value").value() == std::vector<std::uint8_t>{5});
  CHECK(open("toy://" + (made / "a%20file"), all_formats<toy>()));
  CHECK(open(golden + "gguf/small.gguf", all_formats<toy>()).value().format() == "GGUF 3");
  // One of the same name takes the place of ours.
  CHECK(open(path, all_formats<own_gguf>()).value().format() == "gguf");
  CHECK_FALSE(open(golden + "gguf/small.gguf", all_formats<own_gguf>()));
  CHECK(open(golden + "orbax/pytree-ocdbt-zarr3", all_formats<own_gguf, zip_scheme>()));
  test::write_file(path, "toy and more");
  CHECK(mentions(open(path, all_formats<toy>()).failure(), "no toy"));
}

TEST_CASE("formats: a place that two claim is opened by the surer one, or by its scheme") {
  const test::temp_directory made;
  const std::string path = made / "t";
  test::write_file(path, "toy\x05");
  const store_table both = formats<toy, other_toy>();
  const auto refused = open(path, both);
  CHECK(refused.failure().code == errc::invalid_argument);
  CHECK(mentions(refused.failure(), "toy://" + path));
  CHECK(mentions(refused.failure(), "other://" + path));
  CHECK(open("other://" + path, both).value().format() == "other");
  CHECK(open(path, formats<toy, other_toy, sure_toy>()).value().format() == "sure");
  CHECK(open(path, formats<sure_toy, toy, other_toy>()).value().format() == "sure");
}

TEST_CASE("formats: of two models in one directory neither is chosen without a word") {
  const test::temp_directory made;
  const any_store folder = file_store::open(made.path().string()).value();
  const std::vector<float> values{1, 2, 3};
  const host_view row = dense_view(reinterpret_cast<const std::byte*>(values.data()),
                                   tensor_spec{dtype(dtype_kind::float32), {3}});
  const std::string model = made / "model";
  safetensors::save_files(model, std::vector<safetensors::named_view>{{"w", row}}).value();
  const auto key = [](const char* name) { return store_key::parse(name).value(); };
  torch::save(folder, key("model/1.bin"), torch::value::dict{{"w", row}}).value();
  REQUIRE(folder.put(key("model/pytorch_model.bin.index.json"),
                     as_bytes(std::string_view(R"({"weight_map":{"w":"1.bin"}})"))));
  const auto refused = open(model, all_formats());
  CHECK(refused.failure().code == errc::invalid_argument);
  CHECK(mentions(refused.failure(), "safetensors://" + model));
  CHECK(mentions(refused.failure(), "torch://" + model));
  check_place("torch://" + model, "torch.save in files", "w");
  check_place("safetensors://" + model, "safetensors in files", "w");
  CHECK(open(model, formats<torch::format>()).value().format() == "torch.save in files");
}

TEST_CASE("formats: parts of tensors are found wherever in a header they are told") {
  const test::temp_directory made;
  const std::vector<float> values{1, 2, 3};
  const host_view row = dense_view(reinterpret_cast<const std::byte*>(values.data()),
                                   tensor_spec{dtype(dtype_kind::float32), {3}});
  const std::vector<safetensors::named_view> part{{"w", row}};
  const std::string model = made / "model";
  safetensors::save_files(model, part).value();
  // Around the end of the 64 KiB that are read at once.
  for (std::size_t padding = 65'470; padding < 65'560; padding += 3) {
    safetensors::save(
        model + "/model-00001-of-00001.safetensors", part,
        {{"A", std::string(padding, 'x')}, {"DCP_SHARDING_INFO", R"({"w":{"saved_offsets":[0]}})"}})
        .value();
    CAPTURE(padding);
    CHECK(formats<dcp::format, safetensors::format>().open(model, {}).value().format ==
          "DCP checkpoint");
  }
  // Without that format the error says what is needed.
  CHECK(mentions(open(model, formats<safetensors::format>()).failure(), "dcp::format"));
}

}  // namespace formats_test
