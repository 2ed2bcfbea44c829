// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/temp_directory.hpp"

#include <sys/mount.h>

#include <filesystem>
#include <string>

namespace test {

/// A small file system in memory, mounted over a directory. Mounting needs root: ask `mounted`.
class small_disk {
 public:
  /// Over a directory of its own.
  explicit small_disk(const char* options) : path_(own_ / "disk") {
    std::filesystem::create_directory(path_);
    mount(options);
  }
  /// Over `path`.
  small_disk(const char* options, std::string path) : path_(std::move(path)) { mount(options); }
  ~small_disk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;

  bool mounted() const { return mounted_; }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  bool make_read_only() {
    return ::mount("none", path_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }

 private:
  void mount(const char* options) {
    mounted_ = ::mount("none", path_.c_str(), "tmpfs", 0, options) == 0;
  }

  temp_directory own_;
  std::string path_;
  bool mounted_ = false;
};

inline constexpr const char* skipped_without_root = "skipped: mounting a tmpfs needs root";

}  // namespace test
