// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Against Eigen itself.
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/eigen.hpp>
#include <zarrpoint/handler/types/diagnose.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/types.hpp>

#include <Eigen/Dense>
#include <doctest/doctest.h>
#include <unsupported/Eigen/CXX11/Tensor>

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

template <>
inline constexpr zarrpoint::dtype zarrpoint::dtype_of<Eigen::half> = zarrpoint::dtype_kind::float16;

namespace eigen_test {

using namespace zarrpoint;

namespace {

using row_major_matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Column j of row i is 100 i + j, whatever the storage order.
template <class M>
M numbered(Eigen::Index rows, Eigen::Index columns) {
  M out(rows, columns);
  for (Eigen::Index i = 0; i < rows; ++i) {
    for (Eigen::Index j = 0; j < columns; ++j)
      out(i, j) = static_cast<typename M::Scalar>(static_cast<int>(100 * i + j));
  }
  return out;
}

/// What a checkpoint holds of `value`, in row-major order.
template <class T>
tensor stored(const T& value) {
  memory_store store;
  save(store, {{"w", value}}).value();
  return open(store).value().load<tensor>("w").value();
}

/// A checkpoint of a tensor of `shape` whose elements are 0, 1, ...
template <class T>
checkpoint counted(const dims& shape) {
  std::vector<T> values(static_cast<std::size_t>(element_count(shape).value()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i);
  memory_store store;
  save(store,
       {{"w", dense_view(reinterpret_cast<const std::byte*>(values.data()), {dtype_of<T>, shape})}})
      .value();
  return open(store).value();
}

/// Whether a matrix or an expression has just these elements as `saved`, at the same indices.
template <class E>
bool same(const tensor& saved, const E& expected) {
  if (saved.shape() != dims{expected.rows(), expected.cols()}) return false;
  const auto values = saved.template data<typename E::Scalar>();
  for (Eigen::Index i = 0; i < expected.rows(); ++i) {
    for (Eigen::Index j = 0; j < expected.cols(); ++j) {
      if (values[static_cast<std::size_t>(i * expected.cols() + j)] != expected(i, j)) return false;
    }
  }
  return true;
}

}  // namespace

static_assert(savable<Eigen::MatrixXf> && loadable<Eigen::MatrixXf>);
static_assert(fillable<Eigen::MatrixXf&> && fillable<Eigen::Map<Eigen::MatrixXf>>);
static_assert(savable<Eigen::Map<const Eigen::MatrixXf>>);
static_assert(!fillable<Eigen::Map<const Eigen::MatrixXf>&>);
static_assert(!loadable<Eigen::Map<Eigen::MatrixXf>> && !loadable<Eigen::Ref<Eigen::MatrixXf>>);
static_assert(savable<Eigen::Ref<const Eigen::MatrixXf>> && savable<Eigen::ArrayXXd>);
// What the messages know without the header: tests/compile_fail.
static_assert(detail::like_eigen_matrix<Eigen::MatrixXf> &&
              detail::like_eigen_matrix<Eigen::ArrayXd>);
static_assert(detail::like_eigen_tensor<Eigen::Tensor<float, 3>>);
static_assert(detail::like_eigen_in_memory<Eigen::Map<const Eigen::MatrixXf>>);
// What is lazy has no elements to lend.
static_assert(!savable<decltype(Eigen::MatrixXf() + Eigen::MatrixXf())>);
static_assert(!savable<decltype(Eigen::MatrixXf() * Eigen::MatrixXf())>);

TEST_CASE("eigen: a matrix is stored in logical order, whatever its storage order") {
  const auto columns = numbered<Eigen::MatrixXf>(5, 3);
  const auto rows = numbered<row_major_matrix>(5, 3);
  REQUIRE(columns.data()[1] == 100);  // the one is column-major
  REQUIRE(rows.data()[1] == 1);
  CHECK(same(stored(columns), columns));
  CHECK(same(stored(rows), columns));
  CHECK(same(stored(numbered<Eigen::ArrayXXi>(2, 7)), numbered<Eigen::ArrayXXi>(2, 7)));
  CHECK(same(stored(numbered<Eigen::Matrix<std::complex<double>, 2, 3>>(2, 3)),
             numbered<Eigen::Matrix<std::complex<double>, 2, 3>>(2, 3)));
  Eigen::Matrix<Eigen::half, 3, 4> halves;
  halves.setConstant(Eigen::half(1.5F));
  CHECK(same(stored(halves), halves));
  CHECK(stored(halves).type() == dtype_kind::float16);
}

TEST_CASE("eigen: parts and maps are stored by their strides") {
  auto whole = numbered<Eigen::MatrixXf>(6, 8);
  CHECK(same(stored(whole.block(1, 2, 3, 4)), whole.block(1, 2, 3, 4).eval()));
  CHECK(same(stored(whole.transpose()), whole.transpose().eval()));
  CHECK(same(stored(whole.middleRows(2, 2)), whole.middleRows(2, 2).eval()));
  const Eigen::Ref<const Eigen::MatrixXf> reference = whole.leftCols(5);
  CHECK(same(stored(reference), whole.leftCols(5).eval()));

  std::vector<double> memory(40);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<double>(i);
  using stride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  const Eigen::Map<const Eigen::MatrixXd, 0, stride> every_other(memory.data(), 3, 4,
                                                                 stride(10, 2));
  REQUIRE(every_other(1, 2) == 22);
  CHECK(same(stored(every_other), every_other));

  // Vectors have one dimension, rows too, and those with a stride.
  const Eigen::VectorXf diagonal = whole.diagonal();
  CHECK(stored(whole.diagonal()).shape() == dims{6});
  CHECK(stored(whole.diagonal()).data<float>()[5] == 505);
  CHECK(stored(whole.row(4)).shape() == dims{8});
  CHECK(stored(whole.row(4)).data<float>()[7] == 407);
  CHECK(stored(diagonal).data<float>()[3] == 303);
  CHECK(stored(Eigen::RowVector3d(1, 2, 3)).data<double>()[2] == 3);
  CHECK(stored(Eigen::MatrixXf()).shape() == dims{0, 0});
  CHECK(stored(Eigen::VectorXd()).shape() == dims{0});
}

TEST_CASE("eigen: load makes matrices of either order, fixed ones too") {
  const checkpoint from = counted<float>({4, 3});
  const auto columns = from.load<Eigen::MatrixXf>("w").value();
  const auto rows = from.load<row_major_matrix>("w").value();
  const auto fixed = from.load<Eigen::Matrix<float, 4, 3>>("w").value();
  const auto bounded = from.load<Eigen::Matrix<float, Eigen::Dynamic, 3, 0, 5, 3>>("w").value();
  CHECK(columns == rows);
  CHECK(columns(2, 1) == 7);
  CHECK(fixed == columns);
  CHECK(bounded == columns);
  CHECK(from.load<Eigen::MatrixXd>("w", {.cast = true}).value()(3, 2) == 11);
  CHECK(counted<double>({5}).load<Eigen::VectorXd>("w").value()(4) == 4);
  CHECK(counted<double>({5}).load<Eigen::RowVectorXd>("w").value()(4) == 4);
  CHECK(counted<std::int32_t>({3}).load<Eigen::Vector3i>("w").value() == Eigen::Vector3i(0, 1, 2));
  CHECK(counted<float>({0, 3}).load<Eigen::MatrixXf>("w").value().cols() == 3);
}

TEST_CASE("eigen: load refuses what the C++ type cannot hold") {
  const checkpoint from = counted<float>({4, 3});
  const auto message = [](const auto& failed) {
    REQUIRE(!failed);
    return failed.failure().message;
  };
  using three_by_three = Eigen::Matrix<float, 3, 3>;
  using at_most_two = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, 0, 2, 3>;
  CHECK(message(from.load<three_by_three>("w")).find("3 rows by 3 columns") != std::string::npos);
  CHECK(message(from.load<at_most_two>("w")).find("at most 2 rows") != std::string::npos);
  CHECK(message(from.load<Eigen::VectorXf>("w")).find("a vector of Eigen") != std::string::npos);
  CHECK(from.load<Eigen::MatrixXd>("w").failure().code == errc::dtype_mismatch);
  CHECK(message(counted<float>({4}).load<Eigen::MatrixXf>("w")).find("[rows, columns]") !=
        std::string::npos);
  CHECK(counted<float>({2}).load<Eigen::Vector3f>("w").failure().code == errc::shape_mismatch);
}

TEST_CASE("eigen: load_into fills matrices, maps, blocks and transposed ones where they lie") {
  const checkpoint from = counted<float>({2, 3});
  const auto expected = from.load<Eigen::MatrixXf>("w").value();
  Eigen::MatrixXf target = Eigen::MatrixXf::Constant(2, 3, -1);
  from.load_into("w", target).value();
  CHECK(target == expected);

  Eigen::MatrixXf whole = Eigen::MatrixXf::Constant(4, 5, -1);
  from.load_into("w", whole.block(1, 1, 2, 3)).value();
  CHECK(whole.block(1, 1, 2, 3) == expected);
  CHECK((whole.array() == -1).count() == 14);

  Eigen::MatrixXf turned(3, 2);
  from.load_into("w", turned.transpose()).value();
  CHECK(turned.transpose() == expected);

  std::vector<float> memory(6);
  from.load_into("w", Eigen::Map<Eigen::MatrixXf>(memory.data(), 2, 3)).value();
  CHECK(memory[1] == 3);  // column-major

  Eigen::VectorXf flat(6);
  from.load_into("w", flat).value();
  CHECK(flat(4) == 4);
  Eigen::MatrixXf other(3, 2);
  CHECK(from.load_into("w", other).failure().code == errc::shape_mismatch);
}

TEST_CASE("eigen: tensors of either order, fixed ones and maps") {
  Eigen::Tensor<float, 3> columns(2, 3, 4);
  Eigen::Tensor<float, 3, Eigen::RowMajor> rows(2, 3, 4);
  Eigen::TensorFixedSize<float, Eigen::Sizes<2, 3, 4>> fixed;
  for (Eigen::Index i = 0; i < 24; ++i) {
    const Eigen::Index a = i / 12;
    const Eigen::Index b = i / 4 % 3;
    const Eigen::Index c = i % 4;
    columns(a, b, c) = rows(a, b, c) = fixed(a, b, c) = static_cast<float>(i);
  }
  REQUIRE(columns.data()[1] == 12);
  const Eigen::TensorMap<const Eigen::Tensor<float, 3>> map(columns.data(), 2, 3, 4);
  for (const tensor& saved : {stored(columns), stored(rows), stored(fixed), stored(map)}) {
    CHECK(saved.shape() == dims{2, 3, 4});
    for (std::size_t i = 0; i < 24; ++i) CHECK(saved.data<float>()[i] == static_cast<float>(i));
  }
  const checkpoint from = counted<float>({2, 3, 4});
  CHECK(from.load<Eigen::Tensor<float, 3>>("w").value()(1, 2, 3) == 23);
  CHECK(from.load<Eigen::Tensor<float, 3>>("w").value().data()[1] == 12);
  CHECK(from.load<Eigen::Tensor<float, 3, Eigen::RowMajor>>("w").value()(0, 2, 1) == 9);
  CHECK(from.load<decltype(fixed)>("w").value()(1, 0, 2) == 14);
  columns.setZero();
  from.load_into("w", Eigen::TensorMap<Eigen::Tensor<float, 3>>(columns.data(), 2, 3, 4)).value();
  CHECK(columns(1, 2, 0) == 20);
  CHECK(from.load<Eigen::Tensor<float, 2>>("w").failure().code == errc::shape_mismatch);
  CHECK(counted<float>({2, 3, 5}).load<decltype(fixed)>("w").failure().code ==
        errc::shape_mismatch);
  Eigen::Tensor<double, 0> scalar;
  scalar() = 5;
  CHECK(stored(scalar).shape() == dims{});
  CHECK(counted<double>({}).load<Eigen::Tensor<double, 0>>("w").value()() == 0);
}

}  // namespace eigen_test
