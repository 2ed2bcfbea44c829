// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/checkpoint/save/chunk_shape.hpp>
#include <zarrpoint/checkpoint/save/plan_layout.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>
#include <zarrpoint/zarr/codec_specs.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE error bad_rule(std::string what) {
  return {errc::invalid_argument, std::move(what)};
}

ZARRPOINT_INLINE result<void> check_chunks(const dims& chunk, const tensor_spec& spec,
                                           std::string_view what) {
  if (chunk.rank() != spec.shape.rank())
    return bad_rule(std::string(what) + " " + to_string(chunk) +
                    " must have the same rank as the tensor of shape " + to_string(spec.shape));
  for (const index_t extent : chunk) {
    if (extent < 1)
      return bad_rule(std::string(what) + " " + to_string(chunk) + " has an extent below 1");
  }
  return byte_count(chunk, std::max<std::size_t>(spec.type.size(), 1)).transform([](std::size_t) {
  });
}

ZARRPOINT_INLINE result<dims> whole_chunks(const dims& shape, const dims& chunk) {
  dims out = chunk;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    ZARRPOINT_TRY(extent,
                  checked_mul(std::max<index_t>(ceil_div(shape[i], chunk[i]), 1), chunk[i]));
    out[i] = extent;
  }
  return out;
}

/// `blosc` with the `typesize` that readers ask for (Zarr v3 codecs, "Blosc codec"); c-blosc knows
/// elements of up to 255 bytes and takes larger ones for bytes.
ZARRPOINT_INLINE void add_type_size(codec_spec& blosc, dtype type) {
  if (blosc.configuration.find("typesize") != nullptr) return;
  const std::size_t size = type.is_variable() ? 1 : type.size();
  blosc.configuration.set("typesize", static_cast<std::int64_t>(size > 255 ? 1 : size));
}

/// The chain of a rule for elements of that type: a rule for all leaves says `bytes`, which
/// elements of variable length do not have (theirs is `vlen-utf8` or `vlen-bytes`), may leave out
/// the byte order and the size of elements, and may end in `crc32c`, which Zarr v2 does not have.
ZARRPOINT_INLINE std::vector<codec_spec> codecs_for(dtype type, int zarr_format,
                                                    std::vector<codec_spec> chain) {
  for (codec_spec& codec : chain) {
    if (type.is_variable() && codec.name == "bytes")
      codec = {type.kind() == dtype_kind::string ? "vlen-utf8" : "vlen-bytes", node::object{}};
    if (codec.name == "bytes" && type.scalar_size() > 1 &&
        codec.configuration.find("endian") == nullptr)
      codec.configuration.set("endian", "little");
    if (codec.name == "blosc") add_type_size(codec, type);
  }
  if (zarr_format == 2 && !chain.empty() && chain.back().name == "crc32c") chain.pop_back();
  return chain;
}

ZARRPOINT_INLINE layout_rules layout_rules_of(std::string_view name, const save_options& options) {
  const auto set = [&](auto member) { return detail::last_set(options.rules, name, member); };
  return {set(&leaf_rule::chunk_shape), set(&leaf_rule::shard_shape),
          set(&leaf_rule::chunk_byte_size), set(&leaf_rule::codecs)};
}

ZARRPOINT_INLINE result<planned_layout> plan_layout(std::string_view name, const tensor_spec& spec,
                                                    const save_options& options) {
  return plan_layout(layout_rules_of(name, options), spec, options.zarr_format);
}

ZARRPOINT_INLINE result<planned_layout> plan_layout(const layout_rules& rules,
                                                    const tensor_spec& spec, int zarr_format) {
  const auto [chunk_rule, shard_rule, bytes_rule, codecs_rule] = rules;
  const bool is_v2 = zarr_format == 2;
  if (!is_v2 && zarr_format != 3)
    return detail::bad_rule("zarr_format " + std::to_string(zarr_format) + " is neither 2 nor 3");
  if (is_v2 && (chunk_rule != nullptr || shard_rule != nullptr || bytes_rule != nullptr))
    return detail::bad_rule(
        "chunk_shape, shard_shape and chunk_byte_size need Zarr v3; in Zarr v2 a leaf of up to 64 "
        "MiB is one chunk");

  planned_layout plan;
  array_metadata& metadata = plan.metadata;
  metadata.zarr_format = zarr_format;
  metadata.shape = spec.shape;
  metadata.type = spec.type;
  if (is_v2) metadata.keys = {chunk_key_encoding::style::v2, '.'};
  metadata.fill = fill_value::zero(spec.type);
  metadata.codecs =
      detail::codecs_for(spec.type, zarr_format, codecs_rule ? *codecs_rule : raw_codecs());
  ZARRPOINT_CHECK(detail::check_levels(metadata.codecs));

  if (chunk_rule != nullptr && bytes_rule != nullptr)
    plan.warnings.emplace_back("chunk_byte_size is ignored: chunk_shape is given");
  if (shard_rule != nullptr)
    ZARRPOINT_CHECK(detail::check_chunks(*shard_rule, spec, "shard_shape"));
  dims write_shape = shard_rule != nullptr ? *shard_rule : spec.shape;
  for (index_t& extent : write_shape) extent = std::max<index_t>(extent, 1);

  dims chunk = write_shape;
  if (chunk_rule != nullptr) {
    ZARRPOINT_CHECK(detail::check_chunks(*chunk_rule, spec, "chunk_shape"));
    chunk = *chunk_rule;
  } else if (bytes_rule != nullptr) {
    ZARRPOINT_TRY(greedy, greedy_chunk_shape(spec, write_shape, *bytes_rule));
    chunk = greedy;
  } else if (is_v2) {
    chunk = whole_chunk_shape(spec);
    write_shape = chunk;
  } else {
    chunk = contiguous_chunk_shape({spec.type, write_shape});
    for (std::size_t i = 0; shard_rule != nullptr && i < chunk.rank(); ++i) {
      if (write_shape[i] % chunk[i] != 0)
        chunk[i] = detail::largest_divisor(write_shape[i], chunk[i]);
    }
  }
  if (shard_rule == nullptr && !is_v2) {
    ZARRPOINT_TRY(whole, detail::whole_chunks(spec.shape, chunk));
    write_shape = whole;
  }
  for (std::size_t i = 0; i < chunk.rank(); ++i) {
    if (write_shape[i] % chunk[i] != 0)
      return detail::bad_rule("chunk_shape " + to_string(chunk) + " does not divide shard_shape " +
                              to_string(write_shape));
  }
  metadata.chunk_shape = write_shape;
  // A leaf of one inner chunk needs no index.
  if (!is_v2 && chunk != write_shape) {
    ZARRPOINT_TRY(
        sharded,
        (sharding_config{.chunk_shape = chunk, .codecs = std::move(metadata.codecs)}.to_spec()));
    metadata.codecs = {std::move(sharded)};
  }
  return plan;
}

ZARRPOINT_INLINE const leaf_layout* layout_of(std::span<const leaf_layout> sorted,
                                              std::string_view name) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), name,
                                   [](const auto& a, auto b) { return a.name < b; });
  return at != sorted.end() && at->name == name ? &*at : nullptr;
}

ZARRPOINT_INLINE result<array_metadata> copied_layout(const leaf_layout& given,
                                                      const tensor_spec& spec, int zarr_format) {
  array_metadata out = given.as;
  if (out.zarr_format != zarr_format || out.chunk_shape.rank() != spec.shape.rank())
    return bad_rule("the layout does not fit shape " + to_string(spec.shape) + ", or the format");
  out.shape = spec.shape;
  out.type = spec.type;
  out.attributes = {};
  return out;
}

}}}  // namespace zarrpoint::v0::detail
