// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/interop/megatron/megatron_rules.hpp>
#include <zarrpoint/memory/cast.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace megatron { namespace detail {

ZARRPOINT_INLINE result<dtype> stored_type(const save_job& job, const planned_tensor& tensor) {
  const dtype* const cast =
      zarrpoint::detail::last_set(job.options.rules, tensor.key, &leaf_rule::cast);
  if (cast == nullptr) return tensor.type;
  ZARRPOINT_CHECK(zarrpoint::detail::check_cast(tensor.type, *cast));
  return *cast;
}

ZARRPOINT_INLINE result<void> check_attributes(const save_job& job) {
  if (job.options.attributes.is_null()) return {};
  return error{errc::invalid_argument,
               "save_options::attributes are given, and the layout of Megatron-Core has none; "
               "common values and content_metadata are stored"};
}

/// Whether they are `bytes` alone, with nothing said of the endian or `little`.
ZARRPOINT_INLINE bool are_raw(std::span<const codec_spec> codecs) {
  const codec_spec little = raw_codecs().front();
  if (codecs.size() != 1 || codecs[0].name != little.name) return false;
  const node& how = codecs[0].configuration;
  return how.is_null() || how == node(node::object{}) || how == little.configuration;
}

ZARRPOINT_INLINE result<void> check_rules(const save_job& job, const tensor_spec& cell,
                                          std::string_view key) {
  const std::vector<leaf_rule>& rules = job.options.rules;
  const auto refuse = [](std::string_view member, const std::string& why) {
    return error{errc::invalid_argument,
                 "a rule sets " + std::string(member) + "; the layout of Megatron-Core has " + why};
  };
  const std::string chunks = "a chunk for each cell, here of shape " + to_string(cell.shape);
  for (const auto& [member, name] : {std::pair(&leaf_rule::chunk_shape, "chunk_shape"),
                                     std::pair(&leaf_rule::shard_shape, "shard_shape")}) {
    const dims* asked = zarrpoint::detail::last_set(rules, key, member);
    if (asked != nullptr && *asked != cell.shape)
      return refuse(name, chunks + ", and not " + to_string(*asked));
  }
  const std::uint64_t* most = zarrpoint::detail::last_set(rules, key, &leaf_rule::chunk_byte_size);
  ZARRPOINT_TRY(bytes, byte_count(cell));
  if (most != nullptr && bytes > *most)
    return refuse("chunk_byte_size", chunks + " and " + std::to_string(bytes) + " bytes");
  const auto* codecs = zarrpoint::detail::last_set(rules, key, &leaf_rule::codecs);
  if (codecs != nullptr && !are_raw(*codecs))
    return refuse("codecs", "no codecs: only raw_codecs() is what it stores");
  return {};
}

}}}}  // namespace zarrpoint::v0::megatron::detail
