// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<tensor> tensor::make(const tensor_spec& spec, memory_resource& from) {
  if (memory_size(spec.type) == 0)
    return error{errc::invalid_argument, "tensor of an invalid dtype"};
  ZARRPOINT_TRY(bytes, byte_count(spec.shape, memory_size(spec.type)));
  auto memory = buffer::allocate(bytes, from);
  if (!memory) return std::move(memory).failure().at("tensor " + to_string(spec));
  tensor out;
  out.spec_ = spec;
  out.memory_ = std::move(*memory);
  if (spec.type.is_variable()) {
    for (std::size_t i = 0; i < bytes; i += sizeof(std::string)) {
      ::new (static_cast<void*>(out.memory_.data() + i)) std::string;
    }
  }
  return out;
}

ZARRPOINT_INLINE tensor& tensor::operator=(tensor&& other) noexcept {
  tensor(std::move(other)).swap(*this);
  return *this;
}

ZARRPOINT_INLINE tensor::~tensor() {
  if (!spec_.type.is_variable()) return;
  for (std::string& text : data<std::string>()) text.~basic_string();
}

ZARRPOINT_INLINE std::size_t tensor::size() const noexcept {
  return spec_.type.valid() ? memory_.size() / memory_size(spec_.type) : 0;
}

ZARRPOINT_INLINE void tensor::swap(tensor& other) noexcept {
  std::swap(spec_, other.spec_);
  memory_.swap(other.memory_);
}

}}  // namespace zarrpoint::v0
