// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Save, load and view, raw and zstd, one big tensor and many small ones: ours against the floor,
// which does the same system calls and codec calls in a bare loop, in the same run.
// Usage: checkpoint_bench DIRECTORY [MEGABYTES [ROUNDS]]

#include <zarrpoint/zarrpoint.hpp>

#include "harness.hpp"

#include <zstd.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

namespace zp = zarrpoint;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}
void require(bool condition, const char* what) {
  if (!condition) fail(what);
}

/// Memory as a first load finds it: never touched, in huge pages.
class fresh_memory {
 public:
  explicit fresh_memory(std::size_t size) : size_(size + 2 * mebibyte) {
    void* at = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(at != MAP_FAILED, "mmap");
    base_ = static_cast<char*>(at);
    data_ = base_ + (2 * mebibyte - reinterpret_cast<std::uintptr_t>(base_) % (2 * mebibyte));
    madvise(data_, size, MADV_HUGEPAGE);
  }
  ~fresh_memory() { munmap(base_, size_); }
  fresh_memory(const fresh_memory&) = delete;
  fresh_memory& operator=(const fresh_memory&) = delete;
  char* data() const { return data_; }

 private:
  std::size_t size_;
  char* base_;
  char* data_;
};

/// A hypervisor may take freed memory back and give it again slowly: touch as much as the timed
/// part will need, and free it just before.
void warm_memory(std::size_t size) {
  const fresh_memory pool(size);
  std::memset(pool.data(), 1, size);
}

void read_all(int fd, char* to, std::size_t size, std::size_t offset) {
  while (size > 0) {
    const ssize_t n = pread(fd, to, size, static_cast<off_t>(offset));
    require(n > 0, "pread");
    to += n;
    size -= static_cast<std::size_t>(n);
    offset += static_cast<std::size_t>(n);
  }
}

void write_all(int fd, const char* from, std::size_t size, std::size_t offset) {
  while (size > 0) {
    const ssize_t n = pwrite(fd, from, size, static_cast<off_t>(offset));
    require(n > 0, "pwrite");
    from += n;
    size -= static_cast<std::size_t>(n);
    offset += static_cast<std::size_t>(n);
  }
}

struct stored_frame {
  std::size_t offset;
  std::size_t size;
};

/// The frames of a shard of ours, from its index: 16 bytes an entry and 4 of checksum at the end.
std::vector<stored_frame> frames_of(int fd, std::size_t count) {
  struct stat info {};
  require(fstat(fd, &info) == 0, "fstat");
  std::vector<std::uint64_t> index(2 * count);
  read_all(fd, reinterpret_cast<char*>(index.data()), 16 * count,
           static_cast<std::size_t>(info.st_size) - 16 * count - 4);
  std::vector<stored_frame> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back({index[2 * i], index[2 * i + 1]});
  return out;
}

struct setup {
  std::string directory;
  std::size_t bytes;
  int rounds;
  std::vector<std::uint16_t> values;
  zp::dims shape;
};

zp::host_view view_of(const setup& s) {
  return zp::dense_view(reinterpret_cast<const std::byte*>(s.values.data()),
                        {zp::dtype_kind::bfloat16, s.shape});
}

/// A view is a leaf through its handler; here the values as a tensor of ours.
zp::tensor tensor_of(const setup& s) {
  zp::tensor out = zp::tensor::make({zp::dtype_kind::bfloat16, s.shape}).value();
  std::memcpy(out.mutable_view().data, s.values.data(), s.bytes);
  return out;
}

void big_tensor(const setup& s, bool compressed) {
  const std::string path = s.directory + (compressed ? "/zstd.zarr" : "/raw.zarr");
  const std::string file = path + "/w/c.0.0";
  const std::string scratch = s.directory + "/floor.bin";
  const std::string kind = compressed ? "zstd" : "raw";
  const zp::tensor values = tensor_of(s);
  zp::save_options options{.sync = false};
  if (compressed) options.rules = {{.codecs = zp::zstd_codecs(1)}};
  zp::save(path, {{"w", values}}, options).value();
  const auto stored = static_cast<double>(fs::file_size(file));
  const std::size_t chunks = (s.bytes + mebibyte - 1) / mebibyte;
  const auto bytes = static_cast<double>(s.bytes);
  const auto before = [&] { warm_memory(s.bytes + s.bytes / 8); };

  const auto load = [&] {
    const auto loaded = zp::open(path).value().load<zp::tensor>("w").value();
    require(loaded.view().data[s.bytes - 1] == view_of(s).data[s.bytes - 1], "load");
  };
  if (compressed) {
    bench::compare(
        {"load, zstd-1, verified", bytes, before, load,
         [&] {
           const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
           const auto frames = frames_of(fd, chunks);
           const fresh_memory to(s.bytes);
           std::vector<std::vector<char>> in(bench::threads, std::vector<char>(2 * mebibyte));
           std::vector<std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)>> contexts;
           for (unsigned t = 0; t < bench::threads; ++t)
             contexts.emplace_back(ZSTD_createDCtx(), &ZSTD_freeDCtx);
           const auto decode = [&](unsigned t, std::size_t i) {
             read_all(fd, in[t].data(), frames[i].size, frames[i].offset);
             const std::size_t n = ZSTD_decompressDCtx(contexts[t].get(), to.data() + i * mebibyte,
                                                       mebibyte, in[t].data(), frames[i].size - 4);
             require(n == mebibyte, "zstd");
           };
           bench::run_threads(chunks, decode, bench::side_by_side);
           close(fd);
         }},
        s.rounds);
  } else {
    bench::compare({"load, raw, verified, into fresh huge pages", bytes, before, load,
                    [&] {
                      const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
                      const fresh_memory to(s.bytes);
                      const auto read = [&](unsigned, std::size_t i) {
                        read_all(fd, to.data() + i * mebibyte, mebibyte, i * mebibyte);
                      };
                      bench::run_threads(chunks, read, bench::side_by_side);
                      close(fd);
                    }},
                   s.rounds);
    std::vector<std::uint16_t> mine(s.values.size());
    bench::compare({"load_into, raw, verified, touched memory",
                    bytes,
                    {},
                    [&] {
                      std::span<zp::bfloat16> target(reinterpret_cast<zp::bfloat16*>(mine.data()),
                                                     mine.size());
                      zp::open(path).value().load_into("w", target).value();
                    },
                    [&] {
                      const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
                      bench::run_threads(chunks, [&](unsigned, std::size_t i) {
                        read_all(fd, reinterpret_cast<char*>(mine.data()) + i * mebibyte, mebibyte,
                                 i * mebibyte);
                      });
                      close(fd);
                    }},
                   s.rounds);
    const auto touch = [](const char* data, std::size_t size) {
      std::size_t sum = 0;
      for (std::size_t i = 0; i < size; i += 4096) sum += static_cast<unsigned char>(data[i]);
      require(sum != 0, "touch");
    };
    bench::compare({"open, view and touch every page",
                    0,
                    {},
                    [&] {
                      const auto view = zp::open(path).value().view<zp::bfloat16>("w").value();
                      require(view.is_zero_copy(), "view");
                      touch(reinterpret_cast<const char*>(view.data()), s.bytes);
                    },
                    [&] {
                      const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
                      void* at = mmap(nullptr, s.bytes, PROT_READ, MAP_SHARED, fd, 0);
                      require(at != MAP_FAILED, "mmap");
                      touch(static_cast<const char*>(at), s.bytes);
                      munmap(at, s.bytes);
                      close(fd);
                    }},
                   s.rounds);
  }

  const auto clean = [&] {
    fs::remove_all(path);
    fs::remove(scratch);
    warm_memory(s.bytes + s.bytes / 8);
  };
  for (const bool sync : {false, true}) {
    options.sync = sync;
    bench::compare(
        {"save, " + kind + (compressed ? "-1" : "") + (sync ? ", synced" : ", not synced"), bytes,
         clean,
         [&] {
           zp::save(path, {{"w", values}}, options).value();
         },
         [&] {
           const int fd = ::open(scratch.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
           if (compressed) {
             std::atomic<std::size_t> end{0};
             std::vector<std::vector<char>> out(bench::threads,
                                                std::vector<char>(ZSTD_compressBound(mebibyte)));
             std::vector<std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)>> contexts;
             for (unsigned t = 0; t < bench::threads; ++t)
               contexts.emplace_back(ZSTD_createCCtx(), &ZSTD_freeCCtx);
             bench::run_threads(chunks, [&](unsigned t, std::size_t i) {
               const std::size_t n = ZSTD_compressCCtx(
                   contexts[t].get(), out[t].data(), out[t].size(),
                   reinterpret_cast<const char*>(s.values.data()) + i * mebibyte, mebibyte, 1);
               write_all(fd, out[t].data(), n, end.fetch_add(n));
             });
           } else {
             require(fallocate(fd, 0, 0, static_cast<off_t>(s.bytes)) == 0, "fallocate");
             const std::size_t piece = 16 * mebibyte;
             bench::run_threads((s.bytes + piece - 1) / piece, [&](unsigned, std::size_t i) {
               write_all(fd, reinterpret_cast<const char*>(s.values.data()) + i * piece,
                         std::min(piece, s.bytes - i * piece), i * piece);
             });
           }
           if (sync) require(fsync(fd) == 0, "fsync");
           close(fd);
         }},
        std::max(3, s.rounds / 2));
  }
  if (compressed) {
    std::printf("| stored size of zstd-1 | %.1f %% | | | |\n", 100 * stored / bytes);
  }
  fs::remove_all(path);
  fs::remove(scratch);
}

void many_small(const setup& s) {
  constexpr std::size_t count = 5000;
  constexpr std::size_t each = 6 * 1024;  // elements: 12 KiB
  const std::string path = s.directory + "/small.zarr";
  const std::string files = s.directory + "/small.files";
  std::vector<std::vector<zp::bfloat16>> tensors(count, std::vector<zp::bfloat16>(each));
  std::vector<zp::leaf> leaves;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(static_cast<void*>(tensors[i].data()), s.values.data() + i * each, 2 * each);
    names.push_back("layers/" + std::to_string(i / 10) + "/w" + std::to_string(i % 10));
    leaves.emplace_back(names.back(), tensors[i]);
  }
  // Moved away, and removed at the end: ext4 without a journal uses no inode again for minutes, and
  // to pass thousands of such ones takes it longer than all else.
  const std::string past = s.directory + "/small.past";
  fs::create_directory(past);
  int turn = 0;
  const auto clean = [&] {
    for (const std::string& each : {path, files})
      if (fs::exists(each)) fs::rename(each, past + "/" + std::to_string(turn++));
  };
  const auto save_floor = [&] {
    fs::create_directory(files);
    bench::run_threads(count, [&](unsigned, std::size_t i) {
      const int fd = ::open((files + "/" + std::to_string(i)).c_str(),
                            O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
      write_all(fd, reinterpret_cast<const char*>(tensors[i].data()), 2 * each, 0);
      close(fd);
    });
  };
  const auto save_ours = [&] { zp::save(path, leaves, {.sync = false}).value(); };
  bench::compare({"save 5,000 tensors of 12 KiB, not synced", 0, clean, save_ours, save_floor},
                 s.rounds);
  clean();
  save_ours();
  save_floor();
  bench::compare({"load 5,000 tensors of 12 KiB, verified",
                  0,
                  {},
                  [&] {
                    const auto opened = zp::open(path).value();
                    bench::run_threads(count, [&](unsigned, std::size_t i) {
                      const auto loaded = opened.load<std::vector<zp::bfloat16>>(names[i]).value();
                      require(loaded.size() == each, "load");
                    });
                  },
                  [&] {
                    bench::run_threads(count, [&](unsigned, std::size_t i) {
                      std::vector<zp::bfloat16> to(each);
                      const int fd =
                          ::open((files + "/" + std::to_string(i)).c_str(), O_RDONLY | O_CLOEXEC);
                      read_all(fd, reinterpret_cast<char*>(to.data()), 2 * each, 0);
                      close(fd);
                    });
                  }},
                 s.rounds);
  bench::compare({"open a checkpoint of 5,000 leaves",
                  0,
                  {},
                  [&] { zp::open(path).value(); },
                  [&] {
                    const int fd = ::open((path + "/zarr.json").c_str(), O_RDONLY | O_CLOEXEC);
                    std::vector<char> text(fs::file_size(path + "/zarr.json"));
                    read_all(fd, text.data(), text.size(), 0);
                    close(fd);
                  }},
                 s.rounds);
  clean();
  fs::remove_all(past);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY [MEGABYTES [ROUNDS]]\n", argv[0]);
    return 2;
  }
  const std::size_t megabytes = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1024;
  setup s{.directory = argv[1],
          .bytes = megabytes * mebibyte,
          .rounds = argc > 3 ? std::atoi(argv[3]) : 11,
          .values{},
          .shape{}};
  const std::size_t columns = 4096;
  const std::size_t rows = s.bytes / 2 / columns;
  s.shape = {static_cast<zp::index_t>(rows), static_cast<zp::index_t>(columns)};
  s.values = bench::weights(rows, columns);
  fs::create_directories(s.directory);
  std::printf(
      "%zu MiB of bfloat16 [%zu, %zu], %u threads, %d rounds; ratio = floor time / our time\n\n",
      megabytes, rows, columns, bench::threads, s.rounds);
  std::printf("| what | zarrpoint | floor | ratio | range |\n|---|---|---|---|---|\n");
  big_tensor(s, false);
  big_tensor(s, true);
  many_small(s);
  return 0;
}
