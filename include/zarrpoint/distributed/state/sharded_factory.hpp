// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/state/state.hpp>

namespace zarrpoint { inline namespace v0 {

/// What a factory makes its state of.
template <class T>
struct factory_source {
  const std::string& key;
  const T& data;
  const replica_id& replica;
};

namespace detail {

template <class R>
concept state_result = std::same_as<R, state> || std::same_as<R, result<state>>;

template <class Build, class T>
concept factory_build = requires(const Build& build, const factory_source<T>& source) {
  { build(source) } -> state_result;
};

template <class Merge>
concept factory_merge = requires(const Merge& merge, state loaded) {
  { merge(std::move(loaded)) } -> state_result;
};

}  // namespace detail

/// A value that is stored in another form than the process holds it in. `build` makes the state
/// that is saved, or asked for, in its place. `merge` makes the value out of that state once it is
/// loaded. Both are pure: `build` sees the value as const and may be called again. It may get
/// another key or value, as when an optimizer maps its own tensors through the factories of the
/// model's. What `build` makes may hold factories. A handle: copies share the value.
class sharded_factory {
 public:
  /// `build(const factory_source<T>&)` and `merge(state)` return a `state` or a `result<state>`;
  /// neither may change what it captured.
  template <class T, class Build, class Merge>
  sharded_factory(std::string key, T data, Build how_to_build, Merge how_to_merge)
      : key_(std::move(key)), data_(std::in_place, std::move(data)) {
    static_assert(detail::factory_build<Build, T>,
                  "zarrpoint: the build function of a sharded_factory is called, const, with a "
                  "const factory_source<T>& of the data's type T and returns a state or a "
                  "result<state>");
    static_assert(detail::factory_merge<Merge>,
                  "zarrpoint: the merge function of a sharded_factory is called, const, with the "
                  "loaded state and returns a state or a result<state>");
    if constexpr (detail::factory_build<Build, T> && detail::factory_merge<Merge>) {
      const auto build_as = [build = std::move(how_to_build)](const sharded_factory& from) {
        const T* const value = from.data_ ? from.data_->get<T>() : nullptr;
        if (value == nullptr)
          return result<state>(from.failure("its value has another type than it was made for"));
        return result<state>(build(factory_source<T>{from.key_, *value, from.replica_}));
      };
      functions_ =
          detail::make_counted<const functions>(functions{build_as, std::move(how_to_merge)});
    }
  }

  const std::string& key() const noexcept { return key_; }
  const replica_id& replica() const noexcept { return replica_; }
  bool has_data() const noexcept { return data_.has_value(); }
  /// The value, if it is a `T`; null otherwise.
  template <class T>
  const T* get() const noexcept {
    return data_ ? data_->get<T>() : nullptr;
  }

  /// Errors: `invalid_argument` without a key.
  result<void> validate() const;

  /// What only `merge` is left of.
  sharded_factory without_data() const;
  sharded_factory with_key(std::string key) const;
  sharded_factory with_replica(replica_id replica) const;
  /// The same factory of another value. Errors: `invalid_argument` where it has one of another
  /// type.
  template <class T>
  result<sharded_factory> with_data(T data) const {
    local_only value(std::move(data));
    if (data_ && !data_->same_type(value)) return failure("its new value must be of the same type");
    sharded_factory out = *this;
    out.data_ = std::move(value);
    return out;
  }

  /// The state that is stored. Errors: `invalid_argument` without a value or with one of another
  /// type, and those of the function.
  result<state> build() const { return functions_->build(*this); }

  /// The value, of what was built and has been loaded since. Errors: those of the function.
  result<state> merge(state loaded) const {
    return functions_->merge(std::move(loaded)).at("factory \"" + key_ + "\"");
  }

 private:
  struct functions {
    std::function<result<state>(const sharded_factory&)> build;
    std::function<result<state>(state)> merge;
  };

  error failure(const char* what) const;

  std::string key_;
  replica_id replica_;
  std::optional<local_only> data_;
  std::shared_ptr<const functions> functions_;
};
static_assert(detail::sharded_leaf<sharded_factory>);

}}  // namespace zarrpoint::v0
