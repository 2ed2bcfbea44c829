// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/configuration.hpp>
#include <zarrpoint/codec/pcodec/pco_decode.hpp>
#include <zarrpoint/codec/pcodec/pco_encode.hpp>
#include <zarrpoint/codec/pcodec/pcodec.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

inline constexpr std::string_view pcodec_modes[] = {"auto", "classic"};
inline constexpr std::string_view pcodec_deltas[] = {"auto", "none", "try_consecutive",
                                                     "try_lookback"};
inline constexpr std::string_view pcodec_pages[] = {"equal_pages_up_to"};

/// Which of `names` the member is; the first when it is absent.
inline result<std::size_t> pcodec_choice(const configuration_reader& reader, std::string_view key,
                                         std::span<const std::string_view> names) {
  ZARRPOINT_TRY(text, reader.text(key));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (text.value_or(names[0]) == names[i]) return i;
  }
  std::string message = "\"" + std::string(key) + "\" is not";
  for (std::size_t i = 0; i < names.size(); ++i)
    message.append(i == 0 ? " \"" : " or \"").append(names[i]) += '"';
  return error{errc::invalid_argument, std::move(message)};
}

inline result<pco_type> pcodec_type(const tensor_spec& chunk) {
  const auto type = pco_type_of(chunk.type);
  if (!type)
    return error{errc::unsupported,
                 "cannot compress elements of type " + std::string(to_string(chunk.type))};
  return *type;
}

/// What this writer takes.
ZARRPOINT_INLINE result<pcodec_codec> pcodec_settings(const configuration_reader& reader) {
  using mode = pcodec_codec::mode;
  using delta = pcodec_codec::delta;
  pcodec_codec out;
  ZARRPOINT_TRY(level, reader.integer("level", 0, 12));
  if (level) out.level = static_cast<int>(*level);
  ZARRPOINT_TRY(mode_spec, detail::pcodec_choice(reader, "mode_spec", detail::pcodec_modes));
  out.mode_spec = static_cast<mode>(mode_spec);
  ZARRPOINT_TRY(delta_spec, detail::pcodec_choice(reader, "delta_spec", detail::pcodec_deltas));
  out.delta_spec = static_cast<delta>(delta_spec);
  ZARRPOINT_CHECK(detail::pcodec_choice(reader, "paging_spec", detail::pcodec_pages));
  const node* const order = reader.find("delta_encoding_order");
  if (order != nullptr && !order->is_null()) {
    ZARRPOINT_TRY(given, reader.integer("delta_encoding_order", 0, 7));
    out.delta_encoding_order = static_cast<int>(*given);
  }
  ZARRPOINT_TRY(pages, reader.integer("equal_pages_up_to", 1, INT64_MAX));
  if (pages) out.equal_pages_up_to = static_cast<std::uint64_t>(*pages);
  return out;
}

ZARRPOINT_INLINE result<configuration_reader> pcodec_reader(const node& configuration) {
  return configuration_reader::open(
      configuration, {"level", "mode_spec", "delta_spec", "paging_spec", "delta_encoding_order",
                      "equal_pages_up_to"});
}

}  // namespace detail

ZARRPOINT_INLINE result<pcodec_codec> pcodec_codec::from_configuration(const node& configuration) {
  ZARRPOINT_TRY(reader, detail::pcodec_reader(configuration));
  auto known = detail::pcodec_settings(reader);
  if (known) return known;
  // No member matters to who reads.
  pcodec_codec out;
  out.foreign = configuration;
  return out;
}

ZARRPOINT_INLINE node pcodec_codec::configuration() const {
  if (!foreign.is_null()) return foreign;
  return node::object{
      {"level", level},
      {"mode_spec", detail::pcodec_modes[static_cast<std::size_t>(mode_spec)]},
      {"delta_spec", detail::pcodec_deltas[static_cast<std::size_t>(delta_spec)]},
      {"paging_spec", detail::pcodec_pages[0]},
      {"delta_encoding_order", delta_encoding_order ? node(*delta_encoding_order) : node()},
      {"equal_pages_up_to", equal_pages_up_to}};
}

ZARRPOINT_INLINE result<pcodec_codec> pcodec_codec::resolve(const tensor_spec& decoded) const {
  ZARRPOINT_CHECK(detail::pcodec_type(decoded));
  return *this;
}

namespace detail {

inline pco_plan pcodec_plan(const pcodec_codec& codec, const pco_type& type) {
  using delta = pcodec_codec::delta;
  pco_plan out{type, {}, codec.equal_pages_up_to, codec.level == 0};
  const bool is_given =
      codec.delta_spec == delta::automatic || codec.delta_spec == delta::try_consecutive;
  if (codec.delta_spec == delta::none) out.order = 0;
  if (is_given && codec.delta_encoding_order)
    out.order = static_cast<unsigned>(*codec.delta_encoding_order);
  return out;
}

}  // namespace detail

ZARRPOINT_INLINE std::uint64_t pcodec_codec::encoded_bound(const tensor_spec& decoded) const {
  const auto type = detail::pcodec_type(decoded);
  const auto bytes = byte_count(decoded);
  if (!type || !bytes) return UINT64_MAX;
  return detail::pco_bound(detail::pcodec_plan(*this, *type), *bytes / type->size);
}

ZARRPOINT_INLINE result<std::uint64_t> pcodec_codec::encoded_size(const host_view& from) const {
  return encoded_bound(from.spec());
}

ZARRPOINT_INLINE result<std::size_t> pcodec_codec::encode(const host_view& from, mutable_bytes to,
                                                          codec_workspace& scratch) const {
  if (!foreign.is_null()) {
    ZARRPOINT_TRY(reader, detail::pcodec_reader(foreign));
    ZARRPOINT_CHECK(detail::pcodec_settings(reader));
  }
  ZARRPOINT_TRY(type, detail::pcodec_type(from.spec()));
  ZARRPOINT_TRY(bytes, byte_count(from.spec()));
  const std::byte* data = from.data;
  buffer dense;
  if (!is_dense(from)) {
    ZARRPOINT_TRY(copy, buffer::allocate(bytes, scratch.resource()));
    copy_elements(dense_view(copy.bytes().data(), from.spec()), from);
    dense = std::move(copy);
    data = dense.bytes().data();
  }
  return detail::pco_encode(detail::pcodec_plan(*this, type), {data, bytes}, to,
                            scratch.resource());
}

ZARRPOINT_INLINE result<void> pcodec_codec::decode(bytes_view stored, const mutable_host_view& into,
                                                   codec_workspace& scratch) const {
  ZARRPOINT_TRY(type, detail::pcodec_type(into.spec()));
  ZARRPOINT_TRY(bytes, byte_count(into.spec()));
  if (is_dense(into))
    return detail::pco_decode(stored, type, {into.data, bytes}, scratch.resource());
  ZARRPOINT_TRY(dense, buffer::allocate(bytes, scratch.resource()));
  ZARRPOINT_CHECK(detail::pco_decode(stored, type, dense.bytes(), scratch.resource()));
  copy_elements(into, dense_view(std::as_const(dense).bytes().data(), into.spec()));
  return {};
}

}}  // namespace zarrpoint::v0
