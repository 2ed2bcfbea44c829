// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/exec/task.hpp>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE task::task(task&& other) noexcept : table_(std::exchange(other.table_, nullptr)) {
  if (table_ != nullptr) table_->relocate(storage_, other.storage_);
}

ZARRPOINT_INLINE task& task::operator=(task&& other) noexcept {
  if (this != &other) {
    reset();
    table_ = std::exchange(other.table_, nullptr);
    if (table_ != nullptr) table_->relocate(storage_, other.storage_);
  }
  return *this;
}

ZARRPOINT_INLINE void task::operator()() noexcept {
  ZARRPOINT_ASSERT(table_ != nullptr);
  table_->run(storage_);
}

ZARRPOINT_INLINE void task::reset() noexcept {
  if (table_ != nullptr) std::exchange(table_, nullptr)->destroy(storage_);
}

}}  // namespace zarrpoint::v0
