// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/interop/dlpack/dlpack.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <doctest/doctest.h>

#include <climits>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace dlpack_test {

using namespace zarrpoint;

/// A tensor of some other library, which counts how often it is given back.
template <class M>
struct foreign {
  std::vector<float> values = std::vector<float>(24, 1.5F);
  std::vector<std::int64_t> shape{2, 3};
  std::vector<std::int64_t> strides{3, 1};
  int deleted = 0;
  M managed{};

  foreign() {
    managed.dl_tensor.data = values.data();
    managed.dl_tensor.device.device_type =
        static_cast<decltype(managed.dl_tensor.device.device_type)>(1);
    managed.dl_tensor.ndim = 2;
    managed.dl_tensor.dtype = {2, 32, 1};
    managed.dl_tensor.shape = shape.data();
    managed.dl_tensor.strides = strides.data();
    if constexpr (dlpack::versioned_tensor<M>) managed.version = {1, 0};
    managed.manager_ctx = this;
    managed.deleter = [](M* self) { ++static_cast<foreign*>(self->manager_ctx)->deleted; };
  }
  foreign(const foreign&) = delete;
  foreign& operator=(const foreign&) = delete;
};

static_assert(savable<dlpack::tensor> && fillable<dlpack::tensor&> && !loadable<dlpack::tensor>);
static_assert(!fillable<const dlpack::tensor&>);
static_assert(!std::is_copy_constructible_v<dlpack::tensor>);

TEST_CASE_TEMPLATE("dlpack: a tensor is taken, saved, filled and given back once", M,
                   dlpack::managed_legacy, dlpack::managed_versioned) {
  foreign<M> theirs;
  for (std::size_t i = 0; i < 6; ++i) theirs.values[i] = static_cast<float>(i);
  memory_store store;
  {
    auto taken = dlpack::tensor::take(&theirs.managed).value();
    CHECK(taken.spec() == tensor_spec{dtype_kind::float32, {2, 3}});
    CHECK(taken.device().device_type == 1);
    CHECK_FALSE(taken.is_copied());
    dlpack::tensor moved = std::move(taken);
    taken = dlpack::tensor();
    CHECK(moved.view().data == reinterpret_cast<const std::byte*>(theirs.values.data()));
    save(store, {{"w", moved}}).value();
    CHECK(theirs.deleted == 0);
    const std::vector<float> other{9, 8, 7, 6, 5, 4};
    save(store, {{"w", std::as_const(other)}}, {.overwrite = true}).value();
    // A target has the stored shape.
    CHECK(open(store).value().load_into("w", moved).failure().code == errc::shape_mismatch);
    CHECK_FALSE(moved.loaded());
  }
  CHECK(theirs.deleted == 1);

  foreign<M> rows;
  rows.shape = {3, 2};
  rows.strides = {8, 2};  // every other element of rows with gaps
  rows.managed.dl_tensor.byte_offset = 4;
  memory_store second;
  const std::vector<float> w{1, 2, 3, 4, 5, 6};
  save(second, {{"w", tensor_view<host_space>({reinterpret_cast<const std::byte*>(w.data()),
                                               dtype_kind::float32,
                                               {3, 2},
                                               {8, 4},
                                               {},
                                               {}})}})
      .value();
  {
    auto target = dlpack::tensor::take(&rows.managed).value();
    open(second).value().load_into("w", target).value();
    CHECK(target.loaded());
    open(second).value().load_into("w", std::move(target)).value();
  }
  CHECK(rows.deleted == 1);
  CHECK(rows.values[1] == 1);
  CHECK(rows.values[3] == 2);
  CHECK(rows.values[9] == 3);
  CHECK(rows.values[19] == 6);
  CHECK(rows.values[0] == 1.5F);
  CHECK(rows.values[2] == 1.5F);
}

TEST_CASE("dlpack: a leaf keeps what was moved into it") {
  foreign<dlpack::managed_versioned> theirs;
  {
    const leaf kept("w", dlpack::tensor::take(&theirs.managed).value());
    CHECK(kept.spec().value().shape == dims{2, 3});
    CHECK(theirs.deleted == 0);
  }
  CHECK(theirs.deleted == 1);
}

TEST_CASE("dlpack: what is read-only is not a target") {
  foreign<dlpack::managed_versioned> theirs;
  theirs.managed.flags = dlpack::flag_read_only | dlpack::flag_is_copied;
  memory_store store;
  {
    auto taken = dlpack::tensor::take(&theirs.managed).value();
    CHECK(taken.read_only());
    CHECK(taken.is_copied());
    CHECK(taken.mutable_view().failure().code == errc::invalid_argument);
    save(store, {{"w", taken}}).value();
    const auto refused = open(store).value().load_into("w", taken);
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::invalid_argument);
    CHECK(refused.failure().message.find("read-only") != std::string::npos);
  }
  CHECK(theirs.deleted == 1);
  CHECK(leaf("w", dlpack::tensor()).spec().failure().code == errc::invalid_argument);
}

TEST_CASE("dlpack: null strides, no elements, rank 0, devices of the host, no deleter") {
  foreign<dlpack::managed_legacy> plain;
  plain.managed.dl_tensor.strides = nullptr;
  plain.managed.dl_tensor.device = {3, 1};  // pinned
  CHECK(dlpack::tensor::take(&plain.managed).value().view().strides == dims{12, 4});
  CHECK(plain.deleted == 1);

  foreign<dlpack::managed_versioned> empty;
  empty.shape = {0, INT64_MAX};
  empty.strides = {INT64_MAX, INT64_MIN};
  empty.managed.dl_tensor.data = nullptr;
  empty.managed.dl_tensor.byte_offset = UINT64_MAX;
  empty.managed.dl_tensor.device = {2, 0};  // nothing is anywhere
  memory_store store;
  {
    const auto taken = dlpack::tensor::take(&empty.managed).value();
    CHECK(taken.view().data == nullptr);
    CHECK(is_dense(taken.view()));
  }
  CHECK(empty.deleted == 1);

  foreign<dlpack::managed_versioned> scalar;
  scalar.managed.dl_tensor.ndim = 0;
  scalar.managed.dl_tensor.shape = nullptr;
  scalar.managed.dl_tensor.strides = nullptr;
  scalar.managed.deleter = nullptr;
  save(store, {{"s", dlpack::tensor::take(&scalar.managed).value()}}).value();
  CHECK(open(store).value().load<float>("s").value() == 1.5F);

  foreign<dlpack::managed_versioned> ones;  // a step that is never made
  ones.shape = {1, 3};
  ones.strides = {INT64_MIN, -1};
  ones.managed.dl_tensor.byte_offset = 8;
  CHECK(dlpack::tensor::take(&ones.managed).value().view().strides == dims{12, -4});
  CHECK(ones.deleted == 1);
}

TEST_CASE("dlpack: tensors that lie are refused by name, and given back once") {
  using versioned = foreign<dlpack::managed_versioned>;
  struct lie {
    errc code;
    const char* word;
    void (*tell)(versioned&);
  };
  const lie lies[] = {
      {errc::unsupported, "version 2.0",
       [](versioned& t) {
         t.managed.version = {2, 0};
         t.managed.dl_tensor.shape = reinterpret_cast<std::int64_t*>(std::uintptr_t{8});
         t.managed.dl_tensor.ndim = 5;
       }},
      {errc::unsupported, "version 0.9",
       [](versioned& t) {
         t.managed.version = {0, 9};
       }},
      {errc::unsupported, "4 lanes", [](versioned& t) { t.managed.dl_tensor.dtype.lanes = 4; }},
      {errc::unsupported, "0 lanes", [](versioned& t) { t.managed.dl_tensor.dtype.lanes = 0; }},
      {errc::unsupported, "4 bits",
       [](versioned& t) {
         t.managed.dl_tensor.dtype = {17, 4, 1};
       }},
      {errc::unsupported, "code 200", [](versioned& t) { t.managed.dl_tensor.dtype.code = 200; }},
      {errc::unsupported, "cuda:3",
       [](versioned& t) {
         t.managed.dl_tensor.device = {2, 3};
       }},
      {errc::unsupported, "type 77:-1",
       [](versioned& t) {
         t.managed.dl_tensor.device = {77, -1};
       }},
      {errc::invalid_argument, "rank is -1", [](versioned& t) { t.managed.dl_tensor.ndim = -1; }},
      {errc::unsupported, "rank is 33", [](versioned& t) { t.managed.dl_tensor.ndim = 33; }},
      {errc::unsupported, "2147483647", [](versioned& t) { t.managed.dl_tensor.ndim = INT_MAX; }},
      {errc::invalid_argument, "shape", [](versioned& t) { t.managed.dl_tensor.shape = nullptr; }},
      {errc::invalid_argument, "no data", [](versioned& t) { t.managed.dl_tensor.data = nullptr; }},
      {errc::out_of_range, "negative extent", [](versioned& t) { t.shape[1] = -3; }},
      {errc::out_of_range, "2^63",
       [](versioned& t) {
         t.shape = {INT64_MAX, INT64_MAX};
       }},
      {errc::out_of_range, "memory", [](versioned& t) { t.shape[0] = INT64_MAX / 3; }},
      {errc::out_of_range, "a product of sizes is too large",
       [](versioned& t) { t.strides[0] = INT64_MAX; }},
      {errc::out_of_range, "a product of sizes is too large",
       [](versioned& t) { t.strides[0] = INT64_MIN; }},
      {errc::out_of_range, "a sum of sizes is too large",
       [](versioned& t) {
         t.strides = {INT64_MAX / 4, INT64_MAX / 8};
       }},
      {errc::out_of_range, "a product of sizes is too large",
       [](versioned& t) {
         t.shape[0] = 1 << 20;
         t.strides[0] = INT64_MAX / 16;
       }},
      {errc::out_of_range, "address space", [](versioned& t) { t.strides[0] = INT64_MIN / 4; }},
      {errc::out_of_range, "address space",
       [](versioned& t) { t.managed.dl_tensor.byte_offset = UINT64_MAX; }},
      {errc::out_of_range, "address space",
       [](versioned& t) { t.managed.dl_tensor.byte_offset = UINT64_MAX - (UINT64_MAX >> 4); }},
  };
  for (const lie& each : lies) {
    versioned theirs;
    each.tell(theirs);
    theirs.managed.dl_tensor.strides = theirs.strides.data();
    const auto refused = dlpack::tensor::take(&theirs.managed);
    CAPTURE(each.word);
    REQUIRE_FALSE(refused);
    CAPTURE(refused.failure().message);
    CHECK(refused.failure().code == each.code);
    CHECK(refused.failure().message.find(each.word) != std::string::npos);
    CHECK(theirs.deleted == 1);
  }
  CHECK(dlpack::tensor::take(static_cast<dlpack::managed_legacy*>(nullptr)).failure().code ==
        errc::invalid_argument);
}

}  // namespace dlpack_test
