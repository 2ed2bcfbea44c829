// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/handler/base/concepts.hpp>
#include <zarrpoint/handler/types/diagnose.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>
#include <zarrpoint/memory/element_source.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

class spare_objects;

/// The means to read a leaf's elements from a device.
struct source_options {
  spare_objects& kept;        ///< the rings of pinned memory
  memory_resource& resource;  ///< their memory, for as long as `kept` is there
  std::size_t budget;         ///< bytes; they take an eighth of it at most
};

struct leaf_copy;
struct single_leaves;

/// A value of some type behind one constant table of functions.
struct leaf_table {
  std::string_view typestr;
  const char* space;
  bool host_accessible;
  result<tensor_spec> (*spec)(const void* value);
  result<staged> (*stage)(const void* value, memory_resource& resource);
  result<std::unique_ptr<element_source>> (*source)(const void* value, const source_options& how);
};

template <class Space>
result<std::unique_ptr<element_source>> source_on_device(const tensor_view<Space>& view,
                                                         const source_options& how);

result<std::unique_ptr<element_source>> no_source(const void*, const source_options&);
template <class T, class Handler>
struct leaf_functions {
  static result<tensor_spec> spec(const void* value) {
    return Handler::spec(*static_cast<const T*>(value));
  }
  static result<staged> stage(const void* value, memory_resource& resource) {
    return stage_to_host(Handler::view(*static_cast<const T*>(value)), resource);
  }
  static result<std::unique_ptr<element_source>> source(const void* value,
                                                        const source_options& how) {
    using space = typename Handler::space;
    if constexpr (space::host_accessible) {
      return no_source(value, how);
    } else {
      return source_on_device<space>(Handler::view(*static_cast<const T*>(value)), how);
    }
  }
  static constexpr leaf_table table{
      Handler::typestr, Handler::space::name, Handler::space::host_accessible, &spec, &stage,
      &source};
};

/// The bytes that a blob's handler made, or why it could not.
template <class Handler>
struct blob_functions {
  using bytes = result<std::vector<std::byte>>;
  static result<tensor_spec> spec(const void* value) {
    const auto& made = *static_cast<const bytes*>(value);
    if (!made) return made.failure();
    return tensor_spec{dtype_kind::uint8, {static_cast<index_t>(made->size())}};
  }
  static result<staged> stage(const void* value, memory_resource&) {
    ZARRPOINT_TRY(shape, spec(value));
    return staged{dense_view((*static_cast<const bytes*>(value))->data(), shape), {}};
  }
  static constexpr leaf_table table{Handler::typestr, host_space::name, true, &spec,
                                    &stage,           &no_source};
};

/// What stands behind several leaves, and behind one that was refused: neither has elements.
result<staged> stage_nothing(const void*, memory_resource&);
result<tensor_spec> spec_of_group(const void*);
result<tensor_spec> spec_of_refused(const void* failure);
inline constexpr leaf_table group_table{"group",        host_space::name, true,
                                        &spec_of_group, &stage_nothing,   &no_source};
inline constexpr leaf_table refused_table{"refused",        host_space::name, true,
                                          &spec_of_refused, &stage_nothing,   &no_source};

/// Defined in handler/members.hpp.
template <class Handler, class Registry, class T>
std::shared_ptr<const std::vector<leaf>> leaves_of_members(const std::string& name, T&& value);

}  // namespace detail

/// A name and a value to save under it: `save("m.zarr", {{"layers/0/w", w}, {"step", 1200}})`.
///
/// An lvalue is borrowed and must stay alive and unchanged until the save is complete. An rvalue is
/// kept alive, shared by the copies of the leaf. Scalars, text and views (spans, mdspans) are
/// copied, and blobs are turned into bytes at once. Literals and `std::string_view` become
/// `std::string`. A value of a type that cannot be saved does not compile and says how to mend it.
class leaf {
 public:
  template <class T>
  leaf(std::string name, T&& value)  // NOLINT(google-explicit-constructor)
      : name_(std::move(name)) {
    using value_type = std::remove_cvref_t<T>;
    detail::require_leaf<value_type>();
    assign<handler_of<value_type>, detail::own_handlers>(std::forward<T>(value));
  }

  /// Makes a leaf by the handlers that a registry has for the value's type and for those of its
  /// members, or by a type's own if the registry has none.
  template <class T, type_registry Registry>
  leaf(std::string name, T&& value, Registry) : name_(std::move(name)) {
    using value_type = std::remove_cvref_t<T>;
    using handler = detail::handler_in<value_type, Registry>;
    if constexpr (std::same_as<handler, handler_of<value_type>>) detail::require_leaf<value_type>();
    assign<handler, Registry>(std::forward<T>(value));
  }

  /// A leaf whose `spec()` gives this failure.
  static leaf refused(std::string name, error why);

  /// Tells whether it is several leaves, each with its whole name: those of a value with members.
  bool is_group() const noexcept { return table_ == &detail::group_table; }
  /// A group without leaves, which is saved as such.
  static leaf empty_group(std::string name);
  /// `leaves`, and in place of a group its own, which keep alive what they borrow from an rvalue.
  static detail::single_leaves single(std::vector<leaf> leaves);

  const std::string& name() const noexcept { return name_; }
  /// The stored kind: `"array"`, `"scalar"`, `"string"`, `"json"` or a handler's own.
  std::string_view typestr() const noexcept { return table_->typestr; }
  /// The name of the memory space that the elements live in.
  const char* space_name() const noexcept { return table_->space; }
  /// Tells whether `view` may be called: no staging is needed.
  bool host_accessible() const noexcept { return table_->host_accessible; }

  /// The dtype and shape; touches no element. A blob is uint8 of rank 1. Errors: the handler's.
  result<tensor_spec> spec() const { return table_->spec(value_); }

  /// The elements, where they are; `host_accessible()` and a `spec()` that succeeded are required.
  /// Waits until they are ready. Errors: those of the memory space.
  result<host_view> view() const {
    ZARRPOINT_ASSERT(host_accessible());
    ZARRPOINT_TRY(out, table_->stage(value_, default_resource()));
    return out.view;
  }

  /// The elements, where the host can read them: copied into memory of `resource` if their space
  /// asks for it, in place otherwise. A `spec()` that succeeded is required. Errors: those of the
  /// memory space, `resource_limit`.
  result<staged> stage(memory_resource& resource) const { return table_->stage(value_, resource); }

  /// The elements of a value that is not `host_accessible()`, to be read part by part. The value
  /// stays as it is until the source is destroyed, or has copied it and is settled. A `spec()` that
  /// succeeded is required. Errors: those of `device_source`.
  result<std::unique_ptr<element_source>> source(const detail::source_options& how) const;

 private:
  friend struct detail::leaf_copy;
  leaf() = default;

  template <class Handler, class Registry, class T>
  void assign(T&& value) {
    using value_type = std::remove_cvref_t<T>;
    if constexpr (saving_handler<Handler, value_type>) {
      table_ = &detail::leaf_functions<value_type, Handler>::table;
      if constexpr (std::is_lvalue_reference_v<T> && !detail::is_copied_leaf<value_type, Handler>) {
        value_ = std::addressof(value);
      } else {
        keep(detail::make_counted<const value_type>(std::forward<T>(value)));
      }
    } else if constexpr (blob_handler<Handler, value_type>) {
      using bytes = typename detail::blob_functions<Handler>::bytes;
      table_ = &detail::blob_functions<Handler>::table;
      keep(detail::make_counted<const bytes>(Handler::to_bytes(value)));
    } else if constexpr (group_handler<Handler, value_type>) {
      table_ = &detail::group_table;
      keep(detail::leaves_of_members<Handler, Registry>(name_, std::forward<T>(value)));
    } else if constexpr (detail::text_like<value_type>) {
      const std::string_view text = value;
      assign<detail::handler_in<std::string, Registry>, Registry>(std::string(text));
    }
  }

  template <class T>
  void keep(std::shared_ptr<const T> value) {
    value_ = value.get();
    kept_ = std::move(value);
  }

  std::string name_;
  const detail::leaf_table* table_ = nullptr;
  const void* value_ = nullptr;
  std::shared_ptr<const void> kept_;
};

/// A leaf by the handlers of a registry: what the braces of `save<Registry>` hold.
template <type_registry Registry>
class leaf_of : public leaf {
 public:
  template <class T>
  leaf_of(std::string name, T&& value)  // NOLINT(google-explicit-constructor)
      : leaf(std::move(name), std::forward<T>(value), Registry()) {}
};

namespace detail {

/// Leaves of which none is a group, and the groups that have no leaf.
struct single_leaves {
  std::vector<leaf> leaves;
  std::vector<std::string> empty_groups;
};

}  // namespace detail

}}  // namespace zarrpoint::v0
