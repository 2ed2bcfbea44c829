// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// megatron_exchange write FOLDER RANKS BACKEND: saves the state of py/megatron_check.py in a layout
// of Megatron-Core, "zarr" or "torch_dist", by so many threads. megatron_exchange read FOLDER
// RANKS: loads it, cut another way, and compares every element. megatron_exchange copy FROM TO
// BACKEND: loads what there is and saves it in that layout, or with "ours" in ours.
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/distributed/state/state_json.hpp>
#include <zarrpoint/distributed/state/state_ops.hpp>
#include <zarrpoint/interop/megatron/megatron_strategies.hpp>
#include <zarrpoint/megatron.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zp = zarrpoint;
using zp::dims;
using zp::error;
using zp::index_t;
using zp::json;
using zp::result;
using zp::state;

namespace {

struct global_tensor {
  const char* key;
  zp::dtype_kind type;
  dims shape;
};
const global_tensor tensors[] = {
    {"model.weight", zp::dtype_kind::float32, {8, 12}},
    {"model.bias", zp::dtype_kind::bfloat16, {12}},
    {"model.layers", zp::dtype_kind::float32, {2, 4, 6}},
    {"model.experts", zp::dtype_kind::bfloat16, {2, 4, 6}},
    {"optimizer.flat", zp::dtype_kind::float32, {4, 8}},
    {"counts", zp::dtype_kind::int64, {3}},
};

/// Element `n` of a global tensor, as its bytes; small whole numbers, exact in every dtype.
void put_value(std::byte* to, zp::dtype type, const std::string& key, index_t n) {
  const auto number = static_cast<index_t>(key.size()) * 7 + n % 200;
  if (type == zp::dtype_kind::int64) {
    std::memcpy(to, &number, sizeof number);
    return;
  }
  const auto real = static_cast<float>(number % 200);
  std::byte bytes[sizeof real];
  std::memcpy(bytes, &real, sizeof real);
  const std::size_t size = type.size();
  std::memcpy(to, bytes + sizeof real - size, size);  // bfloat16 is the upper half
}

/// The elements of a shard.
result<zp::tensor> values_of(const zp::shard_metadata& of) {
  ZARRPOINT_TRY(out, zp::tensor::make(of.data_spec()));
  const zp::box whole = of.global_box();
  const std::size_t size = of.type.size();
  ZARRPOINT_TRY(count, zp::element_count(whole.shape));
  const zp::flat_range range = of.range.value_or(zp::flat_range{0, count});
  for (index_t n = range.start; n < range.stop; ++n) {
    index_t rest = n;
    index_t global = 0;
    index_t step = 1;
    for (std::size_t axis = whole.rank(); axis-- > 0;) {
      global += (whole.offset[axis] + rest % whole.shape[axis]) * step;
      rest /= whole.shape[axis];
      step *= of.global_shape[axis];
    }
    put_value(out.mutable_view().data + static_cast<std::size_t>(n - range.start) * size, of.type,
              of.key, global);
  }
  return std::move(out);
}

/// The shards of one of one or two processes, as py/megatron_check.py cuts them.
result<std::vector<zp::shard_metadata>> shards_of(index_t rank, index_t ranks) {
  std::vector<zp::shard_metadata> out;
  const zp::dtype f32 = zp::dtype_kind::float32;
  const zp::dtype bf16 = zp::dtype_kind::bfloat16;
  const auto add = [&](const char* key, const zp::tensor_spec& local,
                       const zp::sharding& where) -> result<void> {
    ZARRPOINT_TRY(made, zp::from_rank_offsets(key, local, where));
    out.push_back(std::move(made));
    return {};
  };
  ZARRPOINT_CHECK(add("model.weight", {f32, {8, 12 / ranks}}, {.offsets = {{1, rank, ranks}}}));
  ZARRPOINT_CHECK(add("model.bias", {bf16, {12}}, {.replica = rank}));
  ZARRPOINT_CHECK(
      add("counts", {zp::dtype_kind::int64, {3}}, {.replica = zp::replica_id({0, rank})}));
  for (index_t layer = 0; layer < 2; ++layer) {
    if (ranks == 1 || rank == layer)
      ZARRPOINT_CHECK(
          add("model.layers", {f32, {4, 6}}, {.offsets = {{0, layer, 2}}, .prepended_axes = 1}));
    ZARRPOINT_CHECK(add("model.experts", {bf16, {4, 6 / ranks}},
                        {.offsets = {{0, layer, 2}, {2, rank, ranks}}, .prepended_axes = 1}));
    const zp::flat_range range = ranks == 1  ? zp::flat_range{0, 16}
                                 : rank == 0 ? zp::flat_range{0, 5}
                                             : zp::flat_range{5, 16};
    ZARRPOINT_TRY(flat, zp::from_rank_offsets_flat("optimizer.flat", {f32, {range.size()}},
                                                   {{2, 8}, range}, {.offsets = {{0, layer, 2}}}));
    out.push_back(std::move(flat));
  }
  return out;
}

json object_value(index_t number) {
  return json::object{{"step", json(number)}, {"name", json("rank " + std::to_string(number))}};
}

/// A file of torch.save in memory.
result<std::vector<std::byte>> torch_file_of(const json& value, index_t number) {
  const zp::memory_store store;
  ZARRPOINT_TRY(key, zp::store_key::parse("o.pt"));
  const std::string root = "shard_" + std::to_string(number) + "_2";
  ZARRPOINT_CHECK(zp::torch::save(store, key, zp::torch::value(value), root));
  ZARRPOINT_TRY(bytes, zp::get(store, key, SIZE_MAX));
  return std::vector<std::byte>(bytes->begin(), bytes->end());
}

json common_values() {
  return json::object{
      {"iteration", 7},
      {"args", json::object{{"lr", 0.125}, {"names", json::array{"a", "b"}}, {"none", json()}}}};
}

result<state> state_to_save(index_t rank, index_t ranks) {
  ZARRPOINT_TRY(out, zp::detail::state_from_json(common_values()));
  ZARRPOINT_TRY(shards, shards_of(rank, ranks));
  for (std::size_t i = 0; i < shards.size(); ++i) {
    ZARRPOINT_TRY(values, values_of(shards[i]));
    ZARRPOINT_TRY(made, zp::sharded<zp::tensor>::make(shards[i], std::move(values)));
    out.if_map()->emplace("tensor " + std::to_string(i), made);
  }
  for (index_t i = 0; i < 2; ++i) {
    if (ranks == 2 && i != rank) continue;
    ZARRPOINT_TRY(file, torch_file_of(object_value(i), i));
    const zp::object_place place{.global_shape = {2}, .global_offset = {i}};
    ZARRPOINT_TRY(object, zp::sharded_object::from_bytes("rng", std::move(file), place));
    out.if_map()->emplace("object " + std::to_string(i), object);
    const std::string text = "bytes " + std::to_string(i);
    const zp::bytes_view bytes = zp::as_bytes(text);
    ZARRPOINT_TRY(blob,
                  zp::sharded_object::from_bytes("blob", {bytes.begin(), bytes.end()}, place));
    out.if_map()->emplace("blob " + std::to_string(i), blob);
  }
  return std::move(out);
}

/// A share along the first axis, or of all elements flattened.
zp::shard_metadata share_of(const global_tensor& of, bool flat, const zp::thread_communicator& by) {
  zp::shard_metadata out{.key = of.key,
                         .type = of.type,
                         .local_shape = of.shape,
                         .global_shape = of.shape,
                         .global_offset = dims(of.shape.rank(), 0)};
  const index_t count = flat ? zp::element_count(of.shape).value_or(0) : of.shape[0];
  const index_t start = count * by.rank() / by.size();
  const index_t stop = count * (by.rank() + 1) / by.size();
  if (flat) {
    out.fragmentation = dims(of.shape.rank(), 1);
    out.range = zp::flat_range{start, stop};
  } else {
    out.global_offset[0] = start;
    out.local_shape[0] = stop - start;
  }
  return out;
}

result<void> check_object(const zp::sharded_object& found, index_t number) {
  const zp::memory_store store;
  ZARRPOINT_TRY(key, zp::store_key::parse("o.pt"));
  ZARRPOINT_CHECK(store.put(key, found.bytes()));
  ZARRPOINT_TRY(file, zp::torch::open(store, key));
  ZARRPOINT_TRY(value, zp::torch::to_json(file.root()));
  if (value == object_value(number)) return {};
  return error{zp::errc::corrupt, found.unique_key() + " has another value"};
}

/// A file of a `bytearray` or an `io.BytesIO`.
result<void> check_bytes(const zp::sharded_object& found, const std::string& wanted) {
  const zp::memory_store store;
  ZARRPOINT_TRY(key, zp::store_key::parse("o.pt"));
  ZARRPOINT_CHECK(store.put(key, found.bytes()));
  ZARRPOINT_TRY(file, zp::torch::open(store, key));
  ZARRPOINT_TRY(bytes, zp::torch::to_bytes(file.root()));
  if (zp::as_text(bytes) == wanted) return {};
  return error{zp::errc::corrupt, found.unique_key() + " has other bytes"};
}

result<void> read(const std::string& folder, const zp::process_group& group,
                  const zp::thread_communicator& self) {
  state::map request;
  for (const global_tensor& one : tensors) {
    for (const bool flat : {false, true})
      request.emplace(std::string(one.key) + (flat ? " flat" : ""),
                      zp::sharded_tensor(share_of(one, flat, self)));
  }
  for (index_t i = 0; i < 2; ++i) {
    for (const char* key : {"rng", "blob", "buffer", "array"}) {
      ZARRPOINT_TRY(object,
                    zp::sharded_object::request(key, {.global_shape = {2}, .global_offset = {i}}));
      request.emplace(key + std::to_string(i), object);
    }
  }
  // Each tensor in two ways, and every object on every rank.
  ZARRPOINT_TRY(report, zp::load(folder, state(std::move(request)), group, {.validate = false}));
  for (const auto& [name, leaf] : *report.loaded.if_map()) {
    if (const zp::sharded_tensor* one = leaf.if_tensor()) {
      const zp::tensor* found = one->get<zp::tensor>();
      ZARRPOINT_TRY(expected, values_of(one->metadata()));
      const std::size_t size = expected.size() * expected.type().size();
      if (found == nullptr || found->spec() != expected.spec() ||
          std::memcmp(found->view().data, expected.view().data, size) != 0)
        return error{zp::errc::corrupt, name + " has other elements"};
    } else if (const zp::sharded_object* object = leaf.if_object()) {
      const index_t number = object->global_offset()[0];
      if (object->key() == "rng") {
        ZARRPOINT_CHECK(check_object(*object, number));
      } else if (object->key() != "blob") {
        ZARRPOINT_CHECK(check_bytes(*object, object->key() + " " + std::to_string(number)));
      } else if (zp::as_text(object->bytes()) != "bytes " + std::to_string(number)) {
        return error{zp::errc::corrupt, object->unique_key() + " has other bytes"};
      }
    }
  }
  ZARRPOINT_TRY(common, zp::detail::state_from_json(common_values()));
  for (const auto& [name, value] : *common.if_map()) {
    const state* found = report.loaded.find(name);
    ZARRPOINT_TRY(wanted, zp::to_json(value));
    if (found == nullptr) return error{zp::errc::not_found, "no common value " + name};
    ZARRPOINT_TRY(there, zp::to_json(*found));
    if (there != wanted) return error{zp::errc::corrupt, "another common value " + name};
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view action = argc >= 4 ? argv[1] : "";
  if (!((action == "write" || action == "copy") && argc == 5) && !(action == "read" && argc == 4)) {
    std::fprintf(stderr,
                 "usage: megatron_exchange write FOLDER RANKS BACKEND\n"
                 "       megatron_exchange read FOLDER RANKS\n"
                 "       megatron_exchange copy FROM TO BACKEND|ours\n");
    return 2;
  }
  const int ranks = action == "copy" ? 1 : std::atoi(argv[3]);
  const auto run = [&](const zp::thread_communicator& self) -> result<void> {
    zp::process_group group;
    group.ranks = self;
    group.how = zp::context{};
    group.known = zp::megatron::strategies::table();
    if (action == "read") return read(argv[2], group, self);
    if (action == "copy") {
      const bool is_ours = std::string_view(argv[4]) == "ours";
      const auto chosen =
          is_ours ? zp::strategy_choice("zarr", 3) : zp::strategy_choice(argv[4], 1);
      ZARRPOINT_TRY(found, zp::load_sharded_metadata(argv[2], group));
      // What Megatron-Core asks for in flat pieces must be stored so, in cells that it had.
      ZARRPOINT_TRY(all, zp::transform_leaves(found, [&](const state& leaf) -> state {
                      const zp::sharded_tensor* one = leaf.if_tensor();
                      if (is_ours || one == nullptr || one->key() != "optimizer.flat") return leaf;
                      state::list cells;
                      for (const index_t row : {0, 2}) {
                        zp::shard_metadata cell = one->metadata();
                        cell.local_shape = {2, 8};
                        cell.global_offset = {row, 0};
                        cell.fragmentation = dims{2, 1};
                        cell.range = zp::flat_range{0, 16};
                        cells.push_back(zp::sharded_tensor(std::move(cell)));
                      }
                      return cells;
                    }));
      ZARRPOINT_TRY(there, zp::load(argv[2], all, group, {.validate = false}));
      return zp::save(argv[3], there.loaded, group, {.sharded = chosen}).transform([](const auto&) {
      });
    }
    ZARRPOINT_TRY(tree, state_to_save(self.rank(), self.size()));
    zp::group_save_options options;
    options.sharded = zp::strategy_choice(argv[4], 1);
    ZARRPOINT_CHECK(zp::save(argv[2], tree, group, options));
    return {};
  };
  for (const result<void>& one : zp::thread_world::run(ranks, run)) {
    if (one) continue;
    std::fprintf(stderr, "%s\n", zp::to_string(one.failure()).c_str());
    return 1;
  }
  return 0;
}
