// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A skeleton to copy: how a type of another library becomes one that zarrpoint saves and loads.
// Replace `my::tensor` by your type and answer the six questions below; nothing else is needed.
// (For a type of your own the same struct may stand inside it, named `zarrpoint_handler`.)

#include <zarrpoint/handlers.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

// ---- somebody else's type, which knows nothing of zarrpoint ------------------------------------

namespace my {

/// A dense row-major tensor of floats.
class tensor {
 public:
  tensor() = default;
  explicit tensor(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {
    std::size_t count = 1;
    for (const std::int64_t n : sizes_) count *= static_cast<std::size_t>(n);
    values_.resize(count);
  }
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  float* ptr() { return values_.data(); }
  const float* ptr() const { return values_.data(); }

 private:
  std::vector<std::int64_t> sizes_{0};
  std::vector<float> values_;
};

}  // namespace my

// ---- its handler: facts only, no files ---------------------------------------------------------

template <>
struct zarrpoint::type_handler<my::tensor> {
  // 1. The kind that is written to the checkpoint. "array" is what arrays of every library share,
  // so
  //    that it can be loaded as another type; a name of your own marks what only you can restore.
  static constexpr std::string_view typestr = "array";

  // 2. Where the elements live. A type on a device names the memory space of that device.
  using space = host_space;

  // 3. Its dtype and shape. Touches no element. Return a result<tensor_spec> if it can fail.
  static tensor_spec spec(const my::tensor& value) {
    return {type, dims::from_range(value.sizes().begin(), value.sizes().end())};
  }

  // 4. Where its elements are. Borrowed: the value outlives the save. `dense_view` is row-major;
  //    fill in `strides` (in bytes) for other orders.
  static host_view view(const my::tensor& value) {
    return dense_view(reinterpret_cast<const std::byte*>(value.ptr()), spec(value));
  }

  // 5. A new value for what is stored, or the reason why there is none. The spec comes from a file:
  //    check what you rely on.
  static result<my::tensor> make(const tensor_spec& stored, const place<space>&) {
    if (stored.type != type)
      return error{errc::dtype_mismatch,
                   "my::tensor holds float32, stored is " + std::string(to_string(stored.type))};
    ZARRPOINT_CHECK(byte_count(stored));
#if ZARRPOINT_EXCEPTIONS
    try {
      return my::tensor({stored.shape.begin(), stored.shape.end()});
    } catch (const std::bad_alloc&) {
      return error{errc::resource_limit, "no memory for " + to_string(stored)};
    }
#else
    return my::tensor({stored.shape.begin(), stored.shape.end()});
#endif
  }

  // 6. Where the loaded elements go.
  static mutable_host_view writable(my::tensor& target) {
    return dense_view(reinterpret_cast<std::byte*>(target.ptr()), spec(target));
  }

  // Optional: the dtype, since the C++ type decides it. Also possible: `rank`, `is_view`,
  // `is_flat`, `aliases`; see <zarrpoint/handlers.hpp>.
  static constexpr dtype type = dtype_kind::float32;
};

static_assert(zarrpoint::savable<my::tensor> && zarrpoint::loadable<my::tensor>);
