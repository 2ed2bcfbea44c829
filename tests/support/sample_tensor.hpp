// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/tensor_view.hpp>

#include "support/random_layout.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace zarrpoint_test {

/// A tensor for tests: random elements of any dtype, bool and strings too, in memory of its own,
/// dense or of a random layout.
class sample_tensor {
 public:
  enum class placed { dense, anywhere };

  sample_tensor(const zp::tensor_spec& spec, random_source& random, placed how = placed::dense)
      : spec_(spec) {
    const std::size_t size = zp::memory_size(spec.type);
    layout_.strides = zp::row_major_strides(spec.shape, size);
    layout_.size = static_cast<std::size_t>(zp::element_count(spec.shape).value()) * size;
    // Strings stay aligned: their layouts have no odd gaps.
    if (how == placed::anywhere && !spec.type.is_variable())
      layout_ = random_layout(random, spec.shape, size);
    if (spec.type.is_variable()) {
      strings_.resize(layout_.size / size);
      for (std::string& text : strings_) text = random_text(random);
    } else {
      bytes_ = random_bytes(random, layout_.size);
      if (spec.type == zp::dtype_kind::bool_) {
        for (std::byte& b : bytes_) b &= std::byte{1};
      } else if (spec.type.is_below_byte()) {
        // Values that have no unused bits set, whether their type is signed or not.
        const auto bits = static_cast<unsigned>(spec.type.bits());
        for (std::byte& b : bytes_) b &= static_cast<std::byte>((1U << (bits - 1)) - 1);
      } else if (pick(random, 2) == 0) {
        for (std::byte& b : bytes_) b &= std::byte{3};  // something to compress
      }
    }
  }

  zp::mutable_host_view target() {
    return {data() + layout_.first, spec_.type, spec_.shape, layout_.strides, {}, {}};
  }
  zp::host_view view() { return zp::as_const(target()); }

  static std::string random_text(random_source& random) {
    static constexpr const char* parts[] = {"", "a", "weights/", "\xc3\xa9", "\xf0\x9f\x8e\x88",
                                            "0"};
    std::string text;
    for (std::size_t n = pick(random, 12); n > 0; --n)
      text += parts[pick(random, std::size(parts))];
    return text;
  }

 private:
  std::byte* data() {
    return spec_.type.is_variable() ? reinterpret_cast<std::byte*>(strings_.data()) : bytes_.data();
  }

  zp::tensor_spec spec_;
  layout layout_;
  std::vector<std::byte> bytes_;
  std::vector<std::string> strings_;
};

}  // namespace zarrpoint_test
