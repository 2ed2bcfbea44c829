// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/fake_runtime.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

using zarrpoint_test::fake_device;
using zarrpoint_test::fake_space;
using clock_type = std::chrono::steady_clock;

// What handles point to. They stay when they are destroyed, so that a late use is an error and not
// undefined; a restart frees them.
struct CUstream_st {
  int device = 0;
  fake_space space;
  bool alive = true;
};
struct CUmemPoolHandle_st {
  int device = 0;
  std::size_t threshold = 0;
  std::size_t kept = 0;  ///< bytes that were freed and not given back
  bool alive = true;
  /// Of them those that nobody has waited for: outstanding for all but their stream.
  struct unseen_free {
    fake_space on;
    std::uint64_t when;
    std::size_t bytes;
  };
  std::vector<unseen_free> unseen;
};
struct CUevent_st {
  int device = 0;
  fake_device::event recorded;
  clock_type::time_point time;  ///< when it was recorded: good enough for a fake
  fake_space on;
  std::uint64_t when = 0;
  bool alive = true;
  bool forgotten = false;
};

namespace {

struct pinned_range {
  int device;
  zarrpoint::mutable_bytes memory;
};

struct pooled_range {
  CUmemPoolHandle_st* pool;
  std::size_t bytes;
};

struct runtime {
  std::mutex mutex;  ///< of what stands here; the devices have one of their own
  zarrpoint_test::fake_runtime_options options;
  std::vector<std::unique_ptr<fake_device>> devices;
  std::vector<std::unique_ptr<CUstream_st>> streams;
  std::vector<std::unique_ptr<CUevent_st>> events;
  std::vector<std::unique_ptr<CUmemPoolHandle_st>> pools;
  std::map<void*, pooled_range> pooled;
  zarrpoint_test::fake_runtime_totals asked;
  std::uint64_t now = 0;  ///< counts frees and records
  std::array<std::atomic<bool>, 8> contexts{};
  std::map<void*, pinned_range> pinned;
  std::map<void*, std::unique_ptr<std::byte[]>> pinned_by_us;

  runtime() {
#ifdef ZARRPOINT_TEST_FAKE_DRIVER
    void* const driver = ::dlopen(ZARRPOINT_TEST_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
    if (driver == nullptr) std::abort();
    *static_cast<bool (**)(int, bool*)>(::dlsym(driver, "fake_driver_asks")) = &tell_context;
#endif
    start({});
  }
  static bool tell_context(int device, bool* active);
  void start(const zarrpoint_test::fake_runtime_options& wanted) {
    options = wanted;
    streams.clear();
    events.clear();
    pools.clear();
    pooled.clear();
    asked = {};
    for (auto& one : contexts) one = false;
    pinned.clear();
    devices.clear();
    for (int i = 0; i < wanted.devices; ++i) {
      devices.push_back(std::make_unique<fake_device>(wanted.seed + static_cast<unsigned>(i),
                                                      wanted.capacity, i));
    }
  }
};
runtime& state() {
  static runtime one;
  return one;
}

bool runtime::tell_context(int device, bool* active) {
  *active = zarrpoint_test::fake_context(device);
  return state().options.tells_contexts;
}

thread_local int current = 0;
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t said(cudaError_t status) {
  if (status != cudaSuccess) last_error = status;
  return status;
}

/// Every call begins here: without a device it ends here, too.
cudaError_t present() { return state().options.absent; }

/// As every call that is more than a question does: the current device has a context from now on.
void make_context() {
  if (present() == cudaSuccess) state().contexts.at(static_cast<std::size_t>(current)) = true;
}

/// The status that the real runtime would have for what a fake device says.
cudaError_t status_of(const zarrpoint::error& failure) {
  const auto says = [&](const char* words) {
    return failure.message.find(words) != std::string::npos;
  };
  if (failure.code == zarrpoint::errc::resource_limit) return cudaErrorMemoryAllocation;
  if (failure.code != zarrpoint::errc::device) return cudaErrorInvalidValue;
  if (says("was lost")) return cudaErrorDevicesUnavailable;
  if (says("was destroyed") || says("stream_gone")) return cudaErrorInvalidResourceHandle;
  if (says("pinned already")) return cudaErrorHostMemoryAlreadyRegistered;
  return says("late_copy") || says("outside") || says("freed") ? cudaErrorIllegalAddress
                                                               : cudaErrorUnknown;
}
template <class T>
cudaError_t said(const zarrpoint::result<T>& outcome) {
  return said(outcome ? cudaSuccess : status_of(outcome.failure()));
}

/// What a stream stands for, if it is alive. A program of ours never means the one of each thread.
cudaError_t find(cudaStream_t stream, fake_space& out) {
  if (const cudaError_t absent = present(); absent != cudaSuccess) return absent;
  make_context();
  if (stream == cudaStreamPerThread) return cudaErrorNotSupported;
  if (stream == nullptr || stream == cudaStreamLegacy) {
    out = {state().devices[static_cast<std::size_t>(current)].get(), 0};
    return cudaSuccess;
  }
  const std::lock_guard lock(state().mutex);
  if (!stream->alive) return cudaErrorInvalidResourceHandle;
  out = stream->space;
  return cudaSuccess;
}

/// Calls `f(space)` for the stream's device.
template <class F>
cudaError_t on(cudaStream_t stream, F&& f) {
  fake_space space;
  if (const cudaError_t status = find(stream, space); status != cudaSuccess) return said(status);
  return said(f(space));
}

/// The number of the device whose memory this is, or -1. Errors: a device that was lost.
zarrpoint::result<int> device_of(const void* memory) {
  for (const auto& device : state().devices) {
    const auto checked =
        fake_space{device.get(), 0}.check(static_cast<const std::byte*>(memory), 1);
    if (checked) return device->number();
    if (checked.failure().code == zarrpoint::errc::device) return checked.failure();
  }
  return -1;
}

zarrpoint::result<void> copy(const fake_space& space, void* to, const void* from,
                             zarrpoint::row_block rows, cudaMemcpyKind kind) {
  auto* const target = static_cast<std::byte*>(to);
  const auto* const source = static_cast<const std::byte*>(from);
  if (kind == cudaMemcpyDefault) {
    ZARRPOINT_TRY(target_device, device_of(to));
    ZARRPOINT_TRY(source_device, device_of(from));
    kind = target_device < 0   ? cudaMemcpyDeviceToHost
           : source_device < 0 ? cudaMemcpyHostToDevice
                               : cudaMemcpyDeviceToDevice;
  }
  switch (kind) {
    case cudaMemcpyHostToDevice: return space.copy_from_host(target, source, rows);
    case cudaMemcpyDeviceToHost: return space.copy_to_host(target, source, rows);
    case cudaMemcpyDeviceToDevice:
      if (rows.count == 1) return space.copy_within(target, source, rows.width);
      [[fallthrough]];
    default: return zarrpoint::error{zarrpoint::errc::invalid_argument, "a copy of that kind"};
  }
}

/// Memory of a device whose pools keep some from it: `kept`, and what they freed; `reused` are
/// bytes that one of them kept.
struct demand {
  std::size_t bytes;
  std::size_t reused;
  std::size_t kept;
};
zarrpoint::result<void> allocate(const fake_space& space, const demand& wanted, void** memory) {
  const auto [bytes, reused, held] = wanted;
  std::size_t kept = held;
  {
    const std::lock_guard lock(state().mutex);
    for (const auto& one : state().pools) {
      if (one->device == space.owner->number()) kept += one->kept;
    }
  }
  const std::size_t live = space.owner->count().live_bytes;
  if (reused == 0 && kept != 0 && live + kept + bytes > state().options.capacity)
    return zarrpoint::error{zarrpoint::errc::resource_limit, "pools keep the rest"};
  ZARRPOINT_TRY(made, space.allocate(bytes));
  *memory = made;
  return {};
}
/// What was freed stays with the pool that it is of.
void back_to_pool(void* memory, const fake_space& on) {
  const std::lock_guard lock(state().mutex);
  const auto at = state().pooled.find(memory);
  if (at == state().pooled.end()) return;
  CUmemPoolHandle_st& pool = *at->second.pool;
  if (pool.alive) {
    pool.kept = std::min(pool.kept + at->second.bytes, pool.threshold);
    pool.unseen.push_back({on, ++state().now, at->second.bytes});
  }
  state().pooled.erase(at);
  std::size_t kept = 0;
  for (const auto& one : state().pools) kept += one->kept;
  state().asked.kept_most = std::max(state().asked.kept_most, kept);
}

/// The host has seen that what `f` says is done.
template <class F>
void see(F&& f) {
  const std::lock_guard lock(state().mutex);
  for (const auto& pool : state().pools) std::erase_if(pool->unseen, f);
}

/// Waits for a stream. It needs no event that could not be recorded, as the fake device does.
zarrpoint::result<void> finish(const fake_space& space) {
  auto mark = space.record();
  if (!mark && mark.failure().message.find("ordered: record") != std::string::npos)
    mark = space.record();
  if (!mark) return mark.failure();
  ZARRPOINT_CHECK(space.wait(*mark));
  see([&](const auto& one) { return one.on == space; });
  return {};
}

}  // namespace

namespace zarrpoint_test {

void restart_fake_runtime(const fake_runtime_options& options) {
  if (!fake_runtime_alive().nothing()) {
    std::fprintf(stderr, "fake_runtime: something is still alive at a restart\n");
    std::abort();
  }
  state().start(options);
  last_error = cudaSuccess;
  current = 0;
}

fake_device& fake_cuda_device(int device) {
  return *state().devices[static_cast<std::size_t>(device)];
}

fake_runtime_counts fake_runtime_alive() {
  const std::lock_guard lock(state().mutex);
  fake_runtime_counts out;
  for (const auto& one : state().events) out.events += one->alive && !one->forgotten ? 1u : 0u;
  for (const auto& one : state().pools) out.pools += one->alive ? 1u : 0u;
  for (const auto& one : state().streams) out.streams += one->alive ? 1u : 0u;
  out.pinned = state().pinned.size();
  for (const auto& device : state().devices) {
    out.allocations += device->live_allocations();
    out.operations += device->due_operations();
  }
  return out;
}

fake_runtime_totals fake_runtime_asked() {
  const std::lock_guard lock(state().mutex);
  return state().asked;
}

void forget_fake_events(int device) {
  const std::lock_guard lock(state().mutex);
  for (const auto& one : state().events) one->forgotten = one->forgotten || one->device == device;
}

bool fake_context(int device) { return state().contexts.at(static_cast<std::size_t>(device)); }

const zarrpoint::cuda::kernel_table* fake_kernels() {
  using zarrpoint::device_cast;
  using zarrpoint::device_segment;
  using zarrpoint::strided_move;
  static const zarrpoint::cuda::kernel_table table{
      [](cudaStream_t stream, const strided_move& elements) {
        return on(stream, [&](const fake_space& space) { return space.move(elements); });
      },
      [](cudaStream_t stream, const device_segment* segments, std::size_t count) {
        return on(stream, [&](const fake_space& space) { return space.scatter(segments, count); });
      },
      [](cudaStream_t stream, const device_cast& conversion) {
        return on(stream, [&](const fake_space& space) { return space.cast(conversion); });
      },
      [](cudaStream_t stream, std::byte* at, std::size_t size, std::size_t count) {
        return on(stream,
                  [&](const fake_space& space) { return space.swap_bytes(at, size, count); });
      },
      [](cudaStream_t stream, std::byte* to, const std::byte* from, std::size_t size,
         std::size_t count) {
        return on(stream,
                  [&](const fake_space& space) { return space.unshuffle(to, from, size, count); });
      },
      [](cudaStream_t stream, std::byte* to, const std::byte* from, std::size_t bytes) {
        return on(stream, [&](const fake_space& space) { return space.crc32c(to, from, bytes); });
      },
      [](cudaStream_t stream, const zp::device_checksum* table, std::size_t count,
         std::byte* marks) {
        return on(stream, [&](const fake_space& space) {
          return space.compare_crc32c(table, count, marks);
        });
      },
      [](cudaStream_t stream, const zp::device_literals* table, std::size_t count,
         std::byte* failed) {
        return on(stream, [&](const fake_space& space) {
          return space.decode_literals(table, count, failed);
        });
      },
      [](cudaStream_t stream, const zp::device_planes* table, std::size_t count, std::size_t most) {
        return on(stream,
                  [&](const fake_space& space) { return space.join_planes(table, count, most); });
      },
      [](cudaStream_t stream, const zp::device_symbols* table, std::size_t count) {
        return on(stream,
                  [&](const fake_space& space) { return space.count_symbols(table, count); });
      },
      [](cudaStream_t stream, const zp::device_symbols* table, std::size_t count,
         std::byte* failed) {
        return on(stream, [&](const fake_space& space) {
          return space.encode_symbols(table, count, failed);
        });
      },
  };
  return &table;
}

}  // namespace zarrpoint_test

extern "C" {

const char* cudaGetErrorName(cudaError_t status) {
  switch (status) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorDevicesUnavailable: return "cudaErrorDevicesUnavailable";
    case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorNotSupported: return "cudaErrorNotSupported";
    case cudaErrorHostMemoryAlreadyRegistered: return "cudaErrorHostMemoryAlreadyRegistered";
    case cudaErrorHostMemoryNotRegistered: return "cudaErrorHostMemoryNotRegistered";
    default: return "cudaErrorUnknown";
  }
}
const char* cudaGetErrorString(cudaError_t status) {
  return status == cudaErrorMemoryAllocation ? "out of memory" : "as the fake runtime says";
}
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = present() == cudaSuccess ? static_cast<int>(state().devices.size()) : 0;
  return said(present());
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return said(present());
}
cudaError_t cudaSetDevice(int device) {
  if (present() != cudaSuccess) return said(present());
  if (device < 0 || static_cast<std::size_t>(device) >= state().devices.size())
    return said(cudaErrorInvalidDevice);
  current = device;
  make_context();
  const std::lock_guard lock(state().mutex);
  ++state().asked.set_device;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  if (present() != cudaSuccess) return said(present());
  *value = attribute == cudaDevAttrMemoryPoolsSupported && state().options.has_pools ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* address, int length, int device) {
  if (present() != cudaSuccess) return said(present());
  std::snprintf(address, static_cast<std::size_t>(length), "ffff:%02X:1f.7", device);
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (present() != cudaSuccess) return said(present());
  std::memset(properties, 0, sizeof *properties);
  std::snprintf(properties->name, sizeof properties->name, "fake device %d", device);
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 0;  // there is none
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  cudaError_t status = cudaStreamSynchronize(nullptr);
  std::vector<fake_space> spaces;
  {
    const std::lock_guard lock(state().mutex);
    for (const auto& one : state().streams) {
      if (one->alive && one->device == current) spaces.push_back(one->space);
    }
  }
  for (const fake_space& space : spaces) {
    if (const cudaError_t each = said(finish(space)); status == cudaSuccess) status = each;
  }
  // Streams that are destroyed are waited for, too.
  if (present() == cudaSuccess) {
    fake_device& device = *state().devices[static_cast<std::size_t>(current)];
    device.drain();
    see([&](const auto& one) { return one.on.owner == &device; });
  }
  return status;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  if (present() != cudaSuccess) return said(present());
  make_context();
  fake_device& device = *state().devices[static_cast<std::size_t>(current)];
  auto made = std::make_unique<CUstream_st>();
  made->device = current;
  made->space = {&device, device.new_stream()};
  *stream = made.get();
  const std::lock_guard lock(state().mutex);
  state().streams.push_back(std::move(made));
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  fake_space space;
  if (const cudaError_t status = find(stream, space); status != cudaSuccess) return said(status);
  space.owner->destroy_stream(space.stream);
  const std::lock_guard lock(state().mutex);
  stream->alive = false;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return on(stream, finish); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return on(stream, [&](const fake_space& space) { return space.follow(event->recorded); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (present() != cudaSuccess) return said(present());
  make_context();
  auto made = std::make_unique<CUevent_st>();
  made->device = current;
  *event = made.get();
  const std::lock_guard lock(state().mutex);
  ++state().asked.events;
  state().events.push_back(std::move(made));
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return on(stream, [&](const fake_space& space) -> zarrpoint::result<void> {
    const bool alive = [&] {
      const std::lock_guard lock(state().mutex);
      return event->alive && !event->forgotten;
    }();
    if (space.owner->number() != event->device || !alive)
      return zarrpoint::error{zarrpoint::errc::device, "of a stream that was destroyed, say"};
    ZARRPOINT_TRY(recorded, space.record());
    const std::lock_guard lock(state().mutex);
    event->recorded = recorded;
    event->on = space;
    event->when = ++state().now;
    event->time = clock_type::now();
    return {};
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  make_context();
  if (event->recorded.owner == nullptr) return cudaSuccess;
  const auto waited = fake_space{event->recorded.owner, 0}.wait(event->recorded);
  if (waited) see([&](const auto& one) { return one.on == event->on && one.when < event->when; });
  return said(waited);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  make_context();
  if (event->recorded.owner == nullptr) return cudaSuccess;
  const auto happened = fake_space{event->recorded.owner, 0}.happened(event->recorded);
  if (happened && !*happened) return said(cudaErrorNotReady);
  return said(happened);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  make_context();
  const std::lock_guard lock(state().mutex);
  if (!event->alive) return said(cudaErrorInvalidResourceHandle);
  event->alive = false;
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** memory, size_t bytes, cudaStream_t stream) {
  if (!state().options.has_pools) return said(cudaErrorNotSupported);
  return on(stream, [&](const fake_space& space) {
    return allocate(space, {bytes, 0, 0}, memory);
  });
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (present() != cudaSuccess) return said(present());
  if (!state().options.makes_pools) return said(cudaErrorNotSupported);
  if (properties->allocType != cudaMemAllocationTypePinned ||
      properties->location.type != cudaMemLocationTypeDevice)
    return said(cudaErrorInvalidValue);
  auto made = std::make_unique<CUmemPoolHandle_st>();
  made->device = properties->location.id;
  *pool = made.get();
  const std::lock_guard lock(state().mutex);
  ++state().asked.pools;
  state().pools.push_back(std::move(made));
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const std::lock_guard lock(state().mutex);
  if (!pool->alive || attribute != cudaMemPoolAttrReleaseThreshold)
    return said(cudaErrorInvalidValue);
  pool->threshold = static_cast<std::size_t>(*static_cast<std::uint64_t*>(value));
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t least) {
  const std::lock_guard lock(state().mutex);
  if (!pool->alive) return said(cudaErrorInvalidValue);
  std::size_t outstanding = 0;
  for (const auto& one : pool->unseen) outstanding += one.bytes;
  pool->kept = std::min(pool->kept, std::max(least, outstanding));
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  make_context();
  const std::lock_guard lock(state().mutex);
  if (!pool->alive) return said(cudaErrorInvalidValue);
  pool->alive = false;
  pool->kept = 0;
  return cudaSuccess;
}
cudaError_t cudaMallocFromPoolAsync(void** memory, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream) {
  return on(stream, [&](const fake_space& space) -> zarrpoint::result<void> {
    std::size_t reused = 0;
    {
      const std::lock_guard lock(state().mutex);
      if (!pool->alive || pool->device != space.owner->number())
        return zarrpoint::error{zarrpoint::errc::invalid_argument, "no pool of that device"};
      ++state().asked.pooled;
      if (bytes <= pool->kept) {
        ++state().asked.reused;
        reused = bytes;
        pool->kept -= bytes;
      }
    }
    const auto made = allocate(space, {bytes, reused, state().options.default_keeps}, memory);
    const std::lock_guard lock(state().mutex);
    if (made) {
      state().pooled[*memory] = {pool, bytes};
    } else if (pool->alive) {
      pool->kept += reused;
    }
    return made;
  });
}
cudaError_t cudaMalloc(void** memory, size_t bytes) {
  const cudaError_t status = on(nullptr, [&](const fake_space& space) -> zarrpoint::result<void> {
    ZARRPOINT_TRY(made, space.allocate(bytes));
    *memory = made;
    return finish(space);
  });
  return status;
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  if (!state().options.has_pools) return said(cudaErrorNotSupported);
  return on(stream, [&](const fake_space& space) -> zarrpoint::result<void> {
    back_to_pool(memory, space);
    space.deallocate(static_cast<std::byte*>(memory), 0);
    return {};
  });
}
cudaError_t cudaFree(void* memory) {
  make_context();
  if (memory == nullptr) return said(present());
  static_cast<void>(cudaDeviceSynchronize());
  return on(nullptr, [&](const fake_space& space) -> zarrpoint::result<void> {
    back_to_pool(memory, space);
    space.deallocate(static_cast<std::byte*>(memory), 0);
    return {};
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return on(stream, [&](const fake_space& space) {
    return copy(space, to, from, {bytes, 1, 0, 0}, kind);
  });
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t status = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return status == cudaSuccess ? cudaStreamSynchronize(nullptr) : status;
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  if (to_pitch > 0x7fffffff || from_pitch > 0x7fffffff) return said(cudaErrorInvalidPitchValue);
  if (to_pitch < width || from_pitch < width) return said(cudaErrorInvalidValue);
  const bool to_host = kind == cudaMemcpyDeviceToHost;
  return on(stream, [&](const fake_space& space) {
    return copy(space, to, from,
                {width, height, to_host ? from_pitch : to_pitch, to_host ? to_pitch : from_pitch},
                kind);
  });
}
cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream) {
  return on(stream, [&](const fake_space& space) {
    return space.fill(static_cast<std::byte*>(memory), static_cast<std::byte>(value), bytes);
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  *attributes = {};
  if (present() != cudaSuccess) return said(present());
  make_context();
  const auto owner = device_of(memory);
  if (!owner) return said(owner);
  attributes->device = *owner < 0 ? -2 : *owner;
  if (*owner >= 0) {
    attributes->type = cudaMemoryTypeDevice;
    attributes->devicePointer = const_cast<void*>(memory);
    return cudaSuccess;
  }
  const std::lock_guard lock(state().mutex);
  for (const auto& [begin, range] : state().pinned) {
    const auto* at = static_cast<const std::byte*>(memory);
    if (at >= begin && at < range.memory.data() + range.memory.size())
      attributes->type = cudaMemoryTypeHost;
  }
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void* memory, size_t bytes, unsigned) {
  return on(nullptr, [&](const fake_space& space) -> zarrpoint::result<void> {
    const zarrpoint::mutable_bytes range{static_cast<std::byte*>(memory), bytes};
    ZARRPOINT_CHECK(space.pin(range));
    const std::lock_guard lock(state().mutex);
    state().pinned[memory] = {current, range};
    return {};
  });
}
cudaError_t cudaHostUnregister(void* memory) {
  pinned_range range{};
  make_context();
  {
    const std::lock_guard lock(state().mutex);
    const auto at = state().pinned.find(memory);
    if (at == state().pinned.end()) return said(cudaErrorHostMemoryNotRegistered);
    range = at->second;
    state().pinned.erase(at);
  }
  fake_space{state().devices[static_cast<std::size_t>(range.device)].get(), 0}.unpin(range.memory);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** memory, size_t bytes) {
  auto made = std::make_unique<std::byte[]>(bytes);
  const cudaError_t status = cudaHostRegister(made.get(), bytes, 0);
  if (status != cudaSuccess) return status;
  *memory = made.get();
  const std::lock_guard lock(state().mutex);
  state().pinned_by_us[*memory] = std::move(made);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  const cudaError_t status = cudaHostUnregister(memory);
  const std::lock_guard lock(state().mutex);
  state().pinned_by_us.erase(memory);
  return status;
}

}  // extern "C"
