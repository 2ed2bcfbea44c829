// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// Which copy of a shard this is, where several processes hold the same: one number, or one for
/// each way in which the processes are arranged. Only the main replica, all of whose numbers are 0,
/// is stored.
class replica_id {
 public:
  replica_id(index_t number = 0) : parts_{number} {}  // NOLINT(google-explicit-constructor)
  replica_id(std::initializer_list<index_t> parts) : parts_(parts) {}
  explicit replica_id(std::vector<index_t> parts) : parts_(std::move(parts)) {}

  const std::vector<index_t>& parts() const noexcept { return parts_; }
  /// Whether all numbers are 0; also where there is none, since then there is nothing to tell
  /// copies apart by.
  bool is_main() const noexcept;

  friend bool operator==(const replica_id&, const replica_id&) = default;

 private:
  std::vector<index_t> parts_;
};

/// `"0"`, or `"(0, 1)"`.
std::string to_string(const replica_id& replica);

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/shard/impl/replica_id_impl.hpp>
#endif
