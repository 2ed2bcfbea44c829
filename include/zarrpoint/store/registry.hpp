// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/type_list.hpp>
#include <zarrpoint/store/schemes.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <span>

namespace zarrpoint { inline namespace v0 {

struct url;
struct stored_place;
struct place_use;

/// One scheme of a table.
struct store_entry {
  std::string_view scheme;
  result<stored_place> (*open)(const url& at, const place_use& use);
};

/// What a table does about paths, beside its schemes. Each may be null.
struct path_rules {
  /// What a path holds by its format, to read; nothing where no format claims it.
  result<std::optional<stored_place>> (*find)(const std::string& path, const place_use& use);
  /// A failure to open a path, with what the place looks like.
  error (*explain)(error failure, const std::string& path, std::span<const store_entry> known);
};

namespace detail {
/// Names the format and the header of a place that looks like one of a format whose scheme is not
/// known.
error name_format(error failure, const std::string& path, std::span<const store_entry> known);
}  // namespace detail

/// The schemes that are known at run time: a handle to the constant table of a `store_registry`.
class store_table {
 public:
  /// No schemes at all.
  constexpr store_table() = default;
  constexpr explicit store_table(std::span<const store_entry> entries,
                                 const path_rules* rules = nullptr)
      : entries_(entries), rules_(rules) {}

  constexpr std::span<const store_entry> entries() const noexcept { return entries_; }

  /// The same table, by which symbolic links are followed when paths and URLs are read.
  constexpr store_table following(link_scope links) const noexcept {
    store_table out = *this;
    out.links_ = links;
    return out;
  }

  /// What `path_or_url` names. A string without `://` is a path, and stands for `zip://` if it
  /// names a zip file, else for `file://`. Errors: `unsupported` for a scheme that is not in the
  /// table, and those of the scheme.
  result<stored_place> open(const std::string& path_or_url, const place_use& use) const;

  /// A failure to open what was found at a path, with what the place looks like if it is known.
  error explain(error failure, const std::string& path) const;

 private:
  result<const store_entry*> find(std::string_view scheme) const;
  result<stored_place> open_path(const std::string& path, const place_use& use) const;

  std::span<const store_entry> entries_;
  const path_rules* rules_ = nullptr;
  link_scope links_ = link_scope::none;
};

/// A set of schemes, as a type: `store_registry<file_scheme, zip_scheme>`.
template <class... Ss>
struct store_registry {
  static_assert((true && ... && store_scheme<Ss>),
                "zarrpoint: a type of the registry is not a scheme of a store");
  static_assert(detail::all_differ<detail::same_name>(detail::type_list<Ss...>{}),
                "zarrpoint: two stores of the registry have one scheme");

  /// These schemes and those of `Added`; one of the same name is replaced.
  template <class... Added>
  using with =
      typename detail::replaced_by<store_registry, detail::same_name, detail::type_list<Added...>,
                                   detail::type_list<Ss...>>::type;

  static constexpr std::array<store_entry, sizeof...(Ss)> entries{
      store_entry{Ss::name, &Ss::open}...};

  static constexpr store_table table() { return store_table(entries); }
};

/// The schemes of a `context` that says nothing else.
using default_stores = store_registry<file_scheme, zip_scheme>;

}}  // namespace zarrpoint::v0
