// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Opt in: include this header, link zfp (-lzfp), and use
// `default_codecs::with<zfp_codec, zfpy_codec>`.

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/zfp/zfp_stream.hpp>

#include <optional>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The codec `zfp` of the registry. The numbers of a chunk of up to 4 dimensions are stored in
/// blocks of four along each, as the library zfp writes them, without a header (zarr-extensions,
/// "zfp"). Elements: float32, float64, integers of 8 to 64 bits; of uint32 and uint64 those that
/// the signed type holds. All modes but `reversible` lose precision.
struct zfp_codec {
  static constexpr std::string_view name = "zfp";
  static constexpr bool fixed_size = false;

  zfp_options options;

  void fields(configuration_fields& all) {
    using kind = zfp_options::kind;
    constexpr std::string_view modes[] = {"reversible", "expert", "fixed_accuracy", "fixed_rate",
                                          "fixed_precision"};
    zfp_options& how = options;
    all.need("mode");
    all.choice("mode", how.mode, modes);
    if (all.failed()) {  // of which mode, nobody knows
      for (const char* const of_some :
           {"tolerance", "rate", "precision", "minbits", "maxbits", "maxprec", "minexp"})
        all.find(of_some);
      return;
    }
    const auto number = [&](std::string_view key, double& to) {
      all.need(key);
      all.number(key, to);
      if (to < 0) all.fail('"' + std::string(key) + "\" must not be below 0");
    };
    const auto whole = [&](std::string_view key, std::uint32_t& to) {
      all.need(key);
      all.integer(key, to, 0, UINT32_MAX);
    };
    switch (how.mode) {
      case kind::reversible: break;
      case kind::fixed_accuracy: return number("tolerance", how.tolerance);
      case kind::fixed_rate: return number("rate", how.rate);
      case kind::fixed_precision: return whole("precision", how.precision);
      case kind::expert:
        whole("minbits", how.minbits);
        whole("maxbits", how.maxbits);
        whole("maxprec", how.maxprec);
        all.need("minexp");
        all.integer("minexp", how.minexp, INT32_MIN, INT32_MAX);
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

  void fields(configuration_fields& all) {
    all.integer("mode", mode, zfp_mode_null, zfp_mode_reversible);
    all.number("tolerance", tolerance);
    all.number("rate", rate);
    all.integer("precision", precision, INT32_MIN, INT32_MAX);
    // numcodecs writes it, as a copy of one of the others, and does not read it.
    all.find("compression_kwargs");
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
      return error{errc::unsupported,
                   "\"mode\" " + std::to_string(mode) + " of numcodecs.zfpy is not known"};
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
