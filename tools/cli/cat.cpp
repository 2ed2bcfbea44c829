// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// `zarrpoint cat`: the values of an array, for people and for programs.

#include <zarrpoint/codec/bytes.hpp>

#include "commands.hpp"
#include "element_text.hpp"
#include "npy.hpp"
#include "output.hpp"
#include "row_blocks.hpp"
#include "slice.hpp"
#include "source.hpp"
#include "summary.hpp"
#include "terminal.hpp"
#include "text.hpp"
#include "utf32_texts.hpp"

#include <algorithm>
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
  ZARRPOINT_TRY(codec, zp::bytes_codec::from_configuration(bytes->configuration));
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

zp::result<void> put_raw(const wanted& of) {
  if (of.type().is_variable())
    return zp::error{zp::errc::unsupported, "strings have no raw form; --json writes them"};
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
  const utf32_texts texts(of.from, of.index, of.part.part);
  ZARRPOINT_TRY(length, texts.longest());
  ZARRPOINT_TRY(header, make_npy(spec, length));
  ZARRPOINT_CHECK(put(header));
  return texts.write(length, [](zp::bytes_view bytes) { return put(bytes); });
}

/// Lists within lists of no element: `[[], []]`.
void append_empty(std::string& out, const zp::dims& shape, std::size_t axis) {
  if (axis == shape.rank()) return;
  out += '[';
  for (zp::index_t i = 0; i < shape[axis] && axis + 1 < shape.rank(); ++i) {
    if (i != 0) out += ',';
    append_empty(out, shape, axis + 1);
  }
  out += ']';
}

zp::result<void> put_nested(const wanted& of) {
  const zp::dims& shape = of.part.shape;
  std::string text;
  ZARRPOINT_TRY(count, element_count(shape));
  if (count == 0) {
    zp::index_t lists = 1;  // a shape such as [2^40, 0] would be a long list of nothing
    for (const zp::index_t extent : shape) {
      if (extent == 0) break;
      if (__builtin_mul_overflow(lists, extent, &lists) || lists > (1 << 20))
        return zp::error{zp::errc::resource_limit, "a list of more than a million empty lists"};
    }
    append_empty(text, shape, 0);
    return put(text + '\n');
  }
  zp::dims at(shape.rank(), 0);
  text.append(shape.rank(), '[');
  ZARRPOINT_CHECK(for_each_block(of.from, of.index, of.part.part,
                                 [&](const zp::tensor& block, std::uint64_t) -> zp::result<void> {
                                   const std::size_t step = memory_size(block.type());
                                   const std::byte* element = block.view().data;
                                   for (std::size_t i = 0; i < block.size(); ++i, element += step) {
                                     append_json(text, element, block.type());
                                     std::size_t closed = 0;
                                     std::size_t axis = shape.rank();
                                     while (axis > 0 && ++at[axis - 1] == shape[axis - 1]) {
                                       at[--axis] = 0;
                                       ++closed;
                                     }
                                     text.append(closed, ']');
                                     if (axis > 0) text += ',' + std::string(closed, '[');
                                     if (text.size() > 65536) {
                                       ZARRPOINT_CHECK(put(text));
                                       text.clear();
                                     }
                                   }
                                   return {};
                                 }));
  return put(text + '\n');
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
    if (of.raw) return put_raw(all);
    if (of.json) return put_nested(all);
    if (of.npy) return put_npy(all);
    return put_summary(all);
  };
  if (const auto status = run(); !status) return fail(status.failure());
  return exit_status::ok;
}

}  // namespace cli
