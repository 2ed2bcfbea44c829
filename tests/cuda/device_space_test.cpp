// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/cuda/runtime/device_space.hpp>
#include <zarrpoint/memory/device/device_space.hpp>

#include "cuda/fixture.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace device_space_test {

using namespace zarrpoint;
using cuda_space = zarrpoint::cuda::device_space;
using zarrpoint_test::contains;
using zarrpoint_test::device_fault;
using zarrpoint_test::fake_cuda_device;
using zarrpoint_test::fake_kernels;
using zarrpoint_test::fresh_devices;

namespace {

using bytes = std::vector<std::byte>;

bytes counted(std::size_t count) {
  bytes out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>(i * 7 + 1);
  return out;
}

/// Memory of a space, freed at the end.
struct block {
  cuda_space space;
  std::size_t size;
  std::byte* data;

  block(const cuda_space& where, std::size_t count)
      : space(where), size(count), data(where.allocate(count).value()) {}
  block(const block&) = delete;
  block& operator=(const block&) = delete;
  ~block() { space.deallocate(data, size); }

  void upload(const bytes& from) const {
    space.copy_from_host(data, from.data(), {from.size(), 1, 0, 0}).value();
    space.synchronize().value();  // `from` may be the caller's temporary
  }
  bytes download() const {
    bytes out(size);
    space.copy_to_host(out.data(), data, {size, 1, 0, 0}).value();
    space.wait(space.record().value()).value();
    return out;
  }
};

/// What every function says, of memory that is not used unless the call succeeds.
std::vector<result<void>> all_calls(const cuda_space& space, std::byte* data) {
  static bytes host(64);
  std::vector<result<void>> out;
  out.push_back(space.copy_to_host(host.data(), data, {8, 1, 0, 0}));
  out.push_back(space.copy_from_host(data, host.data(), {8, 2, 16, 8}));
  out.push_back(space.copy_within(data, data + 32, 8));
  out.push_back(space.fill(data, std::byte{1}, 8));
  out.push_back(space.synchronize());
  const auto recorded = space.record();
  out.push_back(recorded ? result<void>{} : recorded.failure());
  const auto allocated = space.allocate(8);
  if (allocated) space.deallocate(*allocated, 8);
  out.push_back(allocated ? result<void>{} : allocated.failure());
  return out;
}

}  // namespace

TEST_CASE("bytes go to a device, within it and back, in the order of the stream") {
  for (const bool has_pools : {true, false}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const fresh_devices devices({.seed = seed, .has_pools = has_pools});
      REQUIRE(cudaSetDevice(0) == cudaSuccess);
      const auto stream = zarrpoint::cuda::stream::make(1).value();
      for (const cuda_space& space :
           {cuda_space(), cuda_space(0, cudaStreamLegacy), stream.space()}) {
        const block a(space, 1000);
        const block b(space, 1000);
        const bytes values = counted(1000);
        a.upload(values);
        REQUIRE(space.copy_within(b.data + 100, a.data, 900));
        REQUIRE(space.fill(b.data, std::byte{9}, 100));
        bytes wanted(100, std::byte{9});
        wanted.insert(wanted.end(), values.begin(), values.begin() + 900);
        CHECK(b.download() == wanted);
        CHECK(a.download() == values);
        CHECK(space.check(a.data, 1000));
      }
      int now = -1;
      CHECK(cudaGetDevice(&now) == cudaSuccess);
      CHECK(now == 0);
    }
  }
}

TEST_CASE("rows keep their pitches on both sides") {
  const fresh_devices devices;
  const cuda_space space;
  const block a(space, 7 * 32);
  const bytes values = counted(7 * 10);
  REQUIRE(space.fill(a.data, std::byte{0}, a.size));
  REQUIRE(space.copy_from_host(a.data, values.data(), {10, 7, 32, 10}));
  bytes back(7 * 16, std::byte{0xff});
  REQUIRE(space.copy_to_host(back.data(), a.data, {10, 7, 32, 16}));
  REQUIRE(space.synchronize());
  for (std::size_t row = 0; row < 7; ++row) {
    CHECK(std::equal(&back[row * 16], &back[row * 16] + 10, &values[row * 10]));
    CHECK(back[row * 16 + 10] == std::byte{0xff});
  }
  CHECK(space.copy_to_host(nullptr, nullptr, {0, 5, 0, 0}));
  CHECK(space.copy_from_host(nullptr, nullptr, {5, 0, 0, 0}));
  CHECK(space.copy_within(nullptr, nullptr, 0));
  CHECK(space.fill(nullptr, std::byte{}, 0));
}

TEST_CASE("a pitch beyond the runtime's is copied row by row") {
  const fresh_devices devices;
  const cuda_space space;
  constexpr std::size_t pitch = std::size_t{0x7fffffff} + 4097;
  void* const mapped = ::mmap(nullptr, pitch + 8, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  auto* const host = static_cast<std::byte*>(mapped);
  const block a(space, 16);
  a.upload(counted(16));
  REQUIRE(space.copy_to_host(host, a.data, {8, 2, 8, pitch}));
  REQUIRE(space.synchronize());
  CHECK(host[0] == counted(16)[0]);
  CHECK(host[pitch + 7] == counted(16)[15]);
  ::munmap(mapped, pitch + 8);
}

TEST_CASE("events order streams, also of two devices") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const fresh_devices devices({.seed = seed});
    const auto first = zarrpoint::cuda::stream::make(0).value();
    const auto second = zarrpoint::cuda::stream::make(1).value();
    const block a(first.space(), 64);
    const block b(second.space(), 64);
    bytes shared = counted(64);
    bytes middle(64);
    REQUIRE(first.space().copy_from_host(a.data, shared.data(), {64, 1, 0, 0}));
    REQUIRE(first.space().copy_to_host(middle.data(), a.data, {64, 1, 0, 0}));
    const auto there = first.space().record().value();
    REQUIRE(second.space().follow(there));
    REQUIRE(second.space().copy_from_host(b.data, middle.data(), {64, 1, 0, 0}));
    CHECK(b.download() == shared);
    CHECK(second.space().happened(there).value());
    const auto last = first.space().record().value();
    while (!first.space().happened(last).value()) {
    }
    CHECK(first.space().happened({}).value());
    CHECK(first.space().wait({}));
    CHECK(first.space().follow({}));
  }
}

TEST_CASE("memory is checked for whose it is") {
  const fresh_devices devices;
  const block a(cuda_space(0), 100);
  const block b(cuda_space(1), 100);
  CHECK(a.space.check(a.data + 99, 1));
  CHECK(a.space.check(nullptr, 0));
  const auto refused = [&](const std::byte* data, std::size_t size) {
    const auto checked = a.space.check(data, size);
    REQUIRE(!checked);
    CHECK(checked.failure().code == errc::invalid_argument);
    return checked.failure().message;
  };
  CHECK(refused(b.data, 100) == "cuda:0: memory of 100 bytes is that of cuda:1");
  CHECK(contains(refused(a.data + 1, 100), "is not memory that CUDA knows"));
  bytes host(10);
  CHECK(contains(refused(host.data(), 10), "is not memory that CUDA knows"));
  REQUIRE(a.space.pin(host));
  CHECK(contains(refused(host.data(), 10), "is pinned memory of the host"));
  CHECK(contains(refused(nullptr, 10), "is not memory that CUDA knows"));
  a.space.unpin(host);
}

TEST_CASE("host memory is registered once, and copies of it are not pageable") {
  const fresh_devices devices;
  const block a(cuda_space(1), 4096);
  bytes host = counted(4096);
  REQUIRE(a.space.pin(host));
  a.upload(host);
  CHECK(a.download() == host);
  CHECK(fake_cuda_device(1).count().pageable_bytes == 4096);  // of the download
  CHECK(a.space.pin(host).failure().code == errc::device);
  CHECK(contains(a.space.pin(host).failure().message,
                 "cuda:1: registration of host memory of 4096 bytes: cudaErrorHostMemoryAlready"));
  a.space.unpin(host);
  a.space.unpin(host);  // is ignored, as are empty ones
  CHECK(a.space.pin({}));
  a.space.unpin({});
}

TEST_CASE("kernels run when the space has some") {
  const fresh_devices devices;
  const cuda_space plain(1);
  const cuda_space space(1, nullptr, fake_kernels());
  CHECK(!plain.has_kernels());
  CHECK(space.has_kernels());
  CHECK(has_kernels(space));
  CHECK(plain.swap_bytes(nullptr, 2, 0).failure().code == errc::unsupported);
  CHECK(plain.swap_bytes(nullptr, 2, 0).failure().message ==
        "cuda:1: swap_bytes: this space was made without kernels, so it cannot do that");
  const block a(space, 256);
  const block b(space, 256);
  const auto after = [&](const result<void>& asked) {
    REQUIRE(asked);
    return b.download();
  };
  const bytes values = counted(256);
  a.upload(values);
  const bytes moved = after(space.move({b.data, a.data, 1, {16, 16}, {16, 1}, {1, 16}}));
  CHECK(moved[1] == values[16]);
  const std::array<device_segment, 2> table{
      device_segment{reinterpret_cast<std::uintptr_t>(b.data),
                     reinterpret_cast<std::uintptr_t>(a.data) + 10, 4},
      device_segment{reinterpret_cast<std::uintptr_t>(b.data) + 4,
                     reinterpret_cast<std::uintptr_t>(a.data), 2}};
  const block segments(space, sizeof table);
  bytes table_bytes(sizeof table);
  std::memcpy(table_bytes.data(), table.data(), sizeof table);
  segments.upload(table_bytes);
  const bytes scattered =
      after(space.scatter(reinterpret_cast<const device_segment*>(segments.data), 2));
  CHECK(scattered[0] == values[10]);
  CHECK(scattered[5] == values[1]);
  const bytes cast = after(space.cast({b.data, dtype_kind::int16, a.data, dtype_kind::uint8, 3}));
  CHECK(cast[2] == values[1]);
  CHECK(cast[3] == std::byte{0});
  const bytes elements = after(space.unshuffle(b.data, a.data, 2, 128));
  CHECK(elements[1] == values[128]);
  const bytes swapped = after(space.swap_bytes(b.data, 2, 128));
  CHECK(swapped[0] == values[128]);
  const std::string nine = "123456789";
  a.upload(bytes(as_bytes(nine).begin(), as_bytes(nine).end()));
  CHECK(load_le<std::uint32_t>(after(space.crc32c(b.data, a.data, 9)).data()) == 0xe3069283);
  CHECK(fake_cuda_device(1).count().kernels.crc32c == 1);
}

TEST_CASE("the stream of each thread is refused by name") {
  const fresh_devices devices;
  const block a(cuda_space(0), 64);
  for (const auto& said : all_calls(cuda_space(0, cudaStreamPerThread), a.data)) {
    CHECK(said.failure().code == errc::invalid_argument);
    CHECK(contains(said.failure().message,
                   "cudaStreamPerThread differs from thread to thread; pass one stream"));
  }
}

TEST_CASE("a stream that is destroyed early is a named error, and its memory comes back") {
  for (const bool has_pools : {true, false}) {
    const fresh_devices devices({.has_pools = has_pools});
    auto stream = zarrpoint::cuda::stream::make(1).value();
    const cuda_space space = stream.space();
    std::byte* const data = space.allocate(100).value();
    stream = zarrpoint::cuda::stream::make(0).value();
    for (const auto& said : all_calls(space, data)) {
      if (said) continue;  // an allocation without pools needs no stream
      CHECK(said.failure().code == errc::device);
      CHECK(contains(said.failure().message, "cuda:1: "));
      CHECK(contains(said.failure().message, "is destroyed"));
    }
    CHECK(!space.synchronize());
    space.deallocate(data, 100);
  }
}

TEST_CASE("what a stream was asked for goes on when it is destroyed, until the device is drained") {
  const fresh_devices devices;
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  auto stream = zarrpoint::cuda::stream::make(1).value();
  const cuda_space space = stream.space();
  const block a(cuda_space(1), 64);
  bytes host(64, std::byte{1});
  REQUIRE(space.fill(a.data, std::byte{7}, 64));
  REQUIRE(space.copy_to_host(host.data(), a.data, {.width = 64}));
  stream = zarrpoint::cuda::stream::make(0).value();
  CHECK(fake_cuda_device(1).due_operations() > 0);
  CHECK(!detail::wait_for_stream(space));
  CHECK(fake_cuda_device(1).due_operations() == 0);
  CHECK(host == bytes(64, std::byte{7}));

  stream = zarrpoint::cuda::stream::make(1).value();
  const cuda_space other = stream.space();
  REQUIRE(other.copy_to_host(host.data(), a.data, {.width = 64}));
  stream = zarrpoint::cuda::stream::make(0).value();
  CHECK(!other.synchronize());
  CHECK(fake_cuda_device(1).due_operations() == 0);
  cuda_space(2).drain();  // no such device
  int current = -1;
  REQUIRE(cudaGetDevice(&current) == cudaSuccess);
  CHECK(current == 0);
  CHECK(cudaPeekAtLastError() == cudaSuccess);
}

TEST_CASE("a program's own error is left to it when nothing of ours fails") {
  for (const bool has_pools : {true, false}) {
    const fresh_devices devices({.has_pools = has_pools});
    const cuda_space space(0);
    std::byte* const data = space.allocate(8).value();
    CHECK(cudaSetDevice(77) == cudaErrorInvalidDevice);
    space.drain();
    space.deallocate(data, 8);
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
  }
}

TEST_CASE("without a device every call says so") {
  zarrpoint_test::restart_fake_runtime({.absent = cudaErrorInsufficientDriver});
  const cuda_space space(2);
  std::byte nothing{};
  for (const auto& said : all_calls(space, &nothing)) {
    CHECK(said.failure().code == errc::device);
    CHECK(contains(said.failure().message, "cuda:2: "));
    CHECK(contains(said.failure().message, "no CUDA device: cudaErrorInsufficientDriver"));
  }
  CHECK(contains(space.check(&nothing, 1).failure().message, "no CUDA device"));
  bytes host(1);
  CHECK(contains(space.pin(host).failure().message, "no CUDA device"));
  space.unpin(host);
  space.deallocate(&nothing, 1);
  zarrpoint_test::restart_fake_runtime();
  const fresh_devices devices;
  CHECK(contains(cuda_space(5).synchronize().failure().message, "cuda:5: "));
  CHECK(contains(cuda_space(5).synchronize().failure().message, "no such CUDA device"));
}

TEST_CASE("each fault is an error with the runtime's name for it") {
  const std::pair<device_fault, const char*> faults[] = {
      {device_fault::allocation, "cuda:0: allocation of 8 bytes: cudaErrorMemoryAllocation"},
      {device_fault::copy, "cuda:0: copy to the host of 8 bytes: cudaErrorUnknown"},
      {device_fault::late_copy, "cuda:0: wait for the stream: cudaErrorIllegalAddress"},
      {device_fault::stream_gone, "is destroyed"},
      {device_fault::lost, "cudaErrorDevicesUnavailable"},
  };
  for (const auto& [fault, words] : faults) {
    const fresh_devices devices;
    auto stream = zarrpoint::cuda::stream::make(0).value();
    const block a(stream.space(), 64);
    a.upload(counted(64));
    fake_cuda_device().arm(fault, 0);
    std::string text;
    for (const auto& said : all_calls(a.space, a.data)) {
      if (!said) text += to_string(said.failure()) + "\n";
    }
    CAPTURE(text);
    CHECK(fake_cuda_device().fired());
    CHECK(contains(text, words));
    CHECK(contains(text, "resource_limit: ") == (fault == device_fault::allocation));
    CHECK(contains(text, "device: ") == (fault != device_fault::allocation));
  }
  const fresh_devices devices({.capacity = 1000});
  CHECK(cuda_space().allocate(1001).failure().code == errc::resource_limit);
  CHECK(cuda_space().allocate(0).value() == nullptr);
}

}  // namespace device_space_test
