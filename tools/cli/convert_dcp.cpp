// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// To a checkpoint of torch.distributed.checkpoint, by the library's writer of them.

#include <zarrpoint/dcp_save.hpp>
#include <zarrpoint/handler/types/blob.hpp>

#include "conversion.hpp"
#include "row_blocks.hpp"
#include "stored_leaves.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
zp::result<zp::leaf> number_leaf(const conversion& what, const converted& each) {
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
  return zp::leaf(each.name, T(made));
}

zp::result<zp::leaf> number_leaf_of(const conversion& what, const converted& each) {
  const std::string_view name = to_string(each.type);
  if (each.type == zp::dtype_kind::bool_) return number_leaf<bool>(what, each);
  if (name.starts_with("uint")) return number_leaf<std::uint64_t>(what, each);
  if (name.starts_with("int")) return number_leaf<std::int64_t>(what, each);
  return number_leaf<double>(what, each);
}

bool is_number_of_python(const entry& of, const zp::dtype& to) {
  const std::string_view name = to_string(to);
  const bool has_type = name == "bool" || name.starts_with("int") || name.starts_with("uint") ||
                        name.starts_with("float") || name == "bfloat16";
  return has_type && of.spec->shape.empty() &&
         (of.typestr == "scalar" || !attribute(of, "python_type").empty());
}

zp::result<zp::leaf> blob_leaf(const conversion& what, const converted& each, bool is_json) {
  const entry& array = what.from.entries()[each.index];
  ZARRPOINT_TRY(bytes, zp::tensor::make(*array.spec));
  ZARRPOINT_CHECK(what.from.read(each.index, whole(array), bytes.mutable_view()));
  const zp::bytes_view view(bytes.view().data, byte_count(*array.spec).value_or(0));
  if (is_json) return zp::leaf(each.name, zp::json_text{std::string(zp::as_text(view))});
  return zp::leaf(each.name, zp::byte_string{{view.begin(), view.end()}});
}

zp::result<zp::leaf> leaf_of(const conversion& what, std::size_t i, std::uint64_t most_text,
                             stored_leaves& arrays) {
  const converted& each = what.arrays[i];
  const entry& array = what.from.entries()[each.index];
  if (is_number_of_python(array, each.type)) return number_leaf_of(what, each);
  const bool is_blob = array.spec->type == zp::dtype_kind::uint8 && array.spec->shape.rank() == 1 &&
                       (array.typestr == "json" || array.typestr == "bytes") &&
                       each.type == array.spec->type;
  if (is_blob) return blob_leaf(what, each, array.typestr == "json");
  if (!is_text(each.type)) return arrays.make(i, each.type);
  ZARRPOINT_TRY(text, text_of(what, each, most_text, "half of --memory"));
  const bool is_one = array.spec->type == zp::dtype_kind::string && array.spec->shape.empty();
  if (is_one && attribute(array, "content_type") != "application/json")
    return zp::leaf(each.name, std::move(text));
  return zp::leaf(each.name, zp::json_text{std::move(text)});
}

}  // namespace

zp::result<void> convert_to_dcp(const conversion& what, const zp::context& given) {
  ZARRPOINT_CHECK(check_memory(what, given.limit.memory));
  stored_leaves arrays(what, given.limit.memory / 2);  // each is copied once more
  std::vector<zp::leaf> leaves;
  for (std::size_t i = 0; i < what.arrays.size(); ++i) {
    ZARRPOINT_TRY(made, leaf_of(what, i, given.limit.memory / 2, arrays)
                            .at("array \"" + escaped(what.arrays[i].name) + '"'));
    leaves.push_back(std::move(made));
  }
  progress bar("convert");
  zp::context how = given;
  how.scratch = nullptr;
  how.limit.bytes_in_flight = std::min(how.limit.bytes_in_flight, how.limit.memory / 8);
  how = zp::with_scratch(std::move(how));
  how.resource = &how.scratch->resource();
  arrays.set_resource(how.scratch->resource());
  how.progress = [&](const zp::progress_event& event) {
    bar.set(event.item, event.bytes_done, event.bytes_total);
  };
  ZARRPOINT_CHECK(zp::dcp::save(what.out, std::span<const zp::leaf>(leaves),
                                {.overwrite = what.overwrite}, how));
  return {};
}

}  // namespace cli
