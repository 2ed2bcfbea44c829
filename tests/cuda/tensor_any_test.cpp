// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/cuda/tensor.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include "cuda/fixture.hpp"

#include <span>

namespace tensor_any_test {

using namespace zarrpoint;
using cuda_space = zarrpoint::cuda::device_space;
using zarrpoint::cuda::tensor_any;
using handler = handler_of<tensor_any>;

static_assert(savable<tensor_any> && loadable<tensor_any> && fillable<tensor_any&>);
static_assert(!fillable<const tensor_any&> && !detail::handler_is_view<handler>());

TEST_CASE("a tensor of any dtype on a device is made, filled and read") {
  const zarrpoint_test::fresh_devices devices;
  const auto values = zarrpoint_test::counted_from<std::int32_t>(5, 6);
  const host_view view =
      dense_view(reinterpret_cast<const std::byte*>(values.data()), {dtype_kind::int32, {2, 3}});
  const tensor_any t = tensor_any::from_host(view, cuda_space(1)).value();
  CHECK(t.spec() == tensor_spec{dtype_kind::int32, {2, 3}});
  CHECK(t.bytes() == 24);
  CHECK(t.get_space().device() == 1);
  std::vector<std::int32_t> back(6);
  REQUIRE(t.download(std::as_writable_bytes(std::span(back))));
  CHECK(back == values);
  CHECK(t.download({}).failure().code == errc::invalid_argument);
  host_view gaps = view;
  gaps.strides = {24, 8};
  CHECK(tensor_any::from_host(gaps, cuda_space(1)).failure().code == errc::invalid_argument);
}

TEST_CASE("its handler makes it where the place says, and lends views of it") {
  const zarrpoint_test::fresh_devices devices;
  tensor_any made =
      handler::make({dtype_kind::bfloat16, {4, 0, 2}}, {nullptr, cuda_space(1)}).value();
  CHECK(made.data() == nullptr);
  made = handler::make({dtype_kind::bfloat16, {4, 2}}, {nullptr, cuda_space(1)}).value();
  const auto view = handler::view(made);
  CHECK(view.data == made.data());
  CHECK(view.strides == dims{4, 2});
  CHECK(view.space == cuda_space(1));
  CHECK(handler::writable(made).data == made.data());
  CHECK(!made.loaded());
  handler::mark_loaded(made, true);
  CHECK(made.loaded());
  made.set_ready(made.get_space().record().value());
  CHECK(handler::view(made).ready.get() == made.ready().get());
  CHECK(handler::spec(tensor_any()).failure().code == errc::invalid_argument);
  const auto refused = [](const tensor_spec& spec) {
    return tensor_any::make(spec, cuda_space()).failure().code;
  };
  CHECK(refused({dtype_kind::string, {2}}) == errc::unsupported);
  CHECK(refused({{}, {2}}) == errc::invalid_argument);
  CHECK(refused({dtype_kind::int64, {index_t{1} << 62}}) == errc::out_of_range);
  CHECK(refused({dtype_kind::int64, {index_t{1} << 40}}) == errc::resource_limit);
}

}  // namespace tensor_any_test
