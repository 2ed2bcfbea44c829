// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/handler/types/diagnose.hpp>

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <string_view>

namespace diagnose_test {

// What the messages say when a type does not pass is tested in tests/compile_fail.

using namespace zarrpoint;

namespace {

struct unknown {};
struct named {
  operator std::string_view() const { return "name"; }
};

template <class T>
consteval bool passes_all() {
  detail::require_leaf<T>();
  detail::require_loadable<T>();
  detail::require_fillable<T&>();
  return true;
}
static_assert(passes_all<float>() && passes_all<std::string>() && passes_all<tensor>());
static_assert(passes_all<std::vector<float>>() && passes_all<std::array<bool, 3>>());

}  // namespace

TEST_CASE("text is what a string_view can be taken of and has no handler of its own") {
  CHECK(detail::text_like<std::string_view>);
  CHECK(detail::text_like<const char*>);
  CHECK(detail::text_like<char[6]>);
  CHECK(detail::text_like<named>);
  CHECK(!detail::text_like<std::string>);  // a tensor of rank 0
  CHECK(!detail::text_like<unknown>);
  CHECK(!detail::text_like<std::vector<char>>);
  CHECK(!detail::text_like<std::nullptr_t>);
}

TEST_CASE("what is explained is not a leaf, and what is a leaf is not taken for another") {
  enum class colour : int { red };
  CHECK(detail::is_explained<colour>);
  CHECK(detail::is_explained<std::map<std::string, int>>);
  CHECK(detail::is_explained<std::vector<std::vector<float>>>);
  CHECK(!detail::is_explained<std::vector<std::string>>);
  CHECK(!detail::is_explained<std::vector<float>>);
  CHECK(!detail::is_explained<tensor>);
  CHECK(!detail::is_explained<unknown>);
  CHECK(!detail::is_explained<float*>);
}

TEST_CASE("packed bools are known whatever their allocator") {
  CHECK(detail::is_packed_bools<std::vector<bool>>);
  CHECK(!detail::is_packed_bools<std::vector<char>>);
}

}  // namespace diagnose_test
