// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>

namespace zarrpoint { inline namespace v0 {

// ------------------------------------------------------------------------------------- options.hpp

ZARRPOINT_INLINE std::vector<codec_spec> raw_codecs() {
  return {{"bytes", json::object{{"endian", "little"}}}};
}

ZARRPOINT_INLINE std::vector<codec_spec> zstd_codecs(int level) {
  return {{"bytes", json::object{{"endian", "little"}}}, {"zstd", level}, {"crc32c"}};
}

ZARRPOINT_INLINE std::vector<codec_spec> blosc_codecs(int level) {
  return {{"bytes", json::object{{"endian", "little"}}}, {"blosc", level}, {"crc32c"}};
}

ZARRPOINT_INLINE result<void> detail::check_cast(const dtype& from, const dtype& to) {
  if (from.castable_to(to)) return {};
  std::string text = "no cast from ";
  text.append(to_string(from)).append(" to ").append(to_string(to));
  return error{errc::unsupported, std::move(text)};
}

ZARRPOINT_INLINE std::string detail::unmatched_rule(std::string_view glob) {
  std::string text = "the rule for ";
  return text.append(in_quotes(glob)).append(" matches no leaf");
}

ZARRPOINT_INLINE result<void> detail::check_rules(const save_options& options,
                                                  std::span<const std::string_view> names,
                                                  std::vector<std::string>& warnings) {
  const auto name_of = [](std::string_view name) { return name; };
  return for_unmatched(options.rules, names, name_of, [&](std::string text) -> result<void> {
    if (options.rules_must_match)
      return error{errc::invalid_argument, "save_options: " + std::move(text)};
    warnings.push_back(std::move(text));
    return {};
  });
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/zarr/type_bodies.hpp>
#endif
