// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/load/load_into_all.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/handler/default_types.hpp>
#include <zarrpoint/memory/device/device_space.hpp>

#include <map>
#include <tuple>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Tells whether values by this handler take the memory of the host.
template <class T, class Handler>
consteval bool lives_on_host() {
  if constexpr (blob_handler<Handler, T>) {
    return true;
  } else {
    return Handler::space::host_accessible;
  }
}

/// Counts all leaves that come to the host against `limits::memory`; nothing is read but metadata.
template <class Registry>
result<void> charge_all(const checkpoint& from, scratch_account& to) {
  const std::size_t limit = from.how().limit.memory;
  if (limit == SIZE_MAX) return {};
  for (const std::string& name : from.names()) {
    ZARRPOINT_TRY(known, from.metadata(name));
    const auto host = Registry::dispatch(known.typestr, known.spec, [](auto entry) -> result<bool> {
      return lives_on_host<typename decltype(entry)::type, typename decltype(entry)::handler>();
    });
    if (!host.value_or(true)) continue;
    ZARRPOINT_TRY(bytes, byte_count(known.spec.shape, memory_size(known.spec.type)));
    if (!to.charge(bytes))
      return error{errc::resource_limit, "load all: the leaves up to " + in_quotes(name) +
                                             " have more bytes than limits::memory of " +
                                             std::to_string(limit)};
  }
  return {};
}

/// One `load_all`. What comes to the host is loaded leaf by leaf; values on devices are made first,
/// and filled together.
template <class Registry, class... Spaces>
class all_loader {
 public:
  using value = typename Registry::value;

  all_loader(const checkpoint& from, const load_options& options, const place<Spaces>&... where)
      : account_(checkpoint_access::account_of(from)),
        from_(checkpoint_access::counting_in(from, account_)),
        options_(options),
        where_(where...) {}

  result<std::map<std::string, value>> run() {
    ZARRPOINT_TRY(each, checkpoint_access::options_of_each(from_, options_));
    options_ = std::move(each);
    ZARRPOINT_CHECK(charge_all<Registry>(from_, account_));
    const std::vector<std::string> names = from_.names();
    values_.resize(names.size());
    later_.resize(names.size());
    std::vector<char> begun(names.size());
    memory_bound_for leaves(from_.how().executor, names.size(), {.stop = from_.how().stop});
    ZARRPOINT_CHECK(leaves.run(
        [&](std::size_t i) -> result<void> {
          if (begun[i] == 0) ZARRPOINT_CHECK(begin(names[i], i));
          begun[i] = 1;
          return {};
        },
        [&](std::size_t refused) {
          drop_idle_scratch(from_.how());
          return refused;
        }));
    std::vector<const bound_target*> targets;
    for (const bound_target& one : later_) {
      if (one.table != nullptr) targets.push_back(&one);
    }
    ZARRPOINT_CHECK(load_targets(from_, targets, options_));
    std::map<std::string, value> out;
    for (std::size_t i = 0; i < names.size(); ++i)
      out.emplace_hint(out.end(), names[i], std::move(values_[i]));
    return out;
  }

 private:
  result<void> begin(const std::string& name, std::size_t i) {
    return checkpoint_access::with_array(
        from_, name, options_, [&](const auto& leaf, const array& source, const tensor_spec& spec) {
          return Registry::dispatch(
              checkpoint_access::kind_of(leaf), spec, [&](auto entry) -> result<void> {
                using type = typename decltype(entry)::type;
                using handler = typename decltype(entry)::handler;
                load_options by = options_;
                if constexpr (entry_traits<decltype(entry)>::casts) by.cast = true;
                if constexpr (blob_handler<handler, type>) {
                  ZARRPOINT_TRY(made,
                                (checkpoint_access::load<type, handler>(from_, leaf, source, by)));
                  values_[i].template emplace<type>(std::move(made));
                } else if constexpr (handler::space::host_accessible) {
                  auto where = place_in<typename handler::space>();
                  if constexpr (std::is_same_v<type, tensor> &&
                                std::is_same_v<typename handler::space, host_space>)
                    pack(spec, where);
                  ZARRPOINT_TRY(made, (checkpoint_access::load<type, handler>(from_, leaf, source,
                                                                              by, where)));
                  values_[i].template emplace<type>(std::move(made));
                } else {
                  ZARRPOINT_TRY(wanted, (checkpoint_access::wanted_by<handler>(leaf, source, by)));
                  ZARRPOINT_TRY(made, (checkpoint_access::make<type, handler>(
                                          from_, wanted, place_in<typename handler::space>())));
                  type& kept = values_[i].template emplace<type>(std::move(made));
                  later_[i] = {name, &target_functions<type, handler>::table, &kept, by.cast};
                }
                return {};
              });
        });
  }

  /// The place that the caller gave for a memory space, or the default one.
  template <class Space>
  place<Space> place_in() const {
    if constexpr ((std::is_same_v<Space, Spaces> || ...)) {
      return std::get<place<Space>>(where_);
    } else {
      return {};
    }
  }

  /// Tensors lie side by side where nobody says from where, and how much, memory is to be.
  void pack(const tensor_spec& spec, place<host_space>& where) {
    const context& how = from_.how();
    if (where.resource != nullptr || how.resource != nullptr || how.limit.memory != SIZE_MAX)
      return;
    const auto bytes = byte_count(spec.shape, memory_size(spec.type));
    where.resource = &packed_.resource_for(bytes.value_or(0));
  }

  scratch_account account_;
  const checkpoint from_;
  load_options options_;
  packed_memory packed_;
  std::tuple<place<Spaces>...> where_;
  std::vector<value> values_;
  std::vector<bound_target> later_;  // without a table for what is loaded already
};

/// The first memory space on a device in which an entry of a registry makes values, or the host's.
template <class Registry>
struct placed_space;
template <>
struct placed_space<registry<>> {
  using type = host_space;
};
template <class Entry, class... More>
struct placed_space<registry<Entry, More...>> : placed_space<registry<More...>> {};
template <class Entry, class... More>
  requires(device_space<typename Entry::handler::space>)
struct placed_space<registry<Entry, More...>> {
  using type = typename Entry::handler::space;
};

}  // namespace detail

/// Every leaf of a checkpoint, as the type that `Registry` gives for its stored kind and dtype: a
/// map from names to variants. Leaves are loaded in parallel; values in memory spaces of `where`
/// are made in these places, and what goes to devices is there when this returns. Errors:
/// `resource_limit` before any is loaded when all that come to the host exceed `limits::memory`;
/// then the first by name, those of `checkpoint::load`, and `unsupported` for a leaf that no entry
/// of the registry restores.
template <class Registry = default_types, class... Spaces>
  requires(sizeof...(Spaces) != 1 ||
           !(std::is_same_v<Spaces, typename detail::placed_space<Registry>::type> && ...))
result<std::map<std::string, typename Registry::value>> load_all(const checkpoint& from,
                                                                 const load_options& options = {},
                                                                 const place<Spaces>&... where) {
  return guarded(
      [&] { return detail::all_loader<Registry, Spaces...>(from, options, where...).run(); });
}

/// Loads all to one place, which may be in braces, such as `{.space = stream.space()}`. That is on
/// the device for which the registry has a type, or on the host when it has none.
template <class Registry = default_types>
result<std::map<std::string, typename Registry::value>> load_all(
    const checkpoint& from, const load_options& options,
    const place<typename detail::placed_space<Registry>::type>& where) {
  using space = typename detail::placed_space<Registry>::type;
  return guarded([&] { return detail::all_loader<Registry, space>(from, options, where).run(); });
}

}}  // namespace zarrpoint::v0
