// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Writes the checkpoint that embedded_loader reads, as a training machine would: the large tensor
// raw, so that it can be mapped, the rest compressed.
//
//   save_model model.zarr

#include "save_model.hpp"

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: save_model model.zarr\n", stderr);
    return 2;
  }
  const auto saved = example::save_model(argv[1]);
  if (saved) return 0;
  std::fprintf(stderr, "save_model: %s\n", to_string(saved.failure()).c_str());
  return 1;
}
