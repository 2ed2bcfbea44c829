// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/handler/base/concepts.hpp>

#include <doctest/doctest.h>

#include <stdexcept>

namespace concepts_test {

using namespace zarrpoint;

namespace {

struct matrix {
  float values[6] = {};
};

/// Only what saving needs.
struct saver {
  static constexpr std::string_view typestr = "matrix";
  using space = host_space;
  static tensor_spec spec(const matrix&) { return {dtype_kind::float32, {2, 3}}; }
  static host_view view(const matrix& value) {
    return dense_view(reinterpret_cast<const std::byte*>(value.values), spec(value));
  }
};
/// All of it, with a spec that may fail and every optional fact.
struct loader : saver {
  static constexpr dtype type = dtype_kind::float32;
  static constexpr std::size_t rank = 2;
  static constexpr bool is_view = true;
  static constexpr bool is_flat = true;
  static constexpr std::array<std::string_view, 2> aliases{"np.matrix", "old"};
  static result<tensor_spec> spec(const matrix& value) { return saver::spec(value); }
  static result<matrix> make(const tensor_spec&, const place<host_space>&) { return matrix{}; }
  static mutable_host_view writable(matrix& target) {
    return dense_view(reinterpret_cast<std::byte*>(target.values), saver::spec(target));
  }
};
struct blob {
  static constexpr std::string_view typestr = "blob";
  static std::vector<std::byte> to_bytes(const matrix&) { return {}; }
  static result<matrix> from_bytes(bytes_view) { return matrix{}; }
};
struct no_typestr : loader {
 private:
  using saver::typestr;
};
struct wrong_view : loader {
  static const float* view(const matrix& value) { return value.values; }
};
struct makes_another : loader {
  static result<int> make(const tensor_spec&, const place<host_space>&) { return 1; }
};

static_assert(saving_handler<saver, matrix> && !loading_handler<saver, matrix>);
static_assert(!filling_handler<saver, matrix> && !blob_handler<saver, matrix>);
static_assert(saving_handler<loader, matrix> && loading_handler<loader, matrix>);
static_assert(filling_handler<loader, matrix> && !filling_handler<loader, const matrix>);
static_assert(blob_handler<blob, matrix> && !saving_handler<blob, matrix>);
static_assert(!saving_handler<no_typestr, matrix> && !saving_handler<wrong_view, matrix>);
static_assert(!saving_handler<loader, int> && !loading_handler<makes_another, matrix>);
static_assert(!saving_handler<int, matrix> && !saving_handler<void, matrix>);

static_assert(detail::handler_rank<saver>() == detail::any_rank &&
              detail::handler_rank<loader>() == 2);
static_assert(!detail::handler_dtype<saver>().valid());
static_assert(detail::handler_dtype<loader>() == dtype_kind::float32);
static_assert(detail::handler_dtype<blob>() == dtype_kind::uint8);
static_assert(!detail::handler_is_view<saver>() && detail::handler_is_view<loader>());
static_assert(!detail::handler_is_flat<saver>() && detail::handler_is_flat<loader>());
static_assert(detail::handler_restores<saver>("matrix") &&
              !detail::handler_restores<saver>("np.matrix"));
static_assert(detail::handler_restores<loader>("matrix") &&
              detail::handler_restores<loader>("old"));

}  // namespace

TEST_CASE("a mismatch names what is stored and what is wanted") {
  const tensor_spec stored{dtype_kind::float32, {2, 3}};
  CHECK(detail::wrong_shape(stored, "[6]").message == "stored shape is [2, 3], wanted [6]");
  CHECK(detail::expect_dtype(stored, dtype_kind::float32));
  CHECK(detail::expect_dtype(stored, dtype_kind::int8).failure().message ==
        "stored dtype is float32, wanted int8");
}

TEST_CASE("a container that cannot allocate becomes a resource_limit") {
  const tensor_spec stored{dtype_kind::float32, {2, 3}};
  CHECK(detail::allocate_guarded(stored, [] {}));
#if ZARRPOINT_EXCEPTIONS
  const auto refused =
      detail::allocate_guarded(stored, [] { throw std::length_error("too long"); });
  CHECK(refused.failure().code == errc::resource_limit);
  CHECK(refused.failure().message == "cannot make float32[2, 3] (24 bytes): too long");
#endif
  bool called = false;
  const tensor_spec huge{dtype_kind::float32, {index_t{1} << 40, index_t{1} << 40}};
  CHECK(detail::allocate_guarded(huge, [&] { called = true; }).failure().code ==
        errc::out_of_range);
  CHECK(!called);
}

}  // namespace concepts_test
