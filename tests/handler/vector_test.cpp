// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/float_types.hpp>
#include <zarrpoint/handler/types/sequences.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <new>
#include <string>
#include <vector>

namespace vector_test {

using namespace zarrpoint;

namespace {

#if ZARRPOINT_EXCEPTIONS
/// Has memory for a hundred elements.
template <class T>
struct poor_allocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = poor_allocator<U>;
  };
  T* allocate(std::size_t count) {
    if (count > 100) throw std::bad_alloc();
    return std::allocator<T>::allocate(count);
  }
};
#endif

}  // namespace

static_assert(loadable<std::vector<bfloat16>> && loadable<std::vector<std::string>>);
static_assert(loadable<std::vector<std::byte>>);
static_assert(fillable<std::vector<float>&> && !fillable<const std::vector<float>&>);
static_assert(!savable<std::vector<bool>> && !loadable<std::vector<bool>>);
static_assert(!savable<std::vector<char>> && !savable<std::vector<std::vector<float>>>);

TEST_CASE("a vector is a dense array of rank 1") {
  std::vector<std::int32_t> values{1, 2, 3};
  using handler = handler_of<std::vector<std::int32_t>>;
  CHECK(handler::spec(values) == tensor_spec{dtype_kind::int32, {3}});
  const host_view view = handler::view(values);
  CHECK(view.data == reinterpret_cast<const std::byte*>(values.data()));
  CHECK(view.strides == dims{4});
  CHECK(handler::spec({}) == tensor_spec{dtype_kind::int32, {0}});
}

TEST_CASE("a vector is made from rank 1 only, and the message names both shapes") {
  using handler = handler_of<std::vector<float>>;
  CHECK(handler::make({dtype_kind::float32, {7}}, {}).value().size() == 7);
  CHECK(handler::make({dtype_kind::float32, {0}}, {}).value().empty());
  for (const dims& shape : {dims{}, dims{2, 3}}) {
    const auto refused = handler::make({dtype_kind::float32, shape}, {});
    CHECK(refused.failure().code == errc::shape_mismatch);
    CHECK(refused.failure().message ==
          "stored shape is " + to_string(shape) + ", wanted [n]: a std::vector has one dimension");
  }
  CHECK(handler::make({dtype_kind::float16, {7}}, {}).failure().code == errc::dtype_mismatch);
}

TEST_CASE("a vector as a target takes any shape of as many elements") {
  std::vector<float> values(6);
  const auto view = detail::target_view(values, {dtype_kind::float32, {2, 3}}).value();
  CHECK(view.shape == dims{2, 3});
  CHECK(view.strides == dims{12, 4});
  CHECK(view.data == reinterpret_cast<std::byte*>(values.data()));
  CHECK(detail::target_view(values, {dtype_kind::float32, {6}}).value().shape == dims{6});
  const auto refused = detail::target_view(values, {dtype_kind::float32, {2, 4}});
  CHECK(refused.failure().code == errc::shape_mismatch);
  CHECK(refused.failure().message == "stored shape is [2, 4], wanted the target's [6]");
}

TEST_CASE("strings are elements of their own size in memory") {
  std::vector<std::string> texts{"a", "b"};
  const host_view view = handler_of<std::vector<std::string>>::view(texts);
  CHECK(view.type == dtype_kind::string);
  CHECK(view.strides == dims{static_cast<index_t>(sizeof(std::string))});
  const auto flat = detail::target_view(texts, {dtype_kind::string, {1, 2}}).value();
  CHECK(flat.strides[1] == static_cast<index_t>(sizeof(std::string)));
}

TEST_CASE("a hostile size is an error and not a crash") {
  using handler = handler_of<std::vector<double>>;
  const auto overflow = handler::make({dtype_kind::float64, {INT64_MAX}}, {});
  CHECK(overflow.failure().code == errc::out_of_range);
#if ZARRPOINT_EXCEPTIONS
  using poor = handler_of<std::vector<double, poor_allocator<double>>>;
  CHECK(poor::make({dtype_kind::float64, {100}}, {}).value().size() == 100);
  const auto huge = poor::make({dtype_kind::float64, {101}}, {});
  CHECK(huge.failure().code == errc::resource_limit);
  CHECK(huge.failure().message.starts_with("cannot make float64[101] (808 bytes): "));
#endif
}

}  // namespace vector_test
