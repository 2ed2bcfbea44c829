// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "python_values.hpp"

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include "row_blocks.hpp"
#include "text.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace cli {

namespace {

/// What an array says of itself in an attribute that is text.
std::string_view attribute(const entry& of, std::string_view name) {
  const zp::json* const value = of.attributes.find(name);
  const std::string* const text = value != nullptr ? value->if_string() : nullptr;
  return text != nullptr ? std::string_view(*text) : std::string_view();
}

/// A number of Python: of the type that was asked for, and then of Python's.
template <class T>
zp::result<python_value> number(const conversion& what, const converted& each) {
  T made{};
  const entry& array = what.from.entries()[each.index];
  ZARRPOINT_TRY(one, zp::tensor::make(*array.spec));
  ZARRPOINT_CHECK(what.from.read(each.index, whole(array), one.mutable_view()));
  if (each.type != one.type()) {
    ZARRPOINT_TRY(cast, zp::tensor::make({each.type, {}}));
    ZARRPOINT_CHECK(zarrpoint::detail::cast_elements(cast.mutable_view(), one.view()));
    one = std::move(cast);
  }
  const zp::tensor_spec spec{zp::dtype_of<T>, {}};
  ZARRPOINT_CHECK(zarrpoint::detail::cast_elements(
      zp::dense_view(reinterpret_cast<std::byte*>(&made), spec), one.view()));
  return python_value(made);
}

zp::result<python_value> number_of(const conversion& what, const converted& each) {
  const std::string_view name = to_string(each.type);
  if (each.type == zp::dtype_kind::bool_) return number<bool>(what, each);
  if (name.starts_with("uint")) return number<std::uint64_t>(what, each);
  if (name.starts_with("int")) return number<std::int64_t>(what, each);
  return number<double>(what, each);
}

bool is_number_of_python(const entry& of, const zp::dtype& to) {
  const std::string_view name = to_string(to);
  const bool has_type = name == "bool" || name.starts_with("int") || name.starts_with("uint") ||
                        name.starts_with("float") || name == "bfloat16";
  return has_type && of.spec->shape.empty() &&
         (of.typestr == "scalar" || !attribute(of, "python_type").empty());
}

constexpr std::string_view budget_name = "half of --memory";

zp::result<python_value> blob(const conversion& what, const converted& each,
                              const value_budget& budget) {
  const entry& array = what.from.entries()[each.index];
  if (array.bytes() > budget.most())
    return zp::error{zp::errc::resource_limit, "it takes " + byte_text(array.bytes()) +
                                                   ", more than " + std::string(budget_name)};
  ZARRPOINT_TRY(bytes, zp::tensor::make(*array.spec));
  ZARRPOINT_CHECK(what.from.read(each.index, whole(array), bytes.mutable_view()));
  const zp::bytes_view view(bytes.view().data, byte_count(*array.spec).value_or(0));
  if (array.typestr == "json") return python_value(zp::json_text{std::string(zp::as_text(view))});
  return python_value(zp::byte_string{{view.begin(), view.end()}});
}

}  // namespace

zp::result<void> value_budget::take(std::uint64_t bytes) {
  if (bytes > most_ - held_)
    return zp::error{zp::errc::resource_limit,
                     "what is held until it is saved (values, objects and the common state) takes "
                     "more than half of --memory"};
  held_ += bytes;
  return {};
}

std::uint64_t memory_of(const python_value& value) {
  if (const auto* const text = std::get_if<std::string>(&value)) return text->size();
  if (const auto* const json = std::get_if<zp::json_text>(&value)) return json->text.size();
  if (const auto* const bytes = std::get_if<zp::byte_string>(&value)) return bytes->bytes.size();
  return sizeof(value);
}

std::uint64_t memory_of(const zp::json& value) {
  std::uint64_t out = sizeof(value);
  if (const std::string* const text = value.if_string()) out += text->size();
  if (const zp::json::array* const elements = value.if_array()) {
    for (const zp::json& one : *elements) out += memory_of(one);
  }
  if (const zp::json::object* const members = value.if_object()) {
    for (const zp::json::member& one : *members)
      out += sizeof(std::string) + one.key.size() + memory_of(one.value);
  }
  return out;
}

std::uint64_t memory_of(const zp::torch::value& value) {
  std::uint64_t out = sizeof(value);
  if (const auto* const plain = std::get_if<zp::json>(&value.content())) out += memory_of(*plain);
  if (const auto* const bytes = std::get_if<zp::torch::value::bytes>(&value.content()))
    out += bytes->size();
  if (const auto* const elements = std::get_if<zp::torch::value::list>(&value.content())) {
    for (const zp::torch::value& one : *elements) out += memory_of(one);
  }
  if (const auto* const members = std::get_if<zp::torch::value::dict>(&value.content())) {
    for (const zp::torch::value::member& one : *members)
      out += sizeof(std::string) + one.key.size() + memory_of(one.to);
  }
  return out;
}

zp::result<std::optional<python_value>> python_value_of(const conversion& what,
                                                        const converted& each,
                                                        const value_budget& budget) {
  const entry& array = what.from.entries()[each.index];
  const auto some = [](python_value value) { return std::optional(std::move(value)); };
  if (is_number_of_python(array, each.type)) return number_of(what, each).transform(some);
  const bool is_blob = array.spec->type == zp::dtype_kind::uint8 && array.spec->shape.rank() == 1 &&
                       (array.typestr == "json" || array.typestr == "bytes") &&
                       each.type == array.spec->type;
  if (is_blob) return blob(what, each, budget).transform(some);
  if (!is_text(each.type)) return std::optional<python_value>();
  ZARRPOINT_TRY(text, text_of(what, each, budget.most(), budget_name));
  if (is_one_text(array) && attribute(array, "content_type") != "application/json")
    return some(std::move(text));
  return some(zp::json_text{std::move(text)});
}

}  // namespace cli
