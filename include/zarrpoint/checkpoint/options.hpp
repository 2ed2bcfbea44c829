// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Tells whether a name matches a pattern. `*` stands for any characters but '/', `**` for any
/// characters, `?` for one character but '/'. `**/` may stand for nothing at all, so that `**/bias`
/// matches `bias` too. An empty pattern matches only an empty name.
constexpr bool glob_match(std::string_view pattern, std::string_view name) noexcept {
  // Where to go back to if the text after a star does not match: the last star of each kind. A
  // single star cannot reach across a '/', so that beyond one only the last double star counts.
  struct resume_point {
    std::size_t pattern = std::string_view::npos;
    std::size_t name = 0;
  };
  resume_point single;
  resume_point twice;
  std::size_t p = 0;
  std::size_t n = 0;
  while (n < name.size() || p < pattern.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      if (p + 1 < pattern.size() && pattern[p + 1] == '*') {
        const bool whole_segments = p == 0 || pattern[p - 1] == '/';
        p += 2;
        if (whole_segments && p < pattern.size() && pattern[p] == '/' &&
            glob_match(pattern.substr(p + 1), name.substr(n)))
          return true;
        twice = {p, n};
        single = {};
      } else {
        ++p;
        single = {p, n};
      }
      continue;
    }
    if (n < name.size() && p < pattern.size() &&
        (pattern[p] == name[n] || (pattern[p] == '?' && name[n] != '/'))) {
      ++p;
      ++n;
      continue;
    }
    if (single.pattern != std::string_view::npos && single.name < name.size() &&
        name[single.name] != '/') {
      n = ++single.name;
      p = single.pattern;
    } else if (twice.pattern != std::string_view::npos && twice.name < name.size()) {
      n = ++twice.name;
      p = twice.pattern;
      single = {};
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace detail

/// A chain of codecs for numbers, as `leaf_rule::codecs` takes it. `raw` stores the elements as
/// they lie in memory, so that a tensor can be mapped.
std::vector<codec_spec> raw_codecs();

/// Little-endian elements, zstd at `level` (-131072 to 22), and a crc32c of what it made.
std::vector<codec_spec> zstd_codecs(int level = 1);

/// Little-endian elements, their bytes sorted by blosc and compressed with zstd at `level` (0 to
/// 9), and a crc32c of what it made: for weights, and for numbers in general. Level 1 is made for
/// weights, whose random bits it leaves alone.
std::vector<codec_spec> blosc_codecs(int level = 1);

/// A shape as options take it, or none: `{64, 64}`, or `dims`. `{}` is unset.
struct optional_dims : std::optional<dims> {
  using std::optional<dims>::optional;
  optional_dims() = default;
  optional_dims(std::optional<dims> other) : std::optional<dims>(other) {}  // NOLINT
  optional_dims(std::initializer_list<index_t> shape) : std::optional<dims>(shape) {}
};

/// How the leaves whose names match are stored. What is not set falls to an earlier rule that
/// matches, and then to the default; of several rules that set the same thing, the last one wins.
struct leaf_rule {
  std::string glob = "**";      ///< see `glob_match`
  std::optional<dtype> cast{};  ///< stored as this type; see `convert` for the meaning
  optional_dims chunk_shape{};  ///< the unit of reading: an inner chunk of a shard
  optional_dims shard_shape{};  ///< the unit of writing: one object of the store
  std::optional<std::uint64_t> chunk_byte_size{};  ///< picks `chunk_shape` by `greedy_chunk_shape`
  codec_list codecs{};  ///< of inner chunks, `{"bytes", {"zstd", 3}}`; default `raw_codecs()`
};

/// How one leaf is stored, said whole: as another array is, for a copy of it.
struct leaf_layout {
  std::string name;
  /// Its chunks, keys, codecs, fill value and names of dimensions, in the format of the save. The
  /// shape and the dtype are those of the leaf, which the rest must fit, and so are the attributes.
  array_metadata as;
  bool elide_fill = false;  ///< leave out chunks that hold only the fill value
  std::string kind{};       ///< the stored kind, as `checkpoint::typestr` has it; empty: the leaf's
};

struct save_report;
struct save_request;
struct group_save_request;
class plan_cache;

namespace detail {
class save_format;
struct format_calls;
}  // namespace detail

/// A format that `save` can write, as `orbax::format{}`. The header of the format that writes it
/// must be included. Empty: a Zarr hierarchy of ours.
class any_writable_format {
 public:
  any_writable_format() = default;
  template <class F>
    requires(!std::same_as<F, any_writable_format>)
  any_writable_format(F format);  // NOLINT(google-explicit-constructor): defined with `save`

  explicit operator bool() const noexcept { return calls_ != nullptr; }
  /// Required: it is not empty.
  result<save_report> save(const save_request& what) const;
  /// What it is for many processes. Required: it is not empty. Errors: `unsupported` for a format
  /// that one process writes alone.
  result<std::shared_ptr<detail::save_format>> save_by_many(const group_save_request& what) const;
  /// The format, if it is an `F`; else null.
  template <class F>
  const F* get_if() const noexcept;

 private:
  std::shared_ptr<const void> format_;
  const detail::format_calls* calls_ = nullptr;
};

/// How `save` writes a checkpoint.
struct save_options {
  int zarr_format = 3;             ///< 3, or 2 for readers that know nothing newer
  std::vector<leaf_rule> rules{};  ///< per leaf, by name
  /// Sorted by name, and there until the save is done. In place of what `rules` say, but for their
  /// casts: by `save`, not by many processes. What `as` says of chunks counts, and `elide_fill` for
  /// all leaves counts, too.
  std::span<const leaf_layout> layouts{};
  /// Replace a whole checkpoint of the same format at the target, in one step. What others put into
  /// its directory stays, unless it lies in the directory of an array, see `save_summary::kept`.
  /// Anything else that is there is `already_exists`, and never touched; so is all without this.
  bool overwrite = true;
  bool sync = true;         ///< survive a power cut: sync files and directories before the commit
  bool elide_fill = false;  ///< leave out chunks that hold only the fill value (zero)
  bool consolidated_metadata =
      true;           ///< inline in the root, when every dtype is one that zarr-python knows
  json attributes{};  ///< the root group's attributes; the member "zarrpoint" is ours
  /// The attributes of leaves and of groups below the root, by name: an object each, nested no
  /// deeper than 40. A name of neither is an error, and so is a member "zarrpoint" of a group's.
  json::object attributes_of{};
  /// A save in the background copies what lives on a device there, and returns once that is done.
  /// The link to the host no longer holds up the caller. What the device has no room for is copied
  /// to the host; so is all of `save_async` in another `format`.
  bool device_copy = false;
  /// Elements on a device whose kernels can are encoded there, so that only what is stored goes to
  /// the host: inner chunks of the codecs of `blosc_codecs`. All else is encoded by the host. So
  /// are elements that come there before they are written: of saves in the background all without
  /// `device_copy`. Off, as these kernels have been run on the host alone so far: docs/devices.md.
  bool device_encode = false;
  /// The layout on the disk, of one process and of many: `{.format = orbax::format{}}`. What
  /// another format has no place for is an error if data would be lost (`attributes`, a cast), else
  /// a warning.
  any_writable_format format{};
  /// A rule whose glob matches no leaf is an error, `invalid_argument`, and not a warning alone.
  bool rules_must_match = false;
  /// A checkpoint of ours that was saved before. Objects whose bytes are all the same are not
  /// written again: they are hard links to its files, or copies that the server makes. They are
  /// found by its digests, and compared byte by byte. `save_report::shared_bytes` tells how much.
  /// Where it cannot be opened, or the store shares nothing, all is written. Of Zarr alone.
  std::optional<location> previous{};
  /// Of saves by many processes, and of Orbax's and PyTorch's by one: keeps the plan. As long as
  /// all processes bring the same again, nothing is gathered, validated and planned anew. One for
  /// saves with the same options, on every process or on none. Without effect for `save_async`.
  std::shared_ptr<plan_cache> plans{};
};

/// How `load` treats the leaves whose names match.
struct load_rule {
  std::string glob = "**";
  std::optional<dtype>
      cast{};  ///< convert to this type; for `load_all`, and in place of `load_options::cast`
  optional_dims shape{};  ///< truncate, or pad with zeros, to this shape
};

class checkpoint;
struct load_options;
struct tensor_spec;

namespace detail {

/// Told of each leaf that is loaded, by several threads at a time: `load_report` is one.
class load_observer {
 public:
  /// A leaf is about to be read, out of `from` where that is a checkpoint.
  virtual void begin(std::string_view leaf, const checkpoint* from, const load_options& by) = 0;
  /// The leaf is there, as `made`.
  virtual void end(std::string_view leaf, const tensor_spec& made) = 0;
  virtual void warn(std::string text) = 0;

 protected:
  ~load_observer() = default;
};

}  // namespace detail

/// How `load` and its family read.
struct load_options {
  bool cast = false;   ///< allow a conversion to the element type of the target
  bool verify = true;  ///< compare checksums with the commit document's; sizes always are
  /// Of chunks that a device decodes the checksums are compared there, too, and not on the host.
  /// What a kernel does not say to be right is read again by the host, whose error counts. Off, as
  /// this kernel has been run on the host alone so far: docs/devices.md.
  bool device_verify = false;
  /// An absent chunk reads as the fill value, as Zarr has it, in checkpoints that others
  /// wrote. Ours say which chunks there are: a lost one is always an error.
  bool allow_missing_chunks = true;
  std::vector<load_rule>
      rules{};  ///< per leaf, by name; the last one that matches and sets a thing wins
  /// A rule whose glob matches no leaf of the checkpoint is an error, `invalid_argument`.
  bool rules_must_match = false;
  /// A `load_report`, of load_report.hpp, that is told of each leaf. Must outlive the load.
  detail::load_observer* report = nullptr;
};

namespace detail {

result<void> check_cast(const dtype& from, const dtype& to);

/// What is said of a rule that has no effect.
std::string unmatched_rule(std::string_view glob);

/// Says of the rules that match none of `leaves`, whose names `name_of` gives: `tell` gets a text
/// for each, until it is an error.
template <class Rule, class Leaves, class NameOf, class Tell>
result<void> for_unmatched(const std::vector<Rule>& rules, const Leaves& leaves, NameOf name_of,
                           Tell tell) {
  for (const Rule& rule : rules) {
    bool matches = false;
    for (const auto& leaf : leaves) matches = matches || glob_match(rule.glob, name_of(leaf));
    if (!matches) ZARRPOINT_CHECK(tell(unmatched_rule(rule.glob)));
  }
  return {};
}

/// A warning for each rule that matches none of these names; `invalid_argument` where
/// `rules_must_match` is set.
result<void> check_rules(const save_options& options, std::span<const std::string_view> names,
                         std::vector<std::string>& warnings);

/// The last value set among the rules that match `name`.
template <class Rule, class Optional>
auto last_set(const std::vector<Rule>& rules, std::string_view name, Optional Rule::*member) {
  decltype(&*(rules.front().*member)) found = nullptr;
  for (const Rule& rule : rules) {
    if ((rule.*member).has_value() && glob_match(rule.glob, name)) found = &*(rule.*member);
  }
  return found;
}

}  // namespace detail

}}  // namespace zarrpoint::v0
