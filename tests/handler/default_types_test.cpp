// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/handler/default_types.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace default_types_test {

using namespace zarrpoint;

namespace {

/// Makes what the registry restores, and says which dtype its handler fixed.
template <class Types>
result<typename Types::value> make(std::string_view typestr, const tensor_spec& stored) {
  using value = typename Types::value;
  return Types::dispatch(typestr, stored, [&](auto entry) -> result<value> {
    using type = typename decltype(entry)::type;
    using handler = typename decltype(entry)::handler;
    if constexpr (blob_handler<handler, type>) {
      return value(type{});
    } else {
      ZARRPOINT_TRY(made, handler::make(stored, place<typename handler::space>{}));
      return value(std::move(made));
    }
  });
}

}  // namespace

TEST_CASE("every dtype is restored: as a scalar at rank 0, as a tensor above") {
  for (const dtype_kind kind : all_dtype_kinds) {
    const bool text = kind == dtype_kind::string;
    const auto scalar = make<default_types>(text ? "string" : "scalar", {kind, {}});
    REQUIRE(scalar);
    CHECK(!std::holds_alternative<std::monostate>(*scalar));
    // The rarer numbers have no place in the variant.
    const bool rare = dtype(kind).is_below_byte() ||
                      (dtype(kind).is_complex() && dtype(kind).size() < 8) ||
                      (dtype(kind).is_floating() && dtype(kind).size() == 1 &&
                       kind != dtype_kind::float8_e4m3fn && kind != dtype_kind::float8_e5m2) ||
                      kind == dtype_kind::bytes;
    CHECK(std::holds_alternative<tensor>(*scalar) == rare);
    const auto unnamed = make<default_types>("", {kind, {}});
    CHECK(unnamed.value().index() == scalar->index());
    for (const char* name : {"array", "np.ndarray", ""}) {
      const auto array = make<default_types>(name, {kind, {2, 3}});
      CHECK(std::get<tensor>(array.value()).spec() == tensor_spec{kind, {2, 3}});
    }
  }
}

TEST_CASE("blobs are restored by their kind") {
  const tensor_spec stored{dtype_kind::uint8, {4}};
  CHECK(std::holds_alternative<json_text>(make<default_types>("json", stored).value()));
  CHECK(std::holds_alternative<byte_string>(make<default_types>("bytes", stored).value()));
  CHECK(std::holds_alternative<tensor>(make<default_types>("", stored).value()));
  CHECK(make<default_types>("unheard", stored).failure().code == errc::unsupported);
}

TEST_CASE("the defaults are widened by types of the caller") {
  using types = default_types::with<bind<std::vector<float>>>;
  const tensor_spec row{dtype_kind::float32, {4}};
  CHECK(std::holds_alternative<std::vector<float>>(make<types>("array", row).value()));
  CHECK(
      std::holds_alternative<tensor>(make<types>("array", {dtype_kind::float32, {4, 4}}).value()));
}

}  // namespace default_types_test
