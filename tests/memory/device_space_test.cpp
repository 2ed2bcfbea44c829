// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "support/fake_device.hpp"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace device_space_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

using bytes_of = std::vector<std::byte>;

bytes_of counted(std::size_t count, int first = 1) {
  bytes_of out(count);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = static_cast<std::byte>(first + static_cast<int>(i));
  return out;
}
bool is_poison(bytes_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](std::byte b) { return b == fake_device::poison; });
}
void upload(const fake_space& space, std::byte* to, const bytes_of& from) {
  space.copy_from_host(to, from.data(), {.width = from.size()}).value();
}
void finish(const fake_space& space) { space.wait(space.record().value()).value(); }
bytes_of download(const fake_space& space, const std::byte* from, std::size_t bytes) {
  bytes_of out(bytes);
  space.copy_to_host(out.data(), from, {.width = bytes}).value();
  finish(space);
  return out;
}

/// The signal that ended a child which does `f`.
template <class F>
int signal_of(F&& f) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const int each : {SIGSEGV, SIGBUS, SIGABRT}) std::signal(each, SIG_DFL);
    ::close(STDERR_FILENO);
    f();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

struct without_kernels {
  using event = fake_space::event;
  static constexpr bool host_accessible = false;
  static constexpr const char* name = "plain";
  fake_space all{};
  friend bool operator==(const without_kernels&, const without_kernels&) = default;
  int device() const { return all.device(); }
  result<void> wait(const event& e) const { return all.wait(e); }
  result<std::byte*> allocate(std::size_t n) const { return all.allocate(n); }
  void deallocate(std::byte* p, std::size_t n) const noexcept { all.deallocate(p, n); }
  result<void> copy_to_host(std::byte* to, const std::byte* from, const row_block& r) const {
    return all.copy_to_host(to, from, r);
  }
  result<void> copy_from_host(std::byte* to, const std::byte* from, const row_block& r) const {
    return all.copy_from_host(to, from, r);
  }
  result<void> copy_within(std::byte* to, const std::byte* from, std::size_t n) const {
    return all.copy_within(to, from, n);
  }
  result<void> fill(std::byte* to, std::byte b, std::size_t n) const { return all.fill(to, b, n); }
  result<event> record() const { return all.record(); }
  result<bool> happened(const event& e) const { return all.happened(e); }
  void drain() const noexcept { all.drain(); }
  result<void> follow(const event& e) const { return all.follow(e); }
  result<void> check(const std::byte* p, std::size_t n) const { return all.check(p, n); }
  result<void> pin(mutable_bytes host) const { return all.pin(host); }
  void unpin(mutable_bytes host) const noexcept { all.unpin(host); }
};

}  // namespace

TEST_CASE("device_space: kernels are a further concept, and may be missing at run time, too") {
  static_assert(device_space<fake_space> && kernel_space<fake_space>);
  static_assert(device_space<without_kernels> && !kernel_space<without_kernels>);
  static_assert(!device_space<host_space>);
  fake_device device(1);
  const fake_space space{&device};
  CHECK(has_kernels(space));
  CHECK_FALSE(has_kernels(without_kernels{space}));
  CHECK(without_kernels{space} == without_kernels{space});
  device.set_kernels(false);
  CHECK_FALSE(has_kernels(space));
  std::byte* const memory = device.allocate(4);
  CHECK(space.swap_bytes(memory, 2, 2).failure().code == errc::unsupported);
  device.free(memory);
}

TEST_CASE("fake_device: the host dies of a touch of its memory") {
  fake_device device(1);
  std::byte* const memory = device.allocate(100);
  CHECK(signal_of([&] { static_cast<void>(*static_cast<volatile std::byte*>(memory)); }) ==
        SIGSEGV);
  CHECK(signal_of([&] { *static_cast<volatile std::byte*>(memory + 99) = std::byte{}; }) ==
        SIGSEGV);
  CHECK(signal_of([&] { static_cast<void>(device.count()); }) == 0);
  device.free(memory);
  CHECK(device.live_allocations() == 0);
}

TEST_CASE("fake_device: a reader that forgets to wait reads poison") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    fake_device device(seed);
    const fake_space space{&device};
    std::byte* const memory = space.allocate(16).value();
    const bytes_of values = counted(16);
    upload(space, memory, values);
    bytes_of host(16);
    space.copy_to_host(host.data(), memory, {.width = 16}).value();
    CHECK(is_poison(host));
    CHECK(device.due_operations() > 0);
    const auto done = space.record().value();
    while (!space.happened(done).value()) {
    }
    CHECK(host == values);
    CHECK(device.due_operations() == 0);
    space.deallocate(memory, 16);
    CHECK(device.live_allocations() == 0);
  }
}

TEST_CASE("fake_device: what the host writes before the wait is what arrives") {
  fake_device device(2);
  const fake_space space{&device};
  std::byte* const memory = device.allocate(4);
  bytes_of values = counted(4);
  upload(space, memory, values);
  values[0] = std::byte{77};
  finish(space);
  CHECK(download(space, memory, 4) == values);
  device.free(memory);
}

TEST_CASE("fake_device: streams know no order among each other but by follow") {
  int poisoned = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    for (const bool follows : {false, true}) {
      fake_device device(seed);
      fake_device second(seed, 1 << 20, 1);
      const fake_space a{&device};
      const fake_space b{&device, device.new_stream()};
      const fake_space c{&second};
      std::byte* const memory = device.allocate(8);
      std::byte* const there = second.allocate(8);
      const bytes_of values = counted(8);
      upload(a, memory, values);
      const auto written = a.record().value();
      if (follows) b.follow(written).value();
      bytes_of by_b(8);
      b.copy_to_host(by_b.data(), memory, {.width = 8}).value();
      const auto read = b.record().value();
      if (follows) c.follow(read).value();  // events go from device to device
      upload(c, there, by_b);
      finish(c);
      const bytes_of out = download(c, there, 8);
      if (follows) {
        CHECK(out == values);
      } else {
        poisoned += is_poison(out);
      }
      b.wait(read).value();
      device.free(memory);
      second.free(there);
    }
  }
  CHECK(poisoned > 10);
}

TEST_CASE("fake_device: memory is the stream's from its allocation to its end") {
  bool too_early = false;
  bool too_late = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    fake_device device(seed);
    const fake_space a{&device};
    const fake_space b{&device, device.new_stream()};
    std::byte* const memory = a.allocate(8).value();
    b.fill(memory, std::byte{1}, 8).value();
    const auto early = b.wait(b.record().value());
    too_early = too_early || (!early && early.failure().code == errc::device);
    device.recover();
    finish(a);
    b.fill(memory, std::byte{2}, 8).value();
    a.deallocate(memory, 8);
    finish(a);
    const auto late = b.wait(b.record().value());
    too_late = too_late || (!late && late.failure().code == errc::device);
    CHECK(b.fill(memory, std::byte{1}, 8).failure().code == errc::device);  // known to be gone
  }
  CHECK(too_early);
  CHECK(too_late);
}

TEST_CASE("fake_device: rows, fills and copies within, checked against their bounds") {
  fake_device device(5);
  const fake_space space{&device};
  std::byte* const memory = device.allocate(100);
  space.fill(memory, std::byte{0}, 100).value();
  const bytes_of rows = counted(12);
  CHECK(space.copy_from_host(memory + 1, rows.data(),
                             {.width = 3, .count = 3, .device_pitch = 10, .host_pitch = 4}));
  space.copy_within(memory + 50, memory, 30).value();
  finish(space);
  const bytes_of all = download(space, memory, 100);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(std::memcmp(&all[1 + 10 * i], &rows[4 * i], 3) == 0);
    CHECK(std::memcmp(&all[51 + 10 * i], &rows[4 * i], 3) == 0);
    CHECK(all[4 + 10 * i] == std::byte{0});
  }
  bytes_of back(9);
  space
      .copy_to_host(back.data(), memory + 1,
                    {.width = 3, .count = 3, .device_pitch = 10, .host_pitch = 3})
      .value();
  finish(space);
  CHECK(back[3] == rows[4]);
  CHECK(back[8] == rows[10]);

  bytes_of host(101);
  CHECK(space.copy_to_host(host.data(), memory, {.width = 101}).failure().code == errc::device);
  CHECK(space
            .copy_to_host(host.data(), memory,
                          {.width = 8, .count = 3, .device_pitch = 47, .host_pitch = 8})
            .failure()
            .code == errc::device);
  CHECK(space
            .copy_to_host(host.data(), memory,
                          {.width = 8, .count = 2, .device_pitch = 7, .host_pitch = 8})
            .failure()
            .code == errc::device);
  CHECK(space.copy_to_host(host.data(), host.data(), {.width = 1}).failure().code == errc::device);
  CHECK(space.copy_to_host(nullptr, nullptr, {}));
  CHECK(space.check(memory + 20, 80));
  CHECK(space.check(memory + 20, 81).failure().code == errc::invalid_argument);
  fake_device other(6, 1 << 20, 1);
  CHECK(fake_space{&other}.check(memory, 1).failure().code == errc::invalid_argument);
  device.free(memory);
}

TEST_CASE("fake_device: its kernels mean what the concept says") {
  fake_device device(7);
  const fake_space space{&device};
  std::byte* const from = device.allocate(64);
  std::byte* const to = device.allocate(64);
  const bytes_of source = counted(64, 0);
  upload(space, from, source);
  space.fill(to, std::byte{0xff}, 64).value();

  // Element (i, j) of a 2 x 3 matrix of 2 bytes, its rows backwards.
  CHECK(space.move({to, from + 4, 2, {2, 3}, {6, 2}, {16, -2}}));
  CHECK(download(space, to, 12) == bytes_of{std::byte{4}, std::byte{5}, std::byte{2}, std::byte{3},
                                            std::byte{0}, std::byte{1}, std::byte{20},
                                            std::byte{21}, std::byte{18}, std::byte{19},
                                            std::byte{16}, std::byte{17}});
  CHECK(space.move({to + 60, from, 2, {3}, {2}, {2}}).failure().code == errc::device);
  CHECK(space.move({nullptr, nullptr, 2, {0, 3}, {6, 2}, {6, 2}}));

  const auto address = [](const std::byte* p) { return reinterpret_cast<std::uintptr_t>(p); };
  const device_segment segments[] = {{address(to + 3), address(from), 5},
                                     {address(to + 9), address(from + 60), 4},
                                     {address(to), address(from), 0}};
  std::byte* const table = device.allocate(sizeof segments);
  space
      .copy_from_host(table, reinterpret_cast<const std::byte*>(segments),
                      {.width = sizeof segments})
      .value();
  CHECK(space.scatter(reinterpret_cast<const device_segment*>(table), 3));
  const bytes_of scattered = download(space, to, 13);
  CHECK(scattered[7] == std::byte{4});
  CHECK(scattered[12] == std::byte{63});

  CHECK(space.swap_bytes(to + 3, 2, 2));
  CHECK(download(space, to + 3, 4) ==
        bytes_of{std::byte{1}, std::byte{0}, std::byte{3}, std::byte{2}});

  CHECK(space.unshuffle(to, from, 4, 3));  // planes of 3 bytes
  CHECK(download(space, to, 5) ==
        bytes_of{std::byte{0}, std::byte{3}, std::byte{6}, std::byte{9}, std::byte{1}});

  const std::vector<float> numbers = {1.9f, -3.0f, 1e9f};
  space.copy_from_host(from, reinterpret_cast<const std::byte*>(numbers.data()), {.width = 12})
      .value();
  CHECK(space.cast({to, dtype_kind::int16, from, dtype_kind::float32, 3}));
  std::int16_t whole[3];
  space.copy_to_host(reinterpret_cast<std::byte*>(whole), to, {.width = 6}).value();
  finish(space);
  CHECK(whole[0] == 1);
  CHECK(whole[1] == -3);
  CHECK(whole[2] == 32767);

  const bytes_view digits = as_bytes("123456789");
  space.copy_from_host(from, digits.data(), {.width = 9}).value();
  CHECK(space.crc32c(to, from, 9));
  CHECK(load_le<std::uint32_t>(download(space, to, 4).data()) == 0xe3069283u);
  const std::uint64_t digits_at = reinterpret_cast<std::uintptr_t>(from);
  const device_checksum sums[] = {
      {digits_at, 5, 9, 0xe3069283}, {digits_at, 7, 9, 0xe3069284}, {digits_at, 11, 8, 0xe3069283}};
  space.copy_from_host(table, reinterpret_cast<const std::byte*>(sums), {.width = sizeof sums})
      .value();
  CHECK(space.fill(to, std::byte{}, 8));
  CHECK(space.compare_crc32c(reinterpret_cast<const device_checksum*>(table), 3, to));
  CHECK(load_le<std::uint64_t>(download(space, to, 8).data()) == 5);
  const kernel_counts kernels = device.count().kernels;
  CHECK(kernels.move == 3);
  CHECK(kernels.scatter + kernels.cast + kernels.swap_bytes + kernels.unshuffle + kernels.crc32c +
            kernels.compare_crc32c ==
        6);
  for (std::byte* const memory : {from, to, table}) device.free(memory);
  CHECK(device.live_allocations() == 0);
}

TEST_CASE("fake_device: each fault comes when it was ordered, and has a name") {
  fake_device device(8, 1 << 20);
  const fake_space space{&device, device.new_stream()};
  std::byte* const memory = device.allocate(8);
  bytes_of host(8);
  const row_block row{.width = 8};

  device.arm(device_fault::allocation, 1);
  std::byte* const one = space.allocate(8).value();
  CHECK(space.allocate(8).failure().code == errc::resource_limit);
  CHECK(device.fired());
  CHECK(space.allocate(2 << 20).failure().code == errc::resource_limit);  // more than there is

  device.arm(device_fault::copy, 0);
  CHECK(space.copy_to_host(host.data(), memory, row).failure().code == errc::device);
  CHECK(space.copy_to_host(host.data(), memory, row));
  finish(space);

  device.arm(device_fault::late_copy, 1);
  CHECK(space.copy_to_host(host.data(), memory, row));
  const auto first = space.record().value();
  CHECK(space.copy_to_host(host.data(), memory, row));
  const auto second = space.record().value();
  const auto third = space.record().value();
  CHECK(space.wait(first));
  CHECK(space.wait(second).failure().message == "fake:0: failed as ordered: late_copy");
  CHECK(space.wait(third).failure().code == errc::device);
  const fake_space other{&device};
  other.follow(second).value();
  CHECK(other.wait(other.record().value()).failure().code == errc::device);
  device.recover();
  finish(space);

  device.arm(device_fault::record, 0);
  CHECK(space.record().failure().code == errc::device);
  device.arm(device_fault::pin, 0);
  CHECK(space.pin(host).failure().code == errc::device);

  device.arm(device_fault::stream_gone, 1);
  CHECK(space.copy_to_host(host.data(), memory, row));
  const auto gone = space.record();
  CHECK(gone.failure().message == "fake:0: stream 1 was destroyed");
  CHECK(device.due_operations() == 1);  // it goes on without its stream
  space.drain();
  CHECK(device.due_operations() == 0);
  CHECK(other.fill(memory, std::byte{}, 8));
  finish(other);
  space.deallocate(one, 8);

  const auto before = other.record().value();
  std::byte* const last = other.allocate(8).value();
  device.arm(device_fault::lost, 1);
  CHECK(other.copy_to_host(host.data(), memory, row));
  CHECK(other.record().failure().message == "fake:0: the device was lost");
  CHECK(other.wait(before).failure().code == errc::device);
  CHECK(other.happened(before).failure().code == errc::device);
  CHECK(other.pin(host).failure().code == errc::device);
  CHECK(other.check(memory, 8).failure().code == errc::device);
  CHECK(is_poison(host));  // the copy never runs
  other.deallocate(last, 8);
  device.free(memory);
  CHECK(device.live_allocations() == 0);
  CHECK(device.due_operations() == 0);
}

TEST_CASE("fake_device: pinned ranges are counted, and kept until the copies are done") {
  fake_device device(9);
  const fake_space space{&device};
  std::byte* const memory = device.allocate(8);
  bytes_of host(16);
  space.pin(host).value();
  CHECK(space.pin(std::span(host).first(4)).failure().code == errc::device);
  const bytes_of elsewhere(4);
  upload(space, memory, elsewhere);
  space.copy_to_host(host.data() + 8, memory, {.width = 8}).value();
  CHECK(device.count().pageable_bytes == 4);
  CHECK(device.count().bytes_to_host == 8);
  CHECK(device.count().bytes_from_host == 4);
  CHECK(signal_of([&] { space.unpin(host); }) == SIGABRT);
  finish(space);
  CHECK(device.pinned_ranges() == 1);
  space.unpin(host);
  CHECK(device.pinned_ranges() == 0);
  CHECK(signal_of([&] { space.unpin(host); }) == SIGABRT);
  CHECK(signal_of([&] { device.free(memory + 1); }) == SIGABRT);
  device.free(memory);
}

TEST_CASE("fake_device: addresses are used again when all have been, and none twice at once") {
  fake_device device(10, 200 << 20);
  const fake_space space{&device};
  std::byte* const kept = space.allocate(10 << 20).value();
  const bytes_of values = counted(8);
  upload(space, kept, values);
  for (int i = 0; i < 100; ++i) {
    std::byte* const memory = space.allocate(9 << 20).value();
    space.fill(memory, std::byte{9}, 64).value();
    space.deallocate(memory, 9 << 20);
    finish(space);
  }
  CHECK(download(space, kept, 8) == values);
  CHECK(device.count().peak_bytes == 19 << 20);
  space.deallocate(kept, 10 << 20);
}

TEST_CASE("fake_device: many threads, each with its stream") {
  fake_device device(11);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const fake_space space{&device, device.new_stream()};
      for (int i = 0; i < 50; ++i) {
        std::byte* const memory = space.allocate(32).value();
        const bytes_of values = counted(32, t + i);
        upload(space, memory, values);
        wrong[static_cast<std::size_t>(t)] += download(space, memory, 32) != values;
        space.deallocate(memory, 32);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4));
  CHECK(device.live_allocations() == 0);
}

}  // namespace device_space_test
