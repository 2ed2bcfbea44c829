// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// GPUDirect Storage: what is stored raw goes from its file to a device's memory without a stop on
// the host, by NVIDIA's libcufile. The library is looked for at run time; where it is missing, or
// does not take the file or the device, everything is loaded as `checkpoint::load_into` does it.

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/device/device_buffer.hpp>
#include <zarrpoint/memory/device/device_space.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// What is used of libcufile's binary interface (libcufile.so.0).

struct cufile_status {
  int code = 0;  ///< 0, or a number above 5000
  int cuda = 0;  ///< the CUDA driver's own, where that failed
};

struct cufile_descriptor {
  int type = 1;  // a file descriptor
  union {
    int number;
    void* pointer;
  } file{};
  const void* file_system = nullptr;
};

struct cufile_functions {
  cufile_status (*driver_open)() = nullptr;
  cufile_status (*handle_register)(void** handle, cufile_descriptor* file) = nullptr;
  void (*handle_deregister)(void* handle) = nullptr;
  ssize_t (*read)(void* handle, void* base, std::size_t bytes, off_t file_offset,
                  off_t base_offset) = nullptr;
};

/// A file that libcufile reads from.
class cufile_handle {
 public:
  explicit cufile_handle(const cufile_functions& by) : by_(&by) {}
  cufile_handle(const cufile_handle&) = delete;
  cufile_handle& operator=(const cufile_handle&) = delete;
  ~cufile_handle() {
    if (handle_ != nullptr) by_->handle_deregister(handle_);
  }

  /// What libcufile says: 0 if it takes the file. Past the page cache it goes by DMA; without that
  /// it may be served in another way.
  int open(int file) {
    direct_ = open_direct(file);
    const int code = direct_ ? use(direct_.get()) : -1;
    return code == 0 ? 0 : use(file);
  }

  /// Reads `bytes` to `base + base_offset`; whether all of them came.
  bool read(std::byte* base, std::uint64_t base_offset, std::uint64_t file_offset,
            std::uint64_t bytes) const {
    while (bytes != 0) {
      const ssize_t count =
          by_->read(handle_, base, static_cast<std::size_t>(bytes), static_cast<off_t>(file_offset),
                    static_cast<off_t>(base_offset));
      if (count <= 0 || static_cast<std::uint64_t>(count) > bytes) return false;
      const auto done = static_cast<std::uint64_t>(count);
      base_offset += done;
      file_offset += done;
      bytes -= done;
    }
    return true;
  }

 private:
  int use(int file) {
    cufile_descriptor described;
    described.file.number = file;
    const int code = by_->handle_register(&handle_, &described).code;
    if (code != 0) handle_ = nullptr;
    return code;
  }

  const cufile_functions* by_;
  unique_fd direct_;
  void* handle_ = nullptr;
};

/// One raw array on its way to a device.
template <device_space Space>
class cufile_load {
 public:
  cufile_load(const cufile_functions& by, const array& from, const mutable_tensor_view<Space>& to)
      : by_(by), from_(from), to_(to), reserve_(reserve_of(to.space)) {}

  /// Errors: why it has to be loaded another way.
  result<void> run(const context& given, bool verifies) {
    const context how = with_scratch(given);
    const dims counts = from_.layout().grid().objects();
    ZARRPOINT_TRY(objects, element_count(counts));
    if (objects == 0) return not_raw();
    ZARRPOINT_TRY(bytes, byte_count(to_.spec()));
    ZARRPOINT_CHECK(to_.space.check(to_.data, bytes));
    // libcufile knows nothing of streams: what they still have to do with the target is awaited.
    ZARRPOINT_CHECK(to_.space.wait(to_.ready));
    ZARRPOINT_CHECK(wait_for_stream(to_.space));
    const read_options options{.checksums = verifies, .how = &how};
    return parallel_for(how.executor, static_cast<std::size_t>(objects),
                        [&](std::size_t i) -> result<void> {
                          ZARRPOINT_TRY(found, from_.raw(position(counts, i), options));
                          if (!found) return not_raw();
                          return load(*found, objects == 1, how);
                        },
                        {.stop = how.stop});
  }

 private:
  static constexpr std::uint64_t piece_bytes = std::uint64_t{16} << 20;
  static constexpr std::uint64_t smallest_block = std::uint64_t{64} << 10;

  static error not_raw() {
    return {errc::unsupported, "its chunks are not stored uncompressed in the order of the target"};
  }
  /// Of object `i` in the grid.
  static dims position(const dims& counts, std::size_t i) {
    dims out(counts.rank(), 0);
    auto left = static_cast<index_t>(i);
    for (std::size_t d = counts.rank(); d-- > 0;) {
      out[d] = left % counts[d];
      left /= counts[d];
    }
    return out;
  }

  struct piece {
    std::uint64_t first = 0;   ///< byte of the target
    std::uint64_t offset = 0;  ///< in the object
    std::uint64_t bytes = 0;
  };

  result<void> load(const raw_object& from, bool is_alone, const context& how) const {
    if (from.object->descriptor() < 0) return error{errc::unsupported, "its store has no files"};
    std::vector<piece> pieces;
    for (const raw_run& run : from.runs) {
      ZARRPOINT_CHECK(check_verifiable(run, is_alone && from.runs.size() == 1));
      const std::uint64_t bytes =
          run.crc32c.empty() ? run.bytes : whole_blocks(run) * run.block_bytes;
      for (std::uint64_t at = 0; at < bytes; at += piece_bytes)
        pieces.push_back({run.first + at, run.offset + at, std::min(piece_bytes, bytes - at)});
    }
    cufile_handle file(by_);
    if (const int code = file.open(from.object->descriptor()); code != 0)
      return error{errc::unsupported, "libcufile does not take " + from.object->name() + " (" +
                                          std::to_string(code) + ")"};
    const open_object opened{from, file};
    ZARRPOINT_CHECK(parallel_for(how.executor, pieces.size(),
                                 [&](std::size_t i) { return read(opened, to_.data, pieces[i]); },
                                 {.stop = how.stop}));
    for (const raw_run& run : from.runs) {
      if (!run.crc32c.empty()) ZARRPOINT_CHECK(verify(opened, run, resource_of(how)));
    }
    return {};
  }

  /// Without the one that ends in padding.
  static std::size_t whole_blocks(const raw_run& run) {
    return std::min(run.blocks, static_cast<std::size_t>(run.bytes / run.block_bytes));
  }

  result<void> check_verifiable(const raw_run& run, bool is_alone) const {
    if (run.crc32c.empty()) return {};
    if (!has_kernels(to_.space))
      return error{errc::unsupported, "the device has no kernel for the checksums"};
    if ((run.blocks > 1 || !is_alone) && run.block_bytes < smallest_block)
      return error{errc::unsupported,
                   "blocks of " + std::to_string(run.block_bytes) +
                       " bytes are too small to be verified one by one on the device"};
    return {};
  }

  struct open_object {
    const raw_object& from;
    const cufile_handle& file;
  };

  /// Brings a piece to its place behind `base`.
  result<void> read(const open_object& opened, std::byte* base, const piece& one) const {
    const auto good = [&] { return opened.file.read(base, one.first, one.offset, one.bytes); };
    bool done = false;
    if constexpr (requires { to_.space.enter(); }) {
      // The context of the device has to be the thread's own.
      [[maybe_unused]] const auto entered = to_.space.enter();
      done = good();
    } else {
      done = good();
    }
    if (done) return {};
    return error{errc::io, "libcufile could not read " + std::to_string(one.bytes) + " bytes at " +
                               std::to_string(one.offset) + " of " + opened.from.object->name()};
  }

  /// Compares the checksums of all blocks. The last one is read apart when it ends in padding.
  result<void> verify([[maybe_unused]] const open_object& opened,
                      [[maybe_unused]] const raw_run& run,
                      [[maybe_unused]] memory_resource& resource) const {
    if constexpr (kernel_space<Space>) {
      constexpr std::size_t word = sizeof(std::uint32_t);
      const Space& space = to_.space;
      const auto block = static_cast<std::size_t>(run.block_bytes);
      const std::size_t whole = whole_blocks(run);
      std::byte* const first = to_.data + run.first;
      ZARRPOINT_TRY(found, buffer::allocate(run.blocks * word, resource));
      ZARRPOINT_TRY(sums, device_buffer<Space>::allocate(space, run.blocks * word));
      device_buffer<Space> last;
      stream_guard<Space> work(space);
      for (std::size_t i = 0; i < whole; ++i)
        ZARRPOINT_CHECK(space.crc32c(sums.data() + i * word, first + i * block, block));
      if (whole < run.blocks) {
        const std::size_t before = whole * block;
        // Of any size: too large to be kept for others.
        ZARRPOINT_TRY(memory, device_buffer<Space>::lasting(space, block));
        last = std::move(memory);
        ZARRPOINT_CHECK(wait_for_stream(space));
        ZARRPOINT_CHECK(read(opened, last.data(), {0, run.offset + before, run.block_bytes}));
        ZARRPOINT_CHECK(space.crc32c(sums.data() + whole * word, last.data(), block));
        ZARRPOINT_CHECK(space.copy_within(first + before, last.data(),
                                          static_cast<std::size_t>(run.bytes) - before));
      }
      ZARRPOINT_CHECK(
          space.copy_to_host(found.data(), sums.data(), row_block{.width = found.size()}));
      ZARRPOINT_CHECK(work.finish());
      for (std::size_t i = 0; i < run.blocks; ++i) {
        ZARRPOINT_CHECK(run.check(i, load_le<std::uint32_t>(found.data() + i * word)));
      }
    }
    return {};
  }

  const cufile_functions& by_;
  const array& from_;
  const mutable_tensor_view<Space>& to_;
  const std::shared_ptr<void> reserve_;
};

}  // namespace detail

/// The way that a leaf took.
struct direct_load {
  bool direct = false;  ///< from the file to the device, past the host
  std::string why_not;  ///< else the reason
};

/// libcufile, loaded at run time; or none, and then all goes the plain way. A cheap handle; all
/// members may be called from any number of threads.
class cufile_loader {
 public:
  /// None.
  cufile_loader() = default;

  /// Looks for the library where the dynamic linker does, and opens its driver. It stays loaded, as
  /// others in the process may use it.
  static cufile_loader find(const std::string& library = "libcufile.so.0") {
    cufile_loader out;
    void* const opened = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (opened == nullptr) {
      const char* const why = ::dlerror();
      out.why_not_ = "no libcufile: " + std::string(why != nullptr ? why : library);
      return out;
    }
    detail::cufile_functions found;
    const char* const missing = fill(opened, found);
    const int code = missing == nullptr ? found.driver_open().code : 0;
    if (missing != nullptr) {
      out.why_not_ = library + " has no " + missing;
    } else if (code != 0 && code != driver_already_open) {
      out.why_not_ = library + ": its driver cannot be opened (" + std::to_string(code) + ")";
    } else {
      out.by_ = std::make_shared<const detail::cufile_functions>(found);
      out.why_not_.clear();
    }
    ::dlclose(opened);
    return out;
  }

  bool available() const noexcept { return by_ != nullptr; }
  /// Why there is none; empty if there is one.
  const std::string& why_not() const noexcept { return why_not_; }

  /// As `checkpoint::load_into`. Straight from its files, not from a zip file, goes what is
  /// uncompressed and all stored. Its chunks or inner chunks must be rows of the target, or each a
  /// part of one. It must become a dense target on a device without a cast or another shape. Its
  /// checksums are computed on the device; without kernels there (`has_kernels`), and with
  /// `load_options::verify`, all goes the plain way. So it does when libcufile refuses or fails, or
  /// a checksum is wrong: the errors are those of `checkpoint::load_into`.
  template <class T>
  result<direct_load> load_into(const checkpoint& from, std::string_view name, T&& target,
                                const load_options& options = {}) const {
    detail::require_fillable<T>();
    const result<void> tried = try_direct(from, name, target, options);
    if (tried) return direct_load{true, {}};
    ZARRPOINT_CHECK(from.load_into(name, std::forward<T>(target), options));
    return direct_load{false, tried.failure().message};
  }

 private:
  static constexpr int driver_already_open = 5026;

  /// The name of what the library lacks, or null.
  static const char* fill(void* library, detail::cufile_functions& out) {
    const auto missing = [&](const char* name, auto& function) {
      void* const found = ::dlsym(library, name);
      static_assert(sizeof found == sizeof function);
      std::memcpy(&function, &found, sizeof found);
      return found == nullptr;
    };
    if (missing("cuFileDriverOpen", out.driver_open)) return "cuFileDriverOpen";
    if (missing("cuFileHandleRegister", out.handle_register)) return "cuFileHandleRegister";
    if (missing("cuFileHandleDeregister", out.handle_deregister)) return "cuFileHandleDeregister";
    if (missing("cuFileRead", out.read)) return "cuFileRead";
    return nullptr;
  }

  static error not_direct(std::string why) { return {errc::unsupported, std::move(why)}; }

  template <class T>
  result<void> try_direct(const checkpoint& from, std::string_view name, T& target,
                          const load_options& options) const {
    if constexpr (!device_space<space_of_t<T>>) {
      return not_direct("the target is in host memory");
    } else {
      if (!available()) return not_direct(why_not_);
      if (detail::last_set(options.rules, name, &load_rule::cast) != nullptr ||
          detail::last_set(options.rules, name, &load_rule::shape) != nullptr)
        return not_direct("a rule changes its dtype or shape");
      if (options.rules_must_match) return not_direct("rules that must match are checked");
      ZARRPOINT_TRY(source, from.as_array(name));
      ZARRPOINT_TRY(view, (detail::target_view<handler_of<T>, T>(target, source.spec())));
      if (view.type != source.spec().type) return not_direct("the target has another dtype");
      if (!is_dense(view)) return not_direct("the target is not dense");
      detail::mark_loaded<handler_of<T>>(target, false);
      if (options.report != nullptr) options.report->begin(name, &from, options);
      ZARRPOINT_CHECK(detail::cufile_load(*by_, source, view).run(from.how(), options.verify));
      if (options.report != nullptr) options.report->end(name, view.spec());
      detail::mark_loaded<handler_of<T>>(target, true);
      return {};
    }
  }

  std::shared_ptr<const detail::cufile_functions> by_;
  std::string why_not_ = "libcufile was not looked for";
};

}}  // namespace zarrpoint::v0
