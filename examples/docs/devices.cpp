// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The programs of docs/devices.md. Each returns whether it gave what the page promises. Tests link
// it with a CUDA runtime of fake devices; with a real one it runs where there is a GPU.
//
//   docs_devices [folder for the checkpoints]

#include <zarrpoint/cuda.hpp>
#include <zarrpoint/cufile.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace zp = zarrpoint;

namespace {

std::vector<float> numbers(float first) {
  std::vector<float> out(6000);
  for (float& each : out) each = first++;
  return out;
}

/// The same text for every place: `Tensor` says where the elements live.
template <class Tensor>
Tensor load_weights(const std::string& path, const zp::place<zp::space_of_t<Tensor>>& where) {
  return zp::open(path).value().load<Tensor>("w", where).value();
}

bool two_places(const std::string& path) {
  zp::save(path, {{"w", numbers(1)}}).value();

  const zp::cuda::stream stream = zp::cuda::stream::make(0).value();  // of device 0
  const zp::checkpoint ckpt = zp::open(path).value();
  const auto weight = ckpt.load<zp::cuda::tensor<float>>("w", {.space = stream.space()}).value();

  const auto here = load_weights<std::vector<float>>(path, {});
  const auto there = load_weights<zp::cuda::tensor<float>>(path, {.space = stream.space()});

  return weight.loaded() && weight.download().value() == here && there.loaded() &&
         there.download().value() == here && here == numbers(1);
}

bool into_memory_of_mine(const std::string& path) {
  const zp::cuda::stream stream = zp::cuda::stream::make(0).value();
  auto memory = zp::cuda::buffer::allocate(6000 * sizeof(float), stream.space()).value();
  float* const address = reinterpret_cast<float*>(memory.data());  // from anywhere
  const zp::checkpoint ckpt = zp::open(path).value();

  const zp::cuda::device_span<float> target{address, 6000, stream.space()};
  ckpt.load_into("w", target).value();

  std::vector<float> seen(6000);
  stream.space()
      .copy_to_host(reinterpret_cast<std::byte*>(seen.data()), memory.data(), {.width = 24000})
      .value();
  stream.space().synchronize().value();
  return seen == numbers(1);
}

bool many_at_once(const std::string& path) {
  const zp::cuda::stream stream = zp::cuda::stream::make(0).value();
  const auto space = stream.space();
  auto weight = zp::cuda::tensor<float>::make({60, 100}, space).value();
  auto bias = zp::cuda::tensor<float>::make({100}, space).value();
  std::vector<float> scales(3);
  zp::tensor w = zp::tensor::make({zp::dtype_kind::float32, {60, 100}}).value();
  std::ranges::fill(w.data<float>(), 0.5F);
  zp::save(path, {{"w", w}, {"b", std::vector<float>(100, 2)}, {"s", std::vector<float>{1, 2, 3}}})
      .value();

  const zp::checkpoint ckpt = zp::open(path).value();
  zp::load_into_all(ckpt, {{"w", weight}, {"b", bias}, {"s", scales}}).value();

  return weight.loaded() && bias.loaded() && scales == std::vector<float>{1, 2, 3} &&
         weight.download().value() == std::vector<float>(6000, 0.5F) &&
         bias.download().value() == std::vector<float>(100, 2);
}

bool whatever_is_there(const std::string& path) {
  const zp::cuda::stream stream = zp::cuda::stream::make(0).value();
  zp::save(path, {{"w", numbers(1)}, {"step", 1200}}).value();

  using types = zp::default_types::with<zp::bind<zp::cuda::tensor_any>>;  // arrays; scalars as ever
  const auto leaves =
      zp::load_all<types>(zp::open(path).value(), {}, {.space = stream.space()}).value();
  const auto& w = std::get<zp::cuda::tensor_any>(leaves.at("w"));

  return w.loaded() && w.type() == zp::dtype_kind::float32 && w.shape() == zp::dims{6000};
}

bool saving(const std::string& path) {
  const zp::cuda::stream stream = zp::cuda::stream::make(0).value();
  auto weight = zp::cuda::tensor<float>::from_host(numbers(7), {6000}, stream.space()).value();

  auto pending = zp::save_async(path, {{"w", weight}}, {.device_copy = true});
  // The next step of the training may change `weight` from here on.
  const zp::save_report report = pending.get().value();
  std::printf("blocked for %.3f s of %.3f s\n", report.blocked_seconds, report.seconds);

  const zp::save_options encoded{.rules = {{.codecs = zp::blosc_codecs()}}, .device_encode = true};
  zp::save(path, {{"w", weight}}, encoded).value();

  return zp::open(path).value().load<std::vector<float>>("w").value() == numbers(7);
}

bool compressed(const std::string& path) {
  const zp::cuda::stream stream = zp::cuda::stream::make(0).value();
  const std::vector<float> weight = numbers(9);

  zp::save(path, {{"w", weight}}, {.rules = {{.codecs = zp::blosc_codecs()}}}).value();

  const auto there = load_weights<zp::cuda::tensor<float>>(path, {.space = stream.space()});
  auto target = zp::cuda::tensor<float>::make({6000}, stream.space()).value();

  zp::open(path).value().load_into("w", target, {.device_verify = true}).value();

  return there.download().value() == weight && target.download().value() == weight;
}

bool other_streams(const std::string& path) {
  const zp::cuda::stream training = zp::cuda::stream::make(0).value();
  const zp::cuda::stream copying = zp::cuda::stream::make(0).value();
  auto memory = zp::cuda::tensor<float>::from_host(numbers(3), {6000}, training.space()).value();

  // Enqueued on one stream, and saved by way of another, which waits for it.
  training.space().fill(reinterpret_cast<std::byte*>(memory.data()), std::byte{0}, 4000).value();
  const zp::cuda::device_span<const float> source{memory.data(), 6000, copying.space(),
                                                  training.space().record().value()};
  zp::save(path, {{"w", source}}).value();

  const auto saved = zp::open(path).value().load<std::vector<float>>("w").value();
  return saved[999] == 0 && saved[1000] == 1003;
}

bool several_devices(const std::string& path) {
  const int last = zp::cuda::device_count().value() - 1;
  zp::save(path, {{"layers/0", numbers(1)}, {"layers/1", numbers(2)}}).value();

  const zp::cuda::stream first = zp::cuda::stream::make(0).value();
  const zp::cuda::stream other = zp::cuda::stream::make(last).value();
  auto one = zp::cuda::tensor<float>::make({6000}, first.space()).value();
  auto two = zp::cuda::tensor<float>::make({6000}, other.space()).value();
  zp::load_into_all(zp::open(path).value(), {{"layers/0", one}, {"layers/1", two}}).value();

  return two.get_space().device() == last && one.download().value() == numbers(1) &&
         two.download().value() == numbers(2);
}

bool past_the_host(const std::string& path) {
  const zp::cuda::stream stream = zp::cuda::stream::make(0).value();
  auto weight = zp::cuda::tensor<float>::make({6000}, stream.space()).value();
  zp::save(path, {{"w", numbers(1)}}).value();

  const zp::cufile_loader direct = zp::cufile_loader::find();  // once
  const zp::direct_load way = direct.load_into(zp::open(path).value(), "w", weight).value();
  std::printf("%s\n", way.direct ? "past the host" : way.why_not.c_str());

  return weight.loaded() && weight.download().value() == numbers(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (const zp::result<int> devices = zp::cuda::device_count(); !devices) {
    std::printf("nothing to run on: %s\n", to_string(devices.failure()).c_str());
    return 0;
  }
  const std::string folder = argc > 1 ? argv[1] : ".";
  const std::string path = folder + "/devices.zarr";
  const bool ok = two_places(path) && into_memory_of_mine(path) && many_at_once(path) &&
                  whatever_is_there(path) && saving(path) && compressed(path) &&
                  other_streams(path) && several_devices(path) && past_the_host(path);
  std::puts(ok ? "as docs/devices.md says" : "not what docs/devices.md says");
  return ok ? 0 : 1;
}
