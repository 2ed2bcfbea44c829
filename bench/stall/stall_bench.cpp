// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A loop that computes, and is saved in the background by a manager: see run.py.
//
//   stall_bench rounds                          how many rounds a step of 20 ms takes
//   stall_bench run FOLDER MEGABYTES ROUNDS     prints what it saw, as JSON
//   stall_bench errors FOLDER                   saves that fail: how many, and how many are told

#include <zarrpoint/manager.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace zp = zarrpoint;

extern "C" double bench_step(float* values, long count, long rounds);

namespace {

constexpr long step_values = 1 << 16;  // 256 KiB, which stay in the cache
constexpr int alone_steps = 150, saved_steps = 300, every = 60;
constexpr std::size_t tensors = 64;

double now() {
  const auto at = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(at).count();
}

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of.empty() ? 0 : of[of.size() / 2];
}

double mean(const std::vector<double>& of) {
  double sum = 0;
  for (const double one : of) sum += one;
  return sum / static_cast<double>(of.size());
}

/// A row of /proc/self/status, in MiB.
double status(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + ":")) return std::atof(line.c_str() + name.size() + 1) / 1024;
  return 0;
}

/// Counts what the library asks for.
class counting_resource final : public zp::memory_resource {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    void* const out = zp::default_resource().allocate(bytes, alignment);
    if (out != nullptr) bytes_.fetch_add(bytes);
    return out;
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    zp::default_resource().deallocate(memory, bytes, alignment);
  }
  std::uint64_t bytes() const { return bytes_.load(); }

 private:
  std::atomic<std::uint64_t> bytes_{0};
};

/// Copies of all tensors into memory that is there already, by as many threads as the manager has.
double copy_once(const std::vector<std::vector<float>>& from, std::vector<std::vector<float>>& to) {
  constexpr std::size_t piece = std::size_t{2} << 20;  // elements: 8 MiB
  struct part {
    const float* from;
    float* to;
    std::size_t count;
  };
  std::vector<part> parts;
  for (std::size_t i = 0; i < from.size(); ++i)
    for (std::size_t at = 0; at < from[i].size(); at += piece)
      parts.push_back(
          {from[i].data() + at, to[i].data() + at, std::min(piece, from[i].size() - at)});
  const double begin = now();
  zp::parallel_for(zp::default_context().executor, parts.size(),
                   [&](std::size_t i) -> zp::result<void> {
                     std::memcpy(parts[i].to, parts[i].from, parts[i].count * sizeof(float));
                     return {};
                   })
      .value();
  return now() - begin;
}

int run(const std::string& folder, std::size_t megabytes, long rounds) {
  std::vector<float> values(step_values, 1);
  const std::size_t each = (megabytes << 20) / sizeof(float) / tensors;
  std::vector<std::vector<float>> model(tensors, std::vector<float>(each));
  for (std::size_t i = 0; i < tensors; ++i)
    for (std::size_t k = 0; k < each; ++k) model[i][k] = static_cast<float>((k * 2654435761U) >> 8);
  auto copy = model;
  std::vector<double> copies;
  for (int i = 0; i < 7; ++i) copies.push_back(copy_once(model, copy));
  copy = {};

  double sum = 0;
  const auto step = [&](int number) {
    const double begin = now();
    sum += bench_step(values.data(), step_values, rounds);
    for (auto& one : model) one[0] = static_cast<float>(number);
    return now() - begin;
  };
  std::vector<double> alone, saved, blocked;
  for (int i = 0; i < alone_steps; ++i) alone.push_back(step(i));

  counting_resource counted;
  zp::context how = zp::default_context();
  how.resource = &counted;
  auto manager =
      zp::checkpoint_manager::open(folder, {.save_when = zp::save_policy::every_steps(every),
                                            .keep = zp::keep_policy::newest(2),
                                            .how = how})
          .value();
  double memory = 0;
  std::uint64_t asked = 0;
  const double begin = now();
  for (int i = 1; i <= saved_steps; ++i) {
    saved.push_back(step(i));
    if (!manager.should_save(i)) continue;
    std::vector<zp::leaf> leaves;
    for (std::size_t k = 0; k < tensors; ++k)
      leaves.emplace_back("w" + std::to_string(k), model[k]);
    const double called = now();
    manager.save(i, std::move(leaves)).value();
    blocked.push_back(now() - called);
    if (blocked.size() == 2) {  // the first save is done
      memory = status("VmHWM");
      asked = counted.bytes();
    }
  }
  const double loop = now() - begin;
  manager.close().value();
  const double more = status("VmHWM") - memory;
  const std::uint64_t more_asked = counted.bytes() - asked;
  // What is there is what was saved, not what came later.
  const auto last = zp::open(folder + "/step_00000" + std::to_string(saved_steps)).value();
  const bool is_right = last.load<std::vector<float>>("w7").value()[0] == float(saved_steps);
  std::printf(
      R"({"alone": %.6f, "with": %.6f, "first": %.6f, "blocked": %.6f, "most": %.6f, "copy": %.6f, )"
      R"("loop": %.3f, "more_memory": %.1f, "asked": %.1f, "right": %s, "sum": %.1f})"
      "\n",
      mean(alone), mean(saved), blocked[0],
      median(std::vector<double>(blocked.begin() + 1, blocked.end())),
      *std::max_element(blocked.begin() + 1, blocked.end()), median(copies), loop, more,
      static_cast<double>(more_asked) / (1 << 20), is_right ? "true" : "false", sum);
  return 0;
}

/// Files may not become larger than some: a disk that is full.
int errors(const std::string& folder) {
  std::signal(SIGXFSZ, SIG_IGN);
  const std::vector<float> w(4'000'000, 1);
  const rlimit small{1 << 20, 1 << 20};
  ::setrlimit(RLIMIT_FSIZE, &small);
  auto manager = zp::checkpoint_manager::open(folder).value();
  int told = 0;
  constexpr int saves = 8;
  for (int i = 1; i <= saves; ++i) {
    told += !manager.save(i, {{"w", w}});
    told += !manager.wait();
  }
  told += !manager.close() && told == 0;
  std::printf(R"({"failed": %d, "told": %d})"
              "\n",
              saves, told);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  if (what == "rounds") {
    std::vector<float> values(step_values, 1);
    long rounds = 1;
    for (;; rounds *= 2) {
      const double begin = now();
      bench_step(values.data(), step_values, rounds);
      if (now() - begin > 0.2) return std::printf("%ld\n", rounds / 10) < 0;
    }
  }
  if (what == "run" && count >= 5)
    return run(words[2], std::strtoul(words[3], nullptr, 10), std::atol(words[4]));
  if (what == "errors" && count == 3) return errors(words[2]);
  std::fprintf(stderr, "stall_bench rounds | run FOLDER MEGABYTES ROUNDS | errors FOLDER\n");
  return 2;
}
