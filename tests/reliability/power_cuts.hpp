// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Power cuts on real file systems: an image on a loop device, cut off by FS_IOC_SHUTDOWN at a
// system call of a save, mounted again. And a disk whose writes fail: an image on a tmpfs that is
// full. Both need root.

#include "harness.hpp"
#include "trace.hpp"

#include <sched.h>

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#include <cstring>

namespace reliability {

/// A file system of the kernel, and how an image of it is made.
struct disk_format {
  std::string_view name;
  std::string_view make;
  std::uint64_t bytes;
};
inline constexpr disk_format disk_formats[] = {
    {"ext4", "mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0", std::uint64_t{48} << 20},
    {"xfs", "mkfs.xfs -q -f", std::uint64_t{320} << 20},
    {"btrfs", "mkfs.btrfs -q -f", std::uint64_t{160} << 20},
};

/// A mounted image; everything goes with it.
class disk {
 public:
  disk(const fs::path& folder, const disk_format& as)
      : image_(folder / "image"), mounted_(folder / "mounted"), as_(as) {
    fs::create_directories(mounted_);
    { std::ofstream make(image_); }
    fs::resize_file(image_, as.bytes);
    const std::string command = "PATH=$PATH:/usr/sbin:/sbin; " + std::string(as.make) + " " +
                                image_.string() + " >/dev/null 2>&1";
    if (std::system(command.c_str()) != 0) {
      why_not_ = "no " + std::string(as.make.substr(0, as.make.find(' ')));
      return;
    }
    attach();
    if (why_not_.empty() && !mount()) why_not_ = "mount: " + std::string(std::strerror(errno));
  }
  disk(const disk&) = delete;
  disk& operator=(const disk&) = delete;
  ~disk() {
    unmount();
    if (loop_ >= 0) ::ioctl(loop_, LOOP_CLR_FD, 0), ::close(loop_);
    std::error_code ignored;
    fs::remove(image_, ignored);
  }

  const std::string& why_not() const { return why_not_; }
  const fs::path& at() const { return mounted_; }
  const fs::path& image() const { return image_; }

  bool mount() {
    const std::string name(as_.name);
    is_mounted_ = ::mount(device_.c_str(), mounted_.c_str(), name.c_str(), 0, nullptr) == 0;
    return is_mounted_;
  }
  void unmount() {
    if (!is_mounted_) return;
    for (int i = 0; i < 200 && ::umount2(mounted_.c_str(), 0) != 0; ++i) ::usleep(5000);
    is_mounted_ = false;
  }
  /// From now on nothing reaches the disk. 0 syncs before, 1 writes the journal before, 2 nothing.
  bool cut(std::uint32_t how) const {
    const int fd = ::open(mounted_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int done = ::ioctl(fd, _IOR('X', 125, std::uint32_t), &how);
    const int failed = errno;
    ::close(fd);
    errno = failed;
    return done == 0;
  }

 private:
  void attach() {
    const int control = ::open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 20 && loop_ < 0; ++i) {
      const int number = control < 0 ? -1 : ::ioctl(control, LOOP_CTL_GET_FREE);
      if (number < 0) break;
      device_ = "/dev/loop" + std::to_string(number);
      loop_ = ::open(device_.c_str(), O_RDWR | O_CLOEXEC);
      const int file = ::open(image_.c_str(), O_RDWR | O_CLOEXEC);
      // Somebody else may have taken it meanwhile.
      if (loop_ >= 0 && ::ioctl(loop_, LOOP_SET_FD, file) != 0) ::close(loop_), loop_ = -1;
      ::close(file);
    }
    if (control >= 0) ::close(control);
    if (loop_ < 0) why_not_ = "no loop device";
  }

  fs::path image_, mounted_;
  disk_format as_;
  std::string device_{}, why_not_{};
  int loop_ = -1;
  bool is_mounted_ = false;
};

/// Mounts are this process's own from here on. Empty, or why not.
inline std::string own_mounts() {
  if (::geteuid() != 0) return "it needs root";
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return "no mounts of its own: " + std::string(std::strerror(errno));
  return {};
}

/// What is there for sure, by form; and what a cut may have put in its place.
struct powered {
  std::map<std::string_view, std::int64_t> old{}, calls{};
  std::int64_t step = 10;
};

inline bool power_cut(tally& row, disk& on, powered& state, const form& as) {
  const std::string path = (on.at() / as.file).string();
  const std::int64_t made = ++state.step;
  std::int64_t& calls = state.calls[as.name];
  const std::uint64_t until =
      calls == 0 ? UINT64_MAX : 1 + row.below(static_cast<std::uint64_t>(calls) + 5);
  const auto how = static_cast<std::uint32_t>(row.below(8) == 0 ? 0 : 1 + row.below(2));
  const bool sync = !row.without();
  bool is_cut = false;
  const ended save =
      traced([&] { return as_status([&] { return save_step(path, as, made, sync); }); },
             [&](stop&, bool before, std::uint64_t call) {
               if (!before || call < until) return true;
               is_cut = on.cut(how);
               return false;
             });
  if (calls == 0) calls = static_cast<std::int64_t>(save.calls);
  const bool told = save.status == 0;
  if (!is_cut && !on.cut(how)) return false;
  on.unmount();
  if (!on.mount()) {
    row.violation("the file system cannot be mounted again");
    return false;
  }
  ++row.trials;
  const found left = look(path);
  const std::int64_t old = state.old[as.name];
  const bool whole_old = old == 0 ? left.what == found::kind::none : left.is(old);
  if (told ? !left.is(made) : !whole_old && !left.is(made))
    row.violation(std::string(as.name) + ", cut by " + std::to_string(how) + " at call " +
                  std::to_string(until) + (told ? ", after it was told done" : "") + ": " +
                  to_string(left));
  row.seen["left behind"] += remove_litter(on.at());
  if (left.what == found::kind::whole) {
    state.old[as.name] = left.step;
  } else {
    fs::remove_all(path);
    state.old[as.name] = 0;
  }
  return true;
}

inline void power_cuts_on(tally& row, const disk_format& kind, std::uint64_t trials, double until) {
  disk on(fresh_folder(row, "power_cuts"), kind);
  if (!on.why_not().empty()) {
    row.why_not += (row.why_not.empty() ? "" : "; ") + std::string(kind.name) + ": " + on.why_not();
    return;
  }
  powered state;
  const std::uint64_t before = row.trials;
  while (row.more() && row.trials - before < trials && row.spent() < until) {
    if (!power_cut(row, on, state, forms[row.below(4)])) {
      row.why_not += (row.why_not.empty() ? "" : "; ") + std::string(kind.name) +
                     ": no FS_IOC_SHUTDOWN (" + std::strerror(errno) + ")";
      return;
    }
    if (row.without() && row.violations > 3) return;
  }
  row.seen[std::string(kind.name)] += row.trials - before;
}

inline void power_cuts(tally& row) {
  row.why_not = can_trace ? own_mounts() : "the registers of this processor are not known to it";
  if (!row.why_not.empty()) return;
  constexpr std::size_t kinds = std::size(disk_formats);
  for (std::size_t i = 0; i < kinds; ++i) {
    const double share = (row.of().seconds - row.spent()) / static_cast<double>(kinds - i);
    power_cuts_on(row, disk_formats[i], (row.of().trials - row.trials) / (kinds - i),
                  row.spent() + share);
  }
}

/// Fills up what the disk's image lies on, but for some bytes.
inline void fill_up(const fs::path& file, std::uint64_t but) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const std::string block(4096, 'f');
  while (::write(fd, block.data(), block.size()) == 4096) {
  }
  struct ::stat info {};
  ::fstat(fd, &info);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (::ftruncate(fd, static_cast<off_t>(size < but ? 0 : size - but)) != 0) std::abort();
  ::close(fd);
}

/// A save whose blocks cannot be written: the disk beneath the file system is full, and says so
/// only when the file is synced.
inline void failing_disk_trial(tally& row, const fs::path& beneath, const disk_format& kind) {
  disk on(beneath, kind);
  if (!on.why_not().empty()) {
    row.why_not = on.why_not();
    return;
  }
  const form& as = forms[row.below(4)];
  const std::string path = (on.at() / as.file).string();
  if (!save_step(path, as, 1)) row.violation("a save without faults fails");
  const std::uint64_t left = row.below(12) * 4096;
  fill_up(beneath / "filler", left);
  const bool sync = !row.without();
  const int status = as_status([&] { return save_step(path, as, 2, sync); });
  // The disk is well again: a second sync that says so must not have been asked.
  fs::remove(beneath / "filler");
  on.cut(1);
  on.unmount();
  const bool mounted = on.mount();
  const found there = mounted ? look(path) : found{found::kind::failed, 0, "cannot be mounted"};
  ++row.trials;
  ++row.seen[status == 0 ? "succeeded" : status == status_unknown ? "unknown" : "refused"];
  const bool good = status == 0               ? there.is(2)
                    : status == status_failed ? there.is(1)
                                              : there.is(1) || there.is(2);
  if (!good)
    row.violation(std::string(kind.name) + ", " + std::string(as.name) + ", room for " +
                  std::to_string(left) + " bytes: exit status " + std::to_string(status) +
                  ", found " + to_string(there));
}

inline void failing_disk(tally& row) {
  row.why_not = own_mounts();
  if (!row.why_not.empty()) return;
  const fs::path beneath = fresh_folder(row, "failing_disk");
  if (::mount("none", beneath.c_str(), "tmpfs", 0, "size=40m") != 0) {
    row.why_not = "no tmpfs of its own";
    return;
  }
  while (row.more() && row.why_not.empty()) failing_disk_trial(row, beneath, disk_formats[0]);
  ::umount2(beneath.c_str(), MNT_DETACH);
}

}  // namespace reliability
