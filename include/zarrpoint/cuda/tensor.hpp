// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/runtime/device_space.hpp>
#include <zarrpoint/handler/base/concepts.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace cuda {

/// Bytes of a device, given back in the order of the stream that they were made on. Move-only.
class buffer {
 public:
  buffer() = default;
  /// Errors: those of `device_space::allocate`.
  static result<buffer> allocate(std::size_t bytes, const device_space& where) {
    ZARRPOINT_TRY(data, where.allocate(bytes));
    buffer out;
    out.space_ = where;
    out.data_ = data;
    out.size_ = bytes;
    return out;
  }
  buffer(buffer&& other) noexcept { swap(other); }
  buffer& operator=(buffer&& other) noexcept {
    buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~buffer() { space_.deallocate(data_, size_); }

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  const device_space& space() const noexcept { return space_; }

  void swap(buffer& other) noexcept {
    std::swap(space_, other.space_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

 private:
  device_space space_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A dense, row-major tensor on a device, of a dtype known only at run time. It is made, written
/// and given back in the order of its space's stream. Move-only; one made by default holds none.
class tensor_any {
 public:
  using space = device_space;
  struct zarrpoint_handler;

  tensor_any() = default;
  /// Elements that are not initialised. Errors: those of the device; `unsupported` for strings;
  /// `invalid_argument` for no dtype; `out_of_range` for a shape that no memory holds.
  static result<tensor_any> make(const tensor_spec& spec, const device_space& where) {
    if (spec.type.is_variable())
      return error{errc::unsupported,
                   "strings live in host memory only; load or save them without a device"};
    if (!spec.type.valid()) return error{errc::invalid_argument, "the tensor has an invalid dtype"};
    ZARRPOINT_TRY(bytes, byte_count(spec));
    auto memory = buffer::allocate(bytes, where);
    if (!memory) return std::move(memory).failure().at("tensor " + to_string(spec));
    tensor_any out;
    out.spec_ = spec;
    out.space_ = where;
    out.memory_ = std::move(*memory);
    return out;
  }
  /// One of the given elements, which have arrived.
  static result<tensor_any> from_host(const host_view& values, const device_space& where) {
    ZARRPOINT_TRY(made, make(values.spec(), where));
    if (!is_dense(values)) return error{errc::invalid_argument, "the elements are not dense"};
    ZARRPOINT_CHECK(made.upload({values.data, made.bytes()}));
    return std::move(made);
  }

  const tensor_spec& spec() const noexcept { return spec_; }
  dtype type() const noexcept { return spec_.type; }
  const dims& shape() const noexcept { return spec_.shape; }
  /// Addresses on the device; null when there are no bytes.
  std::byte* data() noexcept { return memory_.data(); }
  const std::byte* data() const noexcept { return memory_.data(); }
  std::size_t bytes() const noexcept { return memory_.size(); }
  const device_space& get_space() const noexcept { return space_; }

  /// What a reader on another stream must wait for.
  const event& ready() const noexcept { return ready_; }
  void set_ready(event after) noexcept { ready_ = std::move(after); }

  /// Whether the last load into it succeeded: false before the first, while one is under way, and
  /// after one that failed, which leaves the elements in any state.
  bool loaded() const noexcept { return loaded_; }

  /// Copies all elements from the host, and waits for them.
  result<void> upload(bytes_view from) {
    if (from.size() != bytes()) return wrong_size(from.size());
    ZARRPOINT_CHECK(space_.follow(ready_));
    const auto copied = space_.copy_from_host(data(), from.data(), {from.size(), 1, 0, 0});
    const auto done = space_.synchronize();
    return copied ? done : copied;
  }
  /// Copies all elements to the host, and waits for them.
  result<void> download(mutable_bytes to) const {
    if (to.size() != bytes()) return wrong_size(to.size());
    ZARRPOINT_CHECK(space_.follow(ready_));
    const auto copied = space_.copy_to_host(to.data(), data(), {to.size(), 1, 0, 0});
    const auto done = space_.synchronize();
    return copied ? done : copied;
  }

 private:
  error wrong_size(std::size_t given) const {
    return {errc::invalid_argument, std::to_string(given) +
                                        " bytes of host memory were given; the tensor has " +
                                        std::to_string(bytes())};
  }

  tensor_spec spec_{{}, {0}};
  device_space space_;
  buffer memory_;
  event ready_;
  bool loaded_ = false;
};

/// Of any dtype but strings, of any rank, on the device and stream that the place names.
struct tensor_any::zarrpoint_handler {
  static constexpr std::string_view typestr = zarrpoint::detail::array_kind;
  static constexpr auto aliases = zarrpoint::detail::array_aliases;
  using space = device_space;

  /// Errors: `invalid_argument` for an empty tensor.
  static result<tensor_spec> spec(const tensor_any& value) {
    if (!value.type().valid())
      return error{errc::invalid_argument, "the tensor is empty: it has no memory"};
    return value.spec();
  }
  static tensor_view<space> view(const tensor_any& value) {
    return view_of<tensor_view<space>>(value, value.data());
  }
  static result<tensor_any> make(const tensor_spec& stored, const place<space>& where) {
    return tensor_any::make(stored, where.space);
  }
  static mutable_tensor_view<space> writable(tensor_any& target) {
    return view_of<mutable_tensor_view<space>>(target, target.data());
  }
  static void mark_loaded(tensor_any& target, bool loaded) { target.loaded_ = loaded; }

 private:
  template <class View>
  static View view_of(const tensor_any& value, typename View::pointer data) {
    return {data,
            value.type(),
            value.shape(),
            row_major_strides(value.shape(), value.type().size()),
            value.get_space(),
            value.ready()};
  }
};

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
