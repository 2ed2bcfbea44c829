// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/hierarchy/weight_index.hpp>
#include <zarrpoint/interop/torch/legacy_file.hpp>
#include <zarrpoint/interop/torch/pickled_numpy.hpp>
#include <zarrpoint/interop/torch/torch_document.hpp>
#include <zarrpoint/interop/torch/torch_dtype.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/interop/torch/torch_store.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>
#include <zarrpoint/memory/byteswap.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/place.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

namespace zarrpoint { inline namespace v0 {
namespace torch { namespace detail {

// ------------------------------------------------------------------------------- pickled_numpy.hpp

ZARRPOINT_INLINE bool is_numpy_call(const pickle_value& value, std::string_view module,
                                    std::string_view name) {
  for (const std::string_view core : {"numpy.core.", "numpy._core."})
    if (value.is_call_of(std::string(core).append(module), name)) return true;
  return false;
}

/// The type of a numpy dtype of numbers or truth values.
ZARRPOINT_INLINE bool read_numpy_dtype(const pickle_value& value, numpy_array& out) {
  if (!value.is_call_of("numpy", "dtype") || value.arguments().element_count() == 0) return false;
  const std::string* code = value.arguments().element(0).if_string();
  if (code == nullptr) return false;
  constexpr std::pair<std::string_view, dtype_kind> known[] = {
      {"b1", dtype_kind::bool_},     {"i1", dtype_kind::int8},       {"i2", dtype_kind::int16},
      {"i4", dtype_kind::int32},     {"i8", dtype_kind::int64},      {"u1", dtype_kind::uint8},
      {"u2", dtype_kind::uint16},    {"u4", dtype_kind::uint32},     {"u8", dtype_kind::uint64},
      {"f2", dtype_kind::float16},   {"f4", dtype_kind::float32},    {"f8", dtype_kind::float64},
      {"c8", dtype_kind::complex64}, {"c16", dtype_kind::complex128}};
  for (const auto& [name, kind] : known)
    if (name == *code) out.spec.type = kind;
  if (!out.spec.type.valid() || value.state_count() > 1) return false;
  if (value.state_count() == 1) {
    if (value.state(0).element_count() < 2) return false;
    const std::string* order = value.state(0).element(1).if_string();
    out.big_endian = order != nullptr && *order == ">";
  }
  return true;
}

ZARRPOINT_INLINE result<dims> read_extents(const pickle_value& value, std::string_view what) {
  const bool is_size = value.is_call_of("torch", "Size") && value.arguments().element_count() == 1;
  const pickle_value extents = is_size ? value.arguments().element(0) : value;
  if (extents.kind() != pickle_kind::tuple && extents.kind() != pickle_kind::list)
    return error{errc::corrupt, std::string(what) + " is not a tuple"};
  if (extents.element_count() > max_rank)
    return error{errc::unsupported, "its rank " + std::to_string(extents.element_count()) +
                                        " is more than " + std::to_string(max_rank)};
  dims out;
  for (std::size_t i = 0; i < extents.element_count(); ++i) {
    const auto one = extents.element(i).to_int64();
    if (!one || *one < 0)
      return error{errc::corrupt, std::string(what) + " must hold integers of 0 or more"};
    out.push_back(*one);
  }
  return out;
}

ZARRPOINT_INLINE std::optional<numpy_array> read_numpy(const pickle_value& value,
                                                       std::uint64_t* copied) {
  numpy_array out;
  std::optional<pickle_value> elements;
  if (is_numpy_call(value, "multiarray", "scalar")) {
    if (value.arguments().element_count() != 2) return std::nullopt;
    if (!read_numpy_dtype(value.arguments().element(0), out)) return std::nullopt;
    elements = value.arguments().element(1);
  } else if (is_numpy_call(value, "multiarray", "_reconstruct")) {
    if (value.state_count() != 1 || value.state(0).element_count() != 5) return std::nullopt;
    const pickle_value state = value.state(0);  // version, shape, dtype, is_fortran, elements
    const auto shape = read_extents(state.element(1), "its shape");
    if (!shape) return std::nullopt;
    out.spec.shape = *shape;
    if (!read_numpy_dtype(state.element(2), out)) return std::nullopt;
    out.column_major = state.element(3).to_bool().value_or(false);
    elements = state.element(4);
  } else if (is_numpy_call(value, "numeric", "_frombuffer")) {
    const pickle_value arguments = value.arguments();  // elements, dtype, shape, order
    if (arguments.element_count() != 4) return std::nullopt;
    if (!read_numpy_dtype(arguments.element(1), out)) return std::nullopt;
    const auto shape = read_extents(arguments.element(2), "its shape");
    if (!shape) return std::nullopt;
    out.spec.shape = *shape;
    const std::string* order = arguments.element(3).if_string();
    out.column_major = order != nullptr && *order == "F";
    elements = arguments.element(0);
  }
  if (!elements) return std::nullopt;
  const auto expected = byte_count(out.spec);
  const auto plain = elements->if_bytes();
  if (plain && (!expected || plain->size() != *expected)) return std::nullopt;  // without a copy
  auto bytes = to_bytes(*elements);
  if (copied != nullptr && bytes) *copied = bytes->size();
  if (!bytes || !expected || bytes->size() != *expected) return std::nullopt;
  if (out.spec.type == dtype(dtype_kind::bool_) &&
      std::any_of(bytes->begin(), bytes->end(), [](std::byte b) { return b > std::byte{1}; }))
    return std::nullopt;
  out.elements = *std::move(bytes);
  const std::size_t scalar = out.spec.type.scalar_size();
  if (scalar > 1 && out.big_endian)
    zarrpoint::detail::byteswap_elements(out.elements, scalar);  // now little-endian
  if (out.column_major && out.spec.shape.rank() > 1) {
    host_view from = dense_view(std::as_const(out.elements).data(), out.spec);
    index_t stride = static_cast<index_t>(out.spec.type.size());
    for (std::size_t i = 0; i < out.spec.shape.rank(); ++i) {
      from.strides[i] = stride;
      stride *= std::max<index_t>(out.spec.shape[i], 1);
    }
    std::vector<std::byte> rows(out.elements.size());
    if (!rows.empty()) copy_elements(dense_view(rows.data(), out.spec), from);
    out.elements = std::move(rows);
  }
  return out;
}

ZARRPOINT_INLINE std::optional<number_array> read_number(const pickle_value& value) {
  const auto as = [](auto number, std::string_view python_type) {
    number_array out{zarrpoint::detail::raw_array({dtype_of<decltype(number)>, {}}), {}};
    out.metadata.attributes.set("python_type", python_type);
    const bytes_view bytes = std::as_bytes(std::span(&number, 1));
    out.chunk.assign(bytes.begin(), bytes.end());
    return std::optional(std::move(out));
  };
  if (const auto truth = value.to_bool()) return as(*truth, "bool");
  if (const auto number = value.to_int64()) return as(*number, "int");
  if (const auto number = value.to_uint64()) return as(*number, "int");
  if (const auto number = value.to_double()) return as(*number, "float");
  return std::nullopt;
}

ZARRPOINT_INLINE std::optional<json> number_of(const numpy_array& of) {
  const std::byte* at = of.elements.data();
  switch (of.spec.type.kind()) {
    case dtype_kind::bool_: return json(*at != std::byte{0});
    case dtype_kind::int8: return json(std::int64_t{static_cast<std::int8_t>(*at)});
    case dtype_kind::int16:
      return json(std::int64_t{static_cast<std::int16_t>(load_le<std::uint16_t>(at))});
    case dtype_kind::int32:
      return json(std::int64_t{static_cast<std::int32_t>(load_le<std::uint32_t>(at))});
    case dtype_kind::int64: return json(static_cast<std::int64_t>(load_le<std::uint64_t>(at)));
    case dtype_kind::uint8: return json(std::uint64_t{std::to_integer<unsigned>(*at)});
    case dtype_kind::uint16: return json(std::uint64_t{load_le<std::uint16_t>(at)});
    case dtype_kind::uint32: return json(std::uint64_t{load_le<std::uint32_t>(at)});
    case dtype_kind::uint64: return json(load_le<std::uint64_t>(at));
    case dtype_kind::float32: return json(double{std::bit_cast<float>(load_le<std::uint32_t>(at))});
    case dtype_kind::float64: return json(std::bit_cast<double>(load_le<std::uint64_t>(at)));
    default: return std::nullopt;
  }
}

// ------------------------------------------------------------------------------ torch_document.hpp

ZARRPOINT_INLINE result<void> document_budget::charge(std::uint64_t size) {
  if (size > limits.max_text - text)
    return error{errc::resource_limit, "it has more than " + std::to_string(limits.max_text) +
                                           " bytes of text and tensors"};
  text += static_cast<std::size_t>(size);
  return {};
}

ZARRPOINT_INLINE bool is_document_word(const json& of) {
  const std::string* kind = of.find("$")->if_string();
  const std::size_t members = of.if_object()->size();
  if (kind == nullptr) return false;
  if (*kind == "hole") return members == 1;
  const std::string* text = of.find_string(*kind == "float64" ? "bits" : "base64");
  if (members != 2 || text == nullptr) return false;
  const std::string& is = *text;
  if (*kind == "float64")
    return is.size() == 16 && is.find_first_not_of("0123456789abcdef") == is.npos;
  return *kind == "text" && zarrpoint::detail::from_base64(is).has_value();
}

ZARRPOINT_INLINE std::optional<std::string> key_text(const pickle_value& key) {
  if (const std::string* name = key.if_string()) return *name;
  if (const auto truth = key.to_bool()) return *truth ? "true" : "false";
  if (const auto narrow = key.to_int64()) return std::to_string(*narrow);
  if (const auto number = key.to_double(); number && std::isfinite(*number))
    return dump_json(json(*number), json_style::compact);
  if (key.is_none()) return "null";
  return std::nullopt;
}

ZARRPOINT_INLINE result<document_keys> document_keys::of(const pickle_value& value,
                                                         document_budget& budget) {
  document_keys out;
  const std::size_t charged = budget.text;
  std::unordered_map<std::string, std::pair<std::size_t, pickle_kind>> places;
  const auto not_text = [&] {
    budget.text = charged;
    return document_keys{.texts = {}, .members = {}, .are_text = false};
  };
  for (std::size_t i = 0; i < value.member_count(); ++i) {
    const pickle_value key = value.key(i);
    auto name = key_text(key);
    if (!name) return not_text();
    ZARRPOINT_CHECK(budget.charge(name->size()));
    const auto [place, is_new] = places.try_emplace(*name, out.texts.size(), key.kind());
    // Keys of different kinds may have one text.
    if (place->second.second != key.kind()) return not_text();
    if (is_new) {
      out.texts.push_back(*std::move(name));
      out.members.push_back(i);
    } else {
      out.members[place->second.first] = i;
      ++budget.values;  // the value before it, which nobody converts, so that walks are bounded
    }
  }
  for (const std::string& name : out.texts)
    if (is_escaped(name) && places.contains("$" + name)) return not_text();
  return out;
}

ZARRPOINT_INLINE bool is_escaped(const std::string& name) {
  return name.starts_with('$') && !name.starts_with("$$");
}

/// The digits of a two's complement, low byte first: in time of its square, so hexadecimal for
/// what is long.
ZARRPOINT_INLINE std::string integer_text(bytes_view digits) {
  const bool negative = (std::to_integer<unsigned>(digits.back()) & 0x80U) != 0;
  std::vector<unsigned> magnitude;  // low byte first
  unsigned carry = negative ? 1 : 0;
  for (const std::byte each : digits) {
    const unsigned byte = std::to_integer<unsigned>(each);
    const unsigned sum = (negative ? ~byte & 0xffU : byte) + carry;
    magnitude.push_back(sum & 0xffU);
    carry = sum >> 8;
  }
  if (carry != 0) magnitude.push_back(carry);
  while (!magnitude.empty() && magnitude.back() == 0) magnitude.pop_back();
  std::string out;
  constexpr std::string_view figures = "0123456789abcdef";
  constexpr std::size_t most_decimal = 1024;
  if (magnitude.size() > most_decimal) {
    for (const unsigned byte : magnitude) (out += figures[byte & 15U]) += figures[byte >> 4];
    out += "x0";
  }
  while (magnitude.size() <= most_decimal && !magnitude.empty()) {
    unsigned rest = 0;
    for (std::size_t i = magnitude.size(); i-- > 0;) {
      const unsigned all = rest << 8 | magnitude[i];
      magnitude[i] = all / 10;
      rest = all % 10;
    }
    out += figures[rest];
    while (!magnitude.empty() && magnitude.back() == 0) magnitude.pop_back();
  }
  if (negative) out += '-';
  std::reverse(out.begin(), out.end());
  return out;
}

class document_maker {
 public:
  document_maker(const pickle_node_limits& limits, const document_tensors& tensors)
      : budget_{.limits = limits}, tensors_(tensors.elements), arrays_(tensors.arrays) {}

  result<json> convert(const pickle_value& value, std::size_t depth) {
    if (++budget_.values > budget_.limits.max_values)
      return error{errc::resource_limit,
                   "it has more than " + std::to_string(budget_.limits.max_values) + " values"};
    switch (value.kind()) {
      case pickle_kind::none: return json();
      case pickle_kind::boolean: return json(*value.to_bool());
      case pickle_kind::real: return json(*value.to_double());
      case pickle_kind::string: return text(*value.if_string());
      case pickle_kind::integer:
        if (const auto narrow = value.to_int64()) return json(*narrow);
        if (const auto wide = value.to_uint64()) return json(*wide);
        return text(integer_text(*value.if_wide_integer()));
      case pickle_kind::bytes: return bytes(*value.if_bytes());
      case pickle_kind::global: return text(name_of(value));
      case pickle_kind::list:
      case pickle_kind::tuple:
      case pickle_kind::set:
      case pickle_kind::dict:
      case pickle_kind::call:
      case pickle_kind::persistent: break;
    }
    if (arrays_ != nullptr)
      if (const auto named = arrays_->find(value.index()); named != arrays_->end()) {
        ZARRPOINT_CHECK(budget_.charge(named->second.size()));
        return json(json::object{{"__array__", named->second}});
      }
    if (depth >= budget_.limits.max_depth)
      return omitted("nested deeper than " + std::to_string(budget_.limits.max_depth) + " levels");
    for (const pickle_value& above : path_)
      if (above.is_same(value)) return omitted("it lies within itself");
    path_.push_back(value);
    auto out = container(value, depth);
    path_.pop_back();
    return out;
  }

 private:
  static json omitted(std::string why) {
    json out;
    out.set("__omitted__", std::move(why));
    return out;
  }
  static std::string name_of(const pickle_value& global) {
    std::string out(global.module());
    if (!out.empty()) out += '.';
    return out.append(global.name());
  }

  result<json> text(std::string_view of) {
    ZARRPOINT_CHECK(budget_.charge(of.size()));
    return json(of);
  }
  result<json> bytes(bytes_view of) {
    ZARRPOINT_CHECK(budget_.charge(zarrpoint::detail::base64_size(of.size())));
    return json(json::object{{"$", "text"}, {"base64", zarrpoint::detail::to_base64(of)}});
  }
  /// Of elements in row-major order, little-endian.
  result<json> leaf(const tensor_spec& spec, bytes_view elements) {
    ZARRPOINT_CHECK(budget_.charge(zarrpoint::detail::base64_size(elements.size())));
    json::array shape;
    for (const index_t extent : spec.shape) shape.emplace_back(extent);
    return json(json::object{{"$", "tensor"},
                             {"dtype", to_string(spec.type)},
                             {"shape", std::move(shape)},
                             {"base64", zarrpoint::detail::to_base64(elements)}});
  }

  result<json> container(const pickle_value& value, std::size_t depth) {
    switch (value.kind()) {
      case pickle_kind::dict: return members_of(value, depth);
      case pickle_kind::call: return call(value, depth);
      case pickle_kind::persistent: {
        return persistent(value, depth);
      }
      default: return elements_of(value, depth);
    }
  }

  result<json> persistent(const pickle_value& value, std::size_t depth) {
    // Before PyTorch 1.6 the class of a module was kept there, with its source.
    const pickle_value id = value.element(0);
    if (id.element_count() == 4 && id.element(0).if_string() != nullptr &&
        *id.element(0).if_string() == "module")
      return convert(id.element(1), depth + 1);
    json out;
    const auto storage = storage_id_of(value);
    if (storage && tensors_ == nullptr) {  // the name in the file is none of its value
      out.set("__persistent__",
              json::array{"storage", global_name(storage->type), std::to_string(storage->part)});
      return out;
    }
    ZARRPOINT_TRY(told, convert(id, depth + 1));
    out.set("__persistent__", std::move(told));
    if (!storage) return out;
    ZARRPOINT_TRY(stored, tensors_->storage(storage->name));
    ZARRPOINT_CHECK(budget_.charge(zarrpoint::detail::base64_size(stored->size())));
    std::vector<std::byte> all(static_cast<std::size_t>(stored->size()));
    ZARRPOINT_CHECK(stored->read(0, all));
    out.set("base64", zarrpoint::detail::to_base64(all));
    return out;
  }

  result<json> elements_of(const pickle_value& value, std::size_t depth) {
    json::array out;
    for (std::size_t i = 0; i < value.element_count(); ++i) {
      ZARRPOINT_TRY(one, convert(value.element(i), depth + 1));
      out.push_back(std::move(one));
    }
    return json(std::move(out));
  }

  result<json> members_of(const pickle_value& value, std::size_t depth) {
    ZARRPOINT_TRY(keys, document_keys::of(value, budget_));
    if (!keys.are_text) return pairs_of(value, depth);
    json::object out;
    for (std::size_t i = 0; i < keys.texts.size(); ++i) {
      ZARRPOINT_TRY(one, convert(value.member(keys.members[i]), depth + 1));
      out.push_back({std::move(keys.texts[i]), std::move(one)});
    }
    json made(std::move(out));
    if (made.find("$") != nullptr && is_document_word(made)) return made;
    for (json::member& one : *made.if_object())
      if (is_escaped(one.key)) one.key.insert(0, 1, '$');
    return made;
  }

  /// As the call of `dict` that gives the same.
  result<json> pairs_of(const pickle_value& value, std::size_t depth) {
    json::array pairs;
    for (std::size_t i = 0; i < value.member_count(); ++i) {
      ZARRPOINT_TRY(key, convert(value.key(i), depth + 4));
      ZARRPOINT_TRY(one, convert(value.member(i), depth + 4));
      pairs.emplace_back(json::array{std::move(key), std::move(one)});
    }
    return json(json::object{{"__class__", "builtins.dict"},
                             {"__args__", json::array{json(std::move(pairs))}}});
  }

  result<json> call(const pickle_value& value, std::size_t depth) {
    ZARRPOINT_TRY(known, known_call(value, depth));
    if (known) return *std::move(known);
    return object_of(value, depth);
  }

  /// What has a form of its own; nothing for others.
  result<std::optional<json>> known_call(const pickle_value& value, std::size_t depth) {
    const pickle_value arguments = value.arguments();
    const bool is_plain = value.keywords().is_none() && value.state_count() == 0;
    const auto some = [](result<json> made) -> result<std::optional<json>> {
      if (!made) return std::move(made).failure();
      return std::optional<json>(*std::move(made));
    };
    if (is_plain && value.element_count() == 0) {
      const bool is_empty = arguments.element_count() == 0;
      if ((value.is_call_of("collections", "OrderedDict") && is_empty) ||
          value.is_call_of("collections", "defaultdict"))
        return some(members_of(value, depth));
      if (arguments.element_count() == 1 && value.member_count() == 0) {
        const pickle_value first = arguments.element(0);
        if (value.is_call_of("collections", "Counter") && first.kind() == pickle_kind::dict)
          return some(members_of(first, depth));
        const bool is_list = first.kind() == pickle_kind::list ||
                             first.kind() == pickle_kind::tuple || first.kind() == pickle_kind::set;
        if (is_list &&
            (value.is_call_of("builtins", "set") || value.is_call_of("builtins", "frozenset") ||
             value.is_call_of("torch", "Size")))
          return some(elements_of(first, depth));
      }
      // What has a name within another: `Class.function`, or an enumerator.
      if (arguments.element_count() == 2 && value.is_call_of("builtins", "getattr") &&
          arguments.element(0).kind() == pickle_kind::global &&
          arguments.element(1).if_string() != nullptr)
        return some(text(name_of(arguments.element(0)) + "." + *arguments.element(1).if_string()));
    }
    if (const auto coded = to_bytes(value)) return some(bytes(*coded));
    if (const auto array = read_numpy(value)) {
      if (is_numpy_call(value, "multiarray", "scalar"))
        if (auto number = number_of(*array)) return std::optional<json>(*std::move(number));
      return some(leaf(array->spec, array->elements));
    }
    if (tensors_ == nullptr) return std::optional<json>();
    // A subclass and attributes would be lost with the elements alone.
    const auto made = tensor_call_of(value);
    if (!made || !made->is_plain() || made->subclass) return std::optional<json>();
    for (const pickle_value& state : made->states)
      if (!state.is_none() && (state.kind() != pickle_kind::dict || state.member_count() != 0))
        return std::optional<json>();
    return tensor_leaf(value);
  }

  /// Nothing for a tensor that we have no type for, or cannot read.
  result<std::optional<json>> tensor_leaf(const pickle_value& value) {
    const auto unless_unsupported = [](error why) -> result<std::optional<json>> {
      if (why.code == errc::unsupported) return std::optional<json>();
      return why;
    };
    const auto found = tensors_->tensor(value);
    if (!found) return unless_unsupported(found.failure());
    ZARRPOINT_TRY(size, byte_count(found->spec));
    // It may be many times what its storage is.
    if (size > budget_.limits.max_text - budget_.text) ZARRPOINT_CHECK(budget_.charge(size));
    ZARRPOINT_TRY(copy, tensor::make(found->spec));
    if (auto read = tensors_->read(*found, copy.mutable_view()); !read)
      return unless_unsupported(std::move(read).failure());
    const mutable_bytes elements(static_cast<std::byte*>(copy.mutable_view().data),
                                 static_cast<std::size_t>(size));
    const std::size_t scalar = found->spec.type.scalar_size();
    if (native_endian != endian::little && scalar > 1)
      zarrpoint::detail::byteswap_elements(elements, scalar);
    ZARRPOINT_TRY(out, leaf(found->spec, elements));
    return std::optional<json>(std::move(out));
  }

  static bool is_reserved(std::string_view key) {
    for (const std::string_view one :
         {"__class__", "__args__", "__kwargs__", "__items__", "__elements__", "__state__"})
      if (key == one) return true;
    return false;
  }
  /// Whether a state is a set of attributes: a dict by names that are free.
  static bool is_attributes(const pickle_value& state) {
    if (state.kind() != pickle_kind::dict) return false;
    for (std::size_t i = 0; i < state.member_count(); ++i) {
      const std::string* name = state.key(i).if_string();
      if (name == nullptr || name->starts_with('$') || is_reserved(*name)) return false;
    }
    return true;
  }
  /// The members of an object while it is made: one may be set any number of times.
  class object_maker {
   public:
    /// Replaces a member of that name.
    void set(std::string name, json value) {
      const auto [place, is_new] = places_.try_emplace(name, members_.size());
      if (is_new) {
        members_.push_back({std::move(name), std::move(value)});
      } else {
        members_[place->second].value = std::move(value);
      }
    }
    json finish() { return json(std::move(members_)); }

   private:
    json::object members_;
    std::unordered_map<std::string, std::size_t> places_;
  };

  /// Appends attributes; the last of a name counts.
  result<bool> add_attributes(const pickle_value& state, object_maker& out, std::size_t depth) {
    if (state.is_none()) return true;
    if (!is_attributes(state)) return false;
    ZARRPOINT_TRY(made, members_of(state, depth));
    for (json::member& one : *made.if_object()) out.set(std::move(one.key), std::move(one.value));
    return true;
  }
  /// A dict, or as objects with slots have it, a pair of dicts.
  result<bool> add_state(const pickle_value& state, object_maker& out, std::size_t depth) {
    if (state.kind() == pickle_kind::dict) return add_attributes(state, out, depth);
    if (state.kind() != pickle_kind::tuple || state.element_count() != 2) return false;
    for (std::size_t i = 0; i < 2; ++i)
      if (!state.element(i).is_none() && !is_attributes(state.element(i))) return false;
    ZARRPOINT_CHECK(add_attributes(state.element(0), out, depth));
    return add_attributes(state.element(1), out, depth);
  }

  result<json> object_of(const pickle_value& value, std::size_t depth) {
    object_maker out;
    const pickle_value arguments = value.arguments();
    // How protocols 0 and 1 wrote an object of which only the state counts.
    const bool is_rebuilt = value.is_call_of("copyreg", "_reconstructor") &&
                            arguments.element_count() == 3 && arguments.element(2).is_none();
    pickle_value its_class = is_rebuilt ? arguments.element(0) : value.callable();
    pickle_value keywords = value.keywords();
    // How protocols 2 and 3 make an object with keywords: `partial(Class.__new__, Class, **them)`.
    if (its_class.is_call_of("functools", "partial") && its_class.state_count() == 1 &&
        its_class.state(0).element_count() == 4 && keywords.is_none()) {
      const pickle_value bound = its_class.state(0);  // function, arguments, keywords, attributes
      if (bound.element(1).element_count() == 1 &&
          bound.element(0).is_call_of("builtins", "getattr")) {
        keywords = bound.element(2);
        its_class = bound.element(1).element(0);
      }
    }
    ZARRPOINT_TRY(name, convert(its_class, depth + 1));
    out.set("__class__", std::move(name));
    if (!is_rebuilt && arguments.element_count() != 0) {
      ZARRPOINT_TRY(given, elements_of(arguments, depth + 1));
      out.set("__args__", std::move(given));
    }
    if (keywords.member_count() != 0) {
      ZARRPOINT_TRY(given, members_of(keywords, depth + 1));
      out.set("__kwargs__", std::move(given));
    }
    if (value.member_count() != 0) {
      ZARRPOINT_TRY(items, members_of(value, depth + 1));
      out.set("__items__", std::move(items));
    }
    if (value.element_count() != 0) {
      ZARRPOINT_TRY(elements, elements_of(value, depth + 1));
      out.set("__elements__", std::move(elements));
    }
    for (std::size_t i = 0; i < value.state_count(); ++i) {
      ZARRPOINT_TRY(added, add_state(value.state(i), out, depth));
      if (added) continue;
      ZARRPOINT_TRY(state, convert(value.state(i), depth + 1));
      out.set("__state__", std::move(state));
    }
    return out.finish();
  }

  document_budget budget_;
  const file* tensors_;
  const std::unordered_map<std::size_t, std::string>* arrays_;
  std::vector<pickle_value> path_;  ///< from the root to where the walk is
};

ZARRPOINT_INLINE result<json> pickle_to_document(const pickle_value& value,
                                                 const pickle_node_limits& limits,
                                                 const document_tensors& tensors) {
  return document_maker(limits, tensors).convert(value, 0);
}

}}  // namespace torch::detail

namespace torch {

ZARRPOINT_INLINE result<json> to_document(const file& from, const pickle_node_limits& limits) {
  return detail::pickle_to_document(from.root(), limits, {.elements = &from});
}

}  // namespace torch

}}  // namespace zarrpoint::v0

namespace zarrpoint { inline namespace v0 { namespace torch { namespace detail {

// -------------------------------------------------------------------------------- torch_writer.hpp

ZARRPOINT_INLINE bool is_value_word(const json& of) {
  return of.if_object() != nullptr && of.find("$") != nullptr && is_document_word(of) &&
         *of.find("$")->if_string() != "hole";
}

/// The number of a word that has bits.
ZARRPOINT_INLINE double number_of_word(const json& word) {
  const std::string& digits = *word.find("bits")->if_string();
  std::uint64_t bits = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
  return std::bit_cast<double>(bits);
}

/// The bytes of a word that has text.
ZARRPOINT_INLINE value bytes_of_word(const json& word) {
  const auto text = zarrpoint::detail::from_base64(*word.find("base64")->if_string());
  const bytes_view bytes = as_bytes(*text);
  return value(value::bytes(bytes.begin(), bytes.end()));
}

ZARRPOINT_INLINE bool is_tensor_word(const json& of) {
  const std::string* const word = of.find_string("$");
  return word != nullptr && *word == "tensor" && of.if_object()->size() == 4 &&
         of.find("dtype") != nullptr && of.find("shape") != nullptr && of.find("base64") != nullptr;
}

ZARRPOINT_INLINE void unescape_keys(json::object& members) {
  const auto is_given = [](const std::string& key) {
    return key.starts_with("$$") && !key.starts_with("$$$");
  };
  const auto renamed = [&] {
    json::object out;
    for (const json::member& one : members)
      out.push_back({is_given(one.key) ? one.key.substr(1) : one.key, one.value});
    return json(std::move(out));
  };
  const auto is_at = [&](std::string_view key) {
    return std::any_of(members.begin(), members.end(),
                       [&](const json::member& one) { return one.key == key; });
  };
  if (members.size() <= 2 && is_at("$$") && is_document_word(renamed())) return;
  for (json::member& one : members)
    if (is_given(one.key) && !is_at(std::string_view(one.key).substr(1))) one.key.erase(0, 1);
}

inline json& json_of(json& element) { return element; }
inline json& json_of(json::member& member) { return member.value; }
inline std::string place_of(const json&, std::size_t i) { return "[" + std::to_string(i) + "]"; }
inline std::string place_of(const json::member& member, std::size_t) {
  return zarrpoint::detail::in_quotes(member.key);
}

result<std::optional<value>> value_unless_plain(json& from);

/// What becomes of the elements or members of a document: nothing while all of them are plain.
template <class Elements, class Make>
result<std::optional<value>> values_unless_plain(Elements& from, const Make& make) {
  using out_type = std::vector<decltype(make(from[0], value()))>;
  std::optional<out_type> out;
  for (std::size_t i = 0; i < from.size(); ++i) {
    json& each = json_of(from[i]);
    auto made = value_unless_plain(each);
    if (!made) return std::move(made).failure().at(place_of(from[i], i));
    if (!*made && !out) continue;
    if (!out) {
      out.emplace();
      for (std::size_t j = 0; j < i; ++j)
        out->push_back(make(from[j], value(std::move(json_of(from[j])))));
    }
    out->push_back(make(from[i], *made ? **std::move(made) : value(std::move(each))));
  }
  if (!out) return std::optional<value>();
  return std::optional(value(*std::move(out)));
}

/// What a document becomes that no node can be; nothing for others, in which numbers and keys are
/// then what Python has.
ZARRPOINT_INLINE result<std::optional<value>> value_unless_plain(json& from) {
  if (json::array* const elements = from.if_array())
    return values_unless_plain(*elements, [](json&, value to) { return to; });
  json::object* const members = from.if_object();
  if (members == nullptr) return std::optional<value>();
  if (is_tensor_word(from))
    return error{errc::unsupported, "a tensor in a document has no place among values of Python"};
  if (is_value_word(from)) {
    if (from.find("bits") == nullptr) return std::optional(bytes_of_word(from));
    from = json(number_of_word(from));
    return std::optional<value>();
  }
  unescape_keys(*members);
  return values_unless_plain(*members, [](json::member& one, value to) {
    return value::member{std::move(one.key), std::move(to)};
  });
}

ZARRPOINT_INLINE result<value> document_value(json from) {
  ZARRPOINT_TRY(made, value_unless_plain(from));
  return made ? *std::move(made) : value(std::move(from));
}

}}}}  // namespace zarrpoint::v0::torch::detail

namespace zarrpoint { inline namespace v0 {

namespace torch {

ZARRPOINT_INLINE value::value() = default;

ZARRPOINT_INLINE value::value(const value&) = default;

ZARRPOINT_INLINE value::value(value&&) noexcept = default;

ZARRPOINT_INLINE value& value::operator=(const value&) = default;

ZARRPOINT_INLINE value& value::operator=(value&&) noexcept = default;

ZARRPOINT_INLINE value::~value() = default;

ZARRPOINT_INLINE value::value(json from) : content_(std::move(from)) {}

ZARRPOINT_INLINE value::value(bytes from) : content_(std::move(from)) {}

ZARRPOINT_INLINE value::value(host_view from) : content_(std::move(from)) {}

ZARRPOINT_INLINE value::value(list from) : content_(std::move(from)) {}

ZARRPOINT_INLINE value::value(dict from) : content_(std::move(from)) {}

}  // namespace torch

namespace torch { namespace detail {

/// The pickle of a value; the tensors in it get storages in the order in which they come.
class torch_pickler {
 public:
  result<void> write(const value& from, std::size_t levels = 100) {
    if (levels == 0) return error{errc::invalid_argument, "it is nested deeper than 100 levels"};
    if (const json* plain = std::get_if<json>(&from.content())) return to_.value(*plain, levels);
    if (const auto* bytes = std::get_if<value::bytes>(&from.content())) return to_.bytes(*bytes);
    if (const host_view* tensor = std::get_if<host_view>(&from.content())) return write(*tensor);
    if (const auto* elements = std::get_if<value::list>(&from.content()))
      return to_.list(elements->size(), [&](std::size_t i) {
        return write((*elements)[i], levels - 1).at("[" + std::to_string(i) + "]");
      });
    const auto& members = std::get<value::dict>(from.content());
    return to_.dict(members.size(), [&](std::size_t i) -> result<void> {
      ZARRPOINT_CHECK(to_.string(members[i].key));
      return write(members[i].to, levels - 1).at(members[i].key);
    });
  }

  std::string finish() && { return std::move(to_).finish(); }
  const std::vector<host_view>& storages() const noexcept { return storages_; }

 private:
  /// A call of `_rebuild_tensor_v2`; of `_rebuild_tensor_v3` for types whose storages have no
  /// class.
  result<void> write(const host_view& tensor) {
    const auto name = dtype_name(tensor.type.kind());
    if (!name)
      return error{errc::unsupported,
                   "PyTorch has no tensors of " + std::string(to_string(tensor.type))};
    ZARRPOINT_CHECK(byte_count(tensor.spec()));
    const auto typed = storage_name(tensor.type.kind());
    to_.global("torch._utils", typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    ZARRPOINT_CHECK(to_.tuple(typed ? 6 : 7, [&](std::size_t part) -> result<void> {
      switch (part) {
        case 0: return write_storage(tensor);
        case 1: return to_.integer(0), result<void>();
        case 2: return write(tensor.shape);
        case 3: return write(row_major_strides(tensor.shape, 1));
        case 4: return to_.boolean(false), result<void>();
        case 5:
          to_.global("collections", "OrderedDict");
          ZARRPOINT_CHECK(write(dims()));
          return to_.reduce(), result<void>();
        default: return to_.global("torch", *name), result<void>();
      }
    }));
    to_.reduce();
    return {};
  }

  result<void> write(const dims& numbers) {
    return to_.tuple(numbers.rank(),
                     [&](std::size_t i) { return to_.integer(numbers[i]), result<void>(); });
  }

  result<void> write_storage(const host_view& tensor) {
    const auto typed = storage_name(tensor.type.kind());
    const std::uint64_t count = static_cast<std::uint64_t>(element_count(tensor.shape).value_or(0));
    ZARRPOINT_CHECK(to_.tuple(5, [&](std::size_t part) -> result<void> {
      switch (part) {
        case 0: return to_.string("storage");
        case 1:
          if (typed) return to_.global("torch", *typed), result<void>();
          return to_.global("torch.storage", "UntypedStorage"), result<void>();
        case 2: return to_.string(std::to_string(storages_.size()));
        case 3: return to_.string("cpu");
        default: to_.unsigned_integer(typed ? count : count * tensor.type.size()); return {};
      }
    }));
    to_.persistent();
    storages_.push_back(tensor);
    return {};
  }

  pickle_writer to_;
  std::vector<host_view> storages_;
};

ZARRPOINT_INLINE result<value_pickle> pickle_value_of(const value& what) {
  torch_pickler pickle;
  ZARRPOINT_CHECK(pickle.write(what));
  std::vector<host_view> storages = pickle.storages();
  return value_pickle{std::move(pickle).finish(), std::move(storages)};
}

/// The elements in row-major order as a member of the archive.
ZARRPOINT_INLINE result<void> write_torch_storage(const zip_writer& archive, const store_key& key,
                                                  const host_view& tensor) {
  ZARRPOINT_TRY(bytes, byte_count(tensor.spec()));
  if (is_dense(tensor)) return archive.put(key, {tensor.data, bytes});
  ZARRPOINT_TRY(scratch, buffer::allocate(bytes));
  copy_elements(dense_view(scratch.data(), tensor.spec()), tensor);
  return archive.put(key, scratch.bytes());
}

}}  // namespace torch::detail

namespace torch {

ZARRPOINT_INLINE result<void> save(const any_store& store, const store_key& key, const value& what,
                                   std::string_view prefix) {
  const std::string called = "save " + store.describe(key);
  ZARRPOINT_TRY(root, store_key::parse(prefix).at(called));
  if (root.is_root() || root.str() != root.name())
    return error{errc::invalid_argument,
                 called + ": the prefix must be one path segment, without \"/\""};
  ZARRPOINT_TRY(pickle, detail::pickle_value_of(what).at(called));
  const std::vector<host_view>& storages = pickle.storages;
  ZARRPOINT_TRY(archive, zip_writer::begin(store, key));
  const auto put = [&](const std::string& name, std::string_view text) -> result<void> {
    ZARRPOINT_TRY(member, root.child(name));
    return archive.put(member, as_bytes(text));
  };
  ZARRPOINT_CHECK(put("data.pkl", pickle.bytes));
  ZARRPOINT_CHECK(put("byteorder", native_endian == endian::little ? "little" : "big"));
  for (std::size_t i = 0; i < storages.size(); ++i) {
    ZARRPOINT_TRY(member, root.child("data/" + std::to_string(i)));
    ZARRPOINT_CHECK(detail::write_torch_storage(archive, member, storages[i]).at(called));
  }
  ZARRPOINT_CHECK(put("version", "3\n"));
  return archive.finish();
}

}  // namespace torch

}}  // namespace zarrpoint::v0

namespace zarrpoint { inline namespace v0 { namespace torch { namespace detail {

// --------------------------------------------------------------------------------- torch_store.hpp

ZARRPOINT_INLINE std::string_view python_class(pickle_kind kind) {
  switch (kind) {
    case pickle_kind::none: return "NoneType";
    case pickle_kind::boolean: return "bool";
    case pickle_kind::integer: return "int";
    case pickle_kind::real: return "float";
    case pickle_kind::string: return "str";
    case pickle_kind::bytes: return "bytes";
    case pickle_kind::tuple: return "tuple";
    default: return "object";
  }
}

ZARRPOINT_INLINE error names_too_long() {
  return {errc::resource_limit, "the names in it take more than its limits allow"};
}

/// The text of any key: of one that JSON has not, that of its document, which is charged.
ZARRPOINT_INLINE result<std::string> name_of_key(const pickle_value& key, std::uint64_t& left) {
  if (auto text = key_text(key)) return *std::move(text);
  constexpr std::size_t most = 1024;
  const auto document =
      pickle_to_document(key, {.max_depth = 8, .max_values = most, .max_text = most});
  std::string out = document ? dump_json(*document, json_style::compact) : "(key)";
  const std::uint64_t cost = document ? out.size() : most;
  if (cost > left) return names_too_long();
  left -= cost;
  return out;
}

ZARRPOINT_INLINE result<std::vector<named_member>> named_members(const pickle_value& dict,
                                                                 std::uint64_t& left) {
  std::vector<named_member> out;
  std::unordered_map<std::size_t, std::size_t> values;  // of the keys, with their places in `out`
  for (std::size_t i = 0; i < dict.member_count(); ++i) {
    const auto [place, is_new] = values.try_emplace(dict.key(i).index(), out.size());
    is_new ? out.push_back({{}, i}) : void(out[place->second].member = i);
  }
  std::unordered_map<std::string, unsigned> kinds;  // of the keys of a text, as bits
  const auto bit = [](const pickle_value& key) { return 1U << static_cast<unsigned>(key.kind()); };
  for (named_member& one : out) {
    const pickle_value key = dict.key(one.member);
    ZARRPOINT_TRY(name, name_of_key(key, left));
    one.name = std::move(name);
    kinds[one.name] |= bit(key);
  }
  std::unordered_map<std::string, std::size_t> places;
  std::size_t count = 0;
  for (named_member& one : out) {
    const pickle_value key = dict.key(one.member);
    if (key.kind() != pickle_kind::string && kinds[one.name] != bit(key))
      one.name.append(" (").append(python_class(key.kind())).append(")");
    const auto [place, is_new] = places.try_emplace(one.name, count);
    // Other keys may differ although their texts do not: tensors, or what is too long for a text.
    if (!is_new && key_text(key) && dict.key(out[place->second].member).kind() == key.kind()) {
      out[place->second].member = one.member;
      continue;
    }
    if (&out[count] != &one) out[count] = std::move(one);
    ++count;
  }
  out.resize(count);
  return out;
}

}}}}  // namespace zarrpoint::v0::torch::detail

namespace zarrpoint { inline namespace v0 { namespace torch {

ZARRPOINT_INLINE result<archive_store> archive_store::open(any_store base, store_key at,
                                                           const pickle_limits& limits) {
  const std::string name = base.describe(at);
  if (at.str().ends_with(".json")) return open_model(base, at, limits).at("open " + name);
  ZARRPOINT_TRY(from, v0::detail::open_existing(base, at));
  return open(std::move(from), limits);
}

ZARRPOINT_INLINE result<archive_store> archive_store::open_model(const any_store& base,
                                                                 const store_key& at,
                                                                 const pickle_limits& limits) {
  return guarded([&]() -> result<archive_store> {
    ZARRPOINT_TRY(model, v0::detail::model_files::at(base, at));
    const auto add = [&](const std::string&, std::unique_ptr<blob> from,
                         v0::detail::virtual_hierarchy& to) -> result<void> {
      ZARRPOINT_TRY(opened, torch::open(std::move(from), limits));
      return detail::add_archive(v0::detail::make_counted<const file>(std::move(opened)), limits,
                                 to);
    };
    v0::detail::virtual_hierarchy tree;
    ZARRPOINT_TRY(told, model.join(add, tree));
    json attributes{json::object{}};
    if (!told.is_null())
      attributes.set(std::string(v0::detail::weight_map_member), std::move(told));
    ZARRPOINT_CHECK(tree.finish(attributes));
    return archive_store(std::move(tree), base.describe(at));
  });
}

ZARRPOINT_INLINE result<archive_store> archive_store::open(std::unique_ptr<blob> from,
                                                           const pickle_limits& limits) {
  const std::string name = from->name();
  return guarded([&]() -> result<archive_store> {
    ZARRPOINT_TRY(opened, torch::open(std::move(from), limits));
    v0::detail::virtual_hierarchy tree;
    ZARRPOINT_CHECK(
        detail::add_archive(v0::detail::make_counted<const file>(std::move(opened)), limits, tree)
            .at("open " + name));
    ZARRPOINT_CHECK(tree.finish({}).at("open " + name));
    return archive_store(std::move(tree), name);
  });
}

namespace detail {

inline constexpr const char* files_index = "pytorch_model.bin.index.json";

}  // namespace detail

ZARRPOINT_INLINE result<claim> format::sniff(const place_look& at) {
  if (at.is_directory()) {
    ZARRPOINT_TRY(is_there, v0::detail::has_index(at, detail::files_index));
    return is_there ? claim::plain : claim::none;
  }
  if (at.head().starts_with('{') && at.place().ends_with(".bin.index.json")) return claim::plain;
  if (at.head().size() >= 32 && is_legacy_file(as_bytes(at.head().substr(0, 32))))
    return claim::sure;
  if (!at.head().starts_with("PK\x03\x04")) return claim::none;
  ZARRPOINT_TRY(from, at.open_file());
  const auto archive = zip_store::open(std::move(from));
  const auto prefix = archive ? file::find_prefix(*archive) : std::optional<store_key>();
  return prefix && *prefix ? claim::sure : claim::none;
}

ZARRPOINT_INLINE result<stored_place> format::open(const place_look& at, const place_use& use) {
  if (at.is_directory() || at.head().starts_with('{')) {
    ZARRPOINT_TRY(index, v0::detail::index_at(at, detail::files_index));
    ZARRPOINT_TRY(model, archive_store::open(std::move(index.store), std::move(index.key),
                                             pickle_limits{}.within(use.memory)));
    return at.within(std::move(model), "torch.save in files");
  }
  ZARRPOINT_TRY(from, at.open_file());
  ZARRPOINT_TRY(opened, archive_store::open(std::move(from), pickle_limits{}.within(use.memory)));
  return at.within(std::move(opened), "torch.save");
}

}}}  // namespace zarrpoint::v0::torch

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/torch/file_bodies.hpp>
#endif
