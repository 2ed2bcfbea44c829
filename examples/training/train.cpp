// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Trains a small network on real data, and goes on from the newest whole step when it is started
// again; examples/training/run.sh kills it at random and compares the weights.
//
//   train DATA RUN STEPS PAUSE     PAUSE: milliseconds that a step takes on top

#include <zarrpoint/manager.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace zp = zarrpoint;

namespace {

constexpr std::size_t features = 13, hidden = 16, classes = 3, batch = 16;

struct wine {
  std::array<float, features> values{};
  std::size_t grower = 0;
};

/// The data, each column with mean 0 and deviation 1.
std::vector<wine> read_wines(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);  // the header
  std::vector<wine> out;
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string one;
    wine made;
    for (float& value : made.values)
      if (std::getline(fields, one, ',')) value = std::strtof(one.c_str(), nullptr);
    if (std::getline(fields, one, ','))
      made.grower = std::strtoul(one.c_str(), nullptr, 10) % classes;
    out.push_back(made);
  }
  for (std::size_t f = 0; f < features && !out.empty(); ++f) {
    double sum = 0, squares = 0;
    for (const wine& one : out) sum += one.values[f];
    const double mean = sum / static_cast<double>(out.size());
    for (const wine& one : out) squares += (one.values[f] - mean) * (one.values[f] - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(out.size()));
    for (wine& one : out) one.values[f] = static_cast<float>((one.values[f] - mean) / deviation);
  }
  return out;
}

/// All that the next step depends on.
struct training {
  std::int64_t step = 0;
  std::uint64_t random = 88172645463325252U;
  std::vector<float> w1 = std::vector<float>(features * hidden);
  std::vector<float> b1 = std::vector<float>(hidden);
  std::vector<float> w2 = std::vector<float>(hidden * classes);
  std::vector<float> b2 = std::vector<float>(classes);
  std::vector<float> m1 = std::vector<float>(features * hidden);
  std::vector<float> m2 = std::vector<float>(hidden * classes);

  std::uint64_t next() {
    random ^= random << 13U;
    random ^= random >> 7U;
    random ^= random << 17U;
    return random;
  }
  void begin() {
    for (std::vector<float>* w : {&w1, &w2})
      for (float& one : *w) one = static_cast<float>(next() % 2001) / 5000.0F - 0.2F;
  }
  std::vector<zp::leaf> leaves() const {
    return {{"model/w1", w1},     {"model/b1", b1},     {"model/w2", w2}, {"model/b2", b2},
            {"optimizer/m1", m1}, {"optimizer/m2", m2}, {"step", step},   {"random", random}};
  }
  zp::result<void> load(const zp::checkpoint& from) {
    ZARRPOINT_CHECK(zp::load_into_all(from, {{"model/w1", w1},
                                             {"model/b1", b1},
                                             {"model/w2", w2},
                                             {"model/b2", b2},
                                             {"optimizer/m1", m1},
                                             {"optimizer/m2", m2}}));
    ZARRPOINT_TRY(at, from.load<std::int64_t>("step"));
    ZARRPOINT_TRY(state, from.load<std::uint64_t>("random"));
    step = at;
    random = state;
    return {};
  }
};

struct forward {
  std::array<float, hidden> h{};
  std::array<float, classes> p{};

  forward(const training& net, const wine& of) {
    for (std::size_t j = 0; j < hidden; ++j) {
      float sum = net.b1[j];
      for (std::size_t f = 0; f < features; ++f) sum += of.values[f] * net.w1[f * hidden + j];
      h[j] = sum > 0 ? sum : 0;
    }
    float total = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      float sum = net.b2[c];
      for (std::size_t j = 0; j < hidden; ++j) sum += h[j] * net.w2[j * classes + c];
      total += p[c] = std::exp(sum);
    }
    for (float& one : p) one /= total;
  }
};

/// One step of gradient descent with momentum on wines drawn at random; returns the loss.
double train(training& net, const std::vector<wine>& wines) {
  constexpr float rate = 0.02F / batch, momentum = 0.9F;
  double loss = 0;
  std::vector<float> g1(net.w1.size()), g2(net.w2.size()), d1(hidden), d2(classes);
  for (std::size_t i = 0; i < batch; ++i) {
    const wine& one = wines[net.next() % wines.size()];
    const forward seen(net, one);
    loss -= std::log(static_cast<double>(seen.p[one.grower]));
    std::array<float, hidden> back{};
    for (std::size_t c = 0; c < classes; ++c) {
      const float d = seen.p[c] - (c == one.grower ? 1.0F : 0.0F);
      d2[c] += d;
      for (std::size_t j = 0; j < hidden; ++j) {
        g2[j * classes + c] += d * seen.h[j];
        if (seen.h[j] > 0) back[j] += d * net.w2[j * classes + c];
      }
    }
    for (std::size_t j = 0; j < hidden; ++j) {
      d1[j] += back[j];
      for (std::size_t f = 0; f < features; ++f) g1[f * hidden + j] += back[j] * one.values[f];
    }
  }
  for (std::size_t i = 0; i < g1.size(); ++i)
    net.w1[i] += net.m1[i] = momentum * net.m1[i] - rate * g1[i];
  for (std::size_t i = 0; i < g2.size(); ++i)
    net.w2[i] += net.m2[i] = momentum * net.m2[i] - rate * g2[i];
  for (std::size_t i = 0; i < hidden; ++i) net.b1[i] -= rate * d1[i];
  for (std::size_t i = 0; i < classes; ++i) net.b2[i] -= rate * d2[i];
  ++net.step;
  return loss / batch;
}

std::size_t right(const training& net, const std::vector<wine>& wines) {
  std::size_t count = 0;
  for (const wine& one : wines) {
    const forward seen(net, one);
    bool is_largest = true;
    for (const float other : seen.p) is_largest &= other <= seen.p[one.grower];
    count += is_largest;
  }
  return count;
}

zp::checkpoint_manager* running = nullptr;

zp::result<void> run(char** arguments) {
  const std::vector<wine> wines = read_wines(arguments[1]);
  if (wines.empty())
    return zp::error{zp::errc::not_found, std::string("no data in ") + arguments[1]};
  const std::int64_t steps = std::strtoll(arguments[3], nullptr, 10);
  const std::chrono::milliseconds pause(std::strtol(arguments[4], nullptr, 10));

  training net;
  net.begin();
  ZARRPOINT_TRY(manager,
                zp::checkpoint_manager::open(
                    arguments[2], {.save_when = zp::save_policy::every_steps(5) |
                                                zp::save_policy::at_steps({steps}),
                                   .keep = zp::keep_policy::newest(3) |
                                           zp::keep_policy::best(1, "loss", zp::better::lower)}));
  running = &manager;
  std::signal(SIGTERM, [](int) { running->request_save(); });

  ZARRPOINT_TRY(last, manager.latest());
  if (last) {
    ZARRPOINT_TRY(found, manager.restore(*last));
    ZARRPOINT_CHECK(net.load(found.data));
  }
  for (const std::string& said : manager.warnings()) std::printf("%s\n", said.c_str());
  std::printf("from step %jd\n", static_cast<std::intmax_t>(net.step));
  while (net.step < steps) {
    const double loss = train(net, wines);
    std::this_thread::sleep_for(pause);
    if (!manager.should_save(net.step)) continue;
    const bool leaves = manager.save_requested();
    ZARRPOINT_CHECK(manager.save(net.step, net.leaves(), {{"loss", loss}}));
    if (leaves) break;
  }
  std::signal(SIGTERM, SIG_IGN);  // the manager goes, once its last save has ended
  ZARRPOINT_CHECK(manager.close());
  std::printf("step %jd: %zu of %zu wines are right\n", static_cast<std::intmax_t>(net.step),
              right(net, wines), wines.size());
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    std::puts("train DATA RUN STEPS PAUSE");
    return 2;
  }
  const auto done = run(arguments);
  if (!done) std::fprintf(stderr, "train: %s\n", to_string(done.failure()).c_str());
  return done ? 0 : 1;
}
