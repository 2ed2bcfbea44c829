// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Copies a checkpoint of torch.distributed.checkpoint by our reader and our writer, for
// py/dcp_check.py: dcp_exchange IN OUT CHUNK_BYTES FILE_BYTES RANKS. With several ranks, which
// are threads, each has some of the rows of a tensor, and all have what cannot be cut.

#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/dcp.hpp>
#include <zarrpoint/dcp_save.hpp>
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/stores.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace zp = zarrpoint;

zp::leaf value_of(const zp::dcp::state_store& from, const zp::checkpoint& opened,
                  const std::string& name) {
  const auto file = from.value(name).value();
  const zp::torch::pickle_value root = file.root();
  if (const auto truth = root.to_bool()) return {name, bool(*truth)};
  if (const auto number = root.to_int64()) return {name, std::int64_t(*number)};
  if (const auto number = root.to_uint64()) return {name, std::uint64_t(*number)};
  if (const auto number = root.to_double()) return {name, double(*number)};
  if (const std::string* text = root.if_string()) return {name, std::string(*text)};
  return {name, zp::json_text{opened.load<std::string>(name).value()}};
}

zp::result<zp::save_report> save(const std::string& out, const zp::any_communicator& ranks,
                                 const std::map<std::string, zp::tensor>& tensors,
                                 const std::vector<zp::leaf>& values,
                                 const zp::save_options& options) {
  std::vector<zp::leaf> leaves = values;
  if (ranks.size() == 1) {
    for (const auto& [name, one] : tensors) leaves.emplace_back(name, one);
    return zp::dcp::save(out, leaves, options);
  }
  std::vector<zp::sharded_tensor> shards;
  for (const auto& [name, one] : tensors) {
    zp::shard_metadata of{.key = name,
                          .type = one.type(),
                          .local_shape = one.shape(),
                          .global_shape = one.shape(),
                          .global_offset = zp::dims(one.shape().rank(), 0)};
    zp::host_view part = one.view();
    if (one.shape().rank() > 0 && one.shape()[0] >= ranks.size()) {
      const zp::index_t rows = one.shape()[0] / ranks.size();
      const zp::index_t first = rows * ranks.rank();
      const bool is_last = ranks.rank() + 1 == ranks.size();
      zp::box mine = zp::box::whole(one.shape());
      mine.offset[0] = first;
      mine.shape[0] = is_last ? one.shape()[0] - first : rows;
      part = zp::subview(part, zp::selection(mine));
      of.local_shape = mine.shape;
      of.global_offset = mine.offset;
    }
    ZARRPOINT_TRY(made, zp::sharded<zp::host_view>::make(std::move(of), part));
    shards.emplace_back(made);
  }
  return zp::dcp::save(out, ranks, shards, leaves, options);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 6) return 2;
  const std::string in = arguments[1];
  const std::string out = arguments[2];
  zp::dcp::format as;
  as.chunk_bytes = std::strtoull(arguments[3], nullptr, 10);
  as.file_bytes = std::strtoull(arguments[4], nullptr, 10);
  const auto base = zp::file_store::open(in, {.read_only = true}).value();
  const auto from = zp::dcp::state_store::open(base, zp::store_key::root()).value();
  const auto opened = zp::open(from).value();
  std::map<std::string, zp::tensor> tensors;
  for (const auto& one : from.metadata().tensors) {
    tensors.emplace(one.name, opened.load<zp::tensor>(one.name).value());
    as.paths.push_back({one.name, one.path});
  }
  std::vector<zp::leaf> values;
  for (const auto& one : from.metadata().values) {
    values.push_back(value_of(from, opened, one.name));
    as.paths.push_back({one.name, one.path});
  }
  const int ranks = std::atoi(arguments[5]);
  const zp::save_options options{.sync = false, .format = as};
  const auto done = zp::thread_world::run(ranks, [&](zp::thread_communicator& self) {
    return save(out, self, tensors, values, options);
  });
  for (const auto& one : done) {
    if (one) continue;
    std::fprintf(stderr, "%s\n", to_string(one.failure()).c_str());
    return 1;
  }
  return 0;
}
