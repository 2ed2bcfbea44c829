// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// `zarrpoint cat`: the values of an array, for people and for programs.

#include <zarrpoint/codec/array_to_bytes/bytes.hpp>
#include <zarrpoint/core/bytes.hpp>

#include "commands.hpp"
#include "element_text.hpp"
#include "nested_json.hpp"
#include "npy.hpp"
#include "output.hpp"
#include "padded_texts.hpp"
#include "row_blocks.hpp"
#include "slice.hpp"
#include "source.hpp"
#include "summary.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

namespace {

/// One array of a source, and what of it is wanted.
struct wanted {
  const source& from;
  std::size_t index;
  slice part;

  const entry& array() const { return from.entries()[index]; }
  zp::dtype type() const { return array().spec->type; }
};

zp::result<void> put_elements(const wanted& of) {
  progress bar("read", byte_count(of.part.shape, of.type().size()).value_or(0));
  return for_each_block(
      of.from, of.index, of.part.part, [&](const zp::tensor& block, std::uint64_t) {
        bar.add(of.array().name, byte_count(block.spec()).value_or(0));
        return with_little_endian(block, [](zp::bytes_view bytes) { return put(bytes); });
      });
}

/// Records of Zarr v2 as they are stored: each field has a byte order of its own there.
zp::result<void> put_stored_records(const wanted& of) {
  const std::vector<zp::codec_spec>& codecs = of.array().codecs;
  const auto bytes = std::find_if(codecs.begin(), codecs.end(),
                                  [](const zp::codec_spec& one) { return one.name == "bytes"; });
  if (bytes == codecs.end()) return put_elements(of);
  ZARRPOINT_TRY(codec, zp::make_codec<zp::bytes_codec>(bytes->configuration));
  zp::codec_workspace scratch;
  std::vector<std::byte> stored;
  return for_each_block(of.from, of.index, of.part.part,
                        [&](const zp::tensor& block, std::uint64_t) -> zp::result<void> {
                          ZARRPOINT_TRY(bound, codec.resolve(block.spec()));
                          stored.resize(block.size() * block.type().size());
                          ZARRPOINT_CHECK(bound.encode(block.view(), stored, scratch));
                          return put(zp::bytes_view(stored));
                        });
}

/// Strings and bytes: each one's length in bytes, a little-endian uint64, and the bytes.
zp::result<void> put_texts(const wanted& of) {
  return for_each_block(of.from, of.index, of.part.part,
                        [&](const zp::tensor& block, std::uint64_t) -> zp::result<void> {
                          for (const std::string& text : block.data<std::string>()) {
                            std::array<std::byte, 8> length{};
                            zp::store_le<std::uint64_t>(length.data(), text.size());
                            ZARRPOINT_CHECK(put(zp::bytes_view(length)));
                            ZARRPOINT_CHECK(put(text));
                          }
                          return {};
                        });
}

zp::result<void> put_raw(const wanted& of) {
  if (of.type().is_variable()) return put_texts(of);
  if (of.type().record() != nullptr && of.array().zarr_format == 2) return put_stored_records(of);
  return put_elements(of);
}

zp::result<void> put_npy(const wanted& of) {
  const zp::tensor_spec spec{of.type(), of.part.shape};
  if (!of.type().is_variable()) {
    ZARRPOINT_TRY(header, make_npy(spec));
    ZARRPOINT_CHECK(put(header));
    return put_elements(of);
  }
  const padded_texts texts(of.from, of.index, of.part.part);
  ZARRPOINT_TRY(length, texts.longest());
  ZARRPOINT_TRY(header, make_npy(spec, length));
  ZARRPOINT_CHECK(put(header));
  return texts.write(length, [](zp::bytes_view bytes) { return put(bytes); });
}

/// JSON that a checkpoint of ours keeps as the bytes of its text.
bool is_json_leaf(const entry& array) {
  return array.typestr == "json" && array.spec->type == zp::dtype_kind::uint8 &&
         array.spec->shape.rank() == 1;
}

/// Its text, or that as a JSON string. Errors: `resource_limit`.
zp::result<void> put_json_leaf(const wanted& of, bool as_json, std::uint64_t memory) {
  if (of.array().bytes() > memory / 4)
    return zp::error{zp::errc::resource_limit,
                     "JSON text of " + byte_text(of.array().bytes()) +
                         ", more than a quarter of --memory; --raw writes it"};
  ZARRPOINT_TRY(bytes, zp::tensor::make(*of.array().spec));
  ZARRPOINT_CHECK(of.from.read(of.index, whole(of.array()), bytes.mutable_view()));
  const std::string_view text(reinterpret_cast<const char*>(bytes.view().data), bytes.size());
  std::string out;
  if (as_json) {
    const std::string copy(text);
    append_json(out, reinterpret_cast<const std::byte*>(&copy), {zp::dtype_kind::string});
  } else {
    for (std::string_view rest = text; !rest.empty();) {  // line by line
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      out += escaped(rest.substr(0, end), false);
      if (end < rest.size()) out += '\n';
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  if (!out.ends_with('\n')) out += '\n';
  return put(out);
}

zp::result<void> put_summary(const wanted& of) {
  ZARRPOINT_TRY(text, summary_text(of.from, of.index, of.part));
  const std::string title = of.array().name.empty() ? "" : escaped(of.array().name) + "  ";
  return put(painted(title + std::string(to_string(of.type())) + ' ' + shape_text(of.part.shape),
                     paint::bold) +
             '\n' + text + '\n');
}

}  // namespace

exit_status run_cat(const cat_arguments& of, const zp::context& how) {
  const auto run = [&]() -> zp::result<void> {
    ZARRPOINT_TRY(from, open_source(of.path, how));
    ZARRPOINT_TRY(index, find_array(*from, of.node).at(of.path));
    const zp::dims& shape = from->entries()[index].spec->shape;
    slice part = whole_slice(shape);
    if (of.slice) {
      ZARRPOINT_TRY(parsed, parse_slice(*of.slice, shape));
      part = parsed;
    }
    const wanted all{*from, index, part};
    if (is_json_leaf(all.array()) && !of.slice && !of.npy && !of.raw)
      return put_json_leaf(all, of.json, how.limit.memory);
    if (of.raw) return put_raw(all);
    if (of.json) {
      ZARRPOINT_CHECK(
          write_nested_json(*from, index, part, [](std::string_view text) { return put(text); }));
      return put("\n");
    }
    if (of.npy) return put_npy(all);
    return put_summary(all);
  };
  if (const auto status = run(); !status) return fail(status.failure());
  return exit_status::ok;
}

}  // namespace cli
