// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/interop/cufile.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/fake_cufile.hpp"
#include "support/fake_device.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace cufile_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

/// The fake library's state, as every test begins: no fault, nothing counted.
fake_cufile& fresh_fake() {
  void* const library = ::dlopen(ZARRPOINT_TEST_FAKE_CUFILE, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const auto state = reinterpret_cast<fake_cufile* (*)()>(::dlsym(library, "fake_cufile_state"));
  REQUIRE((state != nullptr));
  fake_cufile& fake = *state();
  REQUIRE(fake.live == 0);
  fake.~fake_cufile();
  new (&fake) fake_cufile;
  return fake;
}

/// A directory, a device, and libcufile between them. The library writes by a stream of its own, as
/// it knows nothing of those of the program.
struct fixture {
  test::temp_directory dir;
  fake_device device;
  fake_space space{&device, 0};
  fake_space dma{&device, device.new_stream()};
  fake_cufile& fake = fresh_fake();
  cufile_loader loader = cufile_loader::find(ZARRPOINT_TEST_FAKE_CUFILE);

  explicit fixture(std::uint64_t seed = 1) : device(seed) {
    fake.user = this;
    fake.write = [](void* self, void* to, const std::byte* from, std::size_t bytes) {
      const fake_space& by = static_cast<fixture*>(self)->dma;
      const bool asked{by.copy_from_host(static_cast<std::byte*>(to), from, {.width = bytes})};
      return detail::wait_for_stream(by).has_value() && asked;
    };
  }
  ~fixture() {
    CHECK(fake.live == 0);
    CHECK(fake.misused == 0);
    CHECK(device.count().pinned_ranges == 0);
  }

  std::string path() const { return (dir.path() / "model.zarr").string(); }
};

std::vector<float> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<float> out(count);
  std::mt19937 random(seed);
  for (float& value : out) value = static_cast<float>(random());
  return out;
}

tensor host_tensor(const std::vector<float>& values, const dims& shape) {
  tensor out = tensor::make({dtype_kind::float32, shape}).value();
  std::copy(values.begin(), values.end(), out.data<float>().begin());
  return out;
}

/// Saves one leaf "w" of the values.
checkpoint saved(const location& where, const std::vector<float>& values, const dims& shape,
                 leaf_rule rule = {}, const context& how = default_context()) {
  const tensor w = host_tensor(values, shape);
  save(where, {leaf("w", w)}, {.rules = {std::move(rule)}, .sync = false}).value();
  return open(where, how).value();
}

std::vector<std::size_t> extents(const dims& shape) { return {shape.begin(), shape.end()}; }

using target = device_tensor<float>;

TEST_CASE("raw leaves go from the file to the device, verified there") {
  for (std::uint32_t seed = 0; seed < 24; ++seed) {
    CAPTURE(seed);
    fixture f(seed);
    const thread_pool pool(1 + seed % 4);
    context how = default_context();
    how.executor = pool.executor();
    // Some shapes leave padding in the last inner chunk; blocks of 64 KiB and more are verified.
    const index_t rows = 60 + static_cast<index_t>(seed) * 7;
    const dims shape{rows, 300};
    const auto values = numbers(static_cast<std::size_t>(rows) * 300, seed);
    leaf_rule rule;
    if (seed % 3 != 0) rule.chunk_shape = dims{seed % 3 == 1 ? 64 : 100, 300};
    const checkpoint from = saved(f.path(), values, shape, rule, how);
    f.device.set_kernels(seed % 2 == 0);
    const load_options options{.verify = seed % 4 != 1};
    {
      target to(f.space, extents(shape));
      const direct_load way = f.loader.load_into(from, "w", to, options).value();
      CAPTURE(way.why_not);
      CHECK(way.direct == (seed % 2 == 0 || !options.verify));
      CHECK(to.download() == values);
      CHECK((f.fake.reads > 0) == way.direct);
      if (way.direct) {
        CHECK(way.why_not.empty());
        CHECK(f.device.count().bytes_from_host == f.fake.bytes);
        CHECK((f.device.count().kernels.crc32c > 0) == options.verify);
      } else {
        CHECK(way.why_not == "the device has no kernel for the checksums");
      }
    }
    CHECK(f.device.count().live_allocations == 0);
  }
}

TEST_CASE("arrays of many chunks or shards go so, too, from all their files at a time") {
  struct cut {
    dims shard;
    dims inner;
    bool is_direct;
  };
  const cut cuts[] = {
      {{70, 300}, {70, 300}, true},    // rows; the last chunk ends in padding
      {{140, 300}, {70, 300}, true},   // ranges of shards
      {{1, 30000}, {1, 20000}, true},  // runs of a row
      {{140, 300}, {70, 150}, false},  // columns
  };
  for (const cut& one : cuts) {
    for (std::uint32_t seed = 0; seed < 6; ++seed) {
      CAPTURE(to_string(one.shard));
      CAPTURE(seed);
      fixture f(seed);
      const thread_pool pool(1 + seed % 4);
      context how = default_context();
      how.executor = pool.executor();
      const dims shape = one.shard[0] == 1 ? dims{5, 50000} : dims{455, 300};
      const auto count = static_cast<std::size_t>(element_count(shape).value());
      const auto values = numbers(count, seed);
      leaf_rule rule{.chunk_shape = one.inner};
      rule.shard_shape = one.shard[0] == 1 ? dims{1, 40000} : one.shard;
      const checkpoint from = saved(f.path(), values, shape, rule, how);
      const load_options options{.verify = seed % 2 == 0};
      {
        target to(f.space, extents(shape));
        const direct_load way = f.loader.load_into(from, "w", to, options).value();
        CAPTURE(way.why_not);
        CHECK(way.direct == one.is_direct);
        CHECK(to.download() == values);
        if (way.direct) {
          CHECK(f.fake.registered > 1);
          CHECK(f.device.count().bytes_from_host == f.fake.bytes);
          CHECK((f.device.count().kernels.crc32c > 0) == options.verify);
        }
        // A file that is not there, and one that is damaged: told as by a plain load.
        const std::string file = f.path() + (one.shard[0] == 1 ? "/w/c/1/1" : "/w/c/1/0");
        if (options.verify) {
          std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
          out.seekp(80);
          out.put('\x5a');
          out.close();
          const auto damaged = f.loader.load_into(from, "w", to, options);
          REQUIRE_FALSE(damaged);
          CHECK(damaged.failure().code == errc::corrupt);
          CHECK(damaged.failure().message == from.load_into("w", to).failure().message);
          CHECK_FALSE(to.loaded());
        }
        std::filesystem::remove(file);
        CHECK(f.loader.load_into(from, "w", to, options).failure().code == errc::corrupt);
        CHECK_FALSE(to.loaded());
      }
      CHECK(f.device.count().live_allocations == 0);
    }
  }
}

TEST_CASE("what is not a dense copy of bytes in files goes the plain way") {
  fixture f;
  const auto values = numbers(6000, 1);
  const dims shape{20, 300};
  const auto reason = [&](const checkpoint& from, const load_options& options = {}) {
    target to(f.space, extents(shape));
    const direct_load way = f.loader.load_into(from, "w", to, options).value();
    CHECK_FALSE(way.direct);
    CHECK(to.download() == values);
    return way.why_not;
  };
  const std::string not_raw = "its chunks are not stored uncompressed in the order of the target";
  CHECK(reason(saved(f.path(), values, shape, {.codecs = zstd_codecs()})) == not_raw);
  CHECK(reason(saved(f.path(), values, shape, {.chunk_shape = dims{20, 100}})) == not_raw);
  CHECK(reason(saved(location(memory_store()), values, shape)) == "its store has no files");
  CHECK(reason(saved(f.path() + ".zip", values, shape)) == "its store has no files");
  const checkpoint small = saved(f.path(), values, shape, {.chunk_shape = dims{1, 300}});
  CHECK(reason(small) ==
        "blocks of 1200 bytes are too small to be verified one by one on the device");
  const checkpoint from = saved(f.path(), values, shape);
  CHECK(reason(from, {.rules = {{.shape = shape}}}) == "a rule changes its dtype or shape");
  CHECK(f.fake.registered == 0);

  std::vector<float> host(values.size());
  CHECK(f.loader.load_into(from, "w", std::span(host)).value().why_not ==
        "the target is in host memory");
  CHECK(host == values);

  device_tensor<double> wide(f.space, extents(shape));
  const direct_load cast = f.loader.load_into(from, "w", wide, {.cast = true}).value();
  CHECK(cast.why_not == "the target has another dtype");
  CHECK(wide.download() == std::vector<double>(values.begin(), values.end()));

  target rows(f.space, {20, 400});
  mutable_tensor_view<fake_space> strided = handler_of<target>::writable(rows);
  strided.shape = shape;
  CHECK(f.loader.load_into(from, "w", strided).value().why_not == "the target is not dense");
  const std::vector<float> spread = rows.download();
  CHECK(std::equal(values.begin() + 300, values.begin() + 600, spread.begin() + 400));
}

TEST_CASE("errors are those of a plain load") {
  fixture f;
  const auto values = numbers(6000, 1);
  const checkpoint from = saved(f.path(), values, {20, 300});
  target small(f.space, {20, 299});
  CHECK(f.loader.load_into(from, "w", small).failure().code == errc::shape_mismatch);
  device_tensor<double> wide(f.space, {20, 300});
  CHECK(f.loader.load_into(from, "w", wide).failure().code == errc::dtype_mismatch);
  target to(f.space, {20, 300});
  CHECK(f.loader.load_into(from, "v", to).failure().code == errc::not_found);

  // One byte of the file is another: found on the device, told by the host.
  const std::string file = f.path() + "/w/c.0.0";
  {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(4711);
    out.put('\x5a');
  }
  const auto damaged = f.loader.load_into(from, "w", to);
  REQUIRE_FALSE(damaged);
  CHECK(damaged.failure().code == errc::corrupt);
  CHECK(damaged.failure().message == from.load_into("w", to).failure().message);
  CHECK(f.device.count().kernels.crc32c > 0);
  CHECK_FALSE(to.loaded());
  CHECK(f.loader.load_into(from, "w", to, {.verify = false}).value().direct);
  CHECK(to.loaded());

  // A file that is shorter than the checkpoint says.
  std::filesystem::resize_file(file, 100);
  CHECK(f.loader.load_into(from, "w", to).failure().code == errc::corrupt);
  CHECK_FALSE(to.loaded());
}

TEST_CASE("what libcufile does wrong costs time, and nothing else") {
  const auto values = numbers(60 * 300, 2);
  const dims shape{60, 300};
  const auto load = [&](fixture& f) {
    const checkpoint from = saved(f.path(), values, shape);
    target to(f.space, extents(shape));
    const direct_load way = f.loader.load_into(from, "w", to).value();
    CHECK(to.download() == values);
    CHECK(to.loaded());
    return way.direct ? "direct" : way.why_not;
  };
  const auto begins = [](const std::string& text, std::string_view with) {
    INFO(text);
    CHECK(text.starts_with(with));
  };
  {
    fixture f;
    f.fake.register_code = 5008;
    begins(load(f), "libcufile does not take ");
  }
  {
    fixture f;
    f.fake.refuse_direct = true;
    CHECK(load(f) == "direct");
  }
  {
    fixture f;
    f.fake.short_read = 1;
    CHECK(load(f) == "direct");
    CHECK(f.fake.reads > 10);
  }
  {
    fixture f;
    f.fake.fail_read = 1;
    begins(load(f), "libcufile could not read ");
  }
  {
    fixture f;
    f.fake.short_read = 1;
    f.fake.end_read = 3;
    begins(load(f), "libcufile could not read ");
  }
  {
    fixture f;
    f.fake.flip_read = 1;
    begins(load(f), "stored block [0]: its ");
  }
  {
    fixture f;  // the padded last block, read apart
    f.fake.flip_read = 2;
    const checkpoint from = saved(f.path(), values, shape, {.chunk_shape = dims{59, 300}});
    target to(f.space, extents(shape));
    begins(f.loader.load_into(from, "w", to).value().why_not, "stored block [1]: its ");
    CHECK(to.download() == values);
  }
}

TEST_CASE("each fault of the device is an error, or is got over; nothing is lost by it") {
  const auto values = numbers(120 * 300, 3);
  // One object with padding, and several, the last of which has some.
  const leaf_rule rules[] = {{.chunk_shape = dims{119, 300}},
                             {.chunk_shape = dims{59, 300}, .shard_shape = dims{59, 300}}};
  for (int each = 0; each < 2 * static_cast<int>(std::size(device_faults)); ++each) {
    const device_fault fault = device_faults[each / 2];
    const leaf_rule& rule = rules[each % 2];
    for (std::uint64_t after = 0;; ++after) {
      CAPTURE(to_string(fault));
      CAPTURE(after);
      REQUIRE(after < 200);
      fixture f(after);
      const checkpoint from = saved(f.path(), values, {120, 300}, rule);
      bool fired = false;
      {
        target to(fake_space{&f.device, f.device.new_stream()}, {120, 300});
        f.device.arm(fault, after);
        const auto way = f.loader.load_into(from, "w", to);
        fired = f.device.fired();
        f.device.recover();
        CHECK(to.loaded() == way.has_value());
        if (!way) {
          const errc code = way.failure().code;
          CHECK((code == errc::device || code == errc::resource_limit));
        } else if (fault != device_fault::stream_gone) {
          CHECK(to.download() == values);
        }
      }
      CHECK(f.device.count().live_allocations == 0);
      CHECK(f.fake.live == 0);
      if (!fired) break;
    }
  }
}

namespace {

/// A space that has a reserve, and knows the most that was taken from it at once.
struct reserving_fake : fake_space {
  static inline std::size_t most = 0;

  friend bool operator==(const reserving_fake&, const reserving_fake&) = default;
  std::shared_ptr<void> reserve() const { return nullptr; }
  result<std::byte*> allocate_scratch(std::size_t bytes) const {
    most = std::max(most, bytes);
    return allocate(bytes);
  }
};
static_assert(reserving_space<reserving_fake> && kernel_space<reserving_fake>);

template <class F>
void take(F& function, const char* name) {
  void* const library = ::dlopen(ZARRPOINT_TEST_FAKE_CUFILE, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  function = reinterpret_cast<F>(::dlsym(library, name));
  ::dlclose(library);  // the fixture's loader keeps it
}

}  // namespace

TEST_CASE("a block that is verified apart is not taken from what is kept for others") {
  fixture f;
  const auto values = numbers(60 * 300, 2);
  const checkpoint from = saved(f.path(), values, {60, 300}, {.chunk_shape = dims{59, 300}});
  target to(f.space, {60, 300});
  const auto plain = handler_of<target>::writable(to);
  const mutable_tensor_view<reserving_fake> view{
      plain.data, plain.type, plain.shape, plain.strides, reserving_fake{f.space}, {}};
  detail::cufile_functions by;
  take(by.handle_register, "cuFileHandleRegister");
  take(by.handle_deregister, "cuFileHandleDeregister");
  take(by.read, "cuFileRead");
  const array source = from.as_array("w").value();
  REQUIRE(detail::cufile_load(by, source, view).run(from.how(), true));
  CHECK(to.download() == values);
  CHECK(f.device.count().kernels.crc32c == 2);
  CHECK(reserving_fake::most == 2 * sizeof(std::uint32_t));  // the sums alone
}

TEST_CASE("without libcufile, or with another library of its name") {
  const cufile_loader none;
  CHECK_FALSE(none.available());
  CHECK(none.why_not() == "libcufile was not looked for");
  const cufile_loader missing = cufile_loader::find("libzarrpoint-has-no-such-library.so.0");
  CHECK_FALSE(missing.available());
  CHECK(missing.why_not().starts_with("no libcufile: libzarrpoint-has-no-such-library.so.0: "));
  const cufile_loader other = cufile_loader::find("libc.so.6");
  CHECK(other.why_not() == "libc.so.6 has no cuFileDriverOpen");

  fixture f;
  CHECK(f.loader.available());
  CHECK(f.loader.why_not().empty());
  CHECK(f.fake.opened == 1);
  f.fake.driver_code = 5026;  // open already: not by us
  CHECK(cufile_loader::find(ZARRPOINT_TEST_FAKE_CUFILE).available());
  f.fake.driver_code = 5001;
  const cufile_loader closed = cufile_loader::find(ZARRPOINT_TEST_FAKE_CUFILE);
  CHECK_FALSE(closed.available());
  CHECK(closed.why_not().ends_with(": its driver cannot be opened (5001)"));

  const auto values = numbers(600, 1);
  const checkpoint from = saved(f.path(), values, {2, 300});
  for (const cufile_loader& each : {none, missing, other, closed}) {
    target to(f.space, {2, 300});
    const direct_load way = each.load_into(from, "w", to).value();
    CHECK_FALSE(way.direct);
    CHECK(way.why_not == each.why_not());
    CHECK(to.download() == values);
  }
}

}}  // namespace cufile_test
