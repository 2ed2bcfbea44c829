// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// safetensors_copy FROM TO: reads a safetensors file and saves it as another. For
// py/safetensors_check.py, which compares the two with the reference implementation.
#include <zarrpoint/interop/safetensors/safetensors.hpp>
#include <zarrpoint/safetensors.hpp>

#include <cstdio>
#include <list>
#include <string_view>
#include <vector>

namespace zp = zarrpoint;
namespace st = zarrpoint::safetensors;

namespace {

zp::result<void> copy(std::string_view from, std::string_view to) {
  ZARRPOINT_TRY(file, st::open(from));
  std::vector<st::named_view> tensors;
  std::list<zp::buffer> copies;
  for (const st::tensor_info& each : file.tensors()) {
    zp::result<zp::host_view> view = file.view(each.name);
    if (!view && view.failure().code == zp::errc::unsupported) {  // not aligned: old writers
      ZARRPOINT_TRY(memory, zp::buffer::allocate(each.bytes));
      copies.push_back(std::move(memory));
      ZARRPOINT_CHECK(file.read(each.name, zp::dense_view(copies.back().data(), each.spec)));
      const std::byte* const data = copies.back().data();
      view = zp::dense_view(data, each.spec);
    }
    if (!view) return std::move(view).failure();
    tensors.push_back({each.name, *view});
  }
  return st::save(to, tensors, file.metadata());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: safetensors_copy FROM TO\n");
    return 2;
  }
  if (const zp::result<void> done = copy(argv[1], argv[2]); !done) {
    std::fprintf(stderr, "%s\n", zp::to_string(done.failure()).c_str());
    return 1;
  }
  return 0;
}
