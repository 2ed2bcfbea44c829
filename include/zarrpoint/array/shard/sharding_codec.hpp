// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/grid/plan.hpp>
#include <zarrpoint/array/shard/sharding.hpp>

#include <memory>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The codec `sharding_indexed` as one of a chain, which decodes and encodes whole shards: for
/// shards in shards, and for those with codecs around them that leave no other way. The array layer
/// reads inner chunks of other shards on their own.
class sharding_codec {
 public:
  static constexpr std::string_view name = sharding_config::name;
  static constexpr bool fixed_size = false;

  /// It cannot be made without the shape of the shard: see `array_codecs`.
  static result<sharding_codec> from_configuration(const json&);
  json configuration() const { return written_; }

  std::uint64_t encoded_bound(const tensor_spec&) const { return bound_; }
  result<std::uint64_t> encoded_size(const host_view& from) const;
  result<std::size_t> encode(const host_view& from, mutable_bytes to,
                             codec_workspace& scratch) const;
  result<void> decode(bytes_view stored, const mutable_host_view& into,
                      codec_workspace& scratch) const;

 private:
  friend class array_codecs;

  /// Calls `f(slot, part)` for each inner chunk in row-major order.
  template <class F>
  result<void> for_each_inner(const F& f) const {
    const dims counts = grid_.inner_per_object();
    const std::size_t rank = counts.rank();
    box part(dims(rank, 0), grid_.inner_shape);
    for (std::uint64_t slot = 0; slot < inner_count_; ++slot) {
      ZARRPOINT_CHECK(f(static_cast<std::size_t>(slot), part));
      for (std::size_t d = rank; d-- > 0;) {
        part.offset[d] += grid_.inner_shape[d];
        if (part.offset[d] < grid_.object_shape[d]) break;
        part.offset[d] = 0;
      }
    }
    return {};
  }
  std::string inner_name(const box& part) const;
  bool knows_fill(const dtype& type) const;

  chunk_grid grid_;  // of the shard itself
  std::uint64_t inner_count_ = 0;
  std::uint64_t bound_ = UINT64_MAX;
  std::vector<std::byte> fill_;
  json written_;
  std::shared_ptr<const shard_parts> parts_;
};

/// The codecs of a table, and `sharding_indexed`.
class array_codecs final : public codec_source {
 public:
  array_codecs(const codec_table& known, std::uint64_t max_inner_chunks);

  ZARRPOINT_NO_KEY bool knows(std::string_view name) const override;
  ZARRPOINT_NO_KEY result<any_codec> make(const codec_spec& spec, const tensor_spec& decoded,
                                          bytes_view fill) const override;

  /// The parts of shards of `grid.object_shape`, whose inner chunks have `grid.inner_shape` and
  /// `codecs`. Errors: `unsupported`, `invalid_argument`, `resource_limit`, naming the codec.
  result<shard_parts> make_parts(const sharding_config& config, const tensor_spec& inner,
                                 std::uint64_t inner_count, bytes_view fill) const;

 private:
  result<sharding_codec> make_sharding(const json& configuration, const tensor_spec& decoded,
                                       bytes_view fill) const;

  codec_table known_;
  std::uint64_t max_inner_chunks_;
};

}}}  // namespace zarrpoint::v0::detail
