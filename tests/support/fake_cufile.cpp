// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A shared library with the functions of libcufile.so.0 that interop/cufile.hpp calls.

#include "support/fake_cufile.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <string>
#include <vector>

namespace {

constexpr int not_supported = 5008;
constexpr int invalid_value = 5022;

struct status {
  int code;
  int cuda;
};
struct descriptor {
  int type;
  union {
    int number;
    void* pointer;
  } file;
  const void* file_system;
};
struct handle {
  int file;
  std::uint64_t mark;
};
constexpr std::uint64_t live_mark = 0x7a61727270746c65;

}  // namespace

extern "C" {

zarrpoint_test::fake_cufile* fake_cufile_state() {
  static zarrpoint_test::fake_cufile state;
  return &state;
}

status cuFileDriverOpen();
status cuFileHandleRegister(void** out, descriptor* of);
void cuFileHandleDeregister(void* of);
ssize_t cuFileRead(void* of, void* base, std::size_t bytes, off_t file_offset, off_t base_offset);

status cuFileDriverOpen() {
  ++fake_cufile_state()->opened;
  return {fake_cufile_state()->driver_code, 0};
}

status cuFileHandleRegister(void** out, descriptor* of) {
  auto& state = *fake_cufile_state();
  const int flags = ::fcntl(of->file.number, F_GETFL);
  if (of->type != 1 || flags < 0 || of->file_system != nullptr) return {invalid_value, 0};
  if (state.register_code != 0) return {state.register_code, 0};
  if (state.refuse_direct && (flags & O_DIRECT) != 0) return {not_supported, 0};
  ++state.registered;
  ++state.live;
  // Of its own: the real one keeps what it needs, too.
  const int file = ::open(("/proc/self/fd/" + std::to_string(of->file.number)).c_str(), O_RDONLY);
  *out = new (std::nothrow) handle{file, live_mark};
  return {0, 0};
}

void cuFileHandleDeregister(void* of) {
  auto* const known = static_cast<handle*>(of);
  --fake_cufile_state()->live;
  ::close(known->file);
  known->mark = 0;
  delete known;
}

ssize_t cuFileRead(void* of, void* base, std::size_t bytes, off_t file_offset, off_t base_offset) {
  auto& state = *fake_cufile_state();
  const auto* const known = static_cast<const handle*>(of);
  const std::uint64_t number = ++state.reads;
  if (known->mark != live_mark) {
    ++state.misused;
    return -invalid_value;
  }
  if (number == state.fail_read) {
    errno = EIO;
    return -1;
  }
  if (number == state.end_read) return 0;
  if (state.short_read != 0 && number >= state.short_read && bytes > 1) bytes /= 2;
  std::vector<std::byte> from(bytes);
  const ssize_t count = ::pread(known->file, from.data(), bytes, file_offset);
  if (count <= 0) return count;
  if (number == state.flip_read) from[0] ^= std::byte{1};
  auto* const to = static_cast<std::byte*>(base) + base_offset;
  if (!state.write(state.user, to, from.data(), static_cast<std::size_t>(count)))
    return -invalid_value;
  state.bytes += static_cast<std::uint64_t>(count);
  return count;
}

}  // extern "C"
