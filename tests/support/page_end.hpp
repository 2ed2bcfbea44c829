// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>

#include <doctest/doctest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace zarrpoint_test {

/// A copy of bytes after which nothing can be read: what reads beyond them crashes, without a
/// sanitizer, too.
class page_end {
 public:
  explicit page_end(zarrpoint::bytes_view from) : size_(from.size()) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    readable_ = (size_ + page - 1) / page * page;
    all_ = readable_ + page;
    void* const made =
        ::mmap(nullptr, all_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(made != MAP_FAILED);
    memory_ = static_cast<std::byte*>(made);
    if (size_ != 0) std::memcpy(memory_ + readable_ - size_, from.data(), size_);
    REQUIRE(::mprotect(memory_ + readable_, page, PROT_NONE) == 0);
  }
  page_end(const page_end&) = delete;
  page_end& operator=(const page_end&) = delete;
  ~page_end() { ::munmap(memory_, all_); }

  zarrpoint::bytes_view bytes() const { return {memory_ + readable_ - size_, size_}; }

 private:
  std::byte* memory_ = nullptr;
  std::size_t size_, readable_ = 0, all_ = 0;
};

}  // namespace zarrpoint_test
