// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Against ONNX Runtime itself: a program of its own, since its headers and library come from
// elsewhere than the others. Run by `bash tests/run.sh onnxruntime`.
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/handler/types/diagnose.hpp>
#include <zarrpoint/onnxruntime.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace zp = zarrpoint;

static_assert(zp::savable<Ort::Value> && zp::loadable<Ort::Value> && zp::fillable<Ort::Value&>);
static_assert(zp::savable<Ort::UnownedValue> && zp::fillable<Ort::UnownedValue&>);
static_assert(zp::savable<Ort::ConstValue> && !zp::fillable<Ort::ConstValue&>);
static_assert(!zp::loadable<Ort::UnownedValue> && !zp::loadable<Ort::ConstValue>);
static_assert(zp::detail::like_ort_value<Ort::Value>);  // known without our header, too

namespace {

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::printf("FAILED: %s\n", what.c_str());
}

template <class Result>
void refused(const Result& failed, zp::errc code, const std::string& text) {
  expect(!failed && failed.failure().code == code &&
             failed.failure().message.find(text) != std::string::npos,
         "refused: " + text + (failed ? "" : "; said: " + failed.failure().message));
}

zp::result<zp::save_report> save_of(const zp::leaf& value) {
  zp::memory_store store;
  return zp::save(store, {value});
}

zp::checkpoint saved(const zp::leaf& value) {
  zp::memory_store store;
  zp::save(store, {value}).value();
  return zp::open(store).value();
}

Ort::Value allocated(const std::vector<std::int64_t>& shape, ONNXTensorElementDataType type) {
  Ort::AllocatorWithDefaultOptions allocator;
  return Ort::Value::CreateTensor(allocator, shape.data(), shape.size(), type);
}

/// Bytes 0 and 1 in turn: numbers, and booleans, of every type.
Ort::Value filled(const std::vector<std::int64_t>& shape, ONNXTensorElementDataType type,
                  std::size_t bytes) {
  Ort::Value out = allocated(shape, type);
  auto* const first = static_cast<unsigned char*>(out.GetTensorMutableRawData());
  for (std::size_t i = 0; i < bytes; ++i)
    first[i] = static_cast<unsigned char>((i * i + i / 3) % 2);
  return out;
}

bool same_bytes(const Ort::Value& a, const void* b, std::size_t bytes) {
  return std::memcmp(a.GetTensorRawData(), b, bytes) == 0;
}

void every_type() {
  using enum zp::dtype_kind;
  // Complex ones have codes and no tensors: below.
  const std::pair<ONNXTensorElementDataType, zp::dtype_kind> types[] = {
      {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, float32},
      {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, uint8},
      {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, int8},
      {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, uint16},
      {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, int16},
      {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, int32},
      {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, int64},
      {ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, bool_},
      {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, float16},
      {ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, float64},
      {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, uint32},
      {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, uint64},
      {ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, bfloat16},
      {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN, float8_e4m3fn},
      {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ, float8_e4m3fnuz},
      {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2, float8_e5m2},
      {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ, float8_e5m2fnuz}};
  for (const auto& [code, type] : types) {
    const std::string name(zp::to_string(zp::dtype(type)));
    const std::size_t bytes = 24 * zp::dtype(type).size();
    const Ort::Value value = filled({2, 3, 4}, code, bytes);
    const auto from = saved({"w", value});
    expect(from.metadata("w").value().spec == zp::tensor_spec{type, {2, 3, 4}}, name + ": spec");
    const auto plain = from.load<zp::tensor>("w").value();
    expect(same_bytes(value, plain.view().data, bytes), name + ": as a tensor of ours");
    const auto back = from.load<Ort::Value>("w").value();
    const auto info = back.GetTensorTypeAndShapeInfo();
    expect(info.GetElementType() == code && info.GetShape() == std::vector<std::int64_t>{2, 3, 4},
           name + ": made");
    expect(same_bytes(value, back.GetTensorRawData(), bytes), name + ": loaded");
    Ort::Value target = allocated({2, 3, 4}, code);
    std::memset(target.GetTensorMutableRawData(), 0x7f, bytes);
    from.load_into("w", target).value();
    expect(same_bytes(value, target.GetTensorRawData(), bytes), name + ": load_into");
  }
}

void shapes() {
  for (const auto& [shape, elements] :
       std::vector<std::pair<std::vector<std::int64_t>, std::size_t>>{
           {{}, 1}, {{0}, 0}, {{2, 0, 3}, 0}, {{1}, 1}, {{1, 1, 2, 1, 3, 1, 1}, 6}}) {
    const std::string name = "shape of " + std::to_string(shape.size()) + " dimensions";
    const Ort::Value value =
        filled(shape, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, elements * sizeof(float));
    const auto from = saved({"w", value});
    expect(
        from.metadata("w").value().spec.shape == zp::dims::from_range(shape.begin(), shape.end()),
        name);
    Ort::Value back = from.load<Ort::Value>("w").value();
    expect(back.GetTensorTypeAndShapeInfo().GetShape() == shape, name + ": made");
    expect(elements == 0 || same_bytes(value, back.GetTensorRawData(), elements * sizeof(float)),
           name + ": loaded");
    from.load_into("w", back).value();
  }
  Ort::Value other = allocated({3, 2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  const auto from =
      saved({"w", filled({2, 3}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 6 * sizeof(float))});
  refused(from.load_into("w", other), zp::errc::shape_mismatch, "[3, 2]");
  Ort::Value doubles = allocated({2, 3}, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE);
  refused(from.load_into("w", doubles), zp::errc::dtype_mismatch, "float64");
  from.load_into("w", doubles, {.cast = true}).value();
}

void memory_of_the_program() {
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  std::vector<float> weights{1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> shape{2, 3};
  const auto over = [&](std::vector<float>& values) {
    return Ort::Value::CreateTensor<float>(memory, values.data(), values.size(), shape.data(),
                                           shape.size());
  };
  const Ort::Value source = over(weights);
  const auto from = saved({"w", source});
  std::vector<float> filled_here(6);
  Ort::Value target = over(filled_here);
  from.load_into("w", target).value();
  expect(filled_here == weights, "a tensor over memory of the program");

  // Handles, which a leaf copies; a leaf keeps a value that is moved into it.
  std::vector<float> again(6);
  Ort::Value third = over(again);
  Ort::UnownedValue handle = third.GetUnowned();
  from.load_into("w", handle).value();
  expect(again == weights, "a handle as the target");
  const zp::leaf kept("w", from.load<Ort::Value>("w").value());
  expect(same_bytes(saved(kept).load<Ort::Value>("w").value(), weights.data(), 24),
         "a leaf of a value that was moved into it");
  expect(
      same_bytes(saved({"w", third.GetConst()}).load<Ort::Value>("w").value(), weights.data(), 24),
      "a leaf of a handle");

  // Pinned memory of a device is the host's.
  const Ort::MemoryInfo pinned("CudaPinned", OrtDeviceAllocator, 0, OrtMemTypeCPUOutput);
  const Ort::Value fast = Ort::Value::CreateTensor<float>(pinned, weights.data(), weights.size(),
                                                          shape.data(), shape.size());
  expect(save_of({"w", fast}).has_value(), "pinned memory");
}

void what_is_no_host_memory() {
  std::vector<float> values(6);
  const std::vector<std::int64_t> shape{2, 3};
  const Ort::MemoryInfo device("Cuda", OrtDeviceAllocator, 0, OrtMemTypeDefault);
  Ort::Value there = Ort::Value::CreateTensor<float>(device, values.data(), values.size(),
                                                     shape.data(), shape.size());
  refused(save_of({"w", there}), zp::errc::invalid_argument, "an Ort::Value in memory of Cuda");
  const auto from =
      saved({"w", filled({2, 3}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 6 * sizeof(float))});
  refused(from.load_into("w", there), zp::errc::invalid_argument,
          "an Ort::Value in memory of Cuda");

  Ort::Value empty{nullptr};
  refused(save_of({"w", empty}), zp::errc::invalid_argument, "the Ort::Value is empty");
  refused(from.load_into("w", empty), zp::errc::invalid_argument, "the Ort::Value is empty");

  Ort::Value text = allocated({2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
  refused(save_of({"w", text}), zp::errc::unsupported, "std::vector<std::string>");
  refused(saved({"w", std::vector<std::string>{"a", "b"}}).load_into("w", text),
          zp::errc::unsupported, "std::vector<std::string>");
  refused(saved({"w", std::vector<std::string>{"a", "b"}}).load<Ort::Value>("w"),
          zp::errc::unsupported, "no elements of string");
  const Ort::Value packed = allocated({4}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4);
  refused(save_of({"w", packed}), zp::errc::unsupported, "ONNX's data type 22");

  std::vector<Ort::Value> parts;
  parts.push_back(filled({2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 2 * sizeof(float)));
  refused(save_of({"w", Ort::Value::CreateSequence(parts)}), zp::errc::invalid_argument,
          "is a sequence");
  const Ort::Value keys =
      filled({2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, 2 * sizeof(std::int64_t));
  refused(save_of({"w", Ort::Value::CreateMap(keys, parts[0])}), zp::errc::invalid_argument,
          "is a map");
  Ort::AllocatorWithDefaultOptions allocator;
  const Ort::Value::Shape dense{shape.data(), shape.size()};
  const Ort::Value sparse = Ort::Value::CreateSparseTensor<float>(allocator, dense);
  refused(save_of({"w", sparse}), zp::errc::invalid_argument, "is a sparse tensor");
}

/// Of what ONNX Runtime cannot make, it is the one that says so.
void what_it_cannot_make() {
  using handler = zp::handler_of<Ort::Value>;
  refused(handler::make({zp::dtype_kind::complex64, {2}}, {}), zp::errc::unsupported,
          "ONNX Runtime: ");
  refused(handler::make({zp::dtype_kind::datetime64, {2}}, {}), zp::errc::unsupported,
          "no elements of ");
  const zp::index_t many = zp::index_t{1} << 21U;
  refused(handler::make({zp::dtype_kind::uint8, {many, many, many / 2}}, {}),
          zp::errc::resource_limit, "cannot make uint8");
}

}  // namespace

int main() {
  every_type();
  shapes();
  memory_of_the_program();
  what_is_no_host_memory();
  what_it_cannot_make();
  const std::string version = Ort::GetVersionString();
  std::printf(failures == 0 ? "ONNX Runtime %s: all passed\n" : "ONNX Runtime %s: failed\n",
              version.c_str());
  return failures == 0 ? 0 : 1;
}
