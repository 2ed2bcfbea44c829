// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/load/load_into_all.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/delta/delta_store.hpp>
#include <zarrpoint/store/format.hpp>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace delta {

/// Deltas, as a format of `formats<...>`, which looks for the base where the delta says, and of
/// `save_options::format`: `{.format = delta::format{.base = "step_1"}}`.
struct format {
  static constexpr std::string_view name = "delta";
  static result<claim> sniff(const place_look& at);
  static result<stored_place> open(const place_look& at, const place_use& use) {
    return open(at, use, context().codecs);
  }
  /// The same of bases that may have other codecs than the default ones.
  static result<stored_place> open(const place_look& at, const place_use& use,
                                   const codec_table& codecs);

  location base;  ///< what is saved differs from it: a checkpoint of ours in Zarr v3, or a delta
  /// Where the delta says that the base lies, from the directory around the delta. Empty: as
  /// `base` is given, if it lies there; else the delta does not say it.
  std::string path{};
  delta_options bases{};  ///< of a base that is a delta
};

/// Saves what differs from the base. Leaves that are the same are named by it alone; new ones, and
/// those of another dtype, shape or kind, are stored as `save` stores them. What the rules say of
/// codecs is for those. Errors: those of `save` and `open_delta`; `unsupported` for Zarr v2, for
/// `save_options::layouts` and for a base that is not a checkpoint of ours in Zarr v3;
/// `invalid_argument` where it would replace what it stands on, or is its base itself.
result<save_report> save_as(const format& by, const save_request& what);

}  // namespace delta

/// Saves `leaves` as what differs from the checkpoint, or delta, at `base`. See `delta::save_as`.
result<save_report> save_delta(const location& where, const location& base,
                               std::span<const leaf> leaves, const save_options& options = {});
/// The same of leaves in braces.
result<save_report> save_delta(const location& where, const location& base,
                               std::initializer_list<leaf> leaves,
                               const save_options& options = {});

/// The same of a checkpoint that is there. The delta has its id, so that it is as good a base as
/// the checkpoint itself. Works as the context of `from` says, a leaf at a time. Leaves that are
/// stored whole keep their layout.
result<save_report> save_delta(const location& where, const delta::format& by,
                               const checkpoint& from, const save_options& options = {});

/// Opens a delta on its base, whose bases may be deltas, too: a checkpoint like any other, with the
/// id of the delta. What is not a delta is opened as it is. Errors: those of `open`; `not_found`,
/// which says which base was looked for, and where; `invalid_argument` for a base that is another,
/// or lies outside; `corrupt` for a chain that leads back; `resource_limit`.
result<checkpoint> open_delta(const location& where, const delta_options& options = {},
                              const context& how = default_context());

/// Deltas that follow each other, and what the first of them stands on.
struct delta_chain {
  location base;
  std::vector<location> deltas;
};

/// Opens the last delta of a chain. Errors: those of `open_delta`.
result<checkpoint> open_delta(const delta_chain& chain, const context& how = default_context());

/// Writes what a chain means as a whole checkpoint, in one step, also over its base. All of it is
/// verified before. It has the id of the last delta. `options` say `overwrite` and `sync`. Errors:
/// those of `open_delta` and `save`; `corrupt`, and then nothing was changed.
result<save_report> apply_deltas(const location& where, const delta_chain& chain,
                                 const save_options& options = {},
                                 const context& how = default_context());

/// Saves a chain as one delta on its base, which may be a base for what came after the last.
result<save_report> squash_deltas(const location& where, const delta_chain& chain,
                                  const save_options& options = {},
                                  const context& how = default_context());

/// What `apply_delta` did to tensors.
struct applied_delta {
  std::string id;                      ///< of the checkpoint that they are now
  std::uint64_t changed_chunks = 0;    ///< inner chunks in which something changed
  std::vector<std::string> unnamed{};  ///< leaves that the delta changes or adds, without a target
};

/// Makes loaded tensors, which hold what the base has, those of the delta, in place: memory that
/// does not change is read and not written. No base is needed. Each target is dense, in host
/// memory, with the leaf's dtype and shape. Before the first byte changes, the stored bytes of the
/// delta have their checksums, and all targets the elements of the base. So the result of all that
/// was saved follows, which is compared as it is made. An error after that says that the tensors
/// are changed in part: a file that changed or was lost since, a stop, or a delta of a hostile
/// writer. Takes an inner chunk and 64 KiB a worker. Errors: `corrupt` for tensors that are not
/// those of the base; `shape_mismatch`, `dtype_mismatch`; `not_found` for a target that the delta
/// removes; `invalid_argument` for targets that share memory.
result<applied_delta> apply_delta(const location& delta, std::span<const load_target> targets,
                                  const context& how = default_context());
result<applied_delta> apply_delta(const location& delta, std::initializer_list<load_target> targets,
                                  const context& how = default_context());

}}  // namespace zarrpoint::v0
