// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/chain.hpp>
#include <zarrpoint/core/tensor_spec.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace zarrpoint::inline v0::detail {

inline std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) noexcept {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/// The most bytes of a workspace that a chain takes for one chunk, scratch memory and contexts, as
/// far as its codecs tell. It follows what `encode` and `decode` do.
class chain_memory {
 public:
  /// To encode this chunk.
  static std::uint64_t to_encode(const codec_chain& chain, const host_view& chunk) {
    return chain_memory(chain).encode(chunk, true);
  }
  /// To encode a chunk of which no more is known than whether it will be dense; of strings their
  /// texts are not in it.
  static std::uint64_t to_encode(const codec_chain& chain, bool dense) {
    if (!dense) return chain_memory(chain).encode(std::nullopt, false);
    return chain_memory(chain).encode(as_const(dense_view(&anchor, chain.chunk_spec())), false);
  }
  /// To decode into this view. Other encoders may need twice as much.
  static std::uint64_t to_decode(const codec_chain& chain, const mutable_host_view& into) {
    return chain_memory(chain).decode(into);
  }
  /// To decode into a chunk of any layout.
  static std::uint64_t to_decode(const codec_chain& chain) {
    return chain_memory(chain).decode(std::nullopt);
  }

 private:
  explicit chain_memory(const codec_chain& chain) : chain_(chain) {}

  static std::uint64_t bytes_of(const tensor_spec& spec) {
    return byte_count(spec.shape, memory_size(spec.type)).value_or(SIZE_MAX);
  }
  void add(std::uint64_t bytes) { total_ = saturating_add(total_, bytes); }
  void use(std::size_t slot, std::uint64_t bytes) { slots_[slot] = std::max(slots_[slot], bytes); }
  std::uint64_t all() {
    add(slots_[0]);
    add(slots_[1]);
    return total_;
  }
  std::uint64_t room(std::size_t i, std::uint64_t bytes) const {
    return chain_.with_room(i, bytes).value_or(SIZE_MAX);
  }

  /// `readable`: the view has elements. None: of any layout.
  std::uint64_t encode(std::optional<host_view> view, bool readable) {
    tensor_spec spec = chain_.chunk_;
    for (std::size_t i = 0; i < chain_.array_codecs_.size(); ++i) {
      const erased_array_codec& one = *chain_.array_codecs_[i].if_array_to_array();
      const tensor_spec& made = chain_.array_specs_[i];
      if (one.has_views()) {
        if (view) view = one.encode_view(*view);
      } else if (const auto same = view ? one.borrow(*view) : std::nullopt) {
        view = *same;
      } else {
        // What it makes, and memory of its own for both sides where they do not suit it.
        add(saturating_add(bytes_of(spec), saturating_add(bytes_of(made), bytes_of(made))));
        view = as_const(dense_view(&anchor, made));
        readable = false;
      }
      spec = made;
    }
    const erased_array_bytes_codec& first = chain_.array_bytes();
    std::uint64_t bytes = encoded_size(first, spec, readable ? view : std::nullopt);
    bool borrowed = view && first.borrow(*view);
    if (!borrowed) {
      use(0, room(0, bytes));
      add(first.encode_memory(spec));
    }
    std::size_t slot = 0;
    for (std::size_t i = 0; i < chain_.byte_codecs_.size(); ++i) {
      const erased_bytes_codec& one = *chain_.byte_codecs_[i].if_bytes_to_bytes();
      const std::uint64_t bound = one.encoded_bound(bytes);
      if (one.in_place()) {
        if (borrowed) use(slot, room(i, bytes));
      } else {
        slot = borrowed ? slot : 1 - slot;
        use(slot, room(i + 1, bound));
        add(one.encode_memory(bytes));
      }
      borrowed = false;
      bytes = bound;
    }
    return all();
  }

  /// An estimate where no bound is known and there are no elements to look at.
  static std::uint64_t encoded_size(const erased_array_bytes_codec& first, const tensor_spec& spec,
                                    const std::optional<host_view>& elements) {
    const bool bounded = first.encoded_bound(spec) != UINT64_MAX;
    if (elements) return first.encoded_size(*elements).value_or(bytes_of(spec));
    if (!bounded || spec.type.is_variable()) return bytes_of(spec);
    return first.encoded_size(as_const(dense_view(&anchor, spec))).value_or(bytes_of(spec));
  }

  std::uint64_t decode(std::optional<mutable_host_view> into) {
    tensor_spec spec = chain_.chunk_;
    for (std::size_t i = 0; i < chain_.array_codecs_.size(); ++i) {
      const erased_array_codec& one = *chain_.array_codecs_[i].if_array_to_array();
      const tensor_spec& made = chain_.array_specs_[i];
      if (one.has_views()) {
        if (into) into = one.decode_view(*into);
      } else if (const auto same = into ? one.target(*into) : std::nullopt) {
        into = *same;
      } else {
        add(saturating_add(bytes_of(made), saturating_add(bytes_of(spec), bytes_of(made))));
        into = dense_view(&anchor, made);
      }
      spec = made;
    }
    const erased_array_bytes_codec& first = chain_.array_bytes();
    std::size_t slot = 0;
    for (std::size_t i = chain_.byte_codecs_.size(); i-- > 0;) {
      const erased_bytes_codec& one = *chain_.byte_codecs_[i].if_bytes_to_bytes();
      if (one.in_place()) continue;
      const std::uint64_t bound = chain_.sizes_[i].bound;
      const std::uint64_t bytes = bound == UINT64_MAX ? bytes_of(spec) : bound;
      add(one.decode_memory(bytes));
      if (i == 0 && into && first.target(*into)) return all();  // straight to its place
      use(slot, bytes);
      slot = 1 - slot;
    }
    add(first.decode_memory(spec));
    return all();
  }

  static inline std::byte anchor{};  // for views whose elements nobody looks at

  const codec_chain& chain_;
  std::uint64_t total_ = 0;
  std::array<std::uint64_t, 2> slots_{};
};

}  // namespace zarrpoint::inline v0::detail
