// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/checkpoint/save/save_summary.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/pending.hpp>
#include <zarrpoint/handler/leaf.hpp>

#include <concepts>
#include <initializer_list>
#include <span>
#include <utility>

namespace zarrpoint { inline namespace v0 {

/// One leaf of a save, as it was stored.
struct leaf_report {
  std::string name;
  tensor_spec stored;              ///< its dtype is the one it was cast to
  std::uint64_t bytes = 0;         ///< bytes of its elements as stored, before the codecs
  std::uint64_t stored_bytes = 0;  ///< bytes of its objects in the store
  double seconds = 0;              ///< from staging to the last write; leaves overlap
};

/// The result of a `save`.
struct save_report : save_summary {
  std::string id{};  ///< the checkpoint's, in its commit document
  std::vector<leaf_report> leaves{};
  std::uint64_t stored_bytes = 0;  ///< bytes of all objects in the store
  /// Of these, bytes of objects that are shared with `save_options::previous`; of many processes,
  /// those of this one.
  std::uint64_t shared_bytes = 0;
  /// Of `blocked_seconds` or after them: for pinned memory that the devices copy to, made for this
  /// save.
  double pin_seconds = 0;
  /// Objects of tensors that this process of many wrote, of `bytes`; of PyTorch's format the boxes
  /// of tensors, of all.
  std::uint64_t cells = 0;
  /// Of formats of a few files, their names in the directory, but for those of metadata.
  std::vector<std::string> files{};
};

/// The work that a format of `save_options::format` is asked to do.
struct save_request {
  const location& where;
  std::span<const leaf> leaves;               ///< none is a group
  std::span<const std::string> empty_groups;  ///< those that no leaf lies beneath
  const save_options& options;
  const context& how;
};

/// A format that can be written: a type with a function `save_as` in its namespace. It saves as
/// `zarrpoint::save` does: in one step, and over a whole checkpoint of its own format alone.
template <class F>
concept writable_format = requires(const F& format, const save_request& what) {
  { save_as(format, what) } -> std::same_as<result<save_report>>;
};

/// One that many processes can write, too: with a function `group_save_as`. `save_by` of
/// distributed.hpp makes it of a strategy.
template <class F>
concept group_writable_format = requires(const F& format, const group_save_request& what) {
  { group_save_as(format, what) } -> std::same_as<result<std::shared_ptr<detail::save_format>>>;
};

/// Things that a format can store beside elements, for `check_options`.
struct stored_options {
  bool attributes = false;  ///< of leaves and of the root
  bool casts = false;       ///< `leaf_rule::cast`
  bool layouts = false;     ///< chunks, codecs, Zarr's version; but never `elide_fill`
  bool empty_groups = false;
};

/// For a `save_as`: the warnings about what the caller asked for and `format`, as in "an Orbax
/// checkpoint", has not. Errors: `unsupported` for what would be lost: attributes, casts and empty
/// groups, naming them.
result<std::vector<std::string>> check_options(const save_request& what, std::string_view format,
                                               const stored_options& has);

namespace detail {

/// What is known of a format; null where it has no such function. Its address tells of which.
struct format_calls {
  result<save_report> (*save)(const void* format, const save_request& what) = nullptr;
  result<std::shared_ptr<save_format>> (*save_by_many)(const void* format,
                                                       const group_save_request& what) = nullptr;
};

template <class F>
constexpr format_calls make_calls() {
  static_assert(writable_format<F> || group_writable_format<F>,
                "zarrpoint: no save_as(format, request) is known of this format: include the "
                "header that writes it, such as orbax.hpp or dcp_save.hpp");
  format_calls out;
  if constexpr (writable_format<F>) {
    out.save = [](const void* self, const save_request& what) {
      return save_as(*static_cast<const F*>(self), what);
    };
  }
  if constexpr (group_writable_format<F>) {
    out.save_by_many = [](const void* self, const group_save_request& what) {
      return group_save_as(*static_cast<const F*>(self), what);
    };
  }
  return out;
}

template <class F>
inline constexpr format_calls calls_of = make_calls<F>();

}  // namespace detail

template <class F>
  requires(!std::same_as<F, any_writable_format>)
any_writable_format::any_writable_format(F format)
    : format_(detail::make_counted<const F>(std::move(format))), calls_(&detail::calls_of<F>) {}

template <class F>
const F* any_writable_format::get_if() const noexcept {
  return calls_ == &detail::calls_of<F> ? static_cast<const F*>(format_.get()) : nullptr;
}

namespace detail {

/// For a function that saves as one format: that of the options, or its default. Errors:
/// `invalid_argument` for another one.
template <class F>
result<F> format_of(const save_options& options) {
  if (!options.format) return F{};
  if (const F* const own = options.format.get_if<F>()) return *own;
  return error{errc::invalid_argument, "save_options::format is another format than that of " +
                                           std::string(F::name) + "::save; call zarrpoint::save"};
}

}  // namespace detail

/// Saves `leaves` as one Zarr hierarchy at `where`, in one step: until the last rename the target
/// is what it was before, whatever fails. Files of others in a checkpoint that is overwritten stay.
/// Names may be nested with '/'; a leaf is borrowed, kept or
/// copied as `leaf` says.
///
/// Errors name the leaf and the file. They are `invalid_argument` for names or options that make no
/// sense, `already_exists`, `unsupported` for a cast that has no meaning; `resource_limit`,
/// `cancelled`, `io` (disk full, permission). `outcome_unknown`: only the very last sync failed.
result<save_report> save(const location& where, std::span<const leaf> leaves,
                         const save_options& options = {}, const context& how = default_context());

/// Saves the leaves in braces: `save("model.zarr", {{"w", w}, {"step", 1200}})`.
result<save_report> save(const location& where, std::initializer_list<leaf> leaves,
                         const save_options& options = {}, const context& how = default_context());

/// Saves one leaf: `save("model.zarr", {"w", w})`.
template <std::same_as<leaf> One = leaf>
result<save_report> save(const location& where, One only, const save_options& options = {},
                         const context& how = default_context()) {
  return save(where, std::span<const leaf>(&only, 1), options, how);
}

/// Saves in the background. Borrowed tensors must stay alive and unchanged until the result is
/// there. What lives on a device is copied before this returns, to the host or, with
/// `save_options::device_copy`, on the device. Destroying the result waits for it.
pending<save_report> save_async(location where, std::vector<leaf> leaves, save_options options = {},
                                const context& how = default_context());

template <std::same_as<leaf> One = leaf>  // in braces, so that `{}` is an empty list
pending<save_report> save_async(location where, One only, save_options options = {},
                                const context& how = default_context()) {
  return save_async(std::move(where), std::vector<leaf>{std::move(only)}, std::move(options), how);
}

/// Saves by the handlers of a registry, which come before the types' own:
/// `save<types>("model.zarr", {{"w", w}})`. Members of values, too, are saved by them.
template <type_registry Registry>
result<save_report> save(const location& where, std::span<const leaf_of<Registry>> leaves,
                         const save_options& options = {}, const context& how = default_context()) {
  return save(where, std::vector<leaf>(leaves.begin(), leaves.end()), options, how);
}
template <type_registry Registry>
result<save_report> save(const location& where, std::initializer_list<leaf_of<Registry>> leaves,
                         const save_options& options = {}, const context& how = default_context()) {
  return save(where, std::vector<leaf>(leaves.begin(), leaves.end()), options, how);
}
template <type_registry Registry>
pending<save_report> save_async(location where, std::vector<leaf_of<Registry>> leaves,
                                save_options options = {}, const context& how = default_context()) {
  return save_async(std::move(where), std::vector<leaf>(leaves.begin(), leaves.end()),
                    std::move(options), how);
}

}}  // namespace zarrpoint::v0
