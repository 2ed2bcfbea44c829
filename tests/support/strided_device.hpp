// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include "support/fake_device.hpp"
#include "support/random_layout.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace zarrpoint_test {

/// Random bytes on a fake device, as a strided view of any layout sees them, and the same on the
/// host. The upload is under way until `ready`.
class strided_device {
 public:
  strided_device(const fake_space& space, zp::dtype type, const zp::dims& shape, layout places,
                 random_source& random)
      : space_(space),
        type_(type),
        shape_(shape),
        places_(std::move(places)),
        host_(random_bytes(random, places_.size)),
        data_(space.owner->allocate(host_.size())) {
    space_.copy_from_host(data_, host_.data(), {.width = host_.size()}).value();
    ready_ = space_.record().value();
  }
  strided_device(const strided_device&) = delete;
  strided_device& operator=(const strided_device&) = delete;
  ~strided_device() {
    static_cast<void>(space_.wait(ready_));  // nobody waited if there are no elements
    space_.owner->free(data_, space_.stream);
  }

  /// Seen through any stream of the device.
  zp::tensor_view<fake_space> view(std::size_t stream = 0) const {
    return {data_ + places_.first, type_, shape_, places_.strides, {space_.owner, stream}, ready_};
  }
  zp::host_view on_host() const {
    return {host_.data() + places_.first, type_, shape_, places_.strides, {}, {}};
  }
  std::byte* data() const { return data_; }
  std::size_t size() const { return host_.size(); }
  /// Lets the host forget them.
  void wait() const { space_.wait(ready_).value(); }

 private:
  fake_space space_;
  zp::dtype type_;
  zp::dims shape_;
  layout places_;
  std::vector<std::byte> host_;
  std::byte* data_;
  fake_device::event ready_;
};

/// Elements one after another, in row-major order.
inline std::vector<std::byte> dense_bytes_of(const zp::host_view& view) {
  std::vector<std::byte> out(zp::byte_count(view.spec()).value());
  zp::copy_elements(zp::dense_view(out.data(), view.spec()), view);
  return out;
}

/// Row-major without gaps.
inline layout dense_layout(const zp::dims& shape, std::size_t element) {
  return {zp::row_major_strides(shape, element), 0, zp::byte_count(shape, element).value()};
}

}  // namespace zarrpoint_test
