// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Units of both forms in one program: what one saves, another loads.

#include <zarrpoint/distributed.hpp>
#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <cstdio>
#include <vector>

#ifndef ZARRPOINT_COMPILED
#error "zarrpoint::compiled defines ZARRPOINT_COMPILED for those who link it"
#endif

namespace zp = zarrpoint;

zp::result<void> save_here(const zp::location& where, const std::vector<float>& values);
zp::result<bool> own_types_work(const zp::location& where);

int main() {
  const std::vector<float> values{1, 2, 3};
  const zp::memory_store store;
  save_here({store, zp::store_key::parse("a").value()}, values).value();
  const auto opened = zp::open({store, zp::store_key::parse("a").value()}).value();
  const auto all = zp::load_all(opened).value();
  if (zp::safetensors::open("there is none.safetensors")) return 1;
  const zp::state tree{{"step", 7}};
  zp::save("mixed.zarr", tree, zp::process_group{}).value();
  const bool same = opened.load<std::vector<float>>("values").value() == values &&
                    all.size() == 2 && own_types_work("own.zarr").value();
  std::puts(same ? "both forms agree" : "the forms differ");
  return same ? 0 : 1;
}
