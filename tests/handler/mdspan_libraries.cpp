// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The mdspans of real libraries, saved and filled: compiled once for each, with the header that has
// it as MDSPAN_HEADER and its namespace as MDSPAN_NAMESPACE. By `bash tests/run.sh mdspan` Kokkos',
// by `mdspan_std` that of libc++, by `cuda` that of the toolkit.
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/core/types/float_types.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include MDSPAN_HEADER

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace zp = zarrpoint;
namespace md = MDSPAN_NAMESPACE;

namespace {

/// Blocks of two rows: element (i, j) lies beside (i ^ 1, j). `stride` may be asked for where
/// `HasStride`, though it means nothing.
template <bool HasStride>
struct blocked {
  template <class Extents>
  class mapping {
   public:
    using extents_type = Extents;
    using index_type = typename Extents::index_type;
    using size_type = typename Extents::size_type;
    using rank_type = typename Extents::rank_type;
    using layout_type = blocked;

    constexpr mapping() noexcept = default;
    constexpr explicit mapping(const Extents& extents) noexcept : extents_(extents) {}
    constexpr const Extents& extents() const noexcept { return extents_; }
    constexpr index_type required_span_size() const noexcept {
      return extents_.extent(0) * extents_.extent(1);
    }
    template <class I, class J>
    constexpr index_type operator()(I i, J j) const noexcept {
      const auto row = static_cast<index_type>(i);
      return row / 2 * 2 * extents_.extent(1) + 2 * static_cast<index_type>(j) + row % 2;
    }
    static constexpr bool is_always_unique() noexcept { return true; }
    static constexpr bool is_always_exhaustive() noexcept { return true; }
    static constexpr bool is_always_strided() noexcept { return false; }
    static constexpr bool is_unique() noexcept { return true; }
    static constexpr bool is_exhaustive() noexcept { return true; }
    static constexpr bool is_strided() noexcept { return false; }
    constexpr index_type stride(rank_type) const noexcept requires HasStride { return 0; }
    friend constexpr bool operator==(const mapping& a, const mapping& b) noexcept {
      return a.extents_ == b.extents_;
    }

   private:
    Extents extents_{};
  };
};

using plane = md::dextents<int, 2>;
using rows = md::mdspan<const float, md::extents<int, 3, md::dynamic_extent>>;
using columns = md::mdspan<float, md::dextents<std::size_t, 3>, md::layout_left>;
using strided = md::mdspan<float, plane, md::layout_stride>;
using steps = decltype(std::declval<strided>().mapping().strides());
using point = md::mdspan<double, md::extents<int>>;
using blocks = md::mdspan<float, plane, blocked<true>>;

static_assert(zp::savable<rows> && !zp::fillable<rows&>);
static_assert(zp::savable<columns> && zp::fillable<columns> && zp::fillable<const columns&>);
static_assert(zp::savable<strided> && zp::fillable<strided&> && !zp::loadable<strided>);
static_assert(zp::savable<point> && zp::fillable<point&>);
static_assert(zp::savable<blocks>);  // refused as the program runs
static_assert(!zp::savable<md::mdspan<float, plane, blocked<false>>>);
static_assert(!zp::savable<md::mdspan<char, plane>>);

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::printf("FAILED: %s\n", what.c_str());
}

template <class Result>
void refused(const Result& failed, zp::errc code, const std::string& text) {
  expect(!failed && failed.failure().code == code &&
             failed.failure().message.find(text) != std::string::npos,
         "refused: " + text + (failed ? "" : "; said: " + failed.failure().message));
}

zp::checkpoint saved(const zp::leaf& value) {
  zp::memory_store store;
  zp::save(store, {value}).value();
  return zp::open(store).value();
}

template <class T = float>
std::vector<T> counted(std::size_t size) {
  std::vector<T> out(size);
  std::iota(out.begin(), out.end(), T{1});
  return out;
}

/// The elements in row-major order, as any reader of the array has them.
template <class T = float>
std::vector<T> stored(const zp::checkpoint& from, const zp::dims& shape) {
  const auto read = from.load<zp::tensor>("w").value();
  expect(read.shape() == shape, "the shape is " + to_string(read.shape()));
  return {read.data<T>().begin(), read.data<T>().end()};
}

void right() {
  const auto values = counted(12);
  const auto from = saved({"w", rows(values.data(), 4)});
  expect(stored(from, {3, 4}) == values, "layout_right");
  std::vector<float> memory(12);
  const md::mdspan<float, plane> target(memory.data(), 3, 4);
  from.load_into("w", target).value();
  expect(memory == values, "layout_right as a target, itself const");
  refused(from.load_into("w", md::mdspan<float, plane>(memory.data(), 4, 3)),
          zp::errc::shape_mismatch, "[4, 3]");
  const md::mdspan<double, plane> doubles(nullptr, 3, 4);
  refused(from.load_into("w", doubles), zp::errc::dtype_mismatch, "float64");
}

void left() {
  auto values = counted(24);
  const columns source(values.data(), 2, 3, 4);
  const auto from = saved({"w", source});
  std::vector<float> expected;
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 4; ++k) expected.push_back(values[i + 2 * (j + 3 * k)]);
  expect(stored(from, {2, 3, 4}) == expected, "layout_left, in the order of the indices");
  std::vector<float> memory(24);
  from.load_into("w", columns(memory.data(), 2, 3, 4)).value();
  expect(memory == values, "layout_left as a target");
}

void parts() {
  auto values = counted(6 * 8);
  const auto part_of = [](std::vector<float>& whole) {  // rows 1 and 4, columns 2, 4 and 6
    return strided(whole.data() + 1 * 8 + 2, strided::mapping_type(plane(2, 3), steps{24, 2}));
  };
  const auto from = saved({"w", part_of(values)});
  expect(stored(from, {2, 3}) == std::vector<float>{11, 13, 15, 35, 37, 39}, "layout_stride");
  std::vector<float> memory(6 * 8);
  from.load_into("w", part_of(memory)).value();
  std::vector<float> expected(6 * 8);
  for (const std::size_t i : {10U, 12U, 14U, 34U, 36U, 38U}) expected[i] = values[i];
  expect(memory == expected, "layout_stride as a target, and nothing beside it");
}

void corners() {
  double one = 2.5;
  const auto scalar = saved({"w", point(&one)});
  expect(stored<double>(scalar, {}) == std::vector<double>{2.5}, "rank 0");
  one = 0;
  scalar.load_into("w", point(&one)).value();
  expect(one == 2.5, "rank 0 as a target");

  const auto nothing = saved({"w", md::mdspan<float, plane>(nullptr, 3, 0)});
  expect(stored(nothing, {3, 0}).empty(), "no elements");
  nothing.load_into("w", md::mdspan<float, plane>(nullptr, 3, 0)).value();

  using narrow = md::extents<std::uint8_t, 1, md::dynamic_extent>;
  std::vector<zp::bfloat16> halves(200, zp::bfloat16(1.5F));
  const md::mdspan<zp::bfloat16, narrow> source(halves.data(), std::uint8_t{200});
  expect(saved({"w", source}).metadata("w").value().spec ==
             zp::tensor_spec{zp::dtype_kind::bfloat16, {1, 200}},
         "elements of ours, and extents of a byte");
}

void no_strides() {
  auto values = counted(8);
  const blocks source(values.data(), blocks::mapping_type(plane(4, 2)));
  expect(source.mapping()(1, 0) == 1, "the layout of the test");
  zp::memory_store store;
  refused(zp::save(store, {{"w", source}}), zp::errc::invalid_argument, "without strides");
  const auto from = saved({"w", md::mdspan<float, plane>(values.data(), 4, 2)});
  refused(from.load_into("w", source), zp::errc::invalid_argument, "without strides");
}

#if defined(MDSPAN_SUBMDSPAN)
/// What the library itself calls a part.
void of_submdspan() {
  auto values = counted(6 * 8);
  const md::mdspan<float, plane> whole(values.data(), 6, 8);
  const auto part = MDSPAN_SUBMDSPAN(whole, std::pair{1, 4}, md::full_extent);
  expect(stored(saved({"w", part}), {3, 8}) ==
             std::vector<float>(values.begin() + 8, values.begin() + 32),
         "rows by submdspan");
  const auto column = MDSPAN_SUBMDSPAN(whole, md::full_extent, 3);
  const auto from = saved({"w", column});
  expect(stored(from, {6}) == std::vector<float>{4, 12, 20, 28, 36, 44}, "a column by submdspan");
  std::vector<float> memory(6 * 8);
  const md::mdspan<float, plane> other(memory.data(), 6, 8);
  from.load_into("w", MDSPAN_SUBMDSPAN(other, md::full_extent, 7)).value();
  expect(memory[7] == 4 && memory[47] == 44 && std::count(memory.begin(), memory.end(), 0) == 42,
         "into a column by submdspan");
}
#endif

}  // namespace

int main() {
  right();
  left();
  parts();
  corners();
  no_strides();
#if defined(MDSPAN_SUBMDSPAN)
  of_submdspan();
#endif
  std::printf(failures == 0 ? "mdspan: all passed\n" : "mdspan: %d failed\n", failures);
  return failures == 0 ? 0 : 1;
}
