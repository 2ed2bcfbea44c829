// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/shard/local_only.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/distributed/shard/sharded_object.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// Places in a state, as text: keys and positions from the root on, joined by '/'. In a key '/' is
// written "~1" and '~' "~0" (RFC 6901); a key without characters is "~". The root is "".

/// How many maps and lists may lie within each other; a deeper state is refused with
/// `resource_limit`. The readers of JSON take 64, and a document around the state takes some of
/// them.
inline constexpr std::size_t max_state_depth = 56;

void append_step(std::string& path, std::string_view key);

void append_step(std::string& path, std::size_t position);

/// The key that a step of a path stands for; nothing for text that is not a step.
std::optional<std::string> key_of_step(std::string_view step);

/// The position that a step of a path stands for; nothing for what is not a number as we write
/// them.
std::optional<std::size_t> position_of_step(std::string_view step);

/// Takes the first step off a path that is not empty.
std::string_view take_step(std::string_view& path);

/// For an error message: keys may have been read from a file.
std::string quoted_path(std::string_view path);

/// Where a walk through a state is. One text serves the whole walk.
class state_place {
 public:
  const std::string& path() const noexcept { return path_; }

  error failure(errc code, std::string_view what) const;

  /// What `f()` returns, called one step, a key or a position, further down. Errors:
  /// `resource_limit` where that is too deep.
  template <class Step, class F>
  auto within(const Step& step, F&& f) -> decltype(f()) {
    if (depth_ == max_state_depth)
      return failure(errc::resource_limit,
                     "it is nested more than " + std::to_string(max_state_depth) + " levels deep");
    const std::size_t length = path_.size();
    append_step(path_, step);
    ++depth_;
    auto out = f();
    --depth_;
    path_.resize(length);
    return out;
  }

 private:
  std::string path_;
  std::size_t depth_ = 0;
};

}  // namespace detail

class sharded_factory;

static_assert(detail::sharded_leaf<sharded_tensor> && detail::sharded_leaf<sharded_object>);

/// What a `state` is.
enum class state_kind : std::uint8_t {
  hole,     ///< nothing: what is left where something was taken away
  value,    ///< null, a bool, a number or text, the same on all processes
  map,      ///< states by key
  list,     ///< states by position
  tensor,   ///< a `sharded_tensor`
  object,   ///< a `sharded_object`
  factory,  ///< a `sharded_factory`
  local,    ///< a `local_only`
};

/// `"sharded tensor"`.
constexpr std::string_view to_string(state_kind kind) noexcept {
  switch (kind) {
    case state_kind::hole: return "hole";
    case state_kind::value: return "value";
    case state_kind::map: return "map";
    case state_kind::list: return "list";
    case state_kind::tensor: return "sharded tensor";
    case state_kind::object: return "sharded object";
    case state_kind::factory: return "sharded factory";
    case state_kind::local: return "local value";
  }
  return "unknown";
}

namespace detail {

template <class T>
inline constexpr bool is_character =
    std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
    std::same_as<T, char16_t> || std::same_as<T, char32_t>;

/// Numbers and truth values that a common value holds exactly.
template <class T>
concept common_number =
    std::is_arithmetic_v<T> && !is_character<T> && !std::same_as<T, long double>;

}  // namespace detail

/// What one process brings to a checkpoint, or takes from it. It has maps and lists within each
/// other, and in them common values, sharded tensors and objects, factories of those, and local
/// values:
///
///     state{{"step", 1200}, {"layers", state::list{{{"w", w}}, {{"w", v}}}}, {"rng", object}}
///
/// A state is a value: a copy shares the elements of tensors (their leaves are handles) and nothing
/// else. Positions in a list are stable: what is taken away leaves a hole. An empty map is
/// `state::map{}`, an empty list `state::list{}`; `{}` is a hole.
///
/// Paths are keys and positions joined by '/': `"layers/0/w"`. In a key '/' is written `~1` and '~'
/// `~0` (RFC 6901), and an empty key is `~`; the path of the root is empty.
class state {
 public:
  struct member;
  using map = std::map<std::string, state, std::less<>>;
  using list = std::vector<state>;

  /// A hole. Special members are defined below, where `member` is complete.
  state();
  state(const state&);
  state(state&&) noexcept;
  state& operator=(const state&);
  state& operator=(state&&) noexcept;
  ~state();

  /// A map; of members with one key the first counts.
  state(std::initializer_list<member> members);
  state(map members) : held_(std::move(members)) {}
  state(list elements) : held_(std::move(elements)) {}

  // Common values.
  state(std::nullptr_t);
  state(const char* text);
  state(std::string text);
  state(std::string_view text);

  state(sharded_tensor tensor);
  template <class T, class Handler>
  state(const sharded<T, Handler>& tensor);  // NOLINT(google-explicit-constructor)
  state(sharded_object object);
  state(local_only value) : held_(std::move(value)) {}
  /// A number or a truth value; a factory. What else there is does not compile and says why.
  template <class T>
  state(const T& from);  // NOLINT(google-explicit-constructor)

  state_kind kind() const noexcept { return static_cast<state_kind>(held_.index()); }
  bool is_hole() const noexcept { return kind() == state_kind::hole; }
  bool is_container() const noexcept {
    return kind() == state_kind::map || kind() == state_kind::list;
  }

  /// The common value, which is not an array or object: those are lists and maps of the state.
  const json* if_value() const noexcept { return std::get_if<json>(&held_); }
  const map* if_map() const noexcept { return std::get_if<map>(&held_); }
  map* if_map() noexcept { return std::get_if<map>(&held_); }
  const list* if_list() const noexcept { return std::get_if<list>(&held_); }
  list* if_list() noexcept { return std::get_if<list>(&held_); }
  const sharded_tensor* if_tensor() const noexcept { return if_shared<sharded_tensor>(); }
  const sharded_object* if_object() const noexcept { return if_shared<sharded_object>(); }
  const sharded_factory* if_factory() const noexcept { return if_shared<sharded_factory>(); }
  const local_only* if_local() const noexcept { return std::get_if<local_only>(&held_); }

  /// What is at a path, or null. A hole is something.
  const state* find(std::string_view path) const;
  state* find(std::string_view path) { return const_cast<state*>(std::as_const(*this).find(path)); }

  /// What is at a path. Errors: `not_found` naming it.
  result<const state*> at(std::string_view path) const;

  /// The common value at a path: a bool, an integer, a floating-point number or a `std::string`.
  /// Errors: `not_found`, `dtype_mismatch` where it is something else, `out_of_range` for an
  /// integer that a `T` cannot hold.
  template <class T>
  result<T> get(std::string_view path = {}) const;

  /// Takes away what is at a path: a member of a map is gone, an element of a list, and the root,
  /// become holes. Whether there was something.
  bool erase(std::string_view path);

 private:
  template <class T>
  using shared = std::shared_ptr<const T>;

  template <class T>
  const T* if_shared() const noexcept {
    const auto* held = std::get_if<shared<T>>(&held_);
    return held != nullptr ? held->get() : nullptr;
  }

  const state* child(std::string_view step) const;

  // In the order of `state_kind`. Leaves are shared: their descriptions are large.
  std::variant<std::monostate, json, map, list, shared<sharded_tensor>, shared<sharded_object>,
               shared<sharded_factory>, local_only>
      held_;
};

/// One member of a map.
struct state::member {
  member(std::string name, state of) : key(std::move(name)), value(std::move(of)) {}

  std::string key;
  state value;
};

template <class T, class Handler>
state::state(const sharded<T, Handler>& tensor) : state(sharded_tensor(tensor)) {}

template <class T>
state::state(const T& from) {
  if constexpr (std::same_as<T, bool> || std::same_as<T, json>) {
    static_assert(
        !std::same_as<T, json>,
        "zarrpoint: a JSON value may hold whole documents; state_from_json makes a state of it");
    held_ = json(from);
  } else if constexpr (detail::common_number<T> && std::floating_point<T>) {
    held_ = json(static_cast<double>(from));
  } else if constexpr (detail::common_number<T> && std::is_signed_v<T>) {
    held_ = json(static_cast<std::int64_t>(from));
  } else if constexpr (detail::common_number<T>) {
    held_ = json(static_cast<std::uint64_t>(from));
  } else if constexpr (std::same_as<T, sharded_factory>) {
    held_ = detail::make_counted<const T>(from);
  } else {
    static_assert(detail::common_number<T>,
                  "zarrpoint: a state holds bools, numbers, text, state::map, state::list, "
                  "sharded<T>, sharded_object and sharded_factory; a tensor is stored as "
                  "shard(key, tensor), and what is not to be stored is local_only(value)");
  }
}

template <class T>
result<T> state::get(std::string_view path) const {
  static_assert(detail::common_number<T> || std::same_as<T, std::string>,
                "zarrpoint: a common value is a bool, a number or a std::string");
  ZARRPOINT_TRY(found, at(path));
  const auto refused = [&](errc code, std::string_view what) {
    return error{code, "state: what is at " + detail::quoted_path(path) + " " + std::string(what)};
  };
  const json* const value = found->if_value();
  if (value == nullptr)
    return refused(errc::dtype_mismatch, "is a " + std::string(to_string(found->kind())));
  if constexpr (std::same_as<T, std::string>) {
    if (const std::string* text = value->if_string()) return *text;
    return refused(errc::dtype_mismatch, "is not text");
  } else if constexpr (std::same_as<T, bool>) {
    if (const bool* truth = value->if_bool()) return *truth;
    return refused(errc::dtype_mismatch, "is not a truth value");
  } else if constexpr (std::floating_point<T>) {
    if (const auto number = value->to_double()) return static_cast<T>(*number);
    return refused(errc::dtype_mismatch, "is not a number");
  } else {
    if (!value->is_integer()) return refused(errc::dtype_mismatch, "is not an integer");
    if (const auto number = value->to_int64(); number && std::in_range<T>(*number))
      return static_cast<T>(*number);
    if (const auto number = value->to_uint64(); number && std::in_range<T>(*number))
      return static_cast<T>(*number);
    return refused(errc::out_of_range, "does not fit");
  }
}

}}  // namespace zarrpoint::v0
