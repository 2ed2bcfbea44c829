// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/kernel_table.hpp>
#include <zarrpoint/cuda/runtime/numa.hpp>
#include <zarrpoint/cuda/runtime/reserve.hpp>
#include <zarrpoint/memory/device/device_space.hpp>

namespace zarrpoint { inline namespace v0 { namespace cuda {

/// The memory of a CUDA device, seen through a stream. The stream is the caller's and must outlive
/// what uses the space; null is the legacy default stream, however the program is compiled.
/// `cudaStreamPerThread` is refused: it is another stream in each thread.
///
/// `kernels` are those of cuda/kernels.cuh, which some unit of the program that nvcc
/// compiles hands over; without them elements are rearranged on the host.
///
/// Errors: `device` with the runtime's words and the device's number; one that says "no CUDA
/// device" where there is none.
class device_space {
 public:
  using event = cuda::event;
  static constexpr bool host_accessible = false;
  static constexpr const char* name = "cuda";

  device_space() = default;
  explicit device_space(int device, cudaStream_t stream = nullptr,
                        const kernel_table* kernels = nullptr) noexcept
      : device_(device), stream_(stream), kernels_(kernels) {}

  int device() const noexcept { return device_; }
  cudaStream_t stream() const noexcept { return stream_; }
  const kernel_table* kernels() const noexcept { return kernels_; }

  /// Makes the device's context the calling thread's for as long as the result lives.
  detail::context_scope enter() const noexcept { return detail::context_scope(device_); }

  friend bool operator==(const device_space&, const device_space&) = default;

  /// Blocks until the event has happened.
  result<void> wait(const event& e) const {
    if (e.get() == nullptr) return {};
    const device_scope scope(device_);
    return told(detail::checked(cudaEventSynchronize(e.get()), {device_, "wait for an event"}));
  }
  result<bool> happened(const event& e) const {
    if (e.get() == nullptr) return true;
    const device_scope scope(device_);
    const cudaError_t status = cudaEventQuery(e.get());
    if (status == cudaErrorNotReady) {
      static_cast<void>(::cudaGetLastError());  // no error, but the runtime remembers it as one
      return false;
    }
    ZARRPOINT_CHECK(told(detail::checked(status, {device_, "query of an event"})));
    return true;
  }
  result<event> record() const {
    ZARRPOINT_CHECK(usable("record of an event"));
    return event::record(device_, handle());
  }
  /// Blocks until all that the stream was asked for is done, also when that is an error.
  result<void> synchronize() const {
    auto done = enqueue({device_, "wait for the stream"},
                        [](cudaStream_t on) { return cudaStreamSynchronize(on); });
    if (!done) drain();  // what a destroyed stream was asked for goes on
    return done;
  }
  /// Blocks until all streams of the device are done, those that are destroyed among them.
  void drain() const noexcept {
    const device_scope scope(device_);
    if (scope.status() == cudaSuccess)
      static_cast<void>(detail::succeeded(cudaDeviceSynchronize()));
  }
  result<void> follow(const event& e) const {
    if (e.get() == nullptr) return {};
    return enqueue({device_, "order after an event"},
                   [&](cudaStream_t on) { return cudaStreamWaitEvent(on, e.get(), 0); });
  }

  /// Errors: `resource_limit` when the device has not that much left.
  result<std::byte*> allocate(std::size_t bytes) const {
    void* made = nullptr;
    if (bytes == 0) return static_cast<std::byte*>(nullptr);
    ZARRPOINT_CHECK(enqueue({device_, "allocation", bytes}, [&](cudaStream_t on) {
      if (!has_pools()) return cudaMalloc(&made, bytes);
      const cudaError_t status = cudaMallocAsync(&made, bytes, on);
      if (status != cudaErrorMemoryAllocation) return status;
      const auto kept = detail::per_device<detail::reserve>::find(device_);
      if (kept == nullptr || !kept->keeps()) return status;
      static_cast<void>(::cudaGetLastError());
      if (const cudaError_t waited = cudaStreamSynchronize(on); waited != cudaSuccess)
        return waited;
      kept->trim();
      return cudaMallocAsync(&made, bytes, on);
    }));
    return static_cast<std::byte*>(made);
  }
  /// What operations keep for each other on the device while the last of them runs.
  std::shared_ptr<void> reserve() const {
    return detail::per_device<detail::reserve>::share(device_);
  }
  /// Streams of the reserve's, for as long as somebody has it; else this one. Errors: `device`.
  static constexpr std::size_t lanes = detail::reserve::streams;
  result<device_space> lane(std::size_t i) const {
    const auto kept = detail::per_device<detail::reserve>::find(device_);
    if (kept == nullptr) return *this;
    cudaStream_t own = nullptr;
    ZARRPOINT_CHECK(
        detail::on_device({device_, "creation of a stream"}, [&] { return kept->stream(i, own); }));
    return device_space(device_, own, kernels_);
  }
  /// The same from the reserve, where somebody has it. Errors: as `allocate`.
  result<std::byte*> allocate_scratch(std::size_t bytes) const {
    const auto kept = detail::per_device<detail::reserve>::find(device_);
    if (kept == nullptr || bytes == 0 || !has_pools()) return allocate(bytes);
    void* made = nullptr;
    ZARRPOINT_CHECK(enqueue({device_, "allocation", bytes},
                            [&](cudaStream_t on) { return kept->allocate(&made, bytes, on); }));
    return static_cast<std::byte*>(made);
  }
  void deallocate(std::byte* memory, std::size_t) const noexcept {
    if (memory == nullptr) return;
    const device_scope scope(device_);
    if (has_pools() && detail::succeeded(cudaFreeAsync(memory, handle()))) return;
    // Without pools, or when the stream is gone: then nothing may be in use any more.
    drain();
    static_cast<void>(detail::succeeded(cudaFree(memory)));
  }

  result<void> copy_to_host(std::byte* to, const std::byte* from, const row_block& rows) const {
    return copy({to, rows.host_pitch}, {from, rows.device_pitch}, rows, cudaMemcpyDeviceToHost);
  }
  result<void> copy_from_host(std::byte* to, const std::byte* from, const row_block& rows) const {
    return copy({to, rows.device_pitch}, {from, rows.host_pitch}, rows, cudaMemcpyHostToDevice);
  }
  result<void> copy_within(std::byte* to, const std::byte* from, std::size_t bytes) const {
    if (bytes == 0) return {};
    return enqueue({device_, "copy on the device", bytes}, [&](cudaStream_t on) {
      return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, on);
    });
  }
  result<void> fill(std::byte* to, std::byte value, std::size_t bytes) const {
    if (bytes == 0) return {};
    return enqueue({device_, "fill", bytes}, [&](cudaStream_t on) {
      return cudaMemsetAsync(to, std::to_integer<int>(value), bytes, on);
    });
  }

  /// Whether the first and the last of these bytes are this device's, or managed memory. Errors:
  /// `invalid_argument` that says whose they are.
  result<void> check(const std::byte* memory, std::size_t bytes) const {
    if (bytes == 0) return {};
    const device_scope scope(device_);
    ZARRPOINT_CHECK(check_byte(memory, bytes));
    return check_byte(memory + (bytes - 1), bytes);
  }

  /// Registers host memory for every device, after its pages have been brought near to this one.
  result<void> pin(mutable_bytes host) const {
    if (host.empty()) return {};
    if (const int node = detail::numa_node_of(device_); node >= 0)
      detail::prefer_numa_node(host, node);
    return detail::on_device({device_, "registration of host memory", host.size()}, [&] {
      return cudaHostRegister(host.data(), host.size(), cudaHostRegisterPortable);
    });
  }
  void unpin(mutable_bytes host) const noexcept {
    if (host.empty()) return;
    const device_scope scope(device_);
    static_cast<void>(detail::succeeded(cudaHostUnregister(host.data())));
  }

  /// Whether the functions below may be called: else they return `unsupported`.
  bool has_kernels() const noexcept { return kernels_ != nullptr; }

  result<void> move(const strided_move& elements) const {
    return launch("move", [&](cudaStream_t on) { return kernels_->move(on, elements); });
  }
  result<void> scatter(const device_segment* table, std::size_t count) const {
    return launch("scatter", [&](cudaStream_t on) { return kernels_->scatter(on, table, count); });
  }
  result<void> cast(const device_cast& conversion) const {
    return launch("cast", [&](cudaStream_t on) { return kernels_->cast(on, conversion); });
  }
  result<void> swap_bytes(std::byte* at, std::size_t size, std::size_t count) const {
    return launch("swap_bytes",
                  [&](cudaStream_t on) { return kernels_->swap_bytes(on, at, size, count); });
  }
  result<void> unshuffle(std::byte* to, const std::byte* from, std::size_t size,
                         std::size_t count) const {
    return launch("unshuffle",
                  [&](cudaStream_t on) { return kernels_->unshuffle(on, to, from, size, count); });
  }
  result<void> crc32c(std::byte* to, const std::byte* from, std::size_t bytes) const {
    return launch("crc32c", [&](cudaStream_t on) { return kernels_->crc32c(on, to, from, bytes); });
  }
  result<void> compare_crc32c(const device_checksum* table, std::size_t count,
                              std::byte* marks) const {
    return launch("compare_crc32c", [&](cudaStream_t on) {
      return kernels_->compare_crc32c(on, table, count, marks);
    });
  }
  result<void> decode_literals(const device_literals* table, std::size_t count,
                               std::byte* failed) const {
    return launch("decode_literals", [&](cudaStream_t on) {
      return kernels_->decode_literals(on, table, count, failed);
    });
  }
  result<void> join_planes(const device_planes* table, std::size_t count, std::size_t most) const {
    return launch("join_planes",
                  [&](cudaStream_t on) { return kernels_->join_planes(on, table, count, most); });
  }
  result<void> count_symbols(const device_symbols* table, std::size_t count) const {
    return launch("count_symbols",
                  [&](cudaStream_t on) { return kernels_->count_symbols(on, table, count); });
  }
  result<void> encode_symbols(const device_symbols* table, std::size_t count,
                              std::byte* failed) const {
    return launch("encode_symbols", [&](cudaStream_t on) {
      return kernels_->encode_symbols(on, table, count, failed);
    });
  }

 private:
  struct rows_at {
    std::byte* data;
    std::size_t pitch;
  };
  struct const_rows_at {
    const std::byte* data;
    std::size_t pitch;
  };
  static constexpr std::size_t largest_pitch = 0x7fffffff;  ///< of the runtime's copies

  /// Named, since null may mean the stream of each thread in a program that is compiled so.
  cudaStream_t handle() const noexcept { return stream_ == nullptr ? cudaStreamLegacy : stream_; }
  result<void> usable(std::string_view what) const {
    if (stream_ != cudaStreamPerThread) return {};
    return error{errc::invalid_argument, detail::request{device_, what}.text() +
                                             ": cudaStreamPerThread differs from thread to "
                                             "thread; pass one stream"};
  }

  template <class F>
  result<void> enqueue(const detail::request& asked, F&& f) const {
    ZARRPOINT_CHECK(usable(asked.what));
    return told(detail::on_device(asked, [&] { return f(handle()); }));
  }
  /// After an error of the device none of its events is used again.
  result<void> told(result<void> outcome) const {
    if (!outcome && outcome.failure().code == errc::device) {
      if (const auto events = detail::per_device<detail::event_pool>::find(device_))
        events->discard();
    }
    return outcome;
  }
  template <class F>
  result<void> launch(std::string_view what, F&& f) const {
    if (kernels_ == nullptr)
      return error{errc::unsupported,
                   detail::request{device_, what}.text() +
                       ": this space was made without kernels, so it cannot do that"};
    return enqueue({device_, what}, f);
  }

  result<void> copy(rows_at to, const_rows_at from, const row_block& rows,
                    cudaMemcpyKind kind) const {
    if (rows.width == 0 || rows.count == 0) return {};
    const detail::request asked{
        device_, kind == cudaMemcpyDeviceToHost ? "copy to the host" : "copy from the host",
        rows.width * rows.count};
    return enqueue(asked, [&](cudaStream_t on) {
      if (rows.count == 1) return cudaMemcpyAsync(to.data, from.data, rows.width, kind, on);
      if (to.pitch <= largest_pitch && from.pitch <= largest_pitch)
        return cudaMemcpy2DAsync(to.data, to.pitch, from.data, from.pitch, rows.width, rows.count,
                                 kind, on);
      cudaError_t status = cudaSuccess;
      for (std::size_t i = 0; i < rows.count && status == cudaSuccess; ++i) {
        status = cudaMemcpyAsync(to.data + i * to.pitch, from.data + i * from.pitch, rows.width,
                                 kind, on);
      }
      return status;
    });
  }

  bool has_pools() const noexcept {
    int supported = 0;
    return detail::succeeded(
               cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device_)) &&
           supported != 0;
  }

  result<void> check_byte(const std::byte* at, std::size_t bytes) const {
    cudaPointerAttributes known{};
    const detail::request asked{device_, "memory", bytes};
    if (const cudaError_t status = cudaPointerGetAttributes(&known, at); status != cudaSuccess)
      return detail::failure_of(status, asked);
    if (known.type == cudaMemoryTypeManaged ||
        (known.type == cudaMemoryTypeDevice && known.device == device_))
      return {};
    return error{
        errc::invalid_argument,
        asked.text() + " is " +
            (known.type == cudaMemoryTypeDevice
                 ? "that of cuda:" + std::to_string(known.device)
                 : std::string(known.type == cudaMemoryTypeHost ? "pinned memory of the host"
                                                                : "not memory that CUDA knows"))};
  }

  int device_ = 0;
  cudaStream_t stream_ = nullptr;
  const kernel_table* kernels_ = nullptr;
};
static_assert(kernel_space<device_space> && reserving_space<device_space> &&
              forking_space<device_space>);

/// A stream of one's own, which waits for no other. Move-only; it must outlive the spaces, tensors
/// and views that name it. What it was asked for still runs when it is destroyed.
class stream {
 public:
  stream() = default;
  /// Errors: `device`.
  static result<stream> make(int device = 0) {
    stream out;
    out.device_ = device;
    ZARRPOINT_CHECK(detail::on_device({device, "creation of a stream"}, [&] {
      return cudaStreamCreateWithFlags(&out.stream_, cudaStreamNonBlocking);
    }));
    return out;
  }
  stream(stream&& other) noexcept { swap(other); }
  stream& operator=(stream&& other) noexcept {
    stream(std::move(other)).swap(*this);
    return *this;
  }
  ~stream() {
    if (stream_ == nullptr) return;
    const device_scope scope(device_);
    static_cast<void>(detail::succeeded(cudaStreamDestroy(stream_)));
  }

  int device() const noexcept { return device_; }
  /// Null, the legacy default stream, for a stream made by default.
  cudaStream_t get() const noexcept { return stream_; }
  /// The device's memory, seen through this stream.
  device_space space(const kernel_table* kernels = nullptr) const noexcept {
    return device_space(device_, stream_, kernels);
  }

  void swap(stream& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(stream_, other.stream_);
  }

 private:
  int device_ = 0;
  cudaStream_t stream_ = nullptr;
};

}}}  // namespace zarrpoint::v0::cuda
