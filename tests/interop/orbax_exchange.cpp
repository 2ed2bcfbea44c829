// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// orbax_exchange write FOLDER ZARR_FORMAT OCDBT [STEP]: saves the tree of py/orbax_check.py, with
// OCDBT 0 or 1; plain in place of write: without the empty tuple.
// orbax_exchange jax FOLDER ZARR_FORMAT OCDBT: saves the arrays of a tree on eight devices; key in
// place of jax: with a key of jax.random.
// orbax_exchange group FOLDER ZARR_FORMAT OCDBT RANKS [STEP]: saves a tree by so many processes;
// groupjax: the arrays of jax, of which each process has what its devices have; groupasync: the
// tree of group, in the background.
// orbax_exchange rich FOLDER ZARR_FORMAT OCDBT: saves a tree with tuples and named tuples, in the
// background; full in place of rich: with numbers in the place of empty ones.
// orbax_exchange kinds FOLDER: prints the tree with its containers, as Python does.
// orbax_exchange read FOLDER: prints the name, type, shape and bytes of every leaf, as JSON.
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/orbax.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "../support/fork_world.hpp"
#include "../support/orbax_folders.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zp = zarrpoint;
namespace orbax = zarrpoint::orbax;
using zp::dims;
using zp::index_t;
using zp::result;

namespace {

/// Types that hold all whole numbers below 70; the others have 1 and 2 in turn.
const char* const wide[] = {"int8",    "uint8",     "int16",      "uint16",  "int32",
                            "uint32",  "int64",     "uint64",     "float16", "float32",
                            "float64", "complex64", "complex128", "bfloat16"};
const char* const narrow[] = {
    "bool",

    "float8_e3m4", "float8_e4m3fn",   "float8_e4m3b11fnuz", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",     "float4_e2m1fn"};

/// 0, 1, 2 ... and so on; 1 and 2 in turn; or from -half to half - 1 in turn.
zp::tensor numbers(const dims& shape, bool is_narrow = false, index_t half = 0) {
  zp::tensor out = zp::tensor::make({zp::dtype_kind::float32, shape}).value();
  const index_t count = zp::element_count(shape).value();
  for (index_t n = 0; n < count; ++n) {
    const index_t number = half != 0 ? n % (2 * half) - half : is_narrow ? 1 + n % 2 : n;
    const auto value = static_cast<float>(number);
    std::memcpy(out.mutable_view().data + n * 4, &value, 4);
  }
  return out;
}

result<void> write(const std::string& path, zarrpoint_test::tree_options how, bool has_tuple) {
  std::vector<orbax::tree_item> tree{
      {"params/dense/kernel", numbers({8, 6})},
      {"params/dense/bias", numbers({6})},
      {{"params", "blocks", 0, "w"}, numbers({4, 4})},
      {{"params", "blocks", 1, "w"}, numbers({3, 4}, true)},
      {"params/large", numbers({512, 1024})},
      {"params/cut", numbers({60, 50})},
      {{"keys", "it's"}, numbers({2})},
      {{"keys", "say \"hi\""}, numbers({2})},
      {{"keys", "both ' and \""}, numbers({2})},
      {{"keys", "mlp/~/linear"}, numbers({2})},
      {{"keys", "\u00fc"}, numbers({2})},
      {"rank0", numbers({})},
      {"step", 1200},
      {"lr", 0.5},
      {"is_done", true},
      {"note", "a text \u00fc"},
      {{"opt", 0, "mu"}, numbers({3})},
      {{"opt", 1}, orbax::empty_value::none},
      {{"opt", 2}, orbax::empty_value::dict},
      {{"opt", 3}, orbax::empty_value::list},
      {{"opt", 4}, "in a list"},
  };
  if (has_tuple) tree.push_back({{"opt", 5}, orbax::empty_value::tuple});
  how.all.rules = {{.glob = "params/dense/bias", .cast = zp::dtype_kind::bfloat16},
                   {.glob = "params/blocks/0/w", .cast = zp::dtype_kind::float16},
                   {.glob = "params/blocks/1/w", .cast = zp::dtype_kind::float8_e4m3fn},
                   {.glob = "params/cut", .chunk_byte_size = 1200}};
  for (const char* const name : wide) {
    tree.push_back({{"types", name}, numbers({7, 10})});
    how.all.rules.push_back({.glob = std::string("types/") + name, .cast = zp::parse_dtype(name)});
  }
  for (const char* const name : narrow) {
    tree.push_back({{"types", name}, numbers({7, 10}, true)});
    how.all.rules.push_back({.glob = std::string("types/") + name, .cast = zp::parse_dtype(name)});
  }
  for (const auto& [name, half] : {std::pair<const char*, index_t>{"int2", 2}, {"int4", 8}}) {
    tree.push_back({{"types", name}, numbers({7, 10}, false, half)});
    how.all.rules.push_back({.glob = std::string("types/") + name, .cast = zp::parse_dtype(name)});
  }
  how.own.custom_metadata = zp::json::object{{"by", "zarrpoint"}};
  return orbax::save(path, tree, how).transform([](const auto&) {});
}

/// A model that lay on a mesh of 4 x 2 devices.
const orbax::device_mesh mesh{{4, 2}, {"x", "y"}, {0, 1, 2, 3, 4, 5, 6, 7}};
using named_shardings = std::vector<std::pair<std::string, orbax::sharding>>;
const named_shardings shardings{{"w", {"NamedSharding", mesh, {{"x"}, {"y"}}, {}}},
                                {"rows", {"NamedSharding", mesh, {{"x", "y"}}, {}}},
                                {"whole", {"NamedSharding", mesh, {}, {}}},
                                {"one", {"SingleDeviceSharding", {}, {}, "TFRT_CPU_3"}}};

result<void> write_jax(const std::string& path, zarrpoint_test::tree_options how, bool has_key) {
  how.own.arrays = orbax::array_kind::jax;
  how.own.shardings = shardings;
  const std::vector<std::uint32_t> key{0, 42};
  std::vector<orbax::tree_item> tree{{"w", numbers({16, 12})},
                                     {"rows", numbers({16, 3})},
                                     {"whole", numbers({5})},
                                     {"one", numbers({7})},
                                     {"free", numbers({4})}};
  if (has_key) {
    tree.push_back({"key", key});
    tree.back().random_key = "threefry2x32";
    how.own.shardings.push_back({"key", {"SingleDeviceSharding", {}, {}, "TFRT_CPU_0"}});
  }
  return orbax::save(path, tree, how).transform([](const auto&) {});
}

/// The elements of a box of `numbers(shape)`.
zp::sharded_tensor part_of(const std::string& name, const dims& shape, const zp::box& at) {
  const zp::shard_metadata of{.key = name,
                              .type = zp::dtype_kind::float32,
                              .local_shape = at.shape,
                              .global_shape = shape,
                              .global_offset = at.offset};
  zp::tensor part = zp::tensor::make(of.data_spec()).value();
  zp::copy_elements(part.mutable_view(), zp::subview(numbers(shape).view(), zp::selection(at)));
  return zp::sharded<zp::tensor>::make(of, std::move(part)).value();
}

/// What process `rank` has of an array that is cut along an axis at these places.
zp::box slab(const dims& shape, std::size_t axis, index_t begin, index_t end) {
  zp::box out = zp::box::whole(shape);
  out.offset[axis] = begin;
  out.shape[axis] = end - begin;
  return out;
}

template <bool in_background>
result<void> write_group(const std::string& path, zarrpoint_test::tree_options how,
                         const zp::any_communicator& ranks) {
  const index_t n = ranks.size();
  const index_t r = ranks.rank();
  const index_t columns = n / 2;  // of processes in a mesh of two rows
  const zp::box cell{{4 * (r / columns), 8 / columns * (r % columns)}, {4, 8 / columns}};
  const index_t rest = 10 - (n - 1);  // rows of the first; the others have one each
  const std::vector<zp::sharded_tensor> shards{
      part_of("params/rows", {16, 12}, slab({16, 12}, 0, 16 / n * r, 16 / n * (r + 1))),
      part_of("params/columns", {6, 16}, slab({6, 16}, 1, 16 / n * r, 16 / n * (r + 1))),
      part_of("params/mesh", {8, 8}, cell),
      part_of("params/bias", {16}, slab({16}, 0, 16 / n * r, 16 / n * (r + 1))),
      part_of("params/uneven", {10, 3},
              slab({10, 3}, 0, r == 0 ? 0 : rest + r - 1, r == 0 ? rest : rest + r)),
      part_of("params/large", {512, 1024}, slab({512, 1024}, 0, 512 / n * r, 512 / n * (r + 1))),
      part_of("params/same", {40, 2}, zp::box::whole({40, 2})),
      part_of("block", {4, 4}, slab({4, 4}, 0, 4 / n * r, 4 / n * (r + 1))),
  };
  how.own.paths = {{"block", {"params", "blocks", 0, "w"}}};
  how.all.rules = {{.glob = "params/bias", .cast = zp::dtype_kind::bfloat16}};
  std::vector<orbax::tree_item> tree{{"kept", numbers({3})},
                                     {{"params", "blocks", 1}, orbax::empty_value::none},
                                     {"empty", orbax::empty_value::dict},
                                     {"step", 1200},
                                     {"lr", 0.5},
                                     {"is_done", true},
                                     {"note", "a text \u00fc"}};
  if (r == n - 1) tree.push_back({"last", numbers({2, 2})});
  if (!in_background)
    return orbax::save(path, ranks, shards, tree, how).transform([](const auto&) {});
  orbax::async_saves saves(ranks);
  ZARRPOINT_CHECK(saves.schedule(path, {shards, tree}, how));
  return saves.finalize().transform([](const auto&) {});
}

/// A process for each row of the mesh, or two.
result<void> write_group_jax(const std::string& path, zarrpoint_test::tree_options how,
                             const zp::any_communicator& ranks) {
  how.own.arrays = orbax::array_kind::jax;
  how.own.shardings = shardings;
  std::vector<zp::sharded_tensor> shards;
  const auto devices = static_cast<std::size_t>(8 / ranks.size());
  const std::pair<std::string, dims> cut[] = {{"w", {16, 12}}, {"rows", {16, 3}}, {"whole", {5}}};
  for (std::size_t i = 0; i < 3; ++i) {
    ZARRPOINT_TRY(boxes, orbax::device_boxes(mesh, shardings[i].second.partition, cut[i].second));
    for (std::size_t d = 0; d < devices; ++d)
      shards.push_back(part_of(cut[i].first, cut[i].second,
                               boxes[static_cast<std::size_t>(ranks.rank()) * devices + d]));
  }
  std::vector<orbax::tree_item> tree{{"free", numbers({4})}};
  if (ranks.rank() == 0) tree.push_back({"one", numbers({7})});
  return orbax::save(path, ranks, shards, tree, how).transform([](const auto&) {});
}

using work_of_rank = result<void>(const std::string&, zarrpoint_test::tree_options,
                                  const zp::any_communicator&);

/// By real processes.
result<void> write_by(int ranks, const std::string& path, const zarrpoint_test::tree_options& how,
                      work_of_rank* work) {
  const auto done = zarrpoint_test::fork_world(ranks, [&](const auto& self) {
    const auto saved = work(path, how, self);
    return saved ? std::string() : to_string(saved.failure());
  });
  for (const std::string& one : done)
    if (!one.empty()) return zp::error{zp::errc::io, one};
  return {};
}

result<void> write_rich(const std::string& path, zarrpoint_test::tree_options how, bool has_empty) {
  using orbax::value_kind;
  how.own.rich_types = {{.path = "opt"},
                        {.path = {"opt", 0},
                         .kind = value_kind::named_tuple,
                         .type = "optax._src.transform.ScaleByAdamState",
                         .fields = {"count", "nu", "mu"}},
                        {.path = {"opt", 2}},
                        {.path = {"list", 0}},
                        {.path = {"list", 0, 1},
                         .kind = value_kind::named_tuple,
                         .type = "__main__.Pair",
                         .fields = {"nu_2", "a"}}};
  std::vector<orbax::tree_item> tree{{"params/w", numbers({3, 4})},
                                     {{"opt", 0, "count"}, 7},
                                     {{"opt", 0, "mu", "w"}, numbers({3})},
                                     {{"opt", 0, "nu", 0}, numbers({2})},
                                     {{"opt", 2, 0}, "a text"},
                                     {{"list", 0, 0}, 1.5},
                                     {{"list", 0, 1, "a"}, numbers({5})},
                                     {{"list", 0, 1, "nu_2"}, orbax::empty_value::none},
                                     {{"dict", "category"}, numbers({1})},
                                     {{"dict", "it's"}, orbax::empty_value::list},
                                     {{"dict", "x"}, orbax::empty_value::dict}};
  if (has_empty) {
    tree.push_back({{"opt", 1}, orbax::empty_value::named_tuple});
    tree.push_back({{"list", 1}, orbax::empty_value::tuple});
  } else {
    tree.push_back({{"opt", 1}, 2});
    tree.push_back({{"list", 1}, 3});
  }
  return orbax::save_async(path, std::move(tree), how).get().transform([](const auto&) {});
}

result<void> read_kinds(const std::string& path) {
  ZARRPOINT_TRY(base, zp::file_store::open(path, {.read_only = true}));
  ZARRPOINT_TRY(saved, orbax::tree_store::open(base, zp::store_key::root()));
  ZARRPOINT_TRY(value, orbax::to_value(saved.tree()));
  std::fputs(zarrpoint_test::text_of(value).c_str(), stdout);
  return {};
}

result<void> read(const std::string& path) {
  ZARRPOINT_TRY(from, zp::open(path, {.stores = zp::formats<zp::orbax::format>()}));
  zp::json::array out;
  for (const std::string& name : from.names()) {
    zp::json::object leaf{{"name", name}};
    ZARRPOINT_TRY(told, from.metadata(name));
    if (told.spec.type == zp::dtype_kind::string) {
      ZARRPOINT_TRY(text, from.load<std::string>(name));
      leaf.push_back({"text", text});
    } else {
      ZARRPOINT_TRY(loaded, from.load<zp::tensor>(name));
      std::string hex;
      zp::json::array shape;
      for (const index_t length : loaded.shape()) shape.emplace_back(length);
      const std::size_t size = zp::byte_count(loaded.spec()).value();
      for (std::size_t i = 0; i < size; ++i) {
        constexpr char digits[] = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(loaded.view().data[i]);
        hex += digits[byte >> 4];
        hex += digits[byte & 15];
      }
      leaf.push_back({"dtype", std::string(to_string(loaded.type()))});
      leaf.push_back({"shape", std::move(shape)});
      leaf.push_back({"bytes", std::move(hex)});
    }
    out.emplace_back(std::move(leaf));
  }
  std::puts(zp::dump_json(out).c_str());
  return {};
}

/// A step with all kinds of items, in a manager's root with metadata.
result<void> write_extras(const std::string& path, zarrpoint_test::tree_options how) {
  ZARRPOINT_CHECK(orbax::save_root_metadata(path, zp::json::object{{"by", "zarrpoint"}}));
  how.own.item = "state";
  how.own.extras.documents = {
      {"extra", zp::json::object{{"lr", 0.1}, {"tags", zp::json::array{"a", zp::json()}}}}};
  how.own.extras.jax_keys = {{"key", {.data = {0, 42}}},
                             {"untyped", {.data = {0, 42}, .is_typed = false}},
                             {"keys", {.data = {0, 42, 0, 43}, .shape = {2, 2}}}};
  orbax::numpy_state state{.position = 7, .has_gauss = true, .gauss = 0.25};
  for (std::uint32_t i = 0; i < 624; ++i) state.key.push_back(i * 3);
  how.own.extras.numpy_states = {{"numpy", state}};
  return orbax::save(path, {{"w", numbers({3})}}, how).transform([](const auto&) {});
}

/// The layout of the v1 API.
result<void> write_v1(const std::string& path, zarrpoint_test::tree_options how) {
  how.own.handler = orbax::tree_handler::v1;
  how.own.extras.documents = {{"data", zp::json::object{{"lr", 0.5}}}};
  return orbax::save(path, {{"w", numbers({3})}, {{"list", 0}, 7}}, how).transform([](const auto&) {
  });
}

}  // namespace

int main(int count, char** words) {
  const std::string_view what = count > 2 ? words[1] : "";
  zarrpoint_test::tree_options how;
  if (count > 4) {
    how.all.zarr_format = std::atoi(words[3]);
    how.own.ocdbt = words[4] == std::string_view("1");
  }
  const bool is_group = what == "group" || what == "groupjax" || what == "groupasync";
  const int ranks = is_group && count > 5 ? std::atoi(words[5]) : 0;
  const int last = is_group ? 6 : 5;
  if (count > last) how.own.step = std::strtoull(words[last], nullptr, 10);
  result<void> done;
  if ((what == "write" || what == "plain") && count > 4) {
    done = write(words[2], how, what == "write");
  } else if ((what == "jax" || what == "key") && count == 5) {
    done = write_jax(words[2], how, what == "key");
  } else if (ranks == 2 || ranks == 4) {
    done = write_by(ranks, words[2], how,
                    what == "groupjax"     ? write_group_jax
                    : what == "groupasync" ? write_group<true>
                                           : write_group<false>);
  } else if ((what == "rich" || what == "full") && count == 5) {
    done = write_rich(words[2], how, what == "rich");
  } else if (what == "extras" && count == 6) {
    done = write_extras(words[2], how);
  } else if (what == "v1" && count == 5) {
    done = write_v1(words[2], how);
  } else if (what == "kinds" && count == 3) {
    done = read_kinds(words[2]);
  } else if (what == "read" && count == 3) {
    done = read(words[2]);
  } else {
    return 2;
  }
  if (done) return 0;
  std::fprintf(stderr, "%s\n", to_string(done.failure()).c_str());
  return 1;
}
