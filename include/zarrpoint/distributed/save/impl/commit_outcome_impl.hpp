// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/save/commit_outcome.hpp>
#include <zarrpoint/exec/guarded.hpp>

#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE void commit_outcome::give_receipt() noexcept {
  if (ranks_.rank() != 0) outcome_ = outcome::open;
}

ZARRPOINT_INLINE result<message> commit_outcome::tell(result<message> committed) {
  const bool is_root = ranks_.rank() == 0;
  message told;
  if (is_root) {
    if (committed) outcome_ = outcome::done;
    const auto pack = [&](bytes_view about) {
      return guarded([&]() -> result<message> {
        wire_writer to;
        to.flag(outcome_ == outcome::done);
        to.bytes(about);
        return std::move(to).take();
      });
    };
    auto packed = guarded([&] {
      return pack(committed                   ? bytes_view(*committed)
                  : outcome_ == outcome::done ? bytes_view()
                                              : bytes_view(pack_status(committed.failure())));
    });
    // A process without memory for the report still says whether there is a checkpoint. What says
    // nothing does not keep the others waiting.
    if (!packed && outcome_ == outcome::done) packed = pack({});
    if (packed) told = *std::move(packed);
  }
  const auto heard = broadcast(ranks_, std::move(told));
  if (is_root && outcome_ != outcome::done)
    return ranks_.size() == 1 ? error(committed.failure())
                              : error(committed.failure()).at(rank_list({0}));
  ZARRPOINT_CHECK(heard);
  wire_reader from(*heard);
  const bool is_committed = from.flag();
  const bytes_view about = from.bytes();
  ZARRPOINT_CHECK(from.finish().at("what rank 0 told of the commit"));
  if (!is_root) outcome_ = is_committed ? outcome::done : outcome::none;
  if (is_committed) return message(about.begin(), about.end());
  const result<void> status = unpack_status(about);
  if (!status) return error(status.failure()).at(rank_list({0}));
  return error{errc::corrupt, "rank 0 failed to commit without an error"};
}

ZARRPOINT_INLINE error commit_outcome::explain(error failure, std::string_view name) const {
  if (outcome_ == outcome::none) return failure;
  failure.code = errc::outcome_unknown;
  // Memory may be what there is none of: the code is what counts.
  static_cast<void>(guarded([&]() -> result<void> {
    if (outcome_ == outcome::open) {
      failure.message +=
          "; this process gave its receipt, so rank 0 may have committed the checkpoint: open ";
      failure.message.append(name).append(" to see which one is there");
    } else {
      failure.message += "; the checkpoint is committed";
      if (ranks_.rank() == 0) failure.message += ", but other ranks may not know it";
    }
    return {};
  }));
  return failure;
}

}}}  // namespace zarrpoint::v0::detail
