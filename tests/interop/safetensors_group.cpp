// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// safetensors_group FROM TO PROCESSES: so many threads, each as a process, save the tensors of a
// safetensors file as a model in several files. Each has some rows. For py/safetensors_check.py.
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/group_safetensors.hpp>
#include <zarrpoint/safetensors.hpp>

#include <cstdio>
#include <cstdlib>
#include <list>
#include <string>

namespace zp = zarrpoint;
namespace st = zarrpoint::safetensors;

namespace {

zp::result<void> save(const st::file& from, const std::string& to, const zp::any_communicator& of) {
  std::list<zp::buffer> copies;
  zp::state::map tree;
  for (const st::tensor_info& each : from.tensors()) {
    ZARRPOINT_TRY(memory, zp::buffer::allocate(zp::byte_count(each.spec).value()));
    copies.push_back(std::move(memory));
    ZARRPOINT_CHECK(from.read(each.name, zp::dense_view(copies.back().data(), each.spec)));
    const std::byte* const data = copies.back().data();
    const zp::host_view whole = zp::dense_view(data, each.spec);
    zp::box part = zp::box::whole(each.spec.shape);
    if (part.rank() != 0 && part.shape[0] != 0) {
      // Uneven, and nothing for some where there are few rows.
      const zp::index_t rows = part.shape[0], ranks = of.size(), rank = of.rank();
      part.offset[0] = rows * rank * (rank + 1) / (ranks * (ranks + 1));
      part.shape[0] = rows * (rank + 1) * (rank + 2) / (ranks * (ranks + 1)) - part.offset[0];
      if (part.shape[0] == 0) continue;
    } else if (of.rank() != 0) {
      continue;
    }
    ZARRPOINT_TRY(shard, zp::sharded<zp::host_view>::make({.key = each.name,
                                                           .type = each.spec.type,
                                                           .local_shape = part.shape,
                                                           .global_shape = each.spec.shape,
                                                           .global_offset = part.offset},
                                                          zp::subview(whole, part)));
    tree.emplace(each.name, zp::sharded_tensor(shard));
  }
  const st::group_format as{.max_file_bytes = 4096, .metadata = from.metadata()};
  return zp::save(to, zp::state(std::move(tree)), {.ranks = of},
                  {.storage = {.sync = false, .format = as}})
      .transform([](const auto&) {});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: safetensors_group FROM TO PROCESSES\n");
    return 2;
  }
  const auto from = st::open(argv[1]);
  if (!from) {
    std::fprintf(stderr, "%s\n", zp::to_string(from.failure()).c_str());
    return 1;
  }
  const std::string to = argv[2];
  const auto done = zp::thread_world::run(
      std::atoi(argv[3]), [&](zp::thread_communicator& self) { return save(*from, to, self); });
  for (const auto& one : done) {
    if (one) continue;
    std::fprintf(stderr, "%s\n", zp::to_string(one.failure()).c_str());
    return 1;
  }
  return 0;
}
