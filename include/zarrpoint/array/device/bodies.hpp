// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/device/device_crc32c.hpp>
#include <zarrpoint/array/device/device_decoding.hpp>
#include <zarrpoint/array/device/encoding_source.hpp>
#include <zarrpoint/array/device/stored_read.hpp>
#include <zarrpoint/codec/blosc/blosc.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/config.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

// ----------------------------------------------------------------------------- device_decoding.hpp

ZARRPOINT_INLINE box byte_planes::chunks_of(const box& part, const dims& chunk) {
  box out = part;
  for (std::size_t d = 0; d < part.rank(); ++d) {
    out.offset[d] = part.offset[d] / chunk[d];
    const index_t last = (part.offset[d] + part.shape[d] - 1) / chunk[d];
    out.shape[d] = part.shape[d] == 0 ? 0 : last - out.offset[d] + 1;
  }
  return out;
}

ZARRPOINT_INLINE std::pair<box, box> byte_planes::place_of(const box& chunks, const dims& chunk,
                                                           const selection& part) {
  std::pair<box, box> out{chunks, chunks};
  for (std::size_t d = 0; d < chunks.rank(); ++d) {
    const index_t first = chunks.offset[d] * chunk[d];
    const index_t begin = std::max(first, part.offset[d]);
    const index_t last = (chunks.offset[d] + chunks.shape[d]) * chunk[d];
    const index_t end = std::min(last, part.offset[d] + part.shape[d]);
    out.first.offset[d] = begin - first;
    out.second.offset[d] = begin - part.offset[d];
    out.first.shape[d] = out.second.shape[d] = end - begin;
  }
  return out;
}

ZARRPOINT_INLINE box byte_planes::one_of(const box& chunks, std::size_t i) {
  box out{chunks.offset, dims(chunks.rank(), 1)};
  for (std::size_t d = chunks.rank(); d-- > 0;) {
    const auto extent = static_cast<std::size_t>(chunks.shape[d]);
    out.offset[d] += static_cast<index_t>(i % extent);
    i /= extent;
  }
  return out;
}

ZARRPOINT_INLINE box byte_planes::rows_of(box chunks) const {
  const std::size_t last = chunks.rank() - 1;
  chunks.offset[last] *= static_cast<index_t>(chunk_size);
  chunks.shape[last] *= static_cast<index_t>(chunk_size);
  return chunks;
}

/// Whether these are the names of `bytes` and a byte shuffle.
ZARRPOINT_INLINE bool are_shuffled(const std::string* first, const std::string* second) {
  return first != nullptr && second != nullptr && *first == "bytes" &&
         *second == "numcodecs.shuffle";
}

/// Whether an array's numbers may be stored as planes of bytes that `planes_of` knows. Cheap: each
/// read to a device asks.
ZARRPOINT_INLINE bool has_planes(const array& of) {
  const array_metadata& metadata = of.metadata();
  if (!metadata.type.is_number() || metadata.type.size() < 2 || !metadata.edges.empty())
    return false;
  const std::vector<codec_spec>& codecs = metadata.codecs;
  if (codecs.size() > 1) return are_shuffled(&codecs[0].name, &codecs[1].name);
  if (codecs.empty() || codecs[0].name != sharding_config::name) return false;
  const json::array* const inner = codecs[0].configuration.find_array("codecs");
  return inner != nullptr && inner->size() > 1 &&
         are_shuffled((*inner)[0].find_string("name"), (*inner)[1].find_string("name"));
}

/// Whether most of what the inner chunks of a selection hold is wanted, and each is worth a kernel
/// and fits into `most` bytes, as elements of `size` bytes.
ZARRPOINT_INLINE bool chunks_suit(const array& of, const selection& part, std::size_t size,
                                  std::size_t most) {
  constexpr std::size_t least = std::size_t{64} << 10;
  const dims& chunk = of.layout().grid().inner_shape;
  const std::size_t chunk_bytes = byte_count(chunk, size).value_or(0);
  const std::size_t stored = byte_count(chunk, of.spec().type.size()).value_or(0);
  const bool steps = std::any_of(part.step.begin(), part.step.end(), [](auto n) { return n != 1; });
  if (steps || stored < least || chunk_bytes > most) return false;
  const std::size_t wanted = byte_count(part.shape, size).value_or(0);
  const box chunks = byte_planes::chunks_of({part.offset, part.shape}, chunk);
  const std::size_t sent = byte_count(chunks.shape, chunk_bytes).value_or(SIZE_MAX);
  return wanted != 0 && sent - wanted <= wanted / 2;
}

ZARRPOINT_INLINE bool planes_suit(const array& of, const selection& part, std::size_t most) {
  return has_planes(of) && chunks_suit(of, part, of.spec().type.size(), most);
}

/// Whether a codec is `blosc` with frames that kernels may know: of zstd, without a shuffle of
/// bits.
ZARRPOINT_INLINE bool makes_frames(const codec_spec& of) {
  if ((of.name != "blosc" && of.name != "numcodecs.blosc") || !of.must_understand) return false;
  const std::string* const name = of.configuration.find_string("cname");
  const std::string* const sorted = of.configuration.find_string("shuffle");
  return name != nullptr && *name == "zstd" && (sorted == nullptr || *sorted != "bitshuffle");
}

/// Whether these codecs are `bytes`, `blosc` and perhaps `crc32c`.
ZARRPOINT_INLINE bool are_frames(const std::vector<codec_spec>& codecs) {
  const bool has_trailer =
      codecs.size() == 3 && codecs[2].name == "crc32c" && codecs[2].must_understand;
  return (codecs.size() == 2 || has_trailer) && codecs[0].name == "bytes" &&
         makes_frames(codecs[1]);
}

ZARRPOINT_INLINE bool frames_suit(const array& of, const selection& part, std::size_t most,
                                  std::size_t element_size) {
  const array_metadata& metadata = of.metadata();
  const dtype& type = metadata.type;
  const std::size_t size = type.scalar_size();
  if (!type.is_number() || type.kind() == dtype_kind::bool_ || type.is_below_byte() || size > 8 ||
      metadata.shape.rank() == 0 || !metadata.edges.empty() || has_flipped_order(of) ||
      !chunks_suit(of, part, std::max(element_size, type.size()), most))
    return false;
  const std::vector<codec_spec>& codecs = metadata.codecs;
  if (codecs.empty() || codecs[0].name != sharding_config::name) return are_frames(codecs);
  const auto config = sharding_config::from_configuration(codecs[0].configuration);
  return config && of.layout().shard() != nullptr && are_frames(config->codecs);
}

/// How many planes the shuffle of this configuration makes; 1 when they are not known.
ZARRPOINT_INLINE std::size_t planes_by(const json& configuration, std::size_t element_size) {
  const json* const told = configuration.find("elementsize");
  if (told == nullptr || told->is_null()) return element_size;
  const std::int64_t size = told->to_int64().value_or(1);
  return size < 1 ? 1 : static_cast<std::size_t>(size);
}

/// Takes the shuffle out of the codecs of an inner chunk and says how many planes it makes; 1 where
/// readers may leave it out.
ZARRPOINT_INLINE std::size_t drop_shuffle(std::vector<codec_spec>& codecs,
                                          std::size_t element_size) {
  if (!codecs[1].must_understand) return 1;
  const std::size_t planes = planes_by(codecs[1].configuration, element_size);
  codecs.erase(codecs.begin() + 1);
  codecs[0].configuration.set("endian", native_endian == endian::little ? "little" : "big");
  return planes;
}

ZARRPOINT_INLINE std::optional<byte_planes> planes_of(const array& of) {
  const array_metadata& metadata = of.metadata();
  const std::size_t rank = metadata.shape.rank();
  const bytes_view fill = metadata.fill_element();
  const bool is_even =
      std::adjacent_find(fill.begin(), fill.end(), std::not_equal_to<>()) == fill.end();
  if (!has_planes(of) || rank == 0 || !is_even) return std::nullopt;
  const chunk_grid& grid = of.layout().grid();
  const std::size_t size = metadata.type.size();
  byte_planes out{of, grid.inner_shape};
  array_metadata made = metadata;
  made.dimension_names.reset();
  made.attributes = json();
  out.chunk_size = static_cast<std::size_t>(element_count(out.chunk).value_or(0));
  const auto row = static_cast<index_t>(out.chunk_size);
  const dims inside = grid.inner_per_object();
  dims inner(rank, 1);
  for (std::size_t d = 0; d < rank; ++d) {
    made.shape[d] = ceil_div(metadata.shape[d], out.chunk[d]);
    made.chunk_shape[d] = inside[d];
  }
  const auto shape = checked_mul(made.shape.back(), row);
  const auto chunk_shape = checked_mul(made.chunk_shape.back(), row);
  if (!shape || !chunk_shape) return std::nullopt;
  made.shape[rank - 1] = *shape;
  made.chunk_shape[rank - 1] = *chunk_shape;
  inner[rank - 1] = row;
  if (of.layout().shard() == nullptr) {
    out.width = drop_shuffle(made.codecs, size);
  } else {
    auto config = sharding_config::from_configuration(made.codecs[0].configuration);
    if (!config) return std::nullopt;
    out.width = drop_shuffle(config->codecs, size);
    config->chunk_shape = inner;
    auto spec = config->to_spec();
    if (!spec) return std::nullopt;
    made.codecs[0] = *std::move(spec);
  }
  if (out.width < 2 || out.chunk_size * size % out.width != 0) return std::nullopt;
  auto source = array::from_metadata(of.store(), of.key(), std::move(made), of.default_context());
  if (!source) return std::nullopt;
  out.source = *std::move(source);
  return out;
}

/// Whether the configuration of a codec `bytes` is that of the byte order that is not this
/// machine's.
ZARRPOINT_INLINE bool is_other_order(const json& configuration) {
  const std::string* const text = configuration.find_string("endian");
  return text != nullptr && *text == (native_endian == endian::little ? "big" : "little") &&
         configuration.find("field_endian") == nullptr;
}

ZARRPOINT_INLINE std::optional<bool> makes_other_order(std::string_view name,
                                                       const json& configuration) {
  if (name == "transpose") return std::nullopt;
  if (name != sharding_config::name) return name == "bytes" && is_other_order(configuration);
  const json::array* const codecs = configuration.find_array("codecs");
  if (codecs == nullptr) return false;
  for (const json& codec : *codecs) {
    const std::string* const inner = codec.find_string("name");
    const json* const members = codec.find("configuration");
    if (inner == nullptr || members == nullptr) return false;
    if (const auto told = makes_other_order(*inner, *members)) return told;
  }
  return false;
}

ZARRPOINT_INLINE bool declare_native(std::vector<codec_spec>& codecs) {
  for (codec_spec& one : codecs) {
    if (one.name == "transpose") continue;
    if (one.name == sharding_config::name) {
      auto config = sharding_config::from_configuration(one.configuration);
      if (!config || !declare_native(config->codecs)) return false;
      auto spec = config->to_spec();
      if (!spec) return false;
      one = *std::move(spec);
      return true;
    }
    if (one.name != "bytes" || !is_other_order(one.configuration)) return false;
    one.configuration.set("endian", native_endian == endian::little ? "little" : "big");
    return true;
  }
  return false;
}

ZARRPOINT_INLINE bool has_flipped_order(const array& of) {
  const dtype& type = of.spec().type;
  if (!type.is_number() || type.scalar_size() < 2) return false;
  for (const codec_spec& one : of.metadata().codecs) {
    if (const auto told = makes_other_order(one.name, one.configuration)) return *told;
  }
  return false;
}

ZARRPOINT_INLINE std::optional<array> in_flipped_order(const array& of) {
  if (!has_flipped_order(of)) return std::nullopt;
  const std::size_t size = of.spec().type.scalar_size();
  array_metadata metadata = of.metadata();
  if (!declare_native(metadata.codecs)) return std::nullopt;
  const bytes_view fill = metadata.fill_element();
  std::vector<std::byte> reversed(fill.begin(), fill.end());
  for (std::size_t i = 0; i + size <= reversed.size(); i += size)
    std::reverse(reversed.data() + i, reversed.data() + i + size);
  metadata.fill = fill_value::of_bytes(reversed);
  auto out = array::from_metadata(of.store(), of.key(), std::move(metadata), of.default_context());
  if (!out) return std::nullopt;
  return *std::move(out);
}

// --------------------------------------------------------------------------------- stored_read.hpp

ZARRPOINT_INLINE stored_read::stored_read(const array_state& of, const selection& part,
                                          const read_options& options)
    : of_(of),
      nowhere_{nullptr, of.metadata.type, part.shape, dims(part.shape.rank(), 0), {}, {}},
      steps_(of, *options.how, nowhere_, options) {}

ZARRPOINT_INLINE result<std::vector<stored_chunk>> stored_read::run(const array& of,
                                                                    const selection& part,
                                                                    mutable_bytes into,
                                                                    const read_options& options) {
  return guarded([&]() -> result<std::vector<stored_chunk>> {
    const read_options checked = of.with_digests(options);
    stored_read operation(*of.state_, part, checked);
    operation.steps_.grid_ = of.layout().grid();
    ZARRPOINT_TRY(plan, box_plan::make(operation.steps_.grid_, part));
    operation.steps_.plan_ = plan;
    return of.explained(at_array(operation.read(into), *of.state_));
  });
}

ZARRPOINT_INLINE result<std::vector<stored_chunk>> stored_read::read(mutable_bytes into) {
  constexpr std::size_t alignment = 16;
  std::vector<stored_chunk> out;
  out.reserve(steps_.plan_.size());
  read_operation::opened from;
  std::size_t used = 0;
  for (std::size_t i = 0; i < steps_.plan_.size(); ++i) {
    const plan_item item = steps_.plan_.at(i);
    const std::string key = of_.chunk_key(item.object);
    if (i == item.object_first) {
      const scratch_pool::lease scratch = steps_.pool_->borrow(&steps_.own_.text);
      auto opened = steps_.open_object(key, *scratch);
      if (!opened) return std::move(opened).at("chunk " + key).failure();
      from = *std::move(opened);
      if (from.object != nullptr && item.object_items > 1) steps_.coalesce(item, *from.object);
    }
    auto taken = read_chunk(item, from, into.subspan(used));
    if (!taken && of_.sharded()) taken = std::move(taken).at(of_.inner_name(item.inner));
    if (!taken) return std::move(taken).at("chunk " + key).failure();
    stored_chunk& one = out.emplace_back(*std::move(taken));
    one.index = item.first_element;
    one.offset = used;
    for (std::size_t d = 0; d < one.index.rank(); ++d) one.index[d] /= steps_.grid_.inner_shape[d];
    if (one.bytes.empty()) continue;
    const std::size_t bytes = one.bytes.size() + alignment - 1 + sizeof(std::uint32_t);
    used = std::min(used + bytes / alignment * alignment, into.size());
  }
  return out;
}

ZARRPOINT_INLINE result<stored_chunk> stored_read::read_chunk(const plan_item& item,
                                                              const read_operation::opened& from,
                                                              mutable_bytes into) const {
  constexpr std::size_t trailer = sizeof(std::uint32_t);
  stored_chunk out;
  ZARRPOINT_TRY(found, steps_.check_entry(item, from));
  if (found.entry.absent() || found.entry.size > into.size() || found.entry.size <= trailer)
    return out;
  const mutable_bytes stored = into.first(static_cast<std::size_t>(found.entry.size));
  ZARRPOINT_CHECK(
      steps_.read_stored({item, nowhere_, *from.object->bytes, found.entry, nullptr}, stored));
  const bool by_device = steps_.options_.device_verify;
  if (!of_.layout.chain().ends_with_crc32c()) {
    out.bytes = stored;
    if (by_device && found.digest != nullptr) out.crc32c = *found.digest;
    if (!by_device) ZARRPOINT_CHECK(steps_.verify(stored, found.digest));
    return out;
  }
  out.bytes = stored.first(stored.size() - trailer);
  const auto told = load_le<std::uint32_t>(stored.data() + out.bytes.size());
  // The digest is that of the trailer: no bytes but these are looked at.
  if (found.digest != nullptr && told != *found.digest)
    ZARRPOINT_CHECK(steps_.verify(stored, found.digest));
  if (by_device) {
    out.crc32c = told;
    return out;
  }
  const phase_scope verifies = steps_.at(phase::verify, stored.size());
  if (crc32c(out.bytes) != told) out.bytes = {};  // the host's decoder has the words for it
  return out;
}

// ----------------------------------------------------------------------------- encoding_source.hpp

ZARRPOINT_INLINE std::optional<frame_form> frame_form::of(const std::vector<codec_spec>& codecs,
                                                          const tensor_spec& chunk) {
  constexpr std::size_t least = 64 << 10;
  const dtype& type = chunk.type;
  const std::size_t bytes = byte_count(chunk.shape, type.size()).value_or(0);
  if (native_endian != endian::little || !type.is_number() || type.kind() == dtype_kind::bool_ ||
      type.is_below_byte() || bytes < least || !are_frames(codecs) ||
      is_other_order(codecs[0].configuration))
    return std::nullopt;
  const result<blosc_codec> told = make_codec<blosc_codec>(codecs[1].configuration);
  const auto codec = told ? told->resolve(chunk) : told;
  // A word of another size than an element is not told from the fill value by its bytes.
  if (!codec || codec->options().type_size != type.size()) return std::nullopt;
  const auto plan = blosc_encode_plan::of(codec->options(), bytes);
  if (!plan) return std::nullopt;
  return frame_form{*plan, codecs.size() == 3};
}

// ------------------------------------------------------------------------------- device_crc32c.hpp

ZARRPOINT_INLINE result<std::uint32_t> crc32c_by_parts(element_source& of,
                                                       memory_resource& resource) {
  const tensor_spec& spec = of.spec();
  const std::size_t size = spec.type.size();
  if (size > of.part_bytes()) {
    ZARRPOINT_TRY(all, of.read(box::whole(spec.shape), resource));
    if (is_dense(all.view)) return crc32c(all.memory.bytes());
    return error{errc::resource_limit, "an element is more than a staging slot holds"};
  }
  const piece_grid parts =
      piece_grid::make(box::whole(spec.shape), dims(spec.shape.rank(), 1), size, of.part_bytes());
  std::uint32_t out = 0;
  buffer reordered;
  std::unique_ptr<source_part> next;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::unique_ptr<source_part> part = std::move(next);
    if (part == nullptr) {
      ZARRPOINT_TRY(begun, of.begin(parts.at(i), true));
      part = std::move(begun);
    }
    if (i + 1 < parts.size()) {  // on its way while this one is looked at
      ZARRPOINT_TRY(begun, of.begin(parts.at(i + 1), false));
      next = std::move(begun);
    }
    ZARRPOINT_TRY(view, part->wait());
    ZARRPOINT_TRY(bytes, byte_count(view.spec()));
    const std::byte* data = view.data;
    if (!is_dense(view)) {
      if (reordered.size() < bytes) {
        ZARRPOINT_TRY(made, buffer::allocate(bytes, resource));
        reordered = std::move(made);
      }
      copy_elements(dense_view(reordered.data(), view.spec()), view);
      data = reordered.data();
    }
    out = crc32c({data, bytes}, out);
  }
  return out;
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/array/array_bodies.hpp>
#include <zarrpoint/codec/blosc/encode_plan_bodies.hpp>
#include <zarrpoint/codec/blosc/frame_plan_bodies.hpp>
#include <zarrpoint/memory/device/bodies.hpp>
#endif
