// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/handler/registry.hpp>
#include <zarrpoint/handler/types/blob.hpp>

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace registry_test {

using namespace zarrpoint;

namespace {

/// An n-dimensional array by structure: its rank is open.
template <class T>
struct grid {
  using value_type = T;
  std::vector<std::size_t> extents;
  std::vector<T> values;
  const std::vector<std::size_t>& shape() const { return extents; }
  T* data() { return values.data(); }
  const T* data() const { return values.data(); }
  void resize(const std::vector<std::size_t>& shape) {
    extents = shape;
    std::size_t count = 1;
    for (const std::size_t n : shape) count *= n;
    values.resize(count);
  }
};
/// The same with a fixed rank.
template <class T, std::size_t N>
struct ranked_grid {
  using value_type = T;
  std::array<std::size_t, N> extents{};
  std::vector<T> values;
  const std::array<std::size_t, N>& shape() const { return extents; }
  T* data() { return values.data(); }
  const T* data() const { return values.data(); }
  void resize(const std::array<std::size_t, N>& shape) {
    extents = shape;
    std::size_t count = 1;
    for (const std::size_t n : shape) count *= n;
    values.resize(count);
  }
};

enum class color : std::uint8_t { red, green };
enum class big : std::int64_t {};

/// Enumerations as their numbers: one handler for a family of types.
template <class E>
struct enum_handler {
  using number = std::underlying_type_t<E>;
  static constexpr std::string_view typestr = "enum";
  using space = host_space;
  static constexpr dtype type = dtype_of<number>;
  static tensor_spec spec(const E&) { return {type, {}}; }
  static host_view view(const E& value) {
    return {reinterpret_cast<const std::byte*>(&value), type, {}, {}, {}, {}};
  }
};

struct my_vector_handler : handler_of<std::vector<float>> {
  static constexpr std::string_view typestr = "mine";
};

/// Several leaves: handler/members.hpp, which names them, is not needed to look a type up.
struct halves {
  float low = 0;
  float high = 0;
};
struct halves_handler {
  static void members(halves&) {}
};
struct other_halves_handler {
  static constexpr bool is_group = true;
};

template <class T>
struct fits_nothing {};

using base = registry_of<float, std::int64_t, std::string, json_text, std::vector<float>,
                         grid<float>, grid<double>>;

/// The name of the type that `R` restores, by its position in the variant; 0 if there is none.
template <class R>
std::size_t restored(std::string_view typestr, const tensor_spec& stored) {
  const auto index = R::dispatch(typestr, stored, [](auto entry) -> result<std::size_t> {
    using type = typename decltype(entry)::type;
    return []<class... Ts>(std::type_identity<std::variant<Ts...>>) {
      std::size_t at = 0;
      std::size_t found = 0;
      ((std::is_same_v<Ts, type> ? found = at : 0, ++at), ...);
      return found;
    }(std::type_identity<typename R::value>{});
  });
  return index.value_or(0);
}
template <class R, class T>
bool restores_as(std::string_view typestr, const tensor_spec& stored) {
  return restored<R>(typestr, stored) == typename R::value(std::in_place_type<T>).index();
}

constexpr dtype f32 = dtype_kind::float32;
constexpr dtype f64 = dtype_kind::float64;

}  // namespace

TEST_CASE("look-up by type gives the handler of the entry") {
  static_assert(std::same_as<base::handler_for<float>, handler_of<float>>);
  static_assert(std::same_as<base::handler_for<const std::string&>, handler_of<std::string>>);
  static_assert(base::contains<json_text> && !base::contains<double> && !base::contains<int*>);
  static_assert(!savable<base> && !saving_handler<base::handler_for<double>, double>);
}

TEST_CASE("the variant holds each restored type once, after monostate") {
  static_assert(std::same_as<registry_of<float, std::string>::value,
                             std::variant<std::monostate, float, std::string>>);
  using twice = registry_of<float>::with<restore_type<"temperature", float>>;
  static_assert(std::same_as<twice::value, std::variant<std::monostate, float>>);
  static_assert(std::same_as<registry<>::value, std::variant<std::monostate>>);
  // What can only be saved is bound, but cannot be a value.
  using with_span = registry_of<std::span<const float>, float>;
  static_assert(with_span::contains<std::span<const float>>);
  static_assert(std::same_as<with_span::value, std::variant<std::monostate, float>>);
}

TEST_CASE("run-time dispatch goes by kind, dtype and rank; the first match wins") {
  CHECK(restores_as<base, float>("scalar", {f32, {}}));
  CHECK(restores_as<base, std::int64_t>("scalar", {dtype_kind::int64, {}}));
  CHECK(restores_as<base, std::string>("string", {dtype_kind::string, {}}));
  CHECK(restores_as<base, json_text>("json", {dtype_kind::uint8, {9}}));
  CHECK(restores_as<base, std::vector<float>>("array", {f32, {3}}));
  CHECK(restores_as<base, grid<float>>("array", {f32, {3, 4}}));
  CHECK(restores_as<base, grid<float>>("array", {f32, {}}));
  CHECK(restores_as<base, grid<double>>("array", {f64, {3}}));
}

TEST_CASE("arrays that others wrote have no kind and go by dtype and rank; never to a blob") {
  CHECK(restores_as<base, float>("", {f32, {}}));
  CHECK(restores_as<base, std::vector<float>>("", {f32, {3}}));
  CHECK(restores_as<base, grid<float>>("", {f32, {3, 4}}));
  CHECK(restored<base>("", {dtype_kind::uint8, {9}}) == 0);
}

TEST_CASE("names that others use for arrays are aliases") {
  CHECK(restores_as<base, grid<double>>("np.ndarray", {f64, {3, 4}}));
  CHECK(restores_as<base, std::vector<float>>("jax.Array", {f32, {3}}));
}

TEST_CASE("what no entry restores is an error that says so") {
  const auto refused =
      base::dispatch("array", {dtype_kind::int8, {2}}, [](auto) -> result<int> { return 1; });
  CHECK(refused.failure().code == errc::unsupported);
  CHECK(refused.failure().message ==
        "no entry of the registry restores int8[2] of kind \"array\"; add bind<T, Handler>, or "
        "restore_type<\"kind\", T>");
  const auto unknown = base::dispatch("mine", {f32, {2}}, [](auto) -> result<int> { return 1; });
  CHECK(unknown.failure().code == errc::unsupported);
}

TEST_CASE("types that differ in rank alone live in one registry") {
  using ranks = registry_of<ranked_grid<float, 1>, ranked_grid<float, 2>, grid<float>>;
  CHECK(restores_as<ranks, ranked_grid<float, 1>>("array", {f32, {3}}));
  CHECK(restores_as<ranks, ranked_grid<float, 2>>("array", {f32, {3, 4}}));
  CHECK(restores_as<ranks, grid<float>>("array", {f32, {3, 4, 5}}));
}

TEST_CASE("with replaces the entry of a type, for this registry alone") {
  using changed = base::with<bind<std::vector<float>, my_vector_handler>>;
  static_assert(std::same_as<changed::handler_for<std::vector<float>>, my_vector_handler>);
  static_assert(
      std::same_as<base::handler_for<std::vector<float>>, handler_of<std::vector<float>>>);
  CHECK(restores_as<changed, std::vector<float>>("mine", {f32, {3}}));
  CHECK(restores_as<changed, grid<float>>("array", {f32, {3}}));  // the old entry is gone
}

TEST_CASE("with adds, and drops what would never be chosen behind it") {
  using rows = base::with<bind<ranked_grid<float, 1>>>;
  CHECK(restores_as<rows, ranked_grid<float, 1>>("array", {f32, {3}}));
  static_assert(!rows::contains<std::vector<float>> && rows::contains<grid<float>>);
  using all = base::with<bind<tensor>>;  // any dtype, any rank
  static_assert(!all::contains<grid<float>> && !all::contains<grid<double>>);
  static_assert(all::contains<float> && all::contains<json_text>);
  CHECK(restores_as<all, tensor>("array", {dtype_kind::int8, {2, 2}}));
  using several = registry<>::with<bind<float>, bind<double>>::with<bind<int>>;
  static_assert(several::contains<float> && several::contains<double> && several::contains<int>);
}

TEST_CASE("the last entry may take all that the others left") {
  using types = registry_of<std::vector<float>, tensor>;
  CHECK(restores_as<types, std::vector<float>>("array", {f32, {3}}));
  CHECK(restores_as<types, tensor>("array", {f32, {3, 3}}));
  CHECK(restores_as<types, tensor>("array", {dtype_kind::string, {3}}));
}

TEST_CASE("restore_type names the C++ type for a stored kind, and look-up by type ignores it") {
  using types = base::with<restore_type<"np.ndarray", ranked_grid<float, 2>>>;
  CHECK(restores_as<types, ranked_grid<float, 2>>("np.ndarray", {f32, {3, 4}}));
  CHECK(restores_as<types, grid<float>>("array", {f32, {3, 4}}));
  static_assert(!types::contains<ranked_grid<float, 2>>);
  // The caller has named the type: other numbers are cast, text and other ranks are not.
  CHECK(restores_as<types, ranked_grid<float, 2>>("np.ndarray", {dtype_kind::int8, {3, 4}}));
  CHECK(restored<types>("np.ndarray", {dtype_kind::string, {3, 4}}) == 0);
  CHECK(restores_as<types, std::vector<float>>("np.ndarray", {f32, {3}}));
  using blobs = base::with<restore_type<"tokenizer", json_text>>;
  CHECK(restores_as<blobs, json_text>("tokenizer", {dtype_kind::uint8, {5}}));
}

TEST_CASE("a predicate binds a family of types, in its turn") {
  using types =
      registry<bind<big, enum_handler<big>>, bind_if<std::is_enum, enum_handler>, bind<float>>;
  static_assert(std::same_as<types::handler_for<color>, enum_handler<color>>);
  static_assert(types::contains<color> && types::contains<big> && !types::contains<int>);
  static_assert(saving_handler<types::handler_for<color>, color> && !savable<color>);
  static_assert(std::same_as<types::value, std::variant<std::monostate, float>>);
  using overridden = types::with<bind<color, enum_handler<color>>>;
  static_assert(overridden::contains<color> && overridden::contains<big>);
}

TEST_CASE("a value of several leaves is bound by its type, and is restored from no kind") {
  using types = registry<bind<halves, halves_handler>, bind<float>>;
  static_assert(types::contains<halves>);
  static_assert(std::same_as<types::value, std::variant<std::monostate, float>>);
  static_assert(std::same_as<detail::handler_in<halves, types>, halves_handler>);
  CHECK(restores_as<types, float>("scalar", {f32, {}}));
  CHECK(restored<types>("", {f64, {}}) == 0);
  // Another entry for the type takes its place; one for another type does not.
  using other = types::with<bind<halves, other_halves_handler>>;
  static_assert(std::same_as<other::handler_for<halves>, other_halves_handler>);
  using more = types::with<bind<double>>;
  static_assert(std::same_as<more::handler_for<halves>, halves_handler>);
}

TEST_CASE("the handler in a registry is its own, or the type's, for what it does not know") {
  using types = registry<bind<std::vector<float>, my_vector_handler>>;
  static_assert(
      std::same_as<detail::handler_in<const std::vector<float>&, types>, my_vector_handler>);
  static_assert(std::same_as<detail::handler_in<std::string, types>, handler_of<std::string>>);
  static_assert(std::same_as<detail::handler_in<int*, types>, handler_of<int*>>);
  // A predicate may hold of more than its handler fits.
  using all = registry<bind_if<std::is_floating_point, fits_nothing>>;
  static_assert(std::same_as<detail::handler_in<float, all>, handler_of<float>>);
}

TEST_CASE("a whole tree goes into a map of variants") {
  using value = base::value;
  const std::map<std::string, std::pair<std::string, tensor_spec>> tree{
      {"lr", {"scalar", {f32, {}}}}, {"w", {"array", {f32, {2, 3}}}}, {"b", {"", {f32, {3}}}}};
  std::map<std::string, value> loaded;
  for (const auto& [name, kind] : tree) {
    const tensor_spec& stored = kind.second;
    auto made = base::dispatch(kind.first, stored, [&](auto entry) -> result<value> {
      using type = typename decltype(entry)::type;
      using handler = typename decltype(entry)::handler;
      if constexpr (blob_handler<handler, type>) {
        ZARRPOINT_TRY(blob, handler::from_bytes({}));
        return value(std::move(blob));
      } else {
        ZARRPOINT_TRY(array, handler::make(stored, place<typename handler::space>{}));
        return value(std::move(array));
      }
    });
    loaded.emplace(name, std::move(made).value());
  }
  CHECK(std::holds_alternative<float>(loaded.at("lr")));
  CHECK(std::get<grid<float>>(loaded.at("w")).extents == std::vector<std::size_t>{2, 3});
  CHECK(std::get<std::vector<float>>(loaded.at("b")).size() == 3);
}

}  // namespace registry_test
