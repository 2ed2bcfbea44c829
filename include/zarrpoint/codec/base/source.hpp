// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/any_codec.hpp>
#include <zarrpoint/codec/base/registry.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>

#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Where a chain has its codecs from.
class codec_source {
 public:
  virtual ~codec_source() = default;
  /// Whether there is a codec of that name.
  virtual bool knows(std::string_view name) const = 0;
  /// The codec that `spec` names, for elements of `decoded` that are `fill` where nothing was
  /// written. `fill` is empty where nobody knows it.
  virtual result<any_codec> make(const codec_spec& spec, const tensor_spec& decoded,
                                 bytes_view fill) const = 0;
};

/// The codecs of a table.
class table_codecs final : public codec_source {
 public:
  explicit table_codecs(const codec_table& known) : known_(known) {}
  bool knows(std::string_view name) const override { return known_.find(name) != nullptr; }
  result<any_codec> make(const codec_spec& spec, const tensor_spec& decoded,
                         bytes_view fill) const override {
    return known_.make(spec, &decoded, fill);
  }

 private:
  codec_table known_;
};

}}}  // namespace zarrpoint::v0::detail
