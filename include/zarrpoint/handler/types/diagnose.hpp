// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/handler/types/type_handler.hpp>

#include <concepts>
#include <optional>

namespace zarrpoint { inline namespace v0 { namespace detail {

// Types that cannot be saved as they are, but that deserve a better message than others. They are
// those that a header of their own makes savable, and containers that are several leaves. All are
// known by their members alone.

template <class T>
concept like_eigen_matrix = requires {
  T::RowsAtCompileTime;
  T::ColsAtCompileTime;
  typename T::Scalar;
};

template <class T>
concept like_eigen_tensor = !like_eigen_matrix<T> && requires {
  typename T::Scalar;
  typename T::Dimensions;
  typename T::StorageKind;
};

/// A matrix or tensor of Eigen that has elements in memory; others are lazy.
template <class T>
concept like_eigen_in_memory = requires(const T& value) {
  { value.data() } -> std::convertible_to<const typename T::Scalar*>;
};

template <class T>
concept like_cv_mat = requires(const T& value) {
  value.elemSize1();
  value.channels();
  value.depth();
};

template <class T>
concept like_torch_tensor = requires(const T& value) {
  value.scalar_type();
  value.sizes();
  value.is_sparse();
};

template <class T>
concept like_ort_value = requires(const T& value) {
  value.GetTensorTypeAndShapeInfo();
};

template <class T>
concept like_thrust_vector = requires(const T& value) {
  typename T::pointer::raw_pointer;
  value.data().get();
};

template <class T>
concept like_rmm_container = requires(const T& value) {
  value.stream().value();
  value.memory_resource();
};

template <class T>
concept like_map = requires(const T& value) {
  typename T::key_type;
  typename T::mapped_type;
  value.begin();
};

template <class T>
concept like_optional = std::constructible_from<T, std::nullopt_t> && requires(const T& value) {
  value.has_value();
};

template <class T>
concept like_variant = requires(const T& value) {
  value.index();
  value.valueless_by_exception();
};

/// A range whose elements are ranges and not text, as `std::vector<std::vector<float>>` is.
template <class T>
concept like_nested_range = requires(const T& value) {
  value.begin();
  value.begin()->begin();
  typename T::value_type::value_type;
}
&&!storable_element<typename T::value_type>;

/// Whether `explain_foreign` says something of `T`.
template <class T>
inline constexpr bool is_explained =
    std::is_enum_v<T> || like_eigen_matrix<T> || like_eigen_tensor<T> || like_cv_mat<T> ||
    like_torch_tensor<T> || like_ort_value<T> || like_thrust_vector<T> || like_rmm_container<T> ||
    like_map<T> || like_optional<T> || like_variant<T> || like_nested_range<T>;

/// Fails to compile with what to do about `T`, which has no handler.
template <class T>
consteval void explain_foreign() {
  if constexpr (std::is_enum_v<T>) {
    static_assert(
        !std::is_enum_v<T>,
        "zarrpoint: an enum is stored as its number: include <zarrpoint/members.hpp>, say "
        "so once by `template <> inline constexpr zarrpoint::dtype "
        "zarrpoint::dtype_of<E> = zarrpoint::dtype_of<std::underlying_type_t<E>>;`, or "
        "save and load the underlying integer");
  } else if constexpr ((like_eigen_matrix<T> || like_eigen_tensor<T>)&&like_eigen_in_memory<T>) {
    static_assert(!like_eigen_in_memory<T>,
                  "zarrpoint: include <zarrpoint/eigen.hpp> to save and load matrices and tensors "
                  "of Eigen, before the first use of the type");
  } else if constexpr (like_eigen_matrix<T> || like_eigen_tensor<T>) {
    static_assert(like_eigen_in_memory<T>,
                  "zarrpoint: this expression of Eigen is lazy and has no elements: evaluate it "
                  "first, by .eval() or into a matrix, and include <zarrpoint/eigen.hpp>");
  } else if constexpr (like_cv_mat<T>) {
    static_assert(!like_cv_mat<T>,
                  "zarrpoint: include <zarrpoint/opencv.hpp> to save and load a cv::Mat, before "
                  "the first use of the type; a cv::UMat or a cv::cuda::GpuMat is downloaded into "
                  "a cv::Mat first");
  } else if constexpr (like_torch_tensor<T>) {
    static_assert(!like_torch_tensor<T>,
                  "zarrpoint: include <zarrpoint/libtorch.hpp> to save and load a torch::Tensor, "
                  "before the first use of the type");
  } else if constexpr (like_ort_value<T>) {
    static_assert(!like_ort_value<T>,
                  "zarrpoint: include <zarrpoint/onnxruntime.hpp> to save and load an Ort::Value, "
                  "before the first use of the type");
  } else if constexpr (like_thrust_vector<T>) {
    static_assert(!like_thrust_vector<T>,
                  "zarrpoint: include <zarrpoint/thrust.hpp> to save and load vectors of Thrust, "
                  "before the first use of the type");
  } else if constexpr (like_rmm_container<T>) {
    static_assert(!like_rmm_container<T>,
                  "zarrpoint: include <zarrpoint/rmm.hpp> to save and load containers of RMM, "
                  "before the first use of the type");
  } else if constexpr (like_map<T>) {
    if constexpr (std::same_as<typename T::key_type, std::string>) {
      static_assert(
          !like_map<T>,
          "zarrpoint: a map is a group of leaves: include <zarrpoint/members.hpp>, before the "
          "first use of the type, for a std::map or std::unordered_map whose keys are "
          "std::string; or save each value as a leaf of its own, named \"group/\" + key, in one "
          "std::vector<zarrpoint::leaf>, and load them by names() or by zarrpoint::load_all");
    } else {
      static_assert(
          !like_map<T>,
          "zarrpoint: a map is a group of leaves that its keys name, and these are not std::string"
          ": make them text, in a std::map<std::string, ...>, and include <zarrpoint/members.hpp>; "
          "or save the keys and the values as two vectors");
    }
  } else if constexpr (like_optional<T> || like_variant<T>) {
    static_assert(!like_optional<T> && !like_variant<T>,
                  "zarrpoint: include <zarrpoint/members.hpp> to save and load optionals and "
                  "variants, which are groups of leaves, before the first use of the type");
  } else {
    static_assert(!like_nested_range<T>,
                  "zarrpoint: a container of containers has no one shape: if all rows are equally "
                  "long, save one flat vector through an mdspan, xt::adapt or "
                  "zarrpoint::dense_view, or a zarrpoint::tensor; else include "
                  "<zarrpoint/members.hpp>, by which a std::vector of them is a group of its rows");
  }
}

// Why a type is not a leaf, said where the user reads it. Each function is called after the concept
// has failed, so that its message is the first one.

template <class T>
inline constexpr bool is_packed_bools = false;
template <class Allocator>
inline constexpr bool is_packed_bools<std::vector<bool, Allocator>> = true;

/// A type with a handler of its own, which may lack a member.
template <class T>
concept has_own_handler = requires {
  sizeof(type_handler<T>);
}
|| requires { typename T::zarrpoint_handler; };

/// Fails to compile with the first member that the handler of `T` lacks: of the six, or of those of
/// a leaf that is bytes.
template <class T, class H = handler_of<T>>
consteval void explain_handler() {
  if constexpr (!requires {
                  { H::typestr } -> std::convertible_to<std::string_view>;
                }) {
    static_assert(sizeof(T) == 0,
                  "zarrpoint: the handler lacks `typestr`: see handlers/my_tensor_handler.hpp");
  } else if constexpr (
      requires { &H::to_bytes; } || requires { &H::from_bytes; }) {
    static_assert(sizeof(T) == 0,
                  "zarrpoint: the handler of this type lacks to_bytes(value) or from_bytes(stored),"
                  " or they have other types than blob_handler says");
  } else if constexpr (!requires { requires memory_space<typename H::space>; }) {
    static_assert(sizeof(T) == 0,
                  "zarrpoint: the handler lacks `space`: see handlers/my_tensor_handler.hpp");
  } else if constexpr (!requires(const T& value) {
                         { H::spec(value) } -> std::convertible_to<result<tensor_spec>>;
                       }) {
    static_assert(sizeof(T) == 0,
                  "zarrpoint: the handler lacks spec(value): see handlers/my_tensor_handler.hpp");
  } else if constexpr (!saving_handler<H, T>) {
    static_assert(sizeof(T) == 0,
                  "zarrpoint: the handler lacks view(value): see handlers/my_tensor_handler.hpp");
  } else if constexpr (!filling_handler<H, T>) {
    static_assert(
        sizeof(T) == 0,
        "zarrpoint: the handler lacks writable(target): see handlers/my_tensor_handler.hpp");
  } else {
    static_assert(
        loading_handler<H, T>,
        "zarrpoint: the handler lacks make(spec, place): see handlers/my_tensor_handler.hpp");
  }
}

/// Whether a value becomes a `std::string` leaf: literals, `const char*`, `std::string_view`.
template <class T>
concept text_like = !savable<T> && !std::same_as<T, std::nullptr_t> && !blob_leaf<T> &&
                    !leaf_group<T> && std::convertible_to<const T&, std::string_view>;

/// A function `zarrpoint_members` takes `T`, but is not `T`'s own: a template, or one of a base.
template <class T>
concept has_foreign_members = std::is_class_v<T> && !leaf_group<T> && requires(T & value) {
  zarrpoint_members(value);
};

/// For a type with such a function that is nothing else that can be saved.
template <class T>
consteval void explain_members() {
  static_assert(!has_foreign_members<T>,
                "zarrpoint: zarrpoint_members takes this type as a function template, or for its "
                "base, and either could leave out members of a derived type: write a function for "
                "the type itself; a class template has it as a friend that is defined in it");
}

/// Passes when `T` can be a leaf of `save`; otherwise says how to mend it.
template <class T>
consteval void require_leaf() {
  constexpr bool ok = savable<T> || blob_leaf<T> || leaf_group<T> || text_like<T>;
  if constexpr (!ok && is_packed_bools<T>) {
    static_assert(ok,
                  "zarrpoint: std::vector<bool> packs its bits and has no elements to view; use "
                  "std::vector<std::uint8_t>, std::array<bool, N> or zarrpoint::tensor");
  } else if constexpr (!ok && std::is_pointer_v<T>) {
    static_assert(ok,
                  "zarrpoint: a pointer does not say how many elements there are; wrap it in a "
                  "std::span, an mdspan or xt::adapt");
  } else if constexpr (!ok && (std::same_as<T, char> || std::same_as<T, wchar_t> ||
                               std::same_as<T, char8_t> || std::same_as<T, char16_t> ||
                               std::same_as<T, char32_t>)) {
    static_assert(ok,
                  "zarrpoint: a character is text, not a number; save a std::string, or cast it "
                  "to std::int8_t or another integer");
  } else if constexpr (!ok && has_foreign_members<T>) {
    explain_members<T>();
  } else if constexpr (!ok && has_own_handler<T>) {
    explain_handler<T>();
  } else if constexpr (!ok && is_explained<T>) {
    explain_foreign<T>();
  } else {
    static_assert(ok,
                  "zarrpoint: this type cannot be saved. Three ways out: (1) specialise "
                  "zarrpoint::type_handler<T> (copy examples/handlers/my_tensor_handler.hpp); "
                  "(2) give T a nested type zarrpoint_handler; (3) make T array-like (value_type, "
                  "shape(), data()) or save a std::span of its elements. Structs, optionals, "
                  "variants, maps and enumerations: include <zarrpoint/members.hpp>. A lazy "
                  "expression must be evaluated first. Element types of your own need "
                  "zarrpoint::dtype_of<T>");
  }
}

/// Passes when `T` has elements to write to a part of an array; otherwise says how to mend it.
template <class T>
consteval void require_savable() {
  if constexpr (!savable<T>) require_leaf<T>();
  static_assert(savable<T> || !(blob_leaf<T> || leaf_group<T> || text_like<T>),
                "zarrpoint: this type is stored as bytes, text or a group and has no elements to "
                "write to a part of an array; pass a tensor, a std::span, or a std::string");
}

/// Passes when `load<T>` can make a `T`; otherwise says how to mend it.
template <class T>
consteval void require_loadable() {
  constexpr bool ok = loadable<T> || blob_leaf<T>;
  if constexpr (!ok && is_packed_bools<T>) {
    static_assert(ok,
                  "zarrpoint: std::vector<bool> packs its bits and has no elements to fill; use "
                  "std::vector<std::uint8_t>, std::array<bool, N> or zarrpoint::tensor");
  } else if constexpr (!ok && has_own_handler<T> && !leaf_group<T> && (!savable<T> || requires {
                         &handler_of<T>::make;
                       } || (fillable<T&> && !handler_is_view<handler_of<T>>()))) {
    explain_handler<T>();
  } else if constexpr (!ok && savable<T>) {
    static_assert(ok,
                  "zarrpoint: this type can be saved but not made: it borrows its elements or its "
                  "handler lacks make(spec, place) or writable(target). Load an owning type, or "
                  "use load_into with memory of your own");
  } else if constexpr (!ok && leaf_group<T>) {
    static_assert(ok,
                  "zarrpoint: a value of several leaves is loaded as a whole, by load<T>(name); "
                  "for parts, and for a place of your own, load its members one by one");
  } else if constexpr (!ok && has_foreign_members<T>) {
    explain_members<T>();
  } else if constexpr (!ok && is_explained<T>) {
    explain_foreign<T>();
  } else {
    static_assert(ok,
                  "zarrpoint: this type cannot be loaded. Three ways out: (1) specialise "
                  "zarrpoint::type_handler<T> (copy examples/handlers/my_tensor_handler.hpp); "
                  "(2) give T a nested type zarrpoint_handler; (3) make T array-like (value_type, "
                  "shape(), data(), resize(shape)), or use load_into with a std::span");
  }
}

/// Passes when a target bound as `T&&` can be loaded into; otherwise says how to mend it.
template <class T>
consteval void require_fillable() {
  constexpr bool ok = fillable<T>;
  if constexpr (!ok && (savable<T> || loadable<T>)) {
    static_assert(ok,
                  "zarrpoint: the target is read-only: it is const, views const "
                  "elements, or its handler lacks writable(target)");
  } else if constexpr (!ok && leaf_group<T>) {
    static_assert(ok,
                  "zarrpoint: a value of several leaves is not a target; assign what load<T>(name) "
                  "gives, or use load_into with each of its members");
  } else if constexpr (!ok && is_explained<std::remove_cvref_t<T>>) {
    explain_foreign<std::remove_cvref_t<T>>();
  } else {
    static_assert(ok,
                  "zarrpoint: this type cannot be loaded or read into; pass a std::span, an "
                  "mdspan, an array-like type, or one with a zarrpoint::type_handler<T>");
  }
}

}}}  // namespace zarrpoint::v0::detail
