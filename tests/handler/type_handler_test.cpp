// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/handler/types/type_handler.hpp>

#include "../examples/handlers/my_tensor_handler.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory_resource>
#include <vector>

namespace type_handler_test {

using namespace zarrpoint;

namespace {

/// All facts of a handler for a type with `std::vector<float> values`.
template <class T>
struct facts {
  static constexpr std::string_view typestr = "facts";
  using space = host_space;
  static tensor_spec spec(const T& value) {
    return {dtype_kind::float32, {static_cast<index_t>(value.values.size())}};
  }
  static host_view view(const T& value) {
    return dense_view(reinterpret_cast<const std::byte*>(value.values.data()), spec(value));
  }
  static result<T> make(const tensor_spec& stored, const place<space>&) {
    T made;
    made.values.resize(static_cast<std::size_t>(stored.shape[0]));
    return made;
  }
  static mutable_host_view writable(T& target) {
    return dense_view(reinterpret_cast<std::byte*>(target.values.data()), spec(target));
  }
};

struct foreign {
  std::vector<float> values;
};

/// The nested handler is an alias here, a struct in `json_text`.
struct own {
  std::vector<float> values;
  using zarrpoint_handler = facts<own>;
};

/// Array-like, with a nested handler and a specialisation: the specialisation counts.
struct everything {
  using value_type = float;
  std::vector<float> values;
  std::array<std::size_t, 1> shape() const { return {values.size()}; }
  const float* data() const { return values.data(); }
  struct zarrpoint_handler : facts<everything> {
    static constexpr std::string_view typestr = "nested";
  };
};
/// The same without the specialisation: the nested handler counts.
struct nested_and_array_like : everything {
  struct zarrpoint_handler : facts<nested_and_array_like> {
    static constexpr std::string_view typestr = "nested";
  };
};
/// It inherits a handler that saves it, but makes another type.
struct derived : own {};

/// A family of types by one constrained partial specialisation.
template <class T>
concept tagged = requires {
  typename T::tag;
};
struct tagged_one {
  using tag = void;
  std::vector<float> values;
};
struct tagged_two : tagged_one {};

}  // namespace

}  // namespace type_handler_test

template <>
struct zarrpoint::type_handler<type_handler_test::foreign>
    : type_handler_test::facts<type_handler_test::foreign> {};
template <>
struct zarrpoint::type_handler<type_handler_test::everything>
    : type_handler_test::facts<type_handler_test::everything> {};
template <type_handler_test::tagged T>
struct zarrpoint::type_handler<T> : type_handler_test::facts<T> {};
/// A user's handler of a standard type comes before the library's, without ambiguity.
template <class T>
struct zarrpoint::type_handler<std::vector<T, std::pmr::polymorphic_allocator<T>>>
    : detail::builtin_handler<std::vector<T, std::pmr::polymorphic_allocator<T>>> {
  static constexpr std::string_view typestr = "pmr";
};

namespace type_handler_test {

static_assert(loadable<foreign> && fillable<foreign&> && !fillable<const foreign&>);
static_assert(loadable<own> && loadable<tagged_one> && loadable<tagged_two>);
static_assert(savable<derived> && !loadable<derived>);
static_assert(handler_of<foreign>::typestr == "facts");
static_assert(handler_of<everything>::typestr == "facts");
static_assert(everything::zarrpoint_handler::typestr == "nested");
static_assert(handler_of<nested_and_array_like>::typestr == "nested");
static_assert(handler_of<std::pmr::vector<float>>::typestr == "pmr");
static_assert(handler_of<std::vector<float>>::typestr == "array");
static_assert(std::same_as<handler_of<const own&>, handler_of<own>>);

struct incomplete;
static_assert(!savable<int*> && !savable<void*> && !savable<void (*)()> && !savable<void>);
static_assert(!savable<std::nullptr_t> && !loadable<int&(int)>);
static_assert(!savable<incomplete*> && !detail::blob_leaf<int*>);

TEST_CASE("a type of the user goes there and back by its handler") {
  const own value{{1, 2, 3}};
  using handler = handler_of<own>;
  auto made = handler::make(handler::spec(value), {});
  REQUIRE(made);
  const host_view from = handler::view(value);
  const auto to = detail::target_view(*made, handler::spec(value)).value();
  std::copy_n(from.data, 12, to.data);
  CHECK(made->values == value.values);
}

TEST_CASE("the skeleton to copy holds what it says") {
  using handler = handler_of<my::tensor>;
  const place<host_space> here;
  auto made = handler::make({dtype_kind::float32, {2, 3}}, here);
  REQUIRE(made);
  CHECK(made->sizes() == std::vector<std::int64_t>{2, 3});
  const mutable_host_view view = handler::writable(*made);
  CHECK(view.data == reinterpret_cast<std::byte*>(made->ptr()));
  CHECK(view.strides == dims{12, 4});
  CHECK(handler::view(*made).data == view.data);
  CHECK(handler::spec(my::tensor()) == tensor_spec{dtype_kind::float32, {0}});
  CHECK(handler::make({dtype_kind::float64, {2}}, here).failure().code == errc::dtype_mismatch);
  CHECK(handler::make({dtype_kind::float32, {INT64_MAX, 2}}, here).failure().code ==
        errc::out_of_range);
}

}  // namespace type_handler_test
