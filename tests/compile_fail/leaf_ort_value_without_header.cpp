// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: include <zarrpoint/onnxruntime.hpp> to save
// EXPECT: before the first use
#include <zarrpoint/handler/leaf.hpp>

#include <cstdint>
#include <vector>

// As much of an Ort::Value as is asked for: tests/interop/onnxruntime_test.cpp has the real one.
struct shape_info {
  std::vector<std::int64_t> GetShape() const;
};
struct value_of_ort {
  shape_info GetTensorTypeAndShapeInfo() const;
};

void test(const value_of_ort& value) {
#if defined(ZP_OK)
  zarrpoint::leaf("w", value.GetTensorTypeAndShapeInfo().GetShape());
#else
  zarrpoint::leaf("w", value);
#endif
}
