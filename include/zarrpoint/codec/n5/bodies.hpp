// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/array_to_array/transpose.hpp>
#include <zarrpoint/codec/array_to_bytes/bytes.hpp>
#include <zarrpoint/codec/base/chain.hpp>
#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/codec/n5/n5_codec.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 {

// ------------------------------------------------------------------------------------ n5_codec.hpp

ZARRPOINT_INLINE result<n5_codec> n5_codec::from_configuration(const json&) {
  return error{errc::unsupported, "n5_default is not allowed at this place"};
}

ZARRPOINT_INLINE result<n5_codec> n5_codec::from_configuration(const json& configuration,
                                                               const codec_place& place) {
  if (place.decoded == nullptr) return from_configuration(configuration);
  configuration_fields members(configuration);
  const json* const codecs = members.find("codecs");
  const json::array* const list = codecs == nullptr ? nullptr : codecs->if_array();
  if (list == nullptr) members.fail("\"codecs\" is not a list of codecs");
  ZARRPOINT_CHECK(members.end());
  n5_codec out;
  inner_codecs inner{{}, place.known, {place.fill.begin(), place.fill.end()}};
  for (const json& one : *list) {
    ZARRPOINT_TRY(spec, read_spec(one).at("codecs"));
    inner.specs.push_back(std::move(spec));
  }
  ZARRPOINT_CHECK(check_codecs(inner.specs, *place.decoded));
  // That the codecs stand in an order that makes sense; each block then has a chain of its own.
  ZARRPOINT_CHECK(codec_chain::resolve(inner.specs, *place.decoded, place.known));
  out.written_ = configuration;
  out.inner_ = detail::make_counted<const inner_codecs>(std::move(inner));
  return out;
}

ZARRPOINT_INLINE result<codec_spec> n5_codec::read_spec(const json& value) {
  if (const std::string* const bare = value.if_string()) return codec_spec(*bare);
  codec_spec out;
  configuration_fields members(value);
  members.need("name");
  members.text("name", out.name);
  if (const json* const given = members.find("configuration")) out.configuration = *given;
  ZARRPOINT_CHECK(members.end());
  return out;
}

ZARRPOINT_INLINE result<void> n5_codec::check_codecs(const std::vector<codec_spec>& codecs,
                                                     const tensor_spec& chunk) {
  const bool has_form = (codecs.size() == 2 || codecs.size() == 3) &&
                        codecs[0].name == "transpose" && codecs[1].name == "bytes";
  if (!has_form)
    return error{errc::invalid_argument,
                 "codecs must be transpose, bytes and at most one more of bytes"};
  ZARRPOINT_TRY(given, make_codec<transpose_codec>(codecs[0].configuration));
  ZARRPOINT_TRY(transpose, given.resolve(chunk));
  const std::size_t rank = chunk.shape.rank();
  for (std::size_t i = 0; i < rank; ++i)
    if (transpose.order[i] != static_cast<index_t>(rank - 1 - i))
      return error{errc::invalid_argument, "transpose must reverse all axes"};
  ZARRPOINT_TRY(bytes, make_codec<bytes_codec>(codecs[1].configuration));
  if (chunk.type.size() > 1 && bytes.order != endian::big)
    return error{errc::invalid_argument, "bytes must be big-endian"};
  return {};
}

ZARRPOINT_INLINE result<std::uint64_t> n5_codec::encoded_size(const host_view&) const {
  return error{errc::unsupported, "blocks of N5 cannot be written"};
}

ZARRPOINT_INLINE result<std::size_t> n5_codec::encode(const host_view&, mutable_bytes,
                                                      codec_workspace&) const {
  return error{errc::unsupported, "blocks of N5 cannot be written"};
}

/// The extents of a block, from its header: mode, rank and extents, big-endian.
ZARRPOINT_INLINE result<dims> n5_codec::read_shape(bytes_view stored, std::size_t rank) {
  const std::size_t size = 4 + 4 * rank;
  if (stored.size() < size)
    return error{errc::corrupt, std::to_string(stored.size()) + " bytes are too few for a header"};
  const std::uint16_t mode = byteswap(load_le<std::uint16_t>(stored.data()));
  if (mode != 0)
    return error{errc::unsupported,
                 "block of mode " + std::to_string(mode) + ", only 0 (default) is read"};
  const std::uint16_t found = byteswap(load_le<std::uint16_t>(stored.data() + 2));
  if (found != rank)
    return error{errc::corrupt, "the block has rank " + std::to_string(found) + ", the array " +
                                    std::to_string(rank)};
  dims out;
  for (std::size_t i = 0; i < rank; ++i)
    out.push_back(byteswap(load_le<std::uint32_t>(stored.data() + 4 + 4 * i)));
  if (std::find(out.begin(), out.end(), 0) != out.end())
    return error{errc::corrupt, "the block has an extent of 0"};
  return out;
}

ZARRPOINT_INLINE result<void> n5_codec::decode(bytes_view stored, const mutable_host_view& into,
                                               codec_workspace& scratch) const {
  const std::size_t rank = into.shape.rank();
  ZARRPOINT_TRY(shape, read_shape(stored, rank));
  const bytes_view body = stored.subspan(4 + 4 * rank);
  const tensor_spec block{into.type, shape};
  ZARRPOINT_TRY(most, element_count(into.shape));
  // A header of a few bytes must not ask for much memory.
  const auto elements = element_count(shape);
  if (!elements || ceil_div(*elements, 64) > most)
    return error{errc::resource_limit, "the block has the shape " + to_string(shape) +
                                           ", more than 64 times the elements of its chunk"};
  ZARRPOINT_TRY(chain, codec_chain::resolve(inner_->specs, block, inner_->known));
  if (chain.fixed_size() && body.size() != chain.encoded_bound())
    return error{errc::corrupt,
                 std::to_string(body.size()) + " bytes stored for a block of " + to_string(block)};
  codec_workspace& own = scratch.nested();
  box part = box::whole(shape);
  bool is_within = true;
  for (std::size_t i = 0; i < rank; ++i) {
    part.shape[i] = std::min(shape[i], into.shape[i]);
    is_within = is_within && part.shape[i] == shape[i];
  }
  if (part.shape != into.shape) {
    if (inner_->fill.size() != into.type.size())
      return error{errc::unsupported,
                   "the block is smaller than its chunk, so the rest is the fill value, but the "
                   "codecs before n5_default cannot be applied to the fill value"};
    fill_elements(into, inner_->fill);
  }
  const mutable_host_view target = subview(into, part);
  if (is_within) return chain.decode(body, target, own);
  ZARRPOINT_TRY(whole, detail::scratch_tensor::make(block, own, 0));
  ZARRPOINT_CHECK(chain.decode(body, whole.view(), own));
  copy_elements(target, subview(as_const(whole.view()), part));
  return {};
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/array_to_array/transpose_bodies.hpp>
#include <zarrpoint/codec/array_to_bytes/bodies.hpp>
#endif
