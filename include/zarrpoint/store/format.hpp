// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/registry.hpp>

#include <initializer_list>
#include <memory>

// Formats: what a path holds that is not a Zarr hierarchy of its own, by what lies there.

namespace zarrpoint { inline namespace v0 {

/// How sure a format is that a place is its own.
enum class claim : std::uint8_t {
  none,   ///< it is not
  plain,  ///< it is, if no other format says more: a database may be a part of something larger
  sure,
};

/// One look at a path, for all formats: the nearest file or directory on the way to it, and what of
/// the path lies behind that.
class place_look {
 public:
  /// The look at `path`. What cannot be opened counts as not there.
  explicit place_look(std::string path, link_scope links = link_scope::none);
  /// The look at what lies in a store at `at`, which people call `path`: the file `file`, or, where
  /// that is null, a directory.
  place_look(std::string path, stored_place at, std::unique_ptr<blob> file);

  const std::string& path() const noexcept { return path_; }    ///< the one asked for
  const std::string& place() const noexcept { return place_; }  ///< what is there; or empty
  const std::string& rest() const noexcept { return rest_; }    ///< without slashes around it
  link_scope links() const noexcept { return links_; }          ///< that may be followed

  bool is_file() const noexcept { return is_file_; }
  bool is_directory() const noexcept { return directory_.has_value(); }

  /// The first bytes of a file, 264 at most.
  std::string_view head() const noexcept { return head_; }
  /// The file once more. Errors: `not_found`, `io`.
  result<std::unique_ptr<blob>> open_file() const;
  /// Another file of the same directory: a null pointer, or `not_found`, where there is none.
  result<std::unique_ptr<blob>> open_beside(const std::string& name) const;
  /// What the file lies in, as a store, and its name there. Errors: those of opening that.
  result<stored_place> file_place() const;

  /// Errors, if no directory lies on the way to the path: `not_found`, `io`.
  result<void> check_directory() const;
  /// The directory, to read: there must be one.
  const any_store& directory() const noexcept { return *directory_; }
  /// Tells whether a file of one of these names lies in the directory; false where there is none.
  result<bool> has(std::initializer_list<const char*> names) const;
  /// Tells whether a Zarr hierarchy lies there.
  result<bool> has_zarr() const { return has({"zarr.json", ".zgroup", ".zarray"}); }

  /// What `opened` has at the rest of the path. Errors: `invalid_argument` for what is not a key.
  result<stored_place> within(any_store opened, std::string format) const;

 private:
  std::string path_, place_, rest_, head_;
  link_scope links_;
  bool is_file_ = false;
  std::optional<any_store> directory_;
  std::optional<stored_place> file_;    ///< where it is not one of the file system
  std::shared_ptr<const blob> opened_;  ///< that one
};

/// A format that can be read, as a type:
/// - `name` is the scheme of URLs that choose it;
/// - `sniff` tells from a look whether a place is its own;
/// - `open` gives a store whose keys are those of a Zarr hierarchy, and may tell in
///   `stored_place::format` what people call it. `open` is asked without `sniff`, too, for
///   `name://path`.
template <class F>
concept readable_format = requires(const place_look& at, const place_use& use) {
  { F::name } -> std::convertible_to<std::string_view>;
  { F::sniff(at) } -> std::same_as<result<claim>>;
  { F::open(at, use) } -> std::same_as<result<stored_place>>;
};

namespace detail {

struct format_entry {
  std::string_view name;
  result<claim> (*sniff)(const place_look&);
  result<stored_place> (*open)(const place_look&, const place_use&);
};

/// Opens what a path holds, by the format that claims it most; nothing if none does. Errors:
/// `invalid_argument` if two claim it as much; those of the format.
result<std::optional<stored_place>> find_by_formats(std::span<const format_entry> formats,
                                                    const place_look& at, const place_use& use);

/// Opens what a URL names, by the format that its scheme chose.
result<stored_place> open_by_format(const format_entry& format, const url& at,
                                    const place_use& use);

template <readable_format F>
inline constexpr format_entry format_entry_of{F::name, &F::sniff, &F::open};

template <class F>
struct scheme_of_format {
  static constexpr std::string_view name = F::name;
  static result<stored_place> open(const url& at, const place_use& use) {
    return open_by_format(format_entry_of<F>, at, use);
  }
};

template <class... Fs>
struct format_list {
  static constexpr std::array<format_entry, sizeof...(Fs)> entries{format_entry_of<Fs>...};
  static result<std::optional<stored_place>> find(const std::string& path, const place_use& use) {
    return find_by_formats(entries, place_look(path, use.links), use);
  }
  static constexpr path_rules rules{&find, &name_format};
};

/// Those of a registry; a scheme that has `open_among` opens what it has by these formats.
template <class Stores, class Formats>
struct entries_among;
template <class... Ss, class Formats>
struct entries_among<store_registry<Ss...>, Formats> {
  template <class S>
  static result<stored_place> open(const url& at, const place_use& use) {
    if constexpr (requires { S::open_among(at, use, std::span<const format_entry>()); }) {
      return S::open_among(at, use, Formats::entries);
    } else {
      return S::open(at, use);
    }
  }
  static constexpr std::array<store_entry, sizeof...(Ss)> entries{
      store_entry{Ss::name, &open<Ss>}...};
};

/// The schemes and the formats among some types; of one name the last.
template <class Stores, class Formats, class... Rest>
struct stores_and_formats {
  using chosen = typename decltype(list_as<format_list>(Formats{}))::type;
  static constexpr store_table table() {
    return store_table(entries_among<Stores, chosen>::entries, &chosen::rules);
  }
};
template <class Stores, class Formats, store_scheme T, class... Rest>
struct stores_and_formats<Stores, Formats, T, Rest...>
    : stores_and_formats<typename Stores::template with<T>, Formats, Rest...> {};
template <class Stores, class Formats, readable_format T, class... Rest>
struct stores_and_formats<Stores, Formats, T, Rest...>
    : stores_and_formats<typename Stores::template with<scheme_of_format<T>>,
                         decltype(Formats{} + unless_replaced<same_name, T, Rest...>{}), Rest...> {
};

}  // namespace detail

/// A table of stores to which places of these formats are as good as directories: `open(path,
/// formats<gguf::format, orbax::format>())`. Paths are looked at once, and opened by the format
/// that claims them; each format has its scheme, too, as `gguf://path`. Among the types may be
/// schemes of stores, such as `zip_inflate_scheme`. To write, paths are what they are by default.
template <class... Fs>
constexpr store_table formats() {
  static_assert((... && (readable_format<Fs> || store_scheme<Fs>)),
                "zarrpoint: formats<...> takes formats and schemes of stores");
  return detail::stores_and_formats<default_stores, detail::type_list<>, Fs...>::table();
}

}}  // namespace zarrpoint::v0
