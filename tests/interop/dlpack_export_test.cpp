// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/interop/dlpack/dlpack_export.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/fake_device.hpp"
#include "support/sample_tensor.hpp"

#include <doctest/doctest.h>

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// A fake device passes for one of CUDA.
template <>
struct zarrpoint::dlpack::device_traits<zarrpoint_test::fake_space> {
  using space = zarrpoint_test::fake_space;
  static device_id id(const space& where) { return {2, where.device()}; }
  static bool holds(const space& where, const device_id& device) {
    return device.device_type == 2 && device.device_id == where.device();
  }
  static result<void> settle(const space& where) {
    ++settled;
    for (const std::size_t stream : {0U, 1U}) {
      const auto done = space{where.owner, stream}.record();
      if (done) static_cast<void>(where.wait(*done));
    }
    return {};
  }
  static inline int settled = 0;
};

namespace dlpack_export_test {

using namespace zarrpoint;
using zarrpoint_test::device_tensor;
using zarrpoint_test::fake_device;
using zarrpoint_test::fake_space;
using zarrpoint_test::pick;

/// A tensor on a fake device with two streams, and what is in it.
struct on_device {
  fake_device device{5, std::size_t{1} << 20, 3};
  std::size_t second = device.new_stream();
  std::vector<float> values{1, 2, 3, 4, 5, 6};

  device_tensor<float> make(std::size_t stream = 0) {
    device_tensor<float> out(fake_space{&device, stream}, {2, 3});
    out.upload(values);
    return out;
  }
};

using taken_tensor = dlpack::basic_tensor<fake_space>;

/// What the consumer's stream reads of it, without a wait for anything else.
std::vector<float> read_on(const fake_space& space, const taken_tensor& from) {
  std::vector<float> out(6);
  space.copy_to_host(reinterpret_cast<std::byte*>(out.data()), from.view().data, {.width = 24})
      .value();
  space.wait(space.record().value()).value();
  return out;
}

TEST_CASE("dlpack_export: random tensors of every type go out and come back in place") {
  zarrpoint_test::random_source random(2024);
  std::size_t handed = 0, refused = 0;
  for (int i = 0; i < 600; ++i) {
    const dtype type = all_dtype_kinds[pick(random, all_dtype_kinds.size())];
    if (type.is_variable() || type.size() == 0) continue;
    const tensor_spec spec{type, zarrpoint_test::random_shape(random, 5, 5)};
    zarrpoint_test::sample_tensor sample(spec, random,
                                         zarrpoint_test::sample_tensor::placed::anywhere);
    bool whole = true;
    for (std::size_t k = 0; k < spec.shape.rank(); ++k)
      whole = whole && (element_count(spec.shape).value() == 0 || spec.shape[k] == 1 ||
                        sample.view().strides[k] % static_cast<index_t>(type.size()) == 0);
    const auto alive = std::make_shared<int>(1);
    {
      auto made = pick(random, 2) == 0 ? dlpack::to_dlpack(sample.target(), alive)
                                       : dlpack::to_dlpack(sample.view(), alive);
      CHECK(made.has_value() == (whole && dlpack::type_of(type).has_value()));
      if (!made) {
        CHECK(made.failure().code == errc::unsupported);
        ++refused;
        continue;
      }
      ++handed;
      const auto back = dlpack::tensor::take(made->release()).value();
      CHECK(alive.use_count() == 2);
      CHECK(zarrpoint_test::same_elements(back.view(), sample.view()));
      if (element_count(spec.shape).value() != 0) CHECK(back.view().data == sample.view().data);
    }
    CHECK(alive.use_count() == 1);
    const auto copy =
        dlpack::tensor::take(dlpack::copy_to_dlpack(sample.view())->release()).value();
    CHECK(copy.is_copied());
    CHECK_FALSE(copy.read_only());
    CHECK(is_dense(copy.view()));
    CHECK(zarrpoint_test::same_elements(copy.view(), sample.view()));
  }
  CHECK(handed > 100);
  CHECK(refused > 100);
}

TEST_CASE("dlpack_export: values are handed over with their memory") {
  const auto made = [] {
    std::vector<std::int32_t> values{1, 2, 3};
    return dlpack::to_dlpack(std::move(values)).value();
  }();
  const dlpack::raw_tensor& raw = made->dl_tensor;
  CHECK(made->version.major == 1);
  CHECK(made->flags == 0);
  CHECK(raw.device.device_type == 1);
  CHECK(raw.dtype == dlpack::data_type{0, 32, 1});
  CHECK(raw.ndim == 1);
  CHECK(raw.shape[0] == 3);
  CHECK(raw.strides[0] == 1);  // of 1.2 and later they are never null
  CHECK(static_cast<const std::int32_t*>(raw.data)[2] == 3);

  auto empty = tensor::make({dtype_kind::bfloat16, {4, 0}}).value();
  const auto none = dlpack::to_dlpack<dlpack::managed_legacy>(std::move(empty)).value();
  CHECK(none->dl_tensor.data == nullptr);
  CHECK(none->dl_tensor.dtype == dlpack::data_type{4, 16, 1});
  CHECK(dlpack::to_dlpack(3.5).value()->dl_tensor.ndim == 0);

  CHECK(dlpack::to_dlpack(std::string("text")).failure().message ==
        "DLPack has no tensors of string");
  CHECK(dlpack::to_dlpack(tensor()).failure().code == errc::invalid_argument);
  const std::vector<std::string> words{"a"};
  CHECK(dlpack::copy_to_dlpack(handler_of<std::vector<std::string>>::view(words)).failure().code ==
        errc::unsupported);
  limited_resource small(16);
  CHECK(dlpack::copy_to_dlpack(tensor::make({dtype_kind::int8, {100}})->view(), small)
            .failure()
            .code == errc::resource_limit);
}

TEST_CASE("dlpack_export: as the documents have it") {
  memory_store store;
  auto weights = tensor::make({dtype_kind::float32, {2, 3}}).value();
  for (float& each : weights.data<float>()) each = 4;

  // Ours to them: what is released belongs to the one that calls its deleter.
  dlpack::managed_versioned* const managed =
      dlpack::to_dlpack(std::move(weights)).value().release();

  // Theirs to us, of 1.x or of before 1.0: saved, and loaded into, in place.
  auto theirs = dlpack::tensor::take(managed).value();
  save(store, {{"w", theirs}}).value();
  open(store).value().load_into("w", theirs).value();

  CHECK(theirs.type() == dtype_kind::float32);
}

TEST_CASE("dlpack_export: a shared value, and one that is read-only") {
  const auto shared = std::make_shared<tensor>(tensor::make({dtype_kind::int16, {2, 2}}).value());
  {
    const auto first = dlpack::to_dlpack(shared).value();
    const auto second = dlpack::to_dlpack<dlpack::managed_legacy>(shared).value();
    CHECK(first->dl_tensor.data == second->dl_tensor.data);
    CHECK(first->flags == 0);
    CHECK(shared.use_count() == 3);
  }
  CHECK(shared.use_count() == 1);
  const std::shared_ptr<const tensor> fixed = shared;
  CHECK(dlpack::to_dlpack(fixed).value()->flags == dlpack::flag_read_only);
  CHECK(dlpack::to_dlpack<dlpack::managed_legacy>(fixed).failure().message ==
        "DLPack before 1.0 has no read-only tensors");
  CHECK(shared.use_count() == 2);
  // What came in read-only goes out so, and comes back to us as it went.
  auto taken = dlpack::tensor::take(dlpack::to_dlpack(fixed).value().release()).value();
  CHECK(taken.read_only());
  CHECK(dlpack::to_dlpack(std::move(taken)).value()->flags == dlpack::flag_read_only);
  CHECK(shared.use_count() == 2);
}

TEST_CASE("dlpack_export: a tensor on a device is ready for the consumer's stream, and goes last") {
  on_device from;
  const fake_space consumer{&from.device, from.second};
  using traits = dlpack::device_traits<fake_space>;
  for (const bool waits : {false, true}) {
    traits::settled = 0;
    auto made = waits ? dlpack::to_dlpack(from.make(), std::nullopt).value()
                      : dlpack::to_dlpack(from.make(), consumer).value();
    CHECK(made->dl_tensor.device.device_type == 2);
    CHECK(made->dl_tensor.device.device_id == 3);
    CHECK((from.device.due_operations() == 0) == waits);
    {
      const auto taken = taken_tensor::take(made.release(), consumer).value();
      CHECK(read_on(consumer, taken) == from.values);
      CHECK(traits::settled == 0);
    }
    CHECK(traits::settled == 1);
    CHECK(from.device.live_allocations() == 0);
  }
  const auto shared = std::make_shared<device_tensor<float>>(from.make());
  CHECK(taken_tensor::take(dlpack::to_dlpack(shared, consumer).value().release(), consumer)
            .value()
            .shape() == dims{2, 3});
  CHECK(from.device.live_allocations() == 1);
}

TEST_CASE("dlpack_export: memory of another device, of the host, and what is not aligned") {
  on_device from, other;
  const fake_space consumer{&from.device, from.second};
  auto made = dlpack::to_dlpack(from.make(), consumer).value();
  void* const good = made->dl_tensor.data;
  std::vector<float> host(6);
  const auto bad = other.make();
  int deleted = 0;
  // Each is tried on a copy of the struct that counts, since a refused one is given back.
  const auto refused = [&](void* data, dlpack::device_id device, index_t columns = 3) {
    dlpack::managed_versioned copy = *made;
    std::int64_t shape[] = {2, columns}, strides[] = {columns, 1};
    copy.dl_tensor.data = data;
    copy.dl_tensor.device = device;
    copy.dl_tensor.shape = shape;
    copy.dl_tensor.strides = strides;
    copy.manager_ctx = &deleted;
    copy.deleter = [](dlpack::managed_versioned* self) { ++*static_cast<int*>(self->manager_ctx); };
    return taken_tensor::take(&copy, consumer).failure();
  };
  CHECK(refused(good, {2, 4}).message == "DLPack tensor on cuda:4, which is not cuda:3");
  CHECK(refused(good, {1, 3}).code == errc::unsupported);
  CHECK(refused(host.data(), {2, 3}).code == errc::invalid_argument);
  CHECK(refused(const_cast<float*>(bad.data()), {2, 3}).code == errc::invalid_argument);
  CHECK(refused(static_cast<std::byte*>(good) + 1, {2, 3}).message ==
        "DLPack tensor: its elements are not aligned");
  CHECK(refused(good, {2, 3}, 3000).code == errc::invalid_argument);
  CHECK(deleted == 6);
  // A consumer whose stream is gone, and a device that is: nothing is handed over, nothing leaks.
  made.reset();
  from.device.destroy_stream(from.second);
  CHECK(dlpack::to_dlpack(from.make(), consumer).failure().code == errc::device);
  auto last = from.make();
  from.device.arm(fake_device::fault::lost, 0);
  CHECK(dlpack::to_dlpack(std::move(last), std::nullopt).failure().code == errc::device);
  CHECK(from.device.live_allocations() == 0);
}

TEST_CASE("dlpack_export: tensors on a device are saved and loaded in place") {
  on_device from;
  const fake_space consumer{&from.device, from.second};
  memory_store store;
  {
    auto taken = taken_tensor::take(dlpack::to_dlpack(from.make(), consumer)->release(), consumer);
    save(store, {{"w", *taken}}).value();
    const std::vector<float> other{6, 5, 4, 3, 2, 1};
    CHECK(open(store)->load<tensor>("w")->data<float>()[5] == 6);
    memory_store second;
    save(second, {{"w", host_view{reinterpret_cast<const std::byte*>(other.data()),
                                  dtype_kind::float32,
                                  {2, 3},
                                  {12, 4},
                                  {},
                                  {}}}})
        .value();
    open(second)->load_into("w", *taken).value();
    CHECK(read_on(consumer, *taken) == other);
  }
  CHECK(from.device.live_allocations() == 0);
}

#if __has_include(<dlpack/dlpack.h>)
TEST_CASE("dlpack_export: the structs of DLPack's own header") {
  std::vector<float> values{1, 2, 3};
  const auto alive = std::make_shared<int>(1);
  {
    const mutable_host_view view{
        reinterpret_cast<std::byte*>(values.data()), dtype_kind::float32, {3}, {4}, {}, {}};
    auto made = dlpack::to_dlpack<DLManagedTensor>(view, alive).value();
    CHECK(made->dl_tensor.device.device_type == kDLCPU);
    auto taken = dlpack::tensor::take(made.release()).value();
    CHECK(alive.use_count() == 2);
    CHECK(dlpack::to_dlpack<DLManagedTensor>(std::move(taken)).value()->dl_tensor.data ==
          values.data());
  }
  CHECK(alive.use_count() == 1);
}
#endif

}  // namespace dlpack_export_test
