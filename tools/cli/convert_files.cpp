// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// To safetensors and npz: single files, written under a temporary name and renamed, or a directory
// of them.

#include <zarrpoint/interop/safetensors/packed_elements.hpp>
#include <zarrpoint/interop/safetensors/safetensors_files.hpp>
#include <zarrpoint/interop/safetensors/safetensors_header.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/store/zip/zip_writer.hpp>

#include "conversion.hpp"
#include "files.hpp"
#include "nested_json.hpp"
#include "npy.hpp"
#include "padded_texts.hpp"
#include "row_blocks.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <utility>

namespace cli {

namespace {

/// Errors: `resource_limit`.
zp::result<void> check_text(std::uint64_t size, std::uint64_t most, std::string_view limit) {
  if (size <= most) return {};
  return zp::error{zp::errc::resource_limit, "its text has more than " + std::to_string(most) +
                                                 " bytes, the limit of " + std::string(limit)};
}

}  // namespace

bool is_text(const zp::dtype& type) {
  return type.is_variable() || type.kind() == zp::dtype_kind::fixed_length_utf32 ||
         type.kind() == zp::dtype_kind::null_terminated_bytes;
}

bool is_one_text(const entry& of) {
  const zp::dtype_kind kind = of.spec->type.kind();
  return of.spec->shape.empty() &&
         (kind == zp::dtype_kind::string || kind == zp::dtype_kind::fixed_length_utf32);
}

zp::result<std::string> text_of(const conversion& what, const converted& each, std::uint64_t most,
                                std::string_view limit) {
  const entry& array = what.from.entries()[each.index];
  if (is_one_text(array)) {
    ZARRPOINT_TRY(one, zp::tensor::make(*array.spec));
    ZARRPOINT_CHECK(what.from.read(each.index, whole(array), one.mutable_view()));
    const auto text = one.type().is_variable()
                          ? std::optional(std::move(one.data<std::string>()[0]))
                          : utf32_text(one.view().data, one.type().size());
    if (!text)
      return zp::error{zp::errc::corrupt, "its text has code points that Unicode does not have"};
    ZARRPOINT_CHECK(check_text(text->size(), most, limit));
    return *text;
  }
  std::string out;
  ZARRPOINT_CHECK(write_nested_json(what.from, each.index, whole_slice(array.spec->shape),
                                    [&](std::string_view piece) -> zp::result<void> {
                                      ZARRPOINT_CHECK(
                                          check_text(out.size() + piece.size(), most, limit));
                                      out += piece;
                                      return {};
                                    }));
  return out;
}

namespace {

using write_function = std::function<zp::result<void>(zp::bytes_view)>;

/// The elements of an array in its target type, little-endian, in row-major order.
zp::result<void> stream(const conversion& what, const converted& each, progress& bar,
                        const write_function& write) {
  const entry& array = what.from.entries()[each.index];
  return for_each_block(
      what.from, each.index, whole(array),
      [&](const zp::tensor& block, std::uint64_t) -> zp::result<void> {
        bar.add(array.name, byte_count(block.spec()).value_or(0));
        if (each.type == block.type()) return with_little_endian(block, write);
        ZARRPOINT_TRY(cast, zp::tensor::make({each.type, block.shape()}));
        ZARRPOINT_CHECK(zarrpoint::detail::cast_elements(cast.mutable_view(), block.view()));
        return with_little_endian(cast, write);
      });
}

std::uint64_t total_bytes(const conversion& what) {
  std::uint64_t total = 0;
  for (const converted& each : what.arrays)
    total = entry::sum(total, what.from.entries()[each.index].bytes());
  return total;
}

/// Attributes that are text go along; others have no place in the file.
zp::safetensors::metadata_map metadata_of(const source& from) {
  zp::safetensors::metadata_map out;
  const zp::json::object* members = from.attributes().if_object();
  if (members == nullptr) return out;
  for (const auto& [key, value] : *members) {
    if (const std::string* text = value.if_string()) {
      out.emplace(key, *text);
    } else {
      std::fprintf(stderr, "zarrpoint: note: attribute \"%s\" is not text; it is left out\n",
                   escaped(key).c_str());
    }
  }
  return out;
}

/// Takes the arrays of text out of `order`: to `metadata`, or away. Says which.
zp::result<void> take_texts(const conversion& what, bool skip, std::vector<converted>& order,
                            zp::safetensors::metadata_map& metadata) {
  const auto texts = std::stable_partition(order.begin(), order.end(),
                                           [](const converted& one) { return !is_text(one.type); });
  if (texts == order.end()) return {};
  std::string names;
  std::size_t count = 0;
  for (auto each = texts; each != order.end(); ++each, ++count) {
    const std::string name = '"' + escaped(each->name) + '"';
    if (count < 8) names += (count == 0 ? " " : ", ") + name;
    if (skip) continue;
    auto text =
        text_of(what, *each, zp::safetensors::detail::max_header_bytes, "a header of safetensors");
    if (!text) return std::move(text).failure().at("array " + name);
    if (!metadata.emplace(each->name, *std::move(text)).second)
      return zp::error{
          zp::errc::invalid_argument,
          "array " + name +
              " would go into __metadata__, but an attribute there has that name; --rename "
              "gives it another, --strings skip leaves it out"};
  }
  if (count > 8) names += " and " + std::to_string(count - 8) + " more";
  std::fprintf(stderr, "zarrpoint: note: safetensors has no strings; %s:%s\n",
               skip ? "left out" : "into __metadata__ go", names.c_str());
  order.erase(texts, order.end());
  return {};
}

zp::result<void> add_member(const conversion& what, const converted& each, progress& bar,
                            const zp::zip_writer& to) {
  const zp::tensor_spec spec{each.type, what.spec(each).shape};
  std::size_t length = 0;
  const padded_texts texts(what.from, each.index, whole(what.from.entries()[each.index]));
  if (spec.type.is_variable()) {
    ZARRPOINT_TRY(longest, texts.longest());
    length = longest;
  }
  ZARRPOINT_TRY(header, make_npy(spec, length));
  ZARRPOINT_TRY(bytes,
                byte_count(spec.shape, length != 0 ? texts.unit() * length : spec.type.size()));
  ZARRPOINT_TRY(key, zp::store_key::parse(each.name + ".npy"));
  ZARRPOINT_TRY(member, to.create(key));
  ZARRPOINT_CHECK(member->reserve(header.size() + bytes));
  std::uint64_t at = 0;
  const write_function append = [&](zp::bytes_view part) -> zp::result<void> {
    ZARRPOINT_CHECK(member->write(at, part));
    at += part.size();
    return {};
  };
  ZARRPOINT_CHECK(append(zp::as_bytes(header)));
  ZARRPOINT_CHECK(length != 0 ? texts.write(length, append) : stream(what, each, bar, append));
  return member->finish();
}

/// What goes into safetensors.
struct safetensors_parts {
  std::vector<converted> arrays;
  zp::safetensors::metadata_map attributes;  ///< of the root, which each file has
  zp::safetensors::metadata_map metadata;    ///< those, and texts
};

zp::result<safetensors_parts> parts_of(const conversion& what, bool skip_strings) {
  safetensors_parts out{what.arrays, metadata_of(what.from), {}};
  out.metadata = out.attributes;
  ZARRPOINT_CHECK(take_texts(what, skip_strings, out.arrays, out.metadata));
  return out;
}

/// Writes all of a file, but does not finish it.
zp::result<void> write_safetensors(const conversion& what, safetensors_parts of, progress& bar,
                                   zp::blob_writer& to) {
  std::vector<converted>& order = of.arrays;
  // Largest elements first, so that each tensor is aligned.
  std::sort(order.begin(), order.end(), [](const converted& a, const converted& b) {
    return a.type.size() != b.type.size() ? a.type.size() > b.type.size() : a.index < b.index;
  });
  zp::safetensors::header plan{{}, std::move(of.metadata)};
  std::uint64_t end = 0;
  for (const converted& each : order) {
    const zp::tensor_spec spec{each.type, what.spec(each).shape};
    ZARRPOINT_TRY(bytes, zp::safetensors::detail::stored_byte_count(spec).at(
                             "array \"" + escaped(each.name) + '"'));
    plan.tensors.push_back({each.name, spec, end, bytes, {}});
    end += bytes;
  }
  ZARRPOINT_TRY(preamble, zp::safetensors::detail::dump_header(plan));
  ZARRPOINT_CHECK(to.reserve(preamble.size() + end));
  ZARRPOINT_CHECK(to.write(0, zp::as_bytes(preamble)));
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::uint64_t at = preamble.size() + plan.tensors[i].offset;
    const bool is_packed = order[i].type.is_below_byte();
    zp::safetensors::detail::packer packed(order[i].type);
    ZARRPOINT_CHECK(stream(what, order[i], bar, [&](zp::bytes_view part) -> zp::result<void> {
      std::vector<std::byte> full;
      if (is_packed) part = full = packed.add(part);
      ZARRPOINT_CHECK(to.write(at, part));
      at += part.size();
      return {};
    }));
  }
  return {};
}

}  // namespace

zp::result<void> convert_to_safetensors(const conversion& what, bool skip_strings) {
  ZARRPOINT_TRY(parts, parts_of(what, skip_strings));
  ZARRPOINT_TRY(writer, create_file(what.out, what.overwrite));
  progress bar("convert", total_bytes(what));
  ZARRPOINT_CHECK(write_safetensors(what, std::move(parts), bar, *writer));
  ZARRPOINT_CHECK(check_free(what.out, what.overwrite));  // it may have come meanwhile
  return writer->finish();
}

zp::result<void> convert_to_safetensors_files(const conversion& what, bool skip_strings,
                                              std::uint64_t max_file_bytes) {
  ZARRPOINT_TRY(parts, parts_of(what, skip_strings));
  zp::safetensors::detail::files_plan plan;
  plan.max_file_bytes = max_file_bytes;
  for (const converted& each : parts.arrays) {
    const zp::tensor_spec spec{each.type, what.spec(each).shape};
    ZARRPOINT_TRY(bytes, zp::safetensors::detail::stored_byte_count(spec).at(
                             "array \"" + escaped(each.name) + '"'));
    plan.names.push_back(each.name);
    plan.bytes.push_back(bytes);
  }
  progress bar("convert", total_bytes(what));
  const auto write = [&](const zp::any_store& to, const zp::store_key& key,
                         zp::safetensors::detail::tensor_range of) -> zp::result<void> {
    ZARRPOINT_TRY(writer, to.create(key));
    const auto first = parts.arrays.begin() + static_cast<std::ptrdiff_t>(of.first);
    safetensors_parts some{{first, first + static_cast<std::ptrdiff_t>(of.count)}, {}, {}};
    some.metadata = of.first == 0 ? parts.metadata : parts.attributes;
    ZARRPOINT_CHECK(write_safetensors(what, std::move(some), bar, *writer));
    return writer->finish();
  };
  ZARRPOINT_TRY(report, zp::safetensors::detail::write_files(what.out, plan,
                                                             {.overwrite = what.overwrite}, write)
                            .at(what.out));
  for (const std::string& warning : report.warnings)
    std::fprintf(stderr, "zarrpoint: note: %s\n", escaped(warning).c_str());
  return {};
}

zp::result<void> convert_to_npz(const conversion& what) {
  ZARRPOINT_TRY(file, create_file(what.out, what.overwrite));
  const zp::zip_writer to = zp::zip_writer::begin(std::move(file), what.out);
  progress bar("convert", total_bytes(what));
  for (const converted& each : what.arrays) {
    auto added = add_member(what, each, bar, to);
    if (!added) return std::move(added).at("array \"" + escaped(each.name) + '"');
  }
  ZARRPOINT_CHECK(check_free(what.out, what.overwrite));
  return to.finish();
}

}  // namespace cli
