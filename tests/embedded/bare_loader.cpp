// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// What a loader takes of libc and zstd, in one bare loop: tests/tools/check_size.py compares
// examples/embedded/loader.cpp with it. It is linked for its size, and never run.

#define ZSTD_STATIC_LINKING_ONLY
#include <time.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  alignas(64) static char from[1 << 16], to[1 << 16];
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  timespec until{};
  ::pthread_mutex_lock(&mutex);
  ::pthread_cond_timedwait(&changed, &mutex, &until);
  ::pthread_cond_wait(&changed, &mutex);
  ::pthread_cond_broadcast(&changed);
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  const int directory = ::open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int file = static_cast<int>(::syscall(SYS_openat2, directory, argv[2], nullptr, 0));
  struct stat info {};
  if (::fstat(file, &info) != 0 || ::fstatat(directory, argv[2], &info, 0) != 0)
    std::fprintf(stderr, "%s: %s\n", argv[1], std::strerror(errno));
  void* const mapped = ::mmap(nullptr, sizeof to, PROT_READ, MAP_SHARED, file, 0);
  iovec part{to, sizeof to};
  ::preadv(file, &part, 1, 0);
  ::pread(file, from, sizeof from, 0);
  // What a store can do, whether the loader does it or not.
  ::pwrite(file, from, sizeof from, 0);
  ::posix_fallocate(file, 0, 4096);
  ::fsync(file);
  ::mkdirat(directory, "x", 0777);
  ::renameat2(directory, "x", directory, "y", 0);
  ::unlinkat(directory, "y", 0);
  static_cast<void>(::getentropy(to, 16));
  if (DIR* const listed = ::fdopendir(directory); listed != nullptr) {
    while (const dirent* entry = ::readdir(listed)) std::puts(entry->d_name);
    ::closedir(listed);
  }
  std::printf("%s %g %g %Lg\n", std::localeconv()->decimal_point, std::strtod(from, nullptr),
              static_cast<double>(std::strtof(from, nullptr)), std::strtold(from, nullptr));
  std::printf("%lu %ld\n", std::strtoul(from, nullptr, 10), std::strtol(from, nullptr, 10));
  const ZSTD_customMem memory{[](void*, std::size_t bytes) { return std::malloc(bytes); },
                              [](void*, void* pointer) { std::free(pointer); }, nullptr};
  ZSTD_DCtx* const context = ZSTD_createDCtx_advanced(memory);
  const std::size_t size = ZSTD_findFrameCompressedSize(from, sizeof from);
  const std::size_t done = ZSTD_decompressDCtx(context, to, sizeof to, from, size);
  if (ZSTD_isError(done) || ZSTD_getFrameContentSize(from, size) == 0)
    std::printf("%s %d\n", ZSTD_getErrorName(done), static_cast<int>(ZSTD_getErrorCode(done)));
  ZSTD_freeDCtx(context);
  ::munmap(mapped, sizeof to);
  return 0;
}
