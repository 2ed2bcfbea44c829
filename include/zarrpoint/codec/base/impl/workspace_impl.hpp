// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE codec_workspace::codec_workspace(memory_resource& from,
                                                  std::uint64_t variable_limit,
                                                  limited_resource* text)
    : resource_(&from), variable_limit_(variable_limit), text_budget_(text) {}

ZARRPOINT_INLINE result<mutable_bytes> codec_workspace::scratch(std::size_t slot,
                                                                std::size_t bytes) {
  while (slots_.size() <= slot) slots_.emplace_back();
  buffer& held = slots_[slot];
  if (held.size() < bytes) {
    held = {};  // first, so that a budget need not hold both
    ZARRPOINT_TRY(grown, buffer::allocate(bytes, *resource_));
    held = std::move(grown);
  }
  return held.bytes().first(bytes);
}

ZARRPOINT_INLINE codec_workspace& codec_workspace::nested() {
  if (nested_ == nullptr) {
    nested_ = std::make_unique<codec_workspace>(*resource_, variable_limit_);
  }
  nested_->outer_ = this;  // which may have been moved
  return *nested_;
}

ZARRPOINT_INLINE void codec_workspace::keep_only(bytes_view bytes) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
  for (buffer& one : slots_) {
    const auto begin = reinterpret_cast<std::uintptr_t>(one.data());
    if (at < begin || at - begin >= one.size()) one = {};
  }
  if (nested_ != nullptr) nested_->keep_only(bytes);
  states_.clear();
}

ZARRPOINT_INLINE std::size_t codec_workspace::held() const noexcept {
  std::size_t bytes = nested_ != nullptr ? nested_->held() : 0;
  for (const buffer& one : slots_) bytes += one.size();
  return bytes;
}

ZARRPOINT_INLINE void* codec_workspace::find_state(char* key) const noexcept {
  for (const kept& one : states_) {
    if (one.key == key) return one.value.get();
  }
  return nullptr;
}

ZARRPOINT_INLINE void* codec_workspace::keep_state(char* key, any_state made) {
  return states_.emplace_back(kept{key, std::move(made)}).value.get();
}

ZARRPOINT_INLINE result<void> codec_workspace::charge_text(std::size_t bytes) {
  if (outer_ != nullptr) return outer_->charge_text(bytes);
  if (text_budget_ == nullptr) return {};
  if (!text_budget_->charge(bytes))
    return error{errc::resource_limit, std::to_string(bytes) + " bytes of text, with " +
                                           std::to_string(text_budget_->in_use()) +
                                           " bytes of the limit of " +
                                           std::to_string(text_budget_->limit()) + " in use"};
  charged_text_ += bytes;
  return {};
}

}}  // namespace zarrpoint::v0
