// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/pickle/pickle_writer.hpp>
#include <zarrpoint/interop/torch/torch_tensor.hpp>

#include "pickle_bytes.hpp"

#include <doctest/doctest.h>

namespace torch_tensor_test {

using namespace zarrpoint;

/// A tensor as a pickle may describe it, right or wrong.
struct description {
  std::string function = "_rebuild_tensor_v2";
  std::string storage_class = "FloatStorage";
  std::string storage_module = "torch";
  std::int64_t count = 12;
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape{3, 4};
  std::vector<std::int64_t> strides{4, 1};
  std::string type{};  // of _rebuild_tensor_v3
  std::string kind = "storage";
  std::size_t parts = 5;
  std::vector<std::string> metadata{};  // the keys of the last argument, if any
};

torch::pickle_value pickled(const description& of) {
  torch::pickle_writer to;
  const auto numbers = [&](const std::vector<std::int64_t>& list) {
    return to.tuple(list.size(),
                    [&](std::size_t i) { return to.integer(list[i]), result<void>(); });
  };
  to.global("torch._utils", of.function);
  const std::size_t without = of.type.empty() ? of.parts : 7;
  const std::size_t parts = of.metadata.empty() ? without : of.type.empty() ? 7 : 8;
  to.tuple(parts, [&](std::size_t part) -> result<void> {
      if (part == 0) {
        ZARRPOINT_CHECK(to.tuple(5, [&](std::size_t i) -> result<void> {
          if (i == 0) return to.string(of.kind);
          if (i == 1) return to.global(of.storage_module, of.storage_class), result<void>();
          if (i == 2) return to.string("0");
          if (i == 3) return to.string("cpu");
          return to.integer(of.count), result<void>();
        }));
        return to.persistent(), result<void>();
      }
      if (part == 1) return to.integer(of.offset), result<void>();
      if (part == 2) return numbers(of.shape);
      if (part == 3) return numbers(of.strides);
      if (part == 6 && !of.type.empty()) return to.global("torch", of.type), result<void>();
      if (part >= 6)
        return to.dict(of.metadata.size(), [&](std::size_t i) -> result<void> {
          ZARRPOINT_CHECK(to.string(of.metadata[i]));
          return to.boolean(true), result<void>();
        });
      return to.boolean(part == 4), result<void>();
    }).value();
  to.reduce();
  return test::unpickle(std::move(to).finish()).value();
}

errc refusal(const description& of) {
  const auto made = torch::describe_tensor(pickled(of));
  REQUIRE_FALSE(made);
  return made.failure().code;
}

TEST_CASE("torch_tensor: where the elements are") {
  const auto plain = torch::describe_tensor(pickled({})).value();
  CHECK(plain.spec == tensor_spec{dtype_kind::float32, {3, 4}});
  CHECK(plain.strides == dims{16, 4});
  CHECK(plain.storage == "0");
  CHECK(plain.end == 48);
  CHECK(plain.requires_grad);
  const auto part =
      torch::describe_tensor(pickled({.offset = 1, .shape = {2, 2}, .strides = {2, 8}})).value();
  CHECK(part.offset == 4);
  CHECK(part.end == 48);
  CHECK(part.strides == dims{8, 32});
  // Nothing may lie anywhere, and PyTorch slices it beyond the end.
  const auto none =
      torch::describe_tensor(pickled({.offset = 13, .shape = {0, 9}, .strides = {99, 99}})).value();
  CHECK(none.offset == 0);
  CHECK(none.end == 0);
  // The step of one element is never made.
  CHECK(torch::describe_tensor(pickled({.shape = {1, 12}, .strides = {INT64_MAX, 1}})));
  const auto wide = torch::describe_tensor(pickled({.function = "_rebuild_tensor_v3",
                                                    .storage_class = "UntypedStorage",
                                                    .storage_module = "torch.storage",
                                                    .count = 24,
                                                    .type = "uint16"}))
                        .value();
  CHECK(wide.spec.type == dtype(dtype_kind::uint16));
  CHECK(wide.storage_bytes == 24);
}

TEST_CASE("torch_tensor: conjugates and negatives are what PyTorch makes of the elements") {
  const auto conj = torch::describe_tensor(
                        pickled({.storage_class = "ComplexFloatStorage", .metadata = {"conj"}}))
                        .value();
  CHECK(conj.signs.conjugate);
  CHECK_FALSE(conj.signs.negative);
  CHECK(torch::describe_tensor(pickled({.metadata = {"neg"}})).value().signs.negative);
  CHECK(torch::describe_tensor(pickled({.function = "_rebuild_tensor_v3",
                                        .storage_class = "UntypedStorage",
                                        .count = 24,
                                        .type = "uint16",
                                        .metadata = {"neg"}}))
            .value()
            .signs.negative);
  CHECK(refusal({.metadata = {"conj"}}) == errc::corrupt);
  CHECK(refusal({.metadata = {"neg", "other"}}) == errc::unsupported);
  CHECK(refusal({.storage_class = "BoolStorage", .metadata = {"neg"}}) == errc::unsupported);

  const auto applied = [](torch::element_signs signs, auto values, dtype type, dims shape) {
    torch::apply_signs(signs, dense_view(reinterpret_cast<std::byte*>(values.data()),
                                         tensor_spec{type, std::move(shape)}));
    return values;
  };
  using floats = std::vector<float>;
  const dtype pairs = dtype_kind::complex64;
  CHECK(applied({true, false}, floats{1, 2, 3, -4}, pairs, {2}) == floats{1, -2, 3, 4});
  CHECK(applied({false, true}, floats{1, 2, 3, -4}, pairs, {2}) == floats{-1, -2, -3, 4});
  CHECK(applied({true, true}, floats{1, 2, 3, -4}, pairs, {2}) == floats{-1, 2, -3, -4});
  CHECK(applied({false, true}, floats{1, -2}, dtype_kind::float32, {1, 2}) == floats{-1, 2});
  CHECK(applied({}, floats{1, -2}, dtype_kind::float32, {2}) == floats{1, -2});
  using bytes = std::vector<std::uint8_t>;
  CHECK(applied({false, true}, bytes{1, 0, 128}, dtype_kind::uint8, {3}) == bytes{255, 0, 128});
  using wide = std::vector<std::int64_t>;
  CHECK(applied({false, true}, wide{1, INT64_MIN}, dtype_kind::int64, {2}) == wide{-1, INT64_MIN});
  using half = std::vector<std::uint16_t>;
  CHECK(applied({false, true}, half{0x3c00, 0x8001}, dtype_kind::float16, {2}) ==
        half{0xbc00, 0x0001});
  floats column{1, 2, 3, 4};
  mutable_host_view odd = dense_view(reinterpret_cast<std::byte*>(column.data()),
                                     tensor_spec{dtype(dtype_kind::float32), {2}});
  odd.strides[0] = 8;
  torch::apply_signs({false, true}, odd);
  CHECK(column == floats{-1, 2, -3, 4});
}

TEST_CASE("torch_tensor: what lies about itself is refused") {
  constexpr std::int64_t large = INT64_MAX;
  CHECK(refusal({.offset = 1}) == errc::corrupt);
  CHECK(refusal({.count = 11}) == errc::corrupt);
  CHECK(refusal({.offset = -1}) == errc::corrupt);
  CHECK(refusal({.shape = {3}}) == errc::corrupt);
  CHECK(refusal({.shape = {3, -4}}) == errc::corrupt);
  CHECK(refusal({.strides = {-4, 1}}) == errc::corrupt);
  CHECK(refusal({.count = -1}) == errc::corrupt);
  CHECK(refusal({.kind = "module"}) == errc::corrupt);
  CHECK(refusal({.parts = 3}) == errc::corrupt);
  CHECK(refusal({.count = large}) == errc::out_of_range);
  CHECK(refusal({.offset = large}) == errc::out_of_range);
  CHECK(refusal({.shape = {large, large}}) == errc::out_of_range);
  CHECK(refusal({.strides = {large, 1}}) == errc::out_of_range);
  CHECK(refusal({.strides = {large / 8, large / 8}}) == errc::corrupt);
  CHECK(refusal({.storage_class = "QInt8Storage"}) == errc::unsupported);
  CHECK(refusal({.storage_module = "os"}) == errc::unsupported);
  CHECK(refusal({.storage_class = "UntypedStorage"}) == errc::corrupt);
  CHECK(refusal({.function = "_rebuild_tensor_v3", .type = "int64"}) == errc::corrupt);
  CHECK(refusal({.function = "_rebuild_tensor_v3", .type = "quint8"}) == errc::unsupported);
  CHECK(refusal({.function = "_rebuild_parameter"}) == errc::invalid_argument);
  CHECK(refusal({.shape = std::vector<std::int64_t>(40, 1),
                 .strides = std::vector<std::int64_t>(40, 1)}) == errc::unsupported);
  CHECK(refusal({.function = "_rebuild_wrapper"}) == errc::invalid_argument);
}

}  // namespace torch_tensor_test
