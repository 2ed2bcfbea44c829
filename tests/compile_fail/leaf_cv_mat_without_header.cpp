// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: include <zarrpoint/opencv.hpp> to save
// EXPECT: before the first use
#if defined(ZP_OK)
#include <zarrpoint/opencv.hpp>
#endif
#include <zarrpoint/handler/leaf.hpp>

// As much of a cv::Mat as is asked for: tests/interop/opencv_test.cpp has the real one.
namespace cv {
struct extents {
  const int& operator[](int) const;
};
struct steps {
  const std::size_t& operator[](int) const;
};
struct Mat {
  int dims;
  unsigned char* data;
  extents size;
  steps step;
  int depth() const;
  int channels() const;
  std::size_t elemSize1() const;
  bool isSubmatrix() const;
  void create(int, const int*, int);
  Mat reshape(int, int, const int*) const;
};
}  // namespace cv

void test(const cv::Mat& value) { zarrpoint::leaf("w", value); }
