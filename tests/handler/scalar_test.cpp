// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/complex.hpp>
#include <zarrpoint/core/types/float_types.hpp>
#include <zarrpoint/core/types/visit.hpp>
#include <zarrpoint/handler/types/scalar.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include <doctest/doctest.h>

#include <complex>
#include <cstring>

namespace {

/// Somebody else's half, with the same bits.
struct my_half {
  std::uint16_t bits;
};

}  // namespace

template <>
inline constexpr zarrpoint::dtype zarrpoint::dtype_of<my_half> = zarrpoint::dtype_kind::float16;

namespace scalar_test {

using namespace zarrpoint;

namespace {

enum class color { red };

}  // namespace

static_assert(loadable<bool> && loadable<std::byte> && loadable<long> && loadable<long long>);
static_assert(loadable<my_half> &&
              detail::handler_dtype<handler_of<my_half>>() == dtype_kind::float16);
static_assert(detail::handler_dtype<handler_of<long>>() ==
              detail::handler_dtype<handler_of<long long>>());
static_assert(fillable<float&> && !fillable<const float&>);
static_assert(!savable<char> && !savable<wchar_t> && !savable<color> && !savable<long double>);

TEST_CASE("every element type is a scalar leaf of its dtype") {
  for (const dtype_kind kind : all_dtype_kinds) {
    if (dtype(kind).is_variable()) continue;
    visit_dtype(kind, [&]<class T>() {
      using handler = handler_of<T>;
      CHECK(handler::typestr == "scalar");
      CHECK(handler::spec(T{}) == tensor_spec{kind, {}});
      const place<host_space> here;
      result<T> made = handler::make({kind, {}}, here);
      REQUIRE(made);
      const mutable_host_view target = handler::writable(*made);
      CHECK(target.data == reinterpret_cast<std::byte*>(&*made));
      CHECK(target.spec() == tensor_spec{kind, {}});
    });
  }
}

TEST_CASE("a scalar lends its own bytes") {
  const double value = 2.5;
  const host_view view = handler_of<double>::view(value);
  double seen = 0;
  std::memcpy(&seen, view.data, sizeof seen);
  CHECK(seen == 2.5);
}

TEST_CASE("a scalar is made from rank 0 and its own dtype only") {
  const auto shaped = handler_of<float>::make({dtype_kind::float32, {1}}, {});
  CHECK(shaped.failure().code == errc::shape_mismatch);
  CHECK(shaped.failure().message == "stored shape is [1], wanted a scalar, []");
  const auto typed = handler_of<float>::make({dtype_kind::float64, {}}, {});
  CHECK(typed.failure().code == errc::dtype_mismatch);
  CHECK(typed.failure().message == "stored dtype is float64, wanted float32");
}

}  // namespace scalar_test
