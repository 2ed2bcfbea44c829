// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// How arrays are stored, as far as a conversion keeps it.

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/options.hpp>

#include "conversion.hpp"
#include "source.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cli {

/// What was asked for one array; null where nothing was.
struct asked_layout {
  const zp::dims* chunk = nullptr;
  const zp::dims* shard = nullptr;
  const std::vector<zp::codec_spec>* codecs = nullptr;
};

/// What the target is.
struct kept_format {
  int zarr_format = 3;
  bool is_orbax = false;  ///< TensorStore reads it, which knows fewer codecs
};

/// Makes the layouts of arrays that come from Zarr and go to Zarr, and counts what they lose.
class layout_keeper {
 public:
  explicit layout_keeper(const conversion& what) : what_(what) {}

  /// How an array is stored in a target: as in the source, but for what was asked. Codecs that
  /// may change values, or that cannot be written, are not used again. Nothing where the source is
  /// not Zarr: then defaults count.
  std::optional<zp::leaf_layout> keep(const converted& each, const asked_layout& asked,
                                      const kept_format& to);

  /// An array goes where it is not stored in any way of Zarr's.
  void lose_all(const converted& each);

  /// What a checkpoint of Orbax tells of its tree, as `about_orbax` gives it.
  void lose_tree(const zp::json& orbax);

  /// Something else that has no place: what, and of which array or group, or of the whole.
  void lose(const std::string& what, const std::string& name);

  /// Says in one note what is not kept in a format of that name.
  void tell(const std::string& target) const;

 private:
  struct lost {
    std::size_t count = 0;
    std::string first;  ///< the name of one
  };

  bool can_encode(const std::vector<zp::codec_spec>& codecs, const zp::dtype& type);

  const conversion& what_;
  std::map<std::string, lost> lost_;
  std::vector<std::pair<std::vector<zp::codec_spec>, zp::dtype>> encoded_;  ///< that can be
};

}  // namespace cli
