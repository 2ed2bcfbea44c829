// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/state/sharded_factory.hpp>

#include <span>

// The state of an optimizer, sharded as the parameters are that it belongs to.

namespace zarrpoint { inline namespace v0 {

/// The parameters of a model by the numbers that an optimizer has for them. Each is a sharded
/// tensor, or a factory that builds such.
class sharded_parameters {
 public:
  /// The leaves of a model's state at these paths, numbered in their order. Errors: `not_found` for
  /// a path where nothing is, and those of `add`.
  static result<sharded_parameters> of_model(const state& model,
                                             std::span<const std::string> paths);

  /// Errors: `invalid_argument` for a number that is taken, and for what is neither a sharded
  /// tensor nor a factory.
  result<void> add(index_t id, state parameter);

  /// Errors: `not_found` for a number that no parameter has.
  result<const state*> at(index_t id) const;

  std::size_t size() const noexcept { return by_id_.size(); }

 private:
  std::map<index_t, state> by_id_;
};

/// What the state named `name` of a parameter's optimizer is stored under:
/// `"optimizer.state.exp_avg.decoder.weight"`.
std::string optimizer_key(std::string_view name, std::string_view parameter_key);

namespace detail {

result<void> check_optimizer_value(const shard_metadata& shard, const tensor_spec& value);

/// `make(shard_metadata)` gives the `sharded<T>`, which takes the place of the parameter.
template <class T, class Make>
result<state> in_place_of(const state& parameter, std::string_view name, const Make& make) {
  if (const sharded_tensor* tensor = parameter.if_tensor()) {
    shard_metadata shard = tensor->metadata();
    shard.key = optimizer_key(name, tensor->key());
    ZARRPOINT_TRY(made, make(std::move(shard)));
    return state(made);
  }
  const sharded_factory* factory = parameter.if_factory();
  if (factory == nullptr)
    return error{errc::invalid_argument, "a parameter is a sharded tensor or a factory, not a " +
                                             std::string(to_string(parameter.kind()))};
  const sharded<T>* of = factory->get<sharded<T>>();
  if (of == nullptr)
    return error{errc::invalid_argument, "factory \"" + factory->key() +
                                             "\" has a value of another type than the optimizer's"};
  shard_metadata shard = of->metadata();
  shard.key = optimizer_key(name, factory->key());
  const std::string key = shard.key;
  ZARRPOINT_TRY(made, make(std::move(shard)));
  ZARRPOINT_TRY(out, factory->with_data(std::move(made)));
  return state(out.with_key(key));
}

}  // namespace detail

/// A tensor of an optimizer's state, sharded as its parameter is but of its own dtype: for an
/// element of every element of the parameter, `value` under `optimizer_key(name, key)`. An lvalue
/// is borrowed and must outlive the result; of a view (`std::span`, a `tensor_view`) the view is
/// copied, and what it views must live; an rvalue is kept. Of a parameter that is a factory it is
/// that factory, for `value`. That must be of the same type as the parameter's value (so a
/// `tensor`, if the dtypes differ).
///
/// Errors: `shape_mismatch` for a value without the parameter's local shape,
/// `invalid_argument`.
template <class T>
result<state> optimizer_tensor(const state& parameter, std::string_view name, T&& value) {
  using value_type = std::remove_reference_t<T>;
  const auto make = [&](shard_metadata shard) -> result<sharded<value_type>> {
    ZARRPOINT_TRY(spec, detail::spec_of_local<handler_of<value_type>>(value, shard));
    ZARRPOINT_CHECK(detail::check_optimizer_value(shard, spec));
    shard.type = spec.type;
    return detail::hold_shard<handler_of<T>>(std::move(shard), std::forward<T>(value));
  };
  return detail::in_place_of<value_type>(parameter, name, make);
}

/// The same without a value: what to load. Errors: `invalid_argument`.
template <class T = tensor>
result<state> optimizer_request(const state& parameter, std::string_view name, const dtype& type) {
  const auto make = [&](shard_metadata shard) {
    shard.type = type;
    return sharded<T>::request(std::move(shard));
  };
  return detail::in_place_of<T>(parameter, name, make);
}

/// Builds the state of an optimizer, to save or to ask for:
///
///     {"state": {"0": {"exp_avg": tensor, ...}, ...}, "param_groups": [{..., "params": local},
///     ...]}
///
/// The names of states are the optimizer's own. What a group says of itself is common to all
/// processes; which parameters it has, by number, is of each process alone, and never stored.
class optimizer_state {
 public:
  explicit optimizer_state(sharded_parameters of) : parameters_(std::move(of)) {}

  /// Errors: `not_found` for a number that no parameter has, `invalid_argument` for a state that is
  /// there already, those of `optimizer_tensor`.
  template <class T>
  result<void> add(index_t id, const std::string& name, T&& value) {
    ZARRPOINT_TRY(parameter, parameters_.at(id));
    ZARRPOINT_TRY(made, optimizer_tensor(*parameter, name, std::forward<T>(value)));
    return put(id, name, std::move(made));
  }
  /// Without a value: what to load. Errors: the same.
  template <class T = tensor>
  result<void> request(index_t id, const std::string& name, const dtype& type) {
    ZARRPOINT_TRY(parameter, parameters_.at(id));
    ZARRPOINT_TRY(made, optimizer_request<T>(*parameter, name, type));
    return put(id, name, std::move(made));
  }

  /// A group of parameters: its learning rate and the like, and their numbers. Errors: `not_found`
  /// for a number that no parameter has, `invalid_argument` for an option named `params`.
  result<void> add_group(state::map options, std::vector<index_t> parameters);

  state tree() const { return state{{"state", states_}, {"param_groups", groups_}}; }

 private:
  result<void> put(index_t id, const std::string& name, state made);

  sharded_parameters parameters_;
  state::map states_;
  state::list groups_;
};

/// One process's share of a bucket: of the elements of many parameters one after another, which
/// are divided evenly.
struct bucket_share {
  index_t elements = 0;  ///< of the bucket, without padding
  index_t rank = 0;
  index_t ranks = 1;
  index_t multiple = 1;  ///< what the length of a share must be a multiple of
};

/// The shard of a bucket that a process has. The bucket is padded until it can be divided. The
/// padding depends on the number of processes, so the stored one may be of another length: what it
/// lacks is zero after a load. Errors: `invalid_argument`, `out_of_range`.
result<shard_metadata> bucket_shard(std::string key, const dtype& type, const bucket_share& share);

}}  // namespace zarrpoint::v0
