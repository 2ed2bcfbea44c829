// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The program of docs/tutorial.md: trains a small model, saves as it goes, resumes after it was
// stopped, and serves what it saved.
//
//   docs_tutorial [folder for the checkpoints]

#include <zarrpoint/zarrpoint.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zp = zarrpoint;

namespace {

/// A type of our own. These four members make it array-like, so that it can be saved and loaded.
class matrix {
 public:
  using value_type = float;
  const std::array<std::size_t, 2>& shape() const { return shape_; }
  const float* data() const { return values_.data(); }
  float* data() { return values_.data(); }
  void resize(const std::array<std::size_t, 2>& shape) {
    shape_ = shape;
    values_.resize(shape[0] * shape[1]);
  }

  matrix() = default;
  matrix(std::size_t rows, std::size_t columns) { resize({rows, columns}); }
  std::span<float> row(std::size_t i) { return {&values_[i * shape_[1]], shape_[1]}; }
  friend bool operator==(const matrix&, const matrix&) = default;

 private:
  std::array<std::size_t, 2> shape_{};
  std::vector<float> values_;
};

constexpr std::size_t inputs = 64, outputs = 48;

/// All that a training needs to go on as if it had never been stopped.
struct training {
  std::int64_t step = 0;
  matrix weights = matrix(outputs, inputs);
  matrix momentum = matrix(outputs, inputs);
  std::vector<float> loss;  // of each step so far
};

float input_at(std::int64_t step, std::size_t i) {
  return static_cast<float>((static_cast<std::size_t>(step) * 37 + i * 11) % 17) / 17.0F - 0.5F;
}

/// What the model is to learn: each output is one of the inputs.
float wanted(std::span<const float> x, std::size_t output) { return x[output]; }

std::vector<float> input_of(std::int64_t step) {
  std::vector<float> x(inputs);
  for (std::size_t i = 0; i < inputs; ++i) x[i] = input_at(step, i);
  return x;
}

float dot(std::span<const float> a, std::span<const float> b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// One step of gradient descent with momentum.
void train_step(training& now) {
  const std::vector<float> x = input_of(now.step);
  float loss = 0;
  for (std::size_t o = 0; o < outputs; ++o) {
    const std::span<float> w = now.weights.row(o), m = now.momentum.row(o);
    const float error = dot(w, x) - wanted(x, o);
    loss += error * error;
    for (std::size_t i = 0; i < inputs; ++i) {
      m[i] = 0.8F * m[i] + error * x[i];
      w[i] -= 0.02F * m[i];
    }
  }
  now.loss.push_back(loss);
  ++now.step;
}

/// How each leaf is stored: by its name.
zp::save_options how_stored() {
  return {.rules = {
              // Mapped by the service: as it lies in memory, which is the default.
              {.glob = "model/**", .codecs = zp::raw_codecs()},
              // Read again only to resume: small.
              {.glob = "optimizer/**", .codecs = zp::zstd_codecs(1)},
              // For people: half the bytes, compressed.
              {.glob = "history/**",
               .cast = zp::dtype(zp::dtype_kind::bfloat16),
               .codecs = zp::zstd_codecs(3)},
          }};
}

/// Saves a copy of `now` in the background, so that training goes on meanwhile.
zp::pending<zp::save_report> save_later(const std::string& path, const training& now) {
  std::vector<zp::leaf> leaves;
  leaves.emplace_back("step", now.step);
  leaves.emplace_back("config", zp::json_text{R"({"inputs": 64, "outputs": 48})"});
  // An rvalue is kept by its leaf; an lvalue would be borrowed, and must not change until the end.
  leaves.emplace_back("model/weights", matrix(now.weights));
  leaves.emplace_back("optimizer/momentum", matrix(now.momentum));
  leaves.emplace_back("history/loss", std::vector<float>(now.loss));

  zp::context how = zp::default_context();
  how.progress = [](const zp::progress_event& e) {
    if (e.bytes_done == e.bytes_total)
      std::printf("  %s: %llu bytes\n", std::string(e.phase).c_str(),
                  static_cast<unsigned long long>(e.bytes_done));
  };
  return zp::save_async(path, std::move(leaves), how_stored(), how);
}

/// The training as it was saved, or a new one when nothing was.
zp::result<training> resume(const std::string& path) {
  auto opened = zp::open(path);
  if (!opened && opened.failure().code == zp::errc::not_found) return training{};
  ZARRPOINT_TRY(ckpt, std::move(opened));
  training now;
  ZARRPOINT_TRY(step, ckpt.load<std::int64_t>("step"));
  now.step = step;
  ZARRPOINT_CHECK(ckpt.load_into("model/weights", now.weights));
  ZARRPOINT_CHECK(ckpt.load_into("optimizer/momentum", now.momentum));
  // Stored as bfloat16: allowed to become float again.
  ZARRPOINT_TRY(loss, ckpt.load<std::vector<float>>("history/loss", {.cast = true}));
  now.loss = std::move(loss);
  return now;
}

/// Trains up to `last`, with a checkpoint every 100 steps.
zp::result<training> train(const std::string& path, std::int64_t last) {
  ZARRPOINT_TRY(now, resume(path));
  std::printf("training from step %lld\n", static_cast<long long>(now.step));
  zp::pending<zp::save_report> saving;
  while (now.step < last) {
    train_step(now);
    if (now.step % 100 != 0) continue;
    if (saving.valid()) ZARRPOINT_CHECK(saving.get());  // the one before must be done, and well
    saving = save_later(path, now);
  }
  if (saving.valid()) ZARRPOINT_CHECK(saving.get());
  return now;
}

/// The inference service: the weights stay where they lie in the file.
class service {
 public:
  static zp::result<service> start(const std::string& path) {
    ZARRPOINT_TRY(ckpt, zp::open(path));
    ZARRPOINT_TRY(weights, ckpt.view<float>("model/weights", true));  // true: verified, once
    if (weights.shape() != zp::dims{outputs, inputs})
      return zp::error{zp::errc::shape_mismatch, "the model has another shape than this service"};
    return service(ckpt.id(), std::move(weights));
  }
  float answer(std::span<const float> x, std::size_t output) const {
    return dot(weights_.elements().subspan(output * inputs, inputs), x);
  }
  bool is_zero_copy() const { return weights_.is_zero_copy(); }
  const std::string& id() const { return id_; }

 private:
  service(std::string id, zp::mapped_tensor<float> weights)
      : id_(std::move(id)), weights_(std::move(weights)) {}

  std::string id_;
  zp::mapped_tensor<float> weights_;  // keeps the mapping alive, even when a save replaces the file
};

bool check(bool good, const char* what) {
  if (!good) std::printf("FAILED: %s\n", what);
  return good;
}

zp::result<bool> run(const std::string& folder) {
  // Stopped at 400 and resumed, it is bit for bit where it is when it was never stopped.
  ZARRPOINT_TRY(stopped, train(folder + "/model.zarr", 400));
  ZARRPOINT_TRY(old, service::start(folder + "/model.zarr"));
  ZARRPOINT_TRY(resumed, train(folder + "/model.zarr", 800));
  ZARRPOINT_TRY(straight, train(folder + "/straight.zarr", 800));

  // The service that was started before still answers; a new one has the new weights.
  ZARRPOINT_TRY(current, service::start(folder + "/model.zarr"));
  const std::vector<float> x = input_of(5);
  std::printf("wanted %.3f, answered %.3f before and %.3f now, loss %.6f\n",
              static_cast<double>(wanted(x, 7)), static_cast<double>(old.answer(x, 7)),
              static_cast<double>(current.answer(x, 7)), static_cast<double>(resumed.loss.back()));
  return check(stopped.step == 400 && resumed.step == 800, "it went on where it stopped") &&
         check(resumed.weights == straight.weights && resumed.momentum == straight.momentum,
               "a resumed training is the same") &&
         check(resumed.loss.back() < stopped.loss.front() / 100, "it learned") &&
         check(old.is_zero_copy() && current.is_zero_copy(), "weights are mapped") &&
         check(old.id() != current.id(), "two saves have two ids") &&
         check(old.answer(x, 7) == dot(stopped.weights.row(7), x) &&
                   current.answer(x, 7) == dot(resumed.weights.row(7), x),
               "each service has the weights that it was started with");
}

}  // namespace

int main(int argc, char** argv) {
  const auto done = run(argc > 1 ? argv[1] : ".");
  if (!done) std::printf("FAILED: %s\n", to_string(done.failure()).c_str());
  return done && *done ? 0 : 1;
}
