// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/buffer.hpp>
#include <zarrpoint/handler/base/concepts.hpp>

#include <utility>

namespace zarrpoint { inline namespace v0 { namespace cuda {

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
      return error{errc::unsupported, "strings live in host memory only"};
    if (!spec.type.valid()) return error{errc::invalid_argument, "tensor of an invalid dtype"};
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
    if (!value.type().valid()) return error{errc::invalid_argument, "an empty tensor"};
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

}}}  // namespace zarrpoint::v0::cuda
