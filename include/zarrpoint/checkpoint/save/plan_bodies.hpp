// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/save/hidden_leaves.hpp>
#include <zarrpoint/checkpoint/save/plan_layout.hpp>
#include <zarrpoint/checkpoint/save/stage_leaves.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/zarr/codec_specs.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

// ------------------------------------------------------------------------------- hidden_leaves.hpp

ZARRPOINT_INLINE bool has_array_fields(const dtype& type) {
  for (const record_field& one : fields_of(type)) {
    if (one.shape.rank() != 0 || has_array_fields(one.type)) return true;
  }
  return false;
}

/// Whether zarr-python 3.1 opens an array of `type`; a group that holds one that it does not open
/// cannot be listed there.
ZARRPOINT_INLINE bool zarr_python_opens(const dtype& type, int zarr_format) {
  if (type.record() == nullptr) return type.is_core();
  return zarr_format == 2 && !has_array_fields(type);
}

ZARRPOINT_INLINE void hidden_leaves::add(std::string_view name, const dtype& type,
                                         int zarr_format) {
  if (zarr_python_opens(type, zarr_format)) return;
  std::string called = type.record() != nullptr ? "struct" : std::string(to_string(type));
  const auto same = std::find_if(found_.begin(), found_.end(),
                                 [&](const hidden& one) { return one.type == called; });
  if (same != found_.end()) {
    ++same->leaves;
  } else {
    found_.push_back({std::move(called), 1, std::string(name)});
  }
}

ZARRPOINT_INLINE std::vector<std::string> hidden_leaves::warnings() const {
  std::vector<std::string> out;
  for (const hidden& one : found_) {
    const std::string what =
        one.leaves == 1 ? in_quotes(one.first)
                        : std::to_string(one.leaves) + " leaves, such as " + in_quotes(one.first);
    out.push_back(one.type + ": zarr-python cannot open " + what +
                  ", and cannot list the groups that hold " + (one.leaves == 1 ? "it" : "them") +
                  "; it can open the other leaves by name");
  }
  return out;
}

// --------------------------------------------------------------------------------- plan_layout.hpp

ZARRPOINT_INLINE dims contiguous_chunk_shape(const tensor_spec& spec, std::uint64_t target) {
  dims chunk = spec.shape;
  for (index_t& extent : chunk) extent = std::max<index_t>(extent, 1);
  const std::uint64_t element = std::max<std::uint64_t>(spec.type.size(), 1);
  std::uint64_t inner = element;  // bytes of everything after the axis being looked at
  std::size_t axis = chunk.rank();
  while (axis > 0) {
    const std::uint64_t with_axis = inner * static_cast<std::uint64_t>(chunk[axis - 1]);
    if (with_axis > target) break;
    inner = with_axis;
    --axis;
  }
  if (axis == 0) return chunk;  // all of it fits
  --axis;
  const index_t limit = static_cast<index_t>(std::max<std::uint64_t>(target / inner, 1));
  const bool leading =
      std::all_of(chunk.begin(), chunk.begin() + axis, [](index_t n) { return n == 1; });
  // The last chunk of an axis is stored whole: all are about as long, so that little is padding.
  index_t length = leading ? ceil_div(chunk[axis], ceil_div(chunk[axis], limit))
                           : detail::largest_divisor(chunk[axis], limit);
  // An axis without a useful divisor stays whole: chunks above the target beat thousands of tiny
  // ones.
  if (!leading && static_cast<std::uint64_t>(length) * inner < target / 8) length = chunk[axis];
  chunk[axis] = length;
  for (std::size_t i = 0; i < axis; ++i) chunk[i] = 1;
  return chunk;
}

ZARRPOINT_INLINE dims whole_chunk_shape(const tensor_spec& spec) {
  return contiguous_chunk_shape(spec, std::uint64_t{64} << 20);
}

ZARRPOINT_INLINE result<dims> greedy_chunk_shape(const tensor_spec& global, const dims& write_shape,
                                                 std::uint64_t target) {
  const std::uint64_t element = std::max<std::uint64_t>(global.type.size(), 1);
  if (target < element)
    return error{errc::invalid_argument, "chunk_byte_size " + std::to_string(target) +
                                             " is less than one element, which takes " +
                                             std::to_string(element) + " bytes"};
  if (write_shape.rank() != global.shape.rank())
    return error{errc::invalid_argument, "write shape " + to_string(write_shape) +
                                             " must have the same rank as the tensor of shape " +
                                             to_string(global.shape)};
  dims chunk = write_shape;
  for (index_t& extent : chunk) extent = std::max<index_t>(extent, 1);
  ZARRPOINT_TRY(elements, element_count(chunk));
  std::uint64_t count = static_cast<std::uint64_t>(elements);
  const dims whole = chunk;
  while (count > target / element) {
    std::size_t longest = chunk.rank();
    for (const bool only_cut : {true, false}) {
      for (std::size_t i = 0; i < chunk.rank(); ++i) {
        if (chunk[i] == 1 || (only_cut && write_shape[i] == global.shape[i])) continue;
        if (longest == chunk.rank() || chunk[i] > chunk[longest]) longest = i;
      }
      if (longest != chunk.rank()) break;
    }
    if (longest == chunk.rank()) break;
    const index_t smaller = detail::largest_divisor(whole[longest], chunk[longest] - 1);
    count =
        count / static_cast<std::uint64_t>(chunk[longest]) * static_cast<std::uint64_t>(smaller);
    chunk[longest] = smaller;
  }
  return chunk;
}

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

/// The chain of a rule for elements of that type. A rule for all leaves says `bytes`, which
/// elements of variable length do not have: theirs is `vlen-utf8` or `vlen-bytes`. It may leave out
/// the byte order and the size of elements, and may end in `crc32c`, which Zarr v2 does not have.
ZARRPOINT_INLINE std::vector<codec_spec> codecs_for(dtype type, int zarr_format,
                                                    std::vector<codec_spec> chain) {
  for (codec_spec& codec : chain) {
    if (type.is_variable() && codec.name == "bytes")
      codec = {type.kind() == dtype_kind::string ? "vlen-utf8" : "vlen-bytes", json::object{}};
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

// -------------------------------------------------------------------------------- stage_leaves.hpp

ZARRPOINT_INLINE source_options source_options_of(const context& how) {
  return {how.scratch->kept(), how.scratch->resource(), how.limit.memory};
}

ZARRPOINT_INLINE result<bool> copy_on_device(element_source& from, std::string_view name,
                                             std::vector<std::string>& warnings) {
  auto copied = from.copy_in_place();
  if (copied) return true;
  const errc code = copied.failure().code;
  if (code != errc::resource_limit && code != errc::unsupported) return std::move(copied).failure();
  warnings.push_back(in_quotes(name) + ": it was copied by way of the host, not on the device: " +
                     copied.failure().message);
  return false;
}

ZARRPOINT_INLINE void pin_times::note(const element_source& of) {
  const double now = of.pin_seconds();
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = lanes_.try_emplace(of.lane(), times{now, now});
  if (!is_new) at->second.last = std::max(at->second.last, now);
}

ZARRPOINT_INLINE double pin_times::seconds() const {
  const std::lock_guard lock(mutex_);
  double out = 0;
  for (const auto& [lane, time] : lanes_) out += time.last - time.first;
  return out;
}

ZARRPOINT_INLINE result<staged_leaves> stage_leaves(std::span<const leaf> leaves,
                                                    const save_options& options,
                                                    const context& how) {
  staged_leaves out;
  out.leaves.resize(leaves.size());
  leaf_stager stager(leaves, how);
  pin_times pinned;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].host_accessible()) continue;
    const auto stage = [&]() -> result<void> {
      ZARRPOINT_TRY(spec, leaves[i].spec());
      const phase_scope stages(how.observer, phase::stage, leaves[i].name(),
                               byte_count(spec).value_or(0));
      ZARRPOINT_TRY(source, leaves[i].source(source_options_of(how)));
      ZARRPOINT_TRY(is_copied, options.device_copy
                                   ? copy_on_device(*source, leaves[i].name(), out.warnings)
                                   : result<bool>(false));
      if (is_copied) {
        out.leaves[i].on_device = std::move(source);
        return {};
      }
      pinned.note(*source);
      return stager.add(i, std::move(source), out.leaves[i]);
    };
    ZARRPOINT_CHECK(stage().at("save " + in_quotes(leaves[i].name())));
  }
  ZARRPOINT_CHECK(stager.run());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (element_source* const copy = out.leaves[i].on_device.get(); copy != nullptr)
      ZARRPOINT_CHECK(copy->settle().at("save " + in_quotes(leaves[i].name())));
  }
  stager.note(pinned);
  out.pin_seconds = pinned.seconds();
  return out;
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/array/write/bodies.hpp>
#include <zarrpoint/checkpoint/bodies.hpp>
#include <zarrpoint/handler/bodies.hpp>
#endif
