// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Against libtorch itself: a program of its own, since its headers take half a minute to compile
// and are not ours to make free of warnings. Run by `bash tests/run.sh libtorch`.
#include <zarrpoint/libtorch.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <torch/torch.h>

#include <cstdio>
#include <string>
#include <vector>

namespace zp = zarrpoint;

static_assert(zp::savable<torch::Tensor> && zp::loadable<torch::Tensor>);
static_assert(zp::fillable<torch::Tensor&>);
static_assert(zp::detail::like_torch_tensor<torch::Tensor>);  // known without our header, too

namespace {

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::printf("FAILED: %s\n", what.c_str());
}

zp::checkpoint saved(const zp::leaf& value) {
  zp::memory_store store;
  zp::save(store, {value}).value();
  return zp::open(store).value();
}

template <class Result>
void refused(const Result& failed, zp::errc code, const std::string& text) {
  expect(!failed && failed.failure().code == code &&
             failed.failure().message.find(text) != std::string::npos,
         "refused: " + text + (failed ? "" : "; said: " + failed.failure().message));
}

void every_type() {
  using enum zp::dtype_kind;
  const std::pair<c10::ScalarType, zp::dtype_kind> types[] = {{torch::kUInt8, uint8},
                                                              {torch::kInt8, int8},
                                                              {torch::kInt16, int16},
                                                              {torch::kInt32, int32},
                                                              {torch::kInt64, int64},
                                                              {torch::kFloat16, float16},
                                                              {torch::kFloat32, float32},
                                                              {torch::kFloat64, float64},
                                                              {torch::kComplexFloat, complex64},
                                                              {torch::kComplexDouble, complex128},
                                                              {torch::kBool, bool_},
                                                              {torch::kBFloat16, bfloat16}};
  for (const auto& [torch_type, type] : types) {
    const torch::Tensor value = (torch::arange(24).reshape({2, 3, 4}) % 7).to(torch_type);
    const auto from = saved({"w", value});
    const std::string name(zp::to_string(zp::dtype(type)));
    expect(from.metadata("w").value().spec == zp::tensor_spec{type, {2, 3, 4}}, name + ": spec");
    const auto back = from.load<torch::Tensor>("w").value();
    expect(back.scalar_type() == torch_type && torch::equal(back, value), name + ": loaded");
    torch::Tensor target = torch::zeros({2, 3, 4}, torch_type);
    from.load_into("w", target).value();
    expect(torch::equal(target, value), name + ": load_into");
  }
}

void strides() {
  const torch::Tensor whole = torch::arange(120, torch::kFloat32).reshape({4, 5, 6});
  const torch::Tensor parts[] = {
      whole.transpose(0, 2),
      whole.permute({2, 0, 1}),
      whole.slice(1, 1, 4, 2),
      whole.select(2, 3),
      whole.expand({2, 4, 5, 6}),
      whole.index({0, 0, 0}),
      whole.slice(0, 0, 0),
      whole.to(torch::kFloat32).unsqueeze(0).contiguous(torch::MemoryFormat::ChannelsLast)};
  for (const torch::Tensor& part : parts) {
    const std::string name = "strides of " + c10::str(part.sizes(), part.strides());
    const auto from = saved({"w", part});
    expect(torch::equal(from.load<torch::Tensor>("w").value(), part), name);
    const auto plain = from.load<zp::tensor>("w").value();
    const torch::Tensor dense = part.contiguous();
    expect(
        std::equal(plain.data<float>().begin(), plain.data<float>().end(), dense.data_ptr<float>()),
        name + ": logical order");
  }
  // Into a part of another tensor, and into a transposed one.
  const auto from = saved({"w", whole.slice(0, 0, 2)});
  torch::Tensor into = torch::full({6, 5, 2}, -1.0F);
  torch::Tensor turned = into.permute({2, 1, 0});
  from.load_into("w", turned).value();
  expect(torch::equal(turned, whole.slice(0, 0, 2)), "into a permuted tensor");
  torch::Tensor rows = torch::full({4, 5, 6}, -1.0F);
  torch::Tensor middle = rows.slice(0, 1, 3);
  from.load_into("w", middle).value();
  expect(torch::equal(middle, whole.slice(0, 0, 2)) && rows[0].eq(-1).all().item<bool>() &&
             rows[3].eq(-1).all().item<bool>(),
         "into a slice");
  refused(from.load_into("w", rows), zp::errc::shape_mismatch, "[4, 5, 6]");
  torch::Tensor overlapping = torch::zeros({1, 5, 6}).expand({2, 5, 6});
  refused(from.load_into("w", overlapping), zp::errc::invalid_argument, "overlap");
}

void a_module() {
  torch::manual_seed(7);
  torch::nn::Linear layer(5, 3);
  std::vector<zp::leaf> leaves;
  for (const auto& each : layer->named_parameters()) leaves.emplace_back(each.key(), each.value());
  zp::memory_store store;
  zp::save(store, leaves).value();
  torch::nn::Linear other(5, 3);
  const auto from = zp::open(store).value();
  for (auto& each : other->named_parameters()) from.load_into(each.key(), each.value()).value();
  const torch::Tensor input = torch::rand({2, 5});
  expect(torch::equal(layer->forward(input), other->forward(input)), "the parameters of a module");
}

void what_is_no_host_memory() {
  const auto save_of = [](const torch::Tensor& value) {
    return zp::save(zp::memory_store(), {{"w", value}});
  };
  refused(save_of(torch::Tensor()), zp::errc::invalid_argument, "undefined");
  refused(save_of(torch::eye(3).to_sparse()), zp::errc::invalid_argument, "strided");
  refused(save_of(torch::zeros({2}, torch::kComplexFloat).conj()), zp::errc::invalid_argument,
          "resolve_conj");
  refused(save_of(torch::quantize_per_tensor(torch::ones({2}), 0.1, 0, torch::kQInt8)),
          zp::errc::unsupported, "QInt8");
  refused(save_of(torch::empty({2}, torch::device(torch::kMeta))), zp::errc::invalid_argument,
          "on meta");
  refused(saved({"w", std::string("text")}).load<torch::Tensor>("w"), zp::errc::unsupported,
          "no elements of string");
  torch::Tensor undefined;
  refused(saved({"w", torch::ones({2})}).load_into("w", undefined), zp::errc::invalid_argument,
          "undefined");
}

}  // namespace

int main() {
  every_type();
  strides();
  a_module();
  what_is_no_host_memory();
  std::printf(failures == 0 ? "libtorch: all passed\n" : "libtorch: %d failed\n", failures);
  return failures == 0 ? 0 : 1;
}
