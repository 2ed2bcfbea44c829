// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>

#include <cstdint>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What one process knows of a commit, which rank 0 makes and tells the others of.
class commit_outcome {
 public:
  /// `ranks` stay the caller's.
  explicit commit_outcome(const any_communicator& ranks) : ranks_(ranks) {}

  /// From here on rank 0 may commit, even if this process does not hear of that.
  void give_receipt() noexcept;

  /// On rank 0: it has taken place. What fails from here on does not undo it.
  void take_place() noexcept { outcome_ = outcome::done; }

  /// Collective: what the commit gave on rank 0, on every rank; what others give is not looked at.
  /// Empty where it took place, and what it gave cannot be told. Errors: that of the commit, with
  /// the rank, on all; those of the communicator.
  result<message> tell(result<message> committed);

  /// An error must not say that a save to `name` failed that may have taken place:
  /// `outcome_unknown` then.
  error explain(error failure, std::string_view name) const;

 private:
  enum class outcome : std::uint8_t {
    none,  ///< it did not take place, and will not
    open,  ///< this process gave its receipt, and has not heard of it since
    done,
  };

  const any_communicator& ranks_;
  outcome outcome_ = outcome::none;
};

}}}  // namespace zarrpoint::v0::detail
