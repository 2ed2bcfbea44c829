// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/hierarchy/made_hierarchy.hpp>
#include <zarrpoint/interop/torch/document_keys.hpp>
#include <zarrpoint/interop/torch/torch_document.hpp>
#include <zarrpoint/interop/torch/torch_store.hpp>
#include <zarrpoint/interop/torch/torch_tensor.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/base/memory_blob.hpp>
#include <zarrpoint/store/base/range_blob.hpp>
#include <zarrpoint/store/place.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace torch {

namespace detail {

/// The elements of a tensor as an object: where they lie, or a copy.
ZARRPOINT_INLINE result<std::unique_ptr<blob>> open_elements(const file& from,
                                                             const tensor_info& of,
                                                             std::string name) {
  ZARRPOINT_TRY(bytes, byte_count(of.spec));
  const dims packed = row_major_strides(of.spec.shape, of.spec.type.size());
  bool is_packed = !of.signs.any();
  for (std::size_t d = 0; d < packed.rank(); ++d)
    is_packed = is_packed && (of.spec.shape[d] == 1 || of.strides[d] == packed[d]);
  if (is_packed) {
    ZARRPOINT_TRY(storage, from.storage(of));
    auto whole = v0::detail::make_counted<const v0::detail::container_file>(std::move(storage));
    return v0::detail::make_owned<blob, v0::detail::range_blob>(std::move(whole), of.offset, bytes,
                                                                std::move(name));
  }
  // An expanded tensor may be any number of times what its storage is.
  constexpr std::uint64_t most_beyond = std::uint64_t{256} << 20;
  if (bytes > of.storage_bytes && bytes - of.storage_bytes > most_beyond)
    return error{errc::resource_limit, name + ": it takes " + std::to_string(bytes) +
                                           " bytes, and is spread over a storage of " +
                                           std::to_string(of.storage_bytes)};
  ZARRPOINT_TRY(copy, tensor::make(of.spec));
  ZARRPOINT_CHECK(from.read(of, copy.mutable_view()));
  const auto shared = v0::detail::make_counted<const tensor>(std::move(copy));
  const bytes_view elements(shared->view().data, static_cast<std::size_t>(bytes));
  return v0::detail::make_owned<blob, v0::detail::memory_blob>(mapping(elements, shared),
                                                               std::move(name));
}

/// Puts what a file holds into a hierarchy.
class archive_walk {
 public:
  archive_walk(std::shared_ptr<const file> from, v0::detail::made_hierarchy& to)
      : from_(std::move(from)), to_(to) {}

  result<void> run() {
    const pickle_value root = from_->root();
    return is_container(root) && holds_tensor(root, 0) ? children(root, "", 0)
                                                       : place(root, "value", 0);
  }

 private:
  static constexpr std::size_t max_depth = 48;
  static constexpr std::size_t max_values = std::size_t{1} << 20;

  /// A dict, or a list, whose members are others' in a hierarchy.
  static bool is_dict(const pickle_value& value) {
    return value.kind() == pickle_kind::dict || value.is_call_of("collections", "OrderedDict") ||
           value.is_call_of("collections", "defaultdict");
  }
  static bool is_container(const pickle_value& value) {
    return is_dict(value) || value.kind() == pickle_kind::list ||
           value.kind() == pickle_kind::tuple;
  }

  /// Whether one is a tensor; also where it is too deep to tell, which `place` then refuses.
  bool holds_tensor(const pickle_value& value, std::size_t depth) {
    if (is_tensor(value) || depth > max_depth || ++seen_ > 16 * max_values) return true;
    if (!is_container(value)) return false;
    const bool is_list = !is_dict(value);
    const std::size_t count = is_list ? value.element_count() : value.member_count();
    for (std::size_t i = 0; i < count; ++i)
      if (holds_tensor(is_list ? value.element(i) : value.member(i), depth + 1)) return true;
    return false;
  }

  result<void> children(const pickle_value& of, const std::string& above, std::size_t depth) {
    if (!is_dict(of)) {
      for (std::size_t i = 0; i < of.element_count(); ++i)
        ZARRPOINT_CHECK(place(of.element(i), above + std::to_string(i), depth + 1));
      return {};
    }
    ZARRPOINT_TRY(keys, document_keys::of(of, budget_));
    if (!keys.are_text)
      return error{errc::unsupported, "a dict has keys that are neither text nor numbers"};
    for (std::size_t i = 0; i < keys.texts.size(); ++i)
      ZARRPOINT_CHECK(place(of.member(keys.members[i]), above + keys.texts[i], depth + 1));
    return {};
  }

  result<void> place(const pickle_value& value, const std::string& name, std::size_t depth) {
    if (depth > max_depth || ++placed_ > max_values || seen_ > 16 * max_values)
      return error{errc::resource_limit, "what it holds is nested too deep, or is too much"};
    if (is_tensor(value)) {
      const auto info = from_->tensor(value);
      if (info) return add_tensor(*info, name);
      if (info.failure().code != errc::unsupported)
        return error(info.failure()).at("the tensor " + v0::detail::in_quotes(name));
    } else if (is_container(value) && holds_tensor(value, depth)) {
      return children(value, name + '/', depth);
    }
    return add_value(value, name);
  }

  result<void> add_tensor(const tensor_info& of, const std::string& name) {
    return to_.add(name, v0::detail::raw_array(of.spec), [from = from_, of](std::string called) {
      return open_elements(*from, of, called);
    });
  }

  template <class T>
  result<void> add_number(T value, const std::string& name) {
    const bytes_view bytes = std::as_bytes(std::span<const T, 1>(&value, 1));
    array_metadata as = v0::detail::raw_array({dtype_of<T>, {}});
    as.attributes.set("python_type", std::is_same_v<T, bool>     ? "bool"
                                     : std::is_same_v<T, double> ? "float"
                                                                 : "int");
    return to_.add(name, as, std::vector<std::byte>(bytes.begin(), bytes.end()));
  }

  result<void> add_text(std::string_view text, const std::string& name, bool is_json) {
    ZARRPOINT_CHECK(budget_.charge(text.size()));  // one may be there any number of times
    ZARRPOINT_TRY(made, v0::detail::array_of_texts({}, {text}));
    if (is_json) made.metadata.attributes.set("content_type", "application/json");
    return to_.add(name, made.metadata, std::move(made.chunk));
  }

  result<void> add_value(const pickle_value& value, const std::string& name) {
    if (const auto truth = value.to_bool()) return add_number(*truth, name);
    if (const auto number = value.to_int64()) return add_number(*number, name);
    if (const auto number = value.to_uint64()) return add_number(*number, name);
    if (const auto number = value.to_double()) return add_number(*number, name);
    if (const std::string* const text = value.if_string()) return add_text(*text, name, false);
    pickle_node_limits left = budget_.limits;
    left.max_values -= std::min(left.max_values, budget_.values);
    left.max_text -= std::min(left.max_text, budget_.text);
    ZARRPOINT_TRY(document, pickle_to_document(value, left, from_.get())
                                .at("the value " + v0::detail::in_quotes(name)));
    budget_.values += count(document);
    return add_text(dump_json(document), name, true);
  }

  static std::size_t count(const node& of) {
    std::size_t out = 1;
    if (const node::array* const list = of.if_array())
      for (const node& one : *list) out += count(one);
    if (const node::object* const members = of.if_object())
      for (const node::member& one : *members) out += count(one.value);
    return out;
  }

  std::shared_ptr<const file> from_;
  v0::detail::made_hierarchy& to_;
  document_budget budget_{{.max_depth = max_depth}};  ///< of all values that are not tensors
  std::size_t seen_ = 0;
  std::size_t placed_ = 0;
};

}  // namespace detail

struct archive_store::state {
  v0::detail::made_hierarchy tree;
  std::string name;
};

ZARRPOINT_INLINE result<archive_store> archive_store::open(any_store base, store_key at,
                                                           const pickle_limits& limits) {
  const std::string name = base.describe(at);
  ZARRPOINT_TRY(from, base.open(at));
  if (from == nullptr) return error{errc::not_found, "open " + name + ": there is no such file"};
  return open(std::move(from), limits);
}

ZARRPOINT_INLINE result<archive_store> archive_store::open(std::unique_ptr<blob> from,
                                                           const pickle_limits& limits) {
  const std::string name = from->name();
  return guarded([&]() -> result<archive_store> {
    ZARRPOINT_TRY(opened, torch::open(std::move(from), limits));
    const auto out = v0::detail::make_counted<state>();
    out->name = name;
    detail::archive_walk walk(v0::detail::make_counted<const file>(std::move(opened)), out->tree);
    ZARRPOINT_CHECK(walk.run().at("open " + name));
    ZARRPOINT_CHECK(out->tree.finish({}).at("open " + name));
    return archive_store(out);
  });
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> archive_store::open(const store_key& key) const {
  return guarded([&] { return state_->tree.open(key, describe(key)); });
}

ZARRPOINT_INLINE std::string archive_store::describe(const store_key& key) const {
  return key.is_root() ? state_->name : state_->name + ":" + std::string(key.str());
}

ZARRPOINT_INLINE result<std::vector<list_entry>> archive_store::list(
    const store_key& prefix) const {
  return guarded([&] { return state_->tree.list(prefix); });
}

namespace detail {

/// What a pickle may cost of a budget: a value takes some 256 bytes with what is made of it.
constexpr pickle_limits limits_within(std::uint64_t memory) noexcept {
  pickle_limits out;
  out.max_bytes = std::min(out.max_bytes, memory / 8 + (std::uint64_t{16} << 10));
  out.max_values = static_cast<std::size_t>(
      std::min<std::uint64_t>(out.max_values, memory / 256 + (std::uint64_t{1} << 10)));
  return out;
}

}  // namespace detail

ZARRPOINT_INLINE result<std::optional<stored_place>> find_archive(const std::string& path,
                                                                  std::uint64_t memory) {
  using found = std::optional<stored_place>;
  const v0::detail::path_in_file at = v0::detail::split_at_file(path);
  auto from = v0::detail::open_file(at.file);
  std::array<std::byte, 4> mark{};
  if (!from || (*from)->size() < mark.size()) return found();  // others say what is wrong with it
  ZARRPOINT_CHECK((*from)->read(0, mark));
  if (as_text(bytes_view(mark)) != "PK\x03\x04") return found();
  ZARRPOINT_TRY(again, v0::detail::open_file(at.file));
  const auto archive = zip_store::open(std::move(again));
  if (!archive) return found();
  const auto prefix = file::find_prefix(*archive);
  if (!prefix || !*prefix) return found();
  ZARRPOINT_TRY(opened, archive_store::open(*std::move(from), detail::limits_within(memory)));
  ZARRPOINT_TRY(key, store_key::parse(at.rest).at(path));
  return found(stored_place{std::move(opened), std::move(key)});
}

}  // namespace torch

ZARRPOINT_INLINE result<stored_place> torch_scheme::open(const url& at, const place_use& use) {
  ZARRPOINT_TRY(path, at.path());
  if (use.write)
    return error{errc::unsupported, "write " + path +
                                        ": torch::save writes files of torch.save; save to a "
                                        "directory or a zip"};
  const v0::detail::path_in_file file = v0::detail::split_at_file(path);
  ZARRPOINT_TRY(from, v0::detail::open_file(file.file));
  ZARRPOINT_TRY(opened, torch::archive_store::open(std::move(from),
                                                   torch::detail::limits_within(use.memory)));
  ZARRPOINT_TRY(key, store_key::parse(file.rest).at(path));
  return stored_place{std::move(opened), std::move(key)};
}

}}  // namespace zarrpoint::v0
