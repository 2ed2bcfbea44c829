// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/orbax_save/orbax_extra_items.hpp>
#include <zarrpoint/interop/orbax_save/orbax_plan.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/stored_place.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

namespace detail {

/// The files of a small tree of Zarr v2 in directories.
class small_tree {
 public:
  small_tree(std::string above, std::vector<extra_file>& to) : above_(std::move(above)), to_(to) {}

  template <class T>
  void add(const std::string& name, const char* value_type, const dims& shape,
           const std::vector<T>& elements) {
    constexpr const char* type = std::is_same_v<T, double>          ? "<f8"
                                 : std::is_same_v<T, std::uint32_t> ? "<u4"
                                                                    : "<i8";
    node::array extents;
    for (const index_t extent : shape) extents.emplace_back(extent);
    add_file(name + "/.zarray", as_bytes(dump_json(node::object{{"chunks", extents},
                                                                {"compressor", node()},
                                                                {"dimension_separator", "."},
                                                                {"dtype", type},
                                                                {"fill_value", node()},
                                                                {"filters", node()},
                                                                {"order", "C"},
                                                                {"shape", extents},
                                                                {"zarr_format", 2}})));
    std::string chunk = name + "/0";
    for (std::size_t axis = 1; axis < shape.rank(); ++axis) chunk += ".0";
    std::vector<std::byte> bytes(elements.size() * sizeof(T));
    using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    for (std::size_t i = 0; i < elements.size(); ++i)
      store_le<bits>(bytes.data() + i * sizeof(T), std::bit_cast<bits>(elements[i]));
    add_file(chunk, bytes);
    add_leaf(name, value_type);
  }

  void add_text(const std::string& name, const std::string& text) {
    add_file("_strings.json", as_bytes(dump_json(node::object{{name, text}})));
    add_leaf(name, "string");
  }

  void finish() {
    add_file("_METADATA",
             as_bytes(dump_json(node::object{{"tree_metadata", std::move(leaves_)},
                                             {"use_ocdbt", false},
                                             {"use_zarr3", false},
                                             {"store_array_data_equal_to_fill_value", true},
                                             {"custom_metadata", node()}})));
  }

 private:
  void add_file(const std::string& name, bytes_view bytes) {
    to_.push_back({above_ + '/' + name, {bytes.begin(), bytes.end()}});
  }

  void add_leaf(const std::string& name, const char* value_type) {
    const int kind = name.find_first_not_of("0123456789") == name.npos ? 1 : 2;
    leaves_.push_back(
        {"('" + name + "',)",
         node::object{
             {"key_metadata", node::array{node::object{{"key", name}, {"key_type", kind}}}},
             {"value_metadata",
              node::object{{"value_type", value_type}, {"skip_deserialize", false}}}}});
  }

  std::string above_;
  std::vector<extra_file>& to_;
  node::object leaves_;
};

ZARRPOINT_INLINE void add_json(std::string path, const node& value, std::vector<extra_file>& to) {
  const std::string text = dump_json(value);
  const bytes_view bytes = as_bytes(text);
  to.push_back({std::move(path), {bytes.begin(), bytes.end()}});
}

ZARRPOINT_INLINE result<void> check_extras(const save_tree_options& options) {
  const extra_items& extras = options.extras;
  const bool has_keys = !extras.jax_keys.empty() || !extras.numpy_states.empty();
  if (extras.json.empty() && !has_keys) return {};
  if (options.item.empty())
    return bad_tree("items beside the tree need a step, or an item that the tree is");
  if (has_keys && options.handler == tree_handler::v1)
    return bad_tree("Orbax's v1 API has no items of random keys: save them as leaves of the tree");
  std::set<std::string_view> names{options.item};
  const auto check = [&](const std::string& name) -> result<void> {
    ZARRPOINT_CHECK(check_item_name(name));
    if (names.insert(name).second) return {};
    return bad_tree("two items have the name " + v0::detail::in_quotes(name));
  };
  for (const auto& [name, value] : extras.json) ZARRPOINT_CHECK(check(name));
  for (const auto& [name, key] : extras.jax_keys) {
    ZARRPOINT_CHECK(check(name));
    const auto count = element_count(key.shape);
    const bool fits =
        key.shape.rank() == 0 || (count && *count == static_cast<index_t>(key.data.size()));
    if (key.data.empty() || !fits)
      return bad_tree("the random key " + v0::detail::in_quotes(name) +
                      " has no data, or not as many as its shape says");
  }
  for (const auto& [name, state] : extras.numpy_states) {
    ZARRPOINT_CHECK(check(name));
    if (state.key.size() != 624)
      return bad_tree("the state of NumPy's generator " + v0::detail::in_quotes(name) + " has " +
                      std::to_string(state.key.size()) + " numbers, and MT19937 has 624");
  }
  return {};
}

ZARRPOINT_INLINE result<std::vector<extra_file>> extra_files(const save_tree_options& options) {
  ZARRPOINT_CHECK(check_extras(options));
  std::vector<extra_file> out;
  const char* const json_file = options.handler == tree_handler::v1 ? "/data.json" : "/metadata";
  for (const auto& [name, value] : options.extras.json) add_json(name + json_file, value, out);
  for (const auto& [name, key] : options.extras.jax_keys) {
    const std::string above = name + "/jax_random_key";
    small_tree tree(above, out);
    const dims shape =
        key.shape.rank() == 0 ? dims{static_cast<index_t>(key.data.size())} : key.shape;
    tree.add("checkpoint", "np.ndarray", shape, key.data);
    tree.finish();
    add_json(above + "_metadata/metadata", node::object{{"typed", key.is_typed}}, out);
  }
  for (const auto& [name, state] : options.extras.numpy_states) {
    const std::string above = name + "/np_random_key";
    small_tree tree(above, out);
    tree.add_text("0", "MT19937");
    tree.add("1", "np.ndarray", dims{624}, state.key);
    tree.add("2", "scalar", dims{}, std::vector<std::int64_t>{state.position});
    tree.add("3", "scalar", dims{}, std::vector<std::int64_t>{state.has_gauss ? 1 : 0});
    tree.add("4", "scalar", dims{}, std::vector<double>{state.gauss});
    tree.finish();
    add_json(above + "_metadata/metadata", node::object{{"legacy", true}}, out);
  }
  return out;
}

ZARRPOINT_INLINE std::vector<extra_handler> extra_handlers(const save_tree_options& options) {
  const std::string module = "orbax.checkpoint._src.handlers.";
  std::vector<extra_handler> out;
  out.reserve(options.extras.json.size());
  for (const auto& [name, value] : options.extras.json)
    out.push_back(
        {name, options.handler == tree_handler::v1
                   ? "orbax.checkpoint.experimental.v1._src.handlers.json_handler.JsonHandler"
                   : module + "json_checkpoint_handler.JsonCheckpointHandler"});
  for (const auto& [name, key] : options.extras.jax_keys)
    out.push_back({name, module + "random_key_checkpoint_handler.JaxRandomKeyCheckpointHandler"});
  for (const auto& [name, state] : options.extras.numpy_states)
    out.push_back({name, module + "random_key_checkpoint_handler.NumpyRandomKeyCheckpointHandler"});
  return out;
}

}  // namespace detail

ZARRPOINT_INLINE result<void> save_root_metadata(const location& root, const node& custom,
                                                 const context& how) {
  return guarded([&]() -> result<void> {
    if (!custom.is_null() && custom.if_object() == nullptr)
      return detail::bad_tree("the metadata of a root must be an object");
    ZARRPOINT_TRY(target, v0::detail::location_access::to_write(root, true, how.stores));
    ZARRPOINT_TRY(key, target.key.child("metadata/_ROOT_METADATA"));
    const node members = custom.is_null() ? node(node::object{}) : custom;
    return target.store.put(key,
                            as_bytes(dump_json(node::object{{"internal_metadata", node::object{}},
                                                            {"custom_metadata", members}})));
  });
}

}}}  // namespace zarrpoint::v0::orbax
