// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/tensor_any.hpp>

#include <span>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace cuda {

/// A dense, row-major tensor of `T` on a device, made, written and given back in the order of its
/// space's stream. Move-only; one made by default has the shape {0} and no device's memory.
///
/// `T` is the C++ type of a dtype, those of CUDA with cuda/element_types.hpp.
template <element T>
class tensor {
 public:
  using value_type = T;
  using space = device_space;
  struct zarrpoint_handler;

  tensor() = default;
  /// Elements that are not initialised. Errors: those of the device; `out_of_range` for a shape
  /// that no memory holds.
  static result<tensor> make(const dims& shape, const device_space& where = {}) {
    ZARRPOINT_TRY(made, tensor_any::make({dtype_of<T>, shape}, where));
    return tensor(std::move(made));
  }
  /// One of the given elements, in row-major order, which have arrived.
  static result<tensor> from_host(std::span<const T> values, const dims& shape,
                                  const device_space& where = {}) {
    ZARRPOINT_TRY(made, make(shape, where));
    ZARRPOINT_CHECK(made.upload(values));
    return std::move(made);
  }

  const dims& shape() const noexcept { return any_.shape(); }
  std::size_t rank() const noexcept { return shape().rank(); }
  /// The number of elements.
  std::size_t size() const noexcept { return any_.bytes() / sizeof(T); }
  /// Addresses on the device; null when there are no elements.
  T* data() noexcept { return reinterpret_cast<T*>(any_.data()); }
  const T* data() const noexcept { return reinterpret_cast<const T*>(any_.data()); }
  const device_space& get_space() const noexcept { return any_.get_space(); }

  /// What a reader on another stream must wait for. A program that writes the elements on a stream
  /// other than the space's sets it to an event recorded there.
  const event& ready() const noexcept { return any_.ready(); }
  void set_ready(event after) noexcept { any_.set_ready(std::move(after)); }

  /// Whether the last load into it succeeded: false before the first, while one is under way, and
  /// after one that failed, which leaves the elements in any state.
  bool loaded() const noexcept { return any_.loaded(); }

  /// Copies all elements from the host, and waits for them. Errors: those of the device;
  /// `invalid_argument` for another number of them.
  result<void> upload(std::span<const T> values) { return any_.upload(std::as_bytes(values)); }
  /// The elements on the host.
  result<std::vector<T>> download() const {
    std::vector<T> out(size());
    ZARRPOINT_CHECK(any_.download(std::as_writable_bytes(std::span(out))));
    return out;
  }

 private:
  explicit tensor(tensor_any&& made) : any_(std::move(made)) {}

  tensor_any any_;
};

template <element T>
struct tensor<T>::zarrpoint_handler {
  using any_handler = tensor_any::zarrpoint_handler;
  static constexpr std::string_view typestr = any_handler::typestr;
  static constexpr auto aliases = any_handler::aliases;
  using space = device_space;
  static constexpr dtype type = dtype_of<T>;

  static tensor_spec spec(const tensor& value) { return {type, value.shape()}; }
  static tensor_view<space> view(const tensor& value) { return any_handler::view(value.any_); }
  /// On the device and stream that the place names.
  static result<tensor> make(const tensor_spec& stored, const place<space>& where) {
    ZARRPOINT_CHECK(zarrpoint::detail::expect_dtype(stored, type));
    return tensor::make(stored.shape, where.space);
  }
  static mutable_tensor_view<space> writable(tensor& target) {
    return any_handler::writable(target.any_);
  }
  static void mark_loaded(tensor& target, bool loaded) {
    any_handler::mark_loaded(target.any_, loaded);
  }
};

}}}  // namespace zarrpoint::v0::cuda
