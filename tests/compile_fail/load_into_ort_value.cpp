// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: an Ort::Value is saved by a view of its elements
// EXPECT: GetTensorMutableRawData
#include <zarrpoint/checkpoint/load/checkpoint.hpp>

// As much of an Ort::Value as is asked for.
struct value_of_ort {
  int GetTensorTypeAndShapeInfo() const;
  void* GetTensorMutableRawData();
};

void test(const zarrpoint::checkpoint& from, value_of_ort& value) {
#if defined(ZP_OK)
  auto* const elements = static_cast<std::byte*>(value.GetTensorMutableRawData());
  static_cast<void>(from.load_into(
      "w", zarrpoint::dense_view(elements, {zarrpoint::dtype_kind::float32, {2, 3}})));
#else
  static_cast<void>(from.load_into("w", value));
#endif
}
