// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// An inference service on a small machine: it opens a checkpoint, verifies and loads it, and
// answers. No exceptions, no RTTI, no threads, and no memory but one static block.
//
//   embedded_loader model.zarr WORD

#include "arena.hpp"
#include "model.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

alignas(64) std::array<std::byte, 1 << 20> memory;
constinit example::arena arena(memory.data(), memory.size());

/// What `operator new` gives has its size in front.
constexpr std::size_t header = 16;

void* allocate(std::size_t bytes) noexcept {
  void* const whole = arena.allocate(bytes + header, header);
  if (whole == nullptr) return nullptr;
  std::memcpy(whole, &bytes, sizeof bytes);
  return static_cast<std::byte*>(whole) + header;
}

void* allocate_or_abort(std::size_t bytes) noexcept {
  void* const out = allocate(bytes);
  if (out != nullptr) return out;
  std::fputs("embedded_loader: the static memory is used up\n", stderr);
  std::abort();
}

void give_back(void* pointer) noexcept {
  if (pointer == nullptr) return;
  void* const whole = static_cast<std::byte*>(pointer) - header;
  std::size_t bytes = 0;
  std::memcpy(&bytes, whole, sizeof bytes);
  arena.deallocate(whole, bytes + header, header);
}

}  // namespace

// Metadata, too: names, shapes and checksums are in strings and vectors.
void* operator new(std::size_t bytes) { return allocate_or_abort(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void operator delete(void* pointer) noexcept { give_back(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { give_back(pointer); }

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: embedded_loader model.zarr WORD\n", stderr);
    return 2;
  }
  const auto loaded = example::load_model(argv[1], example::within(arena));
  if (!loaded) {
    std::fprintf(stderr, "embedded_loader: %s\n", to_string(loaded.failure()).c_str());
    return 1;
  }
  const auto word = std::strtoul(argv[2], nullptr, 10);
  if (word >= static_cast<unsigned long>(loaded->embedding.shape()[0])) {
    std::fprintf(stderr, "embedded_loader: there is no word %lu\n", word);
    return 1;
  }
  for (const float score : loaded->scores(word)) std::printf("%g\n", static_cast<double>(score));
  std::fprintf(stderr, "embedding %s, %zu bytes in use, %zu at the most\n",
               loaded->embedding.is_zero_copy() ? "mapped" : "copied", arena.in_use(),
               arena.peak());
  return 0;
}
