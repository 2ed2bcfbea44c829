// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/handler/types/scalar.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include <doctest/doctest.h>

namespace string_test {

using namespace zarrpoint;

static_assert(loadable<std::string> && fillable<std::string&> && !fillable<const std::string&>);

TEST_CASE("a string is one element of dtype string") {
  const std::string text = "warm start";
  CHECK(handler_of<std::string>::typestr == "string");
  CHECK(handler_of<std::string>::spec(text) == tensor_spec{dtype_kind::string, {}});
  const host_view view = handler_of<std::string>::view(text);
  CHECK(reinterpret_cast<const std::string*>(view.data) == &text);
}

TEST_CASE("a string is made from one string only") {
  CHECK(handler_of<std::string>::make({dtype_kind::string, {}}, {}).value().empty());
  const auto many = handler_of<std::string>::make({dtype_kind::string, {2}}, {});
  CHECK(many.failure().code == errc::shape_mismatch);
  const auto number = handler_of<std::string>::make({dtype_kind::uint8, {}}, {});
  CHECK(number.failure().code == errc::dtype_mismatch);
}

}  // namespace string_test
