// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The commands: one file each, which takes its arguments and tells its exit status.

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/core/error.hpp>
#include <zarrpoint/delta/delta.hpp>
#include <zarrpoint/store/file/file_options.hpp>

#include "exit_status.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

namespace zp = zarrpoint;

struct inspect_arguments {
  std::string path, node;
  bool json = false, names = false;
  zp::link_scope links{};  ///< that the context's stores follow
};
exit_status run_inspect(const inspect_arguments& of, const zp::context& how);

struct cat_arguments {
  std::string path, node;
  std::optional<std::string> slice{};
  bool raw = false, json = false, npy = false;
};
exit_status run_cat(const cat_arguments& of, const zp::context& how);

struct verify_arguments {
  std::string path;
  bool json = false;
};
exit_status run_verify(const verify_arguments& of, const zp::context& how);

struct seal_arguments {
  std::string path;
};
exit_status run_seal(const seal_arguments& of, const zp::context& how);

struct convert_arguments {
  std::string in, out;
  std::string to;
  std::vector<std::string> casts{};             ///< GLOB=T
  std::vector<std::string> chunks{}, shards{};  ///< [GLOB=]N,N
  std::vector<std::string> codecs{};            ///< [GLOB=]NAME[:LEVEL]
  std::vector<std::string> only{}, skip{};      ///< GLOB
  std::vector<std::string> renames{};           ///< FROM=TO
  std::string strings = "metadata";             ///< for safetensors: "metadata" or "skip"
  std::string max_file_size{};                  ///< for a directory of safetensors; empty: one file
  std::string ocdbt{};                          ///< for Orbax: "on", "off" or neither
  std::optional<int> zarr_format{};             ///< for Orbax
  zp::link_scope links = zp::link_scope::none;  ///< of what is read
  bool overwrite = false;
};
exit_status run_convert(const convert_arguments& of, const zp::context& how);

/// Of `delta` BASE NEW OUT, of `apply` and `squash` BASE DELTA... OUT.
struct delta_arguments {
  std::vector<std::string> paths{};
  bool overwrite = false;
};
exit_status run_delta(const delta_arguments& of, const zp::context& how);
exit_status run_apply(const delta_arguments& of, const zp::context& how);
exit_status run_squash(const delta_arguments& of, const zp::context& how);

/// Deltas, whose bases may have all codecs of the command.
struct delta_of_all_codecs {
  static constexpr std::string_view name = "delta";
  static zp::result<zp::claim> sniff(const zp::place_look& at) {
    return zp::delta::format::sniff(at);
  }
  static zp::result<zp::stored_place> open(const zp::place_look& at, const zp::place_use& use);
};

struct diff_arguments {
  std::string a, b;
  std::optional<double> tolerance;  ///< none: bit by bit
  bool json = false;
};
exit_status run_diff(const diff_arguments& of, const zp::context& how);

struct stats_arguments {
  std::string path, node;
  std::size_t bins = 20;
  bool json = false;
};
exit_status run_stats(const stats_arguments& of, const zp::context& how);

struct steps_arguments {
  std::string path;
  bool json = false;
};
exit_status run_steps(const steps_arguments& of, const zp::context& how);

struct watch_arguments {
  std::string path;
  std::string interval = "2s", timeout{};  ///< empty: none
  bool once = false, json = false;
};
exit_status run_watch(const watch_arguments& of, const zp::context& how);

struct keep_arguments {
  std::string path;
  std::vector<std::int64_t> steps{};
  bool no_longer = false;
};
exit_status run_keep(const keep_arguments& of, const zp::context& how);

struct rm_arguments {
  std::string path;
  std::vector<std::int64_t> steps{};
  bool force = false;
};
exit_status run_rm(const rm_arguments& of, const zp::context& how);

struct prune_arguments {
  std::string path;
  std::string newest{}, every{}, max_age{}, max_size{};  ///< as they are given; empty: not
  std::vector<std::string> best{};                       ///< M:METRIC:lower
  bool dry_run = false;
};
exit_status run_prune(const prune_arguments& of, const zp::context& how);

exit_status run_completion(const std::string& shell);

/// Says on standard error what went wrong; `failed`, or `stopped` after an interrupt.
exit_status fail(const zp::error& failure);

}  // namespace cli
