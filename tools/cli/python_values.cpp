// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "python_values.hpp"

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include "row_blocks.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

namespace cli {

namespace {

/// What an array says of itself in an attribute that is text.
std::string_view attribute(const entry& of, std::string_view name) {
  const zp::node* const value = of.attributes.find(name);
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

zp::result<python_value> blob(const conversion& what, const converted& each, bool is_json) {
  const entry& array = what.from.entries()[each.index];
  ZARRPOINT_TRY(bytes, zp::tensor::make(*array.spec));
  ZARRPOINT_CHECK(what.from.read(each.index, whole(array), bytes.mutable_view()));
  const zp::bytes_view view(bytes.view().data, byte_count(*array.spec).value_or(0));
  if (is_json) return python_value(zp::json_text{std::string(zp::as_text(view))});
  return python_value(zp::byte_string{{view.begin(), view.end()}});
}

}  // namespace

zp::result<std::optional<python_value>> python_value_of(const conversion& what,
                                                        const converted& each,
                                                        std::uint64_t most_text) {
  const entry& array = what.from.entries()[each.index];
  const auto some = [](python_value value) { return std::optional(std::move(value)); };
  if (is_number_of_python(array, each.type)) return number_of(what, each).transform(some);
  const bool is_blob = array.spec->type == zp::dtype_kind::uint8 && array.spec->shape.rank() == 1 &&
                       (array.typestr == "json" || array.typestr == "bytes") &&
                       each.type == array.spec->type;
  if (is_blob) return blob(what, each, array.typestr == "json").transform(some);
  if (!is_text(each.type)) return std::optional<python_value>();
  ZARRPOINT_TRY(text, text_of(what, each, most_text, "half of --memory"));
  const bool is_one = array.spec->type == zp::dtype_kind::string && array.spec->shape.empty();
  if (is_one && attribute(array, "content_type") != "application/json")
    return some(std::move(text));
  return some(zp::json_text{std::move(text)});
}

}  // namespace cli
