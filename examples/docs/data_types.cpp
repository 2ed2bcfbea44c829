// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The programs of docs/data_types.md. Each returns whether it gave what the page promises.

#include <zarrpoint/core/types/record.hpp>
#include <zarrpoint/core/types/small_int.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace zp = zarrpoint;

namespace {

/// An array of one chunk in memory.
zp::array make(const zp::tensor_spec& spec, int zarr_format = 3) {
  zp::array_metadata metadata;
  metadata.zarr_format = zarr_format;
  metadata.type = spec.type;
  metadata.shape = spec.shape;
  metadata.chunk_shape = spec.shape;
  if (zarr_format == 2) metadata.keys = {zp::chunk_key_encoding::style::v2, '.'};
  metadata.fill = zp::fill_value::zero(spec.type);
  metadata.codecs = zp::raw_codecs();
  if (spec.type.kind() == zp::dtype_kind::string) metadata.codecs = {{"vlen-utf8"}};
  if (spec.type.kind() == zp::dtype_kind::bytes) metadata.codecs = {{"vlen-bytes"}};
  return zp::array::create(zp::memory_store(), zp::store_key::root(), metadata).value();
}

bool records() {
  const zp::dtype point = zp::make_record({{"id", zp::dtype_kind::uint16},
                                           {"at", zp::dtype_kind::float32},
                                           {"name", zp::dtype::null_terminated(8)}})
                              .value();
  zp::tensor rows = zp::tensor::make({point, {100}}).value();  // 14 bytes each

  const zp::record_field& at = *zp::find_field(point, "at");
  const zp::mutable_host_view all = rows.mutable_view();
  zp::mutable_host_view heights = all;  // the same memory, one field of it
  heights.data += at.offset;
  heights.type = at.type;

  for (zp::index_t i = 0; i < heights.shape[0]; ++i) {
    const float value = 0.5F * static_cast<float>(i);
    std::memset(all.data + i * all.strides[0], 0, point.size());
    std::memcpy(heights.data + i * heights.strides[0], &value, sizeof value);
  }

  const zp::array a = make(rows.spec());
  a.write(zp::box::whole({100}), rows.view()).value();
  const zp::tensor read = a.read(zp::box({2}, {1})).value();
  float height = 0;
  std::memcpy(&height, read.view().data + at.offset, sizeof height);
  return height == 1 && at.offset == 2 && point.size() == 14;
}

bool arrays_in_records() {
  const zp::dtype pixel =
      zp::make_record({{"rgb", zp::dtype_kind::uint8, {3}}, {"z", zp::dtype_kind::float64}})
          .value();
  return pixel.size() == 11 && make({pixel, {4}}, 2).spec().type == pixel;
}

bool text() {
  zp::tensor words = zp::tensor::make({zp::dtype_kind::string, {2}}).value();
  words.data<std::string>()[0] = "warm";
  words.data<std::string>()[1] = "start";

  const zp::dtype five = zp::dtype::utf32(5);  // 20 bytes each, "<U5" in v2
  const zp::array fixed = make({five, {2}});
  std::array<char32_t, 10> code_points{U'w', U'a', U'r', U'm', 0, U's', U't', U'a', U'r', U't'};
  const zp::tensor_spec spec{five, {2}};
  const auto data = reinterpret_cast<const std::byte*>(code_points.data());
  fixed.write(zp::box::whole({2}), zp::dense_view(data, spec)).value();

  const zp::array a = make(words.spec());
  a.write(zp::box::whole({2}), words.view()).value();
  zp::tensor read = a.read(zp::box::whole({2})).value();
  const zp::tensor back = fixed.read(zp::box::whole({2})).value();
  return read.data<std::string>()[1] == "start" &&
         std::memcmp(back.view().data, data, sizeof code_points) == 0;
}

bool times() {
  const zp::dtype minute = zp::dtype::datetime(zp::time_unit::m, 10);  // "<M8[10m]"
  const std::array<std::int64_t, 3> when{0, 6, INT64_MIN};             // 00:00, 01:00, not a time
  const zp::array a = make({minute, {3}});
  const auto data = reinterpret_cast<const std::byte*>(when.data());
  a.write(zp::box::whole({3}), zp::dense_view(data, a.spec())).value();

  const zp::tensor read = a.read(zp::box::whole({3})).value();
  return std::memcmp(read.view().data, data, sizeof when) == 0 && minute.size() == 8;
}

bool below_a_byte() {
  zp::tensor codes = zp::tensor::make({zp::dtype_kind::int4, {3}}).value();
  codes.data<zp::int4>()[0] = zp::int4(-1);  // 0x0f in memory and in the file
  codes.data<zp::int4>()[1] = zp::int4(7);
  codes.data<zp::int4>()[2] = zp::int4(9);  // keeps the lowest bits: -7

  const zp::array a = make(codes.spec());
  a.write(zp::box::whole({3}), codes.view()).value();
  std::vector<float> wide(3);
  const auto into = reinterpret_cast<std::byte*>(wide.data());
  const zp::tensor_spec floats{zp::dtype_kind::float32, {3}};
  a.read(zp::box::whole({3}), zp::dense_view(into, floats), {.cast = true}).value();

  return codes.view().data[0] == std::byte{0x0f} && wide == std::vector<float>{-1, 7, -7};
}

}  // namespace

int main() {
  const bool ok = records() && arrays_in_records() && text() && times() && below_a_byte();
  std::puts(ok ? "as docs/data_types.md says" : "not what docs/data_types.md says");
  return ok ? 0 : 1;
}
