// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Values that are several leaves, as they are loaded.

#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/handler/members.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <variant>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Loads the members of one value by the handlers of `Registry`, all together within
/// `limits::memory`.
template <class Registry>
class member_loader {
 public:
  member_loader(const checkpoint& from, const load_options& options)
      : account_(from.new_account()),
        from_(from.counting_in(account_)),
        options_(options),
        names_(from.names()) {
    const std::vector<std::string> groups = from.empty_groups();
    const auto leaves = static_cast<std::ptrdiff_t>(names_.size());
    names_.insert(names_.end(), groups.begin(), groups.end());
    std::inplace_merge(names_.begin(), names_.begin() + leaves, names_.end());
  }

  /// Loads the value at `name`, with rules that are checked once.
  template <class T>
  static result<T> load_at(const checkpoint& from, const std::string& name,
                           const load_options& options) {
    ZARRPOINT_TRY(each, from.options_of_each(options));
    return member_loader(from, each).template load<T>(name);
  }

 private:
  template <class T>
  result<T> load(const std::string& name) {
    using handler = handler_in<T, Registry>;
    if constexpr (!group_handler<handler, T>) {
      ZARRPOINT_CHECK(count<T>(name));
      return from_.template load_in<T, Registry>(name, options_);
    } else {
      T made{};
      ZARRPOINT_CHECK(fill_group(name, made));
      return made;
    }
  }

  template <class T>
  result<void> load_to(const std::string& name, T& target) {
    using handler = handler_in<T, Registry>;
    if constexpr (group_handler<handler, T>) {
      return fill_group(name, target);
    } else if constexpr (loading_handler<handler, T> || blob_handler<handler, T>) {
      ZARRPOINT_TRY(made, load<T>(name));
      target = std::move(made);
      return {};
    } else {
      ZARRPOINT_CHECK(count<T>(name));
      if constexpr (std::same_as<handler, handler_of<T>>) require_fillable<T&>();
      return from_.template load_into_by<handler, T>(name, target, options_);
    }
  }

  template <class T>
  result<void> fill_group(const std::string& name, T& target) {
    if constexpr (!requires { requires handler_in<T, Registry>::may_be_absent; })
      ZARRPOINT_CHECK(from_.check_group(name));
    return fill(name, target);
  }

  /// By the members that the type's own handler names.
  template <class T>
  result<void> fill(const std::string& name, T& target) {
    const auto list = members_of<handler_in<T, Registry>>(target);
    return load_each(name, list.names, list.values);
  }

  template <class T>
  result<void> fill(const std::string& name, std::optional<T>& target) {
    target.reset();
    if (!has(name)) return {};
    ZARRPOINT_TRY(made, load<T>(name));
    target.emplace(std::move(made));
    return {};
  }

  template <class... Ts>
  result<void> fill(const std::string& name, std::variant<Ts...>& target) {
    const std::string at = member_name(name, "index");
    ZARRPOINT_TRY(index, load<std::int64_t>(at));
    return alternative<0>(name, index, target);
  }
  template <std::size_t I, class... Ts>
  result<void> alternative(const std::string& name, std::int64_t index,
                           std::variant<Ts...>& target) {
    if constexpr (I == sizeof...(Ts)) {
      return error{errc::out_of_range, "load " + in_quotes(name) + ": the file has alternative " +
                                           std::to_string(index) + "; the variant has only " +
                                           std::to_string(I)};
    } else {
      using type = std::variant_alternative_t<I, std::variant<Ts...>>;
      if (index != static_cast<std::int64_t>(I)) return alternative<I + 1>(name, index, target);
      if constexpr (std::is_same_v<type, std::monostate>) {
        target.template emplace<I>();
      } else {
        ZARRPOINT_TRY(made, load<type>(member_name(name, "value")));
        target.template emplace<I>(std::move(made));
      }
      return {};
    }
  }

  template <class... Ts>
  result<void> fill(const std::string& name, std::tuple<Ts...>& target) {
    std::array<std::string, sizeof...(Ts)> numbers;
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::to_string(i);
    return load_each(name, numbers, target);
  }

  template <class T, class Allocator>
  result<void> fill(const std::string& name, std::vector<T, Allocator>& target) {
    target.clear();
    const std::size_t size = children(name).size();
    for (std::size_t i = 0; i < size; ++i) {
      ZARRPOINT_TRY(made, load<T>(member_name(name, std::to_string(i))));
      target.push_back(std::move(made));
    }
    return {};
  }

  template <class T, class Less, class Allocator>
  result<void> fill(const std::string& name, std::map<std::string, T, Less, Allocator>& target) {
    return fill_map(name, target);
  }
  template <class T, class Hash, class Equal, class Allocator>
  result<void> fill(const std::string& name,
                    std::unordered_map<std::string, T, Hash, Equal, Allocator>& target) {
    return fill_map(name, target);
  }
  template <class Map>
  result<void> fill_map(const std::string& name, Map& target) {
    target.clear();
    for (std::string& key : children(name)) {
      ZARRPOINT_TRY(made, load<typename Map::mapped_type>(member_name(name, key)));
      target.emplace(std::move(key), std::move(made));
    }
    return {};
  }

  template <class Names, class Values>
  result<void> load_each(const std::string& name, const Names& names, Values&& values) {
    return std::apply(
        [&](auto&... each) {
          std::size_t i = 0;
          result<void> done;
          static_cast<void>(((done = load_to(member_name(name, names[i++]), each)) && ...));
          return done;
        },
        values);
  }

  /// The first name in the group.
  auto first_in(const std::string& prefix) const {
    return std::lower_bound(names_.begin(), names_.end(), prefix);
  }
  bool has(const std::string& name) const {
    const std::string prefix = name.empty() ? name : name + "/";
    const auto at = first_in(prefix);
    return std::binary_search(names_.begin(), names_.end(), name) ||
           (at != names_.end() && at->starts_with(prefix));
  }
  /// What lies directly in the group.
  std::vector<std::string> children(const std::string& name) const {
    const std::string prefix = name.empty() ? name : name + "/";
    std::vector<std::string> out;
    for (auto at = first_in(prefix); at != names_.end() && at->starts_with(prefix); ++at) {
      const std::string_view rest = std::string_view(*at).substr(prefix.size());
      const std::string_view child = rest.substr(0, rest.find('/'));
      if (out.empty() || out.back() != child) out.emplace_back(child);
    }
    return out;
  }

  /// Counts what is made of a leaf against the budget. What is wrong with it is the load's to say.
  template <class T>
  result<void> count(const std::string& name) {
    if (from_.how().limit.memory == SIZE_MAX) return {};
    const auto made = from_.template made_spec<T, handler_in<T, Registry>>(name, options_);
    if (!made) return {};
    ZARRPOINT_TRY(bytes, byte_count(made->shape, memory_size(made->type)));
    if (!account_.charge(bytes))
      return error{errc::resource_limit, "load " + in_quotes(name) +
                                             ": the members up to it have more bytes than "
                                             "limits::memory of " +
                                             std::to_string(from_.how().limit.memory)};
    return {};
  }

  scratch_account account_;
  const checkpoint from_;
  const load_options& options_;
  std::vector<std::string> names_;  // of the leaves, and of the groups without; sorted
};

template <class T, class Registry>
result<T> load_members(const checkpoint& from, std::string_view name, const load_options& options) {
  return member_loader<Registry>::template load_at<T>(from, std::string(name), options);
}

}}}  // namespace zarrpoint::v0::detail
