// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/interop/pickle/pickle_convert.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>
#include <zarrpoint/interop/torch/document_keys.hpp>
#include <zarrpoint/interop/torch/pickled_numpy.hpp>
#include <zarrpoint/interop/torch/torch_document.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/memory/byteswap.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace torch { namespace detail {

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

  result<node> convert(const pickle_value& value, std::size_t depth) {
    if (++budget_.values > budget_.limits.max_values)
      return error{errc::resource_limit,
                   "more than " + std::to_string(budget_.limits.max_values) + " values"};
    switch (value.kind()) {
      case pickle_kind::none: return node();
      case pickle_kind::boolean: return node(*value.to_bool());
      case pickle_kind::real: return node(*value.to_double());
      case pickle_kind::string: return text(*value.if_string());
      case pickle_kind::integer:
        if (const auto narrow = value.to_int64()) return node(*narrow);
        if (const auto wide = value.to_uint64()) return node(*wide);
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
        return node(node::object{{"__array__", named->second}});
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
  static node omitted(std::string why) {
    node out;
    out.set("__omitted__", std::move(why));
    return out;
  }
  static std::string name_of(const pickle_value& global) {
    std::string out(global.module());
    if (!out.empty()) out += '.';
    return out.append(global.name());
  }

  result<node> text(std::string_view of) {
    ZARRPOINT_CHECK(budget_.charge(of.size()));
    return node(of);
  }
  result<node> bytes(bytes_view of) {
    ZARRPOINT_CHECK(budget_.charge(zarrpoint::detail::base64_size(of.size())));
    return node(node::object{{"$", "text"}, {"base64", zarrpoint::detail::to_base64(of)}});
  }
  /// Of elements in row-major order, little-endian.
  result<node> leaf(const tensor_spec& spec, bytes_view elements) {
    ZARRPOINT_CHECK(budget_.charge(zarrpoint::detail::base64_size(elements.size())));
    node::array shape;
    for (const index_t extent : spec.shape) shape.emplace_back(extent);
    return node(node::object{{"$", "tensor"},
                             {"dtype", to_string(spec.type)},
                             {"shape", std::move(shape)},
                             {"base64", zarrpoint::detail::to_base64(elements)}});
  }

  result<node> container(const pickle_value& value, std::size_t depth) {
    switch (value.kind()) {
      case pickle_kind::dict: return members_of(value, depth);
      case pickle_kind::call: return call(value, depth);
      case pickle_kind::persistent: {
        return persistent(value, depth);
      }
      default: return elements_of(value, depth);
    }
  }

  result<node> persistent(const pickle_value& value, std::size_t depth) {
    // Before PyTorch 1.6 the class of a module was kept there, with its source.
    const pickle_value id = value.element(0);
    if (id.element_count() == 4 && id.element(0).if_string() != nullptr &&
        *id.element(0).if_string() == "module")
      return convert(id.element(1), depth + 1);
    node out;
    const auto storage = storage_id_of(value);
    if (storage && tensors_ == nullptr) {  // the name in the file is none of its value
      out.set("__persistent__",
              node::array{"storage", global_name(storage->type), std::to_string(storage->part)});
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

  result<node> elements_of(const pickle_value& value, std::size_t depth) {
    node::array out;
    for (std::size_t i = 0; i < value.element_count(); ++i) {
      ZARRPOINT_TRY(one, convert(value.element(i), depth + 1));
      out.push_back(std::move(one));
    }
    return node(std::move(out));
  }

  result<node> members_of(const pickle_value& value, std::size_t depth) {
    ZARRPOINT_TRY(keys, document_keys::of(value, budget_));
    if (!keys.are_text) return pairs_of(value, depth);
    node::object out;
    for (std::size_t i = 0; i < keys.texts.size(); ++i) {
      ZARRPOINT_TRY(one, convert(value.member(keys.members[i]), depth + 1));
      out.push_back({std::move(keys.texts[i]), std::move(one)});
    }
    node made(std::move(out));
    if (made.find("$") != nullptr && is_document_word(made)) return made;
    for (node::member& one : *made.if_object())
      if (is_escaped(one.key)) one.key.insert(0, 1, '$');
    return made;
  }

  /// As the call of `dict` that gives the same.
  result<node> pairs_of(const pickle_value& value, std::size_t depth) {
    node::array pairs;
    for (std::size_t i = 0; i < value.member_count(); ++i) {
      ZARRPOINT_TRY(key, convert(value.key(i), depth + 4));
      ZARRPOINT_TRY(one, convert(value.member(i), depth + 4));
      pairs.emplace_back(node::array{std::move(key), std::move(one)});
    }
    return node(node::object{{"__class__", "builtins.dict"},
                             {"__args__", node::array{node(std::move(pairs))}}});
  }

  result<node> call(const pickle_value& value, std::size_t depth) {
    ZARRPOINT_TRY(known, known_call(value, depth));
    if (known) return *std::move(known);
    return object_of(value, depth);
  }

  /// What has a form of its own; nothing for others.
  result<std::optional<node>> known_call(const pickle_value& value, std::size_t depth) {
    const pickle_value arguments = value.arguments();
    const bool is_plain = value.keywords().is_none() && value.state_count() == 0;
    const auto some = [](result<node> made) -> result<std::optional<node>> {
      if (!made) return std::move(made).failure();
      return std::optional<node>(*std::move(made));
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
        if (auto number = number_of(*array)) return std::optional<node>(*std::move(number));
      return some(leaf(array->spec, array->elements));
    }
    if (tensors_ == nullptr) return std::optional<node>();
    // A subclass and attributes would be lost with the elements alone.
    const auto made = tensor_call_of(value);
    if (!made || !made->is_plain() || made->subclass) return std::optional<node>();
    for (const pickle_value& state : made->states)
      if (!state.is_none() && (state.kind() != pickle_kind::dict || state.member_count() != 0))
        return std::optional<node>();
    return tensor_leaf(value);
  }

  /// Nothing for a tensor that we have no type for, or cannot read.
  result<std::optional<node>> tensor_leaf(const pickle_value& value) {
    const auto unless_unsupported = [](error why) -> result<std::optional<node>> {
      if (why.code == errc::unsupported) return std::optional<node>();
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
    return std::optional<node>(std::move(out));
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
    void set(std::string name, node value) {
      const auto [place, is_new] = places_.try_emplace(name, members_.size());
      if (is_new) {
        members_.push_back({std::move(name), std::move(value)});
      } else {
        members_[place->second].value = std::move(value);
      }
    }
    node finish() { return node(std::move(members_)); }

   private:
    node::object members_;
    std::unordered_map<std::string, std::size_t> places_;
  };

  /// Appends attributes; the last of a name counts.
  result<bool> add_attributes(const pickle_value& state, object_maker& out, std::size_t depth) {
    if (state.is_none()) return true;
    if (!is_attributes(state)) return false;
    ZARRPOINT_TRY(made, members_of(state, depth));
    for (node::member& one : *made.if_object()) out.set(std::move(one.key), std::move(one.value));
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

  result<node> object_of(const pickle_value& value, std::size_t depth) {
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

ZARRPOINT_INLINE result<node> pickle_to_document(const pickle_value& value,
                                                 const pickle_node_limits& limits,
                                                 const document_tensors& tensors) {
  return document_maker(limits, tensors).convert(value, 0);
}

}}  // namespace torch::detail

namespace torch {

ZARRPOINT_INLINE result<node> to_document(const file& from, const pickle_node_limits& limits) {
  return detail::pickle_to_document(from.root(), limits, {.elements = &from});
}

}  // namespace torch

}}  // namespace zarrpoint::v0
