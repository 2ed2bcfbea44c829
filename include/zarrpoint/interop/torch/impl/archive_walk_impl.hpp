// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/torch/archive_walk.hpp>
#include <zarrpoint/interop/torch/delayed_blob.hpp>
#include <zarrpoint/interop/torch/member_names.hpp>
#include <zarrpoint/interop/torch/pickled_numpy.hpp>
#include <zarrpoint/interop/torch/torch_document.hpp>
#include <zarrpoint/interop/torch/torch_tensor.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/base/memory_blob.hpp>
#include <zarrpoint/store/base/range_blob.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace torch { namespace detail {

ZARRPOINT_INLINE bool is_numpy_array(const pickle_value& value) {
  return value.kind() == pickle_kind::call && (is_numpy_call(value, "multiarray", "_reconstruct") ||
                                               is_numpy_call(value, "numeric", "_frombuffer"));
}

ZARRPOINT_INLINE std::vector<bool> find_elements(const pickle_value& root) {
  const std::size_t total = root.total();
  std::vector<std::uint32_t> ends(total + 1, 0);  // of the values that refer to each
  for (std::size_t i = 0; i < total; ++i)
    root.at(i).for_each_part([&](std::size_t part) { ++ends[part]; });
  std::uint32_t sum = 0;
  for (std::uint32_t& end : ends) end = sum += end;
  std::vector<std::uint32_t> above(sum);
  for (std::size_t i = 0; i < total; ++i)
    root.at(i).for_each_part(
        [&](std::size_t part) { above[--ends[part]] = static_cast<std::uint32_t>(i); });
  std::vector<bool> out(total, false);
  std::vector<std::uint32_t> found;
  const auto mark = [&](std::uint32_t at) {
    if (out[at]) return;
    out[at] = true;
    found.push_back(at);
  };
  for (std::size_t i = 0; i < total; ++i) {
    const pickle_value one = root.at(i);
    if (storage_id_of(one) || tensor_call_of(one) || is_numpy_array(one))
      mark(static_cast<std::uint32_t>(i));
  }
  while (!found.empty()) {
    const std::uint32_t at = found.back();
    found.pop_back();
    for (std::uint32_t i = ends[at]; i < ends[at + 1]; ++i) mark(above[i]);
  }
  return out;
}

/// The elements of a tensor as an object: where they lie, or a copy.
ZARRPOINT_INLINE result<std::unique_ptr<blob>> open_elements(
    const std::shared_ptr<const file>& from, const tensor_info& of, std::string name,
    std::uint64_t most_beyond) {
  ZARRPOINT_TRY(bytes, byte_count(of.spec));
  const dims packed = row_major_strides(of.spec.shape, of.spec.type.size());
  bool is_packed = !of.signs.any();
  for (std::size_t d = 0; d < packed.rank(); ++d)
    is_packed = is_packed && (of.spec.shape[d] == 1 || of.strides[d] == packed[d]);
  if (is_packed) {
    ZARRPOINT_TRY(storage, from->storage(of));
    auto whole = v0::detail::make_counted<const v0::detail::container_file>(std::move(storage));
    return v0::detail::make_owned<blob, v0::detail::range_blob>(std::move(whole), of.offset, bytes,
                                                                std::move(name));
  }
  // An expanded tensor may be any number of times what its storage is.
  if (bytes > of.storage_bytes && bytes - of.storage_bytes > most_beyond)
    return error{errc::resource_limit, name + ": it takes " + std::to_string(bytes) +
                                           " bytes, and is spread over a storage of " +
                                           std::to_string(of.storage_bytes)};
  auto gather = [from, of, bytes]() -> result<mapping> {
    ZARRPOINT_TRY(copy, tensor::make(of.spec));
    ZARRPOINT_CHECK(from->read(of, copy.mutable_view()));
    const auto shared = v0::detail::make_counted<const tensor>(std::move(copy));
    return mapping({shared->view().data, static_cast<std::size_t>(bytes)}, shared);
  };
  return v0::detail::make_owned<blob, delayed_blob>(bytes, std::move(gather), std::move(name));
}

/// What could not be made when it was opened: a listing has it, a read fails.
ZARRPOINT_INLINE std::unique_ptr<blob> failed_blob(error why, std::string name) {
  auto fail = [why = std::move(why)]() -> result<mapping> { return why; };
  return v0::detail::make_owned<blob, delayed_blob>(std::uint64_t{1}, std::move(fail),
                                                    std::move(name));
}

/// Names of the arrays in objects, by the numbers of their values.
using array_names = std::unordered_map<std::size_t, std::string>;

class archive_walk {
 public:
  archive_walk(std::shared_ptr<const file> from, const pickle_limits& limits,
               v0::detail::virtual_hierarchy& to)
      : from_(std::move(from)),
        to_(to),
        arrays_(v0::detail::make_counted<array_names>()),
        has_elements_(find_elements(from_->root())),
        above_(has_elements_.size(), false),
        placed_objects_(has_elements_.size(), false) {
    // A value may be there any number of times, and what is made of one takes more than itself.
    most_placed_ = std::min(std::size_t{1} << 21, std::max<std::size_t>(limits.max_values / 2, 64));
    text_left_ = limits.max_bytes / 2;
    most_beyond_ = limits.max_bytes;
    documents_.max_depth = max_depth;
    documents_.max_values = std::min(documents_.max_values, 2 * limits.max_values);
    documents_.max_text = static_cast<std::size_t>(
        std::min<std::uint64_t>(documents_.max_text, 2 * limits.max_bytes));
  }

  result<void> run(const std::string& above) {
    const pickle_value root = from_->root();
    if (!has_elements_[root.index()] || is_leaf(root))
      return place(root, above + (above.empty() ? "value" : "0"), {});
    return within(root, above, {});
  }

 private:
  static constexpr std::size_t max_depth = 48;

  /// Where a value stands.
  struct where {
    std::size_t depth = 0;
    bool in_object = false;     ///< whose document has all that is not an array
    bool is_attribute = false;  ///< or within one: what has been placed need not be again
    where below() const { return {depth + 1, in_object, is_attribute}; }
  };

  /// A dict, or a list, whose members are others' in a hierarchy.
  static bool is_dict(const pickle_value& value) {
    return value.kind() == pickle_kind::dict || value.is_call_of("collections", "OrderedDict") ||
           value.is_call_of("collections", "defaultdict");
  }
  static bool is_list(const pickle_value& value) {
    return value.kind() == pickle_kind::list || value.kind() == pickle_kind::tuple ||
           value.kind() == pickle_kind::set;
  }
  static bool is_leaf(const pickle_value& value) {
    return value.kind() == pickle_kind::persistent || tensor_call_of(value) ||
           is_numpy_array(value);
  }
  /// The value itself of those that TorchScript gives a type.
  static pickle_value plain(pickle_value value) {
    for (int level = 0; level < 4 && value.kind() == pickle_kind::call; ++level) {
      if (value.callable().module() != "torch.jit._pickle") break;
      if (value.arguments().element_count() == 0) break;
      value = value.arguments().element(0);
    }
    return value;
  }

  static error too_much() {
    return {errc::resource_limit, "what it holds is nested too deep, or is too much"};
  }

  /// Names, and attributes of tensors: a small pickle may make many long ones.
  result<void> charge(std::uint64_t size) {
    if (size > text_left_) return names_too_long();
    text_left_ -= size;
    return {};
  }

  /// A dict may be there any number of times, and have one key any number of times.
  result<std::vector<named_member>> members_of(const pickle_value& dict) {
    keys_ += dict.member_count();
    if (keys_ > most_placed_) return too_much();
    return named_members(dict, text_left_);
  }

  /// What is in a key stands beside what is in its value.
  result<void> place_key(const pickle_value& key, const std::string& name, const where& at) {
    return has_elements_[key.index()] ? place(key, name + " (key)", at) : result<void>();
  }

  result<void> place(const pickle_value& given, const std::string& name, const where& at) {
    const pickle_value value = plain(given);
    if (at.depth > max_depth || ++placed_ > most_placed_) return too_much();
    ZARRPOINT_CHECK(charge(name.size()));
    const bool has_elements = has_elements_[value.index()];
    // Of what lies within itself a document tells.
    if (!has_elements || above_[value.index()])
      return at.in_object ? result<void>() : add_document(value, name);
    if (!is_leaf(value)) return within(value, name + '/', at);
    if (at.in_object && !arrays_->try_emplace(value.index(), name).second && at.is_attribute)
      return {};
    return add_leaf(value, name, at).at("the tensor " + v0::detail::in_quotes(name));
  }

  result<void> within(const pickle_value& value, const std::string& above, const where& at) {
    above_[value.index()] = true;
    auto done = is_dict(value)   ? members(value, above, at)
                : is_list(value) ? elements(value, above, at)
                                 : object(value, above, at);
    above_[value.index()] = false;
    return done;
  }

  result<void> members(const pickle_value& dict, const std::string& above, const where& at) {
    ZARRPOINT_CHECK(members_of_object(dict, above, at));
    if (dict.kind() != pickle_kind::call) return {};
    for (std::size_t i = 0; i < dict.state_count(); ++i)  // as torch's `_metadata`
      if (has_elements_[dict.state(i).index()])
        ZARRPOINT_CHECK(place(dict.state(i), above + "@state", at.below()));
    return {};
  }

  result<void> elements(const pickle_value& list, const std::string& above, const where& at) {
    for (std::size_t i = 0; i < list.element_count(); ++i)
      ZARRPOINT_CHECK(place(list.element(i), above + std::to_string(i), at.below()));
    return {};
  }

  /// The arrays of an object, and its document, in which they are told by their names.
  result<void> object(const pickle_value& value, const std::string& above, const where& at) {
    if (at.is_attribute && placed_objects_[value.index()]) return {};
    placed_objects_[value.index()] = true;
    where below{at.depth, true, false};
    const auto part = [&](const pickle_value& one, const char* name) {
      return has_elements_[one.index()] ? place(one, above + name, below.below()) : result<void>();
    };
    if (value.kind() == pickle_kind::call) {
      ZARRPOINT_CHECK(part(value.callable(), "@class"));
      ZARRPOINT_CHECK(part(value.arguments(), "@args"));
      ZARRPOINT_CHECK(part(value.keywords(), "@kwargs"));
      if (value.member_count() != 0)
        ZARRPOINT_CHECK(members_of_object(value, above + "@items/", below));
      if (value.element_count() != 0) ZARRPOINT_CHECK(elements(value, above + "@elements/", below));
      for (std::size_t i = 0; i < value.state_count(); ++i)
        ZARRPOINT_CHECK(state(value.state(i), above, below));
    }
    return at.in_object ? result<void>() : add_document(value, above + "@object");
  }

  result<void> members_of_object(const pickle_value& value, const std::string& above,
                                 const where& at) {
    ZARRPOINT_TRY(all, members_of(value));
    for (const named_member& one : all) {
      ZARRPOINT_CHECK(place(value.member(one.member), above + one.name, at.below()));
      ZARRPOINT_CHECK(place_key(value.key(one.member), above + one.name, at.below()));
    }
    return {};
  }

  /// A dict of attributes, or as objects with slots have it, a pair of them.
  result<void> state(const pickle_value& value, const std::string& above, const where& at) {
    if (!has_elements_[value.index()] || above_[value.index()]) return {};
    if (is_dict(value)) return attributes(value, above, at);
    if (value.kind() == pickle_kind::tuple && value.element_count() == 2 &&
        (is_dict(value.element(0)) || value.element(0).is_none()) && is_dict(value.element(1))) {
      ZARRPOINT_CHECK(state(value.element(0), above, at));
      return state(value.element(1), above, at);
    }
    return place(value, above + "@state", at.below());
  }

  /// Of a `torch.nn.Module` its parameters, buffers and modules stand as its state_dict has them.
  result<void> attributes(const pickle_value& dict, const std::string& above, const where& at) {
    const auto is_part = [](const std::string& name) {
      return name == "_parameters" || name == "_buffers" || name == "_modules";
    };
    ZARRPOINT_TRY(all, members_of(dict));
    const auto parts = std::count_if(all.begin(), all.end(),
                                     [&](const named_member& one) { return is_part(one.name); });
    above_[dict.index()] = true;
    for (const named_member& one : all) {
      const pickle_value value = dict.member(one.member);
      ZARRPOINT_CHECK(place_key(dict.key(one.member), above + one.name, at.below()));
      if (!has_elements_[value.index()]) continue;
      if (parts == 3 && is_part(one.name) && is_dict(value)) {
        ZARRPOINT_CHECK(members(value, above, at));
        continue;
      }
      where below = at.below();
      below.is_attribute = true;
      ZARRPOINT_CHECK(place(value, above + one.name, below));
    }
    above_[dict.index()] = false;
    return {};
  }

  result<void> add_leaf(const pickle_value& value, const std::string& name, const where& at) {
    if (is_numpy_array(value)) return add_numpy(value, value, name);
    const auto call = tensor_call_of(value);
    if (!call) return add_storage(value, name);
    std::string why;
    if (call->is_plain()) {
      const auto info = from_->tensor(value);
      if (info) return add_tensor(*info, value, name, at);
      if (info.failure().code != errc::unsupported) return info.failure();
      const auto described = describe_tensor(value);  // without the name of the file
      why = described ? info.failure().message : described.failure().message;
    } else if ((call->is_of("_rebuild_device_tensor_from_numpy") ||
                call->is_of("_rebuild_xla_tensor")) &&
               call->arguments.element_count() == 4) {
      ZARRPOINT_TRY(array, numpy_spec(call->arguments.element(0)));
      const pickle_value type = call->arguments.element(1);
      if (array && type.module() == "torch" &&
          dtype_named(type.name()) == std::optional(array->type))
        return add_numpy(call->arguments.element(0), value, name);
      why = "its elements are not of the type that it has in PyTorch";
    }
    return add_unread(value, *call, name, why);
  }

  /// The class and the attributes of a tensor of a subclass.
  result<void> add_states(const tensor_call& call, const std::string& name, const where& at,
                          node& attributes) {
    if (call.subclass) attributes.set("python_class", global_name(*call.subclass));
    for (const pickle_value& state : call.states) {
      const bool is_empty =
          state.is_none() || (state.kind() == pickle_kind::dict && state.member_count() == 0);
      if (is_empty) continue;
      if (has_elements_[state.index()]) {
        ZARRPOINT_CHECK(place(state, name + "/@state", at.below()));
        continue;
      }
      constexpr std::size_t most = 4096;
      auto document =
          pickle_to_document(state, {.max_depth = 16, .max_values = most, .max_text = most});
      if (document) {
        ZARRPOINT_CHECK(charge(dump_json(*document).size()));
        attributes.set("python_state", *std::move(document));
      } else {
        ZARRPOINT_CHECK(add_document(state, name + "/@state"));
      }
    }
    return {};
  }

  result<void> add_tensor(const tensor_info& of, const pickle_value& value, const std::string& name,
                          const where& at) {
    array_metadata as = v0::detail::raw_array(of.spec);
    const auto call = tensor_call_of(value);
    ZARRPOINT_CHECK(add_states(*call, name, at, as.attributes));
    return to_.add(name, as,
                   [from = from_, value,
                    most = most_beyond_](std::string called) -> result<std::unique_ptr<blob>> {
                     ZARRPOINT_TRY(info, describe_tensor(value));
                     return open_elements(from, info, std::move(called), most);
                   });
  }

  /// Of an array of numpy that can be read. Its elements are looked at once, and those of all
  /// arrays are no more than a pickle may have twice.
  result<std::optional<tensor_spec>> numpy_spec(const pickle_value& array) {
    const auto [place, is_new] = numpy_specs_.try_emplace(array.index());
    if (!is_new) return place->second;
    std::uint64_t copied = 0;
    if (auto found = read_numpy(array, &copied)) place->second = std::move(found->spec);
    copied_ += copied;
    if (copied_ / 2 > most_beyond_) return too_much();
    return place->second;
  }

  /// The array that a value is, or has; a number of it, where its bytes do not fit, is a document.
  result<void> add_numpy(const pickle_value& array, const pickle_value& value,
                         const std::string& name) {
    ZARRPOINT_TRY(spec, numpy_spec(array));
    if (!spec) return add_document(value, name);
    return to_.add(name, v0::detail::raw_array(*spec, endian::little),
                   [array, spec = *spec](std::string called) -> result<std::unique_ptr<blob>> {
                     ZARRPOINT_TRY(bytes, byte_count(spec));
                     auto make = [array]() -> result<mapping> {
                       auto again = read_numpy(array);
                       const auto shared = v0::detail::make_counted<const std::vector<std::byte>>(
                           std::move(again->elements));
                       return mapping(*shared, shared);
                     };
                     return v0::detail::make_owned<blob, delayed_blob>(bytes, std::move(make),
                                                                       std::move(called));
                   });
  }

  /// A storage by itself: its elements in one row.
  result<void> add_storage(const pickle_value& value, const std::string& name) {
    const auto id = storage_id_of(value);
    if (!id) return add_document(value, name);
    const bool is_untyped = id->type.name() == "UntypedStorage";
    const auto type =
        is_untyped ? dtype(dtype_kind::uint8) : storage_named(id->type.name()).value_or(dtype());
    if (!type.valid() || id->count > INT64_MAX / 16)
      return to_.add(name,
                     v0::detail::unread_entry{
                         global_name(id->type), "a storage of a type that has no array", {}},
                     stored_of(value));
    tensor_info of;
    of.spec = {type, {static_cast<index_t>(id->part)}};
    of.strides = row_major_strides(of.spec.shape, type.size());
    of.storage = id->name;
    of.storage_bytes = id->count * type.size();
    of.offset = id->first * type.size();
    of.end = of.offset + id->part * type.size();
    ZARRPOINT_CHECK(from_->storage(of));
    return to_.add(name, v0::detail::raw_array(of.spec),
                   [from = from_, of, most = most_beyond_](std::string called) {
                     return open_elements(from, of, std::move(called), most);
                   });
  }

  /// The storages within a value, and last the text of all else that is in it.
  std::vector<v0::detail::virtual_hierarchy::chunk_opener> stored_of(const pickle_value& value) {
    std::vector<v0::detail::virtual_hierarchy::chunk_opener> out;
    std::unordered_map<std::size_t, bool> seen;
    std::unordered_map<std::string, bool> names;
    std::vector<std::size_t> open{value.index()};
    while (!open.empty()) {
      const pickle_value one = value.at(open.back());
      open.pop_back();
      ++placed_;
      if (!has_elements_[one.index()] || !seen.try_emplace(one.index(), true).second) continue;
      if (const auto id = storage_id_of(one)) {
        if (names.try_emplace(id->name, true).second)
          out.emplace_back(
              [from = from_, storage = id->name](std::string) { return from->storage(storage); });
        continue;
      }
      const std::size_t first = open.size();
      one.for_each_part([&](std::size_t part) { open.push_back(part); });
      std::reverse(open.begin() + static_cast<std::ptrdiff_t>(first), open.end());
    }
    out.emplace_back([value, limits = documents_](std::string called) {
      return open_text(pickle_to_document(value, limits), std::move(called));
    });
    return out;
  }

  /// What a library call finds under the name is the type, and the reason.
  result<void> add_unread(const pickle_value& value, const tensor_call& call,
                          const std::string& name, const std::string& why) {
    const pickle_value& given = call.arguments;
    const std::size_t count = given.element_count();
    v0::detail::unread_entry out{global_name(call.function), why, {}};
    const auto shape = [&](std::size_t i) {
      if (i < count) read_numpy_shape(given.element(i), out.shape);
    };
    const auto type = [&](std::size_t i) {
      if (i < count && given.element(i).kind() == pickle_kind::global)
        out.type = global_name(given.element(i));
    };
    if (call.is_plain()) {
      shape(2), type(6);
      const auto id = count == 0 ? std::nullopt : storage_id_of(given.element(0));
      if (id && id->type.name() != "UntypedStorage") out.type = global_name(id->type);
      if (call.dtype) out.type = global_name(*call.dtype);
    } else if (call.is_of("_rebuild_qtensor")) {
      shape(2);
      const auto id = count == 0 ? std::nullopt : storage_id_of(given.element(0));
      if (id) out.type = quantised_name(id->type);
      out.reason = "it is quantised; its integers and its scales are not read";
    } else if (call.is_of("_rebuild_sparse_tensor") && count == 2) {
      const pickle_value layout = given.element(0);
      if (layout.kind() == pickle_kind::call && layout.arguments().element_count() == 1)
        if (const std::string* const text = layout.arguments().element(0).if_string())
          out.type = *text;
      const pickle_value data = given.element(1);  // indices, one list or two; values; size
      const std::size_t at = out.type == "torch.sparse_coo" ? 2 : 3;
      if (at < data.element_count()) read_shape(data.element(at), out.shape);
      out.reason = "it is sparse; its indices and its values are not read";
    } else if (call.is_of("_rebuild_nested_tensor")) {
      out.type = "torch.nested";
      out.reason = "it is a nested tensor, of rows of different shapes";
    } else if (call.is_of("_rebuild_meta_tensor_no_storage")) {
      shape(1), type(0);
      out.type += " (meta)";
      out.reason = "it is on the meta device, which has no elements";
    } else if (call.is_of("_rebuild_wrapper_subclass")) {
      shape(2), type(0);
      out.reason = "its class keeps its elements in a way of its own";
    }
    if (call.subclass) out.type = global_name(*call.subclass);
    if (out.reason.empty())
      out.reason = "it is made by " + global_name(call.function) + ", which is not known";
    return to_.add(name, out, stored_of(value));
  }

  /// `torch.qint8` of a `torch.QInt8Storage`.
  static std::string quantised_name(const pickle_value& storage) {
    std::string_view name = storage.name();
    if (name.ends_with("Storage")) name.remove_suffix(std::string_view("Storage").size());
    std::string out = "torch.";
    for (const char c : name) out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
  }

  /// A shape is a tuple, or a call of `torch.Size` with one.
  static void read_shape(const pickle_value& value, dims& out) {
    const bool is_size =
        value.is_call_of("torch", "Size") && value.arguments().element_count() == 1;
    read_numpy_shape(is_size ? value.arguments().element(0) : value, out);
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

  static result<std::unique_ptr<blob>> open_text(result<node> document, std::string called) {
    if (!document) return failed_blob(std::move(document).failure(), std::move(called));
    const std::string text = dump_json(*document);
    const bytes_view bytes = as_bytes(text);
    return v0::detail::make_owned<blob, v0::detail::memory_blob>(
        std::vector<std::byte>(bytes.begin(), bytes.end()), std::move(called));
  }

  /// An array of one text, which `make` gives when it is read.
  template <class F>
  result<void> add_text(const std::string& name, bool is_json, F make) {
    ZARRPOINT_TRY(none, v0::detail::array_of_texts({}, {""}));
    if (is_json) none.metadata.attributes.set("content_type", "application/json");
    return to_.add(name, none.metadata,
                   [make = std::move(make)](std::string called) -> result<std::unique_ptr<blob>> {
                     result<std::string> text = make();
                     if (!text) return failed_blob(std::move(text).failure().at(called), called);
                     ZARRPOINT_TRY(made, v0::detail::array_of_texts({}, {*text}));
                     return v0::detail::make_owned<blob, v0::detail::memory_blob>(
                         std::move(made.chunk), std::move(called));
                   });
  }

  /// A value that is not an array: a number, a text, or anything else as the text of its document.
  result<void> add_document(const pickle_value& value, const std::string& name) {
    if (const auto truth = value.to_bool()) return add_number(*truth, name);
    if (const auto number = value.to_int64()) return add_number(*number, name);
    if (const auto number = value.to_uint64()) return add_number(*number, name);
    if (const auto number = value.to_double()) return add_number(*number, name);
    if (value.kind() == pickle_kind::call && is_numpy_call(value, "multiarray", "scalar")) {
      ZARRPOINT_TRY(spec, numpy_spec(value));
      if (spec) return add_numpy(value, value, name);
    }
    if (value.if_string() != nullptr)
      return add_text(name, false, [value]() -> result<std::string> { return *value.if_string(); });
    return add_text(
        name, true,
        [value, from = from_, arrays = std::shared_ptr<const array_names>(arrays_),
         limits = documents_]() -> result<std::string> {
          ZARRPOINT_TRY(document, pickle_to_document(value, limits, {from.get(), arrays.get()}));
          return dump_json(document);
        });
  }

  std::shared_ptr<const file> from_;
  v0::detail::virtual_hierarchy& to_;
  std::shared_ptr<array_names> arrays_;
  std::vector<bool> has_elements_;
  std::vector<bool> above_;  ///< values that the walk is within
  std::vector<bool> placed_objects_;
  pickle_node_limits documents_;
  std::size_t placed_ = 0;  ///< values that the walk came to
  std::size_t keys_ = 0;    ///< of the dicts that it came to
  std::size_t most_placed_ = 0;
  std::uint64_t text_left_ = 0;    ///< what names may still take
  std::uint64_t most_beyond_ = 0;  ///< what an expanded tensor may take beyond its storage
  std::uint64_t copied_ = 0;
  std::unordered_map<std::size_t, std::optional<tensor_spec>> numpy_specs_;  ///< by their numbers
};

ZARRPOINT_INLINE result<void> add_archive(const std::shared_ptr<const file>& from,
                                          const pickle_limits& limits,
                                          v0::detail::virtual_hierarchy& to) {
  ZARRPOINT_CHECK(archive_walk(from, limits, to).run(""));
  const std::shared_ptr<const file> constants = from->constants();
  if (constants == nullptr || constants->root().element_count() == 0) return {};
  return archive_walk(constants, limits, to).run("constants/");
}

}}}}  // namespace zarrpoint::v0::torch::detail
