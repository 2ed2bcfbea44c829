// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Opt in: include this header, link zfp (-lzfp), and use
// `default_codecs::with<zfp_codec, zfpy_codec>`.

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/zfp/zfp_parameters.hpp>
#include <zarrpoint/codec/zfp/zfp_stream.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// A number of a configuration that is not negative, as `node` has it.
inline result<double> zfp_number(const configuration_reader& reader, std::string_view key) {
  const node* const found = reader.find(key);
  const auto number = found == nullptr ? std::nullopt : found->to_double();
  if (!number || !std::isfinite(*number))
    return error{errc::invalid_argument, "\"" + std::string(key) + "\" must be a number"};
  return *number;
}

}  // namespace detail

/// The codec `zfp` of the registry: the numbers of a chunk of up to 4 dimensions in blocks of four
/// along each, as the library zfp writes them, without a header (zarr-extensions, "zfp"). Elements:
/// float32, float64, integers of 8 to 64 bits; of uint32 and uint64 those that the signed type
/// holds. All modes but `reversible` lose precision.
struct zfp_codec {
  static constexpr std::string_view name = "zfp";
  static constexpr bool fixed_size = false;

  zfp_options options;

  static result<zfp_codec> from_configuration(const node& configuration) {
    using kind = zfp_options::kind;
    ZARRPOINT_TRY(reader, configuration_reader::open(
                              configuration, {"mode", "tolerance", "rate", "precision", "minbits",
                                              "maxbits", "maxprec", "minexp"}));
    ZARRPOINT_TRY(mode, reader.text("mode"));
    zfp_codec out;
    zfp_options& how = out.options;
    std::size_t members = 1;
    const auto whole = [&](std::string_view key, std::uint32_t& to) -> result<void> {
      ZARRPOINT_TRY(number, reader.integer(key, 0, UINT32_MAX));
      if (!number) return error{errc::invalid_argument, "\"" + std::string(key) + "\" is missing"};
      to = static_cast<std::uint32_t>(*number);
      return {};
    };
    if (mode == "reversible") {
      how.mode = kind::reversible;
    } else if (mode == "fixed_accuracy" || mode == "fixed_rate") {
      const bool is_rate = mode == "fixed_rate";
      how.mode = is_rate ? kind::fixed_rate : kind::fixed_accuracy;
      ZARRPOINT_TRY(number, detail::zfp_number(reader, is_rate ? "rate" : "tolerance"));
      if (number < 0)
        return error{errc::invalid_argument, "\"rate\" and \"tolerance\" must not be below 0"};
      (is_rate ? how.rate : how.tolerance) = number;
      members = 2;
    } else if (mode == "fixed_precision") {
      how.mode = kind::fixed_precision;
      ZARRPOINT_CHECK(whole("precision", how.precision));
      members = 2;
    } else if (mode == "expert") {
      how.mode = kind::expert;
      ZARRPOINT_CHECK(whole("minbits", how.minbits));
      ZARRPOINT_CHECK(whole("maxbits", how.maxbits));
      ZARRPOINT_CHECK(whole("maxprec", how.maxprec));
      ZARRPOINT_TRY(minexp, reader.integer("minexp", INT32_MIN, INT32_MAX));
      if (!minexp) return error{errc::invalid_argument, "\"minexp\" is missing"};
      how.minexp = static_cast<std::int32_t>(*minexp);
      members = 5;
    } else {
      return error{errc::invalid_argument,
                   "\"mode\" is not \"reversible\", \"expert\", \"fixed_accuracy\", \"fixed_rate\" "
                   "or \"fixed_precision\""};
    }
    const node::object* const given = configuration.if_object();
    if (given != nullptr && given->size() != members)
      return error{errc::invalid_argument,
                   "the configuration has members that this mode does not have"};
    return out;
  }
  node configuration() const {
    const zfp_options& how = options;
    switch (how.mode) {
      case zfp_options::kind::fixed_accuracy:
        return node::object{{"mode", "fixed_accuracy"}, {"tolerance", how.tolerance}};
      case zfp_options::kind::fixed_rate:
        return node::object{{"mode", "fixed_rate"}, {"rate", how.rate}};
      case zfp_options::kind::fixed_precision:
        return node::object{{"mode", "fixed_precision"},
                            {"precision", std::uint64_t{how.precision}}};
      case zfp_options::kind::expert:
        return node::object{{"mode", "expert"},
                            {"minbits", std::uint64_t{how.minbits}},
                            {"maxbits", std::uint64_t{how.maxbits}},
                            {"maxprec", std::uint64_t{how.maxprec}},
                            {"minexp", std::int64_t{how.minexp}}};
      default: return node::object{{"mode", "reversible"}};
    }
  }

  result<zfp_codec> resolve(const tensor_spec& decoded) const {
    ZARRPOINT_TRY(field, detail::zfp_field_of(decoded));
    ZARRPOINT_CHECK(detail::zfp_bound(options, field));
    return *this;
  }

  /// What zfp guarantees; UINT64_MAX for what `resolve` refuses.
  std::uint64_t encoded_bound(const tensor_spec& decoded) const {
    const auto field = detail::zfp_field_of(decoded);
    return field ? detail::zfp_bound(options, *field).value_or(UINT64_MAX) : UINT64_MAX;
  }
  result<std::uint64_t> encoded_size(const host_view& from) const {
    return encoded_bound(from.spec());
  }
  result<std::size_t> encode(const host_view& from, mutable_bytes to,
                             codec_workspace& scratch) const {
    return detail::zfp_encode(from, to, options, false, scratch);
  }
  result<void> decode(bytes_view stored, const mutable_host_view& into,
                      codec_workspace& scratch) const {
    return detail::zfp_decode(stored, into, &options, scratch);
  }
};

/// The codec `numcodecs.zfpy`, in Zarr v2 the compressor `zfpy`: the same with a header of zfp,
/// which says how the chunk was written and is what reading goes by. Elements: int32, int64,
/// float32, float64.
struct zfpy_codec {
  static constexpr std::string_view name = "numcodecs.zfpy";
  static constexpr bool fixed_size = false;

  int mode = zfp_mode_fixed_accuracy;  ///< a number of zfp's `zfp_mode`
  double tolerance = -1;               ///< below 0: lossless, and so for the others
  double rate = -1;
  std::int32_t precision = -1;

  static result<zfpy_codec> from_configuration(const node& configuration) {
    // numcodecs writes the last one, which repeats one of the others, and does not read it.
    ZARRPOINT_TRY(
        reader, configuration_reader::open(configuration, {"mode", "tolerance", "rate", "precision",
                                                           "compression_kwargs"}));
    zfpy_codec out;
    ZARRPOINT_TRY(mode, reader.integer("mode", zfp_mode_null, zfp_mode_reversible));
    if (mode) out.mode = static_cast<int>(*mode);
    for (const auto& [key, to] : {std::pair("tolerance", &out.tolerance), {"rate", &out.rate}}) {
      if (reader.find(key) == nullptr) continue;
      ZARRPOINT_TRY(number, detail::zfp_number(reader, key));
      *to = number;
    }
    ZARRPOINT_TRY(precision, reader.integer("precision", INT32_MIN, INT32_MAX));
    if (precision) out.precision = static_cast<std::int32_t>(*precision);
    return out;
  }
  node configuration() const {
    return node::object{{"mode", mode},
                        {"tolerance", tolerance},
                        {"rate", rate},
                        {"precision", std::int64_t{precision}}};
  }

  result<zfpy_codec> resolve(const tensor_spec& decoded) const {
    if (decoded.type.size() < 4 || decoded.type.is_unsigned_integer())
      return error{errc::unsupported,
                   "cannot compress elements of type " + std::string(to_string(decoded.type))};
    ZARRPOINT_TRY(field, detail::zfp_field_of(decoded));
    ZARRPOINT_CHECK(detail::zfp_bound(options(), field));
    return *this;
  }

  /// The header may say another mode than the metadata, so room is that of the longest.
  std::uint64_t encoded_bound(const tensor_spec& decoded) const {
    const auto field = detail::zfp_field_of(decoded);
    if (!field) return UINT64_MAX;
    return std::max(detail::zfp_bound({}, *field).value_or(UINT64_MAX),
                    detail::zfp_bound(options(), *field).value_or(UINT64_MAX));
  }
  result<std::uint64_t> encoded_size(const host_view& from) const {
    return encoded_bound(from.spec());
  }
  result<std::size_t> encode(const host_view& from, mutable_bytes to,
                             codec_workspace& scratch) const {
    if (mode < zfp_mode_fixed_rate)
      return error{errc::unsupported, "\"mode\" " + std::to_string(mode) + " of numcodecs.zfpy"};
    return detail::zfp_encode(from, to, options(), true, scratch);
  }
  result<void> decode(bytes_view stored, const mutable_host_view& into,
                      codec_workspace& scratch) const {
    return detail::zfp_decode(stored, into, nullptr, scratch);
  }

 private:
  zfp_options options() const {
    using kind = zfp_options::kind;
    zfp_options out;
    if (mode == zfp_mode_fixed_accuracy && tolerance >= 0) {
      out.mode = kind::fixed_accuracy;
      out.tolerance = tolerance;
    } else if (mode == zfp_mode_fixed_rate && rate >= 0) {
      out.mode = kind::fixed_rate;
      out.rate = rate;
    } else if (mode == zfp_mode_fixed_precision && precision >= 0) {
      out.mode = kind::fixed_precision;
      out.precision = static_cast<std::uint32_t>(precision);
    }
    return out;
  }
};

}}  // namespace zarrpoint::v0
