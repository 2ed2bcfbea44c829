// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Against OpenCV itself.
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/handler/types/diagnose.hpp>
#include <zarrpoint/opencv.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <doctest/doctest.h>
#include <opencv2/core.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace opencv_test {

using namespace zarrpoint;

static_assert(savable<cv::Mat> && loadable<cv::Mat> && fillable<cv::Mat&>);
static_assert(savable<cv::Mat_<float>> && loadable<cv::Mat_<cv::Vec3b>>);
static_assert(detail::like_cv_mat<cv::Mat> && detail::like_cv_mat<cv::UMat>);
static_assert(!savable<cv::UMat> && !savable<cv::MatExpr> && !savable<cv::SparseMat>);

namespace {

checkpoint saved(const leaf& value) {
  memory_store store;
  save(store, {value}).value();
  return open(store).value();
}

template <class T>
checkpoint counted(const dims& shape) {
  std::vector<T> values(static_cast<std::size_t>(element_count(shape).value()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i);
  return saved(
      {"w", dense_view(reinterpret_cast<const std::byte*>(values.data()), {dtype_of<T>, shape})});
}

cv::Mat image(int rows, int columns) {
  cv::Mat out(rows, columns, CV_8UC3);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j)
      out.at<cv::Vec3b>(i, j) =
          cv::Vec3b(static_cast<std::uint8_t>(10 * i + j), static_cast<std::uint8_t>(i),
                    static_cast<std::uint8_t>(j));
  }
  return out;
}

bool equal(const cv::Mat& a, const cv::Mat& b) {
  return a.type() == b.type() && a.size == b.size && cv::norm(a, b, cv::NORM_INF) == 0;
}

}  // namespace

TEST_CASE("opencv: channels are the last dimension, and come back as channels") {
  const cv::Mat picture = image(5, 7);
  const checkpoint from = saved({"w", picture});
  const tensor plain = from.load<tensor>("w").value();
  REQUIRE(plain.spec() == tensor_spec{dtype_kind::uint8, {5, 7, 3}});
  CHECK(plain.data<std::uint8_t>()[(2 * 7 + 3) * 3] == 23);
  CHECK(plain.data<std::uint8_t>()[(2 * 7 + 3) * 3 + 2] == 3);
  CHECK(equal(from.load<cv::Mat>("w").value(), picture));
  const auto typed = from.load<cv::Mat_<cv::Vec3b>>("w").value();
  CHECK(equal(typed, picture));
}

TEST_CASE("opencv: a part of another Mat is stored by its steps, and filled where it lies") {
  const cv::Mat picture = image(6, 8);
  const cv::Mat part = picture(cv::Rect(2, 1, 3, 4));
  REQUIRE(!part.isContinuous());
  const checkpoint from = saved({"w", part});
  CHECK(equal(from.load<cv::Mat>("w").value(), part));

  cv::Mat whole(6, 8, CV_8UC3, cv::Scalar(255, 255, 255));
  cv::Mat target = whole(cv::Rect(4, 2, 3, 4));
  from.load_into("w", target).value();
  CHECK(equal(target, part));
  CHECK(whole.at<cv::Vec3b>(0, 0) == cv::Vec3b(255, 255, 255));
  CHECK(whole.at<cv::Vec3b>(5, 6) == part.at<cv::Vec3b>(3, 2));
  CHECK(whole.at<cv::Vec3b>(5, 7) == cv::Vec3b(255, 255, 255));
  CHECK(from.load_into("w", whole).failure().code == errc::shape_mismatch);
}

TEST_CASE("opencv: every depth of OpenCV 4, and Mats of many dimensions") {
  for (int depth = CV_8U; depth <= CV_16F; ++depth) {
    const int sizes[] = {2, 3, 4, 5};
    cv::Mat value(4, sizes, CV_MAKETYPE(depth, 1));
    for (std::size_t i = 0; i < value.total() * value.elemSize(); ++i)
      value.data[i] = static_cast<unsigned char>(i % 60);
    const auto back = saved({"w", value}).load<cv::Mat>("w").value();
    CHECK(back.type() == value.type());
    CHECK(back.size == value.size);
    CHECK(std::equal(value.data, value.data + value.total() * value.elemSize(), back.data));
  }
  CHECK(counted<double>({4, 5}).load<cv::Mat>("w").value().at<double>(3, 4) == 19);
  CHECK(counted<float>({4, 5}).load<cv::Mat_<float>>("w").value()(3, 4) == 19);
  CHECK(counted<float>({4, 5}).load<cv::Mat_<double>>("w", {.cast = true}).value()(3, 4) == 19);
  const cv::Mat deep = counted<std::int32_t>({2, 3, 600}).load<cv::Mat>("w").value();
  CHECK(deep.dims == 3);  // more than OpenCV's 512 channels
  CHECK(deep.channels() == 1);
  CHECK(counted<std::int32_t>({2, 3, 1}).load<cv::Mat>("w").value().dims == 3);
  CHECK(counted<std::int32_t>({0, 3, 2}).load<cv::Mat>("w").value().channels() == 2);
  CHECK(saved({"w", cv::Mat()}).load<tensor>("w").value().shape() == dims{0, 0});
}

TEST_CASE("opencv: what a Mat cannot hold is refused by name") {
  const auto refused = [](const auto& failed, errc code, const std::string& text) {
    REQUIRE(!failed);
    CHECK(failed.failure().code == code);
    CHECK(failed.failure().message.find(text) != std::string::npos);
  };
  refused(counted<std::int64_t>({2, 2}).load<cv::Mat>("w"), errc::unsupported,
          "a cv::Mat has no elements of int64");
  refused(counted<float>({4}).load<cv::Mat>("w"), errc::shape_mismatch, "two dimensions or more");
  refused(counted<float>({4, 2}).load<cv::Mat_<double>>("w"), errc::dtype_mismatch, "float32");
  refused(counted<std::uint8_t>({4, 2, 2}).load<cv::Mat_<cv::Vec3b>>("w"), errc::shape_mismatch,
          "3 channels");
  refused(counted<std::uint8_t>({4, 3}).load<cv::Mat_<cv::Vec3b>>("w"), errc::shape_mismatch,
          "[rows, columns, channels]");
  refused(counted<float>({4, 2, 3}).load<cv::Mat_<cv::Vec3b>>("w"), errc::dtype_mismatch, "uint8");
}

}  // namespace opencv_test
