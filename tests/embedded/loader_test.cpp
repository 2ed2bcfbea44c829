// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "counted_new.hpp"
#include "support/child_process.hpp"
#include "support/temp_directory.hpp"

#include <arena.hpp>
#include <doctest/doctest.h>
#include <model.hpp>
#include <save_model.hpp>

#include <pthread.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string>

namespace zp = zarrpoint;

namespace {

alignas(64) std::array<std::byte, 1 << 20> memory;

std::size_t running_threads() {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    static_cast<void>(task);
    ++count;
  }
  return count;
}

bool can_start_a_thread() {
  pthread_t thread{};
  const auto nothing = [](void* same) { return same; };
  if (::pthread_create(&thread, nullptr, nothing, nullptr) != 0) return false;
  return ::pthread_join(thread, nullptr) == 0;
}

void flip_a_bit(const std::string& path, std::size_t at) {
  std::string bytes = test::read_file(path);
  REQUIRE(at < bytes.size());
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  test::write_file(path, bytes);
}

}  // namespace

TEST_CASE("the model is what was saved, and in the arena alone") {
  const test::temp_directory dir;
  const std::string path = dir / "model.zarr";
  example::save_model(path).value();
  example::arena arena(memory.data(), memory.size());
  {
    const auto loaded = example::load_model(path.c_str(), example::within(arena)).value();
    CHECK(loaded.embedding.is_zero_copy());
    const auto* weight = reinterpret_cast<const std::byte*>(loaded.weight.data<float>().data());
    CHECK(weight >= memory.data());
    CHECK(weight < memory.data() + memory.size());
    // What is left is the tensor: no scratch, no codec state.
    CHECK(arena.in_use() == example::classes * example::width * sizeof(float));
    const auto number = [](std::size_t i, std::size_t step) {
      return static_cast<float>(i * step % 101) / 100 - 0.5F;
    };
    for (const std::size_t word : {0U, 1U, 4999U}) {
      const auto scores = loaded.scores(word);
      for (std::size_t c = 0; c < example::classes; ++c) {
        float expected = number(c, 11);
        for (std::size_t i = 0; i < example::width; ++i)
          expected += number(word * example::width + i, 37) * number(c * example::width + i, 23);
        CHECK(scores[c] == expected);
      }
    }
  }
  CHECK(arena.in_use() == 0);
}

TEST_CASE("errors name the file and the chunk") {
  const test::temp_directory dir;
  const std::string path = dir / "model.zarr";
  const auto failure = [&] {
    example::arena arena(memory.data(), memory.size());
    return to_string(example::load_model(path.c_str(), example::within(arena)).failure());
  };
  CHECK(failure() == "not_found: open " + path + ": No such file or directory");
  example::save_model(path).value();
  flip_a_bit(path + "/embedding/c.0.0", 1000);
  CHECK(failure().starts_with("corrupt: view \"embedding\": array " + path + "/embedding: "));
  example::save_model(path).value();
  flip_a_bit(path + "/head/weight/c.0.0", 100);
  CHECK(failure().starts_with("corrupt: load \"head/weight\": array " + path +
                              "/head/weight: chunk c.0.0: crc32c: "));
}

TEST_CASE("no thread is started") {
  const test::temp_directory dir;
  const std::string path = dir / "model.zarr";
  example::save_model(path).value();
  const std::string said = test::in_child([&] {
    const std::size_t before = running_threads();
    if (!test::deny(SYS_clone, EPERM) || !test::deny(SYS_clone3, EPERM))
      return std::string("skipped");
    if (can_start_a_thread()) return std::string("threads can be started after all");
    example::arena arena(memory.data(), memory.size());
    const auto loaded = example::load_model(path.c_str(), example::within(arena));
    if (!loaded) return to_string(loaded.failure());
    return std::string(running_threads() == before ? "loaded" : "a thread was started");
  });
  if (said == "skipped") {
    MESSAGE("seccomp is not allowed here");
  } else {
    CHECK(said == "loaded");
  }
}
